# SPDX-License-Identifier: Apache-2.0
"""Is the model calibrated? Labels are drawn from its own probabilities, and the metric is compared with theirs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric as card
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.inference import draws as random
from epimeter.inference.critical import Alternative, drawn_bounds, refuse_few_draws
from epimeter.inference.statistic import Statistic, atoms_of
from epimeter.limits import AtLeast, Between
from epimeter.results import Result
from epimeter.summaries.atoms import Atoms
from epimeter.summaries.recipe import Recipe
from epimeter.views import Binary, View, view

Floats = NDArray[np.float64]
Alpha = Annotated[float, Between(0, 1, open_low=True, open_high=True)]


@dataclass(frozen=True, kw_only=True)
class ConsistencyTest(Result):
    """The metric on the data, its Monte-Carlo p-value and the critical values of the test."""

    value: float
    p_value: float
    threshold: float
    lower: float
    upper: float
    reject: bool
    null_mean: float
    null_sd: float


def redrawn(
    given: View,
    statistics: Sequence[Statistic],
    draws: int,
    seed: int,
    resample: bool,
    threads: int | None = None,
    undefined: float | None = None,
    progress: random.Progress | None = None,
    truth: Floats | None = None,
) -> Floats:
    """The statistics of every null replicate, shape (draws, statistics); all share the same labels.

    A statistic that has no value on a replicate raises, or is `undefined` there where that is given. Labels are drawn from
    `truth` where it is given, else from the forecasts.

    Where a metric is a sum of atoms, a replicate is one vector of counts: each row adds its atom for label 0, and the
    rows that drew label 1 add the difference.
    """
    n = given.n_rows
    pairs = label_atoms(given, statistics) if truth is None else {}
    needs_view = any(s.recipe is None or s.recipe not in pairs for s in statistics)
    prob = given.prob.astype(np.float64) if truth is None else truth
    generator = random.words(seed)
    binary = prob.ndim == 1 and not resample
    bound = random.bounds(prob) if binary else None
    running = np.cumsum(prob, axis=1)[:, :-1] if prob.ndim == 2 else None
    base = {} if resample else {r: pair.zero.totals(np.ones(n, np.int32)) for r, pair in pairs.items()}

    def some(group: range) -> Sequence[Floats]:
        """A group of replicates of one column of probabilities, else one replicate after another."""
        if bound is None:
            return [one(replicate) for replicate in group]
        bits = random.label_bits(generator, group, bound)
        more = {r: pair.added(base[r], pair.more.chosen_totals(bits, len(group))) for r, pair in pairs.items()}
        answers = []
        for place in range(len(group)):
            made = {recipe: pairs[recipe].zero.assemble(totals[place]) for recipe, totals in more.items()}
            fresh = _relabelled(given, (bits >> place) & 1, slice(None)) if needs_view else given
            answers.append(np.array([value(s, made, fresh) for s in statistics]))
        return answers

    def one(replicate: int) -> Floats:
        uniform = random.whole_row(seed, replicate, 2 * n if resample else n)
        rows: Any = (uniform[:n] * n).astype(np.int64) if resample else slice(None)
        sums = None if running is None else running[rows]
        label = _labels(uniform[n:] if resample else uniform, prob[rows], sums)
        made: dict[Recipe, Any] = {}
        for recipe, pair in pairs.items():
            hits = np.bincount(rows[label == 1], minlength=n)
            drawn = pair.zero.totals(np.bincount(rows, minlength=n))
            made[recipe] = pair.zero.assemble(pair.added(drawn, pair.more.totals(hits)))
        fresh = _relabelled(given, label, rows) if needs_view else given
        return np.array([value(s, made, fresh) for s in statistics])

    def value(statistic: Statistic, made: dict[Recipe, Any], fresh: View) -> float:
        try:
            if statistic.recipe in made:
                return statistic.of_summary(made[statistic.recipe])
            return statistic.of_view(fresh)
        except UndefinedMetricError:
            if undefined is None:
                raise
            return undefined

    return np.stack(random.replicates(draws, some, threads, progress))


@dataclass(frozen=True)
class LabelAtoms:
    """What a row adds with label 0, and what label 1 adds to that, in the columns that labels touch at all."""

    zero: Atoms
    more: Atoms
    touched: NDArray[np.intp]

    def added(self, totals: NDArray[np.int64], more: NDArray[np.int64]) -> NDArray[np.int64]:
        """Totals of label 0 everywhere, with what the labels 1 add."""
        totals = np.broadcast_to(totals, (*more.shape[:-2], *totals.shape)).copy()
        totals[..., self.touched] += more
        return totals


def label_atoms(given: View, statistics: Sequence[Statistic]) -> dict[Recipe, LabelAtoms]:
    """The recipes that are sums of atoms, for a vector of confidences without weights.

    A certain row, of confidence 0 or 1, has one label in every replicate: what the other would add is never asked for, and
    may be infinite.
    """
    if not isinstance(given, Binary) or given.weight is not None:
        return {}
    least = Binary((given.prob == 1).astype(np.uint8), given.prob)
    most = Binary((given.prob > 0).astype(np.uint8), given.prob)
    without, with_ = atoms_of([least, most], statistics)
    pairs = {}
    for recipe in without:
        if recipe in with_:
            more = with_[recipe].minus(without[recipe])
            touched = np.flatnonzero(more.columns.any(axis=1))
            pairs[recipe] = LabelAtoms(without[recipe], more.only(touched), touched)
    return pairs


def _labels(uniform: Floats, prob: Floats, running: Floats | None) -> NDArray[np.int64]:
    """Binary: 1 if u < p. Classes: how many of the running sums are at most u."""
    if running is None:
        return (uniform < prob).astype(np.int64)
    return np.asarray((uniform[:, None] >= running).sum(axis=1))


def _relabelled(given: View, label: NDArray[np.int64], rows: Any) -> View:
    taken = given.take(rows)
    return replace(taken, true=label.astype(given.true.dtype))


@card(
    title="Monte-Carlo test of perfect calibration",
    family="test",
    equation=r"y^*_i\sim P(\cdot\mid p_i),\ T^*_r=T(y^*,p),\ p_{ge}=\frac{1+\#\{T^*_r\ge T\}}{R+1},\ "
    r"p_{le}=\frac{1+\#\{T^*_r\le T\}}{R+1},\ upper=T^*_{(R-m)},\ lower=T^*_{(m+1)},\ m=\lfloor\alpha'(R+1)\rfloor-1",
    where={
        "T": "the metric on the data",
        "R": "draws",
        "T*_(k)": "k-th smallest replicate",
        "α'": "alpha, or alpha/2 when two-sided",
    },
    source="Bröcker and Smith 2007; Vaicenavicius et al. 2019 AISTATS; +1 as Phipson and Smyth 2010; Lane 2025 s2.4",
    direction="higher",
    test="resampling",
    pitfalls="With resample=True, as published, the test is only approximate and wrong for metrics that react to ties: keep "
    "the predictions (the default) for a test that is valid at every N. A small p-value says that the model is not "
    "perfectly calibrated, not that the error matters.",
    aliases=(
        "consistency resampling",
        "consistency sampling",
        "Monte-Carlo test of perfect calibration (consistency resampling)",
        "parametric bootstrap test of calibration",
    ),
)
def consistency_test(
    y_true: Any,
    y_prob: Any,
    *,
    metric: Any = "ece",
    metric_params: Any = None,
    alternative: Alternative = "greater",
    alpha: Alpha = 0.05,
    draws: Annotated[int, AtLeast(1)] = 999,
    seed: int = 0,
    resample: bool = False,
    truth: Any = None,
    threads: int | None = None,
) -> ConsistencyTest:
    """Test of perfect calibration with any metric, by redrawing the labels.

    Parameters
    ----------
    metric
        Name of a metric of the catalogue, or a function (y_true, y_prob) -> number.
    metric_params
        Parameters of that metric; columns it reads beside the forecasts, such as features, stay with their rows.
    alternative
        Which side speaks against calibration: ``greater``, ``less`` or ``two-sided``.
    alpha
        Level of the test.
    draws
        Number of null replicates; (draws + 1) alpha should be a whole number.
    seed
        Seed of PCG64.
    resample
        True draws the predictions with replacement first, as published; False keeps them, which makes the test exact.
    truth
        Probabilities that labels are drawn from in place of the forecasts, in their shape: what a map estimated on other rows
        makes of them. The test then asks whether that map explains the data, and `lower` and `upper` say where the metric lies if
        it does.
    threads
        How many threads draw; the answer does not depend on it.
    """
    refuse_few_draws(alpha / 2 if alternative == "two-sided" else alpha, draws)  # before anything is drawn
    statistic = Statistic.of(metric, metric_params)
    given = statistic.view(y_true, y_prob)
    value = statistic.of_view(given)
    drawn_from = None if truth is None else _estimated(given, truth)
    null = redrawn(given, [statistic], draws, seed, resample, threads, truth=drawn_from)[:, 0]
    return judged(value, null, alternative, alpha)


def _estimated(given: View, truth: Any) -> Floats:
    """The probabilities that a map estimates, doubted as forecasts are."""
    try:
        prob = view(given.true, truth).prob.astype(np.float64)
    except InputError as refusal:
        raise InputError(f"truth must hold probabilities as y_prob does; {refusal}", field="truth") from None
    if prob.shape != given.prob.shape:
        raise InputError(f"truth must have the shape of y_prob, {given.prob.shape}; got {prob.shape}", field="truth")
    return prob


def judged(value: float, null: Floats, alternative: Alternative, alpha: float) -> ConsistencyTest:
    """A value beside its values on drawn labels."""
    draws, drawn = len(null), np.sort(null)
    above = (1 + int(random.at_least(drawn, value).sum())) / (draws + 1)
    below = (1 + int(random.at_most(drawn, value).sum())) / (draws + 1)
    p_value = {"greater": above, "less": below, "two-sided": min(1.0, 2 * min(above, below))}[alternative]
    side = alpha / 2 if alternative == "two-sided" else alpha
    refuse_few_draws(side, draws)
    lower, upper = drawn_bounds(drawn, "less", side).lower, drawn_bounds(drawn, "greater", side).upper
    assert lower is not None
    assert upper is not None
    return ConsistencyTest(
        value=value,
        p_value=p_value,
        threshold=lower if alternative == "less" else upper,
        lower=lower,
        upper=upper,
        reject=bool(p_value <= alpha),
        null_mean=float(drawn.mean()),
        null_sd=float(drawn.std(ddof=1)) if draws > 1 else math.nan,
    )
