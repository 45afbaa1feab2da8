# SPDX-License-Identifier: Apache-2.0
"""Bodies of predictions and outcomes into the collection: JSON, NDJSON, Arrow or Parquet, in batches of one transaction each.

Rows are idempotent by their id, so a request that was cut off is sent again as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from epimeter.errors import InputError
from epimeter.monitor.arriving import EVENTS, Outcomes, Predictions, outcomes, predictions
from epimeter.monitor.collection import Collection, Taken
from epimeter.service.access import Caller
from epimeter.service.arrow_tables import TooMuchError, parquet_table, stream_table
from epimeter.service.bodies import Body, invalid, refuse_repeated_keys
from epimeter.service.predictions import ARROW, JSON, NDJSON
from epimeter.service.problems import Problem
from epimeter.service.schemas import (
    Collected,
    CollectedOutcome,
    CollectedPrediction,
    OutcomeBatch,
    PredictionBatch,
)
from epimeter.service.settings import Settings
from epimeter.store import Store, collecting, journal
from epimeter.store.moments import now

BATCH = 50_000
"""Rows of one transaction: others wait for the database no longer."""
MOST_SYSTEMS = 10_000
"""Systems of one organisation."""


def take_predictions(store: Store, caller: Caller, system: str, body: Body, kind: str, settings: Settings) -> Collected:
    """Take the predictions of a body."""
    table = _table(body, kind, settings, PredictionBatch, CollectedPrediction)
    return _taken(store, caller, system, table, predictions, Collection.predict, "predictions.collected")


def take_outcomes(store: Store, caller: Caller, system: str, body: Body, kind: str, settings: Settings) -> Collected:
    """Take the outcomes of a body."""
    table = _table(body, kind, settings, OutcomeBatch, CollectedOutcome)
    return _taken(store, caller, system, table, outcomes, Collection.conclude, "outcomes.collected")


def _taken(
    store: Store,
    caller: Caller,
    system: str,
    table: Any,
    read: Callable[[Any], Predictions | Outcomes],
    take: Callable[..., Taken],
    action: str,
) -> Collected:
    organization = caller.organization
    # All rows are read before the first is written: a fault in the last one leaves no half of them behind.
    parts = [read(table.slice(begin, BATCH)) for begin in range(0, table.num_rows, BATCH)]
    taken = Taken()
    for part in parts:
        with store.writing(durable=True) as db:
            if (
                collecting.known(db, organization, system) is None
                and collecting.count(db, organization) >= MOST_SYSTEMS
            ):
                raise Problem("conflict", f"an organisation has at most {MOST_SYSTEMS:,} systems")
            collection = collecting.collection(db)
            made = take(collection, collection.open(organization, system), part, now())
            # Rows that came again as they were change nothing, so they leave no entry.
            if made.new or made.corrected:
                about = {"organization": organization, "actor": caller.key_id, "action": action, "subject": system}
                journal.note(db, **about, new=made.new, corrected=made.corrected)
            taken = taken + made
    return Collected(taken.new, taken.repeated, taken.corrected, taken.refused, taken.waiting)


def _table(body: Body, kind: str, settings: Settings, whole: type, row: type) -> Any:
    import pyarrow as pa

    if kind in (JSON, NDJSON):
        rows = _objects(body, kind, settings, whole, row)
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


def _objects(body: Body, kind: str, settings: Settings, whole: type, row: type) -> list[Any]:
    raw = body.whole()
    try:
        if kind == NDJSON:
            return list(msgspec.json.Decoder(row).decode_lines(raw))
        refuse_repeated_keys(raw, settings.max_json)
        found: Any = msgspec.json.decode(raw, type=whole)
        return list(getattr(found, "predictions", None) or getattr(found, "outcomes", []))
    except msgspec.MsgspecError as fault:
        raise invalid(fault) from None


def _of_rows(rows: list[Any]) -> Any:
    """Objects as a table: every slice a column."""
    import pyarrow as pa

    names = [name for name in rows[0].__struct_fields__ if name != "slices"]
    columns: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in names}
    slicing = sorted({name for row in rows for name in getattr(row, "slices", {})})
    taken = {"id", "confidence", *EVENTS, "prediction", "answer", "time", "timestamp", "probabilities"}
    for name in slicing:
        if name in taken or name.startswith("p_"):
            raise InputError(
                f"a slice must not be called as a column of its own meaning; {name!r:.60} is one", field=name
            )
        columns[name] = [row.slices.get(name) for row in rows]
    full = {name: column for name, column in columns.items() if any(cell is not None for cell in column)}
    try:
        return pa.table({name: pa.array(column) for name, column in full.items()})
    except pa.ArrowException:
        raise Problem("invalid", "the rows must have values of one kind in every field; they do not") from None
