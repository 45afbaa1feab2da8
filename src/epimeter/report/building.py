# SPDX-License-Identifier: Apache-2.0
"""A ledger into reports: the one builder, wherever the rows came from.

Where the rows are still at hand they are asked for what no total tells (which rows make a score infinite, which predictions
are equal, figures); everything else comes from the totals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import epimeter
from epimeter.errors import InputError, ReadError
from epimeter.inference.spread import SamplingDesign
from epimeter.passes.ledger import Ledger, SliceTotals
from epimeter.passes.plan import DIAGRAM, VERDICT_TOTALS, Plan
from epimeter.passes.selection import Entry
from epimeter.report.cautions import cautions, contrary, counted_alone, damaged, recalibrated, repeated
from epimeter.report.certainty import Wanted, biased, counted_rows, sampling_design, surrounded
from epimeter.report.figure_rows import FigureRows, diagram_of
from epimeter.report.measurement import Measurement, Report
from epimeter.report.measuring import Place, clipped, explained, infinite, measured_in_turn
from epimeter.report.slices import Reports
from epimeter.report.suspicions import suspicions, suspicions_of_bins, suspicions_of_classes
from epimeter.report.verdict import Verdict, grouped_p_values, p_values_of, verdict
from epimeter.results import BinTable, bin_table
from epimeter.summaries.bins import Bins
from epimeter.summaries.recipe import Recipe
from epimeter.views import View


def reports(ledger: Ledger, *, intervals: str | None = "asymptotic", level: float = 0.95) -> Report | Reports:
    """The report of all rows, or one a slice; `intervals` and `level` as `evaluate` has them."""
    if intervals == "bootstrap":
        raise InputError(
            "intervals of a pass are asymptotic: rows that are gone cannot be drawn again", field="intervals"
        )
    wanted = None if intervals is None else Wanted(intervals, level, 1000, 0)  # type: ignore[arg-type]
    if not ledger.n_rows:
        raise ReadError(_nothing(ledger))
    if ledger.plan.by is None:
        return report(ledger, None, wanted)
    values = sorted(ledger.slices, key=_place)
    return Reports(values, lambda value: report(ledger, value, wanted), lambda: report(ledger.whole(), None, wanted))


def _nothing(ledger: Ledger) -> str:
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


def report(
    ledger: Ledger,
    value: Any = None,
    wanted: Wanted | None = None,
    each: Callable[[str], None] | None = None,
    place: Place | None = None,
) -> Report:
    """The report of one slice.

    Parameters
    ----------
    wanted
        Which intervals it shall have; None: none.
    each
        Called with the name of every metric that is done.
    place
        Where a row stands in the file it came from, in words.
    """
    totals, plan = ledger.slices[value], ledger.plan
    rows = None if totals.rows is None else totals.rows.view()
    finished: dict[Recipe, Any] = {}
    left_out = dict(plan.left_out)
    entries: dict[str, Entry] = {}
    lines: list[Measurement] = []
    for entry, line in zip(plan.entries, measured_in_turn(plan.entries, ledger, totals, rows, finished), strict=True):
        name = entry[0].name
        if isinstance(line, str):
            left_out[name] = line
        else:
            lines.append(explained(line, rows, finished.get(entry[1]), place))
            entries[name] = entry
        if each is not None:
            each(name)
    design, few_groups = sampling_design(totals, rows, plan.weighted)
    if wanted is not None:
        exact = [line for line in lines if line.exact]
        known = surrounded(
            exact, [entries[line.metric] for line in exact], finished, totals.totals, rows, design, wanted
        )
        with_interval = {line.metric: line for line in known}
        lines = [with_interval.get(line.metric, line) for line in lines]
    event = totals.totals[DIAGRAM]
    table = bin_table(event)
    assert table is not None
    source = _source(ledger, value)
    asked = diagram_of(plan.choices)
    return Report(
        n_rows=totals.n_rows,
        n_classes=ledger.n_classes,
        kind=plan.kind,
        base_rate=float(event.true.sum().floats() / event.n),
        mean_confidence=float(event.prob.sum().floats() / event.n),
        measurements=tuple(lines),
        left_out=left_out,
        verdict=_verdict(plan, totals, lines, finished, rows, design),
        cautions=(
            *_suspicions(plan, totals, rows, table),
            *recalibrated(source),
            *repeated(source),
            *counted_alone(source),
            *contrary(source),
            *cautions(plan.kind, totals, rows, table, lines),
            *few_groups,
            *counted_rows(lines, design),
            *biased(lines),
            *infinite(lines),
            *clipped(lines),
            *damaged(ledger.skipped),
        ),
        n_units=design.units,
        bins=_diagram(asked, finished, rows) or table,
        rows=None if rows is None else FigureRows(rows, asked),
        source=source,
        version=epimeter.__version__,
    )


def _suspicions(plan: Plan, totals: SliceTotals, rows: View | None, table: BinTable) -> tuple[str, ...]:
    if plan.weighted:  # the bins then do not say how many answers were right
        return () if rows is None else tuple(one.sentence for one in suspicions(rows))
    if plan.matrix:
        found = suspicions_of_classes(table, totals.class_counts) if rows is None else suspicions(rows)
        return tuple(one.sentence for one in found)
    return tuple(one.sentence for one in suspicions_of_bins(plan.kind, table, totals.low, totals.high, rows))


def _verdict(
    plan: Plan,
    totals: SliceTotals,
    lines: list[Measurement],
    finished: dict[Recipe, Any],
    rows: View | None,
    design: SamplingDesign,
) -> Verdict | None:
    """The verdict from the totals of the pass; none where a summary has kept no such totals."""
    for recipe in plan.verdict_recipes:
        if recipe not in finished:
            finished[recipe] = recipe.finish(totals.totals[recipe])
    if not plan.verdict_recipes:
        return None
    if rows is None or design.group is None or design.units == design.n_rows:
        usual = {metric.name for metric, recipe, rest in plan.entries if recipe == metric.reads and not rest}
        stated = {line.metric: line for line in lines if line.exact and line.metric in usual}
        return verdict(plan.kind, finished[VERDICT_TOTALS], lines, p_values_of(finished, stated))
    event = rows.event
    gap = np.asarray(event.prob - event.true, np.float64)
    spread = design.deviation(gap - np.average(gap, weights=design.weight))
    p_values = grouped_p_values(rows, gap, design)
    return verdict(plan.kind, finished[VERDICT_TOTALS], lines, p_values, groups=design.units, spread=spread)


def _diagram(asked: Bins, finished: dict[Recipe, Any], rows: View | None) -> BinTable | None:
    """The bins that were asked for, where they are at hand."""
    if asked == DIAGRAM:
        return None
    if asked in finished:
        return bin_table(finished[asked])
    return None if rows is None else bin_table(asked.of(rows))


def _source(ledger: Ledger, value: Any) -> dict[str, Any]:
    facts = ledger.source | ledger.findings.described()
    notes = dict.fromkeys((*facts.get("notes", ()), *ledger.findings.sentences))
    if notes:
        facts["notes"] = list(notes)
    if ledger.plan.by is not None:
        facts["slice"] = {ledger.plan.by: value if isinstance(value, int | float | str | None) else str(value)}
    if ledger.unlabelled:
        facts["unlabelled"] = ledger.unlabelled
    if ledger.skipped:
        facts["skipped"] = list(ledger.skipped)
    return facts
