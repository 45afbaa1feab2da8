# SPDX-License-Identifier: Apache-2.0
"""Slices beside each other as SVG: one line each, its value and its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from epimeter.card import find
from epimeter.documents.sections import Grid, Picture
from epimeter.report.forecast_report import ForecastReport
from epimeter.report.measurement import Measurement, Report
from epimeter.report.svg import Board
from epimeter.results import cell_text

LETTERS = 22
"""Letters of a slice's name that stand beside its line; the table has all."""


def beside(
    reports: Mapping[Any, Report] | Mapping[Any, ForecastReport], metric: str, *, for_print: bool = False
) -> Picture | None:
    """The slices by one metric; None where it has no value on any of them."""
    lines = {str(value): report[metric] for value, report in reports.items() if metric in report}
    known = {name: line for name, line in lines.items() if line.value is not None and math.isfinite(line.value)}
    if not known:
        return None
    ideal = ideal_of(next(iter(known.values())))
    reach = [float(line.value or 0.0) for line in known.values()] + ([float(ideal)] if ideal is not None else [])
    for line in known.values():
        reach += [] if line.interval is None else [line.interval.low, line.interval.high]
    reach = [value for value in reach if math.isfinite(value)]
    low, high = min(reach), max(reach)
    room = 0.05 * (high - low) or 0.01
    board = Board(
        520, 56 + 22 * len(known), left=170, top=12, bottom=34,
        across=(low - room, high + room), up=(-0.6, len(known) - 0.4), for_print=for_print,
    )  # fmt: skip
    board.axes(_round_numbers(low, high), (), metric, "", show_x="{:g}".format)
    if ideal is not None:
        board.line([(float(ideal), board.up[0]), (float(ideal), board.up[1])], "soft", 1, "4 4")
    rows = []
    for place, (name, line) in enumerate(known.items()):
        up = len(known) - 1 - place
        short = name if len(name) <= LETTERS else name[: LETTERS - 1] + "…"
        board.word(board.left - 8, board.y(up) + 4, short, anchor="end", colour="ink")
        spread = "–"
        if line.interval is not None:
            ends = max(line.interval.low, board.across[0]), min(line.interval.high, board.across[1])
            board.line([(ends[0], up), (ends[1], up)], "accent", 2)
            spread = f"{line.interval.low:.4g} to {line.interval.high:.4g}"
        board.dot(float(line.value or 0.0), up, "accent")
        rows.append((name, f"{line.n_rows:,}", cell_text(line.value), spread))
    largest = max(known, key=lambda name: abs(float(known[name].value or 0.0) - float(ideal or 0.0)))
    alt = (
        f"{metric} of {len(known)} slices, each with its interval; {largest} is furthest from {float(ideal or 0.0):g} with "
        f"{cell_text(known[largest].value)}."
    )
    twin = Grid(f"{metric} by slice", ("slice", "rows", metric, "interval"), tuple(rows), frozenset({1, 2}))
    return Picture(f"{find(metric).card.title} by slice", alt, board.svg(alt), twin)


def ideal_of(line: Measurement) -> float | None:
    """The best value of a metric: that of its card, or the level that was claimed."""
    card = find(line.metric).card
    aim = line.parameters.get(card.aims_at) if card.aims_at else card.ideal
    return None if aim is None else float(aim)


def _round_numbers(low: float, high: float) -> list[float]:
    """Three to six round numbers between two, for an axis."""
    if not high > low:
        return [low]
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * size for size in (1, 2, 5, 10) if power * size >= rough)
    return [round(step * k, 12) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
