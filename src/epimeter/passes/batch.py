# SPDX-License-Identifier: Apache-2.0
"""A batch: some rows of a source, ready to be added to a tally."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError
from epimeter.kinds import Kind
from epimeter.readers.findings import NOTHING, Findings
from epimeter.readers.table import Table
from epimeter.views import View, view


@dataclass(frozen=True, kw_only=True)
class SliceCodes:
    """A slice for each row: `code` points into `values`, -1 is a missing one."""

    code: NDArray[np.integer[Any]]
    values: Sequence[Any]


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Rows with where they came from.

    Attributes
    ----------
    true, prob
        Outcomes (uint8, or class numbers) and probabilities; the tally checks them.
    kind
        What the forecast is.
    slices
        The slice of each row, one slice for all rows (any other value), or None when nothing is sliced.
    source, first
        The file or frame in words, and the number of the first row in it.
    order
        How many rows of the whole source come before: the place of the first row among all.
    rows, numbering
        The row or line of each row in its file, where rows without an outcome were left out or lines are counted.
    findings
        What the cells say of how they were read.
    """

    true: NDArray[Any]
    prob: NDArray[Any]
    kind: Kind
    weight: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None
    features: NDArray[Any] | None = None
    slices: SliceCodes | Any = None
    source: str = ""
    first: int = 0
    order: int = 0
    rows: Any = None
    numbering: str = "row"
    unlabelled: int = 0
    findings: Findings = NOTHING

    @property
    def n_rows(self) -> int:
        return len(self.prob)

    def view(self) -> View:
        """The rows as a view, checked; a refusal says where in the source the fault is."""
        try:
            return view(
                self.true,
                self.prob,
                kind=self.kind,
                sample_weight=self.weight,
                groups=self.groups,
                features=self.features,
            )
        except InputError as refusal:
            if refusal.row is None:
                raise InputError(f"{refusal} ({self.source})", field=refusal.field, count=refusal.count) from None
            raise InputError(
                f"{refusal} ({self.source}, {self.place(refusal.row)})",
                field=refusal.field,
                row=refusal.row,
                count=refusal.count,
            ) from None

    def copied(self) -> Batch:
        """The same rows in memory of their own: a source may use its memory again for the next batch."""
        slices = (
            replace(self.slices, code=self.slices.code.copy()) if isinstance(self.slices, SliceCodes) else self.slices
        )
        return replace(self, true=self.true.copy(), prob=self.prob.copy(), slices=slices)

    @property
    def places(self) -> NDArray[np.int64]:
        """The place of each row among all rows of the source."""
        if self.rows is None or self.numbering == "line":
            return self.order + np.arange(self.n_rows)
        return self.order - self.first + np.asarray(self.rows, np.int64)

    def place(self, row: int) -> str:
        """Where a row stands in its source, in words."""
        number = self.first + row if self.rows is None else int(self.rows[row])
        return f"{self.numbering} {number:,}"


def of_table(table: Table, slices: SliceCodes | Any, first: int, order: int, extra: frozenset[str]) -> Batch:
    """A table of the readers as a batch; `first` rows of its file and `order` rows of the source come before."""
    return Batch(
        true=table.label,
        prob=table.y_prob,
        kind=table.kind,
        weight=table.weight,
        groups=table.group if "groups" in extra else None,
        features=table.features if "features" in extra else None,
        slices=slices,
        source=table.source,
        first=first,
        order=order,
        rows=table.rows,
        numbering=table.numbering,
        unlabelled=table.unlabelled,
        findings=table.findings,
    )
