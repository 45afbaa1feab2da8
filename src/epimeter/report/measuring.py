# SPDX-License-Identifier: Apache-2.0
"""One metric of a ledger as a measurement, by the way that the plan, the rows and the cells allow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from epimeter.calling import Metric
from epimeter.core.threads import cores
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.passes.bounds import bounded
from epimeter.passes.ledger import MOST_CELLS, Ledger, SliceTotals
from epimeter.passes.selection import Entry
from epimeter.report.measurement import Measurement
from epimeter.results import Result
from epimeter.summaries.cells import Cells
from epimeter.summaries.means import Mean
from epimeter.summaries.recipe import Recipe
from epimeter.summaries.rows import RowRecipe, SharedRows
from epimeter.views import View

MANY_ROWS, MANY_METRICS = 1 << 14, 40
"""From here on metrics are shared among the cores; below, a thread costs more than it gives."""


def measured(
    entry: Entry, ledger: Ledger, totals: SliceTotals, rows: View | None, finished: dict[Recipe, Any]
) -> Measurement | str:
    """One metric by the way that is open to it; the reason when none is.

    Parameters
    ----------
    totals, rows
        What is kept of the slice, and its rows, None where they are gone.
    finished
        Summaries that metrics have read already; the one that this metric reads is added.
    """
    metric, recipe, choices = entry
    if recipe.streams or rows is not None:
        slow = None if recipe.streams else ledger.plan.too_slow(metric, totals.n_rows)
        if slow is not None:
            return slow
        if recipe not in finished:
            finished[recipe] = recipe.finish(
                totals.totals[recipe] if recipe.streams else _row_summary(recipe, rows, finished)
            )
        return measure(metric, recipe, finished[recipe], totals.n_rows, choices)
    cells = totals.totals.get(Cells())
    reading = bounded(metric, recipe, choices)
    if reading is not None and cells is not None:
        answer, error = reading(cells)
        return approximated(metric, recipe, choices, totals.n_rows, answer, error)
    if totals.sample is not None:
        return _on_sample(entry, ledger, totals)
    return reason(metric, recipe, choices, ledger)


def measured_in_turn(
    entries: Sequence[Entry],
    ledger: Ledger,
    totals: SliceTotals,
    rows: View | None,
    finished: dict[Recipe, Any],
) -> Iterator[Measurement | str]:
    """The metrics in their order. Many metrics of many rows are shared among the cores: each is a pure function of its summary,
    so that nothing depends on which is done first.
    """

    def one(entry: Entry) -> Measurement | str:
        try:
            return measured(entry, ledger, totals, rows, finished)
        except InputError as refusal:
            if ledger.plan.names != "all":
                raise
            return str(refusal)

    if rows is None or rows.n_rows < MANY_ROWS or len(entries) < MANY_METRICS:
        yield from map(one, entries)
        return
    for _, recipe, _ in entries:  # what several metrics read is made once, before they are shared
        if isinstance(recipe, RowRecipe) and recipe not in finished:
            with suppress(InputError):
                finished[recipe] = recipe.finish(_row_summary(recipe, rows, finished))
    pool = ThreadPoolExecutor(cores())
    try:
        yield from pool.map(one, entries)
    finally:
        pool.shutdown(cancel_futures=True)


def _row_summary(recipe: Recipe, rows: View | None, finished: dict[Recipe, Any]) -> Any:
    """The rows as a recipe keeps them; those that keep and read them alike share them, and their order."""
    assert rows is not None
    if not isinstance(recipe, RowRecipe):
        return recipe.summarise(rows.read_as(recipe.reading))
    alike = SharedRows(recipe.reading)
    if alike not in finished:
        finished[alike] = recipe.summarise(rows.read_as(recipe.reading))
    return finished[alike]


def measure(metric: Metric[Any], recipe: Recipe, finished: Any, n_rows: int, choices: Mapping[str, Any]) -> Measurement:
    """One metric of a finished summary as a statement; undefined is an answer."""
    facts = _facts(metric, recipe, n_rows, choices)
    try:
        answer = metric.answer(recipe, finished, n_rows, choices)
    except UndefinedMetricError as undefined:
        return Measurement(value=None, undefined=str(undefined), **facts)
    if isinstance(answer, Result):
        value, facts["fields"] = answer.headline, answer.to_dict()
    else:
        value = float(answer)
    table = getattr(answer, "table", None)
    if math.isnan(value):
        return Measurement(value=None, undefined=f"{metric.name} has no value on these data", table=table, **facts)
    if math.isnan(getattr(answer, "p_value", 0.0)):  # a statistic whose law is not known tests nothing
        reason = f"{metric.name} needs a degree of freedom for its p-value, and these data leave none"
        return Measurement(value=None, undefined=reason, table=table, **facts)
    return Measurement(value=value, table=table, **facts)


def approximated(
    metric: Metric[Any], recipe: Recipe, choices: Mapping[str, Any], n_rows: int, answer: Any, error: float
) -> Measurement:
    """A value that was read off the cells, as a statement with its largest error."""
    facts = _facts(metric, recipe, n_rows, choices) | {"exact": False}
    value = answer.headline if isinstance(answer, Result) else float(answer)
    facts["fields"] = answer.to_dict() if isinstance(answer, Result) else {}
    if math.isnan(value):
        return Measurement(value=None, undefined=f"{metric.name} has no value on these data", **facts)
    return Measurement(value=value, error=error, **facts)


def _facts(metric: Metric[Any], recipe: Recipe, n_rows: int, choices: Mapping[str, Any]) -> dict[str, Any]:
    """What stands beside a value, whatever it is."""
    parameters = metric.chosen(recipe, choices)
    return {
        "metric": metric.name,
        "title": metric.card.title,
        "parameters": {name: value for name, value in parameters.items() if not isinstance(value, np.ndarray)},
        "convention": convention(recipe),
        "n_rows": n_rows,
    }


EDGES = {
    "width": "bins [a, b), the last closed; ",
    "mass": "equal counts, equal confidences together; ",
    "area": "equal area, ties never cut; ",
}
MEANING = {
    "event": "one number a row as it stands, a matrix by its top label",
    "answer": "read as answers: events and classes by their top label",
    "classes": "every class against the rest",
    "given": "full class probabilities",
}


def convention(recipe: Recipe) -> str:
    """What the number depends on besides the data, in words: printed beside every value."""
    return EDGES.get(str(recipe.choices().get("binning")), "") + MEANING[recipe.reading]


def _on_sample(entry: Entry, ledger: Ledger, totals: SliceTotals) -> Measurement | str:
    metric, recipe, choices = entry
    assert totals.sample is not None
    rows = totals.sample.view()
    if rows is None:
        return "the sample holds no rows"
    slow = ledger.plan.too_slow(metric, rows.n_rows)
    if slow is not None:
        return slow
    line = measure(metric, recipe, recipe.of(rows), rows.n_rows, choices)
    return replace(line, exact=False, sample=rows.n_rows, n_rows=totals.n_rows)


def reason(metric: Metric[Any], recipe: Recipe, choices: Mapping[str, Any], ledger: Ledger) -> str:
    """Why a metric is not measured on so many rows, and what can be done about it."""
    plan = ledger.plan
    many = f"needs all rows, which are more than row_limit ({plan.row_limit:,})"
    bound = bounded(metric, recipe, choices) is not None
    if bound and plan.by is not None and len(ledger.slices) > MOST_CELLS:
        return f"{many}; cells would bound it, but not for more than {MOST_CELLS} slices at once"
    if bound and (plan.matrix or plan.weighted):
        return f"{many}; cells would bound it only for one probability a row without weights"
    return f"{many}; sample=… measures it on a uniform sample"


Place = Callable[[int], str]
"""Where a row stands in the file it came from, in words."""


def explained(line: Measurement, rows: View | None, summary: Any, place: Place | None = None) -> Measurement:
    """An infinite score with the rows that make it so, in words of `place`, or with their number where they are gone."""
    if line.value is None or not math.isinf(line.value):
        return line
    if rows is None:
        number = summary.plus + summary.minus if isinstance(summary, Mean) else 0
        where = ""
    else:
        number, where = said_zero(rows, place)
    if not number:
        return line
    return replace(line, infinite=f"{number:,} {'row' if number == 1 else 'rows'} said 0 for what came true{where}")


def said_zero(rows: View, place: Place | None = None) -> tuple[int, str]:
    """How many rows said 0 for what came true, and where the first of them stand."""
    places = np.flatnonzero(rows.picked == 0)
    number = len(places)
    words = [f"{row:,}" if place is None else place(row) for row in places[:3].tolist()]
    some = ", ".join(words) + (", …" if number > 3 else "")
    return number, f" ({'row' if number == 1 else 'rows'} {some}, counted from 0)" if place is None else f" ({some})"


def infinite(lines: Iterable[Measurement]) -> tuple[str, ...]:
    """A sentence on the scores that are infinite: which rows make them so."""
    reasons: dict[str, list[str]] = {}
    for line in lines:
        if line.infinite is not None:
            reasons.setdefault(line.infinite, []).append(line.metric)
    return tuple(f"{', '.join(names)}: infinite, since {reason}" for reason, names in reasons.items())


def clipped(lines: Iterable[Measurement]) -> tuple[str, ...]:
    """A sentence on the scores whose forecasts were moved away from 0 and 1, as somebody asked."""
    asked: dict[float, list[str]] = {}
    for line in lines:
        if line.parameters.get("eps"):
            asked.setdefault(float(line.parameters["eps"]), []).append(line.metric)
    return tuple(
        f"{', '.join(names)}: forecasts were clipped to [{eps:g}, 1 - {eps:g}] before they were scored, as eps asks"
        for eps, names in asked.items()
    )
