# SPDX-License-Identifier: Apache-2.0
"""What members see of their system: every number over the attempts with its interval and the limits, alarms, slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from epimeter.documents.html import sections
from epimeter.documents.sections import Document, Grid, Picture, Section
from epimeter.monitor.charts import bands, round_ticks
from epimeter.monitor.document import document as watched_document
from epimeter.monitor.watch import look
from epimeter.report.svg import Board
from epimeter.standards.ers import LEVELS
from epimeter.store import collecting, evaluations
from epimeter.trust.entries import system_digest
from epimeter.web.page import Facts, visible

MOST = 60
"""Attempts that are drawn: the newest."""


class _Interval(msgspec.Struct):
    low: float
    high: float


class _Measurement(msgspec.Struct):
    metric: str
    value: float | None = None
    interval: _Interval | None = None


class _Report(msgspec.Struct):
    measurements: list[_Measurement] = []


class _Reading(msgspec.Struct):
    name: str
    value: float | None = None
    interval: _Interval | None = None


class _Verdict(msgspec.Struct):
    assurance: str | None = None


class _Stored(msgspec.Struct):
    """Of a stored report, its numbers: inside an evaluation after the standards, or bare."""

    report: _Report | None = None
    measurements: list[_Measurement] = []
    readings: list[_Reading] = []
    """What was held against the limits, with the intervals by which a verdict is firm or marginal."""
    verdicts: dict[str, _Verdict] = {}


@dataclass(frozen=True)
class AttemptPoint:
    """A number of one attempt; without an interval its ends are the number itself."""

    attempt: int
    value: float
    low: float
    high: float


def own_system(state: Any, caller: Any, system: str) -> str | None:
    """The id of the caller's system that has this name in the log; None where he has none such."""
    with state.store.reading() as db:
        ids = evaluations.system_ids(db, caller.organization) + collecting.names(db, caller.organization)
    name = caller.organization_name
    return next((one for one in ids if system_digest({"organization": name, "system_id": one}) == system), None)


def history(state: Any, caller: Any, system_id: str) -> Facts:
    """The attempts of a system, four numbers over them, and what watching it found."""
    with state.store.reading() as db:
        rows = evaluations.history(db, caller.organization, system_id, MOST)
    ends = {"ECE": [(one.ece, f"{one.name} {one.ece:g}") for one in LEVELS]}
    ends["U-Recall, %"] = [(one.u_recall, f"{one.name} {one.u_recall:g} %") for one in LEVELS]
    stored = [msgspec.json.decode(bytes(row["report"]), type=_Stored) for row in rows]
    read = [_numbers(one) for one in stored]
    lines = [_line(row, one, before) for row, one, before in zip(rows, stored, [None, *rows], strict=False)]
    series = {
        "ECE": _points(rows, read, "ers.ece", "ece"),
        "U-Recall, %": _points(rows, read, "ers.u_recall"),
        "Brier score": _points(rows, read, "brier_score"),
        "Bias (outcome minus confidence)": _points(rows, read, "esce"),
    }
    pictures = tuple(_chart(title, points, ends.get(title, [])) for title, points in series.items() if points)
    return {
        "attempts": lines[::-1],
        "charts": visible(sections(Document("", "", (Section("Over time", pictures),)))) if pictures else "",
        "watched": _watched(state, caller, system_id),
    }


def _line(row: Any, stored: _Stored, before: Any) -> Facts:
    return {
        "evaluation": row["id"],
        "attempt": row["attempt"],
        "version": row["system_version"],
        "level": row["level"],
        "assurance": stored.verdicts["ers"].assurance if "ers" in stored.verdicts else None,
        "ece": row["ece"],
        "u_recall": row["u_recall"],
        "ers": row["ers"],
        "sample_size": row["sample_size"],
        "before": None if before is None else before["id"],
    }


def _numbers(stored: _Stored) -> dict[str, _Measurement | _Reading]:
    found = stored.measurements if stored.report is None else stored.report.measurements
    return {one.metric: one for one in found} | {one.name: one for one in stored.readings}


def _points(rows: Sequence[Any], read: Sequence[dict[str, _Measurement | _Reading]], *names: str) -> list[AttemptPoint]:
    """A number of each attempt, by the first name under which its report has it."""
    made = []
    for row, found in zip(rows, read, strict=True):
        one = next((found[name] for name in names if name in found), None)
        if one is not None and one.value is not None:
            low, high = (one.value, one.value) if one.interval is None else (one.interval.low, one.interval.high)
            made.append(AttemptPoint(row["attempt"], one.value, low, high))
    return made


def _chart(title: str, points: list[AttemptPoint], limits: list[tuple[float, str]]) -> Picture:
    values = [end for one in points for end in (one.low, one.value, one.high)]
    low, high = min(0.0, *values), max(*values, 1e-3)
    reach = [limit for limit, _ in limits if limit <= max(2 * high, 0.1)]
    high = 100.0 if "%" in title else max([high, *reach]) * 1.1
    room = 64 if limits else 18  # the names of the limits stand beside the drawing, where no line crosses them
    board = Board(420, 230, top=24, left=52, right=room, across=(-0.5, len(points) - 0.5), up=(low * 1.1, high))
    step = max(1, len(points) // 8)
    names = {float(place): str(points[place].attempt) for place in range(0, len(points), step)}
    board.axes(list(names), round_ticks(*board.up), "attempt", title, lambda tick: names[tick], lambda v: f"{v:g}")
    for limit, word in limits:
        if board.up[0] <= limit <= board.up[1]:
            board.line([(board.across[0], limit), (board.across[1], limit)], "bad", 1, "5 4")
            board.word(board.width - room + 5, board.y(limit) + 4, word, anchor="start", colour="bad")
    bands(board, [(float(place), one.value, one.low, one.high) for place, one in enumerate(points)])
    last = points[-1]
    alt = f"{title} of each attempt with its 95 % interval; the last, attempt {last.attempt}, is {last.value:.4g}."
    rows = tuple((str(one.attempt), f"{one.value:.4g}", f"{one.low:.4g} to {one.high:.4g}") for one in points)
    return Picture(title, alt, board.svg(alt), Grid(title, ("attempt", "value", "interval"), rows, frozenset({1})))


def _watched(state: Any, caller: Any, system_id: str) -> Facts | None:
    """What watching the collected predictions found: alarms, and slices by how badly they are off."""
    with state.store.reading() as db:
        number = collecting.known(db, caller.organization, system_id)
        if number is None:
            return None
        found = collecting.collection(db).history(number)
    seen = look(found)
    made = watched_document(seen, pictures=True)
    return {"title": made.title, "subtitle": made.subtitle, "html": visible(sections(made, "w"))}
