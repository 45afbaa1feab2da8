# SPDX-License-Identifier: Apache-2.0
"""Finer sums of integers, for what is read off a small total or off the difference of two large ones.

What is rounded away in steps of 2^-44 (`fixed`) is added up again in steps of 2^-88. Numbers so small that even these
steps lose digits of them are rare; what the steps leave of those is added without any rounding, in units of 2^-1074, of
which every double is a whole number. Nothing but integers are added, so the order of the rows never matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.core.row_loops import fine_pairs
from epimeter.summaries import fixed
from epimeter.summaries.fixed import Fixed
from epimeter.summaries.paired import Paired, square_error, two_sum

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

STEP = 2.0**-fixed.STEPS
TINY = 2.0**-58
"""Numbers below this have fewer than 30 bits above the finer steps; what those leave of them is kept."""
_FINEST = 1074
_SLOT = 1152
"""Bits that the exact total of one cell has for itself in `deep`: 985 for a number, the others for how many there are."""


@dataclass(frozen=True)
class Fine:
    """Exact totals, one a cell: `coarse` in steps of 2^-44, `rest` what that leaves, in units of 2^-44."""

    coarse: Fixed
    rest: Fixed
    deep: int = 0
    """What both leave of tiny numbers, in units of 2^-1074; the total of cell c begins at bit 1152 c."""

    def __add__(self, other: Fine) -> Fine:
        return Fine(self.coarse + other.coarse, self.rest + other.rest, self.deep + other.deep)

    def __sub__(self, other: Fine) -> Fine:
        return Fine(self.coarse - other.coarse, self.rest - other.rest, self.deep - other.deep)

    def __rsub__(self, other: Fixed) -> Fine:
        return of_fixed(other) - self

    def __getitem__(self, cells: Any) -> Fine:
        deep = sum(
            total << (_SLOT * cell)
            for cell, total in enumerate(np.ravel(np.array(self._depths(), object)[cells]) if self.deep else ())
        )
        return Fine(self.coarse[cells], self.rest[cells], int(deep))

    def sum(self, axis: int | None = None) -> Fine:
        """The total over the cells, which lie in one row."""
        return Fine(self.coarse.sum(axis), self.rest.sum(axis), sum(self._depths()))

    def floats(self) -> Floats:
        """The totals as doubles."""
        high, low = self.pair()
        return np.asarray(high + low)

    def pair(self) -> tuple[Floats, Floats]:
        """The totals as unevaluated sums of two doubles."""
        return self._pair

    @cached_property
    def _pair(self) -> tuple[Floats, Floats]:
        if not self.deep:
            return fine_pairs(self.coarse.units, self.coarse.steps, self.rest.units, self.rest.steps)
        units, steps = self.coarse.units.astype(np.float64), self.coarse.steps.astype(np.float64) * STEP
        rest = self.rest.units.astype(np.float64) * STEP, self.rest.steps.astype(np.float64) * STEP**2
        high, low = two_sum(units, steps)
        middle, lower = two_sum(*rest)
        high, error = two_sum(high, middle)
        low = error + low + lower
        whole = [float(Fraction(total, 1 << _FINEST)) for total in self._depths()]
        return two_sum(high, low + np.reshape(whole, self.coarse.units.shape))

    def _depths(self) -> list[int]:
        """The exact totals of `deep`, cell by cell."""
        found, left, half = [], self.deep, 1 << (_SLOT - 1)
        for _ in range(self.coarse.units.size):
            here = ((left + half) & ((1 << _SLOT) - 1)) - half  # signed: the slot above was borrowed from
            found.append(here)
            left = (left - here) >> _SLOT
        return found


def of_tables(tables: Sequence[NDArray[np.int64]]) -> list[Fine]:
    """Totals from tables of the core, whose rows hold units and steps, then those of what these leave.

    Their doubles are made together: a report reads a dozen small ones, and each call costs more than it adds up.
    """
    whole = np.ascontiguousarray(np.concatenate(tables).T)
    high, low = fine_pairs(*whole)
    made, start = [], 0
    for table in tables:
        some = slice(start, start := start + len(table))
        units, steps, rest_units, rest_steps = whole[:, some]
        total = Fine(Fixed(units, steps), Fixed(rest_units, rest_steps))
        total.__dict__["_pair"] = high[some], low[some]
        made.append(total)
    return made


def of_fixed(total: Fixed) -> Fine:
    """Totals that leave no rest."""
    return Fine(total, Fixed.zeros(total.units.shape))


def parts(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Numbers as whole units, the part of one unit, and what steps of 2^-44 leave of it, in units of 2^-44."""
    units = np.rint(values)
    part = values - units  # exact, and at most a half
    return units, part, (part - fixed.scaled(part).astype(np.float64) * STEP) * 2.0**fixed.STEPS


def binned(values: Floats, cell: Indices, n_cells: int, error: Floats | None = None) -> Fine:
    """Totals by cell of numbers of size up to 2^40; `error` is what the numbers themselves were rounded by."""
    units, part, rest = parts(values)
    if error is not None:
        rest = rest + error * 2.0**fixed.STEPS
    total = np.bincount(cell, weights=units, minlength=n_cells).astype(np.int64)
    return Fine(Fixed.of_counts(total) + fixed.binned(part, cell, n_cells), fixed.binned(rest, cell, n_cells))


def exact(values: Floats, cell: Indices, n_cells: int) -> Fine:
    """Totals by cell of numbers of size up to 2^40, tiny ones to their last digit."""
    made = binned(values, cell, n_cells)
    return Fine(made.coarse, made.rest, depth(values, cell, n_cells))


def depth(values: Floats, cell: Indices, n_cells: int) -> int:
    """What steps of 2^-88 leave of tiny numbers, exactly: the `deep` of their totals."""
    tiny = (np.abs(values) < TINY) & (values != 0)
    if not tiny.any():
        return 0
    steps = values[tiny] * 2.0 ** (2 * fixed.STEPS)
    mantissa, exponent = np.frexp(steps - np.rint(steps))
    whole = (mantissa * 2.0**53).astype(np.int64)
    place = exponent - 53 + (_FINEST - 2 * fixed.STEPS)
    whole, place = np.where(place < 0, whole >> np.maximum(-place, 0), whole), np.maximum(place, 0)
    home, total = cell[tiny], [0] * n_cells
    for shift in np.unique(place):
        some = place == shift
        # In two halves, so that the doubles of bincount hold the sums exactly.
        high = np.bincount(home[some], weights=whole[some] >> 26, minlength=n_cells)
        low = np.bincount(home[some], weights=whole[some] & 0x3FFFFFF, minlength=n_cells)
        for number in np.flatnonzero((high != 0) | (low != 0)).tolist():
            total[number] += ((int(high[number]) << 26) + int(low[number])) << int(shift)
    return sum(value << (_SLOT * number) for number, value in enumerate(total))


def squares(values: Floats, lost: Floats, cell: Indices, n_cells: int) -> Fine:
    """Totals of (value + lost)^2 by cell, to 2^-88, where `lost` is a rounding of the value."""
    square = values * values
    return binned(square, cell, n_cells, square_error(values, square) + 2.0 * values * lost)


Totals = Fine | Paired
