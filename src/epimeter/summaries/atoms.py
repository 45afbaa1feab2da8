# SPDX-License-Identifier: Apache-2.0
"""What each row adds to a streaming summary: a few whole numbers to one cell.

A summary that is a sum of integers can be taken apart into its rows and put together again with any number of copies
of each. Resampling lives on that: a replicate is another vector of counts, and no data are copied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.summaries.fixed import STEPS, Fixed, normalised

HALF = STEPS // 2
_LOW = (1 << HALF) - 1
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Atoms:
    """Rows as integers, laid out cell after cell.

    `columns[:, j]` is what row `order[j]` adds; cell c owns the places from `start[c]` to `start[c + 1]`; `assemble`
    makes a summary of the totals, an array of shape (cells, columns).
    """

    order: NDArray[np.int64] | None
    """None when there is one cell and the rows stay in their order."""
    start: Integers
    columns: NDArray[np.int32]
    assemble: Callable[[Integers], Any]

    @classmethod
    def of(
        cls,
        cell: NDArray[Any] | None,
        n_cells: int,
        columns: list[NDArray[Any]],
        assemble: Callable[[Integers], Any],
    ) -> Atoms:
        """Atoms from the cell and the columns of each row."""
        order = None if cell is None else np.argsort(cell, kind="stable")
        table = np.empty((len(columns), len(columns[0])), np.int32)
        for row, column in zip(table, columns, strict=True):
            if order is not None and column.dtype == np.int32:
                np.take(column, order, out=row, mode="clip")  # straight into the table: no copy between
            else:
                row[:] = column if order is None else column[order]
        if cell is None:
            return cls(None, np.array([0, table.shape[1]]), table, assemble)
        start = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=n_cells))])
        return cls(order, start, table, assemble)

    @property
    def n_cells(self) -> int:
        return len(self.start) - 1

    def minus(self, other: Atoms) -> Atoms:
        """What a row adds here beyond what it adds there; both must be laid out alike."""
        return replace(self, columns=self.columns - other.columns)

    def totals(self, counts: NDArray[np.integer[Any]], compiled: bool) -> Integers:
        """The totals of so many copies of each row."""
        if self.order is not None:
            counts = counts[self.order]
        if compiled:
            from epimeter.summaries.hot import weighed

            into = np.zeros((self.n_cells, len(self.columns)), np.int64)
            weighed(counts, self.start, self.columns, into)
            return into
        # Each product is below 2^53 and so is each sum: doubles hold them exactly.
        cell = np.repeat(np.arange(self.n_cells), np.diff(self.start))
        made = [
            np.bincount(cell, weights=counts * column.astype(np.float64), minlength=self.n_cells)
            for column in self.columns
        ]
        return np.stack(made, axis=1).astype(np.int64)


def halves(steps: Integers) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Steps of 2^-44 as two numbers of 22 bits and a sign, so that many of them can be added."""
    return (steps >> HALF).astype(np.int32), (steps & _LOW).astype(np.int32)


def whole(high: Integers, low: Integers) -> Fixed:
    """The totals of two such halves."""
    return normalised(high >> HALF, ((high & _LOW) << HALF) + low)
