# SPDX-License-Identifier: Apache-2.0
"""The signals of ERS 5.2, one a slot of time; two processes never make two of one slot."""

from __future__ import annotations

from sqlalchemy import Connection, RowMapping, func, select, update

from epimeter.store.evaluations import upsert
from epimeter.store.tables import signals


def add(db: Connection, *, slot: int, id: str, at: int, body: bytes, digest: str) -> bool:
    """A new signal; False when another process made the one of this slot."""
    made = upsert(db, signals).values(slot=slot, id=id, created_at=at, body=body, digest=digest)
    return db.execute(made.on_conflict_do_nothing().returning(signals.c.id)).first() is not None


def committed(db: Connection, id: str, log_index: int) -> None:
    """Note where the log holds a signal's digest: from then on it may be shown."""
    db.execute(update(signals).where(signals.c.id == id).values(log_index=log_index))


def uncommitted(db: Connection, before: int) -> list[RowMapping]:
    """Signals whose process died before the log held them."""
    query = select(signals).where(signals.c.log_index.is_(None), signals.c.created_at < before)
    return list(db.execute(query.order_by(signals.c.number)).mappings())


def newest(db: Connection, until: int) -> RowMapping | None:
    """The newest signal made up to a moment."""
    query = select(signals).where(signals.c.created_at <= until, signals.c.log_index.is_not(None))
    return db.execute(query.order_by(signals.c.created_at.desc()).limit(1)).mappings().first()


def after(db: Connection, number: int, until: int, limit: int) -> list[RowMapping]:
    """Signals behind a number, made up to a moment, the oldest first."""
    query = select(signals).where(
        signals.c.number > number, signals.c.created_at <= until, signals.c.log_index.is_not(None)
    )
    return list(db.execute(query.order_by(signals.c.number).limit(limit)).mappings())


def number_of(db: Connection, id: str) -> int | None:
    """The number of a signal."""
    found = db.execute(select(signals.c.number).where(signals.c.id == id)).scalar()
    return None if found is None else int(found)


def last_number(db: Connection, until: int) -> int:
    """The number of the newest signal made up to a moment; 0 when there is none."""
    query = select(func.max(signals.c.number)).where(signals.c.created_at <= until, signals.c.log_index.is_not(None))
    return int(db.execute(query).scalar() or 0)
