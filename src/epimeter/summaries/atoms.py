# SPDX-License-Identifier: Apache-2.0
"""What each row adds to a streaming summary: a few whole numbers to one cell.

A summary that is a sum of integers can be taken apart into its rows and put together again with any number of copies
of each. Resampling lives on that: a replicate is another vector of counts, and no data are copied.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.core import NULL, accepted, lib, read, write
from epimeter.summaries.fixed import STEPS, Fixed, normalised

HALF = STEPS // 2
_LOW = (1 << HALF) - 1
LIMB = 15
"""Bits of a column that are multiplied at a time."""
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Atoms:
    """Rows as integers, laid out cell after cell.

    `columns[:, j]` is what row `order[j]` adds; cell c owns the places from `start[c]` to `start[c + 1]`; `assemble`
    makes a summary of the totals, an array of shape (cells, columns).
    """

    order: NDArray[np.int32] | None
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
        order = None if cell is None else np.argsort(cell, kind="stable").astype(np.int32)
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

    @property
    def n_rows(self) -> int:
        return int(self.columns.shape[1])

    def minus(self, other: Atoms) -> Atoms:
        """What a row adds here beyond what it adds there; both must be laid out alike."""
        return replace(self, columns=self.columns - other.columns)

    def totals(self, counts: NDArray[Any]) -> Integers:
        """The totals of so many copies of each row."""
        counts = np.ascontiguousarray(counts, np.int32)
        into = np.zeros((self.n_cells, len(self.columns)), np.int64)
        layout = self._layout()
        columns = read(self.columns), len(self.columns)
        accepted(lib.epi_weighed_totals(read(counts), len(counts), *layout, *columns, write(into), into.size))
        return into

    def counted_totals(self, counts: NDArray[np.uint8]) -> Integers:
        """The totals of several replicates, each row as often as its replicate's row of `counts` says (at most 127 times)."""
        return self._limb_totals(lib.epi_count_totals, counts, counts.shape[1], len(counts))

    def chosen_totals(self, bits: NDArray[np.uint8], replicates: int) -> Integers:
        """The totals of several replicates; replicate r has the rows whose byte has bit r."""
        return self._limb_totals(lib.epi_bit_totals, bits, len(bits), replicates)

    def _limb_totals(self, loop: Any, drawn: NDArray[np.uint8], n_rows: int, replicates: int) -> Integers:
        table, home = self.limbs
        sums = np.zeros((replicates, self.n_cells, len(table)), np.int64)
        arguments = read(drawn), n_rows, replicates, *self._layout(), read(table), len(table), write(sums), sums.size
        accepted(loop(*arguments))
        totals = np.zeros((replicates, self.n_cells, len(self.columns)), np.int64)
        for limb, (column, shift) in enumerate(home):
            totals[:, :, column] += sums[:, :, limb] << shift
        return totals

    def _layout(self) -> tuple[Any, ...]:
        order = (NULL, 0) if self.order is None else (read(self.order), len(self.order))
        return *order, read(self.start), len(self.start)

    @cached_property
    def limbs(self) -> tuple[NDArray[np.int16], list[tuple[int, int]]]:
        """The columns in limbs of 15 bits, the highest with the sign; with each the column and the bits it stands above."""
        table, home = [], []
        for number, column in enumerate(self.columns):
            size = max(int(column.max(initial=0)), -int(column.min(initial=0)) - 1).bit_length()
            if not column.any():
                continue  # nothing is ever added
            for shift in range(0, size + 1, LIMB):
                highest = shift + LIMB > size
                limb = column >> shift if highest else (column >> shift) & ((1 << LIMB) - 1)
                table.append(limb.astype(np.int16))
                home.append((number, shift))
                if highest:
                    break
        return np.array(table, np.int16).reshape(len(home), self.n_rows), home


def halves(steps: Integers) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Steps of 2^-44 as two numbers of 22 bits and a sign, so that many of them can be added."""
    return (steps >> HALF).astype(np.int32), (steps & _LOW).astype(np.int32)


def whole(high: Integers, low: Integers) -> Fixed:
    """The totals of two such halves."""
    return normalised(high >> HALF, ((high & _LOW) << HALF) + low)
