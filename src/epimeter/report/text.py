# SPDX-License-Identifier: Apache-2.0
"""A report as text: what it says in one sentence, the numbers, the diagram, the cautions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from epimeter.card_index import find
from epimeter.kinds import WORDING
from epimeter.report.diagram import diagram
from epimeter.report.remarks import remarks

if TYPE_CHECKING:
    from epimeter.report.measurement import Measurement, Report

TITLE = 44
"""Longest title in the table; longer ones are cut with an ellipsis, the card has them whole."""
MOST_PARTS = 8
READS = {"lower": "lower is better", "higher": "higher is better", "signed": "signed", "none": ""}


def text(report: Report) -> str:
    """The whole report for a terminal."""
    parts = [
        _head(report),
        "\n".join(first_lines(report)),
        "\n".join(_table(report)),
        "Said against seen (● bin, · perfect, below: where the rows are)\n\n"
        + "\n".join(diagram(report.bins, WORDING[report.kind].said)),
    ]
    if report.source.get("notes"):
        parts.append("The data:\n" + "\n".join(f"  {note}" for note in report.source["notes"]))
    if report.cautions:
        parts.append("Mind:\n" + "\n".join(f"  ! {caution}" for caution in report.cautions))
    if report.left_out:
        parts.append(
            f"Not measured ({len(report.left_out)}):\n"
            + "\n".join(f"  {name}: {reason}" for name, reason in report.left_out.items())
        )
    parts.append("What a number means, its equation and its pitfalls: epimeter metrics NAME")
    return "\n\n".join(parts) + "\n"


def _head(report: Report) -> str:
    name = str(report.source.get("name", ""))
    rows = f"{report.n_rows:,} row{'s' if report.n_rows != 1 else ''}"
    if report.n_units is not None and report.n_units != report.n_rows:
        rows += f" of {report.n_units:,} independent units"
    what = WORDING[report.kind].what
    used = report.source.get("columns")
    columns = ", ".join(f"{role} = {column}" for role, column in used.items()) if isinstance(used, dict) else ""
    return " · ".join(part for part in (f"epimeter {report.version}", name, rows, what, columns) if part)


def first_lines(report: Report) -> tuple[str, ...]:
    """What a person asks first, answered: how it stands on average, and the verdict."""
    told = (sentence(report),) if report.verdict is None else (_averages(report), *report.verdict.sentences)
    return (*remarks(report.source, report.n_rows), *told)


def _averages(report: Report) -> str:
    return f"Said {report.mean_confidence:.1%}, came true {report.base_rate:.1%}."


def sentence(report: Report) -> str:
    """What was said and what came true, on average, where no tests say more."""
    gap = report.mean_confidence - report.base_rate
    words = WORDING[report.kind]
    points = f"{abs(gap) * 100:.1f}"
    return (
        f"Said {report.mean_confidence:.1%}, came true {report.base_rate:.1%}: on average it "
        f"{(words.too_much if gap > 0 else words.too_little).format(points)}."
    )


def _table(report: Report) -> list[str]:
    rows = [("metric", "value", "", "")]
    several = len(report.measurements) > 40
    family = ""
    for measurement in report.measurements:
        card = find(measurement.metric).card
        if several and card.family != family:
            family = card.family
            rows += [("", "", "", ""), (f"[{family}]", "", "", "")]
        ideal = f", ideal {card.ideal:g}" if isinstance(card.ideal, int | float) else ""
        title = card.title if len(card.title) <= TITLE else card.title[: TITLE - 1] + "…"
        rows.append((measurement.metric, shown(measurement), title, READS[card.direction] + ideal))
        rows += [(f"  {name}", value, "", "") for name, value in parts(measurement)]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return [
        f"  {name:<{widths[0]}}  {value:>{widths[1]}}  {title:<{widths[2]}}  {reads}".rstrip()
        for name, value, title, reads in rows
    ]


def parts(measurement: Measurement) -> list[tuple[str, str]]:
    """The further numbers of a metric that gives several: intercept and slope, areas above and below."""
    own = {name: value for name, value in measurement.fields.items() if isinstance(value, int | float | np.floating)}
    if len(own) > MOST_PARTS or "p_value" in own:
        return []  # bounds and p-values stand beside the value already
    rest = [name for name in own if name != ("value" if "value" in own else next(iter(measurement.fields)))]
    return [(name, f"{own[name]:.6g}") for name in rest]


def ends_of(measurement: Measurement) -> str:
    """The interval, or in two words why there is none; a test has its p-value instead, and infinity speaks for itself."""
    ends, why = measurement.interval, measurement.no_interval
    if ends is not None:
        return f" [{ends.low:.3g}, {ends.high:.3g}]"
    return "" if why is None or why in ("a test", "infinite value") else f" ({why})"


def shown(measurement: Measurement) -> str:
    """A value in six digits; a p-value beside a test statistic; a dash when undefined."""
    if measurement.value is None:
        return "–"
    value = f"{measurement.value:.6g}" + ends_of(measurement)
    if measurement.error is not None:
        value += f" (error at most {measurement.error:.2g})"
    if measurement.sample is not None:
        value += f" (sample of {measurement.sample:,})"
    p_value = measurement.fields.get("p_value")
    if isinstance(p_value, float) and p_value != measurement.value:
        value += f" (p {'< 0.0001' if p_value < 1e-4 else f'= {p_value:.4f}'})"
    return value
