# SPDX-License-Identifier: Apache-2.0
"""What a round of looks costs: systems of ten slices and sixty days in SQLite, some rows for each between two rounds.

    python -m benchmarks.looks [systems] [folder]

Processor time of one process; of 10,000 systems 500 have gauges, of fewer as large a share.
"""

from __future__ import annotations

import datetime
import sys
import tempfile
import time
from types import SimpleNamespace
from typing import Any

import numpy as np

from epimeter.monitor.blocks import Blocks
from epimeter.monitor.window import Window, later, merged, of_groups
from epimeter.service import gauges, watching
from epimeter.store import Store, collecting, organizations
from epimeter.store.migrations import migrate
from epimeter.store.tables import collected_systems

SLICES, DAYS, DELAY, CLOSED = 10, 60, 7, 7
"""Slices, days, days until truth comes; looks that close one week each before the first glance."""


def stream(seed: int, days: list[str]) -> dict[tuple[str, str], Window]:
    """One system: 1,000 rows a day, those of the last week without truth."""
    rng = np.random.default_rng(seed)
    made: dict[tuple[str, str], Window] = {}
    for number, day in enumerate(days):
        prob = rng.beta(4, 1.5, 1000).round(4)
        awaiting = np.full(1000, number >= len(days) - DELAY)
        parts = of_groups(prob, rng.random(1000) < prob, awaiting, rng.integers(0, SLICES, 1000), SLICES)
        made |= {(day, f"r={k}"): part for k, part in enumerate(parts)} | {(day, ""): merged(parts)}
    return made


def fill(store: Store, systems: int, days: list[str]) -> list[int]:
    """All systems into an empty database."""
    streams = [stream(seed, days) for seed in range(8)]
    numbers = []
    with store.writing() as db:
        organizations.add(db, id="org", name="A", tier="OPEN", at=1)
        collection = collecting.collection(db)
        for k in range(systems):
            numbers.append(collection.open("org", f"s{k}"))
            Blocks(collection).add(numbers[-1], streams[k % 8])
    return numbers


def feed(store: Store, numbers: list[int], days: list[str], seed: int) -> None:
    """One prediction of today and one late truth for every system."""
    rng = np.random.default_rng(seed)
    with store.writing() as db:
        collection = collecting.collection(db)
        for system in numbers:
            prob = rng.beta(4, 1.5, 2).round(4)
            true, said = of_groups(prob, prob < 2, np.array([False, True]), np.arange(2), 2)
            moved = {
                (days[-DELAY - 1], ""): true,
                (days[-DELAY - 1], "r=3"): true,
                (days[-1], ""): said,
                (days[-1], "r=7"): said,
            }
            collection._add(system, moved)
        db.execute(collected_systems.update().values(changes=1))


def main(systems: int, folder: str) -> None:
    """Fill, look, feed, glance; print what each round took."""
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    days = [later(today, "day", k + 1 - DAYS) for k in range(DAYS)]
    watching.certified = lambda *_: {}  # there are no certificates here
    gauges.MOST_SYSTEMS = max(1, systems // 20)
    shown = gauges.Gauges()
    settings: Any = SimpleNamespace(silence_pause=0, keep_rows_days=30)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        store = Store(f"sqlite:///{place}/looks.db")
        migrate(store)
        numbers = fill(store, systems, days)
        for turn in range(CLOSED + 4):
            feed(store, numbers, days, turn)
            wall, cpu = time.perf_counter(), time.process_time()
            while watching.look_round(store, None, settings, shown):  # type: ignore[arg-type]
                pass
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            what = "looks" if turn < CLOSED else "glances"
            each = f"{1e3 * cpu / systems:.2f} ms each, 10,000 in {1e4 * cpu / systems:.1f} s"
            print(f"{systems:,} {what}: {cpu:.2f} s of processor time ({wall:.2f} s); {each}", flush=True)
        store.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, sys.argv[2] if len(sys.argv) > 2 else ".")
