# SPDX-License-Identifier: Apache-2.0
"""A report as a document of sections; standards put theirs in front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from epimeter.card_index import find
from epimeter.documents.sections import Document, Grid, Items, Section
from epimeter.kinds import WORDING
from epimeter.report import figures
from epimeter.report.curves import Curves, Reliability
from epimeter.report.figure_rows import curves_of
from epimeter.report.text import READS, first_lines, parts, shown

if TYPE_CHECKING:
    from epimeter.report.measurement import Report


def pictures(data: Curves | Reliability, *, for_print: bool = False) -> Section:
    """The four figures of a report; the first alone where its rows are gone."""
    first = figures.reliability(data, for_print=for_print)
    if not isinstance(data, Curves):
        return Section("Figures", (first,))
    others = (figures.cumulative, figures.histogram, figures.risk_coverage)
    return Section("Figures", (first, *(draw(data, for_print=for_print) for draw in others)))


def document(
    report: Report,
    *,
    before: Sequence[Section] = (),
    drawn: bool = True,
    for_print: bool = False,
    title: str = "Calibration report",
) -> Document:
    """The report as a document; with its figures, unless those before it hold them already."""
    sections = [Section("Verdict", (Items(first_lines(report)),)), *before] if not before else [*before]
    if drawn:
        sections.append(pictures(curves_of(report), for_print=for_print))
    rows = []
    for measurement in report.measurements:
        card = find(measurement.metric).card
        ideal = f", ideal {card.ideal:g}" if isinstance(card.ideal, int | float) else ""
        rows.append((measurement.metric, shown(measurement), card.title, READS[card.direction] + ideal))
        rows += [(f"\u2003{name}", value, "", "") for name, value in parts(measurement)]
    sections.append(
        Section(
            "Measurements",
            (Grid("Metrics", ("metric", "value", "what it is", "reading"), tuple(rows), frozenset({1})),),
        )
    )
    if report.source.get("notes"):
        sections.append(Section("The data", (Items(tuple(map(str, report.source["notes"]))),)))
    if report.cautions:
        sections.append(Section("Mind when reading the metrics", (Items(report.cautions, "mind"),)))
    if report.left_out:
        reasons = tuple(f"{name}: {reason}" for name, reason in report.left_out.items())
        sections.append(Section("Not measured", (Items(reasons),)))
    name = str(report.source.get("name", ""))
    head = (f"epimeter {report.version}", name, f"{report.n_rows:,} rows", WORDING[report.kind].what)
    return Document(title, " · ".join(part for part in head if part), tuple(sections))
