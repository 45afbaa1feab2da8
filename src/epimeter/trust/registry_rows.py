# SPDX-License-Identifier: Apache-2.0
"""What an issuer knows, as rows beside its log: certificates, registrations, attempts, status lists."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from epimeter.errors import LogError
from epimeter.trust.canonical import load_canonical, to_moment
from epimeter.trust.entries import log_entry, read_entry
from epimeter.trust.envelope import Envelope
from epimeter.trust.status_list import StatusList

STATUS_LIFE = timedelta(days=7)
TABLES = """
CREATE TABLE issuer (one INTEGER PRIMARY KEY CHECK (one = 1), name TEXT NOT NULL, status_list TEXT NOT NULL);
CREATE TABLE certificates (
    id TEXT PRIMARY KEY, system TEXT NOT NULL, organization TEXT NOT NULL, status_index INTEGER NOT NULL UNIQUE,
    log_index INTEGER NOT NULL, log_size INTEGER NOT NULL, registration_index INTEGER,
    issued_at TEXT NOT NULL, level TEXT NOT NULL, document BLOB NOT NULL);
CREATE TABLE registrations (id TEXT PRIMARY KEY, log_index INTEGER NOT NULL, envelope BLOB NOT NULL);
CREATE TABLE attempts (system TEXT NOT NULL, number INTEGER NOT NULL, log_index INTEGER NOT NULL,
    PRIMARY KEY (system, number));
CREATE TABLE status_lists (version INTEGER PRIMARY KEY, envelope BLOB NOT NULL);
"""


def spent(connection: sqlite3.Connection, system: str, index: int) -> int | None:
    """The attempt that a registration, by its log index, was used for; None while it is fresh."""
    rows = connection.execute(
        "SELECT number, entry FROM attempts JOIN entries ON idx = log_index WHERE system = ? ORDER BY number", (system,)
    )
    return next((int(number) for number, entry in rows if read_entry(entry).get("registration") == index), None)


def attempt_of(connection: sqlite3.Connection, system: str, evaluation: str) -> int | None:
    """The number under which the log has an evaluation of a system as an attempt; None when it has not."""
    rows = connection.execute(
        "SELECT number, entry FROM attempts JOIN entries ON idx = log_index WHERE system = ? ORDER BY number DESC",
        (system,),
    )
    return next((int(number) for number, entry in rows if read_entry(entry)["id"] == evaluation), None)


def newest_list(connection: sqlite3.Connection) -> StatusList:
    """The newest status list."""
    (envelope,) = connection.execute("SELECT envelope FROM status_lists ORDER BY version DESC LIMIT 1").fetchone()
    return StatusList.from_document(load_canonical(Envelope.from_json(envelope).payload))


def list_entry(statuses: StatusList, sealed: Envelope, at: datetime) -> bytes:
    """The log entry that a status list was published."""
    return log_entry(
        "status.published",
        statuses.id,
        to_moment(at),
        digest=hashlib.sha256(sealed.signed_bytes).hexdigest(),
        key_id=sealed.signatures[0].key_id,
        version=statuses.version,
    )


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """The database, open for reading only; faults of SQLite as sentences."""
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=30)
    except sqlite3.Error as fault:
        raise LogError(f"{path.name} cannot be opened: {fault}") from None
    try:
        yield connection
    except sqlite3.Error as fault:
        raise LogError(f"{path.name} cannot be read: {fault}") from None
    finally:
        connection.close()
