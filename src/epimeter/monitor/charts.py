# SPDX-License-Identifier: Apache-2.0
"""Charts over time: bands, thresholds and alarms as SVG, each with words and a table that say the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from epimeter.documents.sections import Grid, Picture
from epimeter.kinds import WORDING
from epimeter.monitor.alarm import called
from epimeter.monitor.change import difference
from epimeter.monitor.series import READ_AS_ANSWERS, answers, measures, sliding
from epimeter.monitor.settings import MonitorSettings
from epimeter.monitor.watch import SystemLook
from epimeter.monitor.window import Window, between
from epimeter.report.svg import Board

MOST_ROWS = 60
"""Rows of the table beside a chart: the last windows."""
Band = tuple[float, float, float, float]
"""Place, value, low, high."""


def charts(system: SystemLook, settings: MonitorSettings) -> list[Picture]:
    """The charts of a system: change, evidence, ECE, rows; and the change of every slice with an open alarm."""
    found = system.series
    if len(found.starts) < 2:
        return []
    made = [_rows(system, settings)]
    if len(found.labelled):
        made.insert(0, _ece(system, settings))
    if system.watch is not None:
        concerned = [name for alarm in system.alarms if alarm.open and alarm.kind == "change" for name in alarm.slices]
        names = list(dict.fromkeys(["", *(name for name in concerned if name)]))[:7]
        made = [_change(system, settings, name) for name in names] + [_evidence(system, settings), *made]
    return made


def _board(system: SystemLook, settings: MonitorSettings, low: float, high: float) -> Board:
    found = system.series
    last = max(1, between(found.starts[0], found.starts[-1], settings.unit))
    return Board(560, 250, top=24, left=74, across=(0, last), up=(low, high))


def _at(system: SystemLook, settings: MonitorSettings) -> list[int]:
    first = system.series.starts[0]
    return [between(first, start, settings.unit) for start in system.series.starts]


def _axes(
    board: Board,
    system: SystemLook,
    settings: MonitorSettings,
    ticks: Sequence[float],
    label: str,
    show: Callable[[float], str],
) -> None:
    places = _at(system, settings)
    step = max(1, math.ceil(len(places) / 5))
    names = {float(places[k]): system.series.starts[k] for k in range(0, len(places), step)}
    board.axes(list(names), ticks, "", label, lambda tick: names[tick], show)


def round_ticks(low: float, high: float) -> list[float]:
    """Ticks at round numbers, five at most."""
    span = high - low
    step = 10 ** math.floor(math.log10(span / 3))
    step = next(step * k for k in (1, 2, 5, 10) if span / (step * k) <= 5)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _alarms(board: Board, system: SystemLook, settings: MonitorSettings, kinds: Iterable[str]) -> None:
    """Where alarms were open, as shaded time, with a line at their opening."""
    first, (_, end) = system.series.starts[0], board.across
    low, high = board.up
    for alarm in system.alarms:
        if alarm.kind not in kinds:
            continue
        begin = between(first, alarm.opened, settings.unit)
        close = end if alarm.closed is None else between(first, alarm.closed, settings.unit)
        board.bar(begin, min(close, end), low, high, "bad", 0.12)
        board.line([(begin, low), (begin, high)], "bad", 1.5)
        side = "end" if begin > end / 2 else "start"
        board.word(board.x(begin) + (-4 if side == "end" else 4), board.top + 12, "alarm", anchor=side, colour="bad")


def bands(board: Board, points: Sequence[Band], colour: str = "accent") -> None:
    """A line with the interval of every point."""
    for x, _, low, high in points:
        board.line([(x, max(low, board.up[0])), (x, min(high, board.up[1]))], "soft", 1)
    if len(points) > 1:
        board.line([(x, value) for x, value, _, _ in points], colour, 2)
    for x, value, _, _ in points:
        board.dot(x, value, colour, 2)


def _change(system: SystemLook, settings: MonitorSettings, name: str) -> Picture:
    found, watch = system.series, system.watch
    assert watch is not None
    number = found.slices.index(name)
    places = _at(system, settings)
    points: list[Band] = []
    table = []
    for t in range(len(found.starts)):
        here = difference(watch.reference, number, found.totals.over([t], number))
        if here is None:
            continue
        points.append((places[t], here.value, here.low, here.high))
        table.append((found.starts[t], f"{here.rows:,}", f"{here.value:+.4f}", f"{here.low:+.4f} to {here.high:+.4f}"))
    reach = (
        max([0.02, 2 * settings.tolerance, *(abs(end) for _, value, *ends in points for end in (value, *ends))]) * 1.1
    )
    board = _board(system, settings, -min(reach, 1.0), min(reach, 1.0))
    board.bar(*board.across, -settings.tolerance, settings.tolerance, "good", 0.18)
    if watch.first:
        end = between(found.starts[0], found.starts[min(watch.first, len(found.starts) - 1)], settings.unit)
        board.bar(0, end, *board.up, "line", 0.35)
        board.word(board.x(0) + 4, board.height - board.bottom - 6, "reference", anchor="start")
    _axes(board, system, settings, round_ticks(*board.up), "change of the gap", lambda v: f"{v:+.2g}" if v else "0")
    bands(board, points)
    _alarms(board, system, settings, ("change",))
    last = points[-1][1] if points else math.nan
    alt = (
        f"Change of outcome minus {WORDING[found.kind].noun} against the reference, {called(name)}, "
        f"one point a {settings.unit} with its 95 % interval. "
        f"The last point is {last:+.4f}; the green band is the tolerance of {settings.tolerance:g}."
    )
    twin = Grid(
        "Change against the reference",
        ("window", "rows", "change", "interval"),
        tuple(table[-MOST_ROWS:]),
        frozenset({1, 2}),
    )
    return Picture(f"Change against the reference: {called(name)}", alt, board.svg(alt), twin)


def _evidence(system: SystemLook, settings: MonitorSettings) -> Picture:
    found, watch = system.series, system.watch
    assert watch is not None
    places = _at(system, settings)
    watched = [int(t) for t in found.labelled if t >= watch.first]
    limit = math.log10(settings.threshold)
    values = [float(np.clip(e / math.log(10), -1.0, 3 * limit)) for e in watch.evidence]
    board = _board(system, settings, -1.0, max(limit * 1.4, max(values, default=0.0) * 1.05))
    _axes(
        board,
        system,
        settings,
        round_ticks(*board.up),
        "evidence of a change",
        lambda v: f"{10**v:,.0f}" if v >= 0 else f"{10**v:g}",
    )
    board.line([(board.across[0], limit), (board.across[1], limit)], "bad", 1.5, "5 4")
    board.word(
        board.width - board.right, board.y(limit) - 5, f"alarm at {settings.threshold:,.0f}", anchor="end", colour="bad"
    )
    bands(board, [(places[t], value, value, value) for t, value in zip(watched, values, strict=True)])
    alt = (
        f"Evidence of a change after every window (Shiryaev-Roberts sum over all slices, drawn no higher than the cube of the "
        f"threshold); at "
        f"{settings.threshold:,.0f} an alarm is raised and the evidence begins anew. Without a change that happens at most "
        f"{'once' if settings.false_alarms == 1 else f'{settings.false_alarms:g} times'} a year."
    )
    table = tuple(
        (found.starts[t], f"{math.exp(min(e, 700)):,.3g}")
        for t, e in zip(watched, watch.evidence.tolist(), strict=True)
    )
    twin = Grid("Evidence of a change", ("window", "sum"), table[-MOST_ROWS:], frozenset({1}))
    return Picture("Evidence of a change", alt, board.svg(alt), twin)


def _ece(system: SystemLook, settings: MonitorSettings) -> Picture:
    found = system.series
    places = _at(system, settings)
    # A limit is one of answers: beside it events are drawn as the standards read them.
    as_answers = settings.limit is not None and found.kind == "event"
    totals = answers(found.totals) if as_answers else found.totals
    path = measures(totals.each(lambda part: sliding(part[:, 0], settings.sliding)))
    labelled = set(found.labelled.tolist())
    made = [(t, path.at(t)) for t in range(len(found.starts)) if t in labelled]
    points = [(places[t], at.ece, at.ece_low, at.ece_high) for t, at in made if at is not None]
    limit = settings.limit
    top = max([0.02, *(high for *_, high in points), *([] if limit is None else [limit])]) * 1.15
    board = _board(system, settings, 0.0, min(1.0, top))
    _axes(board, system, settings, round_ticks(*board.up), "ECE of the last seven days", lambda v: f"{v:.2g}")
    if limit is not None:
        board.line([(board.across[0], limit), (board.across[1], limit)], "bad", 1.5, "5 4")
        board.word(
            board.width - board.right, board.y(limit) - 5, f"limit of {settings.level}", anchor="end", colour="bad"
        )
    bands(board, points)
    _alarms(board, system, settings, ("threshold", "absolute"))
    alt = (
        f"ECE of the sliding week{READ_AS_ANSWERS if as_answers else ''} with its 95 % interval; the last is {points[-1][1]:.4f}."
        if points
        else "No labelled rows."
    )
    table = tuple(
        (found.starts[t], f"{at.rows:,}", f"{at.ece:.4f}", f"{at.ece_low:.4f} to {at.ece_high:.4f}", f"{at.bias:+.4f}")
        for t, at in made
        if at is not None
    )
    twin = Grid(
        "ECE of the sliding week",
        ("until", "rows", "ECE", "interval", "bias"),
        table[-MOST_ROWS:],
        frozenset({1, 2, 4}),
    )
    return Picture("ECE, sliding week", alt, board.svg(alt), twin)


def _rows(system: SystemLook, settings: MonitorSettings) -> Picture:
    found = system.series
    places = _at(system, settings)
    windows = [Window(cells) for cells in found.whole]
    most = max(1, *(window.n_rows + window.off_scale for window in windows))
    board = _board(system, settings, 0.0, most * 1.1)
    board.across = (board.across[0] - 0.5, board.across[1] + 0.5)
    _axes(board, system, settings, [0, most], "rows: labelled below, waiting above", lambda v: f"{v:,.0f}")
    for x, window in zip(places, windows, strict=True):
        board.bar(x - 0.4, x + 0.4, 0, window.n_labelled, "accent")
        board.bar(x - 0.4, x + 0.4, window.n_labelled, window.n_rows, "line")
        if window.off_scale:
            board.bar(x - 0.4, x + 0.4, window.n_rows, window.n_rows + window.off_scale, "bad")
    rows, waiting = sum(w.n_rows for w in windows), sum(w.awaiting for w in windows)
    alt = f"Rows by {settings.unit}: {rows:,} predictions in all, {waiting:,} of them still without an outcome."
    table = tuple(
        (start, f"{w.n_rows:,}", f"{w.n_labelled:,}", f"{w.awaiting:,}")
        for start, w in zip(found.starts, windows, strict=True)
    )
    twin = Grid("Rows", ("window", "predictions", "labelled", "waiting"), table[-MOST_ROWS:], frozenset({1, 2, 3}))
    return Picture("Rows", alt, board.svg(alt), twin)
