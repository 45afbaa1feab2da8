# SPDX-License-Identifier: Apache-2.0
"""A fine histogram of the confidence: 76,800 equal cells of [0, 1], and in each the rows by outcome.

A cell keeps, for each of the two outcomes, how many rows it holds and the sum of their confidences, and besides the
one confidence that all its rows have, if there is one. Rows of one outcome in one cell are known by their number and
their mean, so what is read off the cells errs by the second order of the cell's width (1.7e-10), not by the first;
confidences that repeat (0.9, 0.95, 1.0) are known exactly.

The size is fixed (3 MB in memory), so a billion rows cost no more than a million. Integers only: the same cells for
any order of the rows, any chunking, any number of machines.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import MergeError
from epimeter.summaries import fixed
from epimeter.summaries.fixed import Fixed, normalised

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CELLS = 76_800
"""A multiple of 10, 15, 20, 25 and 100."""
WIDTH = 1.0 / CELLS
STRIDE = (1 << fixed.STEPS) // CELLS
"""Steps of 2^-44 to a cell, rounded down: sums inside a cell are kept relative to its number times this."""
EMPTY, MIXED = -1.0, -2.0
"""In `only`: the cell holds no row; it holds different confidences."""


@dataclass(frozen=True)
class CellTotals:
    """Rows and confidence by cell and outcome.

    Attributes
    ----------
    count
        Rows, of shape (cells, 2): outcome 0, outcome 1.
    prob
        Sum of their confidences, of the same shape.
    only
        The confidence that all rows of a cell have; EMPTY, or MIXED when they differ.
    """

    count: Integers
    prob: Fixed
    only: Floats

    def merge(self, other: CellTotals) -> CellTotals:
        if self.count.shape != other.count.shape:
            raise MergeError(f"cannot merge {len(self.count):,} cells with {len(other.count):,}")
        return CellTotals(self.count + other.count, self.prob + other.prob, agreed(self.only, other.only))

    @cached_property
    def size(self) -> Integers:
        """Rows of each cell."""
        return np.asarray(self.count.sum(axis=1))

    @property
    def n_rows(self) -> int:
        return int(self.count.sum())

    @property
    def true(self) -> Integers:
        """Outcomes of each cell."""
        return self.count[:, 1]

    @cached_property
    def stated(self) -> Fixed:
        """Sum of the confidences of each cell."""
        return self.prob.sum(axis=1)

    @cached_property
    def residual(self) -> Fixed:
        """Sum of y - c of each cell, exact."""
        return Fixed.of_counts(self.true) - self.stated

    @cached_property
    def filled(self) -> NDArray[np.intp]:
        """The cells that hold rows."""
        return np.flatnonzero(self.size)

    @cached_property
    def pure(self) -> NDArray[np.bool_]:
        """Cells whose rows all have one confidence."""
        return self.only >= 0


def agreed(left: Floats, right: Floats) -> Floats:
    """The one confidence of two sets of rows, cell by cell."""
    both = np.where(left == right, left, MIXED)
    return np.where(left == EMPTY, right, np.where(right == EMPTY, left, both))


def cell_of(prob: NDArray[Any]) -> NDArray[np.int64]:
    """The cell of each confidence: [a, b), the last closed."""
    cell = (prob.astype(np.float64, copy=False) * CELLS).astype(np.int64)
    return np.minimum(cell, CELLS - 1, out=cell)


def from_offsets(count: Integers, offset: Integers, only: Floats) -> CellTotals:
    """Cells from sums relative to STRIDE times the number of the cell, as the compiled loop makes them."""
    base = np.arange(len(count))[:, None] * STRIDE
    # count * base needs more than 64 bits: base goes in two halves of 22.
    high, low = count * (base >> 22), count * (base & 0x3FFFFF)
    whole = normalised(high >> 22, ((high & 0x3FFFFF) << 22)) + normalised(low >> fixed.STEPS, low & (fixed.ONE - 1))
    return CellTotals(count.copy(), whole + normalised(offset >> fixed.STEPS, offset & (fixed.ONE - 1)), only.copy())
