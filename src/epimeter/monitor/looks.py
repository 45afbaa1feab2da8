# SPDX-License-Identifier: Apache-2.0
"""What looks at collected systems left for the glances after them, beside the windows of the collection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from epimeter.monitor.collection import Collection
from epimeter.monitor.glance import LookState


@dataclass(frozen=True)
class Looks:
    """The looks at the systems of a collection, in its transaction; the collection forgets those that do not hold any more."""

    collection: Collection

    def leave(self, system: int, kept: LookState | None, as_of: str, now: int) -> None:
        """Keep what a look left for the glances after it, and when rows were let go."""
        since, until, state = (kept.since, kept.until, kept.to_bytes()) if kept else ("", "", b"")
        self.collection.run(
            "INSERT INTO collected_looks (system, since, until, as_of, aged_at, state) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (system) DO UPDATE SET since = excluded.since, until = excluded.until, as_of = excluded.as_of, "
            "aged_at = excluded.aged_at, state = excluded.state",
            (system, since, until, as_of, now, state),
        )

    def looked_until(self, system: int) -> str:
        """The last window at which a glance was cast; empty for none."""
        found = self.collection.run("SELECT as_of FROM collected_looks WHERE system = ?", (system,)).fetchone()
        return "" if found is None else str(found[0])

    def unsettled(self, systems: Sequence[int]) -> dict[int, list[tuple[str, int, str, Any]]]:
        """The blocks of windows that a glance reads, by system: as they are kept, in order."""
        made: dict[int, list[tuple[str, int, str, Any]]] = {system: [] for system in systems}
        if not systems:
            return made
        marks = ", ".join("?" * len(systems))
        query = (
            "SELECT l.system, w.win, w.block, w.slices, w.totals FROM collected_looks l JOIN collected_blocks w "
            "ON w.system = l.system AND w.win >= l.since AND (w.win > l.until OR w.block = 0) "
            f"WHERE l.system IN ({marks}) ORDER BY l.system, w.win, w.block"
        )
        for system, rows in groupby(self.collection.run(query, list(systems)).fetchall(), key=itemgetter(0)):
            made[system] = [row[1:] for row in rows]
        return made
