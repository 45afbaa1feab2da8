# SPDX-License-Identifier: Apache-2.0
"""Intervals of metrics of forecasts of a number or a set.

Means (coverage, CRPS, interval score) have the interval of a mean: Wilson's where rows score 0 or 1, else Student's, with the
skewness of the rows removed. What is a function of several means is drawn again; replicates are a product of how often each
row was drawn with the rows, many at a time, so that thousands of them cost some passes. What needs the rows draws those.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.calling import Metric
from epimeter.errors import UndefinedMetricError
from epimeter.forecasts import Forecast
from epimeter.inference.bootstrap import ends
from epimeter.inference.scheme import scheme
from epimeter.inference.spread import SamplingDesign, clopper_pearson, design_of, skewed_ends, third_moment, wilson
from epimeter.results import Interval, Result
from epimeter.summaries.exact import RowMeans, sums_of

Floats = NDArray[np.float64]
AT_ONCE = 1 << 22
"""Counts of drawn rows that are held at a time: 32 MB."""


def forecast_interval(
    metric: Metric[Any],
    columns: Sequence[Any],
    parameters: Mapping[str, Any],
    level: float,
    method: str,
    groups: Any,
    draws: int,
    seed: int,
) -> Interval:
    """The interval of a metric of forecasts."""
    view: Any
    view, recipe, rest = metric.prepare(*columns, **dict(parameters))
    return interval_of_forecast(metric, recipe, view, rest, design_of(view, groups), level, method, draws, seed)


def interval_of_forecast(
    metric: Metric[Any],
    recipe: Any,
    view: Forecast,
    choices: Mapping[str, Any],
    design: SamplingDesign,
    level: float,
    method: str,
    draws: int,
    seed: int,
) -> Interval:
    """The same, of rows that are validated already."""
    if design.units < 2:
        raise UndefinedMetricError(f"an interval of {metric.name} needs at least 2 rows; got {design.units}")
    if isinstance(recipe, RowMeans) and method in ("auto", "asymptotic", "exact"):
        rows = recipe.rows(view)
        if rows.shape[1] == 1 and np.isfinite(rows).all():
            return _of_mean(metric, rows[:, 0], design, level, method)
    if method in ("asymptotic", "exact", "bca"):
        raise UndefinedMetricError(
            f"no {method} interval is known for {metric.name} on these data; method='basic' draws rows again"
        )
    value, drawn = _drawn(metric, recipe, view, choices, design, draws, seed)
    kind: Any = "percentile" if method == "percentile" else "basic"
    low, high = within_range(metric, *ends(value, drawn, level, kind))
    note = "the upward bias of errors near 0 is not removed" if metric.card.ideal == 0.0 else ""
    return Interval(low=low, high=high, level=level, method=f"{kind} bootstrap", units=design.units, note=note)


def _of_mean(metric: Metric[Any], rows: Floats, design: SamplingDesign, level: float, method: str) -> Interval:
    """The interval of one mean."""
    plain = design.weight is None and design.group is None
    shares = plain and bool(((rows == 0) | (rows == 1)).all())
    centre = _mean(rows, design.weight)
    if method == "exact":
        if not shares:
            raise UndefinedMetricError(f"an exact interval is known of shares; {metric.name} is none on these data")
        low, high = clopper_pearson(float(rows.sum()), len(rows), level)
        return Interval(low=low, high=high, level=level, method="Clopper-Pearson", units=len(rows))
    if shares:
        low, high = wilson(centre, len(rows), level)
        low, high = min(low, centre), max(high, centre)  # at 0 and 1 a rounding may leave the value outside
        return Interval(low=low, high=high, level=level, method="Wilson", units=len(rows))
    influence = rows - centre
    error = design.deviation(influence)
    third = third_moment(influence, error) if plain and error > 0 else None
    low, high = within_range(metric, *skewed_ends(centre, error, third, design, level))
    word = "normal, skewness removed" if third is not None else "normal"
    word += ", by groups" if design.group is not None else ""
    return Interval(low=low, high=high, level=level, method=word, units=design.units)


def within_range(metric: Metric[Any], low: float, high: float) -> tuple[float, float]:
    """Ends that leave the range of the metric are drawn back to it."""
    least, most = metric.card.range
    low, high = (max(end, least) if least is not None else end for end in (low, high))
    low, high = (min(end, most) if most is not None else end for end in (low, high))
    return low, high


def _mean(rows: Floats, weight: Floats | None) -> float:
    if weight is None:
        return math.fsum(rows.tolist()) / len(rows)
    return math.fsum((rows * weight).tolist()) / math.fsum(weight.tolist())


def _drawn(
    metric: Metric[Any],
    recipe: Any,
    view: Forecast,
    choices: Mapping[str, Any],
    design: SamplingDesign,
    draws: int,
    seed: int,
) -> tuple[float, Floats]:
    """The value and those of rows, or groups of rows, that were drawn again."""
    plan = scheme(view.n_rows, None, design.group)

    def headline(finished: Any) -> float:
        answer = metric.compute(finished, **choices)
        return answer.headline if isinstance(answer, Result) else float(answer)

    value = headline(recipe.finish(recipe.summarise(view)))

    def replicates() -> Iterator[Any]:
        if not isinstance(recipe, RowMeans):
            for number in range(draws):
                yield recipe.finish(recipe.summarise(view.take(plan.draw(seed, number, view.n_rows, True)[1])))
            return
        rows = recipe.rows(view)
        weight = 1.0 if view.weight is None else view.weight
        block = max(1, AT_ONCE // view.n_rows)
        for start in range(0, draws, block):
            numbers = range(start, min(start + block, draws))
            mass = np.array([plan.draw(seed, number, view.n_rows, False)[0] * weight for number in numbers], np.float64)
            for totals, whole in zip(mass @ rows, mass.sum(axis=1).tolist(), strict=True):
                yield sums_of(totals, whole)

    made = []
    for finished in replicates():
        try:
            made.append(headline(finished))
        except UndefinedMetricError:
            made.append(math.nan)
    drawn = np.array(made)
    if np.isnan(drawn).any():
        raise UndefinedMetricError(f"{metric.name} has no value on some of the rows drawn again, so no interval")
    return value, drawn
