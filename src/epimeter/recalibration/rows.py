# SPDX-License-Identifier: Apache-2.0
"""A map applied to a file: its forecast mapped, every other column as it stands, and in each row which map it was."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from epimeter.checks import check_probabilities, check_row_sums, row_sum_tolerance
from epimeter.errors import InputError, ReadError
from epimeter.kinds import WORDING
from epimeter.readers import Choice, read, verbatim
from epimeter.readers.block import Block
from epimeter.readers.cells import matrix, numbers
from epimeter.readers.digest import SCHEME, dataset_digest
from epimeter.readers.files import kept
from epimeter.recalibration.document import MapDocument
from epimeter.recalibration.estimator import columns_of, mapped

MARK = "recalibrated_by"
"""The column that says which map was applied; a report of such rows repeats it."""


def applied(document: MapDocument, source: Any, choice: Choice, format: str | None) -> tuple[Any, bool]:
    """The rows of a source with their forecast mapped, as an Arrow table; and whether the map was fitted on these rows."""
    import pyarrow as pa

    # What the map is for settles what names leave open, and is refused where they say otherwise.
    asked, choice = choice, choice if choice.kind is not None else replace(choice, kind=document.kind)
    if choice.kind != document.kind:
        raise InputError(
            f"this map is for {document.kind}, the rows are said to be {choice.kind}; fit one on such rows",
            field="kind",
        )
    source = kept(source)  # what it holds is looked at again: of which kind it is, and whether the map was fitted on it
    parts: list[Any] = []
    same = False
    for block, has_outcome in verbatim(source, columns=choice, format=format):
        if MARK in block.columns:
            raise InputError(
                f"{block.source} was recalibrated before (column {MARK}); apply a map to what the model itself said",
                field=MARK,
            )
        if has_outcome and not parts:
            _refuse_other_kind(document, source, asked, format)
            same = fitted_on(document, source, choice, format)
        parts.append(pa.table(_mapped(document, block)))
    made = pa.concat_tables(parts)
    mark = document.mark + (" (fitted on these rows)" if same else "")
    return made.append_column(MARK, pa.array([mark] * len(made), pa.string())), same


def _refuse_other_kind(document: MapDocument, source: Any, choice: Choice, format: str | None) -> None:
    """Refuse rows that are of another kind unless told otherwise: a probability of an event is no confidence in an answer."""
    if choice.kind is not None:
        return
    try:
        found = next(verbatim(source, columns=choice, format=format))[0]
    except ReadError:  # names that only the map's kind decides between
        return
    if found.roles.kind != document.kind:
        raise InputError(
            f"this map is of kind {document.kind}; {found.source} holds {WORDING[found.roles.kind].what}. Fit one on such rows; "
            f"where that is not so, say --kind {document.kind}",
            field="kind",
        )


def fitted_on(document: MapDocument, source: Any, choice: Choice, format: str | None) -> bool:
    """Whether a map was fitted on exactly these rows."""
    table = read(source, columns=choice, format=format)
    digest = dataset_digest({"confidence": table.y_prob, "label": table.y_true})
    return bool(document.fitted_on.get("digest") == f"{SCHEME}:sha-256:{digest}")


def _mapped(document: MapDocument, block: Block) -> dict[str, Any]:
    """The columns of a block, those of the forecast mapped."""
    role = "confidence" if "confidence" in block.roles.columns else "probabilities"
    names = block.roles.columns[role]
    prob, gone = numbers(block, names[0]) if role == "confidence" else matrix(block, names)
    if gone is not None:
        raise block.fault(names[0], "must be present in every row", gone, "has none")
    _refuse_other_classes(document, block)
    try:
        check_probabilities(prob, "y_prob")
        if prob.ndim == 2:
            check_row_sums(prob, row_sum_tolerance(prob, prob.shape[1]))
    except InputError as refusal:
        where = "" if refusal.row is None else f" ({block.source}, {block.numbering} {int(block.rows[refusal.row])})"
        raise InputError(f"{refusal}{where}", field=names[0], row=refusal.row, count=refusal.count) from None
    if (1 if prob.ndim == 1 else prob.shape[1]) != (wanted := columns_of(document)):
        raise InputError(
            f"this map is of kind {document.kind} and takes {'one column' if wanted == 1 else f'{wanted} columns'}; {block.source} "
            f"has {1 if prob.ndim == 1 else prob.shape[1]}. Fit a map on predictions of that form",
            field="classes",
        )
    after = mapped(document, prob)
    if after.ndim == 1 or len(names) > 1:
        said = dict(zip(names, [after] if after.ndim == 1 else after.T, strict=True))
    else:
        said = {names[0]: after}
    return {name: _column(said.get(name, block.columns[name])) for name in block.roles.columns["slice"]}


def _column(values: Any) -> Any:
    """A column for an Arrow table; a matrix as a column of lists."""
    import pyarrow as pa

    if isinstance(values, np.ndarray):
        values = pa.array(values.tolist() if values.ndim == 2 else np.ascontiguousarray(values))
    return values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)


def _refuse_other_classes(document: MapDocument, block: Block) -> None:
    names: tuple[str, ...] | None = block.roles.class_names or block.class_names
    if document.kind != "classes" or names is None or document.class_names is None:
        return
    if tuple(names) != document.class_names:
        raise InputError(
            f"this map is for the classes {', '.join(document.class_names)[:80]}; {block.source} has {', '.join(names)[:80]}",
            field="classes",
        )
