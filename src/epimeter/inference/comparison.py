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
from epimeter.inference.draws import Progress, at_least, counts_and_sides, replicates, side_bits
from epimeter.inference.equality import by_chance, equal_p
from epimeter.inference.intervals import OPTIONS
from epimeter.inference.known import refuse_without_value
from epimeter.inference.leaderboard import better_of, leaderboard
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
    chance = [by_chance(v, statistics, draws, seed, threads) for v in views]
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
                p_value = equal_p(statistic, values[0] - values[1], spread, chance[a][s] - chance[b][s], plan.width)
                method = word
            rows.append((names[a], names[b], statistic.name, values, spread, p_value, method, plan.width))
    made = _judged(rows, level, adjust, dict(zip(names, views, strict=True)))
    if groups is not None and 2 * len(rows) > (1 - level) * (draws + 1):
        enough = 1000 * math.ceil(2 * len(rows) / (1 - level) / 1000)
        made = made.told(
            f"A mean's p-value by groups is at least {2 / (draws + 1):.2g} with {draws:,} draws, too much for {len(rows):,} tests "
            f"at once: {enough - 1:,} draws could establish a difference."
        )
    return made if len(names) == 2 else made.told(ranking=leaderboard(names, statistics, views, drawn, made, level))


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
    chance = [by_chance(v, statistics, draws, seed + i, threads) for i, v in enumerate(views)]
    rows = []
    for s, statistic in enumerate(statistics):
        values = statistic.of_view(views[0]), statistic.of_view(views[1])
        spread = _apart(drawn[0][:, s], drawn[1][:, s])
        units = min(plan.width for plan in plans)
        word = "independent bootstrap" + max((things for _, things in made), key=len)
        if np.isfinite(values).all():
            p_value = equal_p(statistic, values[0] - values[1], spread, chance[0][s] - chance[1][s], units)
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
                better=better_of(name, values, first, second)
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
