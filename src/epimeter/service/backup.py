# SPDX-License-Identifier: Apache-2.0
"""A backup of a running registry in one file, and the way back.

A backup is a tar archive: `manifest.json`, the tables of the database as msgpack (the same for SQLite and PostgreSQL, so that a
backup of one restores into the other), and the data folder with both logs, keys, trust roots, certificates and secrets.

1. Writers wait for as long as it takes to copy the logs: locks are taken on the database, then the audit log, then the public log,
   in the order in which the service takes them.
2. The database is read in one snapshot, which may take longer; meanwhile the service writes on.
3. Restoring checks every digest before anything is written, and refuses a folder or a database that holds something.

What was published after the backup was made is not in it: a server that starts from an older state refuses (`published`).
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import sqlite3
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
from sqlalchemy import Connection, insert, inspect, text
from sqlalchemy.exc import OperationalError

from epimeter import __version__
from epimeter.errors import EpimeterError
from epimeter.service.settings import Settings, SettingsError
from epimeter.store import Store
from epimeter.store.migrations import migrate, revision
from epimeter.store.moments import now, written
from epimeter.store.tables import metadata

FORM = "epimeter-backup-v1"
TABLES = "database.msgpack"
LOGS = ("registry/audit.db", "registry/log.db")
LEFT_OUT = ("epimeter.db", "epimeter.db-wal", "epimeter.db-shm", "serve.lock", "first.lock", "registry.lock")
FRAME = 500
"""Rows that are packed at a time."""
SKIPPED = ("hits",)
"""Tables whose content lives for a minute."""
LOCK_TRIES = 20
DEADLOCK = "40P01"
"""PostgreSQL's word for it."""


class BackupError(EpimeterError):
    """A backup that cannot be made or put back."""


def backup(settings: Settings, target: Path) -> dict[str, Any]:
    """Write a backup of the registry in the data folder, which may be serving; what the manifest says."""
    folder = settings.folder
    if not (folder / "registry" / "log.db").exists():
        raise BackupError(f"{folder} must be the data folder of a registry; it holds none")
    if target.exists():
        raise BackupError(f"{target} exists already; a backup replaces nothing")
    store = Store(settings.database, pool=2)
    try:
        with tempfile.TemporaryDirectory(dir=folder) as scratch, tempfile.TemporaryFile(dir=folder) as tables:
            copies = {name: Path(scratch) / Path(name).name for name in LOGS}
            with _snapshot(store, lambda: _copy_logs(folder, copies)) as db:
                _dump(db, tables)
            return _archive(folder, target, tables, copies, str(revision(store)))
    finally:
        store.close()


@contextlib.contextmanager
def _snapshot(store: Store, meanwhile: Callable[[], None]) -> Iterator[Connection]:
    """One moment of the database; `meanwhile` is done while nobody can write to it."""
    if not store.postgres:
        # The writer's lock is let go when the logs are copied; the reader goes on in the moment in which it began.
        with store.engine.connect() as reader:
            with store.writing():
                reader.execute(text("SELECT count(*) FROM alembic_version")).scalar()
                meanwhile()
            yield reader
        return
    with store.engine.connect().execution_options(isolation_level="REPEATABLE READ") as reader:
        with store.engine.connect().execution_options(isolation_level="REPEATABLE READ") as lock, _locked(lock):
            moment = lock.execute(text("SELECT pg_export_snapshot()")).scalar_one()
            reader.execute(text(f"SET TRANSACTION SNAPSHOT '{moment}'"))
            meanwhile()
        yield reader


@contextlib.contextmanager
def _locked(lock: Connection) -> Iterator[None]:
    """All tables of PostgreSQL, so that nobody writes; where writers wait for one another in a ring we begin again."""
    names = ", ".join(table.name for table in metadata.sorted_tables)
    for left in reversed(range(LOCK_TRIES)):
        begun = lock.begin()
        try:
            lock.execute(text(f"LOCK TABLE {names} IN SHARE MODE"))
            break
        except OperationalError as fault:
            begun.rollback()
            if getattr(fault.orig, "sqlstate", None) != DEADLOCK or not left:
                raise
    with begun:
        yield


def _copy_logs(folder: Path, copies: dict[str, Path]) -> None:
    with contextlib.ExitStack() as held:
        for name in copies:
            lock = held.enter_context(
                contextlib.closing(sqlite3.connect(folder / name, isolation_level=None, timeout=60))
            )
            lock.execute("BEGIN IMMEDIATE")
            held.callback(lock.execute, "ROLLBACK")
        for name, path in copies.items():
            source = held.enter_context(contextlib.closing(sqlite3.connect(folder / name, timeout=60)))
            copy = held.enter_context(contextlib.closing(sqlite3.connect(path)))
            source.backup(copy)


def _dump(db: Connection, file: BinaryIO) -> None:
    pack = msgspec.msgpack.Encoder()
    for table in metadata.sorted_tables:
        if table.name in SKIPPED:
            continue
        names = [str(column.name) for column in table.columns]
        rows = db.execute(table.select(), execution_options={"yield_per": FRAME})
        for part in rows.partitions(FRAME):
            plain = [[bytes(one) if isinstance(one, memoryview) else one for one in row] for row in part]
            frame = pack.encode([str(table.name), names, plain])
            file.write(len(frame).to_bytes(8, "big") + frame)
    file.flush()


def _archive(folder: Path, target: Path, tables: BinaryIO, copies: dict[str, Path], version: str) -> dict[str, Any]:
    manifest: dict[str, Any] = {
        "form": FORM,
        "engine": __version__,
        "revision": version,
        "made_at": written(now()),
        "files": {},
    }
    with contextlib.ExitStack() as held:
        made = held.enter_context(os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb"))
        archive = held.enter_context(tarfile.open(fileobj=made, mode="w"))

        def add(name: str, file: Any) -> None:
            size = file.seek(0, 2)
            file.seek(0)
            manifest["files"][name] = {"size": size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
            file.seek(0)
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = size, 0o600
            archive.addfile(entry, file)

        add(TABLES, tables)
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            beside = any(name.startswith(log) for log in LOGS) or name in LEFT_OUT or name.startswith("tmp")
            if path.is_file() and not path.is_symlink() and not beside:
                with path.open("rb") as file:
                    add(f"data/{name}", file)
        for name, path in copies.items():
            with path.open("rb") as file:
                add(f"data/{name}", file)
        data = json.dumps(manifest, indent=1).encode("utf-8")
        entry = tarfile.TarInfo("manifest.json")
        entry.size = len(data)
        archive.addfile(entry, io.BytesIO(data))
        made.flush()
        os.fsync(made.fileno())
    return manifest


def restore(source: Path, settings: Settings) -> dict[str, Any]:
    """Put a backup into an empty data folder and an empty database; what its manifest says."""
    folder = settings.folder
    if folder.exists() and any(folder.iterdir()):
        raise BackupError(f"{folder} must be a new or empty folder; it holds something")
    with contextlib.ExitStack() as held:
        try:
            archive = held.enter_context(tarfile.open(source, "r:"))
            manifest = _checked(archive)
        except (OSError, tarfile.TarError, ValueError, KeyError, TypeError) as fault:
            raise BackupError(f"{source} must be a backup of epimeter; it is not, or is damaged: {fault}") from None
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        store = Store(settings.database, pool=2)
        held.callback(store.close)
        with store.reading() as db:
            if set(inspect(db).get_table_names()) - {"alembic_version"}:
                raise BackupError("the database must be empty; it holds tables. Make a new one, or drop its schema")
        _load(store, archive, str(manifest["revision"]))
        for name in manifest["files"]:
            if name.startswith("data/"):
                path = folder / name.removeprefix("data/")
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with path.open("xb") as file:
                    file.write(_member(archive, name).read())
                path.chmod(0o600)
    return manifest


def _checked(archive: tarfile.TarFile) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads(_member(archive, "manifest.json").read())
    if manifest["form"] != FORM:
        raise ValueError(f"its form is {manifest['form']!r:.40}")
    for name, said in manifest["files"].items():
        if name.startswith("/") or ".." in Path(name).parts:
            raise ValueError(f"it names {name!r:.80}")
        if hashlib.file_digest(_member(archive, name), "sha256").hexdigest() != said["sha256"]:
            raise ValueError(f"{name} is not what was saved")
    return manifest


def _member(archive: tarfile.TarFile, name: str) -> Any:
    found = archive.extractfile(archive.getmember(name))
    if found is None:
        raise ValueError(f"{name} is no file")
    return found


def _load(store: Store, archive: tarfile.TarFile, version: str) -> None:
    """The tables as the backup has them, then brought to the newest form."""
    migrate(store, version)
    tables = metadata.tables
    with store.writing(durable=True) as db:
        file = _member(archive, TABLES)
        while head := file.read(8):
            name, names, rows = msgspec.msgpack.decode(file.read(int.from_bytes(head, "big")))
            if name not in tables:
                raise SettingsError(
                    f"the backup has a table {name!r:.40} that this program does not know; use a newer one"
                )
            db.execute(insert(tables[name]), [dict(zip(names, row, strict=True)) for row in rows])
        if store.postgres:
            for table in tables.values():
                for column in table.primary_key.columns:
                    if column.name == "number" and table.name not in SKIPPED:
                        highest = f"SELECT coalesce(max(number), 0) + 1 FROM {table.name}"
                        db.execute(
                            text(f"SELECT setval(pg_get_serial_sequence('{table.name}', 'number'), ({highest}), false)")
                        )
    migrate(store)
