# SPDX-License-Identifier: Apache-2.0
"""Answers given before, by idempotency key, for a day.

A key is claimed before the work and gets its answer in the transaction of the work. If the process dies between, the
claim lapses with its lease and the next request with that key does the work.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, RowMapping, delete, select, update

from epimeter.store.evaluations import upsert
from epimeter.store.moments import SECOND
from epimeter.store.tables import idempotency

LIFE = 24 * 3600 * SECOND
LEASE = 120 * SECOND


def claim(
    db: Connection,
    *,
    organization: str,
    path: str,
    key: str,
    fingerprint: bytes,
    holder: str,
    at: int,
    lease: int = LEASE,
) -> RowMapping | None:
    """Take a key for this request; None when it is ours, else what stands there."""
    mine = {"organization": organization, "path": path, "key": key}
    fresh = {"fingerprint": fingerprint, "holder": holder, "created_at": at, "lease_until": at + lease}
    made = upsert(db, idempotency).values(**mine, **fresh).on_conflict_do_nothing().returning(idempotency.c.key)
    if db.execute(made).first() is not None:
        return None
    row = db.execute(select(idempotency).where(*_is(mine)).with_for_update()).mappings().one()
    outlived = row["created_at"] < at - LIFE
    # A lease that ends later than any given now was given before the clock was set back.
    lapsed = not at <= row["lease_until"] <= at + max(lease, LEASE)
    abandoned = row["status"] is None and lapsed and bytes(row["fingerprint"]) == fingerprint
    if outlived or abandoned:
        db.execute(update(idempotency).where(*_is(mine)).values(**fresh, status=None, body=None, location=None))
        return None
    return row


def answer(
    db: Connection,
    *,
    organization: str,
    path: str,
    key: str,
    holder: str,
    status: int,
    body: bytes,
    location: str | None,
) -> bool:
    """Keep the answer, if the claim is still ours."""
    mine = {"organization": organization, "path": path, "key": key, "holder": holder}
    made = update(idempotency).where(*_is(mine), idempotency.c.status.is_(None))
    return db.execute(made.values(status=status, body=body, location=location)).rowcount == 1


def release(db: Connection, *, organization: str, path: str, key: str, holder: str) -> None:
    """Give a key back after a refusal: a refused request has changed nothing and may be mended and sent again."""
    mine = {"organization": organization, "path": path, "key": key, "holder": holder}
    db.execute(delete(idempotency).where(*_is(mine), idempotency.c.status.is_(None)))


def forget(db: Connection, at: int) -> int:
    """Drop answers older than a day."""
    return db.execute(delete(idempotency).where(idempotency.c.created_at < at - LIFE)).rowcount


def _is(values: dict[str, str]) -> list[ColumnElement[bool]]:
    return [idempotency.c[name] == value for name, value in values.items()]
