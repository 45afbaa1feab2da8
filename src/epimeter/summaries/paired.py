# SPDX-License-Identifier: Apache-2.0
"""Sums of weighted numbers in double-double: equal after rounding in any order, not promised bit for bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.core import NULL, accepted, lib, read, write
from epimeter.core.row_loops import fine_pairs

Floats = NDArray[np.float64]

SMALL = 2.0**-30
"""Products below this, as a share of the largest weight, would lose digits beside it; they are added apart."""


@dataclass(frozen=True)
class Paired:
    """Totals as an unevaluated sum of two doubles, one pair a cell."""

    high: Floats
    low: Floats

    def __add__(self, other: Paired) -> Paired:
        high, error = two_sum(self.high, other.high)
        return Paired(*two_sum(high, error + self.low + other.low))

    def __sub__(self, other: Paired) -> Paired:
        return self + Paired(-other.high, -other.low)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Paired) and np.array_equal(self.floats(), other.floats())

    def __getitem__(self, cells: Any) -> Paired:
        return Paired(self.high[cells], self.low[cells])

    def sum(self, axis: int | None = None) -> Paired:
        """The total over cells."""
        high = np.moveaxis(self.high, axis, 0) if axis is not None else self.high.ravel()
        low = np.moveaxis(self.low, axis, 0) if axis is not None else self.low.ravel()
        whole = Paired(np.zeros(high.shape[1:]), np.zeros(high.shape[1:]))
        for cell in range(len(high)):
            whole = whole + Paired(high[cell], low[cell])
        return whole

    def floats(self) -> Floats:
        return self.high + self.low

    def pair(self) -> tuple[Floats, Floats]:
        return self.high, self.low


def two_sum(left: Any, right: Any) -> tuple[Any, Any]:
    """The rounded sum and its exact rounding error (Knuth, TAOCP 2, 4.2.2)."""
    total = left + right
    part = total - left
    return total, (left - (total - part)) + (right - part)


def binned(values: Floats, weight: Floats, index: NDArray[Any] | None, n_cells: int) -> Paired:
    """Totals of weight * value by cell, for values of size up to 1; `index` is None where there is one cell."""
    largest = weight.max(initial=0.0)  # of no rows: a chunk may hold nothing but rows of weight zero
    scale = 2.0 ** np.ceil(np.log2(largest)) if largest > 0 else 1.0
    total, small = _level(values, weight, index, n_cells, float(scale), SMALL)
    if not len(small):
        return total
    return total + _by_size(values[small], weight[small], None if index is None else index[small], n_cells)


def _by_size(values: Floats, weight: Floats, index: NDArray[Any] | None, n_cells: int) -> Paired:
    """The same for products of any size, level by level: a cell may hold nothing but small ones."""
    share, power = np.frexp(weight)
    values, other = np.frexp(values)
    power = power + other
    total = Paired(np.zeros(n_cells), np.zeros(n_cells))
    while len(power):
        top = power.max()
        some = power > top - 30
        cell = None if index is None else index[some]
        here, _ = _level(values[some], np.ldexp(share[some], power[some] - top), cell, n_cells, 1.0, 0.0)
        high = np.ldexp(here.high, top)
        # A total too small for a double is the smallest one: it must not pass for nothing.
        high = np.where((high == 0) & (here.high != 0), np.copysign(np.nextafter(0, 1), here.high), high)
        total = total + Paired(high, np.ldexp(here.low, top))
        share, values, power = share[~some], values[~some], power[~some]
        index = None if index is None else index[~some]
    return total


def _level(
    values: Floats, weight: Floats, index: NDArray[Any] | None, n_cells: int, scale: float, least: float
) -> tuple[Paired, NDArray[np.int64]]:
    """Totals of weight * value, and the rows left out of them: those whose product, by `scale`, is below `least` and not 0."""
    n_rows = len(values)
    table, small = np.zeros((n_cells, 4), np.int64), np.empty(n_rows, np.int64)
    columns = [np.ascontiguousarray(column, np.float64) for column in (values, weight)]
    cell = None if index is None else np.ascontiguousarray(index, np.int64)
    if not n_rows == len(weight) == (n_rows if cell is None else len(cell)):
        raise ValueError("values, weights and cells of different lengths")
    given = *map(read, columns), NULL if cell is None else read(cell), n_rows, scale, least
    number = accepted(lib.epi_weighed_bins(*given, write(table), n_cells, write(small)))
    high, low = fine_pairs(*table.T)
    return Paired(high * scale, low * scale), small[:number]


def less_square(factor: Floats, left: tuple[Floats, Floats], right: tuple[Floats, Floats]) -> Floats:
    """factor * left - right^2 of unevaluated sums of two doubles, rounded at the end: what cancels was exact."""
    product, square = factor * left[0], right[0] * right[0]
    low = product_error(factor, left[0], product) + factor * left[1]
    low = low - (square_error(right[0], square) + 2.0 * right[0] * right[1])
    high, error = two_sum(product, -square)
    return np.asarray(high + (error + low))


def product_error(left: Floats, right: Floats, product: Floats) -> Floats:
    """What a product was rounded by (Veltkamp and Dekker)."""
    left_high, right_high = _upper_half(left), _upper_half(right)
    left_low, right_low = left - left_high, right - right_high
    cross = left_high * right_low + left_low * right_high
    return ((left_high * right_high - product) + cross) + left_low * right_low


def square_error(values: Floats, square: Floats) -> Floats:
    """What a square was rounded by."""
    high = _upper_half(values)
    low = values - high
    return ((high * high - square) + 2.0 * (high * low)) + low * low


def _upper_half(values: Floats) -> Floats:
    spread = values * 134217729.0  # 2^27 + 1
    return spread - (spread - values)
