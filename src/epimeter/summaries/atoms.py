# SPDX-License-Identifier: Apache-2.0
"""What each row adds to a streaming summary: a few whole numbers to one cell.

A summary that is a sum of integers can be taken apart into its rows and put together again with any number of copies
of each. Resampling lives on that: a replicate is another vector of counts, and no data are copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

    `columns[:, j]` is what row `order[j]` adds; a row has several places where it is a block of rows. Cell c owns the places from
    `start[c]` to `start[c + 1]`; `assemble` makes a summary of the totals, an array of shape (cells, columns).
    """

    order: NDArray[np.int32] | None
    """None when there is one cell and the rows stay in their order."""
    start: Integers
    columns: NDArray[np.int32]
    assemble: Callable[[Integers], Any]
    pairs: tuple[int, ...] = ()
    """Columns that are the upper halves of numbers (see `halves`); the next column of each is the lower half."""

    @classmethod
    def of(
        cls,
        cell: NDArray[Any] | None,
        n_cells: int,
        columns: list[NDArray[Any]],
        assemble: Callable[[Integers], Any],
        pairs: tuple[int, ...] = (),
    ) -> Atoms:
        """Atoms from the cell and the columns of each row."""
        short = cell if cell is None or n_cells > 1 << 16 else cell.astype(np.uint16)  # numpy sorts these by counting
        order = None if short is None else np.argsort(short, kind="stable").astype(np.int32)
        table = np.empty((len(columns), len(columns[0])), np.int32)
        for row, column in zip(table, columns, strict=True):
            if order is not None and column.dtype == np.int32:
                np.take(column, order, out=row, mode="clip")  # straight into the table: no copy between
            else:
                row[:] = column if order is None else column[order]
        if cell is None:
            return cls(None, np.array([0, table.shape[1]]), table, assemble, pairs)
        start = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=n_cells))])
        return cls(order, start, table, assemble, pairs)

    @property
    def n_cells(self) -> int:
        return len(self.start) - 1

    @property
    def n_places(self) -> int:
        return int(self.columns.shape[1])

    def minus(self, other: Atoms) -> Atoms:
        """What a row adds here beyond what it adds there; both must be laid out alike."""
        return replace(self, columns=self.columns - other.columns)

    def only(self, chosen: NDArray[np.intp]) -> Atoms:
        """Some of the columns, in their order."""
        place = {int(column): number for number, column in enumerate(chosen)}
        pairs = tuple(place[high] for high in self.pairs if high in place and high + 1 in place)
        return replace(self, columns=np.ascontiguousarray(self.columns[chosen]), pairs=pairs)

    def pooled(self, block: NDArray[np.int32], n_blocks: int) -> Atoms:
        """The rows of a block as one thing that is drawn: what they add to each cell together, where one of them is in it.

        `block` is the block of each row. A block must add less than 2^31 to any cell.
        """
        cell = np.repeat(np.arange(self.n_cells), np.diff(self.start))
        slot = cell * n_blocks + (block if self.order is None else block[self.order])
        size = self.n_cells * n_blocks
        used = np.flatnonzero(np.bincount(slot, minlength=size))
        table = np.empty((len(self.columns), len(used)), np.int32)
        for into, column in zip(table, self.columns, strict=True):
            total = np.bincount(slot, column, size)[used]  # doubles are exact below 2^53
            if not np.abs(total).max(initial=0) < 1 << 31:
                raise OverflowError("a block of rows adds more than 31 bits to a cell")
            into[:] = total
        order = None if self.order is None else (used % n_blocks).astype(np.int32)
        start = np.searchsorted(used, np.arange(self.n_cells + 1) * n_blocks)
        return replace(self, order=order, start=start, columns=table)

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
        for limb, column, shift in home:
            totals[:, :, column] += sums[:, :, limb] << shift
        return totals

    def _layout(self) -> tuple[Any, ...]:
        order = (NULL, 0) if self.order is None else (read(self.order), len(self.order))
        return *order, read(self.start), len(self.start)

    @cached_property
    def limbs(self) -> tuple[NDArray[np.int16], list[tuple[int, int, int]]]:
        """The columns in limbs of 15 bits, the highest with the sign; and where each is added: limb, column, bits it stands above.

        The halves of a number are multiplied as the one number they are, and columns that are 1 in every row once for all of them.
        """
        home: list[tuple[int, int, int]] = []
        cuts: list[tuple[int, int, int]] = []
        """Number of a column, its first limb, and how many it has."""
        used, ones, ends = 0, -1, np.empty(2, np.int64)
        for number in range(len(self.columns)):
            if number - 1 in self.pairs:
                continue  # with its upper half
            accepted(lib.epi_number_ends(*self._number(number), self.n_places, write(ends), 2))
            least, most = ends.tolist()
            if most == least == 0:
                continue  # nothing is ever added
            if most == least == 1:
                if ones < 0:
                    ones = used
                    cuts.append((number, used, 1))
                    used += 1
                home.append((ones, number, 0))
                continue
            paired = number in self.pairs
            size = max(most, -least - 1).bit_length()
            count = size // LIMB + 1
            for limb, shift in enumerate(range(0, LIMB * count, LIMB), used):
                lower = paired and shift < HALF
                home.append((limb, number + lower, shift - HALF if paired and not lower else shift))
            cuts.append((number, used, count))
            used += count
        table = np.empty((used, self.n_places), np.int16)
        for number, first, count in cuts:
            some = table[first : first + count]
            accepted(lib.epi_number_limbs(*self._number(number), self.n_places, LIMB, count, write(some), some.size))
        return table, home

    def _number(self, column: int) -> tuple[Any, Any, int]:
        """A column of whole numbers as the core reads it: upper and lower halves, and the bits that the upper ones stand above."""
        paired = column in self.pairs
        return read(self.columns[column]), read(self.columns[column + 1]) if paired else NULL, HALF if paired else 0


def side_by_side(atoms: Sequence[Atoms]) -> Atoms:
    """Rows that stay in their order with the columns of all of these, so that one walk adds them all up."""
    columns = np.concatenate([one.columns for one in atoms])
    first = np.cumsum([0, *(len(one.columns) for one in atoms)])
    pairs = tuple(int(place) + high for place, one in zip(first, atoms, strict=False) for high in one.pairs)
    return Atoms(None, atoms[0].start, columns, lambda totals: totals, pairs)


def halves(steps: Integers) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Steps of 2^-44 as two numbers of 22 bits and a sign, so that many of them can be added."""
    return (steps >> HALF).astype(np.int32), (steps & _LOW).astype(np.int32)


def whole(high: Integers, low: Integers) -> Fixed:
    """The totals of two such halves."""
    return normalised(high >> HALF, ((high & _LOW) << HALF) + low)
