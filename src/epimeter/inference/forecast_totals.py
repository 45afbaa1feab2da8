# SPDX-License-Identifier: Apache-2.0
"""Totals of a metric of forecasts over rows that are not kept: its value to the last bit, and enough for its interval.

Beside the exact sums stand powers of the scores about a pivot, in doubles, for the interval of a mean; and the totals of parts
that the rows are dealt into in turn, for the interval of what is a function of several means: the parts are drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.calling import Metric
from epimeter.errors import UndefinedMetricError
from epimeter.forecasts import Forecast
from epimeter.inference.bootstrap import ends
from epimeter.inference.forecasts import within_range
from epimeter.inference.scheme import scheme
from epimeter.inference.spread import SamplingDesign, skewed_ends, wilson
from epimeter.results import Interval, Result
from epimeter.summaries.exact import DrawnSums, RowMeans, RowSums, sums_of

Floats = NDArray[np.float64]
PARTS = 251
"""Parts that rows are dealt into: a prime, so that no period of the rows falls together with theirs."""


@dataclass
class ForecastTotals:
    """What is kept of the rows for one metric whose recipe is `RowMeans`."""

    metric: Metric[Any]
    recipe: RowMeans
    choices: Mapping[str, Any]
    sums: RowSums | None = None
    shares: bool = True
    """Whether every score is 0 or 1 so far."""
    pivot: Floats = field(default_factory=lambda: np.empty(0))
    powers: list[Floats] = field(default_factory=list)
    """Of every batch: sums of d, d^2 and d^3, and with weights w of w^2, w^2 d and w^2 d^2, of the first column."""
    parts: Floats = field(default_factory=lambda: np.empty((0, 0)))
    """Totals of the columns, and last the weight, one line a part."""

    def add(self, view: Forecast, first_row: int) -> None:
        """Add a batch whose first row has this number among all."""
        made = self.recipe.summarise(view)
        self.sums = made if self.sums is None else self.sums.merge(made)
        rows = self.recipe.rows(view)
        finite = np.where(np.isfinite(rows), rows, 0.0)
        if not len(self.pivot):
            self.pivot, self.parts = finite.mean(axis=0), np.zeros((PARTS, rows.shape[1] + 1))
        weight = np.ones(len(rows)) if view.weight is None else view.weight
        away = finite[:, 0] - self.pivot[0]
        heavy = weight**2
        self.shares = self.shares and bool(((rows == 0) | (rows == 1)).all())
        self.powers.append(
            np.array([away.sum(), away @ away, (away**3).sum(), heavy.sum(), heavy @ away, heavy @ away**2])
        )
        part = (first_row + np.arange(len(rows))) % PARTS
        for number, column in enumerate(finite.T):
            self.parts[:, number] += np.bincount(part, weights=column * weight, minlength=PARTS)
        self.parts[:, -1] += np.bincount(part, weights=weight, minlength=PARTS)

    def answer(self, sums: RowSums | DrawnSums | None = None) -> Any:
        """What the metric says of the totals, or of others in their place."""
        return self.metric.compute(self.recipe.finish(self.sums if sums is None else sums), **self.choices)

    def interval(self, level: float, draws: int, seed: int) -> Interval:
        """The interval of the value over all rows."""
        assert self.sums is not None
        sums = self.sums
        if any(sums.plus) or any(sums.minus):
            raise UndefinedMetricError(f"{self.metric.name} is infinite on some rows, so it has no interval")
        if len(sums.totals) == 1:
            return self._of_mean(sums, level)
        value, drawn = _headline(self.answer()), []
        plan = scheme(PARTS, None, None)
        for number in range(draws):
            counts, _ = plan.draw(seed, number, PARTS, False)
            total = counts @ self.parts
            drawn.append(_headline(self.answer(sums_of(total[:-1], float(total[-1])))))
        low, high = within_range(self.metric, *ends(value, np.array(drawn), level, "basic"))
        note = "the upward bias of errors near 0 is not removed" if self.metric.card.ideal == 0.0 else ""
        return Interval(
            low=low, high=high, level=level, method=f"basic bootstrap of {PARTS} parts", units=sums.n_rows, note=note
        )

    def _of_mean(self, sums: RowSums, level: float) -> Interval:
        n, centre = sums.n_rows, sums.mean
        if self.shares and not sums.weighted:
            low, high = wilson(centre, n, level)
            low, high = min(low, centre), max(high, centre)
            return Interval(low=low, high=high, level=level, method="Wilson", units=n)
        d1, d2, d3, w2, w2d, w2d2 = (math.fsum(column) for column in np.array(self.powers).T.tolist())
        shift = centre - float(self.pivot[0])
        third = None
        if sums.weighted:
            mass = float(self.parts[:, -1].sum())
            squares = max(0.0, w2d2 - 2 * shift * w2d + shift**2 * w2)
            error = math.sqrt(squares * n / (n - 1)) / mass
        else:
            squares = max(0.0, d2 - n * shift**2)
            error = math.sqrt(squares / (n - 1) / n)
            if error > 0:
                cubes = d3 - 3 * shift * d2 + 3 * shift**2 * d1 - n * shift**3
                third = cubes / n / (error * math.sqrt(n)) ** 3
        low, high = skewed_ends(centre, error, third, SamplingDesign(None, None, n), level)
        low, high = within_range(self.metric, low, high)
        method = "normal, skewness removed" if third is not None else "normal"
        return Interval(low=low, high=high, level=level, method=method, units=n)


def _headline(answer: Any) -> float:
    return float(answer.headline if isinstance(answer, Result) else answer)
