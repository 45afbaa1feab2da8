# SPDX-License-Identifier: Apache-2.0
"""``epimeter.evaluate``: rows in memory, one report."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from epimeter.errors import InputError
from epimeter.passes.plan import Plan
from epimeter.passes.selection import headlines
from epimeter.passes.workers import over_view
from epimeter.readers.forecast import Choice
from epimeter.report.building import report
from epimeter.report.certainty import Intervals, Wanted
from epimeter.report.inputs import Inputs, from_columns, from_source, is_source
from epimeter.report.measurement import Report
from epimeter.views import View, view

GROUPED_HEADLINES = ("pce",)
"""What a report measures besides where rows are grouped."""

ROWS_A_GROUP = 20
"""Rows a group must have on average before its own calibration says anything."""


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
    place: Callable[[int], str] | None = None,
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
    place
        Where a row stands in the file it came from, in words; a file that is read here says it itself.
    choices
        Parameters such as ``bins=20``, given to every metric that has them.
    """
    told = Inputs(y_true, y_prob, kind, sample_weight, features, groups, source)
    if y_prob is None and correct is None and confidence is None and is_source(y_true):
        names = None if classes is None else tuple(map(str, classes))
        label = None if positive is None else str(positive)
        told = from_source(y_true, Choice(dict(columns or {}), kind, label, names, logits=logits), told)
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
        place=place or told.place,
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
    place: Callable[[int], str] | None = None,
    **choices: Any,
) -> Report:
    """The report on rows that are checked already; the parameters are those of `evaluate`."""
    plan = Plan.of(
        _with_groups(given) if metrics is None else metrics,
        choices,
        kind=given.kind,
        weighted=given.weight is not None,
        extra=tuple(given.columns),
        n_rows=given.n_rows,
        in_memory=True,
        moments=intervals == "asymptotic",
    )
    wanted = None if intervals is None else Wanted(intervals, level, draws, seed)
    ledger = dataclasses.replace(over_view(plan, given, tick), source=dict(source or {}))
    return report(ledger, None, wanted, each, place)


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


def _with_groups(given: View) -> tuple[str, ...]:
    """The headlines of rows in memory: with those of groups, where groups are large enough."""
    names = headlines(given.kind, given.weight is not None)
    groups = given.columns.get("groups")
    if groups is None or groups.ndim != 1 or ROWS_A_GROUP * len(np.unique(groups)) > given.n_rows:
        return names
    return names + GROUPED_HEADLINES
