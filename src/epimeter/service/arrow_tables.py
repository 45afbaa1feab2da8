# SPDX-License-Identifier: Apache-2.0
"""Arrow IPC streams and Parquet files into columns, through the readers that files go through."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from epimeter.errors import ReadError
from epimeter.readers.arrow_claims import claims
from epimeter.readers.forecast_columns import states_forecast
from epimeter.readers.parquet_pages import checked_footer, unpacked_bound
from epimeter.service.bodies import OTHERS, Body
from epimeter.service.columns import CLUSTERS, ONE_CLUSTER, Columns, refuse_many, words
from epimeter.service.forecast_rows import ForecastRows, forecast_rows
from epimeter.service.problems import Problem
from epimeter.service.schemas import COLUMNS
from epimeter.service.settings import Settings

_INDEX = re.compile(r"__index_level_\d+__")


def from_stream(body: Body, settings: Settings) -> Columns | ForecastRows:
    """The columns in an Arrow IPC stream."""
    with _ArrowFaults("an Arrow IPC stream"):
        return _of_table(stream_table(body, settings), settings)


def from_parquet(body: Body, settings: Settings) -> Columns | ForecastRows:
    """The columns in a Parquet file."""
    with _ArrowFaults("Parquet"):
        return _of_table(parquet_table(body, settings, _refuse_names), settings)


class TooMuchError(ReadError):
    """More than the service reads at a time."""


def _refuse_bomb(messages: Any, settings: Settings) -> None:
    """Refuse a stream of more rows, or of more unpacked bytes, than a body may have."""
    rows = size = 0
    for more_rows, more_bytes in claims(messages):
        rows, size = rows + more_rows, size + more_bytes
        if rows > settings.max_rows:
            raise TooMuchError(f"a body must have at most {settings.max_rows:,} rows; this one claims {rows:,}")
        if size > settings.max_unpacked:
            raise TooMuchError(
                f"a body must unpack to at most {settings.max_unpacked:,} bytes; this one claims {size:,}"
            )


def stream_table(body: Body, settings: Settings) -> Any:
    """The Arrow table in an IPC stream that does not unpack to more than is allowed."""
    import pyarrow as pa
    from pyarrow import ipc

    with _ArrowFaults("an Arrow IPC stream"):
        raw = body.whole()
        _refuse_bomb(ipc.MessageReader.open_stream(pa.py_buffer(raw)), settings)
        with ipc.open_stream(pa.py_buffer(raw)) as stream:
            return stream.read_all()


def parquet_table(body: Body, settings: Settings, check: Callable[[Any], None] | None = None) -> Any:
    """The Arrow table in a Parquet file; `check` is told its schema before any column is read."""
    from pyarrow import parquet

    with _ArrowFaults("Parquet"):
        body.file.seek(0)
        footer = checked_footer(body.file)
        with parquet.ParquetFile(body.file, page_checksum_verification=True) as file:
            facts = file.metadata
            size = unpacked_bound(body.file, footer, range(footer.n_columns))
            if facts.num_rows > settings.max_rows:
                raise TooMuchError(f"a body must have at most {settings.max_rows:,} rows; got {facts.num_rows:,}")
            if size > settings.max_unpacked:
                raise TooMuchError(f"a body must unpack to at most {settings.max_unpacked:,} bytes; got {size:,}")
            if check is not None:
                check(file.schema_arrow)
            return file.read()


def _of_table(table: Any, settings: Settings) -> Columns | ForecastRows:
    """An Arrow table as columns, through the readers that files go through."""
    from epimeter.readers import read as read_table
    from epimeter.readers.forecast import Choice

    _refuse_names(table.schema)
    table = table.select(_stated(table.schema))
    refuse_many(table.num_rows, settings)
    table.validate(full=True)
    if states_forecast(table.schema.names):
        return forecast_rows(table, "/rows")
    found = read_table(table, columns=Choice(columns={"confidence": "confidence", "label": "correct"}, kind="answer"))
    if found.zoneless is not None:
        raise ReadError(f"timestamp must have a time zone; {found.zoneless} has none", field="timestamp")
    n = table.num_rows
    whole = found.n_rows == n  # then nothing has to be copied
    known = None if whole else np.asarray(found.rows)

    def spread(column: Any, empty: Any) -> Any:
        if column is None or whole:
            return column
        made = np.full(n, empty, np.asarray(column).dtype)
        made[known] = column
        return made

    def flags(column: Any, silent: Any) -> Any:
        """Those of the rows without an outcome count too."""
        made = spread(column, False)
        if made is not None and known is not None:
            made[np.setdiff1d(np.arange(n), known, assume_unique=True)] = silent
        return made

    cluster = found.roles.get("group")
    groups = None if found.group is None else spread(words(_listed(np.asarray(found.group, object))), None)

    return Columns(
        confidence=spread(np.asarray(found.y_prob).astype(np.float64, copy=False), 0.0),
        correct=spread(np.asarray(found.label).astype(np.uint8, copy=False), 2),
        timestamp=spread(found.timestamp, np.datetime64("NaT", "us")),
        ground_truth_source=spread(found.ground_truth_source, None),
        class_=spread(found.class_of, None),
        unknown=flags(found.unknown, found.silent_unknown),
        detected=flags(found.detected, found.silent_detected),
        category=spread(found.category, None),
        id=None if found.id is None else spread(words(_listed(found.id)), None),
        question=groups if cluster == "question" else None,
        group=groups if cluster == "group" else None,
        at="/rows",
    )


def _listed(values: Any) -> list[Any]:
    listed: list[Any] = values.tolist() if isinstance(values, np.ndarray) else values.to_pylist()
    return [None if value is None else str(value) for value in listed]


def _stated(schema: Any) -> list[str]:
    """The columns of a schema without what pandas writes of its index, which says nothing about a prediction.

    An index that was called like a column, as id, is that column.
    """
    try:
        index = (schema.pandas_metadata or {}).get("index_columns", ())
        own = {name for name in index if isinstance(name, str) and name not in COLUMNS}
    except (ValueError, AttributeError, TypeError):  # anybody may write metadata
        own = set()
    return [name for name in schema.names if name not in own and not _INDEX.fullmatch(name)]


def _refuse_names(schema: Any) -> None:
    names = _stated(schema)
    if states_forecast(names):
        return
    if set(CLUSTERS) <= set(names):
        raise ReadError(ONE_CLUSTER, field="group")
    unknown = [name for name in names if name not in COLUMNS]
    if unknown or len(set(names)) < len(names) or not {"confidence", "correct"} <= set(names):
        what = f"{unknown[0]!r:.60} is none of them{OTHERS}" if unknown else "one is missing or stands twice"
        raise ReadError(f"columns must be confidence, correct and any of {', '.join(COLUMNS[2:])}; {what}")


class _ArrowFaults:
    """What pyarrow raises, as one sentence."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, fault: BaseException | None, __: object) -> None:
        import pyarrow as pa

        if isinstance(fault, ReadError | Problem) or fault is None:
            return
        if isinstance(fault, OSError) and fault.errno is not None:
            return
        if isinstance(fault, pa.ArrowException | OSError | ValueError | TypeError | KeyError):
            raise ReadError(f"the body must be {self._what}; it cannot be read as such") from None
