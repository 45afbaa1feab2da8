# SPDX-License-Identifier: Apache-2.0
"""A registry that has grown for years, made in seconds: one certificate copied, and entries that nobody signed by hand.

Lists, searches, counts, pages of the log and proofs cost what they would cost; the copies are not documents to verify.
"""

import sqlite3
import time
from datetime import UTC, datetime
from pathlib import Path

from epimeter.trust.entries import log_entry
from epimeter.trust.log import Log
from epimeter.trust.succession import signing_key

BATCH = 100_000
NAMES = ("Nordlicht Diagnostics", "Bergmann & Töchter", "Aurora Credit", "Delta Grid", "Institut Sainte-Odile")


def fill(data, certificates, entries):
    """Copy the one certificate in the folder of a running service, and let the log grow; the seconds it took."""
    begun = time.perf_counter()
    places = _copy_in_log(Path(data) / "registry" / "log.db", certificates)
    _copy_in_store(Path(data) / "epimeter.db", places)
    _grow(Path(data), entries)
    return time.perf_counter() - begun


def _copied(db, table, rows):
    names = list(rows[0])
    marks = ", ".join("?" * len(names))
    query = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})"
    db.executemany(query, ([row[name] for name in names] for row in rows))


def _one(db, table):
    db.row_factory = sqlite3.Row
    return dict(db.execute(f"SELECT * FROM {table} WHERE id IS NOT NULL LIMIT 1").fetchone())


def _copy_in_log(path, count):
    with sqlite3.connect(path, timeout=60) as db:
        first = _one(db, "certificates")
        taken = first["status_index"]
        life = dict(db.execute("SELECT * FROM standings WHERE certificate = ? LIMIT 1", (first["id"],)).fetchone())
        del life["number"]
        free = [index for index in range(count + 1) if index != taken][:count]
        rows = [first | {"id": f"ONTO-CERT-COPY-{n:08X}", "status_index": free[n]} for n in range(count)]
        _copied(db, "certificates", rows)
        _copied(db, "standings", [life | {"certificate": row["id"]} for row in rows])
    return [row["id"] for row in rows]


def _copy_in_store(path, ids):
    with sqlite3.connect(path, timeout=60) as db:
        first = _one(db, "certificates")
        evaluation = dict(db.execute("SELECT * FROM evaluations WHERE id = ?", (first["evaluation"],)).fetchone())
        evaluation |= {"request": b"{}", "result": None, "report": None, "totals": None}
        rows = []
        for number, id in enumerate(ids):
            owner, system = f"{NAMES[number % 5]} {number % 4999}", f"system-{number}/scores"
            named = {"organization_name": owner, "system_id": system, "sought": f"{owner}\n{system}\n{id}".casefold()}
            at = {"issued_at": first["issued_at"] - 60_000_000 * (number + 1)}
            level = {"level": ("L1", "L2", "L3")[number % 3], "domain": ("general", "healthcare")[number % 2]}
            rows.append(first | named | at | level | {"id": id, "evaluation": f"eval_copy_{number}"})
        _copied(db, "evaluations", [evaluation | {"id": row["evaluation"]} for row in rows])
        _copied(db, "certificates", rows)


def _grow(data, entries):
    """Let the log reach a size."""
    key = signing_key(data / "registry", "log", (data / "passphrase").read_text().strip(), datetime.now(UTC))
    with Log(data / "registry" / "log.db") as log:
        while (size := log.size) < entries:
            at = datetime.now(UTC)
            moment = f"{at:%Y-%m-%dT%H:%M:%SZ}"
            more = min(BATCH, entries - size)
            made = [
                log_entry("evaluation.result", f"eval_{size + n}", moment, digest=f"{size + n:064x}")
                for n in range(more)
            ]
            log.append(made, key, at)
