# SPDX-License-Identifier: Apache-2.0
"""From whatever a caller holds to the jobs of a pass on one machine."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from epimeter.errors import InputError, MissingExtraError, ReadError
from epimeter.readers import batches as read_batches
from epimeter.readers.block import spread_rows
from epimeter.readers.forecast import Choice
from epimeter.readers.frames import kind as frame_kind
from epimeter.readers.roles import FURTHER as FURTHER_ROLES
from epimeter.readers.roles import Roles
from epimeter.readers.table import Table
from epimeter.readers.wording import brief, clean, shown
from epimeter.scale import parquet
from epimeter.scale.columns import FURTHER, Wanted, of_schema, piece_of, wanted
from epimeter.scale.passage import Damaged, Job
from epimeter.scale.paths import Place, places
from epimeter.scale.piece import Coded, Piece, of_table

BATCH = 1 << 18
SQL = re.compile(r"\s*(select|with|from)\s", re.IGNORECASE)


@dataclass(frozen=True)
class Ask:
    """What the caller says of the columns.

    Attributes
    ----------
    columns
        Which column plays which role, and what kind of forecast they are, where names do not say.
    extra
        Further columns the metrics need or take.
    parquet_pages
        Whether Parquet pages may be decoded here; None as the environment says.
    """

    columns: Choice = field(default_factory=Choice)
    by: str | None = None
    extra: frozenset[str] = frozenset()
    format: str | None = None
    skip_damaged: bool = False
    parquet_pages: bool | None = None


@dataclass(frozen=True)
class Route:
    """Jobs, the columns they read, and what is known of the rows before any is read."""

    jobs: Iterable[Job]
    columns: Wanted
    name: str
    n_rows: int | None = None
    skipped: tuple[str, ...] = ()

    def described(self) -> dict[str, Any]:
        """Where the rows come from, for the report."""
        notes = self.columns.roles.notes
        return {"name": self.name, "columns": self.columns.roles.served} | ({"notes": list(notes)} if notes else {})


def route(source: Any, ask: Ask) -> Route:
    """The way to the rows of a source."""
    if isinstance(source, str) and SQL.match(source) and not os.path.exists(source):
        return _query(source, ask)
    if isinstance(source, str | os.PathLike):
        return _files(places([source]), os.fsdecode(source), ask)
    if isinstance(source, list | tuple) and source and all(isinstance(item, str | os.PathLike) for item in source):
        found = places(source)
        return _files(found, f"{len(found)} files", ask)
    module = type(source).__module__.partition(".")[0]
    if isinstance(source, list | tuple) and not source:
        raise ReadError("a list of files must name at least one", field="source")
    if module in ("duckdb", "_duckdb"):
        return _relation(source, ask)
    if module == "pyarrow" and hasattr(source, "to_batches") and hasattr(source, "scanner"):
        return _dataset(source, ask)
    if module == "polars" and hasattr(source, "collect_schema") and hasattr(source, "collect"):
        return _lazy(source, ask)
    return _frame(source, ask)


# Files.


def _files(found: list[Place], name: str, ask: Ask) -> Route:
    by_folder = ask.by is not None and any(ask.by in place.folders for place in found)
    if by_folder and not all(ask.by in place.folders for place in found):
        missing = next(place for place in found if ask.by not in place.folders)
        raise ReadError(f"every file must lie in a folder {ask.by}=…; {missing.name} does not", field="by")
    shown_name = found[0].name if len(found) == 1 else f"{name} ({len(found)} files)" if "files" not in name else name
    said = ask.format or None
    if all((said or place.format) == "parquet" for place in found):
        return _parquet(found, shown_name, ask, by_folder)
    return _tables(found, shown_name, ask, by_folder)


def _parquet(found: list[Place], name: str, ask: Ask, by_folder: bool) -> Route:
    files, skipped, seen = [], [], {}
    for place in found:
        try:
            if place.path not in seen:
                if os.path.exists(place.path):
                    seen[place.path] = parquet.opened(place.path, place.name, by_pages=ask.parquet_pages)
                else:
                    raise ReadError(f"no file is called {shown(place.path)}", field=place.path)
        except Damaged as fault:
            if not ask.skip_damaged:
                raise
            skipped.append(str(fault))
            continue
        file = seen[place.path]
        for key in place.folders:
            if key in file.schema.names:
                raise ReadError(
                    f"{clean(key)} must be a folder or a column, not both; {place.name} lies in a folder {clean(key)}=… "
                    f"and has a column {clean(key)}. Rename one of them",
                    field=key,
                )
        files.append(replace(file, slices=place.folders.get(ask.by) if by_folder and ask.by else None))
    if not files:
        raise ReadError(f"no file of {name} could be read; all are damaged: {skipped[0]}")
    columns = parquet.columns_of(files, ask.columns, None if by_folder else ask.by, ask.extra)
    n_rows = sum(file.n_rows for file in files)
    if not n_rows:
        raise ReadError(f"{name} has columns but no rows")
    return Route(parquet.jobs(files, columns), columns, name, n_rows, tuple(skipped))


def _tables(found: list[Place], name: str, ask: Ask, by_folder: bool) -> Route:
    """Files that the readers read piece by piece: CSV, NDJSON, Arrow, npz, JSON."""
    if ask.by is not None and not by_folder and "groups" in ask.extra:
        raise InputError("by= and a metric that needs groups cannot share one pass over text files", field="by")
    columns = {role: "" for role in FURTHER_ROLES if role not in ("weight", *(FURTHER[name] for name in ask.extra))}
    columns |= ask.columns.columns
    if ask.by is not None and not by_folder:
        columns["group"] = ask.by
    choice = replace(ask.columns, columns=columns)
    skipped: list[str] = []

    def tables() -> Iterator[tuple[Place, Table]]:
        first: Table | None = None
        for place in found:
            try:
                # A damaged Arrow file may be sound at its beginning: it is read whole before any of it counts.
                parts: Iterable[Table] = read_batches(place.path, columns=choice, format=ask.format)
                for part in list(parts) if ask.skip_damaged else parts:
                    first = first or part
                    _refuse_different(first, part)
                    yield place, part
            except ReadError as fault:
                if not (ask.skip_damaged and "damaged" in str(fault)):
                    raise
                skipped.append(str(fault))

    stream = tables()
    head = next(stream, None)
    if head is None:
        raise ReadError(f"no file of {name} could be read; all are damaged: {skipped[0]}")
    first = head[1]
    roles = Roles(
        {role: (column,) for role, column in first.roles.items() if role not in ("group",) or "groups" in ask.extra},
        kind=first.kind,
    )
    extra = frozenset(ask.extra)

    def jobs() -> Iterator[Job]:
        first = order = 0
        last: Place | None = None
        for place, table in chain([head], stream):
            slices: Any = None
            if ask.by is not None:
                slices = place.folders[ask.by] if by_folder else coded(table.group)
            first, last = first if place is last else 0, place
            yield partial(_given, of_table(table, slices, first, order, extra))
            first, order = first + table.n_rows + table.unlabelled, order + table.n_rows + table.unlabelled

    return Route(jobs(), Wanted(roles), name, None, tuple(skipped))


def _given(piece: Piece) -> list[Piece]:
    return [piece]


def _refuse_different(first: Table, other: Table) -> None:
    if dict(first.roles) != dict(other.roles) or (first.weight is None) != (other.weight is None):
        raise ReadError(
            f"all files must have the same columns; {first.source} has {', '.join(first.roles.values())} "
            f"and {other.source} has {', '.join(other.roles.values())}"
        )
    if first.probabilities is not None and other.probabilities is not None:
        here, there = first.probabilities.shape[1], other.probabilities.shape[1]
        if here != there:
            raise ReadError(
                f"all files must have the same classes; {first.source} has {here}, {other.source} has {there}"
            )


def coded(values: Any) -> Coded:
    """The slice of each row from a column of words or whole numbers."""
    distinct: dict[Any, int] = {}
    code = np.fromiter(
        (-1 if value is None else distinct.setdefault(value, len(distinct)) for value in values.tolist()),
        np.int64,
        len(values),
    )
    return Coded(code=code, values=list(distinct))


# Frames and queries.


def _frame(source: Any, ask: Ask) -> Route:
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
    else:
        raise ReadError(
            f"a source must be files, a frame (pandas, polars, Arrow, columns by name), a DuckDB relation, or a Dask or "
            f"Spark frame; got {name}"
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


def _batch(batch: Any, columns: Wanted, name: str, first: int, slices: Any) -> list[Piece]:
    return [piece_of(batch, columns, name, first, first, slices)]


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
    return replace(_frame(arrow_of_pandas(frame, columns, name), replace(ask, columns=_spoken(columns))), name=name)


def arrow_of_pandas(frame: Any, columns: Wanted, name: str) -> Any:
    """The columns of a pass over a pandas frame as an Arrow table."""
    import pyarrow as pa

    from epimeter.readers.frames import column

    labels = [str(label) for label in frame.columns]
    made = {}
    for label in columns.names:
        try:
            found = column(frame.iloc[:, labels.index(label)], label)
            made[label] = found if type(found).__module__.startswith("pyarrow") else pa.array(found, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError) as fault:
            raise ReadError(
                f"{clean(label)} of {name} must hold values of one kind ({brief(fault)})", field=label
            ) from None
    return pa.table(made)


def _spoken(columns: Wanted) -> Choice:
    """The roles that were found, as a caller would say them."""
    return Choice(
        {role: ",".join(found) for role, found in columns.roles.columns.items()},
        columns.roles.kind,
        columns.roles.positive,
        columns.roles.class_names,
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
            slices = coded(table.group) if ask.by is not None else None
            yield partial(_given, of_table(table, slices, order, order, frozenset(ask.extra)))
            order += table.n_rows + table.unlabelled

    return Route(jobs(), Wanted(roles), name, sum(part.n_rows + part.unlabelled for part in parts))


def _stream(reader: Iterable[Any], schema: Any, name: str, ask: Ask, n_rows: int | None = None) -> Route:
    """Arrow batches that come one after another."""
    columns = of_schema(schema, name, ask.columns, ask.by, ask.extra)
    return Route(_stream_jobs(reader, columns, name), columns, name, n_rows)


def _stream_jobs(reader: Iterable[Any], columns: Wanted, name: str) -> Iterator[Job]:
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


def _dataset(source: Any, ask: Ask) -> Route:
    name = "the pyarrow Dataset"
    columns = of_schema(source.schema, name, ask.columns, ask.by, ask.extra)
    batches = source.to_batches(columns=columns.names, batch_size=BATCH)
    return Route(_stream_jobs(batches, columns, name), columns, name, source.count_rows())


def _lazy(source: Any, ask: Ask) -> Route:
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


def _query(text: str, ask: Ask) -> Route:
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
    return replace(_relation(relation, ask), name="the query")


def _relation(relation: Any, ask: Ask) -> Route:
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
