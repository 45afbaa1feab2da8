# SPDX-License-Identifier: Apache-2.0
"""Two or more models: differences with intervals and tests of equal value, adjusted for how many were made."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import find
from epimeter.errors import InputError
from epimeter.inference.blocks import in_blocks
from epimeter.inference.bootstrap import Resampler, ends
from epimeter.inference.consistency import redrawn
from epimeter.inference.draws import Progress, at_least, at_most, counts_and_sides, replicates, side_bits
from epimeter.inference.intervals import OPTIONS
from epimeter.inference.known import refuse_without_value
from epimeter.inference.multiplicity import Adjustment, adjust_p_values
from epimeter.inference.permutation import Swapping, tail_bound
from epimeter.inference.scheme import Scheme, scheme
from epimeter.inference.statistic import Statistic, atoms_of
from epimeter.inference.tables import Comparison, Difference, of_kind
from epimeter.parameters import check
from epimeter.results import Interval
from epimeter.summaries.means import MeanOf
from epimeter.views import View, view

Floats = NDArray[np.float64]
INFINITE = "not tested where infinite"
LABELS = 60
"""Draws of labels by which it is seen how large an error is by chance alone: a mean, for which few suffice."""
APART = 1 << 64
"""Added to the seed of these draws: predictions made up with the same small seed would be the numbers that draw their labels."""


def compare(
    y_true: Any,
    models: Mapping[str, Any],
    *,
    metrics: Sequence[str] = ("brier_score", "ece", "ecd"),
    level: float = 0.95,
    adjust: Adjustment = "holm",
    groups: Any = None,
    draws: int = 999,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    kind: str | None = None,
) -> Comparison:
    """Two or more models on the same rows: differences with intervals, and tests of equal value.

    A mean (Brier score, log loss) is tested by swapping the predictions of rows; where no swapping reaches the difference,
    p is Hoeffding's bound, so that the number of draws does not keep many models from being told apart. For other metrics
    swapping would test whether the models are exchangeable, which two equally calibrated models need not be; their p-value
    comes from how far the difference is beyond what chance adds to one error more than to the other, in units of its deviation
    among the bootstrap's replicates.

    Parameters
    ----------
    y_true
        Outcomes of the rows, the same for all models; or outcomes by the name of the model, where whether an answer is right
        depends on who answered.
    models
        Predictions by the name of their model.
    metrics
        Names of metrics; their differences are tested together.
    level
        Nominal coverage of the intervals; the tests have level 1 - level, adjusted for their number.
    adjust
        How p-values are adjusted, as in adjust_p_values.
    groups
        One label a row; rows of one label are drawn together, and every p-value is that of the bootstrap.
    draws, seed, threads
        Of the bootstrap and the swapping.
    progress
        Is told how many of the `draws` replicates are done, each time some are.
    kind
        ``event``, ``answer`` or ``classes``: what the predictions are.
    """
    names, statistics = list(models), _statistics(metrics, level, draws, seed)
    if len(names) < 2:
        raise InputError(f"a comparison needs at least two models; got {len(names)}", field="models")
    outcomes = y_true if isinstance(y_true, Mapping) else dict.fromkeys(names, y_true)
    if set(outcomes) != set(names):
        raise InputError(f"outcomes must be of the same models as predictions, {', '.join(names)[:80]}", field="y_true")
    views = [view(outcomes[name], models[name], kind=kind) for name in names]
    if len({v.n_rows for v in views}) > 1:
        raise InputError("all models must have the same rows; got different numbers of them", field="y_true")
    plan = scheme(views[0].n_rows, None, groups)
    pairs = list(itertools.combinations(range(len(names)), 2))
    means = [statistic for statistic in statistics if groups is None and isinstance(statistic.recipe, MeanOf)]
    atoms = atoms_of(views, statistics)
    drawing, pooled = in_blocks(plan, atoms, statistics, seed)
    resampler = Resampler(views, statistics, drawing, seed, atoms=pooled)
    swappings = (
        [Swapping(views[a], views[b], means, (pooled[a], pooled[b]), resampler.n_rows) for a, b in pairs]
        if means
        else []
    )
    word = "paired bootstrap" + _drawn_things(plan, drawing)
    drawn, nulls = _paired_draws(resampler, swappings, draws, threads, progress)
    chance = [_by_chance(v, statistics, draws, seed, threads) for v in views]
    rows = []
    for number, (a, b) in enumerate(pairs):
        for s, statistic in enumerate(statistics):
            values = statistic.of_view(views[a]), statistic.of_view(views[b])
            spread = _apart(drawn[:, a, s], drawn[:, b, s])
            if not np.isfinite(values).all():
                p_value, method = math.nan, INFINITE
            elif statistic in means:
                column = nulls[:, number, means.index(statistic)]
                reached = int(at_least(column, abs(values[0] - values[1])).sum())
                p_value = (1 + reached) / (draws + 1)
                if not reached and statistic.recipe in atoms[a] and statistic.recipe in atoms[b]:
                    sums = atoms[a][statistic.recipe], atoms[b][statistic.recipe]
                    p_value = min(p_value, tail_bound(*sums, values[0] - values[1]))
                method = f"{word}; swapping test"
            else:
                p_value = _equal_p(statistic, values[0] - values[1], spread, chance[a][s] - chance[b][s], plan.width)
                method = word
            rows.append((names[a], names[b], statistic.name, values, spread, p_value, method, plan.width))
    made = _judged(rows, level, adjust, dict(zip(names, views, strict=True)))
    if groups is not None and 2 * len(rows) > (1 - level) * (draws + 1):
        enough = 1000 * math.ceil(2 * len(rows) / (1 - level) / 1000)
        made = made.told(
            f"A mean's p-value by groups is at least {2 / (draws + 1):.2g} with {draws:,} draws, too much for {len(rows):,} tests "
            f"at once: {enough - 1:,} draws could establish a difference."
        )
    return made if len(names) == 2 else made.told(ranking=_ranking(names, statistics, views, drawn, made, level))


def _paired_draws(
    resampler: Resampler, swappings: Sequence[Swapping], draws: int, threads: int | None, progress: Progress | None
) -> tuple[Floats, Floats]:
    """The statistics on drawn rows, shape (draws, views, statistics), and how far each pair of models is apart after swapping,
    shape (draws, pairs, means). The numbers that draw rows also say which are swapped: they are made once.
    """
    generator, n_rows = resampler.generator, resampler.n_rows

    def some(group: range) -> Sequence[tuple[Floats, Floats]]:
        if not swappings:
            return [(values, np.empty(0)) for values in resampler.values(group)]
        if resampler.by_counts:
            counts, bits = counts_and_sides(generator, group, n_rows)
        else:
            counts, bits = None, side_bits(generator, group, n_rows)
        apart = [swapping.differences(bits, len(group)) for swapping in swappings]  # before more is drawn over the bits
        values = resampler.values(group) if counts is None else resampler.of_counts(counts, group)
        return [(one, np.abs([of_pair[place] for of_pair in apart])) for place, one in enumerate(values)]

    made = replicates(draws, some, threads, progress)
    return np.stack([values for values, _ in made]), np.stack([apart for _, apart in made])


def _ranking(
    names: Sequence[str],
    statistics: Sequence[Statistic],
    views: Sequence[View],
    drawn: Floats,
    made: Comparison,
    level: float,
) -> dict[str, list[dict[str, Any]]]:
    """The models from best to worst by every metric that has a better, and how sure that is.

    `ranks` are the first and last rank that a model has in replicates, the rarest on either side aside, so that together they
    hold it in a share `level` of them; `best_in` is the share in which it is the best, ties shared; `beaten_by` are the models
    that are better by an established difference.
    """
    ranking = {}
    for s, statistic in enumerate(statistics):
        badness = _badness(statistic.name, np.array([[statistic.of_view(v) for v in views]]))
        if badness is None or not np.isfinite(drawn[:, :, s]).all():
            continue
        again = _badness(statistic.name, drawn[:, :, s])
        assert again is not None
        best = again == again.min(axis=1, keepdims=True)
        share = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
        ranks = np.sort(1 + (again[:, None, :] < again[:, :, None]).sum(axis=2), axis=0)
        beyond = int((1 - level) / 2 * len(ranks))
        lines = []
        for place in np.argsort(badness[0], kind="stable"):
            mine = [d for d in made if d.metric == statistic.name and names[place] in (d.first, d.second)]
            beaten = [d.better for d in mine if d.better and d.better != names[place]]
            lines.append(
                {
                    "model": names[place],
                    "value": statistic.of_view(views[place]),
                    "rank": 1 + int((badness[0] < badness[0, place]).sum()),
                    "ranks": [int(ranks[beyond, place]), int(ranks[-1 - beyond, place])],
                    "best_in": float(share[place]),
                    "beaten_by": beaten,
                }
            )
        ranking[statistic.name] = lines
    return ranking


def _badness(metric: str, values: Floats) -> Floats | None:
    """Values turned so that smaller is better; None where a metric has no better."""
    card = find(metric).card
    if card.direction == "signed" and card.ideal is not None:
        return np.abs(values - card.ideal)
    return values if card.direction == "lower" else -values if card.direction == "higher" else None


def compare_samples(
    first: tuple[Any, Any],
    second: tuple[Any, Any],
    *,
    names: tuple[str, str] = ("first", "second"),
    metrics: Sequence[str] = ("brier_score", "ece", "ecd"),
    level: float = 0.95,
    adjust: Adjustment = "holm",
    draws: int = 999,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    groups: tuple[Any, Any] = (None, None),
    kind: str | None = None,
) -> Comparison:
    """Two models on different rows, or one model at two times: each sample is drawn again by itself.

    Parameters
    ----------
    first, second
        ``(y_true, y_prob)`` of each.
    names
        What the two are called.
    metrics, level, adjust, draws, seed, threads, progress
        As in compare.
    groups
        One label a row for each sample; rows of one label are drawn together.
    kind
        As in compare.
    """
    statistics = _statistics(metrics, level, draws, seed)
    views = [view(*first, kind=kind), view(*second, kind=kind)]
    plans: list[Scheme] = [scheme(v.n_rows, None, labels) for v, labels in zip(views, groups, strict=True)]
    made = [
        _drawn(v, statistics, plan, draws, seed + i, threads, progress)
        for i, (v, plan) in enumerate(zip(views, plans, strict=True))
    ]
    drawn = [values for values, _ in made]
    chance = [_by_chance(v, statistics, draws, seed + i, threads) for i, v in enumerate(views)]
    rows = []
    for s, statistic in enumerate(statistics):
        values = statistic.of_view(views[0]), statistic.of_view(views[1])
        spread = _apart(drawn[0][:, s], drawn[1][:, s])
        units = min(plan.width for plan in plans)
        word = "independent bootstrap" + max((things for _, things in made), key=len)
        if np.isfinite(values).all():
            p_value = _equal_p(statistic, values[0] - values[1], spread, chance[0][s] - chance[1][s], units)
        else:
            p_value, word = math.nan, INFINITE
        rows.append((names[0], names[1], statistic.name, values, spread, p_value, word, units))
    return _judged(rows, level, adjust, dict(zip(names, views, strict=True)))


def _drawn(
    given: View,
    statistics: Sequence[Statistic],
    plan: Scheme,
    draws: int,
    seed: int,
    threads: int | None,
    progress: Progress | None,
) -> tuple[Floats, str]:
    """The statistics of one sample on rows that are drawn again, shape (draws, statistics), and what was drawn."""
    drawing, atoms = in_blocks(plan, atoms_of([given], statistics), statistics, seed)
    resampler = Resampler([given], statistics, drawing, seed, atoms=atoms)
    values = np.stack(replicates(draws, resampler.values, threads, progress))[:, 0]
    return values, _drawn_things(plan, drawing)


def _drawn_things(plan: Scheme, drawing: Scheme) -> str:
    """What a bootstrap drew, where it did not draw rows."""
    if plan.start is not None:
        return " by groups"
    return "" if drawing is plan else f" of {drawing.width:,} blocks of rows"


def _apart(first: Any, second: Any) -> Any:
    """First minus second; NaN, without a warning, where both are infinite."""
    with np.errstate(invalid="ignore"):
        return first - second


def _statistics(metrics: Sequence[str], level: float, draws: int, seed: int) -> list[Statistic]:
    options = {"level": level, "draws": draws, "seed": seed}
    check("compare", {name: OPTIONS[name] for name in options}, options)
    if not metrics:
        raise InputError("a comparison needs at least one metric; got none", field="metrics")
    for name in metrics:
        refuse_without_value(find(name))
    return [Statistic.of(name, None) for name in metrics]


def _by_chance(given: View, statistics: Sequence[Statistic], draws: int, seed: int, threads: int | None) -> Floats:
    """What each error is on the average where the model is right about every row; 0 for what is no error of calibration."""
    mean, places = np.zeros(len(statistics)), [s for s, statistic in enumerate(statistics) if _is_error(statistic)]
    if places:
        some = [statistics[s] for s in places]
        drawn = redrawn(given, some, min(draws, LABELS), seed + APART, False, threads, undefined=0.0)
        mean[places] = drawn.mean(axis=0)
    return mean


def _is_error(statistic: Statistic) -> bool:
    """Whether it is 0 where a model is calibrated, and above by chance; a mean is not."""
    if statistic.metric is None or isinstance(statistic.recipe, MeanOf):
        return False
    card = statistic.metric.card
    return card.ideal == 0 and card.direction == "lower"


def _equal_p(statistic: Statistic, value: float, drawn: Floats, bias: float, units: int) -> float:
    """How likely such a difference is where both have the same value in the population.

    A mean's replicates lie around it as it lies around the truth, so they are counted. An error is larger than the truth by chance,
    by `bias` more in one model than in the other where both are calibrated and by less where they are not: between 0 and
    `bias` a difference says nothing. Beyond, it is measured by the deviation of the replicates; and p is no less than the share of
    them that have the other sign (levels measured: docs/decisions/0112).
    """
    from epimeter.special import stdtr

    if isinstance(statistic.recipe, MeanOf) or not np.isfinite(drawn).all():
        return _bootstrap_p(value, drawn)
    deviation = float(np.std(drawn, ddof=1))
    beyond = max(value - max(bias, 0.0), min(bias, 0.0) - value, 0.0)
    if deviation == 0:
        return 1.0 if beyond == 0 else 1 / (len(drawn) + 1)
    reached = min(int(at_least(drawn, 0.0).sum()), int(at_most(drawn, 0.0).sum()))
    counted = 2 * (1 + reached) / (len(drawn) + 1) if reached else 0.0
    return min(1.0, max(counted, 2 * float(stdtr(max(1, units - 1), -beyond / deviation))))


def _bootstrap_p(value: float, drawn: Floats) -> float:
    """The level at which the basic interval just reaches 0."""
    reached = min(int(at_least(drawn, 2 * value).sum()), int(at_most(drawn, 2 * value).sum()))
    return min(1.0, 2 * (1 + reached) / (len(drawn) + 1))


def _judged(rows: list[Any], level: float, adjust: Adjustment, views: Mapping[str, View]) -> Comparison:
    adjusted = np.array([row[5] for row in rows])
    tested = ~np.isnan(adjusted)
    if tested.any():
        adjusted[tested] = adjust_p_values(adjusted[tested], method=adjust, alpha=1 - level).adjusted
    made = []
    for (first, second, name, values, drawn, p_value, method, units), q in zip(rows, adjusted, strict=True):
        value = float(_apart(*np.array(values)))
        low, high = ends(value, drawn, level, "basic") if np.isfinite(drawn).all() else (-math.inf, math.inf)
        interval = Interval(low=low, high=high, level=level, method=method.split(";")[0], units=units)
        if math.isfinite(value):
            interval = interval.holding(value)
        reject = bool(q <= 1 - level)
        made.append(
            Difference(
                first=first,
                second=second,
                metric=name,
                value_first=values[0],
                value_second=values[1],
                value=value,
                interval=interval,
                p_value=p_value,
                adjusted=float(q),
                reject=reject,
                method=method,
                better=_better(name, values, first, second)
                if reject and not interval.low <= 0 <= interval.high
                else "",
            )
        )
    kind = next(iter(views.values())).kind
    return Comparison(made, notes=_infinite(made, views), **of_kind(kind), level=level, adjust=adjust)


def _infinite(made: Sequence[Difference], views: Mapping[str, View]) -> tuple[str, ...]:
    """A sentence a model whose scores are infinite: how many rows make them so, and that nothing is tested by them."""
    found: dict[str, dict[str, None]] = {}
    for d in made:
        for name, value in ((d.first, d.value_first), (d.second, d.value_second)):
            if not math.isfinite(value):
                found.setdefault(name, {})[d.metric] = None
    sentences = []
    for name, metrics in found.items():
        count = int((views[name].picked == 0).sum())
        why = f", since {count:,} {'row' if count == 1 else 'rows'} said 0 for what came true" if count else ""
        verb = "is" if len(metrics) == 1 else "are"
        sentences.append(
            f"{', '.join(metrics)} of {name} {verb} infinite{why}; by an infinite score nothing is tested."
        )
    return tuple(sentences)


def _better(metric: str, values: tuple[float, float], first: str, second: str) -> str:
    badness = _badness(metric, np.array(values))
    if badness is None or badness[0] == badness[1]:
        return ""
    return first if badness[0] < badness[1] else second
