# SPDX-License-Identifier: Apache-2.0
"""Sums of real numbers as sums of integers.

A number is scaled by 2^44 and rounded once, half to even; from there on only integers are added, so the total has the
same bits for any order, chunking or number of threads. A total is kept in two int64: whole units and the fraction in
steps of 2^-44, together more than 100 bits. One step is 5.7e-14: far below what any metric resolves, and the same on
every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

STEPS = 44
ONE = 1 << STEPS
_MASK = ONE - 1
_SHIFT = 1.5 * 2.0 ** (52 - STEPS)
"""Adding this to |x| <= 2^6 leaves x rounded to 2^-44 in the last bits of the sum: its ulp is exactly one step."""

BLOCK = 1 << 18
"""Rows whose fractions (each below 2^44) can be added in an int64 without a carry."""

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Fixed:
    """Exact totals, one a cell: `units` + `steps` * 2^-44, with 0 <= steps < 2^44."""

    units: Integers
    steps: Integers

    def __add__(self, other: Fixed) -> Fixed:
        return normalised(self.units + other.units, self.steps + other.steps)

    def __sub__(self, other: Fixed) -> Fixed:
        if not isinstance(other, Fixed):
            return NotImplemented
        steps = self.steps - other.steps
        return Fixed(self.units - other.units + (steps >> STEPS), steps & _MASK)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Fixed)
            and np.array_equal(self.units, other.units)
            and np.array_equal(self.steps, other.steps)
        )

    def __getitem__(self, cells: Any) -> Fixed:
        return Fixed(self.units[cells], self.steps[cells])

    def sum(self, axis: int | None = None) -> Fixed:
        """The total over cells."""
        return normalised(self.units.sum(axis=axis), self.steps.sum(axis=axis))

    def cumulate(self) -> Fixed:
        """Running totals along the cells; with more than 2^18 of them the fractions carry block by block."""
        units, steps = np.cumsum(self.units), np.empty_like(self.steps)
        carry_units, carry_steps = 0, 0
        for start in range(0, len(self.steps), BLOCK):
            cells = slice(start, start + BLOCK)
            running = np.cumsum(self.steps[cells]) + carry_steps
            steps[cells] = running & _MASK
            units[cells] += (running >> STEPS) + carry_units
            carry_units += int(running[-1]) >> STEPS
            carry_steps = int(running[-1]) & _MASK
        return Fixed(units, steps)

    def floats(self) -> NDArray[np.float64]:
        """The totals as doubles, rounded once."""
        return self.units.astype(np.float64) + self.steps.astype(np.float64) * 2.0**-STEPS

    @classmethod
    def zeros(cls, shape: int | tuple[int, ...]) -> Fixed:
        return cls(np.zeros(shape, np.int64), np.zeros(shape, np.int64))

    @classmethod
    def of_counts(cls, counts: Integers) -> Fixed:
        """Whole numbers as totals."""
        return cls(counts.astype(np.int64, copy=False), np.zeros(counts.shape, np.int64))


def normalised(units: Any, steps: Any) -> Fixed:
    """Totals with the carry moved from the steps to the units."""
    units, steps = np.asarray(units, np.int64), np.asarray(steps, np.int64)
    return Fixed(units + (steps >> STEPS), steps & _MASK)


def scaled(values: NDArray[Any]) -> Integers:
    """Numbers of size up to 2^6 in steps of 2^-44, rounded half to even."""
    shifted: NDArray[np.float64] = values.astype(np.float64, copy=False) + _SHIFT
    return shifted.view(np.int64) - np.float64(_SHIFT).view(np.int64)


def split(values: NDArray[Any]) -> tuple[Integers, Integers]:
    """Numbers of size up to 2^40 as whole units and steps of 2^-44, the fraction rounded half to even.

    A number less its nearest whole number is exact, and at most a half.
    """
    units = np.rint(values)
    return units.astype(np.int64), scaled(values - units)


def total(values: NDArray[Any]) -> Fixed:
    """The exact total of numbers of size up to 2^40."""
    whole = Fixed.zeros(())
    for start in range(0, len(values), BLOCK):
        units, steps = split(values[start : start + BLOCK].astype(np.float64, copy=False))
        whole = whole + normalised(units.sum(), steps.sum())
    return whole


def binned(values: NDArray[Any], index: NDArray[np.integer[Any]], n_cells: int) -> Fixed:
    """Exact totals by cell of numbers in [-2^6, 2^6]."""
    whole = Fixed.zeros(n_cells)
    for start in range(0, len(values), BLOCK):
        rows = slice(start, start + BLOCK)
        steps = scaled(values[rows])
        # bincount adds doubles: exact below 2^53, so the 45 bits of a step go in two halves of at most 26 + 18 bits.
        low = np.bincount(index[rows], weights=steps & 0x3FFFFFF, minlength=n_cells)
        high = np.bincount(index[rows], weights=steps >> 26, minlength=n_cells)
        whole = whole + normalised(
            high.astype(np.int64) >> (STEPS - 26),
            ((high.astype(np.int64) & ((1 << (STEPS - 26)) - 1)) << 26) + low.astype(np.int64),
        )
    return whole
