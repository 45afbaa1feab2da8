# SPDX-License-Identifier: Apache-2.0
"""A bell that is rung when a transaction put something to do into the database, after its commit.

Threads of this process wait for it instead of asking again and again; what another process put there is found by asking now
and then.
"""

from __future__ import annotations

import threading

from sqlalchemy import Connection

NEWS = "epimeter.news"
JOBS, MESSAGES = "jobs", "messages"


class Bell:
    """Wakes whoever waits; whoever was busy when it rang hears it afterwards."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.rung = 0

    def ring(self) -> None:
        """Wake all."""
        with self._changed:
            self.rung += 1
            self._changed.notify_all()

    def wait(self, heard: int, seconds: float) -> None:
        """Return when it has rung since `rung` was `heard`, or after so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self.rung != heard, seconds)


def announce(db: Connection, what: str) -> None:
    """Let the bell ring when this transaction is committed."""
    db.info.setdefault(NEWS, set()).add(what)
