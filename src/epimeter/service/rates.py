# SPDX-License-Identifier: Apache-2.0
"""Requests a minute: an exact moving window of 60 seconds, for each organisation (ERS 6.3, C-25).

The window is kept in memory where one process serves, in Redis where there is one, and else in PostgreSQL, so that two
processes never allow twice as much. If Redis falls silent the service goes on with the window of its own memory.
"""

from __future__ import annotations

import math
import time

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage, MovingWindowSupport, Storage, storage_from_string
from limits.strategies import MovingWindowRateLimiter
from sqlalchemy import delete, func, insert, select, text
from sqlalchemy.exc import SQLAlchemyError

from epimeter.store import Store
from epimeter.store.tables import hits

TIERS: dict[str, tuple[int, int | None]] = {"OPEN": (10, 100), "STANDARD": (500, 10_000), "CRITICAL": (2_000, None)}
"""Requests a minute and evaluations a month of each tier (ERS 6.3)."""


class Window:
    """How many requests of whom in the last minute."""

    def __init__(self, storage: Storage) -> None:
        self._limiter = MovingWindowRateLimiter(storage)
        self._fallback = MovingWindowRateLimiter(MemoryStorage())

    def hit(self, who: str, most: int) -> tuple[bool, int, int]:
        """Count a request: whether it is allowed, how many are left, in how many seconds the next is free."""
        item = RateLimitItemPerMinute(most)
        limiter = self._limiter
        try:
            allowed = limiter.hit(item, who)
            reset, left = limiter.get_window_stats(item, who)
        except SQLAlchemyError:
            raise
        except Exception:  # Redis, in whatever way it failed
            limiter = self._fallback
            allowed = limiter.hit(item, who)
            reset, left = limiter.get_window_stats(item, who)
        return allowed, max(0, left), min(60, max(1, math.ceil(reset - time.time())))


def window(store: Store, redis: str | None) -> Window:
    """The window that fits how the service runs."""
    if redis is not None:
        made = storage_from_string(redis)
        assert isinstance(made, Storage)
        return Window(made)
    return Window(DatabaseStorage(store) if store.postgres else MemoryStorage())


class DatabaseStorage(Storage, MovingWindowSupport):
    """A moving window in PostgreSQL: a row a request, under one lock an organisation."""

    STORAGE_SCHEME = None

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store

    @property
    def base_exceptions(self) -> type[Exception]:
        return SQLAlchemyError

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        with self._store.writing() as db:
            db.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:key, 1))"), {"key": key})
            at = float(db.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())
            db.execute(delete(hits).where(hits.c.key == key, hits.c.at <= at - expiry))
            count = db.execute(select(func.count()).select_from(hits).where(hits.c.key == key)).scalar_one()
            if count + amount > limit:
                return False
            db.execute(insert(hits), [{"key": key, "at": at}] * amount)
            return True

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        with self._store.reading() as db:
            at = float(db.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())
            query = select(func.min(hits.c.at), func.count()).where(hits.c.key == key, hits.c.at > at - expiry)
            first, count = db.execute(query).one()
        return (at if first is None else float(first)), int(count)

    def clear(self, key: str) -> None:
        with self._store.writing() as db:
            db.execute(delete(hits).where(hits.c.key == key))

    def reset(self) -> int | None:
        with self._store.writing() as db:
            return db.execute(delete(hits)).rowcount

    def check(self) -> bool:
        with self._store.reading() as db:
            return bool(db.execute(select(1)).scalar())

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        raise TypeError("this storage keeps moving windows only")

    def get(self, key: str) -> int:
        raise TypeError("this storage keeps moving windows only")

    def get_expiry(self, key: str) -> float:
        raise TypeError("this storage keeps moving windows only")


__all__ = ["TIERS", "DatabaseStorage", "Window", "window"]
