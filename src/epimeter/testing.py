# SPDX-License-Identifier: Apache-2.0
"""For tests: `assert_calibrated` holds predictions to limits, and laws hold metrics to what every metric keeps.

A law is a function of a metric and a sample that raises AssertionError when the metric breaks it. Which laws concern
a metric is read off its card.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.calling import Metric
from epimeter.card_index import find
from epimeter.errors import EpimeterError, InputError, UndefinedMetricError
from epimeter.results import Result
from epimeter.summaries.travel import from_bytes, to_bytes


@dataclass(frozen=True)
class TrialColumns:
    """Columns to try a metric on."""

    name: str
    y_true: NDArray[Any]
    y_prob: Any
    """Probabilities; None where the columns state a forecast of a number or a set."""
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    perfect: bool = False
    """Whether every probability is 0 or 1 and right."""
    levels: tuple[float, ...] = ()
    """Levels of the columns of `quantiles`."""

    def take(self, rows: Any) -> TrialColumns:
        return TrialColumns(
            self.name,
            self.y_true[rows],
            None if self.y_prob is None else self.y_prob[rows],
            {k: v[rows] for k, v in self.columns.items()},
            self.perfect,
            self.levels,
        )

    def of(self, metric: Metric[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The columns that a metric takes, by place and by name."""
        used: dict[str, Any] = {k: v for k, v in self.columns.items() if k in (*metric.card.needs, *metric.card.takes)}
        if self.levels:
            used["levels"] = self.levels
        return (self.y_true,) if self.y_prob is None else (self.y_true, self.y_prob), used


def samples(seed: int = 0) -> list[TrialColumns]:
    """Small samples that between them hold ties, extremes, one class, classes and groups."""
    rng = np.random.Generator(np.random.PCG64(seed))
    n = 90
    prob = rng.random(n)
    extra = {"features": rng.normal(size=(n, 2)), "groups": rng.integers(0, 4, n)}
    true = (rng.random(n) < prob**1.5).astype(np.int64)
    coarse, stated = np.round(prob, 1), np.array([0.6, 0.6, 0.6, 0.9])[rng.integers(0, 4, n)]
    classes = rng.dirichlet([1.0, 0.7, 0.5], n)
    label = np.array([rng.choice(3, p=row) for row in classes])
    certain = (rng.random(n) < 0.5).astype(np.float64)
    return [
        TrialColumns("spread", true, prob, extra),
        TrialColumns("ties", true, coarse, extra),
        TrialColumns("few values", true, stated, extra),
        TrialColumns("classes", label, classes, extra),
        TrialColumns("perfect", certain.astype(np.int64), certain, extra, perfect=True),
        TrialColumns("wrong", 1 - certain.astype(np.int64), certain, extra),
        TrialColumns("one row", true[:1], prob[:1], {k: v[:1] for k, v in extra.items()}),
    ]


def forecast_samples(seed: int = 0) -> list[TrialColumns]:
    """Small samples of every kind of forecast, with ties between truths and what is stated, and the unit of tiny things."""
    rng = np.random.Generator(np.random.PCG64(seed))
    n = 60
    mean, std = rng.normal(size=n), rng.uniform(0.5, 2.0, n)
    true = mean + 1.2 * std * rng.normal(size=n)
    groups = rng.integers(0, 3, n)
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    reach = np.array([-1.645, -0.674, 0.0, 0.674, 1.645])
    members = np.round(mean[:, None] + std[:, None] * rng.normal(size=(n, 8)), 1)
    tied = np.where(rng.random(n) < 0.3, members[:, 3], true)
    sets = rng.random((n, 4)) < 0.6
    nano = 1e-9
    return [
        TrialColumns("normal", true, None, {"mean": mean, "std": std, "groups": groups}),
        TrialColumns("tiny unit", true * nano, None, {"mean": mean * nano, "std": std * nano, "groups": groups}),
        TrialColumns(
            "quantiles",
            true,
            None,
            {"quantiles": mean[:, None] + std[:, None] * reach, "groups": groups},
            False,
            levels,
        ),
        TrialColumns("ensemble", tied, None, {"members": members, "groups": groups}),
        TrialColumns("interval", true, None, {"lower": mean - std, "upper": mean + std, "groups": groups}),
        TrialColumns(
            "state",
            np.column_stack([true, tied]),
            None,
            {"mean": np.column_stack([mean, mean]), "std": np.column_stack([std, std]), "groups": groups},
        ),
        TrialColumns("set", rng.integers(0, 4, n), None, {"sets": sets, "groups": groups}),
        TrialColumns(
            "count",
            rng.poisson(3.0, n).astype(np.float64),
            None,
            {
                "rate": rng.uniform(0.5, 6.0, n),
                "dispersion": rng.uniform(0, 0.5, n) * (rng.random(n) < 0.5),
                "groups": groups,
            },
        ),
        TrialColumns("one row", true[:1], None, {"mean": mean[:1], "std": std[:1], "groups": groups[:1]}),
    ]


def call(metric: Metric[Any], sample: TrialColumns, **choices: Any) -> Any:
    """The metric on a sample, with the columns it takes."""
    columns, used = sample.of(metric)
    return metric(*columns, **used, **choices)


def numbers(answer: Any) -> NDArray[np.float64]:
    """All numbers of an answer, in order."""
    if isinstance(answer, Result):
        parts = [numbers(getattr(answer, f.name)) for f in fields(answer)]  # type: ignore[arg-type]
        return np.concatenate(parts) if parts else np.empty(0)
    if isinstance(answer, str) or answer is None:
        return np.empty(0)
    return np.atleast_1d(np.asarray(answer, dtype=np.float64)).ravel()


def attempt(metric: Metric[Any], sample: TrialColumns, **choices: Any) -> NDArray[np.float64] | None:
    """The numbers of the metric, or None where it says that it has no value."""
    try:
        return numbers(call(metric, sample, **choices))
    except UndefinedMetricError:
        return None


def assert_same(left: NDArray[np.float64] | None, right: NDArray[np.float64] | None, what: str) -> None:
    """Hold two answers to each other, undefined ones included."""
    if left is None or right is None:
        assert left is None and right is None, f"{what}: defined on one side only"
        return
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-11, err_msg=what)


def keeps_its_range(metric: Metric[Any], sample: TrialColumns) -> None:
    """The headline lies in the range of the card."""
    answer = None
    try:
        answer = call(metric, sample)
    except UndefinedMetricError:
        return
    value = answer.headline if isinstance(answer, Result) else float(answer)
    low, high = metric.card.range
    if math.isnan(value):
        return
    assert low is None or value >= low - 1e-9, f"{value} is below {low}"
    assert high is None or value <= high + 1e-9, f"{value} is above {high}"


def is_ideal_when_perfect(metric: Metric[Any], sample: TrialColumns) -> None:
    """Certain and right forecasts have the ideal value, when that is 0."""
    if not sample.perfect or metric.card.ideal != 0.0:
        return
    found = attempt(metric, sample)
    # A debiased estimate of an error can fall below 0; its card says so by a range that begins below.
    debiased = metric.card.direction == "lower" and (metric.card.range[0] or 0.0) < 0
    if found is not None and not np.isnan(found[0]):
        assert (found[0] if debiased else abs(found[0])) < 1e-9, f"perfect forecasts score {found[0]}"


def ignores_row_order(metric: Metric[Any], sample: TrialColumns) -> None:
    """The order of the rows does not matter, unless the card says so."""
    tied = sample.y_prob is not None and sample.y_prob.ndim == 1 and len(np.unique(sample.y_prob)) < len(sample.y_prob)
    if metric.card.order == "rows" or (metric.card.order == "ties" and tied):
        return
    here = attempt(metric, sample)
    # Sorted by outcome is the worst order for whatever cuts rows of one confidence apart.
    by_outcome = np.argsort(sample.y_true.reshape(len(sample.y_true), -1)[:, 0], kind="stable")
    shuffled = np.random.Generator(np.random.PCG64(1)).permutation(len(sample.y_true))
    for order in (shuffled, by_outcome, by_outcome[::-1]):
        assert_same(here, attempt(metric, sample.take(order)), "rows in another order")


def counts_weights_as_copies(metric: Metric[Any], sample: TrialColumns) -> None:
    """An integer weight is that many copies of the row; weight zero is no row."""
    if not metric.card.weighted or not metric.card.copies:
        return
    n = len(sample.y_true)
    weight = np.random.Generator(np.random.PCG64(2)).integers(0, 4, n)
    weight[0] = max(1, weight[0])
    copies = sample.take(np.repeat(np.arange(n), weight))
    assert_same(
        attempt(metric, sample, sample_weight=weight.astype(np.float64)),
        attempt(metric, copies),
        "weights as copies",
    )


def merges_like_the_whole(metric: Metric[Any], sample: TrialColumns) -> None:
    """Two halves merged measure as the whole, to the bit where the summary streams."""
    n = len(sample.y_true)
    if n < 2 or metric.reads is None:
        return
    columns, used = sample.of(metric)
    view, recipe, rest = metric.prepare(*columns, **used)
    halves = recipe.summarise(view.take(slice(0, n // 3))).merge(recipe.summarise(view.take(slice(n // 3, n))))
    try:
        whole = numbers(metric.compute(recipe.finish(recipe.summarise(view)), **rest))
    except UndefinedMetricError:
        return
    np.testing.assert_array_equal(numbers(metric.compute(recipe.finish(halves), **rest)), whole)


def travels_as_bytes(metric: Metric[Any], sample: TrialColumns) -> None:
    """A summary sent as bytes and read back measures the same, to the bit."""
    columns, used = sample.of(metric)
    view, recipe, rest = metric.prepare(*columns, **used)
    summary = recipe.summarise(view)
    data = to_bytes(summary)
    back = from_bytes(data)
    assert to_bytes(back) == data
    try:
        here = numbers(metric.compute(recipe.finish(summary), **rest))
    except UndefinedMetricError:
        return
    np.testing.assert_array_equal(numbers(metric.compute(recipe.finish(back), **rest)), here)


def reads_single_precision(metric: Metric[Any], sample: TrialColumns) -> None:
    """float32 has the value of the same numbers in float64."""
    if sample.y_prob is None:
        assert_same(attempt(metric, _single(sample, False)), attempt(metric, _single(sample, True)), "float32")
        return
    single = sample.y_prob.astype(np.float32)
    if single.ndim == 2 and np.abs(single.sum(axis=1, dtype=np.float64) - 1).max() > 1e-6:
        return
    narrow = TrialColumns(sample.name, sample.y_true, single, sample.columns)
    wide = TrialColumns(sample.name, sample.y_true, single.astype(np.float64), sample.columns)
    assert_same(attempt(metric, narrow), attempt(metric, wide), "float32")


def refuses_bad_rows(metric: Metric[Any], sample: TrialColumns) -> None:
    """NaN, infinities, probabilities outside [0, 1], unequal lengths and no rows are refused in our words."""
    n = len(sample.y_true)
    if sample.y_prob is None:
        _refuses_bad_forecasts(metric, sample)
        return
    for bad in (np.nan, np.inf, -np.inf, 1 + 1e-9, -1e-9):
        prob = sample.y_prob.astype(np.float64).copy()
        prob[(n - 1, *(0,) * (prob.ndim - 1))] = bad
        _assert_refused(metric, TrialColumns("bad", sample.y_true, prob, sample.columns), "y_prob")
    if metric.card.labels == "needed":
        label = sample.y_true.copy()
        label[n - 1] = 7
        _assert_refused(metric, TrialColumns("bad", label, sample.y_prob, sample.columns), "y_true")
    shorter = TrialColumns("bad", sample.y_true, sample.y_prob[: n - 1], sample.columns)
    _assert_refused(metric, shorter, "")
    _assert_refused(metric, sample.take(slice(0, 0)), "")


def _single(sample: TrialColumns, wide: bool) -> TrialColumns:
    """The numbers of a forecast as float32, or as the same numbers in float64."""
    kind = np.float64 if wide else np.float32

    def narrow(values: NDArray[Any]) -> NDArray[Any]:
        return values.astype(np.float32).astype(kind) if values.dtype.kind == "f" else values

    columns = {name: narrow(values) for name, values in sample.columns.items()}
    return TrialColumns(sample.name, narrow(sample.y_true), None, columns, levels=sample.levels)


def _refuses_bad_forecasts(metric: Metric[Any], sample: TrialColumns) -> None:
    """NaN in the truth or in what is stated, unequal lengths and no rows are refused in our words."""
    n = len(sample.y_true)
    stated = {k: v for k, v in sample.columns.items() if k not in metric.card.needs and v.dtype.kind == "f"}
    for name, values in stated.items():
        bad = values.copy()
        bad[n - 1] = np.nan
        replaced = {**sample.columns, name: bad}
        _assert_refused(metric, TrialColumns("bad", sample.y_true, None, replaced, levels=sample.levels), name)
    if stated:
        true = sample.y_true.astype(np.float64)
        true[n - 1] = np.nan
        _assert_refused(metric, TrialColumns("bad", true, None, sample.columns, levels=sample.levels), "y_true")
    _assert_refused(metric, TrialColumns("bad", sample.y_true[: n - 1], None, sample.columns, levels=sample.levels), "")
    _assert_refused(metric, sample.take(slice(0, 0)), "")


def _assert_refused(metric: Metric[Any], sample: TrialColumns, names: str) -> None:
    try:
        call(metric, sample)
    except InputError as refusal:
        assert names in str(refusal), f"the refusal does not name {names}: {refusal}"
        return
    except EpimeterError as refusal:
        raise AssertionError(f"refused as {type(refusal).__name__}, not as bad input: {refusal}") from refusal
    raise AssertionError(f"{metric.name} accepted bad rows")


def assert_calibrated(
    y_true: Any, y_prob: Any, *, kind: str | None = None, decide: str = "interval", level: float = 0.95, **limits: float
) -> None:
    """Fail, as an assertion, unless every metric keeps its limit.

    Parameters
    ----------
    y_true, y_prob
        Outcomes and probabilities, as for a metric.
    kind
        ``event``, ``answer`` or ``classes``; None takes a vector for an event and a matrix for classes.
    decide
        ``interval``: the bad end of the interval must keep the limit, so that few rows do not pass; ``value``: the bare
        number.
    level
        Nominal coverage of the intervals.
    limits
        Metric and limit, as ``ece=0.05``: an upper one, or a lower one for metrics that are better when higher.
    """
    from epimeter.gate.judging import held
    from epimeter.gate.policy import Requirement

    if not limits:
        raise InputError("assert_calibrated needs a limit, as ece=0.05; without one it would always hold")
    if decide not in ("interval", "value"):
        raise InputError(f"decide must be interval or value; got {decide!r:.40}", field="decide")
    failed = []
    for name, limit in limits.items():
        metric = find(name)
        side = "at_least" if metric.card.direction == "higher" else "at_most"
        one = Requirement(metric=metric.name, decide=decide, **{side: float(limit)})  # type: ignore[arg-type]
        verdict = held(one, y_true, y_prob, kind=kind, level=level)
        if verdict.outcome != "pass":
            failed.append(f"{verdict.requirement}: {verdict.reason}")
    if failed:
        raise AssertionError("; ".join(failed))


LAWS: tuple[Callable[[Metric[Any], TrialColumns], None], ...] = (
    keeps_its_range,
    is_ideal_when_perfect,
    ignores_row_order,
    counts_weights_as_copies,
    merges_like_the_whole,
    travels_as_bytes,
    reads_single_precision,
    refuses_bad_rows,
)
