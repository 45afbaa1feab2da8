# SPDX-License-Identifier: Apache-2.0
"""Sums of numbers of any size without any rounding, for scores that have a unit.

A probability lies in [0, 1] and steps of 2^-44 are finer than any metric resolves (`fixed`). An error of a forecast has the unit
of what is forecast, nanometres or euros, so no step is fine enough for all. Every double is a whole number of units of
2^-1074; the total is kept as that whole number. It is the same for any order, chunking or number of threads, and the mean
is rounded once. Rows of a score at infinity are counted, not added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import MergeError, UndefinedMetricError
from epimeter.forecasts.row import Forecast
from epimeter.summaries.means import MeanOf
from epimeter.summaries.recipe import Loop, Recipe

Floats = NDArray[np.float64]

FINEST = 1074
BLOCK = 1 << 20
"""Numbers whose halves of 27 bits add up in a double without a rounding."""


def whole(values: Floats) -> int:
    """The total of finite numbers in units of 2^-1074."""
    total = 0
    if len(values) > 1 and ((values == 0) | (values == 1)).all():  # flags are many, and counting them is quick
        return int(np.count_nonzero(values)) << FINEST
    if len(values) > 1 and (values == values[0]).all():
        return len(values) * whole(values[:1])
    for start in range(0, len(values), BLOCK):
        mantissa, exponent = np.frexp(values[start : start + BLOCK])
        digits = (mantissa * 2.0**53).astype(np.int64)
        # A double below 2^-1021 has fewer digits: those that frexp made up are zeros.
        place = exponent.astype(np.int64) - 53 + FINEST
        least = int(place.min(initial=0))
        slot = place - least
        high = np.bincount(slot, weights=digits >> 26)
        low = np.bincount(slot, weights=digits & 0x3FFFFFF)
        for number in np.flatnonzero((high != 0) | (low != 0)).tolist():
            here = (int(high[number]) << 26) + int(low[number])
            shift = number + least
            total += here << shift if shift >= 0 else here >> -shift
    return total


@dataclass(frozen=True)
class RowSums:
    """Totals of the columns that a score gives, and of the weights."""

    weight: int
    """In units of 2^-1074; the number of rows times 2^1074 without weights."""
    totals: tuple[int, ...]
    """Sum of w x, one a column, in the same units."""
    plus: tuple[int, ...]
    """Rows at +inf, one number a column."""
    minus: tuple[int, ...]
    n_rows: int
    weighted: bool

    def merge(self, other: RowSums) -> RowSums:
        if len(self.totals) != len(other.totals):
            raise MergeError(f"cannot merge sums of {len(self.totals)} and of {len(other.totals)} columns")
        if self.weighted != other.weighted:
            raise MergeError("cannot merge weighted and unweighted sums; give both weights, or neither")
        return RowSums(
            self.weight + other.weight,
            _added(self.totals, other.totals),
            _added(self.plus, other.plus),
            _added(self.minus, other.minus),
            self.n_rows + other.n_rows,
            self.weighted,
        )

    @property
    def means(self) -> Floats:
        """The mean of each column, rounded once; +inf outweighs -inf, as in `means`."""
        return np.array(
            [
                math.inf if plus else -math.inf if minus else _ratio(total, self.weight)
                for total, plus, minus in zip(self.totals, self.plus, self.minus, strict=True)
            ]
        )

    @property
    def mean(self) -> float:
        """The mean of the only column."""
        (value,) = self.means
        return float(value)


@dataclass(frozen=True)
class DrawnSums:
    """What a metric reads of totals that are doubles already, as those of rows drawn again: a quotient of two doubles is rounded
    once too, so that whole numbers of 2,000 bits would give the same means a thousand times slower.
    """

    means: Floats
    n_rows: int

    @property
    def mean(self) -> float:
        """The mean of the only column."""
        (value,) = self.means
        return float(value)


def sums_of(totals: Floats, mass: float) -> DrawnSums:
    """Totals in doubles as the summary that a metric reads."""
    return DrawnSums(totals / mass, max(1, round(mass)))


def _added(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a + b for a, b in zip(left, right, strict=True))


def _ratio(total: int, weight: int) -> float:
    try:
        return float(Fraction(total, weight))
    except OverflowError:
        return math.inf if total > 0 else -math.inf


@dataclass(frozen=True)
class RowMeans(MeanOf):
    """Exact means over the rows of what a function of a forecast gives: shape (N,) or (N, columns).

    The function's keyword parameters are parameters of the recipe, as in `MeanOf`.
    """

    def rows(self, view: Any) -> Floats:
        """What the function gives, always with a second axis."""
        values = np.asarray(self.score(view, **dict(self.bound)), np.float64)
        return values if values.ndim == 2 else values[:, None]

    def atoms(self, view: Any) -> None:
        return None

    @property
    def loop(self) -> Loop | None:
        return None

    def summarise(self, view: Any) -> RowSums:  # type: ignore[override]
        rows, weight = self.rows(view), view.weight
        if weight is not None:  # a row of weight zero is ignored, even when its own score is infinite
            rows, weight = rows[weight > 0], weight[weight > 0]
        if np.isnan(rows).any():  # never counted as 0
            place = int(np.flatnonzero(np.isnan(rows).any(axis=1))[0])
            raise UndefinedMetricError(
                f"the score of row {place} has no value in floating point; its numbers are too extreme"
            )
        plus, minus = (rows == np.inf).sum(axis=0), (rows == -np.inf).sum(axis=0)
        finite = np.where(np.isfinite(rows), rows, 0.0)
        if weight is not None:
            finite = finite * weight[:, None]
        return RowSums(
            len(rows) << FINEST if weight is None else whole(weight),
            tuple(whole(np.ascontiguousarray(column)) for column in finite.T),
            tuple(plus.tolist()),
            tuple(minus.tolist()),
            view.n_rows,
            weight is not None,
        )


@dataclass(frozen=True)
class KeptForecast:
    """Rows of a forecast that were kept, for metrics that need all of them."""

    forecast: Forecast

    def merge(self, other: KeptForecast) -> KeptForecast:
        if type(self.forecast) is not type(other.forecast):
            raise MergeError(f"cannot merge forecasts of kind {self.forecast.kind} and {other.forecast.kind}")
        return KeptForecast(self.forecast.merged(other.forecast))


@dataclass(frozen=True)
class WholeForecast(Recipe):
    """Every row, for metrics that are no function of means."""

    streams = False

    def summarise(self, view: Any) -> KeptForecast:
        return KeptForecast(view)

    def finish(self, summary: KeptForecast) -> Forecast:
        return summary.forecast
