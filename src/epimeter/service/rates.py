# SPDX-License-Identifier: Apache-2.0
"""Requests a minute: an exact moving window of 60 seconds, for each organisation (ERS 6.3, C-25).

The window is kept in memory where one process serves, in Redis where there is one, and else in PostgreSQL, so that two
processes never allow twice as much. If Redis falls silent the service goes on with the window of its own memory, and asks
again a few seconds later. A clock that is set back locks nobody out: memory counts by a clock that only goes forward, and
PostgreSQL forgets requests of the future.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from typing import Any

from limits import RateLimitItemPerMinute
from limits.errors import ConfigurationError
from limits.storage import MovingWindowSupport, Storage, storage_from_string
from limits.strategies import MovingWindowRateLimiter
from sqlalchemy import delete, func, insert, or_, select, text
from sqlalchemy.exc import SQLAlchemyError

from epimeter.service.settings import SettingsError
from epimeter.store import Store
from epimeter.store.tables import hits

TIERS: dict[str, tuple[int, int | None]] = {"OPEN": (10, 100), "STANDARD": (500, 10_000), "CRITICAL": (2_000, None)}
"""Requests a minute and evaluations a month of each tier (ERS 6.3)."""
REDIS_PATIENCE = 0.5
"""Seconds that Redis may take to answer."""
REDIS_PAUSE = 5.0
"""Seconds without it once it has not answered."""
log = logging.getLogger("epimeter.service")


class RequestWindow:
    """How many requests of whom in the last minute."""

    def __init__(self, storage: Storage) -> None:
        self._limiter = MovingWindowRateLimiter(storage)
        self._fallback = MovingWindowRateLimiter(MemoryStorage())
        self._away_until = 0.0

    def hit(self, who: str, most: int) -> tuple[bool, int, int]:
        """Count a request: whether it is allowed, how many are left, in how many seconds the next is free."""
        item = RateLimitItemPerMinute(most)
        if time.monotonic() >= self._away_until:
            try:
                return _hit(self._limiter, item, who)
            except SQLAlchemyError:
                raise
            except Exception as fault:  # Redis, in whatever way it failed
                log.warning("Redis does not answer, limits are counted here: %s", type(fault).__name__)
                self._away_until = time.monotonic() + REDIS_PAUSE
        return _hit(self._fallback, item, who)


def _hit(limiter: MovingWindowRateLimiter, item: RateLimitItemPerMinute, who: str) -> tuple[bool, int, int]:
    allowed = limiter.hit(item, who)
    reset, left = limiter.get_window_stats(item, who)
    return allowed, max(0, left), min(60, max(1, math.ceil(reset - time.time())))


def window(store: Store, redis: str | None) -> RequestWindow:
    """The window that fits how the service runs."""
    if redis is None:
        return RequestWindow(DatabaseStorage(store) if store.postgres else MemoryStorage())
    patience: dict[str, Any] = {"socket_timeout": REDIS_PATIENCE, "socket_connect_timeout": REDIS_PATIENCE}
    try:
        made = storage_from_string(redis, **patience)
    except (ConfigurationError, ValueError, TypeError) as fault:
        raise SettingsError(
            f"redis must be an address as redis://host:6379, and the extra must be there: {fault}"
        ) from None
    if not isinstance(made, Storage) or not redis.startswith(("redis", "valkey")):
        raise SettingsError("redis must be an address as redis://host:6379")
    return RequestWindow(made)


class _WindowsOnly(Storage, MovingWindowSupport):
    """A storage that keeps moving windows and no counters."""

    STORAGE_SCHEME = None

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        raise TypeError("this storage keeps moving windows only")

    def get(self, key: str) -> int:
        raise TypeError("this storage keeps moving windows only")

    def get_expiry(self, key: str) -> float:
        raise TypeError("this storage keeps moving windows only")


class MemoryStorage(_WindowsOnly):
    """A moving window in memory: the moments of the requests of each, by the monotonic clock."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._hits: dict[str, deque[float]] = {}
        self._many = 10_000  # above so many callers those that fell silent are forgotten

    @property
    def base_exceptions(self) -> type[Exception]:
        return ValueError

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        with self._lock:
            found = self._recent(key, expiry)
            if len(found) + amount > limit:
                return False
            if len(self._hits) > self._many:
                self._forget(expiry)
            self._hits.setdefault(key, found).extend([time.monotonic()] * amount)
            return True

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        with self._lock:
            found = self._recent(key, expiry)
            age = time.monotonic() - found[0] if found else 0.0
            return time.time() - age, len(found)

    def _recent(self, key: str, expiry: int) -> deque[float]:
        found = self._hits.get(key) or deque()
        while found and found[0] <= time.monotonic() - expiry:
            found.popleft()
        return found

    def _forget(self, expiry: int) -> None:
        old = time.monotonic() - expiry
        self._hits = {key: found for key, found in self._hits.items() if found and found[-1] > old}
        self._many = max(10_000, 2 * len(self._hits))

    def check(self) -> bool:
        return True

    def clear(self, key: str) -> None:
        with self._lock:
            self._hits.pop(key, None)

    def reset(self) -> int | None:
        with self._lock:
            count = len(self._hits)
            self._hits.clear()
        return count


class DatabaseStorage(_WindowsOnly):
    """A moving window in PostgreSQL: a row a request, under one lock an organisation, by the clock of the database."""

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
            db.execute(delete(hits).where(hits.c.key == key, or_(hits.c.at <= at - expiry, hits.c.at > at)))
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


__all__ = ["TIERS", "DatabaseStorage", "MemoryStorage", "RequestWindow", "window"]
