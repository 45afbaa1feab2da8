# SPDX-License-Identifier: Apache-2.0
"""Slices beside each other as SVG: one line each, its value and its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from epimeter.card_index import find
from epimeter.documents.sections import Grid, Picture
from epimeter.report.forecast_report import ForecastReport
from epimeter.report.measurement import Measurement, Report
from epimeter.report.svg import Board
from epimeter.results import cell_text

SHORT, LETTERS = 22, 40
"""Letters of names that there is always room for, and that stand beside a line at most; the table has all."""


class SlicePoint(NamedTuple):
    """A value to be drawn, and the ends of its interval where it has one."""

    name: str
    n_rows: int
    value: float
    ends: tuple[float, float] | None


def beside(
    reports: Mapping[Any, Report] | Mapping[Any, ForecastReport], metric: str, *, for_print: bool = False
) -> Picture | None:
    """The slices by one metric; None where it has no value on any of them."""
    lines = {str(value): report[metric] for value, report in reports.items() if metric in report}
    known = {name: line for name, line in lines.items() if line.value is not None and math.isfinite(line.value)}
    if not known:
        return None
    points = [SlicePoint(name, line.n_rows, float(line.value or 0.0), _ends(line)) for name, line in known.items()]
    title = f"{find(metric).card.title} by slice"
    return in_lines(points, metric, title, ideal_of(next(iter(known.values()))), for_print=for_print)


def in_lines(
    points: Sequence[SlicePoint],
    label: str,
    title: str,
    ideal: float | None,
    *,
    noun: str = "slice",
    for_print: bool = False,
) -> Picture:
    """One line a point, with its interval and a dashed line at the ideal."""
    reach = [point.value for point in points] + ([ideal] if ideal is not None else [])
    reach += [end for point in points for end in point.ends or ()]
    reach = [value for value in reach if math.isfinite(value)]
    low, high = min(reach), max(reach)
    room = 0.05 * (high - low) or 0.01
    letters = min(LETTERS, max(SHORT, *(len(point.name) for point in points)))
    left = 16 + 7 * letters
    board = Board(
        350 + left, 56 + 22 * len(points), left=left, top=12, bottom=34,
        across=(low - room, high + room), up=(-0.6, len(points) - 0.4), for_print=for_print,
    )  # fmt: skip
    board.axes(_round_numbers(low, high), (), label, "", show_x="{:g}".format)
    if ideal is not None:
        board.line([(ideal, board.up[0]), (ideal, board.up[1])], "soft", 1, "4 4")
    rows = []
    for place, point in enumerate(points):
        up = len(points) - 1 - place
        short = point.name if len(point.name) <= letters else point.name[: letters - 1] + "…"
        board.word(board.left - 8, board.y(up) + 4, short, anchor="end", colour="ink")
        spread = "–"
        if point.ends is not None:
            ends = max(point.ends[0], board.across[0]), min(point.ends[1], board.across[1])
            board.line([(ends[0], up), (ends[1], up)], "accent", 2)
            spread = f"{point.ends[0]:.4g} to {point.ends[1]:.4g}"
        board.dot(point.value, up, "accent")
        rows.append((point.name, f"{point.n_rows:,}", cell_text(point.value), spread))
    furthest = max(points, key=lambda point: abs(point.value - (ideal or 0.0)))
    alt = (
        f"{label} of {len(points)} {noun}s, each with its interval; {furthest.name} is furthest from {ideal or 0.0:g} with "
        f"{cell_text(furthest.value)}."
    )
    twin = Grid(f"{label} by {noun}", (noun, "rows", label, "interval"), tuple(rows), frozenset({1, 2}))
    return Picture(title, alt, board.svg(alt), twin)


def _ends(line: Measurement) -> tuple[float, float] | None:
    return None if line.interval is None else (line.interval.low, line.interval.high)


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
