# SPDX-License-Identifier: Apache-2.0
"""The append-only log, on SQLite, written for SQLite.

    entries       the entries, by index
    nodes         the hash of every complete subtree: proofs and tiles are read off, never recomputed
    checkpoints   every checkpoint ever signed
    cosignatures  witnesses' lines, which come after the checkpoint they belong to

A batch is one transaction, with entries, hashes and the signed checkpoint in it, and it is on the disk before its
checkpoint leaves this function (`synchronous=FULL`): otherwise a power cut could take back what strangers hold already,
and the log would fork. Before it signs, the log compares its stored tree with the last checkpoint and refuses to
continue a tree that was tampered with.

Triggers forbid to change or delete rows. They are a fence against mistakes, not proof: `audit` gives the proof.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from epimeter.errors import LogError
from epimeter.trust.canonical import to_moment
from epimeter.trust.checkpoint import Checkpoint, sign_checkpoint
from epimeter.trust.keys import Signer
from epimeter.trust.merkle import (
    EMPTY_ROOT,
    Frontier,
    consistency_proof,
    frontier_of,
    grow,
    inclusion_proof,
    leaf_hash,
)
from epimeter.trust.note import Note, NoteSignature, refuse_malformed_name
from epimeter.trust.tiles import ENTRY_LIMIT, WIDTH, Tile, entry_bundle, in_tree, refuse_long_entry
from epimeter.trust.tlog_proof import TlogProof

_TABLES = f"""
CREATE TABLE log (
    one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, origin TEXT NOT NULL);
CREATE TABLE entries (
    idx INTEGER PRIMARY KEY, entry BLOB NOT NULL CHECK (length(entry) <= {ENTRY_LIMIT}));
CREATE TABLE nodes (
    level INTEGER NOT NULL, idx INTEGER NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (level, idx)) WITHOUT ROWID;
CREATE TABLE checkpoints (
    number INTEGER PRIMARY KEY, size INTEGER NOT NULL UNIQUE, root BLOB NOT NULL, time TEXT NOT NULL,
    note BLOB NOT NULL);
CREATE TABLE cosignatures (
    size INTEGER NOT NULL REFERENCES checkpoints (size), line TEXT NOT NULL, PRIMARY KEY (size, line)) WITHOUT ROWID;
CREATE TRIGGER entries_in_order BEFORE INSERT ON entries
    WHEN NEW.idx IS NOT (SELECT coalesce(max(idx) + 1, 0) FROM entries)
    BEGIN SELECT RAISE(ABORT, 'entries are appended in order'); END;
CREATE TRIGGER checkpoints_in_order BEFORE INSERT ON checkpoints
    WHEN NEW.number IS NOT (SELECT coalesce(max(number) + 1, 0) FROM checkpoints)
    BEGIN SELECT RAISE(ABORT, 'checkpoints are appended in order'); END;
"""
_FENCE = """
CREATE TRIGGER {table}_no_{verb} BEFORE {verb} ON {table}
    BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
"""
_LEAVES = "CREATE INDEX IF NOT EXISTS leaves ON nodes (substr(hash, 1, 4)) WHERE level = 0"
"""Finds an entry by its hash. Four bytes tell 4,000 million leaves apart; whole hashes take three times the room."""
PLACE = "SELECT idx FROM nodes WHERE level = 0 AND substr(hash, 1, 4) = ? AND hash = ? ORDER BY idx LIMIT 1"
"""Where a leaf stands, in the words by which SQLite sees that the index serves."""
_VERSION = 1
TABLES = ("log", "entries", "nodes", "checkpoints", "cosignatures")
"""What is the log in its file; other tables lie beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """What one append did: the index of its first entry, the size after it, the checkpoint that covers it."""

    first: int
    size: int
    checkpoint: Note


class Log:
    """A log in a file. One object may be shared by threads; several processes may append to one file.

    Public log and audit log are two files with two origins, and nothing else differs.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        if not self.path.exists():
            raise LogError(f"there is no log in {self.path.name}; create one first")
        self._lock = threading.RLock()
        self._connection = _connect(self.path)
        # Whoever reads must not wait for whoever appends: that waits for the disk, and for writers in other processes.
        self._reader, self._reading = _connect(self.path), threading.Lock()
        self._reader.execute("PRAGMA query_only = 1")
        self._writer: int | None = None
        try:
            row = self._row("SELECT version, origin FROM log")
            if row is None or row[0] != _VERSION:
                raise LogError(f"{self.path.name} must hold a log of format {_VERSION}; it does not")
        except LogError:
            self.close()
            raise
        self.origin: str = row[1]

    @classmethod
    def create(cls, path: Path | str, origin: str, signer: Signer, at: datetime) -> Log:
        """A new log with a signed checkpoint of the empty tree."""
        refuse_malformed_name(origin)
        path = Path(path)
        if path.exists():
            raise LogError(f"{path.name} exists; a log is never created over another file")
        connection = _connect(path)
        fences = "".join(_FENCE.format(table=table, verb=verb) for table in TABLES for verb in ("UPDATE", "DELETE"))
        try:
            connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} {fences}")
            connection.execute("INSERT INTO log VALUES (1, ?, ?)", (_VERSION, origin))
            _store_checkpoint(connection, Checkpoint(origin, 0, EMPTY_ROOT), signer, at)
            connection.execute("COMMIT")
        except BaseException as fault:
            connection.close()
            for leftover in (path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))):
                leftover.unlink(missing_ok=True)
            if isinstance(fault, sqlite3.Error):
                raise LogError(f"the log cannot be created: {fault}") from None
            raise
        connection.close()
        return cls(path)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock, self._reading:
            self._reader.close()
            self._connection.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, entries: Sequence[bytes], signer: Signer, at: datetime) -> Appended:
        """Append entries and sign the checkpoint that covers them, in one durable transaction."""
        return self.append_beside(lambda connection, size: entries, signer, at)

    def append_beside(
        self, make: Callable[[sqlite3.Connection, int], Sequence[bytes]], signer: Signer, at: datetime
    ) -> Appended:
        """Append the entries that `make` gives, in the transaction in which it may write rows of its own.

        `make` gets the connection, with the log locked, and the size of the log: the index of its first entry. What it
        writes into other tables of the file is on the disk together with the entries, or not at all.
        """
        with self._transaction() as connection:
            old = self._whole_tree(connection)
            entries = make(connection, old.size)
            if not entries:
                raise LogError("a batch must have at least one entry; got none")
            for entry in entries:
                refuse_long_entry(entry)
            frontier, born = grow(old, map(leaf_hash, entries))
            connection.executemany("INSERT INTO entries VALUES (?, ?)", enumerate(entries, old.size))
            connection.executemany("INSERT INTO nodes VALUES (?, ?, ?)", born)
            tree = Checkpoint(self.origin, frontier.size, frontier.root)
            note = _store_checkpoint(connection, tree, signer, at)
        return Appended(first=old.size, size=frontier.size, checkpoint=note)

    def append_batches(self, batches: Iterable[Sequence[bytes]], signer: Signer, at: datetime) -> None:
        """Append many batches, with a checkpoint after each, in one transaction: the copy of another log."""
        with self._transaction() as connection:
            frontier = self._whole_tree(connection)
            for entries in batches:
                first = frontier.size
                frontier, born = grow(frontier, map(leaf_hash, entries))
                connection.executemany("INSERT INTO entries VALUES (?, ?)", enumerate(entries, first))
                connection.executemany("INSERT INTO nodes VALUES (?, ?, ?)", born)
                _store_checkpoint(connection, Checkpoint(self.origin, frontier.size, frontier.root), signer, at)

    def batches(self) -> Iterator[list[bytes]]:
        """The entries from each checkpoint to the next."""
        begin = 0
        for (size,) in self._rows("SELECT size FROM checkpoints WHERE size > 0 ORDER BY size"):
            yield self.entries(begin, size)
            begin = size

    def beside(self, write: Callable[[sqlite3.Connection], None]) -> None:
        """Write rows beside the log, with the log locked, and nothing into it."""
        with self._transaction() as connection:
            write(connection)

    def add_cosignature(self, size: int, signature: NoteSignature) -> None:
        """Keep a witness's line for the checkpoint of that size; the caller has verified it."""
        with self._transaction() as connection:
            connection.execute("INSERT INTO cosignatures VALUES (?, ?)", (size, signature.to_line()))

    @property
    def size(self) -> int:
        """How many entries the newest checkpoint covers."""
        row = self._row("SELECT size FROM checkpoints ORDER BY number DESC LIMIT 1")
        if row is None:
            raise LogError(f"the log {self.origin} has no checkpoint; run audit")
        return int(row[0])

    def checkpoint(self, size: int | None = None) -> Note:
        """The checkpoint of that size, by default the newest, with the cosignatures that came."""
        size = self.size if size is None else size
        row = self._row("SELECT note FROM checkpoints WHERE size = ?", size)
        if row is None:
            raise LogError(f"the log {self.origin} has signed no checkpoint of size {size}")
        lines = self._rows("SELECT line FROM cosignatures WHERE size = ? ORDER BY line", size)
        return Note.from_bytes(_blob(row[0])).with_signatures(NoteSignature.from_line(line) for (line,) in lines)

    def entry(self, index: int) -> bytes:
        """The entry at an index."""
        row = self._row("SELECT entry FROM entries WHERE idx = ?", index)
        if row is None:
            raise LogError(f"the log {self.origin} has no entry {index}")
        return _blob(row[0])

    def entries(self, begin: int, end: int) -> list[bytes]:
        """The entries from `begin` to before `end`."""
        rows = self._rows("SELECT entry FROM entries WHERE idx >= ? AND idx < ? ORDER BY idx", begin, end)
        return [_blob(entry) for (entry,) in rows]

    def first_entries(self, size: int) -> list[bytes]:
        """The entries up to a size."""
        return self.entries(0, size)

    def node(self, level: int, index: int) -> bytes:
        """The hash of a complete subtree."""
        row = self._row("SELECT hash FROM nodes WHERE level = ? AND idx = ?", level, index)
        if row is None:
            raise LogError(f"the log {self.origin} has no subtree {index} of level {level}")
        return _blob(row[0])

    def index_leaves(self) -> None:
        """Make the index by which `place_of` finds entries; a log from before there was one gets it now, once."""
        if self._row("SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = 'leaves'") is None:
            with self._transaction() as connection:
                connection.execute(_LEAVES)

    def place_of(self, leaf: bytes) -> int | None:
        """The index of the first entry with this leaf hash; None when there is none. Without the index it reads all leaves."""
        row = self._row(PLACE, leaf[:4], leaf)
        return None if row is None else int(row[0])

    def growth(self, most: int) -> list[tuple[str, int]]:
        """When the log had how many entries: its first checkpoint, its last, and others evenly between, `most` at most."""
        (last,) = self._row("SELECT max(number) FROM checkpoints")
        steps = min(most - 1, last) if last else 0
        numbers = sorted({last * step // steps for step in range(steps + 1)}) if steps else [0]
        marks = ", ".join("?" * len(numbers))
        query = f"SELECT time, size FROM checkpoints WHERE number IN ({marks}) ORDER BY number"
        return [(str(time), int(size)) for time, size in self._rows(query, *numbers)]

    def consistency_proof(self, old: int, new: int) -> list[bytes]:
        """The proof that the tree of `old` entries is the beginning of the tree of `new` entries."""
        return consistency_proof(old, new, self.node)

    def proof(self, index: int, size: int | None = None) -> TlogProof:
        """The proof that travels with an entry, under the checkpoint of that size, by default the newest."""
        size = self.size if size is None else size
        hashes = tuple(inclusion_proof(index, size, self.node))
        return TlogProof(index=index, hashes=hashes, checkpoint=self.checkpoint(size))

    def tile(self, path: str) -> bytes:
        """The content of a tile or a bundle by its path."""
        tile = Tile.from_path(path)
        if not in_tree(tile, self.size):
            raise LogError(f"the log {self.origin} has no {path}; its tree is smaller")
        begin = tile.index * WIDTH
        if tile.level is None:
            return entry_bundle(self.entries(begin, begin + tile.width))
        rows = self._rows(
            "SELECT hash FROM nodes WHERE level = ? AND idx >= ? AND idx < ? ORDER BY idx",
            8 * tile.level,
            begin,
            begin + tile.width,
        )
        return b"".join(_blob(one) for (one,) in rows)

    def _whole_tree(self, connection: sqlite3.Connection) -> Frontier:
        # The tree we are about to continue must be the one that we signed last.
        last = connection.execute("SELECT size, root FROM checkpoints ORDER BY number DESC LIMIT 1").fetchone()
        count = connection.execute("SELECT coalesce(max(idx) + 1, 0) FROM entries").fetchone()[0]
        frontier = frontier_of(count, self.node)
        if last is None or last[0] != count or last[1] != frontier.root:
            raise LogError(
                f"the stored tree of {count} entries is not the one last signed; nothing was appended. Run audit."
            )
        return frontier

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                self._writer = threading.get_ident()
                try:
                    yield self._connection
                    self._connection.execute("COMMIT")
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
                finally:
                    self._writer = None
            except sqlite3.Error as fault:
                raise LogError(f"the log {self.origin} could not be written: {fault}") from None

    def _rows(self, query: str, *values: Any) -> list[Any]:
        try:
            if self._writer == threading.get_ident():  # within a transaction one sees what one has written
                return self._connection.execute(query, values).fetchall()
            with self._reading:
                return self._reader.execute(query, values).fetchall()
        except sqlite3.Error as fault:
            raise LogError(f"the log in {self.path.name} cannot be read: {fault}") from None

    def _row(self, query: str, *values: Any) -> Any:
        rows = self._rows(query, *values)
        return rows[0] if rows else None


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        # Without it, INSERT OR REPLACE walks past the trigger that forbids deletion.
        connection.execute("PRAGMA recursive_triggers = 1")
        connection.execute("PRAGMA foreign_keys = 1")
    except sqlite3.Error as fault:
        connection.close()
        raise LogError(f"{path.name} cannot be opened as a log: {fault}") from None
    return connection


def _blob(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise LogError("a row of the log holds no bytes: it was tampered with. Run audit.")
    return value


def _store_checkpoint(connection: sqlite3.Connection, tree: Checkpoint, signer: Signer, at: datetime) -> Note:
    note = sign_checkpoint(tree, signer)
    connection.execute(
        "INSERT INTO checkpoints SELECT count(*), ?, ?, ?, ? FROM checkpoints",
        (tree.size, tree.root, to_moment(at), note.to_bytes()),
    )
    return note
