# SPDX-License-Identifier: Apache-2.0
"""Bodies of predictions and outcomes into columns that can be collected: JSON, NDJSON, Arrow or Parquet.

Columns travel from the process that reads them to the one that writes them as parts of one transaction each, every part behind its
length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO, Literal

import msgspec

from epimeter.errors import InputError
from epimeter.monitor.arriving import (
    EVENTS,
    Outcomes,
    Predictions,
    outcomes,
    predictions,
    refuse_columns,
    refuse_slices,
)
from epimeter.service.arrow_tables import TooMuchError, parquet_table, stream_table
from epimeter.service.bodies import Body, invalid, refuse_repeated_keys
from epimeter.service.predictions import ARROW, JSON, NDJSON, PARQUET
from epimeter.service.problems import Problem
from epimeter.service.schemas import CollectedOutcome, CollectedPrediction, OutcomeBatch, PredictionBatch
from epimeter.service.settings import Settings

BATCH = 50_000
"""Rows of one transaction: others wait for the database no longer."""
MEDIA_TYPES = (JSON, NDJSON, ARROW, PARQUET)
Half = Literal["predictions", "outcomes"]


def parts_of(body: Body, kind: str, half: Half, settings: Settings) -> list[Predictions | Outcomes]:
    """The rows of an unpacked body, all of them read: a fault in the last one leaves no half of them behind."""
    table = _table(body, kind, half, settings)
    if half == "predictions":
        refuse_slices(table)
    # Read as a whole, so that a refusal names the row by its place in the body.
    whole = outcomes(table) if half == "outcomes" else predictions(table)
    return [_rows(whole, begin) for begin in range(0, table.num_rows, BATCH)]


def _rows(whole: Any, begin: int) -> Any:
    """Some rows of columns."""
    columns = {name: getattr(whole, name) for name in whole.__dataclass_fields__}
    some = {name: cells[begin : begin + BATCH] for name, cells in columns.items() if isinstance(cells, list)}
    return replace(whole, **some)


def write_parts(parts: list[Predictions | Outcomes], file: BinaryIO) -> None:
    """Parts into a file."""
    for part in parts:
        data = msgspec.msgpack.encode(part)
        file.write(struct.pack(">Q", len(data)) + data)


def read_parts(file: BinaryIO, half: Half) -> Iterator[Predictions | Outcomes]:
    """Parts out of a file, one at a time."""
    kind: Any = Predictions if half == "predictions" else Outcomes
    file.seek(0)
    while head := file.read(8):
        yield msgspec.msgpack.decode(file.read(*struct.unpack(">Q", head)), type=kind)


def _table(body: Body, kind: str, half: Half, settings: Settings) -> Any:
    import pyarrow as pa

    if kind in (JSON, NDJSON):
        rows = _objects(body, kind, half, settings)
        _refuse_many(len(rows), settings)
        return _of_rows(rows)
    try:
        table = stream_table(body, settings) if kind == ARROW else parquet_table(body, settings)
        table.validate(full=True)
    except TooMuchError as fault:
        raise Problem("too-large", str(fault)) from None
    except pa.ArrowException:
        raise Problem("invalid", "the body must be sound Arrow data; it is not") from None
    _refuse_many(table.num_rows, settings)
    return table


def _refuse_many(n: int, settings: Settings) -> None:
    if n > settings.max_rows:
        raise Problem("too-large", f"a body must have at most {settings.max_rows:,} rows; got {n:,}")
    if not n:
        raise Problem("invalid", "a body must have at least one row; it has none")


def _objects(body: Body, kind: str, half: Half, settings: Settings) -> list[Any]:
    raw = body.whole()
    row, whole = (CollectedPrediction, PredictionBatch) if half == "predictions" else (CollectedOutcome, OutcomeBatch)
    try:
        if kind == NDJSON:
            return list(msgspec.json.Decoder(row).decode_lines(raw))
        refuse_repeated_keys(raw, settings.max_json)
        return list(getattr(msgspec.json.decode(raw, type=whole), half))
    except msgspec.MsgspecError as fault:
        raise invalid(fault, row if kind == NDJSON else whole) from None


def _label(cell: str | bool | int) -> str:
    """A label as its column in Arrow would be as text."""
    return str(cell).lower() if isinstance(cell, bool) else str(cell)


def _of_rows(rows: list[Any]) -> Any:
    """Objects as a table: every slice a column."""
    import pyarrow as pa

    names = [name for name in rows[0].__struct_fields__ if name != "slices"]
    columns: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in names}
    if "correct" in columns:  # true and 1 are the same, also in one body
        columns["correct"] = [None if cell is None else bool(cell) for cell in columns["correct"]]
    for name in {"prediction", "truth"} & columns.keys():  # labels may be numbers, as in files
        columns[name] = [cell if cell is None else _label(cell) for cell in columns[name]]
    slicing = sorted({name for row in rows for name in getattr(row, "slices", {})})
    refuse_columns(slicing)  # before each becomes a column of all rows
    taken = {"id", "confidence", *EVENTS, "prediction", "answer", "time", "timestamp", "probabilities"}
    for name in slicing:
        if name in taken or name.startswith("p_"):
            raise InputError(
                f"a slice must not be called as a column of its own meaning; {name!r:.60} is one", field=name
            )
        columns[name] = [row.slices.get(name) for row in rows]
    full = {name: column for name, column in columns.items() if any(cell is not None for cell in column)}
    if "probabilities" in full:  # as pairs: an object of Arrow's would have every class of any row in each
        pairs = [cell and list(cell.items()) for cell in full["probabilities"]]
        full["probabilities"] = pa.array(pairs, pa.map_(pa.string(), pa.float64()))
    try:
        return pa.table({name: pa.array(column) for name, column in full.items()})
    except pa.ArrowException:
        raise Problem("invalid", "the rows must have values of one kind in every field; they do not") from None
