# SPDX-License-Identifier: Apache-2.0
"""An interval for every metric of the catalogue.

What is known is used, as the card of the metric says (see `known`). Everything else is drawn again: the basic bootstrap, and
where perfect calibration would score 0, zero is left inside unless the test of perfect calibration speaks against it.

How well each covers is measured by benchmarks/coverage.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.calling import Metric
from epimeter.card_index import find
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.inference.bootstrap import bootstrapped, ends, jackknifed
from epimeter.inference.consistency import redrawn
from epimeter.inference.draws import at_least
from epimeter.inference.forecasts import forecast_interval
from epimeter.inference.known import known_interval, refuse_without_value
from epimeter.inference.resampled_columns import column_interval
from epimeter.inference.scheme import scheme
from epimeter.inference.spread import SamplingDesign, design_of
from epimeter.inference.statistic import Statistic
from epimeter.limits import AtLeast, Between
from epimeter.parameters import Parameter
from epimeter.results import Interval, Number
from epimeter.summaries.recipe import Recipe
from epimeter.views import View

Floats = NDArray[np.float64]
Method = Literal["auto", "asymptotic", "exact", "bootstrap", "basic", "percentile", "bca"]

DRAWS = 999
NULL_DRAWS = 199
"""Sets of labels drawn from the forecasts, to ask whether zero belongs inside a resampled interval."""
FEW_UNITS = 20
"""Fewer groups than this say too little about how groups vary."""

OPTIONS = {
    "level": Parameter("level", 0.95, (float,), (), Between(0, 1, open_low=True, open_high=True)),
    "method": Parameter(
        "method", "auto", (), ("auto", "asymptotic", "exact", "bootstrap", "basic", "percentile", "bca")
    ),
    "draws": Parameter("draws", DRAWS, (int,), (), AtLeast(2)),
    "seed": Parameter("seed", 0, (int,), (), AtLeast(0)),
}


def interval(
    metric: str | Metric[Any],
    *columns: Any,
    level: float = 0.95,
    method: Method = "auto",
    groups: Any = None,
    draws: int = DRAWS,
    seed: int = 0,
    threads: int | None = None,
    **parameters: Any,
) -> Interval:
    """Where the population's value of a metric may lie.

    Parameters
    ----------
    metric
        A metric of the catalogue or its name.
    columns
        ``y_true, y_prob``; for a metric of other columns (detections) all of its columns.
    level
        Nominal coverage.
    method
        ``auto``: what is known to cover best; ``asymptotic``: no drawing again, refused where no such interval is
        known; ``exact``: Clopper and Pearson, for shares; ``basic`` (also called ``bootstrap``), ``percentile``,
        ``bca``: drawing rows again.
    groups
        One label a row; rows of one label (repeats of one question) count as one piece of evidence.
    draws, seed, threads
        For drawing again.
    parameters
        Of the metric, its further columns and sample_weight included.
    """
    chosen = find(metric) if isinstance(metric, str) else metric
    return interval_for(
        chosen, columns, parameters, level=level, method=method, groups=groups, draws=draws, seed=seed, threads=threads
    )


def interval_for(
    metric: Metric[Any],
    columns: Sequence[Any],
    parameters: Mapping[str, Any],
    *,
    level: float = 0.95,
    method: str = "auto",
    groups: Any = None,
    draws: int = DRAWS,
    seed: int = 0,
    threads: int | None = None,
) -> Interval:
    """As `interval`, with the parameters of the metric apart from those of the interval."""
    for name, value in (("level", level), ("method", method), ("draws", draws), ("seed", seed)):
        OPTIONS[name].refuse("interval", value)
    refuse_without_value(metric)
    if metric.card.forecasts:
        return forecast_interval(metric, columns, parameters, level, method, groups, draws, seed)
    if metric.reads is None:
        kind = "basic" if method in ("auto", "bootstrap") else method
        return column_interval(metric, columns, parameters, level, kind, groups, draws, seed)
    if groups is not None and "groups" in (*metric.card.needs, *metric.card.takes):
        parameters, groups = {**parameters, "groups": groups}, None
    view, recipe, rest = metric.prepare(*columns, **parameters)
    how = Request(level, method, draws, seed, threads)
    return how.of(metric, recipe, recipe.finish(recipe.summarise(view)), view, rest, design_of(view, groups))


class Request:
    """Which interval is wanted."""

    def __init__(self, level: float, method: str, draws: int = DRAWS, seed: int = 0, threads: int | None = None):
        self.level, self.method, self.draws, self.seed, self.threads = level, method, draws, seed, threads

    def of(
        self,
        metric: Metric[Any],
        recipe: Recipe,
        finished: Any,
        view: View,
        choices: Mapping[str, Any],
        design: SamplingDesign,
    ) -> Interval:
        """The interval of a metric on a view; `finished` is the summary it reads."""
        if design.units < 2:
            raise UndefinedMetricError(f"an interval of {metric.name} needs at least 2 rows; got {design.units}")
        if self.method in ("auto", "asymptotic", "exact"):
            found = known_interval(metric, recipe, finished, view, choices, design, self.level, self.method)
            if found is not None:
                return found
            if self.method != "auto":
                raise UndefinedMetricError(
                    f"no {self.method} interval is known for {metric.name} on these data; method='basic' draws rows again"
                )
        statistic = Statistic(metric.name, metric, recipe, choices, None)
        plan = scheme(view.n_rows, None, design.group)
        drawn = bootstrapped([view], [statistic], plan, self.draws, self.seed, self.threads)[:, 0, 0]
        kind: Any = "basic" if self.method in ("auto", "bootstrap") else self.method
        value = statistic.of_view(view)
        low, high = ends(value, drawn, self.level, kind, lambda: jackknifed(view, statistic, plan))
        null = None
        if self.method in ("auto", "bootstrap") and zero_when_calibrated(metric) and design.group is None:
            null = redrawn(view, [statistic], NULL_DRAWS, self.seed + 1, False, self.threads)[:, 0]
        return resampled_interval(metric, value, low, high, null, self.level, kind, plan.width)


def zero_when_calibrated(metric: Metric[Any]) -> bool:
    """Whether it is an error that perfect calibration brings to 0 and chance makes positive."""
    card = metric.card
    return (
        card.ideal == 0.0
        and card.direction == "lower"
        and card.family in ("bin", "kernel", "curve", "cumulative", "selective")
    )


def resampled_interval(
    metric: Metric[Any],
    value: float,
    low: float,
    high: float,
    null: Floats | None,
    level: float,
    method: str,
    units: int,
) -> Interval:
    """The ends of a bootstrap inside the range of the metric; 0 among them unless calibration is refuted.

    `null` holds the metric of labels drawn from the forecasts themselves.
    """
    least, most = metric.card.range
    word, note = f"{method} bootstrap", ""
    if zero_when_calibrated(metric):
        note = "drawing rows again repeats the upward bias of this metric: near 0 it covers less often than it says"
        if null is not None:
            word += " with the test of calibration"
            note = "away from perfect calibration it covers about five points less than its level (measured for ece)"
            if (1 + int(at_least(null, value).sum())) / (len(null) + 1) > 1 - level:
                low, high = min(low, 0.0), max(high, 0.0)
    if least is not None and math.isfinite(low):
        low, high = max(low, least), max(high, least)
    if most is not None and method == "basic" and math.isfinite(high):
        low, high = min(low, max(most, value)), min(high, max(most, value))
    return Interval(low=low, high=high, level=level, method=word, units=units, note=note)


def shared_intervals(
    view: View,
    plan: Sequence[tuple[Metric[Any], Recipe, Mapping[str, Any]]],
    values: Sequence[float],
    design: SamplingDesign,
    level: float,
    draws: int,
    seed: int,
    threads: int | None = None,
) -> list[Interval | None]:
    """Bootstrap intervals of many metrics from the same replicates; None where a replicate has no value."""
    statistics = [Statistic(metric.name, metric, recipe, rest, None) for metric, recipe, rest in plan]
    if not statistics:
        return []
    how = scheme(view.n_rows, None, design.group)
    drawn = bootstrapped([view], statistics, how, draws, seed, threads, undefined=math.nan)[:, 0]
    judged = [s for s, (metric, _, _) in zip(statistics, plan, strict=True) if zero_when_calibrated(metric)]
    null: dict[str, Floats] = {}
    if judged and design.group is None:
        made = redrawn(view, judged, NULL_DRAWS, seed + 1, False, threads, undefined=math.nan)
        null = {s.name: made[:, i] for i, s in enumerate(judged) if not np.isnan(made[:, i]).any()}
    found: list[Interval | None] = []
    for column, (metric, _, _), value in zip(drawn.T, plan, values, strict=True):
        if np.isnan(column).any() or not math.isfinite(value):
            found.append(None)
            continue
        low, high = ends(value, column, level, "basic")
        found.append(resampled_interval(metric, value, low, high, null.get(metric.name), level, "basic", how.width))
    return found


def within(metric: Metric[Any], wanted: Any, columns: Sequence[Any], choices: Mapping[str, Any]) -> Any:
    """The answer of a metric with the interval that was asked for: True, the word of a method, or a dict of options."""
    if wanted is True:
        options: dict[str, Any] = {}
    elif isinstance(wanted, str):
        options = {"method": wanted}
    elif isinstance(wanted, Mapping):
        options = dict(wanted)
        strange = [name for name in options if name not in ("level", "method", "groups", "draws", "seed", "threads")]
        if strange:
            raise InputError(
                f"interval has no option {strange[0]!r}; it has level, method, groups, draws, seed, threads"
            )
    else:
        raise InputError(f"interval must be True, a method, or a dict of options; got {wanted!r:.60}", field="interval")
    answer = metric(*columns, **choices)
    found = interval_for(metric, columns, choices, **options)
    if isinstance(answer, float) and not isinstance(answer, Number):
        answer = Number(answer, metric.name, dict(choices), len(columns[0]), None)
    return answer.within(found)
