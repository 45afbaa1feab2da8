# SPDX-License-Identifier: Apache-2.0
"""Predictions now, truth later: rows joined by id in a database, exact window totals kept with them.

One row an id: predictions fill one half of it and outcomes the other, in any order, again, or corrected. In the same transaction
the totals of every window that a row was in, and is in, are moved by the difference, in whole numbers; so totals are exact at
every commit, nothing is counted twice, and a look reads totals only. Labelled rows go after the retention, rows without truth
after the horizon, when they are counted as never labelled; totals stay.

The statements are for SQLite and PostgreSQL alike; `Database` has what differs.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from epimeter.errors import InputError
from epimeter.monitor.arriving import Outcomes, Predictions, refuse_many
from epimeter.monitor.blocks import TABLE, Blocks
from epimeter.monitor.database import Database
from epimeter.monitor.history import History
from epimeter.monitor.joined import event_outcome, rounds, windows_at, windows_of
from epimeter.monitor.settings import MonitorSettings
from epimeter.monitor.window import Place, Window, empty, later

TABLES = (
    """CREATE TABLE IF NOT EXISTS collected_systems (
        system BIGINT NOT NULL PRIMARY KEY, organization VARCHAR(40) NOT NULL, name VARCHAR(200) NOT NULL,
        state TEXT NOT NULL, unmatched BIGINT NOT NULL, purged VARCHAR(16) NOT NULL,
        changes BIGINT NOT NULL, looked_at BIGINT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS collected_rows (
        system BIGINT NOT NULL, id VARCHAR(200) NOT NULL, win VARCHAR(16), at BIGINT, confidence DOUBLE PRECISION,
        answer TEXT, slices TEXT, correct INTEGER, truth TEXT, truth_at BIGINT, source TEXT, received BIGINT NOT NULL,
        PRIMARY KEY (system, id))""",
    "CREATE INDEX IF NOT EXISTS ix_collected_rows_system_win ON collected_rows (system, win)",
    TABLE,
    """CREATE TABLE IF NOT EXISTS collected_looks (
        system BIGINT NOT NULL PRIMARY KEY, since VARCHAR(16) NOT NULL, until VARCHAR(16) NOT NULL,
        as_of VARCHAR(16) NOT NULL, aged_at BIGINT NOT NULL, state BLOB NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS collected_corrections (
        system BIGINT NOT NULL, id VARCHAR(200) NOT NULL, half VARCHAR(10) NOT NULL, before TEXT NOT NULL,
        after TEXT NOT NULL, at BIGINT NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS ix_collected_corrections_system_id ON collected_corrections (system, id)",
)
DAY = 86_400_000_000
RETENTION = 35.0
"""Days for which labelled rows are held: corrections within them count, and an evaluation can be made of them."""
BEFORE = ("win", "confidence", "answer", "slices", "correct", "truth", "at", "truth_at")
"""What a row adds to the totals of its window."""
INCOMING = "incoming i LEFT JOIN collected_rows c ON c.system = ? AND c.id = i.id"
"""Rows that came beside those that are known: of an outer join the databases read a row an id, never all rows of a system."""
SAID, RIGHT, TRUTH = (BEFORE.index(name) for name in ("confidence", "correct", "truth"))
"""Where a row that was known before says so."""


@dataclass(frozen=True)
class Taken:
    """What became of the rows that came.

    Attributes
    ----------
    refused
        Rows of windows whose rows are gone already (older than the retention): whether they were counted cannot be known.
    """

    new: int = 0
    repeated: int = 0
    corrected: int = 0
    refused: int = 0
    waiting: int = 0
    """Outcomes whose prediction has not come yet."""

    def __add__(self, other: Taken) -> Taken:
        return Taken(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class Aged:
    """What was let go: labelled rows (their totals stay), predictions never labelled, outcomes never matched."""

    gone: int
    never_labelled: int
    unmatched: int


def key_of(organization: str, system: str) -> int:
    """The number of a system in the database: the same everywhere, and never that of another organisation."""
    digest = hashlib.sha256(f"{organization}\0{system}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 2


class Collection(Database):
    """Collected rows of all systems in one database; every method works in the transaction of its cursor."""

    def begin(self) -> None:
        """Make the tables where they are missing."""
        self.make(TABLES)

    def open(self, organization: str, system: str, settings: MonitorSettings | None = None) -> int:
        """The number of a system, which is made when it is new; until the commit it is the caller's alone."""
        number = key_of(organization, system)
        state = json.dumps(History(settings or MonitorSettings()).to_dict())
        self.run(
            "INSERT INTO collected_systems (system, organization, name, state, unmatched, purged, changes, looked_at) "
            "VALUES (?, ?, ?, ?, 0, '', 0, 0) ON CONFLICT (system) DO NOTHING",
            (number, organization, system, state),
        )
        if self.postgres:
            self.run("SELECT system FROM collected_systems WHERE system = ? FOR UPDATE", (number,)).fetchone()
        return number

    def systems(self, organization: str | None = None) -> list[tuple[str, str]]:
        """Organisation and name of every system."""
        query = "SELECT organization, name FROM collected_systems"
        found = self.run(query + " ORDER BY 1, 2").fetchall()
        return [(who, name) for who, name in found if organization is None or who == organization]

    # Coming in.

    def predict(self, system: int, came: Predictions, now: int) -> Taken:
        """Take predictions; the same again changes nothing, others under the same id are corrections."""
        history = self._state(system)
        if history.kind != came.kind:
            if self._any(system):
                raise InputError(
                    f"one system has forecasts of one kind; it has {history.kind}, {came.kind} came", field="kind"
                )
            self._keep(system, replace(history, kind=came.kind))
        unit = history.settings.unit
        given = windows_at(came.at, unit)
        taken = Taken()
        for rows in rounds(came.id):
            self._incoming("win TEXT, at BIGINT, confidence DOUBLE PRECISION, answer TEXT, slices TEXT")
            columns = (came.id, given, came.at, came.confidence, came.answer, came.slices)
            self._fill_incoming("id, win, at, confidence, answer, slices", columns, rows)
            # A row without a time keeps the one it has; a new one is of now.
            self.run(
                "UPDATE incoming SET "
                "at = coalesce((SELECT c.at FROM collected_rows c WHERE c.system = ? AND c.id = incoming.id), ?), "
                "win = coalesce((SELECT c.win FROM collected_rows c WHERE c.system = ? AND c.id = incoming.id), ?) "
                "WHERE at IS NULL",
                (system, now, system, windows_at([now], unit)[0]),
            )
            taken = taken + self._predicted(system, now, len(rows), came.classes)
        return taken

    def _predicted(self, system: int, now: int, n: int, classes: int) -> Taken:
        refused = 0
        purged = self.run("SELECT purged FROM collected_systems WHERE system = ?", (system,)).fetchone()[0]
        if purged:
            self.run(
                "DELETE FROM incoming WHERE win <= ? AND NOT EXISTS "
                "(SELECT 1 FROM collected_rows c WHERE c.system = ? AND c.id = incoming.id)",
                (purged, system),
            )
            refused = self.cursor.rowcount
        query = (
            f"SELECT {_of('c', BEFORE)}, i.win, i.confidence, i.answer, i.slices, c.correct, c.truth, i.at, c.truth_at "
            f"FROM {INCOMING}"
        )
        both = self.run(query, (system,)).fetchall()
        repeated = corrected = 0
        if any(row[SAID] is not None for row in both):  # as a rule predictions are new
            repeated = self._drop_repeated(
                system,
                "c.confidence = i.confidence AND coalesce(c.answer, '') = coalesce(i.answer, '') AND c.at = i.at "
                "AND c.slices = i.slices",
            )
            both = self.run(query, (system,)).fetchall()
            corrected = self._correct(
                system,
                now,
                "prediction",
                "cast({0}.confidence AS TEXT) || ' ' || coalesce({0}.answer, '') || ' ' || {0}.slices || ' ' "
                "|| cast({0}.at AS TEXT)",
                "c.confidence IS NOT NULL",
            )
        self.run(
            "INSERT INTO collected_rows (system, id, win, at, confidence, answer, slices, received) "
            "SELECT cast(? AS BIGINT), id, win, at, confidence, answer, slices, cast(? AS BIGINT) FROM incoming WHERE true "
            "ON CONFLICT (system, id) DO UPDATE SET win = excluded.win, at = excluded.at, "
            "confidence = excluded.confidence, answer = excluded.answer, slices = excluded.slices",
            (system, now),
        )
        self._move(system, both, classes)
        return Taken(n - refused - repeated - corrected, repeated, corrected, refused)

    def conclude(self, system: int, came: Outcomes, now: int) -> Taken:
        """Take outcomes; of ids that are not known yet they wait for their predictions."""
        taken = Taken()
        for rows in rounds(came.id):
            self._incoming("correct INTEGER, truth TEXT, truth_at BIGINT, source TEXT")
            columns = (came.id, came.right, came.truth, came.at, came.source)
            self._fill_incoming("id, correct, truth, truth_at, source", columns, rows)
            taken = taken + self._concluded(system, now, len(rows))
        return taken

    def _concluded(self, system: int, now: int, n: int) -> Taken:
        query = (
            f"SELECT {_of('c', BEFORE)}, c.win, c.confidence, c.answer, c.slices, i.correct, i.truth, c.at, "
            f"coalesce(i.truth_at, cast(? AS BIGINT)) FROM {INCOMING}"
        )
        both = self.run(query, (now, system)).fetchall()
        repeated = corrected = 0
        if any(row[RIGHT] is not None or row[TRUTH] is not None for row in both):  # as a rule outcomes are new
            told = "(c.correct IS NOT NULL OR c.truth IS NOT NULL)"
            repeated = self._drop_repeated(
                system,
                f"{told} AND coalesce(c.correct, -1) = coalesce(i.correct, -1) "
                "AND coalesce(c.truth, '') = coalesce(i.truth, '')",
            )
            both = self.run(query, (now, system)).fetchall()
            corrected = self._correct(
                system,
                now,
                "outcome",
                "coalesce(cast({0}.correct AS TEXT), {0}.truth) || ' ' || coalesce({0}.source, '')",
                told,
            )
        both = [row for row in both if row[SAID] is not None]
        self.run(
            "INSERT INTO collected_rows (system, id, correct, truth, truth_at, source, received) "
            "SELECT cast(? AS BIGINT), id, correct, truth, coalesce(truth_at, cast(? AS BIGINT)), source, cast(? AS BIGINT) "
            "FROM incoming WHERE true "
            "ON CONFLICT (system, id) DO UPDATE SET correct = excluded.correct, truth = excluded.truth, "
            "truth_at = excluded.truth_at, source = excluded.source",
            (system, now, now),
        )
        self._move(system, both)
        return Taken(n - repeated - corrected, repeated, corrected, 0, n - repeated - len(both))

    def _incoming(self, columns: str) -> None:
        if (
            self.postgres
        ):  # nothing is known of a new table: left alone, the planner reads all rows to find a few by their ids
            self.run("SET LOCAL enable_hashjoin = off")
            self.run("SET LOCAL enable_mergejoin = off")
        self.run("DROP TABLE IF EXISTS incoming")
        self.run(f"CREATE TEMPORARY TABLE incoming (id TEXT NOT NULL PRIMARY KEY, {columns})")

    def _fill_incoming(self, names: str, columns: Sequence[list[Any]], rows: Sequence[int]) -> None:
        whole = len(rows) == len(columns[0])
        cells: Any = columns if whole else [[column[k] for k in rows] for column in columns]
        self.fill("incoming", names, zip(*cells, strict=True))

    def _drop_repeated(self, system: int, same: str) -> int:
        """Forget incoming rows that say what is known already; how many they were."""
        self.run(
            f"DELETE FROM incoming WHERE id IN (SELECT i.id FROM {INCOMING} WHERE {_asked(same)})",
            (system,),
        )
        return int(self.cursor.rowcount)

    def _correct(self, system: int, now: int, half: str, shown: str, where: str) -> int:
        """Write down what incoming rows change: before and after."""
        self.run(
            "INSERT INTO collected_corrections (system, id, half, before, after, at) "
            f"SELECT c.system, c.id, '{half}', {shown.format('c')}, {shown.format('i')}, cast(? AS BIGINT) "
            f"FROM {INCOMING} WHERE {_asked(where)}",
            (now, system),
        )
        return int(self.cursor.rowcount)

    # Totals.

    def _move(self, system: int, both: list[tuple[Any, ...]], classes: int = 0) -> None:
        """Move the totals of windows from what rows were to what they are: each row has both halves, one after the other."""
        half = len(BEFORE)
        event = self._state(system).kind == "event"
        moved = windows_of([row[half:] for row in both], event=event)
        if classes:
            moved = {place: window.having(classes=classes) for place, window in moved.items()}
        known = [row[:half] for row in both if row[SAID] is not None]
        for place, window in windows_of(known, event=event).items():
            moved[place] = moved.get(place, empty()).less(window)
        self._add(system, moved)
        self.run("UPDATE collected_systems SET changes = changes + 1 WHERE system = ?", (system,))

    def _add(self, system: int, moved: dict[tuple[str, str], Window]) -> None:
        if not moved:
            return
        refuse_many(_values({part for _, part in moved}))
        if Blocks(self).add(system, moved):
            refuse_many(_values(Blocks(self).names(system)))
        self._forget(system, min(win for win, _ in moved))

    def _forget(self, system: int, win: str = "") -> None:
        """What the last look left does not hold any more once a window is other than it was then, or the settings are."""
        self.run("UPDATE collected_looks SET state = ? WHERE system = ? AND until >= ?", (b"", system, win))

    # Growing old.

    def age(self, system: int, now: int, *, retention: float = RETENTION) -> Aged:
        """Let go of rows: labelled ones after the retention (days), those without truth after the horizon of the settings.

        Both count from the time of a row and from its coming in: what is posted late has its full time too.
        """
        settings = self._state(system).settings
        moments = [now - int(days * DAY) for days in (retention, max(retention, settings.horizon))]
        old, last = (later(str(window), settings.unit, -1) for window in windows_at(moments, settings.unit))
        unlabelled = "win <= ? AND received < ? AND confidence IS NOT NULL AND correct IS NULL AND truth IS NULL"
        values = (system, last, moments[1])
        query = f"SELECT {_of('r', BEFORE)} FROM collected_rows r WHERE system = ? AND {unlabelled}"
        never = windows_of(self.run(query, values).fetchall())
        self._add(system, {place: empty().having(never=window.n_rows) for place, window in never.items()})
        self.run(f"DELETE FROM collected_rows WHERE system = ? AND {unlabelled}", values)
        given_up = self.cursor.rowcount
        labelled = "win <= ? AND received < ? AND confidence IS NOT NULL AND (correct IS NOT NULL OR truth IS NOT NULL)"
        self.run(f"DELETE FROM collected_rows WHERE system = ? AND {labelled}", (system, old, moments[0]))
        gone = self.cursor.rowcount
        if gone or given_up:
            self.run("UPDATE collected_systems SET purged = ? WHERE system = ? AND purged < ?", (old, system, old))
        end = now - int(settings.horizon * DAY)
        self.run("DELETE FROM collected_rows WHERE system = ? AND win IS NULL AND received < ?", (system, end))
        unmatched = self.cursor.rowcount
        self.run("UPDATE collected_systems SET unmatched = unmatched + ? WHERE system = ?", (unmatched, system))
        return Aged(gone, given_up, unmatched)

    # Going out.

    def history(self, system: int) -> History:
        """The history of a system: its totals, and what was noted."""
        history = self._state(system)
        name = self.run("SELECT name FROM collected_systems WHERE system = ?", (system,)).fetchone()[0]
        for (win, part), window in Blocks(self).read(system).items():
            if window.n_rows:
                history.windows[Place(name, part, win)] = window
        return history

    def remember(self, system: int, history: History) -> None:
        """Keep what was noted beside the totals."""
        self._keep(system, replace(history, windows={}))

    def corrections(self, system: int, limit: int = 1000, after: tuple[int, int] | None = None) -> list[dict[str, Any]]:
        """What was corrected, the newest first: before and after; `after` a moment of which so many were read already."""
        names = ("id", "half", "before", "after", "at")
        since, read = after or (2**63 - 1, 0)
        query = (
            f"SELECT {', '.join(names)} FROM collected_corrections WHERE system = ? AND at <= ? "
            "ORDER BY at DESC, id, half, before, after LIMIT ? OFFSET ?"
        )
        rows = self.run(query, (system, since, limit, read)).fetchall()
        found = [dict(zip(names, row, strict=True)) for row in rows]
        for row in found:
            if row["half"] == "prediction":
                row |= {side: _dated(row[side]) for side in ("before", "after")}
        return found

    def unmatched(self, system: int) -> tuple[int, int]:
        """Outcomes that wait for their prediction, and those that waited in vain."""
        waiting = self.run(
            "SELECT count(*) FROM collected_rows WHERE system = ? AND win IS NULL", (system,)
        ).fetchone()[0]
        given_up = self.run("SELECT unmatched FROM collected_systems WHERE system = ?", (system,)).fetchone()[0]
        return int(waiting), int(given_up)

    def rows(self, system: int, first: str, last: str) -> list[tuple[Any, ...]]:
        """The labelled rows that are still held of windows `first` to `last`: id, time, confidence, right or wrong, source."""
        query = (
            "SELECT id, at, confidence, answer, correct, truth, source FROM collected_rows WHERE system = ? "
            "AND win BETWEEN ? AND ? AND confidence IS NOT NULL AND (correct IS NOT NULL OR truth IS NOT NULL) ORDER BY at, id"
        )
        found = self.run(query, (system, first, last)).fetchall()
        event = self._state(system).kind == "event"
        return [
            (i, at, p, event_outcome(answer, right, truth, event), source)
            for i, at, p, answer, right, truth, source in found
        ]

    def _any(self, system: int) -> bool:
        return self.run("SELECT 1 FROM collected_blocks WHERE system = ? LIMIT 1", (system,)).fetchone() is not None

    def _state(self, system: int) -> History:
        found = self.run("SELECT state FROM collected_systems WHERE system = ?", (system,)).fetchone()
        return History.from_dict(json.loads(found[0]))

    def _keep(self, system: int, history: History) -> None:
        self.run("UPDATE collected_systems SET state = ? WHERE system = ?", (json.dumps(history.to_dict()), system))
        self._forget(system)


def _dated(shown: str) -> str:
    """A prediction of the trail with the time it ends in as a time; those of before the trail held times end in their slices."""
    words, _, at = shown.rpartition(" ")
    return f"{words} {np.datetime64(int(at), 'us')}Z" if at.lstrip("-").isdigit() else shown


def _of(table: str, names: Sequence[str]) -> str:
    return ", ".join(f"{table}.{name}" for name in names)


def _asked(condition: str) -> str:
    """A condition in a form that does not make an inner join of an outer one."""
    return f"CASE WHEN {condition} THEN 1 ELSE 0 END = 1"


def _values(names: Iterable[str]) -> Counter[str]:
    """How many values each slice column has."""
    return Counter(name.partition("=")[0] for name in names)
