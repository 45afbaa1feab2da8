# SPDX-License-Identifier: Apache-2.0
"""Moments as microseconds, calendar months, and names that nobody can guess."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime, timedelta

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
SECOND = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> int:
    """This moment."""
    return time.time_ns() // 1000


def moment(at: int) -> datetime:
    """A stored moment as a date with its zone."""
    return _EPOCH + timedelta(microseconds=at)


def micros(at: datetime) -> int:
    """A date with a zone as a stored moment."""
    return (at - _EPOCH) // timedelta(microseconds=1)


def written(at: int | None) -> str | None:
    """A stored moment in ISO 8601 with milliseconds, UTC."""
    if at is None:
        return None
    return moment(at).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at // 1000 % 1000:03d}Z"


def month_of(at: int) -> str:
    """The calendar month in UTC: quotas count by it."""
    return moment(at).strftime("%Y-%m")


def new_id(prefix: str, letters: int = 20) -> str:
    """A name of 100 random bits: it can be neither guessed nor counted."""
    return prefix + "".join(secrets.choice(CROCKFORD) for _ in range(letters))
