# SPDX-License-Identifier: Apache-2.0
"""Intervals that need no drawing again: what the card of a metric says is known, computed from its summary.

The spread of the rows for means and their functions, the inversion of a test for errors that cannot be negative (see
`inversion`), Wilson's or the exact interval for shares, a metric's own standard error. All of these cost no pass over the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from epimeter.calling import Metric
from epimeter.errors import UndefinedMetricError
from epimeter.inference.error_sizes import error_of
from epimeter.inference.event_means import level_ends, residual_ends
from epimeter.inference.inversion import WalkError
from epimeter.inference.ranked import ranked_ends
from epimeter.inference.spread import (
    RowSpread,
    SamplingDesign,
    Spread,
    clopper_pearson,
    score_ends,
    skill_ends,
    student,
    sums_ends,
)
from epimeter.results import Interval, Result
from epimeter.summaries.means import MeanOf
from epimeter.summaries.recipe import Recipe
from epimeter.summaries.score_moments import MomentsOf, ScoreMoments
from epimeter.summaries.sums import SumsOf
from epimeter.uncertainty import (
    GapNorm,
    KnownInterval,
    MeanOfLevels,
    MeanResidual,
    MeanScore,
    OwnEnds,
    OwnError,
    RankedInfluence,
    SkillScore,
    SmoothSums,
    WalkExtent,
)
from epimeter.views import View

Ends = tuple[float, float]


def _no_population_value(metric: Metric[Any]) -> str | None:
    if metric.card.headline_is:
        return metric.card.headline_is
    return "the answer of a test or the parameter of a map" if metric.card.family in ("test", "recalibration") else None


def has_population_value(metric: Metric[Any]) -> bool:
    """Whether it estimates a property of the population, so that an interval can be for it."""
    return _no_population_value(metric) is None


def refuse_without_value(metric: Metric[Any]) -> None:
    """Refuse what has no value in the population."""
    what = _no_population_value(metric)
    if what is not None:
        raise UndefinedMetricError(f"{metric.name} has no interval: it is {what}, not a property of the population")


def _fact(metric: Metric[Any], recipe: Recipe) -> KnownInterval | None:
    """Which interval it has: the one on its card, or that of a mean of scores."""
    if metric.card.interval is None and type(recipe) is MeanOf:
        return MeanScore()
    return metric.card.interval


def moments_for(metric: Metric[Any], recipe: Recipe) -> MomentsOf | None:
    """The recipe of the moments that the interval of a metric needs; None where it needs none."""
    fact = _fact(metric, recipe)
    if isinstance(fact, MeanScore) and type(recipe) is MeanOf:
        return MomentsOf.of_recipe(recipe)
    if isinstance(fact, SmoothSums) and isinstance(recipe, SumsOf) and not recipe.by_label:
        return MomentsOf.of_recipe(recipe)
    return None


def moment_recipes(entries: Iterable[tuple[Metric[Any], Recipe, Mapping[str, Any]]]) -> list[Recipe]:
    """What a pass must gather besides, so that the intervals of metrics cost no further one."""
    wanted = [moments_for(metric, recipe) for metric, recipe, _ in entries if has_population_value(metric)]
    return list(dict.fromkeys(recipe for recipe in wanted if recipe is not None))


@dataclass(frozen=True)
class Case:
    """A metric on rows, as an interval sees it.

    Attributes
    ----------
    finished
        The summary that the metric reads.
    view
        The rows, read already as the recipe asks or not yet; None where they are gone.
    moments
        Those that `moments_for` names, where a pass has gathered them.
    inverted
        Ends that were found already on the same rows, by recipe and norm: several metrics are the same size of the same gaps.
    """

    metric: Metric[Any]
    recipe: Any
    finished: Any
    view: View | None
    choices: Mapping[str, Any]
    design: SamplingDesign
    level: float
    moments: ScoreMoments | None = None
    inverted: dict[tuple[Recipe, float], Ends] = field(default_factory=dict)

    def compute(self, summary: Any) -> float:
        """The value of a summary."""
        answer = self.metric.compute(summary, **self.choices)
        return answer.headline if isinstance(answer, Result) else float(answer)

    @property
    def independent(self) -> bool:
        """Whether every row is one piece of evidence."""
        return self.design.group is None and not self.design.weighted

    def spread(self) -> Spread | None:
        """How sure the means of the recipe are; None where too little is known."""
        wanted = moments_for(self.metric, self.recipe)
        if wanted is None:
            return None
        if self.design.group is not None:
            if self.view is None:
                return None
            given = self.view.read_as(self.recipe.reading)
            scores = np.asarray(self.recipe.score(given, **dict(self.recipe.bound)), np.float64)
            return RowSpread(scores.reshape(given.n_rows, -1), self.design)
        moments = self.moments
        if moments is None:
            if self.view is None:
                return None
            moments = wanted.summarise(self.view.read_as(self.recipe.reading))
        return None if moments.beyond else wanted.finish(moments)


def known_interval(
    metric: Metric[Any],
    recipe: Recipe,
    finished: Any,
    view: View | None,
    choices: Mapping[str, Any],
    design: SamplingDesign,
    level: float,
    method: str = "auto",
    moments: ScoreMoments | None = None,
    inverted: dict[tuple[Recipe, float], Ends] | None = None,
) -> Interval | None:
    """The interval that needs no drawing again; None where none is known. Parameters as the attributes of `Case`."""
    case = Case(metric, recipe, finished, view, choices, design, level, moments, {} if inverted is None else inverted)
    if method == "exact":
        return _exact(case)
    fact = _fact(metric, recipe)
    if fact is None or not fact.holds(choices):
        return None
    ends, word = WAYS[type(fact)](fact, case)
    if ends is None or not all(math.isfinite(end) for end in ends):
        return None
    least, most = metric.card.range
    low = ends[0] if least is None else max(ends[0], min(least, 0.0))
    capped = most is not None and not (isinstance(fact, MeanScore) and not fact.capped)
    high = min(ends[1], most) if capped and most is not None else ends[1]
    if design.group is not None and "groups" not in word:
        word += ", by groups"
    return Interval(low=low, high=high, level=level, method=word, units=design.units)


def _exact(case: Case) -> Interval | None:
    """Clopper and Pearson's interval, where every row scores 0 or 1."""
    view, recipe = case.view, case.recipe
    if view is None or type(recipe) is not MeanOf or view.weight is not None or case.design.group is not None:
        return None
    scores = np.asarray(recipe.score(view, **dict(recipe.bound)), np.float64)
    if not ((scores == 0) | (scores == 1)).all():
        return None
    low, high = clopper_pearson(float(scores.sum()), view.n_rows, case.level)
    return Interval(low=low, high=high, level=case.level, method="Clopper-Pearson", units=view.n_rows)


def _inverted(fact: GapNorm | WalkExtent, case: Case) -> tuple[Ends | None, str]:
    size = error_of(case.metric, case.finished, case.view, case.choices, case.design)
    if size is None:
        return None, ""
    if isinstance(size, WalkError):
        return size.ends(case.level), "inversion"
    key = case.recipe, size.norm
    if key not in case.inverted:
        case.inverted[key] = size.ends(case.level)
    low, high = case.inverted[key]
    power = fact.power if isinstance(fact, GapNorm) else 1
    return (low**power, high**power), "inversion"


def _mean_score(fact: MeanScore, case: Case) -> tuple[Ends | None, str]:
    spread = case.spread()
    three = None if spread is None else score_ends(case.finished, case.compute, spread, case.design, case.level)
    return (None, "") if three is None else (three[:2], three[2])


def _smooth_sums(fact: SmoothSums, case: Case) -> tuple[Ends | None, str]:
    spread = case.spread()
    if spread is None:
        return None, ""
    ends = sums_ends(case.finished, case.compute, spread, case.design, case.level, fact.ratio)
    return ends, "delta method" + (" on the log scale" if fact.ratio else "")


def _mean_residual(fact: MeanResidual, case: Case) -> tuple[Ends | None, str]:
    return residual_ends(case.finished, case.view, case.design, case.level), "normal"


def _mean_of_levels(fact: MeanOfLevels, case: Case) -> tuple[Ends | None, str]:
    brier = case.choices.get(fact.score, "brier") == "brier"
    return level_ends(case.finished, case.view, brier, case.design, case.level), "normal"


def _ranked(fact: RankedInfluence, case: Case) -> tuple[Ends | None, str]:
    if case.view is None:
        return None, ""
    value, rows = case.compute(case.finished), case.view.read_as(case.recipe.reading)
    return ranked_ends(fact.influence, value, rows, case.design, case.level, fact.logit), "delta method"


def _skill(fact: SkillScore, case: Case) -> tuple[Ends | None, str]:
    if case.view is None:
        return None, ""
    return skill_ends(case.view.classes, case.compute(case.finished), case.design, case.level), "delta method"


def _own_ends(fact: OwnEnds, case: Case) -> tuple[Ends | None, str]:
    if not case.independent:
        return None, ""
    answer = case.metric.compute(case.finished, **{fact.alpha: 1 - case.level})
    return (getattr(answer, fact.low), getattr(answer, fact.high)), fact.method


def _own_error(fact: OwnError, case: Case) -> tuple[Ends | None, str]:
    if not case.independent:
        return None, ""
    answer = case.metric.compute(case.finished, **case.choices)
    value = getattr(answer, fact.value)
    reach = student(case.design.n_rows, case.level) * getattr(answer, fact.error)
    return (value - reach, value + reach), fact.method


WAYS: Mapping[type[KnownInterval], Callable[[Any, Case], tuple[Ends | None, str]]] = {
    MeanScore: _mean_score,
    SmoothSums: _smooth_sums,
    GapNorm: _inverted,
    WalkExtent: _inverted,
    MeanResidual: _mean_residual,
    MeanOfLevels: _mean_of_levels,
    RankedInfluence: _ranked,
    SkillScore: _skill,
    OwnEnds: _own_ends,
    OwnError: _own_error,
}
"""How each kind of interval is made: its ends, and the word for it."""
