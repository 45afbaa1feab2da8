# SPDX-License-Identifier: Apache-2.0
"""How the log grew, from the checkpoints that it signed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from epimeter.documents.html import sections
from epimeter.documents.sections import Document, Grid, Picture, Section
from epimeter.monitor.charts import round_ticks
from epimeter.report.svg import Board

POINTS = 40
"""Checkpoints that are drawn."""
DAY = 86_400


def drawn(growth: Sequence[tuple[str, int]]) -> str:
    """The number of entries over time as a section of a page; nothing while there is one moment only."""
    at = [datetime.fromisoformat(moment).timestamp() for moment, _ in growth]
    first, last = at[0], at[-1]
    if last <= first:
        return ""
    begin, end = (_shown(moment, last - first) for moment in (growth[0][0], growth[-1][0]))
    board = Board(560, 220, top=24, left=66, across=(first, last), up=(0.0, max(1, growth[-1][1]) * 1.05))
    board.axes([], round_ticks(*board.up), "", "entries", show_y="{:,.0f}".format)
    for place, words, anchor in ((first, begin, "start"), (last, end, "end")):
        board.word(board.x(place), board.height - board.bottom + 15, words, anchor=anchor)
    board.line([(place, size) for place, (_, size) in zip(at, growth, strict=True)], "accent", 2)
    board.dot(last, growth[-1][1], "accent")
    alt = f"Entries of the log over time: {growth[0][1]:,} on {begin}, {growth[-1][1]:,} on {end}."
    rows = tuple((_shown(moment, 0), f"{size:,}") for moment, size in growth)
    twin = Grid("Checkpoints", ("when", "entries"), rows, frozenset({1}))
    picture = Picture(f"From {begin} to {end}", alt, board.svg(alt), twin)
    return sections(Document("", "", (Section("How it grew", (picture,)),)), "g")


def _shown(moment: str, span: float) -> str:
    """A moment as the reader of a drawing needs it: the day, and the time where the drawing is of few days."""
    return moment[:10] if span > 3 * DAY else moment[:19].replace("T", " ")
