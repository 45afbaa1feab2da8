# SPDX-License-Identifier: Apache-2.0
"""Places of which an organisation, or an address, may hold so many at a time."""

from __future__ import annotations

import threading
from collections import defaultdict

from epimeter.service.problems import Problem


class Seat:
    """A place that is taken."""

    def __init__(self, seats: Seats, who: str) -> None:
        self._seats, self._who = seats, who

    def leave(self) -> None:
        """Give it back."""
        self._seats.free(self._who)


class Seats:
    """How many of something each holds: streams that are open, requests that are being answered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: dict[str, int] = defaultdict(int)

    def take(self, who: str, most: int, what: str, *, wait: int) -> Seat:
        """A place among `most`; refused when all are taken."""
        with self._lock:
            if self._taken[who] >= most:
                raise Problem("rate-limited", f"at most {most} {what} at a time", headers={"Retry-After": str(wait)})
            self._taken[who] += 1
        return Seat(self, who)

    def free(self, who: str) -> None:
        """One of his places is free again."""
        with self._lock:
            self._taken[who] -= 1
            if self._taken[who] <= 0:
                del self._taken[who]

    @property
    def count(self) -> int:
        """How many are taken in all."""
        return sum(self._taken.values())
