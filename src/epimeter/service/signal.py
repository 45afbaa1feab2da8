# SPDX-License-Identifier: Apache-2.0
"""The global signal (ERS 5.2): committed to the log at T, shown to STANDARD and CRITICAL at T, to OPEN an hour later.

The numbers are those of ERS over all labelled records of the evaluations completed in the last 24 hours, from their
merged summaries, so nobody's rows are read again, and of each minute but the last few only the sum; null when there are
none. Since the digest of the signal is in the public log at T, whoever gets it late can prove that it is the same (ERS
8.2). `entropy` is SHA-256 of the root of the newest checkpoint followed by the signal's id: anybody can compute it again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection

from epimeter.metrics import ers_ece  # type: ignore[attr-defined]
from epimeter.service.assessment import rounded
from epimeter.service.ledger import Ledger
from epimeter.store import Store, evaluations, signals
from epimeter.store.moments import SECOND, moment, now, written
from epimeter.summaries.travel import from_bytes
from epimeter.trust.canonical import canonical_json, to_moment
from epimeter.trust.entries import log_entry

MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE
SETTLED = 2 * MINUTE
"""After this time no evaluation is added to a minute any more: each is committed right after it is stamped."""
TTL = 3600


@dataclass(frozen=True)
class Sum:
    """Evaluations added up: their summary, wrong answers, those among them that were given with low confidence."""

    totals: Any = None
    wrong: int = 0
    unsure: int = 0
    count: int = 0

    def add(self, totals: Any, wrong: int, unsure: int, count: int) -> Sum:
        both = totals if self.totals is None else self.totals if totals is None else self.totals.merge(totals)
        return Sum(both, self.wrong + wrong, self.unsure + unsure, self.count + count)

    def metrics(self) -> dict[str, float | None]:
        """ECE and U-Recall of ERS; null when nothing was added."""
        if self.totals is None:
            return {"global_ece": None, "global_u_recall": None}
        recipe = ers_ece.reads
        assert recipe is not None
        return {
            "global_ece": rounded(ers_ece.compute(recipe.finish(self.totals))),
            "global_u_recall": rounded(100.0 * self.unsure / self.wrong) if self.wrong else 100.0,
        }


class Day:
    """The last 24 hours, minute by minute; a minute is read from the database until it is settled, then remembered."""

    def __init__(self) -> None:
        self._minutes: dict[int, Sum] = {}

    def sum(self, db: Connection, at: int) -> Sum:
        """All evaluations completed in the 24 hours before a moment."""
        first, last = -(-(at - DAY) // MINUTE), at // MINUTE
        self._minutes = {minute: one for minute, one in self._minutes.items() if first <= minute < last}
        settled = (at - SETTLED) // MINUTE
        total = _read(db, at - DAY, first * MINUTE)  # the rest of the minute in which the 24 hours begin
        unknown = [minute for minute in range(first, settled) if minute not in self._minutes]
        if unknown:
            self._remember(db, unknown[0], settled)
        for minute in range(first, settled):
            one = self._minutes.get(minute)
            if one is not None and one.count:
                total = total.add(one.totals, one.wrong, one.unsure, one.count)
        rest = _read(db, settled * MINUTE, at)
        return total.add(rest.totals, rest.wrong, rest.unsure, rest.count)

    def _remember(self, db: Connection, begin: int, end: int) -> None:
        found: dict[int, Sum] = dict.fromkeys(range(begin, end), Sum())
        for row in evaluations.totals_of(db, begin * MINUTE, end * MINUTE):
            minute = row["completed_at"] // MINUTE
            one = from_bytes(bytes(row["totals"]))
            found[minute] = found[minute].add(one, row["wrong"], row["wrong_unsure"], 1)
        self._minutes |= found


def _read(db: Connection, begin: int, end: int) -> Sum:
    total = Sum()
    for row in evaluations.totals_of(db, begin, end):
        total = total.add(from_bytes(bytes(row["totals"])), row["wrong"], row["wrong_unsure"], 1)
    return total


def make(store: Store, ledger: Ledger, day: Day, period: float) -> bool:
    """Make the signal of this slot of time, if nobody has; True when one was made."""
    at = now()
    slot = int(at / SECOND // period)
    with store.reading() as db:
        newest = signals.newest(db, at)
        if newest is not None and newest["slot"] >= slot:
            return False
        total = day.sum(db, at)
        queued = evaluations.active(db)
    id = moment(at).strftime("SIG-%Y%m%d-%H%M%S")
    body = canonical_json(
        {
            "signal_id": id,
            "timestamp": written(at),
            "entropy": hashlib.sha256(ledger.root_hash() + id.encode("ascii")).hexdigest(),
            "metrics": {**total.metrics(), "active_evaluations": total.count + queued},
            "ttl": TTL,
        }
    )
    digest = hashlib.sha256(body).hexdigest()
    with store.writing() as db:
        if not signals.add(db, slot=slot, id=id, at=at, body=body, digest=digest):
            return False
    commit(store, ledger, id, at, digest)
    return True


def commit(store: Store, ledger: Ledger, id: str, at: int, digest: str) -> None:
    """Put the digest into the log; only then is the signal shown to anybody."""
    index = ledger.commit([log_entry("signal.committed", id, to_moment(moment(at)), digest=digest)])
    with store.writing() as db:
        signals.committed(db, id, index)


def finish(store: Store, ledger: Ledger, patience: int = 60 * SECOND) -> None:
    """Commit signals whose process died between making and committing."""
    with store.reading() as db:
        rows = signals.uncommitted(db, now() - patience)
    for row in rows:
        commit(store, ledger, row["id"], row["created_at"], row["digest"])


def shown(row: Any, delay: float) -> dict[str, Any]:
    """A signal as a tier sees it: the committed body, when it was released to him, until when it counts."""
    available = row["created_at"] + int(delay * SECOND)
    return {
        **msgspec.json.decode(bytes(row["body"])),
        "available_at": written(available),
        "expires_at": written(available + TTL * SECOND),
        "commitment": {"log_index": row["log_index"], "digest": f"sha-256:{row['digest']}"},
    }
