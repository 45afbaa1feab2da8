# SPDX-License-Identifier: Apache-2.0
"""An interval for every metric of the catalogue.

What is known is used: the spread of the rows for means and their functions, the inversion of a test for errors that
cannot be negative (see `inversion`), Wilson's or the exact interval for shares, a metric's own standard error. All of
these cost no pass over the data. Everything else is drawn again: the basic bootstrap, and where perfect calibration
would score 0, zero is left inside unless the test of perfect calibration speaks against it.

How well each covers is measured by benchmarks/coverage.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card import Metric, find
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.inference.bootstrap import bootstrapped, ends, jackknifed, scheme
from epimeter.inference.consistency import redrawn
from epimeter.inference.draws import at_least
from epimeter.inference.forecasts import forecast_interval
from epimeter.inference.inversion import BinnedError, WalkError
from epimeter.inference.ranked import INFLUENCES, ranked_ends
from epimeter.inference.resampled_columns import column_interval
from epimeter.inference.spread import (
    Evidence,
    Spread,
    clopper_pearson,
    evidence_of,
    score_ends,
    skill_ends,
    student,
    sums_ends,
)
from epimeter.inference.spread import Rows as RowSpread
from epimeter.inference.statistic import Statistic
from epimeter.limits import AtLeast, Between
from epimeter.metrics.bin.sweep import Searched
from epimeter.metrics.cumulative.walk import event as walk_event
from epimeter.metrics.cumulative.walk import steps_of
from epimeter.parameters import Parameter
from epimeter.results import Interval, Number, Result
from epimeter.summaries.bins import BinTotals
from epimeter.summaries.means import MeanOf
from epimeter.summaries.recipe import Recipe
from epimeter.summaries.rows import OrderedRows
from epimeter.summaries.score_moments import MomentsOf, ScoreMoments
from epimeter.summaries.sums import SumsOf
from epimeter.views import Binary, View

Floats = NDArray[np.float64]
Method = Literal["auto", "asymptotic", "exact", "bootstrap", "basic", "percentile", "bca"]

DRAWS = 999
NULL_DRAWS = 199
"""Sets of labels drawn from the forecasts, to ask whether zero belongs inside a resampled interval."""
STRETCH = 1 << 13
"""Levels scored at a time: so few that what is made of them stays in the cache, and that no library starts threads for them."""
FEW_UNITS = 20
"""Fewer groups than this say too little about how groups vary."""

NORMS: Mapping[str, tuple[float | str, int]] = {
    "ece": (1, 1),
    "ece_ea": (1, 1),
    "ece_db": (1, 1),
    "ers_ece": (1, 1),
    "onto_ece": (1, 1),
    "lp_ce": ("norm", 1),
    "top_label_ce": ("norm", 1),
    "mce": (math.inf, 1),
    "abc": (1, 1),
    "classwise_ece": (1, 1),
    "drmsce": (2, 1),
    "drmsce_bcs": (2, 1),
    "ce2_db": (2, 2),
    "dpe": (2, 2),
}
"""Binned errors that are a norm of the gaps: the norm (or the parameter that says it), and the power reported."""

CLASSES_TOGETHER = 2.0
"""How many times larger the variance of the gaps of all classes, added up, can be than if the classes were independent.

With the signs of the gaps, the part of the classes that err to one side has the chance P, and the variance 4 P (1 - P); that of
independent classes is 1 - sum p_k^2, which is never less than 2 P (1 - P). Two classes reach the bound: they mirror each other.
"""
OWN_INTERVAL = ("dpe", "l2_ece_ci")
"""Debiased squares: drawing rows again would only add back the bias, so they keep their own interval."""
RATIOS = ("eo_ratio", "oe_ratio")
SMOOTH_SUMS = (*RATIOS, "normalized_entropy", "soft_f1", "root_brier_score", "ecd_test")
WALKS = {"ecce_mad": False, "ecce_r": True, "cutoff_ce": True}
"""Cumulative errors; whether they measure the range of the walk."""

NO_POPULATION_VALUE = {
    "t_cal": "a p-value",
    "bbt": "a p-value",
    "spiegelhalter_z": "a test statistic",
    "hl": "a test statistic",
    "knn_chi2": "a test statistic",
    "pws": "a test statistic",
    "mcm": "a test statistic",
    "bcs": "a number of bins",
    "gebel_cal": "a p-value",
    "pit_test": "a test statistic",
    "pit": "a histogram",
    "kernel_bandwidth": "a setting",
    "kernel_curve": "a curve",
    "loess_curve": "a curve",
}
"""Entries whose headline is no property of the population, so that no interval can be for it."""

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
    return how.of(metric, recipe, recipe.finish(recipe.summarise(view)), view, rest, evidence_of(view, groups))


def _no_population_value(metric: Metric[Any]) -> str | None:
    what = NO_POPULATION_VALUE.get(metric.name)
    if what is None and (metric.card.family in ("test", "recalibration") or metric.name == "brownian_tail"):
        what = "the answer of a test or the parameter of a map"
    return what


def has_population_value(metric: Metric[Any]) -> bool:
    """Whether it estimates a property of the population, so that an interval can be for it."""
    return _no_population_value(metric) is None


def refuse_without_value(metric: Metric[Any]) -> None:
    """Refuse what has no value in the population."""
    what = _no_population_value(metric)
    if what is not None:
        raise UndefinedMetricError(f"{metric.name} has no interval: it is {what}, not a property of the population")


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
        evidence: Evidence,
    ) -> Interval:
        """The interval of a metric on a view; `finished` is the summary it reads."""
        if evidence.units < 2:
            raise UndefinedMetricError(f"an interval of {metric.name} needs at least 2 rows; got {evidence.units}")
        if self.method in ("auto", "asymptotic", "exact"):
            found = known_interval(metric, recipe, finished, view, choices, evidence, self.level, self.method)
            if found is not None:
                return found
            if self.method != "auto":
                raise UndefinedMetricError(
                    f"no {self.method} interval is known for {metric.name} on these data; method='basic' draws rows again"
                )
        statistic = Statistic(metric.name, metric, recipe, choices, None)
        plan = scheme(view.n_rows, None, evidence.group)
        drawn = bootstrapped([view], [statistic], plan, self.draws, self.seed, self.threads)[:, 0, 0]
        kind: Any = "basic" if self.method in ("auto", "bootstrap") else self.method
        value = statistic.of_view(view)
        low, high = ends(value, drawn, self.level, kind, lambda: jackknifed(view, statistic, plan))
        null = None
        if self.method in ("auto", "bootstrap") and zero_when_calibrated(metric) and evidence.group is None:
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


def moments_for(metric: Metric[Any], recipe: Recipe) -> MomentsOf | None:
    """The recipe of the moments that the interval of a metric needs; None where it needs none."""
    if type(recipe) is MeanOf or (metric.name in SMOOTH_SUMS and isinstance(recipe, SumsOf) and not recipe.by_label):
        return MomentsOf.of_recipe(recipe)
    return None


def moment_recipes(entries: Iterable[tuple[Metric[Any], Recipe, Mapping[str, Any]]]) -> list[Recipe]:
    """What a pass must gather besides, so that the intervals of metrics cost no further one."""
    wanted = [moments_for(metric, recipe) for metric, recipe, _ in entries if has_population_value(metric)]
    return list(dict.fromkeys(recipe for recipe in wanted if recipe is not None))


def _spread(
    metric: Metric[Any], recipe: Any, view: View | None, evidence: Evidence, moments: ScoreMoments | None
) -> Spread | None:
    """How sure the means of a recipe are; None where too little is known."""
    wanted = moments_for(metric, recipe)
    if wanted is None:
        return None
    if evidence.group is not None:
        if view is None:
            return None
        given = view.read_as(recipe.reading)
        scores = np.asarray(recipe.score(given, **dict(recipe.bound)), np.float64)
        return RowSpread(scores.reshape(given.n_rows, -1), evidence)
    if moments is None:
        if view is None:
            return None
        moments = wanted.summarise(view.read_as(recipe.reading))
    return None if moments.beyond else wanted.finish(moments)


def known_interval(
    metric: Metric[Any],
    recipe: Recipe,
    finished: Any,
    view: View | None,
    choices: Mapping[str, Any],
    evidence: Evidence,
    level: float,
    method: str = "auto",
    moments: ScoreMoments | None = None,
) -> Interval | None:
    """The interval that needs no drawing again; None where none is known.

    `view` may be read already as the recipe asks, or not yet; None where the rows are gone. `moments` are those that
    `moments_for` names, where a pass has gathered them.
    """

    def compute(summary: Any) -> float:
        answer = metric.compute(summary, **choices)
        return answer.headline if isinstance(answer, Result) else float(answer)

    name, found, word = metric.name, None, ""
    if method == "exact":
        assert view is not None
        return _exact(metric, recipe, finished, view, evidence, level)
    size = error_of(metric, finished, view, choices, evidence)
    if size is not None:
        power = NORMS[name][1] if name in NORMS else 1
        low, high = size.ends(level)
        found, word = (low**power, high**power), "inversion"
    elif name == "esce":
        found, word = _signed(finished, view, evidence, level), "normal"
    elif name == "l2_ece_ci" and evidence.group is None and not evidence.weighted:
        made = metric.compute(finished, alpha=1 - level)
        found, word = (made.lower, made.upper), "Sun et al. 2024"
    elif name in SMOOTH_SUMS and isinstance(recipe, SumsOf):
        spread = _spread(metric, recipe, view, evidence, moments)
        found = None if spread is None else sums_ends(finished, compute, spread, evidence, level, name in RATIOS)
        word = "delta method" + (" on the log scale" if name in RATIOS else "")
    elif name == "corp":
        found, word = _scored(finished, view, choices, evidence, level), "normal"
    elif type(recipe) is MeanOf:
        spread = _spread(metric, recipe, view, evidence, moments)
        three = None if spread is None else score_ends(finished, compute, spread, evidence, level)
        found, word = (None, "") if three is None else (three[:2], three[2])
    elif view is None:
        pass
    elif name in INFLUENCES and dict(choices).get("max_rejection", 1.0) == 1.0:
        found, word = (
            ranked_ends(name, compute(finished), view.read_as(recipe.reading), choices, evidence, level),
            "delta method",
        )
    elif name == "brier_skill_score" and choices.get("reference") is None:
        found, word = skill_ends(view.classes, compute(finished), evidence, level), "delta method"
    elif name == "cis" and evidence.group is None and view.weight is None:
        made = metric.compute(finished, **choices)
        reach = student(view.n_rows, level) * made.intercept_se
        found, word = (made.intercept - reach, made.intercept + reach), "likelihood"
    if found is None or not all(math.isfinite(end) for end in found):
        return None
    least, most = metric.card.range
    low = found[0] if least is None else max(found[0], min(least, 0.0))
    high = found[1] if most is None or name in ("brier_score", "nll") else min(found[1], most)
    if evidence.group is not None and "groups" not in word:
        word += ", by groups"
    return Interval(low=low, high=high, level=level, method=word, units=evidence.units)


def _exact(
    metric: Metric[Any], recipe: Recipe, finished: Any, view: View, evidence: Evidence, level: float
) -> Interval | None:
    """Clopper and Pearson's interval, where every row scores 0 or 1."""
    if type(recipe) is not MeanOf or view.weight is not None or evidence.group is not None:
        return None
    scores = np.asarray(recipe.score(view, **dict(recipe.bound)), np.float64)
    if not ((scores == 0) | (scores == 1)).all():
        return None
    low, high = clopper_pearson(float(scores.sum()), view.n_rows, level)
    return Interval(low=low, high=high, level=level, method="Clopper-Pearson", units=view.n_rows)


def error_of(
    metric: Metric[Any], finished: Any, view: View | None, choices: Mapping[str, Any], evidence: Evidence
) -> BinnedError | WalkError | None:
    """A metric as the size of a noisy vector, where it is one: a norm of gaps, or the extent of a walk."""
    if metric.name in WALKS:
        return _walk(metric.name, finished, choices, evidence)
    if metric.name not in NORMS or choices.get("measure", "mass") != "mass":
        return None
    norm, _ = NORMS[metric.name]
    if isinstance(norm, str):
        norm = float(choices.get(norm, metric.parameters[norm].default))
    classes = _classes_of(finished)
    if not classes or (len(classes) > 1 and (math.isinf(norm) or evidence.group is not None)):
        return None
    size, gap, frequency = (np.concatenate([c[i] for c in classes]) for i in range(3))
    rows = evidence.effective / _repeats(view, finished, evidence)
    if rows < 2:
        return None
    share = size / size.sum()
    if len(classes) == 1:
        return BinnedError(share, gap, frequency, rows, float(norm))
    # Of many classes most bins hold few rows of a class that never comes true: half a chance would be far too much.
    return BinnedError(share, gap, frequency, len(classes) * rows, float(norm), CLASSES_TOGETHER, frequency - gap)


def _classes_of(finished: Any) -> list[tuple[Floats, Floats, Floats]]:
    """Size, gap and frequency of the bins that hold rows, class by class."""
    several = finished.classes if isinstance(finished, Searched) else (finished,)
    found = []
    for totals in several:
        if not isinstance(totals, BinTotals):
            return []
        for size, gap, frequency in zip(
            *(column.reshape(-1, column.shape[-1]) for column in (totals.size, totals.gap, totals.frequency)),
            strict=True,
        ):
            filled = size > 0
            found.append((size[filled], gap[filled], frequency[filled]))
    return found


def _repeats(view: View | None, bins: Any, evidence: Evidence) -> float:
    """How much groups inflate the variance of a binned error: that of its residuals, signed as their bin is."""
    if evidence.group is None or view is None:
        return 1.0
    event = view.event
    residual = event.true - event.prob.astype(np.float64)
    if isinstance(bins, Searched):
        bins = bins.classes[0]
    gaps, edges = bins.gap.ravel(), bins.edges
    if edges is not None and bins.gap.size == len(edges) - 1:
        place = np.clip(np.searchsorted(edges[1:-1], event.prob, side="right"), 0, len(gaps) - 1)
        residual = residual * np.where(gaps[place] < 0, -1.0, 1.0)
    return evidence.inflation(residual - residual.mean())


def _scored(
    rows: OrderedRows, view: View | None, choices: Mapping[str, Any], evidence: Evidence, level: float
) -> tuple[float, float] | None:
    """Mean score of an event: Student's interval of the mean, from what each level scores where it came true and where not."""
    levels, brier = rows.levels, choices.get("score", "brier") == "brier"
    first = second = 0.0
    for start in range(0, len(levels.prob), STRETCH):
        some = slice(start, start + STRETCH)
        true, false = levels.true[some], levels.weight[some] - levels.true[some]
        hit, miss = _event_scores(levels.prob[some], true, false, brier)
        first += float(true @ hit + false @ miss)
        second += float(true @ hit**2 + false @ miss**2)
    total = float(levels.weight.sum())
    mean = first / total
    if not math.isfinite(mean):
        return None
    variance = max(0.0, second / total - mean**2)
    inflation = 1.0
    if evidence.group is not None:
        if view is None:
            return None
        true = view.event.true.astype(np.float64)
        hit, miss = _event_scores(view.event.prob.astype(np.float64), true, 1 - true, brier)
        inflation = evidence.inflation(true * hit + (1 - true) * miss - mean)
    error = math.sqrt(variance * inflation / max(1.0, evidence.effective - 1))
    reach = student(evidence.units, level) * error
    return mean - reach, mean + reach


def _event_scores(said: Floats, true: Floats, false: Floats, brier: bool) -> tuple[Floats, Floats]:
    """What a probability scores where the event came true, and where not; 0 where neither happened."""
    if brier:
        return (1 - said) ** 2, said**2
    with np.errstate(divide="ignore"):
        return np.where(true > 0, -np.log(said), 0.0), np.where(false > 0, -np.log1p(-said), 0.0)


def _signed(bins: BinTotals, view: View | None, evidence: Evidence, level: float) -> tuple[float, float]:
    """Mean of y - c; its variance from the bins, with what confidences vary inside a bin left out."""
    value = float((bins.true - bins.prob).sum().floats() / bins.n)  # type: ignore[operator]
    square = float(np.sum(bins.share * (bins.frequency * (1 - bins.frequency) + bins.gap**2)))
    inflation = 1.0
    if evidence.group is not None and view is not None:
        inflation = evidence.inflation(view.event.true - view.event.prob.astype(np.float64) - value)
    error = math.sqrt(max(square - value**2, 0.0) * inflation / evidence.effective)
    reach = student(evidence.units, level) * error
    return value - reach, value + reach


def _walk(name: str, finished: Any, choices: Mapping[str, Any], evidence: Evidence) -> WalkError | None:
    if isinstance(finished, OrderedRows):
        rows = Binary(finished.true.astype(np.uint8), finished.prob, finished.weight)
    else:
        rows = walk_event(finished, choices.get("reduction", "top"), choices.get("k", 1), name)
    if rows.n_rows < 2:
        return None
    inflation = 1.0
    if evidence.group is not None:
        if rows.n_rows != evidence.n_rows or isinstance(finished, OrderedRows):  # the groups are not in this order
            return None
        residual = rows.true - rows.prob.astype(np.float64)
        inflation = evidence.inflation(residual - residual.mean())
    steps = steps_of(rows, choices.get("ties", "group"))
    weight = np.ones(rows.n_rows) if steps.weight is None else steps.weight
    return WalkError(weight * (steps.true - steps.prob), float(weight.sum()), inflation, WALKS[name])


def shared_intervals(
    view: View,
    plan: Sequence[tuple[Metric[Any], Recipe, Mapping[str, Any]]],
    values: Sequence[float],
    evidence: Evidence,
    level: float,
    draws: int,
    seed: int,
    threads: int | None = None,
) -> list[Interval | None]:
    """Bootstrap intervals of many metrics from the same replicates; None where a replicate has no value."""
    statistics = [Statistic(metric.name, metric, recipe, rest, None) for metric, recipe, rest in plan]
    if not statistics:
        return []
    how = scheme(view.n_rows, None, evidence.group)
    drawn = bootstrapped([view], statistics, how, draws, seed, threads, undefined=math.nan)[:, 0]
    judged = [s for s, (metric, _, _) in zip(statistics, plan, strict=True) if zero_when_calibrated(metric)]
    null: dict[str, Floats] = {}
    if judged and evidence.group is None:
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
