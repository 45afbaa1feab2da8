# SPDX-License-Identifier: Apache-2.0
"""A ledger into reports: each metric by the way that the plan, the rows and the cells allow."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

import epimeter
from epimeter.card import Metric, find
from epimeter.errors import InputError, ReadError
from epimeter.inference.spread import Evidence
from epimeter.report.cautions import cautions, recalibrated
from epimeter.report.certainty import Wanted, biased, surrounded
from epimeter.report.evaluation import convention, measure
from epimeter.report.measurement import Measurement, Report
from epimeter.report.slices import Reports
from epimeter.report.verdict import TESTS, TOTALS, Verdict, p_values_of, verdict
from epimeter.results import BinTable, Result, bin_table
from epimeter.scale.bounds import bounded
from epimeter.scale.ledger import MOST_CELLS, Ledger, Share
from epimeter.scale.plan import DIAGRAM, Entry, Plan
from epimeter.summaries.cells import Cells
from epimeter.summaries.recipe import Recipe
from epimeter.summaries.score_moments import ScoreMoments
from epimeter.views import View


def reports(ledger: Ledger, *, intervals: str | None = "asymptotic", level: float = 0.95) -> Report | Reports:
    """The report of all rows, or one a slice; `intervals` and `level` as `evaluate` has them."""
    if intervals == "bootstrap":
        raise InputError(
            "intervals of a pass are asymptotic: rows that are gone cannot be drawn again", field="intervals"
        )
    wanted = None if intervals is None else Wanted(intervals, level, 1000, 0)  # type: ignore[arg-type]
    if not ledger.n_rows:
        raise ReadError(nothing(ledger))
    if ledger.plan.by is None:
        return report(ledger, None, wanted)
    return Reports(sorted(ledger.shares, key=_place), lambda value: report(ledger, value, wanted))


def nothing(ledger: Ledger) -> str:
    """Why there is nothing to measure."""
    name = ledger.source.get("name", "the source")
    if ledger.skipped:
        return f"no row of {name} could be read; all of it is damaged: {ledger.skipped[0]}"
    if ledger.unlabelled:
        return f"outcomes must be known for at least one row; all {ledger.unlabelled:,} of {name} are missing"
    return f"{name} has columns but no rows"


def _place(value: Any) -> tuple[int, str, Any]:
    """Slices in order: numbers by size, words by letters, the missing one last."""
    if value is None:
        return 2, "", 0
    return (0, "", value) if isinstance(value, int | float) else (1, type(value).__name__, str(value))


def report(ledger: Ledger, value: Any, wanted: Wanted | None = None) -> Report:
    """The report of one slice, with intervals where they are wanted."""
    share, plan = ledger.shares[value], ledger.plan
    whole = None if share.kept is None or not plan.wants_rows else share.kept.view()
    left_out = dict(plan.left_out)
    finished: dict[Recipe, Any] = {}
    made: list[Measurement] = []
    exact: dict[str, Entry] = {}
    for entry in plan.entries:
        try:
            found = measured(entry, ledger, share, whole, finished)
        except InputError as refusal:
            if plan.names != "all":
                raise
            found = str(refusal)
        if isinstance(found, str):
            left_out[entry[0].name] = found
        else:
            made.append(found)
            if found.exact and entry[1] in finished:
                exact[found.metric] = entry
    if wanted is not None:
        some = [one for one in made if one.metric in exact]
        sure = surrounded(
            some, list(exact.values()), finished, share.totals, whole, worth(share, plan.weighted), wanted
        )
        surround = {one.metric: one for one in sure}
        made = [surround.get(one.metric, one) for one in made]
    event = share.totals[DIAGRAM]
    table = bin_table(event)
    assert table is not None
    source = _source(ledger, value)
    stand_in: Any = whole if whole is not None else _stand_in(share, event)
    return Report(
        n_rows=share.n_rows,
        n_classes=ledger.n_classes,
        kind=plan.kind,
        base_rate=float(event.true.sum().floats() / event.n),
        mean_confidence=float(event.prob.sum().floats() / event.n),
        measurements=tuple(made),
        left_out=left_out,
        verdict=_verdict(plan, share, made, finished),
        cautions=(*recalibrated(source), *cautions(stand_in, table, made), *biased(made), *_left_out(ledger)),
        n_units=share.n_rows,
        bins=_asked(plan.entries, finished) or table,
        source=source,
        version=epimeter.__version__,
    )


def _verdict(plan: Plan, share: Share, made: list[Measurement], finished: dict[Recipe, Any]) -> Verdict | None:
    """The verdict from the totals of the pass; none where a summary has kept no such totals."""
    behind = [TOTALS, *(find(name).reads for name in TESTS)]
    if plan.weighted or not plan.judged:
        return None
    for recipe in behind:
        if recipe is not None and recipe not in finished:
            finished[recipe] = recipe.finish(share.totals[recipe])
    return verdict(plan.kind, finished[TOTALS], made, p_values_of(finished, share.n_rows))


def _asked(entries: Iterable[Entry], finished: Mapping[Recipe, Any]) -> BinTable | None:
    """The bins that were asked for, where they are at hand: those of ece, when they are not its own."""
    for metric, recipe, _ in entries:
        if metric.name == "ece" and recipe in finished and recipe != metric.reads:
            return bin_table(finished[recipe])
    return None


def worth(share: Share, weighted: bool) -> Evidence:
    """What the rows of a slice are worth, from its totals; without moments weights are unknown, and no interval is made."""
    if not weighted:
        return Evidence(None, None, share.n_rows)
    known = next((total for total in share.totals.values() if isinstance(total, ScoreMoments)), None)
    return Evidence(None, None, share.n_rows, kish=0.0 if known is None else known.effective)


def _source(ledger: Ledger, value: Any) -> dict[str, Any]:
    facts = dict(ledger.source)
    if ledger.plan.by is not None:
        facts["slice"] = {ledger.plan.by: value if isinstance(value, int | float | str | None) else str(value)}
    if ledger.unlabelled:
        facts["unlabelled"] = ledger.unlabelled
    if ledger.skipped:
        facts["skipped"] = list(ledger.skipped)
    return facts


def _left_out(ledger: Ledger) -> tuple[str, ...]:
    if not ledger.skipped:
        return ()
    some = "; ".join(ledger.skipped[:3])
    more = f" and {len(ledger.skipped) - 3} more" if len(ledger.skipped) > 3 else ""
    return (
        f"{len(ledger.skipped)} damaged part{'s were' if len(ledger.skipped) > 1 else ' was'} left out: {some}{more}",
    )


def _stand_in(share: Share, event: Any) -> Any:
    """What the cautions ask of the rows, where the rows are gone."""
    true = np.array([1 if float(event.true.sum().floats()) > 0 else 0], np.uint8)
    rows = SimpleNamespace(true=true, prob=np.array([share.low, share.high]), n_rows=share.n_rows)
    return SimpleNamespace(event=rows, n_rows=share.n_rows)


def measured(
    entry: Entry, ledger: Ledger, share: Share, whole: View | None, finished: dict[Recipe, Any]
) -> Measurement | str:
    """One metric by the way that is open to it; the reason when none is."""
    metric, recipe, choices = entry
    if recipe.streams:
        if recipe not in finished:
            finished[recipe] = recipe.finish(share.totals[recipe])
        return measure(metric, recipe, finished[recipe], share.n_rows, choices)
    if whole is not None:
        slow = ledger.plan.too_slow(metric, share.n_rows)
        if slow is not None:
            return slow
        if recipe not in finished:
            finished[recipe] = recipe.of(whole)
        return measure(metric, recipe, finished[recipe], share.n_rows, choices)
    cells = share.totals.get(Cells())
    reading = bounded(metric, recipe, choices)
    if reading is not None and cells is not None:
        answer, error = reading(cells)
        return approximated(metric, recipe, choices, share.n_rows, answer, error)
    if share.sample is not None:
        return _on_sample(entry, ledger, share)
    return reason(metric, recipe, choices, ledger)


def approximated(
    metric: Metric[Any], recipe: Recipe, choices: Mapping[str, Any], n_rows: int, answer: Any, error: float
) -> Measurement:
    """A value that was read off the cells, as a statement with its largest error."""
    parameters = {name: p.default for name, p in metric.parameters.items()} | recipe.choices() | dict(choices)
    value = answer.headline if isinstance(answer, Result) else float(answer)
    made = Measurement(
        metric=metric.name,
        title=metric.card.title,
        value=value,
        fields=answer.to_dict() if isinstance(answer, Result) else {},
        parameters={name: value for name, value in parameters.items() if not isinstance(value, np.ndarray)},
        convention=convention(metric, recipe),
        n_rows=n_rows,
        exact=False,
        error=error,
    )
    if math.isnan(value):
        return replace(made, value=None, error=None, undefined=f"{metric.name} has no value on these data")
    return made


def _on_sample(entry: Entry, ledger: Ledger, share: Share) -> Measurement | str:
    metric, recipe, choices = entry
    assert share.sample is not None
    rows = share.sample.view()
    if rows is None:
        return "the sample holds no rows"
    slow = ledger.plan.too_slow(metric, rows.n_rows)
    if slow is not None:
        return slow
    made = measure(metric, recipe, recipe.of(rows), rows.n_rows, choices)
    return replace(made, exact=False, sample=rows.n_rows, n_rows=share.n_rows)


def reason(metric: Metric[Any], recipe: Recipe, choices: Mapping[str, Any], ledger: Ledger) -> str:
    """Why a metric is not measured on so many rows, and what can be done about it."""
    plan = ledger.plan
    many = f"needs all rows, which are more than row_limit ({plan.row_limit:,})"
    bound = bounded(metric, recipe, choices) is not None
    if bound and plan.by is not None and len(ledger.shares) > MOST_CELLS:
        return f"{many}; cells would bound it, but not for more than {MOST_CELLS} slices at once"
    if bound and (plan.matrix or plan.weighted):
        return f"{many}; cells would bound it only for one probability a row without weights"
    return f"{many}; sample=… measures it on a uniform sample"
