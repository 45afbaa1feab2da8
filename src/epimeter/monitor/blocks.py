# SPDX-License-Identifier: Apache-2.0
"""The windows of systems in a database: those of up to 32 slices in one row, so that a glance reads few of them.

A row is the block of a window: the names of its slices, in order, and their vectors as bytes. All rows together are the slice with
the empty name, in block 0. A slice stays in the block it came into; a new one goes into the last block, or the next.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from epimeter.errors import ReadError
from epimeter.monitor.cells import SIZE, VERSION, Cells, added, packed, unpacked
from epimeter.monitor.database import Database
from epimeter.monitor.window import Window

TABLE = """CREATE TABLE IF NOT EXISTS collected_blocks (
    system BIGINT NOT NULL, win VARCHAR(16) NOT NULL, block INTEGER NOT NULL, slices TEXT NOT NULL, totals BLOB NOT NULL,
    PRIMARY KEY (system, win, block))"""
BLOCK = 32
"""Slices of a row: what one prediction writes is bounded, however many slices there are."""
MANY = 500
"""Windows named in one statement."""
PUT = (
    "INSERT INTO collected_blocks (system, win, block, slices, totals) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (system, win, block) DO UPDATE SET slices = excluded.slices, totals = excluded.totals"
)
Known = dict[str, dict[int, tuple[list[str], Cells]]]
"""By window and block: names, and their vectors."""


def names_text(names: Sequence[str]) -> str:
    """Names of slices as they are kept."""
    return json.dumps(names)


def vectors(totals: Any, n: int) -> Cells:
    """The vectors of a block of so many slices, shape (n, 68)."""
    data = bytes(totals)
    if data[:1] != VERSION or len(data) != 1 + 8 * SIZE * n:
        raise ReadError(
            "the totals of a window must be of version 1 and complete; others came. Was this database written by a later version?"
        )
    return np.frombuffer(data, "<i8", offset=1).astype(np.int64, copy=False).reshape(n, SIZE)


@dataclass(frozen=True)
class Blocks:
    """The windows of the systems of a database."""

    database: Database

    def read(self, system: int, wins: Sequence[str] | None = None) -> dict[tuple[str, str], Window]:
        """The windows of a system by their start and slice, all of them or some."""
        known = self._known(system, wins)
        return {
            (win, name): Window(vector)
            for win, blocks in known.items()
            for names, cells in blocks.values()
            for name, vector in zip(names, cells, strict=True)
        }

    def names(self, system: int) -> set[str]:
        """The slices that a system has in any window."""
        found = self.database.run("SELECT DISTINCT slices FROM collected_blocks WHERE system = ?", (system,)).fetchall()
        return {name for (text,) in found for name in json.loads(text)}

    def add(self, system: int, moved: dict[tuple[str, str], Window]) -> set[str]:
        """Add to the totals of windows; gives the slices that were not in all of these windows before."""
        by_win: dict[str, dict[str, Cells]] = {}
        for (win, name), window in moved.items():
            by_win.setdefault(win, {})[name] = window.cells
        known = self._known(system, sorted(by_win))
        new: set[str] = set()
        rows: list[tuple[Any, ...]] = []
        for win, parts in by_win.items():
            held = {name: block for block, (names, _) in known.get(win, {}).items() for name in names}
            came = sorted(parts.keys() - held.keys())
            new |= set(came)
            counts = [len(names) for names, _ in known.get(win, {}).values()]
            for place, name in enumerate(came, BLOCK * (len(counts) - 1) + counts[-1] if counts else 0):
                held[name] = place // BLOCK
            for block in sorted({held[name] for name in parts}):
                names, cells = known.get(win, {}).get(block, ([], np.zeros((0, SIZE), np.int64)))
                rows.append((system, win, block, *_together(names, cells, parts, held, block)))
        self.database.run_many(PUT, rows)
        return new

    def _known(self, system: int, wins: Sequence[str] | None) -> Known:
        query = "SELECT win, block, slices, totals FROM collected_blocks WHERE system = ?"
        order = " ORDER BY win, block"
        if wins is None:
            found = self.database.run(query + order, (system,)).fetchall()
        else:
            found = []
            for begin in range(0, len(wins), MANY):
                some = wins[begin : begin + MANY]
                marks = ", ".join("?" * len(some))
                found += self.database.run(f"{query} AND win IN ({marks}){order}", (system, *some)).fetchall()
        known: Known = {}
        for win, block, text, totals in found:
            names = json.loads(text)
            known.setdefault(win, {})[block] = names, vectors(totals, len(names))
        return known


def _together(
    names: list[str], cells: Cells, parts: dict[str, Cells], held: dict[str, int], block: int
) -> tuple[str, bytes]:
    """A block with what comes to it."""
    now = sorted({*names, *(name for name in parts if held[name] == block)})
    at = {name: number for number, name in enumerate(now)}
    both = np.zeros((2, len(now), SIZE), np.int64)
    if names:
        both[0, [at[name] for name in names]] = cells
    for name, vector in parts.items():
        if held[name] == block:
            both[1, at[name]] = vector
    return names_text(now), packed(added(both))


def from_single(database: Database) -> None:
    """Windows that were kept one slice to a row, as bytes or as JSON, become blocks; the table of before goes."""
    for (system,) in database.run("SELECT DISTINCT system FROM collected_windows").fetchall():
        query = "SELECT win, slice, totals FROM collected_windows WHERE system = ? ORDER BY win, slice"
        found = database.run(query, (system,)).fetchall()
        database.run_many(PUT, list(_rows(system, found)))
    database.run("DROP TABLE collected_windows")
    # What looks left is in the order of slices that a database had, which need not be that of the names in a block.
    database.run("UPDATE collected_looks SET state = ?", (b"",))


def _rows(system: int, found: list[tuple[str, str, Any]]) -> Iterable[tuple[Any, ...]]:
    for win, rows in groupby(found, key=lambda row: row[0]):
        parts = sorted((name, totals) for _, name, totals in rows)
        for block, begin in enumerate(range(0, len(parts), BLOCK)):
            some = parts[begin : begin + BLOCK]
            cells = unpacked([totals for _, totals in some])
            yield system, win, block, names_text([name for name, _ in some]), packed(cells)
