"""Processes that write collected rows as the service does, killed at any moment, on both databases: every row once."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from epimeter.monitor.collection import BEFORE, key_of
from epimeter.monitor.joined import windows_of
from epimeter.store import Store, collecting, organizations
from epimeter.store.migrations import migrate

KILLS = int(os.environ.get("EPIMETER_KILLS", "3"))
ROWS = 200
WRITERS = """
import itertools, os, sys
from types import SimpleNamespace
import pyarrow as pa
from epimeter.monitor.arriving import outcomes, predictions
from epimeter.service.collected import _written
from epimeter.store import Store

url, n = sys.argv[1], int(sys.argv[2])

def write(turn):
    store, caller = Store(url, pool=2), SimpleNamespace(organization="org_a", key_id="k")
    for batch in itertools.count():
        ids = [f"{turn}-{batch}-{k}" for k in range(n)]
        time = [f"2026-01-0{1 + batch % 9}"] * n
        said = {"id": ids, "confidence": [0.25 + k % 50 / 100 for k in range(n)], "time": time}
        _written(store, caller, "s", "predictions", [predictions(pa.table(said))])
        print("predictions", turn, batch, flush=True)
        told = {"id": ids, "correct": [k % 3 > 0 for k in range(n)]}
        _written(store, caller, "s", "outcomes", [outcomes(pa.table(told))])
        print("outcomes", turn, batch, flush=True)

for line in sys.stdin:  # a process for every turn: what is loaded is loaded once
    writer = os.fork()
    if not writer:
        write(int(line))
    print("writer", writer, flush=True)
    os.waitpid(writer, 0)
    print("gone", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_a_writer_killed_at_any_moment_loses_no_acknowledged_row_and_counts_none_twice(request, tmp_path, database):
    postgres = database == "postgres"
    url = request.getfixturevalue("postgres").database() if postgres else f"sqlite:///{tmp_path}/a.db"
    store = Store(url, pool=2)
    migrate(store)
    with store.writing() as db:
        organizations.add(db, id="org_a", name="A", tier="OPEN", at=1)
    rng, acknowledged = np.random.default_rng(5), set()
    words = [sys.executable, "-c", WRITERS, url, str(ROWS)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        for turn in range(KILLS):
            print(turn, file=parent.stdin, flush=True)
            writer, begun = None, False
            while writer is None or not begun:  # its first row is acknowledged: from here on at any moment
                word, *rest = parent.stdout.readline().split()
                writer = int(rest[0]) if word == "writer" else writer
                begun |= word == "predictions"
                acknowledged |= {(word, *rest)} if word != "writer" else set()
            time.sleep(float(rng.uniform(0, 0.4)))
            os.kill(writer, signal.SIGKILL)
            while (line := parent.stdout.readline()) != "gone\n":
                # A line that the death of its writer cut short acknowledges nothing.
                acknowledged |= {tuple(line.split())} if len(line.split()) == 3 and line.endswith("\n") else set()
        parent.stdin.close()
    system = key_of("org_a", "s")
    with store.reading() as db:
        collection = collecting.collection(db)
        held = collection.run(f"SELECT {', '.join(BEFORE)} FROM collected_rows WHERE confidence IS NOT NULL").fetchall()
        kept = {(p.start, p.slice): w.to_dict() for p, w in collection.history(system).windows.items()}
        rows = collection.run("SELECT id, confidence, correct FROM collected_rows").fetchall()
    store.close()
    said = {row[0] for row in rows if row[1] is not None}
    known = {row[0] for row in rows if row[2] is not None}
    lost = sum(
        f"{turn}-{batch}-{k}" not in (said if half == "predictions" else known)
        for half, turn, batch in acknowledged
        for k in range(ROWS)
    )
    totals = {place: window.to_dict() for place, window in windows_of(held).items()}
    counted = sum(sum(window["rows"]) for window in kept.values())
    print(
        f"{KILLS} kills, {database}: {ROWS * len(acknowledged):,} rows acknowledged, {lost} lost, "
        f"{counted - len(known)} counted twice"
    )
    assert len(acknowledged) >= KILLS and lost == 0
    assert (
        len(said) == len(rows) and len(said) % ROWS == 0 and len(known) % ROWS == 0
    )  # a batch is there whole or not at all
    assert kept == totals and counted == len(known)
