# SPDX-License-Identifier: Apache-2.0
"""Arrow batches into batches of a pass.

Confidences and outcomes without nulls go straight through, over the memory they came in; everything else goes by way
of the readers, who know what a missing label is and word every fault.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import ReadError
from epimeter.passes.batch import Batch, SliceCodes, of_table
from epimeter.readers.arrays import codes, one_chunk, values
from epimeter.readers.assembly import table
from epimeter.readers.block import Block
from epimeter.readers.class_columns import Sample
from epimeter.readers.columnar import list_columns
from epimeter.readers.forecast import Choice
from epimeter.readers.roles import Roles, detect
from epimeter.readers.wording import listed, shown

PREDICTION = ("confidence", "probabilities", "label", "prediction", "weight")
FURTHER = {"groups": "group", "features": "features"}
"""What the metrics call a column, and what the readers do."""


@dataclass(frozen=True)
class ReadColumns:
    """The columns that a pass reads.

    Attributes
    ----------
    roles
        Which column plays which role, restricted to the roles the pass needs.
    by
        The column whose values make the slices, if it is a column of the data.
    """

    roles: Roles
    by: str | None = None

    @property
    def names(self) -> list[str]:
        """Every column to be read."""
        return list(dict.fromkeys([*self.roles.wanted, *([self.by] if self.by is not None else [])]))

    @property
    def weighted(self) -> bool:
        return "weight" in self.roles.columns

    @property
    def extra(self) -> tuple[str, ...]:
        return tuple(name for name, role in FURTHER.items() if role in self.roles.columns)


def wanted(
    names: list[str],
    lists: frozenset[str],
    source: str,
    columns: Choice,
    by: str | None,
    extra: frozenset[str],
    sample: Sample | None = None,
) -> ReadColumns:
    """The columns of a pass, found by their names, as the caller says, or by the labels of some rows."""
    roles = detect(names, columns, source, lists, sample)
    further = {FURTHER[name] for name in extra}
    needed = {role: names for role, names in roles.columns.items() if role in PREDICTION or role in further}
    if by is not None and by not in names:
        raise ReadError(f"{source} has no column {shown(by)} to slice by; its columns are {listed(names)}", field="by")
    return ReadColumns(replace(roles, columns=needed), by)


def of_schema(
    schema: Any, source: str, columns: Choice, by: str | None, extra: frozenset[str], sample: Sample | None = None
) -> ReadColumns:
    """The columns of a pass over something with an Arrow schema."""
    return wanted(list(schema.names), list_columns(schema), source, columns, by, extra, sample)


def batch_of(batch: Any, columns: ReadColumns, source: str, first: int, order: int, slices: Any = None) -> Batch:
    """An Arrow batch or table as a batch of a pass; `slices` is the slice of all its rows, unless a column says it."""
    names = columns.roles.columns
    if columns.roles.plain:
        prob, true = batch.column(names["confidence"][0]), batch.column(names["label"][0])
        straight = straight_prob(prob), straight_label(true)
        if straight[0] is not None and straight[1] is not None:
            coded = slices if columns.by is None else sliced(batch.column(columns.by))
            return Batch(
                true=straight[1],
                prob=straight[0],
                kind=columns.roles.kind,
                slices=coded,
                source=source,
                first=first,
                order=order,
            )
    block = Block(
        source=source,
        roles=columns.roles,
        columns={name: batch.column(name) for name in columns.roles.wanted},
        n_rows=batch.num_rows,
        rows=range(first, first + batch.num_rows),
    )
    rows = table(block)
    if columns.by is not None:
        coded = sliced(batch.column(columns.by))
        if rows.n_rows < batch.num_rows:
            coded = replace(coded, code=coded.code[np.asarray(rows.rows, np.int64) - first])
        slices = coded
    return of_table(rows, slices, first, order, frozenset(FURTHER))


def straight_prob(column: Any) -> NDArray[Any] | None:
    """Floating numbers without nulls, over the same memory; None for anything else."""
    column = one_chunk(column)
    return values(column) if str(column.type) in ("double", "float") and not column.null_count else None


def straight_label(column: Any) -> NDArray[np.uint8] | None:
    """Booleans or small whole numbers without nulls as uint8; None for anything else."""
    column = one_chunk(column)
    if column.null_count:
        return None
    kind = str(column.type)
    if kind == "bool":
        return values(column).view(np.uint8)
    if kind == "uint8":
        return values(column)
    if kind in ("int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"):
        labels = values(column)
        if len(labels) and (labels.min() < 0 or labels.max() > 1):
            return None  # the readers say which row
        return labels.astype(np.uint8)
    return None


def sliced(column: Any) -> SliceCodes:
    """The slice of each row, as codes into the distinct values."""
    import pyarrow as pa

    column = one_chunk(column)
    if not pa.types.is_dictionary(column.type):
        try:
            column = column.dictionary_encode()
        except pa.ArrowException:
            raise ReadError(
                f"slices must be words, numbers or dates; the column to slice by holds {column.type}"
            ) from None
    code, distinct = codes(column)
    return SliceCodes(code=code if code.dtype.kind == "i" else code.astype(np.int64), values=distinct)
