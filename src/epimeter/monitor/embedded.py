# SPDX-License-Identifier: Apache-2.0
"""Collection without a server: one SQLite file in a folder, files of predictions and outcomes read into it."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from epimeter.errors import InputError, ReadError
from epimeter.monitor.arriving import (
    holds_both,
    is_prediction,
    labelled,
    outcomes,
    parted,
    placed,
    predictions,
    refuse_many,
    slice_columns,
)
from epimeter.monitor.blocks import from_single
from epimeter.monitor.collection import Collection, Taken, key_of
from epimeter.monitor.history import History
from epimeter.monitor.settings import MonitorSettings
from epimeter.readers.wording import brief, clean

FILE = "collection.db"
BATCH = 50_000
"""Rows of one transaction."""


@contextmanager
def opened(folder: str | os.PathLike[str]) -> Iterator[sqlite3.Connection]:
    """The database of a folder; a commit waits for the disk, so what was acknowledged is there after a crash."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path / FILE, isolation_level=None, timeout=30)
    try:
        for words in ("journal_mode = WAL", "synchronous = FULL", "temp_store = MEMORY", "cache_size = -65536"):
            connection.execute(f"PRAGMA {words}")
        with transaction(connection) as collection:
            collection.begin()
            if collection.run("SELECT 1 FROM sqlite_master WHERE name = 'collected_windows'").fetchone():
                from_single(collection)
        yield connection
    except sqlite3.DatabaseError as fault:
        raise ReadError(f"{clean(str(path / FILE))} cannot be used as a collection ({brief(fault)})") from None
    finally:
        connection.close()


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[Collection]:
    """A transaction that commits at its end, or leaves no trace."""
    cursor = connection.cursor()
    cursor.execute("BEGIN IMMEDIATE")
    try:
        yield Collection(cursor)
    except BaseException:
        cursor.execute("ROLLBACK")
        raise
    cursor.execute("COMMIT")


def is_collection(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder holds a collection."""
    return (Path(folder) / FILE).is_file()


def collect(
    folder: str | os.PathLike[str],
    files: list[str],
    *,
    system: str,
    settings: MonitorSettings | None = None,
    now: int | None = None,
) -> dict[str, Taken]:
    """Read files into the collection of a folder; gives what became of predictions and outcomes."""
    at = _now() if now is None else now
    taken = {"predictions": Taken(), "outcomes": Taken()}
    with opened(folder) as connection:
        with transaction(connection) as collection:
            number = collection.open("", system, settings)
        for file in files:
            first = 0
            for table in tables(file):
                _take(connection, number, table, taken, at, file, first)
                first += table.num_rows
        with transaction(connection) as collection:
            collection.age(number, at)
    return taken


def _take(
    connection: sqlite3.Connection, number: int, table: Any, taken: dict[str, Taken], at: int, file: str, first: int
) -> None:
    """Take the rows of a table that begins with row `first` of its file."""
    names = table.column_names
    said, known = parted(table) if holds_both(names) else (table, None) if is_prediction(names) else (None, table)
    rows: Sequence[int] = range(first, first + table.num_rows)
    try:
        with transaction(connection) as collection:
            if said is not None:
                taken["predictions"] += collection.predict(number, predictions(said), at)
            if known is not None and known.num_rows:
                rows = rows if said is None else labelled(table, first)
                taken["outcomes"] += collection.conclude(number, outcomes(known), at)
    except InputError as refusal:
        if said is not None and refusal.count and refusal.field in slice_columns(names):
            refusal = _counted(file, str(refusal.field)) or refusal
        elif refusal.row is not None:
            refusal = placed(refusal, rows[refusal.row])
        raise InputError(f"{refusal} ({clean(os.path.basename(file))})", field=refusal.field) from None


def _counted(file: str, column: str) -> InputError | None:
    """The refusal of a column with too many values, with how many the whole file has."""
    values = {cell for table in tables(file) for cell in table.column(column).unique().to_pylist()}
    try:
        refuse_many({column: len(values)})
    except InputError as refusal:
        return refusal
    return None


def histories(folder: str | os.PathLike[str]) -> list[History]:
    """The history of every system of a collection."""
    with opened(folder) as connection, transaction(connection) as collection:
        return [collection.history(key_of(*facts)) for facts in collection.systems()]


def tables(file: str) -> Iterator[Any]:
    """A file as Arrow tables of some rows: Parquet, Arrow, CSV, NDJSON by its suffix."""
    import pyarrow as pa
    from pyarrow import csv, ipc, parquet
    from pyarrow import json as lines

    name, suffix = clean(os.path.basename(file)), os.path.splitext(file)[1].lower()
    try:
        if suffix == ".parquet":
            with parquet.ParquetFile(file, page_checksum_verification=True) as whole:
                for batch in whole.iter_batches(BATCH):
                    yield pa.Table.from_batches([batch])
            return
        if suffix in (".arrow", ".feather", ".ipc"):
            with open(file, "rb") as stream:
                head = stream.read(6)
            with pa.OSFile(file) as source:
                table = (ipc.open_file if head == b"ARROW1" else ipc.open_stream)(source).read_all()
        elif suffix == ".csv":
            table = csv.read_csv(file)
        elif suffix in (".ndjson", ".jsonl"):
            table = lines.read_json(file)
        else:
            raise ReadError(f"{name} must be .parquet, .arrow, .csv or .ndjson to be collected", field="source")
    except (pa.ArrowException, ValueError) as fault:
        if isinstance(fault, ReadError):
            raise
        raise ReadError(f"{name} cannot be read ({brief(fault)})", field="source") from None
    for begin in range(0, table.num_rows, BATCH):
        yield table.slice(begin, BATCH)


def _now() -> int:
    return int(time.time() * 1e6)
