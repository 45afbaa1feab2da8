# SPDX-License-Identifier: Apache-2.0
"""The global signal (ERS 5.2): committed to the log at T, shown to STANDARD and CRITICAL at T, to OPEN an hour later.

The numbers are those of ERS over all labelled records of the evaluations completed in the last 24 hours, from their
merged summaries, so nobody's rows are read again, and of each minute but the last few only the sum. They are null while
too few organisations or records stand behind them: the number of one evaluation would be told to everybody. They are
rounded to what ERS prints, so that two signals in a row do not tell what came between. Since the digest of the signal is in
the public log at T, whoever gets it late can prove that it is the same (ERS 8.2). `entropy` is SHA-256 of the root of the
newest checkpoint followed by the signal's id: anybody can compute it again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from sqlalchemy import Connection

from epimeter.metrics import ers_ece
from epimeter.service.issuer_folder import IssuerFolder
from epimeter.service.settings import Settings
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
NOTHING: Mapping[str, float | None] = {"global_ece": None, "global_u_recall": None}


@dataclass(frozen=True)
class Sum:
    """Evaluations added up: their summary, wrong answers, those among them that were given with low confidence."""

    totals: Any = None
    wrong: int = 0
    unsure: int = 0
    count: int = 0
    records: Mapping[str, int] = field(default_factory=dict)
    """Labelled records of each organisation."""

    def __add__(self, other: Sum) -> Sum:
        one, two = self.totals, other.totals
        both = two if one is None else one if two is None else one.merge(two)
        records = Counter(self.records) + Counter(other.records)
        return Sum(both, self.wrong + other.wrong, self.unsure + other.unsure, self.count + other.count, records)

    def enough(self, organizations: int, records: int) -> bool:
        """Whether so many organisations stand behind it, and so many records even without the largest one's."""
        others = sorted(self.records.values())[:-1]
        return len(self.records) >= organizations and (sum(others) if organizations > 1 else self.n_rows) >= records

    @property
    def n_rows(self) -> int:
        return sum(self.records.values())

    def metrics(self) -> dict[str, float | None]:
        """ECE and U-Recall of ERS, as it prints them; null when nothing was added."""
        if self.totals is None:
            return dict(NOTHING)
        recipe = ers_ece.reads
        assert recipe is not None
        ece, recall = (
            ers_ece.compute(recipe.finish(self.totals)),
            100.0 * self.unsure / self.wrong if self.wrong else 100.0,
        )
        return {"global_ece": round(float(ece), 2) + 0.0, "global_u_recall": round(recall, 1) + 0.0}


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
                total += one
        return total + _read(db, settled * MINUTE, at)

    def _remember(self, db: Connection, begin: int, end: int) -> None:
        found: dict[int, Sum] = dict.fromkeys(range(begin, end), Sum())
        for row in evaluations.totals_of(db, begin * MINUTE, end * MINUTE):
            found[row["completed_at"] // MINUTE] += _one(row)
        self._minutes |= found


def _read(db: Connection, begin: int, end: int) -> Sum:
    total = Sum()
    for row in evaluations.totals_of(db, begin, end):
        total += _one(row)
    return total


def _one(row: Any) -> Sum:
    totals = from_bytes(bytes(row["totals"]))
    return Sum(totals, row["wrong"], row["wrong_unsure"], 1, {row["organization"]: row["sample_size"]})


def make(store: Store, ledger: IssuerFolder, day: Day, settings: Settings) -> bool:
    """Make the signal of this slot of time, if nobody has; True when one was made."""
    at = now()
    slot = int(at / SECOND // settings.signal_period)
    with store.reading() as db:
        newest = signals.newest(db, at)
        if newest is not None and newest["slot"] >= slot:
            return False
        total = day.sum(db, at)
        queued = evaluations.active(db)
    shown = total.metrics() if total.enough(settings.signal_organizations, settings.signal_records) else NOTHING
    id = moment(at).strftime("SIG-%Y%m%d-%H%M%S")
    body = canonical_json(
        {
            "signal_id": id,
            "timestamp": written(at),
            "entropy": hashlib.sha256(ledger.root_hash() + id.encode("ascii")).hexdigest(),
            "metrics": {**shown, "active_evaluations": total.count + queued},
            "ttl": TTL,
        }
    )
    digest = hashlib.sha256(body).hexdigest()
    with store.writing() as db:
        if not signals.add(db, slot=slot, id=id, at=at, body=body, digest=digest):
            return False
    commit(store, ledger, id, at, digest)
    return True


def commit(store: Store, ledger: IssuerFolder, id: str, at: int, digest: str) -> None:
    """Put the digest into the log; only then is the signal shown to anybody."""
    index = ledger.commit([log_entry("signal.committed", id, to_moment(moment(at)), digest=digest)])
    with store.writing() as db:
        signals.committed(db, id, index)


def finish(store: Store, ledger: IssuerFolder, patience: int = 60 * SECOND) -> None:
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
