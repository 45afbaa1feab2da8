# SPDX-License-Identifier: Apache-2.0
"""What a process that died left behind, where no other process works on the database."""

from __future__ import annotations

from sqlalchemy import Connection, update

from epimeter.store.tables import certificates, deliveries, idempotency, jobs


def lapse(db: Connection) -> None:
    """End every lease and claim, so that nobody waits for a process that is no more."""
    db.execute(update(idempotency).where(idempotency.c.status.is_(None)).values(lease_until=0))
    db.execute(update(jobs).where(jobs.c.state == "running").values(lease_until=0))
    db.execute(update(deliveries).where(deliveries.c.state == "waiting").values(lease_until=None))
    db.execute(update(certificates).where(certificates.c.id.is_(None)).values(claimed_at=0))
