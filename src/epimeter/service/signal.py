# SPDX-License-Identifier: Apache-2.0
"""The global signal (ERS 5.2): committed to the log at T, shown to STANDARD and CRITICAL at T, to OPEN an hour later.

The numbers are those of ERS over all labelled records of the evaluations completed in the last 24 hours, from their
merged summaries, so nobody's rows are read again; null when there are none. Since the digest of the signal is in the
public log at T, whoever gets it late can prove that it is the same (ERS 8.2). `entropy` is SHA-256 of the root of the
newest checkpoint followed by the signal's id: anybody can compute it again.
"""

from __future__ import annotations

import hashlib
from functools import reduce
from typing import Any

import msgspec

from epimeter.metrics import ers_ece  # type: ignore[attr-defined]
from epimeter.service.assessment import rounded
from epimeter.service.ledger import Ledger
from epimeter.store import Store, evaluations, signals
from epimeter.store.moments import SECOND, moment, now, written
from epimeter.summaries.travel import from_bytes
from epimeter.trust.canonical import canonical_json, to_moment
from epimeter.trust.entries import log_entry

DAY = 24 * 3600 * SECOND
TTL = 3600


def make(store: Store, ledger: Ledger, period: float) -> bool:
    """Make the signal of this slot of time, if nobody has; True when one was made."""
    at = now()
    slot = int(at / SECOND // period)
    with store.reading() as db:
        newest = signals.newest(db, at)
        if newest is not None and newest["slot"] >= slot:
            return False
        rows = evaluations.totals_since(db, at - DAY, at)
        queued = evaluations.active(db)
    id = moment(at).strftime("SIG-%Y%m%d-%H%M%S")
    body = canonical_json(
        {
            "signal_id": id,
            "timestamp": written(at),
            "entropy": hashlib.sha256(ledger.root_hash() + id.encode("ascii")).hexdigest(),
            "metrics": {**merged(rows), "active_evaluations": len(rows) + queued},
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


def merged(rows: list[Any]) -> dict[str, float | None]:
    """Global ECE and U-Recall from the summaries of evaluations."""
    if not rows:
        return {"global_ece": None, "global_u_recall": None}
    recipe = ers_ece.reads
    assert recipe is not None
    total = reduce(lambda left, right: left.merge(right), (from_bytes(bytes(row["totals"])) for row in rows))
    wrong = sum(row["wrong"] for row in rows)
    unsure = sum(row["wrong_unsure"] for row in rows)
    return {
        "global_ece": rounded(ers_ece.compute(recipe.finish(total))),
        "global_u_recall": rounded(100.0 * unsure / wrong) if wrong else 100.0,
    }


def shown(row: Any, delay: float, at: int) -> dict[str, Any]:
    """A signal as a tier sees it: the committed body, and when it became available to him."""
    available = row["created_at"] + int(delay * SECOND)
    return {
        **msgspec.json.decode(bytes(row["body"])),
        "available_at": written(available),
        "expires_at": written(max(available, at) + TTL * SECOND),
        "commitment": {"log_index": row["log_index"], "digest": f"sha-256:{row['digest']}"},
    }
