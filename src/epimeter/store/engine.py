# SPDX-License-Identifier: Apache-2.0
"""SQLite and PostgreSQL behind one door: a transaction to read, one to write.

SQLite has one writer at a time. A write transaction therefore takes the lock when it begins (BEGIN IMMEDIATE), never
halfway, and threads of one process queue for it here instead of polling for it there. WAL lets readers go on meanwhile.
PostgreSQL locks rows; a transaction that lost a race is begun again by `Store.writing`'s caller, never half repeated.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import OperationalError

from epimeter.errors import EpimeterError, MissingExtraError
from epimeter.store.bell import JOBS, MESSAGES, NEWS, Bell

PATIENCE_MS = 30_000


class StoreError(EpimeterError):
    """A database that cannot be reached, or is of another age than the program."""


class Store:
    """A database.

    Parameters
    ----------
    url
        ``sqlite:///path`` or ``postgresql://user@host/name``.
    """

    def __init__(self, url: str, *, pool: int = 20) -> None:
        self.url = _sound(url)
        self.postgres = self.url.get_backend_name() == "postgresql"
        self._writer = threading.Lock()
        self.bells = {what: Bell() for what in (JOBS, MESSAGES)}
        # Faults are written down; what a caller sent must not be.
        options: dict[str, Any] = {"hide_parameters": True}
        options |= {"pool_size": pool, "max_overflow": 2 * pool, "pool_timeout": 15}
        if self.postgres:
            options |= {"pool_pre_ping": True, "max_overflow": 0, "connect_args": {"connect_timeout": 5}}
        else:
            options["connect_args"] = {"check_same_thread": False, "timeout": PATIENCE_MS / 1000}
        self.engine = create_engine(self.url, **options)
        if not self.postgres:
            event.listen(self.engine, "connect", _prepare)
            event.listen(self.engine, "begin", _begin)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one moment and changes nothing."""
        with self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator[Connection]:
        """A transaction that commits at its end, or leaves no trace.

        `durable` waits for the disk also where a lost power supply could otherwise take the last commits back.
        PostgreSQL always waits. Bells that the transaction announced ring when it is committed.
        """
        with self._transaction(durable) as connection:
            connection.info.pop(NEWS, None)  # of a transaction that left no trace
            yield connection
            news = connection.info.pop(NEWS, ())
        for what in news:
            self.bells[what].ring()

    @contextmanager
    def _transaction(self, durable: bool) -> Iterator[Connection]:
        if self.postgres:
            with self.engine.begin() as connection:
                yield connection
            return
        with self._writer, self.engine.connect().execution_options(writing=True) as connection:
            if durable:
                _pragma(connection, "synchronous = FULL")
            try:
                with connection.begin():
                    yield connection
            finally:
                if durable:
                    _pragma(connection, "synchronous = NORMAL")

    def wait(self, seconds: float) -> None:
        """Return when the database answers; refuse when it has not for so long."""
        end = time.monotonic() + seconds
        while True:
            try:
                with self.reading() as db:
                    db.execute(text("SELECT 1"))
                return
            except OperationalError as fault:
                if time.monotonic() > end:
                    shown = self.url.render_as_string(hide_password=True)
                    raise StoreError(f"the database {shown} does not answer: {str(fault.orig).strip()}") from None
                time.sleep(0.2)

    def close(self) -> None:
        """Let go of every connection."""
        self.engine.dispose()


def _sound(url: str) -> URL:
    try:
        made = make_url(url)
    except Exception:
        raise StoreError("a database must be given as sqlite:///path or postgresql://user@host/name") from None
    kind = made.get_backend_name()
    if kind not in ("sqlite", "postgresql"):
        raise StoreError(f"a database must be SQLite or PostgreSQL; got {kind!r:.40}")
    if kind == "postgresql":
        try:
            import psycopg  # noqa: F401
        except ImportError:
            raise MissingExtraError("PostgreSQL", "psycopg", "postgres") from None
        made = made.set(drivername="postgresql+psycopg")
    return made


def _pragma(connection: Connection, words: str) -> None:
    """A pragma outside any transaction."""
    raw = connection.connection.dbapi_connection
    assert raw is not None
    raw.execute(f"PRAGMA {words}")


def _prepare(raw: Any, _: Any) -> None:
    raw.isolation_level = None  # the driver must not begin transactions of its own accord
    raw.execute(f"PRAGMA busy_timeout = {PATIENCE_MS}")
    _write_ahead(raw)
    for words in ("synchronous = NORMAL", "foreign_keys = 1", "recursive_triggers = 1"):
        raw.execute(f"PRAGMA {words}")


def _write_ahead(raw: Any) -> None:
    """Have the file keep a write-ahead log. A new file is told so by whoever comes first; SQLite lets nobody wait for that."""
    end = time.monotonic() + PATIENCE_MS / 1000
    while True:
        try:
            raw.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as fault:
            if "locked" not in str(fault) or time.monotonic() > end:
                raise
            time.sleep(0.01)


def _begin(connection: Connection) -> None:
    kind = "BEGIN IMMEDIATE" if connection.get_execution_options().get("writing") else "BEGIN"
    connection.exec_driver_sql(kind)
