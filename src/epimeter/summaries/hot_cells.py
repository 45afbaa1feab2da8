# SPDX-License-Identifier: Apache-2.0
"""The compiled loop of the cells; its slow twin is in `cells` and gives the same integers.

Sums inside a cell are kept relative to the cell: they take 28 bits a row, so an int64 holds 2^35 rows of one cell and
nothing needs to be carried while rows come.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from epimeter.summaries.cells import CELLS, EMPTY, MIXED, STRIDE, CellTotals, from_offsets

_CELLS, _LAST, _STRIDE = float(CELLS), CELLS - 1, STRIDE
MOST_ROWS = 1 << 34
"""Rows after which the sums are moved to wider integers."""


@njit(nogil=True, cache=True)
def cell_block(true, prob, table, only):  # type: ignore[no-untyped-def]
    """Add rows to `table` (per cell: rows and offset of outcome 0, rows and offset of outcome 1) and `only`."""
    one, two = np.uint64(1), np.uint64(2)
    last, stride = np.int64(_LAST), np.int64(_STRIDE)
    for i in range(len(prob)):
        p = np.float64(prob[i]) + 0.0
        c = min(np.int64(p * _CELLS), last)
        at = np.uint64(c * 4) + two * np.uint64(true[i])
        table[at] += 1
        table[at + one] += np.int64(np.rint(p * 17592186044416.0)) - c * stride
        seen = only[np.uint64(c)]
        if seen != p and seen != MIXED:
            only[np.uint64(c)] = p if seen == EMPTY else MIXED


class Accumulator:
    """Cells that rows are added to."""

    def __init__(self) -> None:
        self.table = np.zeros(4 * CELLS, np.int64)
        self.only = np.full(CELLS, EMPTY)
        self.rows = 0
        self.earlier: CellTotals | None = None

    def add(self, true: NDArray[Any], prob: NDArray[Any]) -> None:
        """Add rows; blocks of any size give the same cells."""
        if self.rows + len(prob) > MOST_ROWS:
            self.earlier, self.rows = self.totals(), 0
            self.table[:], self.only[:] = 0, EMPTY
        cell_block(true, prob, self.table, self.only)
        self.rows += len(prob)

    def totals(self) -> CellTotals:
        """The cells of all rows so far."""
        parts = self.table.reshape(CELLS, 2, 2)
        now = from_offsets(parts[:, :, 0], parts[:, :, 1], self.only)
        return now if self.earlier is None else self.earlier.merge(now)
