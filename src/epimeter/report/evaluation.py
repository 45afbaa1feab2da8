# SPDX-License-Identifier: Apache-2.0
"""Columns in, report out."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

import epimeter
from epimeter.card import Metric, catalogue, find
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.kinds import Kind
from epimeter.parameters import in_our_words
from epimeter.readers.forecast import Choice
from epimeter.report.cautions import cautions, recalibrated
from epimeter.report.certainty import Intervals, Wanted, biased, evidence, spread_recipes, surrounded
from epimeter.report.inputs import Inputs, from_columns, from_source, is_source
from epimeter.report.kept import Kept, diagram_of
from epimeter.report.measurement import Measurement, Report
from epimeter.report.passage import summaries
from epimeter.report.suspicions import suspicions
from epimeter.report.verdict import TESTS, TOTALS, p_values_of, verdict
from epimeter.results import Result, bin_table
from epimeter.summaries import Bins
from epimeter.summaries.recipe import Recipe
from epimeter.views import View, view

HEADLINES = (
    "brier_score",
    "corp",
    "nll",
    "ece",
    "mce",
    "esce",
    "abc",
    "drmsce_bcs",
    "ecd",
    "l2_ece_ci",
    "spiegelhalter_z",
    "ecd_test",
)
"""What a report measures unless told otherwise, after the recommendations of the review (Lane 2025, section 7.2)."""

CLASS_HEADLINES = ("classwise_ece",)
"""Further ones for class probabilities."""

CLASS_CHOICES: Mapping[str, Mapping[str, Any]] = {"drmsce_bcs": {"mode": "classwise"}}
"""What they are measured with where class probabilities are given and nothing else is said."""

GROUPED_HEADLINES = ("pce",)
"""Further ones where rows are grouped."""

ROWS_A_GROUP = 20
"""Rows a group must have on average before its own calibration says anything."""

OTHER_COLUMNS = {
    "detection": "needs detected boxes: evaluate --task detection",
    "test": "judges another metric: epimeter test and epimeter compare",
    "recalibration": "is a map to be fitted, not a measurement",
}
"""Families that a report of outcomes and probabilities has no place for."""

PATIENCE = 5_000
"""Rows above which a metric that needs all pairs is measured only when asked for by name."""


def evaluate(
    y_true: Any = None,
    y_prob: Any = None,
    *,
    correct: Any = None,
    confidence: Any = None,
    kind: str | None = None,
    positive: Any = None,
    classes: Iterable[Any] | None = None,
    logits: bool = False,
    columns: Mapping[str, str] | None = None,
    metrics: str | Iterable[str] | None = None,
    sample_weight: Any = None,
    features: Any = None,
    groups: Any = None,
    intervals: Intervals | None = "asymptotic",
    level: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
    source: Mapping[str, Any] | None = None,
    tick: Callable[[int], None] | None = None,
    each: Callable[[str], None] | None = None,
    **choices: Any,
) -> Report:
    """Measure a model on a data set: one pass, many metrics.

    Parameters
    ----------
    y_true
        What came true: 0/1 or booleans beside a vector, class numbers beside a matrix; None or NaN where it is not known:
        such rows are counted and left out. A file's path or a data frame alone is read as the command reads it.
    y_prob
        What was said: the probability of outcome 1, or one column a class.
    correct, confidence
        In place of both: whether each answer was right, and the confidence that was stated in it.
    kind
        ``event``, ``answer`` or ``classes``, to say outright what the two columns are.
    positive, classes
        The label that is outcome 1, or the labels in the order of the columns, where labels are not numbers.
    logits
        Whether `y_prob` holds scores before softmax (a matrix) or the logistic function (a vector).
    columns
        For a file or a frame: which column plays which role, where its name does not say.
    metrics
        Names of metrics, ``"all"`` for every one that the data allow; None for the headlines.
    sample_weight, features, groups
        Further columns, for the metrics that take them. Rows of one group count as one piece of evidence in the
        intervals, unless there are fewer than 20 groups.
    intervals
        ``asymptotic``: where one is known, at the cost of no further pass; ``bootstrap``: for every metric, from the
        same replicates; None: no intervals.
    level
        Nominal coverage of the intervals.
    draws, seed
        Replicates of the bootstrap and where they begin.
    source
        Where the rows came from; kept in the report.
    tick
        Called with the number of rows done, for a progress bar.
    each
        Called with the name of every metric that is done.
    choices
        Parameters such as ``bins=20``, given to every metric that has them.
    """
    told = Inputs(y_true, y_prob, kind, sample_weight, features, groups, source)
    if y_prob is None and correct is None and confidence is None and is_source(y_true):
        names = None if classes is None else tuple(map(str, classes))
        label = None if positive is None else str(positive)
        told = from_source(y_true, Choice(dict(columns or {}), kind, label, names), told)
    elif columns is not None:
        raise InputError("columns= names the columns of a file or a frame; got bare columns", field="columns")
    else:
        true, prob, states = _forecast(y_true, y_prob, correct, confidence, kind)
        told = from_columns(dataclasses.replace(told, y_true=true, y_prob=prob, kind=states), positive, classes, logits)
    given = view(
        told.y_true,
        told.y_prob,
        kind=told.kind,
        sample_weight=told.sample_weight,
        features=told.features,
        groups=told.groups,
    )
    return report_on(
        given,
        metrics=metrics,
        intervals=intervals,
        level=level,
        draws=draws,
        seed=seed,
        source=told.source,
        tick=tick,
        each=each,
        **choices,
    )


def report_on(
    given: View,
    *,
    metrics: str | Iterable[str] | None = None,
    intervals: Intervals | None = "asymptotic",
    level: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
    source: Mapping[str, Any] | None = None,
    tick: Callable[[int], None] | None = None,
    each: Callable[[str], None] | None = None,
    **choices: Any,
) -> Report:
    """The report on rows that are doubted already; the parameters are those of `evaluate`."""
    everything = metrics == "all"
    named = _chosen(metrics, given)
    _check_choices(named, choices)
    plan, left_out = _plan(named, given, choices, everything)
    diagram, asked = Bins(10), diagram_of(choices)
    worth, hint = evidence(given)
    spreads = spread_recipes(plan) if intervals == "asymptotic" and worth.group is None else []
    behind = [] if given.weight is not None else [TOTALS, *(find(name).reads for name in TESTS)]
    wanted = [*(recipe for _, recipe, _ in plan), diagram, *spreads, *filter(None, behind)]
    totals = summaries(given, wanted, tick)
    finished: dict[Recipe, Any] = {}
    made: list[Measurement] = []
    kept = []
    for metric, recipe, rest in plan:
        if recipe not in finished:
            finished[recipe] = recipe.finish(totals[recipe])
        try:
            made.append(measure(metric, recipe, finished[recipe], given.n_rows, rest))
            kept.append((metric, recipe, rest))
        except InputError as refusal:
            if not everything:
                raise
            left_out[metric.name] = str(refusal)
        if each is not None:
            each(metric.name)
    if intervals is not None:
        made = surrounded(made, kept, finished, totals, given, worth, Wanted(intervals, level, draws, seed))
    event = totals[diagram]
    table = bin_table(event)
    assert table is not None
    for recipe in filter(None, behind):
        finished.setdefault(recipe, recipe.finish(totals[recipe]))
    made = [explained(line, given) for line in made]
    judged = verdict(given.kind, finished[TOTALS], made, p_values_of(finished, given.n_rows)) if behind else None
    drawn = table if asked == diagram else bin_table(finished[asked] if asked in finished else asked.of(given))
    return Report(
        n_rows=given.n_rows,
        n_classes=given.n_classes,
        kind=given.kind,
        base_rate=float(event.true.sum().floats() / event.n),
        mean_confidence=float(event.prob.sum().floats() / event.n),
        measurements=tuple(made),
        left_out=left_out,
        verdict=judged,
        cautions=(
            *(one.sentence for one in suspicions(given)),
            *recalibrated(source or {}),
            *cautions(given, table, made),
            *hint,
            *biased(made),
            *infinite(made),
        ),
        n_units=worth.units,
        bins=drawn or table,
        rows=Kept(given, asked),
        source=dict(source or {}),
        version=epimeter.__version__,
    )


def _forecast(y_true: Any, y_prob: Any, correct: Any, confidence: Any, kind: str | None) -> tuple[Any, Any, str | None]:
    """Outcomes, forecast and kind, however the caller named them."""
    if correct is None and confidence is None:
        if y_true is None or y_prob is None:
            raise InputError("evaluate takes y_true and y_prob, or correct= and confidence=; one of the two is missing")
        return y_true, y_prob, kind
    if y_true is not None or y_prob is not None or correct is None or confidence is None:
        raise InputError("evaluate takes y_true and y_prob, or correct= and confidence=, not parts of both")
    if kind not in (None, "answer"):
        raise InputError(
            f"correct and confidence are of kind answer; got kind={kind!r:.40}. Events are y_true and y_prob",
            field="kind",
        )
    return correct, confidence, "answer"


def explained(line: Measurement, given: View) -> Measurement:
    """An infinite score with the rows that make it so."""
    if line.value is None or not math.isinf(line.value):
        return line
    rows = np.flatnonzero(given.picked == 0)
    if not len(rows):
        return line
    some = ", ".join(f"{row:,}" for row in rows[:3].tolist()) + (", …" if len(rows) > 3 else "")
    which = "row" if len(rows) == 1 else "rows"
    reason = f"{len(rows):,} {which} said 0 for what came true ({which} {some}, counted from 0)"
    return dataclasses.replace(line, infinite=reason)


def infinite(made: Iterable[Measurement]) -> tuple[str, ...]:
    """A sentence on the scores that are infinite: which rows make them so."""
    reasons: dict[str, list[str]] = {}
    for line in made:
        if line.infinite is not None:
            reasons.setdefault(line.infinite, []).append(line.metric)
    return tuple(f"{', '.join(names)}: infinite, since {reason}" for reason, names in reasons.items())


def measure(metric: Metric[Any], recipe: Recipe, finished: Any, n_rows: int, choices: Mapping[str, Any]) -> Measurement:
    """One metric of a finished summary as a statement; undefined is an answer."""
    parameters = {name: p.default for name, p in metric.parameters.items()} | recipe.choices() | dict(choices)
    facts: dict[str, Any] = {
        "metric": metric.name,
        "title": metric.card.title,
        "parameters": {name: value for name, value in parameters.items() if not isinstance(value, np.ndarray)},
        "convention": convention(metric, recipe),
        "n_rows": n_rows,
    }
    try:
        answer = metric.answer(recipe, finished, n_rows, choices)
    except UndefinedMetricError as reason:
        return Measurement(value=None, undefined=str(reason), **facts)
    if isinstance(answer, Result):
        value, facts["fields"] = answer.headline, answer.to_dict()
    else:
        value = float(answer)
    table = getattr(answer, "table", None)
    if math.isnan(value):
        return Measurement(value=None, undefined=f"{metric.name} has no value on these data", table=table, **facts)
    return Measurement(value=value, table=table, **facts)


def convention(metric: Metric[Any], recipe: Recipe) -> str:
    """What the number depends on besides the data, in words: printed beside every value."""
    cut = recipe.choices().get("binning")
    edges = {
        "width": "bins [a, b), the last closed",
        "mass": "equal counts, equal confidences together",
        "area": "equal area, ties never cut",
    }.get(str(cut), "")
    meaning = {
        "event": "one number a row as it stands, a matrix by its top label",
        "answer": "read as answers: events and classes by their top label",
        "classes": "every class against the rest",
        "given": "full class probabilities",
    }[recipe.reading]
    return "; ".join(part for part in (edges, meaning) if part)


def _chosen(metrics: str | Iterable[str] | None, given: View) -> list[Metric[Any]]:
    if metrics is None:
        names: Iterable[str] = headlines(given.kind, given.weight is not None) + _by_group(given)
    elif metrics == "all":
        return list(catalogue().values())
    else:
        names = metrics.split(",") if isinstance(metrics, str) else metrics
    return [find(name.strip()) for name in names]


def headlines(kind: Kind, weighted: bool = False) -> tuple[str, ...]:
    """What a report of such rows measures unless told otherwise."""
    names = HEADLINES + (CLASS_HEADLINES if kind == "classes" else ())
    return tuple(name for name in names if find(name).card.weighted) if weighted else names


def _by_group(given: View) -> tuple[str, ...]:
    groups = given.columns.get("groups")
    if groups is None or groups.ndim != 1 or ROWS_A_GROUP * len(np.unique(groups)) > given.n_rows:
        return ()
    return GROUPED_HEADLINES


def _check_choices(named: Iterable[Metric[Any]], choices: Mapping[str, Any]) -> None:
    known = [(metric.parameters, in_our_words(metric.name, metric.parameters, choices)) for metric in named]
    for name in choices:
        if not any(name in parameters or name not in translated for parameters, translated in known):
            raise InputError(f"none of the metrics asked for has a parameter {name!r}", field=name)


def _plan(
    named: Iterable[Metric[Any]], given: View, choices: Mapping[str, Any], everything: bool
) -> tuple[list[tuple[Metric[Any], Recipe, dict[str, Any]]], dict[str, str]]:
    """Each metric with its recipe; those that the data do not allow, with the reason.

    A metric asked for by name must be possible; under "all" the reason is reported instead.
    """
    plan, left_out, named = [], {}, list(named)
    default = _begin_with_headlines(named, given)
    for metric in named:
        reason = _obstacle(metric, given, everything)
        if reason is None:
            usual = CLASS_CHOICES.get(metric.name, {}) if default and given.kind == "classes" else {}
            chosen = {**usual, **in_our_words(metric.name, metric.parameters, choices)}
            plan.append((metric, *metric.settle({k: v for k, v in chosen.items() if k in metric.parameters})))
        elif everything:
            left_out[metric.name] = reason
        else:
            raise InputError(f"{metric.name} cannot be measured on these data: {reason}", field=metric.name)
    return plan, left_out


def _begin_with_headlines(named: list[Metric[Any]], given: View) -> bool:
    """Whether the default report was asked for, possibly with more behind it."""
    usual = [name for name in HEADLINES if given.weight is None or find(name).card.weighted]
    return [metric.name for metric in named[: len(usual)]] == usual


def _obstacle(metric: Metric[Any], given: View, everything: bool) -> str | None:
    card = metric.card
    other = OTHER_COLUMNS.get(card.family)
    if other is not None or metric.reads is None:
        return other or "takes other columns than outcomes and probabilities"
    missing = [name for name in card.needs if name not in given.columns]
    if missing:
        return f"needs the column {missing[0]}"
    if given.weight is not None and not card.weighted:
        return "takes no sample weights"
    needed = [name for name, p in metric.parameters.items() if p.required]
    if needed:
        return f"needs {needed[0]}, which has no default"
    if everything and card.cost == "quadratic" and given.n_rows > PATIENCE:
        return f"compares all pairs of rows; with more than {PATIENCE:,} rows it is measured only when asked by name"
    return None
