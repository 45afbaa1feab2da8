# SPDX-License-Identifier: Apache-2.0
"""Frames, streams and queries as a source: pandas, polars, Arrow, columns by name, DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from epimeter.errors import MissingExtraError, ReadError
from epimeter.passes.batch import Batch, of_table
from epimeter.passes.workers import Damaged, Job
from epimeter.readers import batches as read_batches
from epimeter.readers.block import spread_rows
from epimeter.readers.forecast import Choice
from epimeter.readers.frames import kind as frame_kind
from epimeter.readers.roles import FURTHER as FURTHER_ROLES
from epimeter.readers.roles import Roles
from epimeter.readers.wording import brief, clean
from epimeter.sources.columns import FURTHER, ReadColumns, batch_of, of_schema, wanted
from epimeter.sources.files import one_batch, slice_codes
from epimeter.sources.route import BATCH, Ask, Route


def of_frame(source: Any, ask: Ask) -> Route:
    """A frame in memory: pandas, polars, Arrow, a mapping of columns, records."""
    import pyarrow as pa

    name = frame_kind(source)
    if isinstance(source, pa.RecordBatchReader):
        return _stream(source, source.schema, name, ask)
    if isinstance(source, Mapping | list | np.ndarray):
        return _columns_given(source, name, ask)
    table: Any
    if isinstance(source, pa.Table | pa.RecordBatch):
        table = source
    elif hasattr(source, "iloc") and hasattr(source, "columns"):
        return _pandas(source, name, ask)
    elif hasattr(source, "to_arrow"):
        columns = of_schema(source.head(0).to_arrow().schema, name, ask.columns, ask.by, ask.extra)
        table = source.select(columns.names).to_arrow()
    elif hasattr(source, "__arrow_c_stream__"):
        table = pa.table(source)
    elif hasattr(source, "with_format") and hasattr(source, "features"):
        return _hugging_face(source, name, ask)
    else:
        raise ReadError(
            f"a source must be files, a frame (pandas, polars, Arrow, Hugging Face, columns by name), a DuckDB relation, or a "
            f"Dask or Spark frame; got {name}"
        )
    some = list(spread_rows(table.num_rows))
    columns = of_schema(
        table.schema,
        name,
        ask.columns,
        ask.by,
        ask.extra,
        lambda one: table.column(one).take(pa.array(some)).to_pylist(),
    )
    if not table.num_rows:
        raise ReadError(f"{name} has columns but no rows")
    table = table.select(columns.names)
    if not isinstance(table, pa.RecordBatch):
        table = table.combine_chunks()

    def jobs() -> Iterator[Job]:
        for first in range(0, table.num_rows, BATCH):
            yield partial(_batch, table.slice(first, BATCH), columns, name, first, None)

    return Route(jobs(), columns, name, table.num_rows)


def _hugging_face(source: Any, name: str, ask: Ask) -> Route:
    """A dataset of Hugging Face, in memory, on disk or streamed, by Arrow tables in the order of its rows."""
    if source.features is None:
        raise ReadError(f"{name} must know its columns before it is read; give it features=")
    n_rows = len(source) if hasattr(source, "__len__") else None
    tables = source.with_format("arrow").iter(batch_size=BATCH)
    return _stream(tables, source.features.arrow_schema, name, ask, n_rows)


def _batch(batch: Any, columns: ReadColumns, name: str, first: int, slices: Any) -> list[Batch]:
    return [batch_of(batch, columns, name, first, first, slices)]


def _pandas(frame: Any, name: str, ask: Ask) -> Route:
    from epimeter.readers.frames import _first_is_list

    labels = [str(label) for label in frame.columns]
    lists = frozenset(
        label
        for i, label in enumerate(labels)
        if str(frame.dtypes.iloc[i]) == "object" and _first_is_list(frame.iloc[:, i])
    )
    some = list(spread_rows(len(frame)))
    columns = wanted(
        labels, lists, name, ask.columns, ask.by, ask.extra, lambda one: frame.iloc[some, labels.index(one)].tolist()
    )
    if not len(frame):
        raise ReadError(f"{name} has columns but no rows")
    return replace(of_frame(arrow_of_pandas(frame, columns, name), replace(ask, columns=_stated(columns))), name=name)


def arrow_of_pandas(frame: Any, columns: ReadColumns, name: str) -> Any:
    """The columns of a pass over a pandas frame as an Arrow table."""
    import pyarrow as pa

    from epimeter.readers.frames import column

    labels = [str(label) for label in frame.columns]
    arrays = {}
    for label in columns.names:
        try:
            array = column(frame.iloc[:, labels.index(label)], label)
            arrays[label] = array if type(array).__module__.startswith("pyarrow") else pa.array(array, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError) as fault:
            raise ReadError(
                f"{clean(label)} of {name} must hold values of one kind ({brief(fault)})", field=label
            ) from None
    return pa.table(arrays)


def _stated(columns: ReadColumns) -> Choice:
    """The roles that were found, as a caller would say them."""
    return Choice(
        {role: ",".join(names) for role, names in columns.roles.columns.items()},
        columns.roles.kind,
        columns.roles.positive,
        columns.roles.class_names,
        logits=columns.roles.logits,
    )


def _columns_given(source: Any, name: str, ask: Ask) -> Route:
    """Columns by name or records, by way of the readers."""
    columns = {role: "" for role in FURTHER_ROLES if role not in ("weight", *(FURTHER[n] for n in ask.extra))}
    columns |= ask.columns.columns
    if ask.by is not None:
        columns["group"] = ask.by
    parts = list(read_batches(source, columns=replace(ask.columns, columns=columns), rows=BATCH))
    roles = Roles(
        {role: (c,) for role, c in parts[0].roles.items() if role != "group" or "groups" in ask.extra},
        kind=parts[0].kind,
    )

    def jobs() -> Iterator[Job]:
        order = 0
        for table in parts:
            slices = slice_codes(table.group) if ask.by is not None else None
            yield partial(one_batch, of_table(table, slices, order, order, frozenset(ask.extra)))
            order += table.n_rows + table.unlabelled

    n_rows = sum(part.n_rows + part.unlabelled for part in parts)
    return Route(jobs(), ReadColumns(roles), name, n_rows, notes=parts[0].notes)


def _stream(reader: Iterable[Any], schema: Any, name: str, ask: Ask, n_rows: int | None = None) -> Route:
    """Arrow batches that come one after another."""
    columns = of_schema(schema, name, ask.columns, ask.by, ask.extra)
    return Route(_stream_jobs(reader, columns, name), columns, name, n_rows)


def _stream_jobs(reader: Iterable[Any], columns: ReadColumns, name: str) -> Iterator[Job]:
    import pyarrow as pa

    first = 0
    batches = iter(reader)
    while True:
        try:
            batch = next(batches, None)
        except (pa.ArrowException, OSError) as fault:
            raise Damaged(f"{name} could not be read to its end ({brief(fault)})") from None
        if batch is None:
            return
        if batch.num_rows:
            yield partial(_batch, batch, columns, name, first, None)
            first += batch.num_rows


def of_dataset(source: Any, ask: Ask) -> Route:
    """A pyarrow dataset."""
    name = "the pyarrow Dataset"
    columns = of_schema(source.schema, name, ask.columns, ask.by, ask.extra)
    batches = source.to_batches(columns=columns.names, batch_size=BATCH)
    return Route(_stream_jobs(batches, columns, name), columns, name, source.count_rows())


def of_lazy_frame(source: Any, ask: Ask) -> Route:
    """A lazy frame of polars, collected in batches."""
    import polars as pl

    name = frame_kind(source)
    schema = pl.DataFrame(schema=source.collect_schema()).to_arrow().schema
    columns = of_schema(schema, name, ask.columns, ask.by, ask.extra)
    chosen = source.select(columns.names)
    if hasattr(chosen, "collect_batches"):
        frames: Iterable[Any] = chosen.collect_batches(chunk_size=BATCH, maintain_order=True)
    else:
        frames = chosen.collect().iter_slices(BATCH)
    return Route(_stream_jobs((frame.to_arrow() for frame in frames), columns, name), columns, name)


def of_query(text: str, ask: Ask) -> Route:
    """What an SQL query gives, by DuckDB."""
    try:
        import duckdb
    except ImportError:
        raise MissingExtraError("an SQL query", "duckdb", "duckdb") from None
    try:
        relation = duckdb.sql(text)
    except duckdb.Error as fault:
        raise ReadError(f"the query could not be run ({brief(fault)})", field="source") from None
    if relation is None:
        raise ReadError("the query must give rows; this one gives none", field="source")
    return replace(of_relation(relation, ask), name="the query")


def of_relation(relation: Any, ask: Ask) -> Route:
    """A DuckDB relation."""
    import duckdb

    name = "the DuckDB relation"
    lists = frozenset(column for column, kind in zip(relation.columns, relation.types, strict=True) if "[" in str(kind))
    columns = wanted(list(relation.columns), lists, name, ask.columns, ask.by, ask.extra)
    chosen = relation.project(", ".join('"' + column.replace('"', '""') + '"' for column in columns.names))
    read: Callable[..., Any] = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_record_batch
    try:
        reader = read(BATCH)
    except duckdb.Error as fault:
        raise ReadError(f"{name} could not be read ({brief(fault)})", field="source") from None
    return Route(_stream_jobs(reader, columns, name), columns, name)
