# SPDX-License-Identifier: Apache-2.0
"""Files as a source: Parquet row group by row group, everything else as the readers give it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from epimeter.errors import InputError, ReadError
from epimeter.passes.batch import Batch, SliceCodes, of_table
from epimeter.passes.workers import Damaged, Job
from epimeter.readers import batches as read_batches
from epimeter.readers.roles import FURTHER as FURTHER_ROLES
from epimeter.readers.roles import Roles
from epimeter.readers.table import Table
from epimeter.readers.wording import clean, shown
from epimeter.sources import parquet
from epimeter.sources.columns import FURTHER, ReadColumns
from epimeter.sources.paths import SourceFile
from epimeter.sources.route import Ask, Route


def of_files(files: list[SourceFile], name: str, ask: Ask) -> Route:
    """The way to the rows of files; `name` stands for all of them."""
    by_folder = ask.by is not None and any(ask.by in place.folders for place in files)
    if by_folder and not all(ask.by in place.folders for place in files):
        missing = next(place for place in files if ask.by not in place.folders)
        raise ReadError(f"every file must lie in a folder {ask.by}=…; {missing.name} does not", field="by")
    shown_name = files[0].name if len(files) == 1 else f"{name} ({len(files)} files)" if "files" not in name else name
    if all((ask.format or place.format) == "parquet" for place in files):
        return _parquet(files, shown_name, ask, by_folder)
    return _tables(files, shown_name, ask, by_folder)


def _parquet(files: list[SourceFile], name: str, ask: Ask, by_folder: bool) -> Route:
    opened, skipped, seen = [], [], {}
    for place in files:
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
        opened.append(replace(file, slices=place.folders.get(ask.by) if by_folder and ask.by else None))
    if not opened:
        raise ReadError(f"no file of {name} could be read; all are damaged: {skipped[0]}")
    columns = parquet.columns_of(opened, ask.columns, None if by_folder else ask.by, ask.extra)
    n_rows = sum(file.n_rows for file in opened)
    if not n_rows:
        raise ReadError(f"{name} has columns but no rows")
    return Route(parquet.jobs(opened, columns), columns, name, n_rows, tuple(skipped))


def _tables(files: list[SourceFile], name: str, ask: Ask, by_folder: bool) -> Route:
    """Files that the readers read part by part: CSV, NDJSON, Arrow, npz, JSON."""
    if ask.by is not None and not by_folder and "groups" in ask.extra:
        raise InputError("by= and a metric that needs groups cannot share one pass over text files", field="by")
    columns = {role: "" for role in FURTHER_ROLES if role not in ("weight", *(FURTHER[name] for name in ask.extra))}
    columns |= ask.columns.columns
    if ask.by is not None and not by_folder:
        columns["group"] = ask.by
    choice = replace(ask.columns, columns=columns)
    skipped: list[str] = []

    def tables() -> Iterator[tuple[SourceFile, Table]]:
        first: Table | None = None
        for place in files:
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
        last: SourceFile | None = None
        for place, table in chain([head], stream):
            slices: Any = None
            if ask.by is not None:
                slices = place.folders[ask.by] if by_folder else slice_codes(table.group)
            first, last = first if place is last else 0, place
            yield partial(one_batch, of_table(table, slices, first, order, extra))
            first, order = first + table.n_rows + table.unlabelled, order + table.n_rows + table.unlabelled

    return Route(jobs(), ReadColumns(roles), name, None, tuple(skipped), first.notes)


def one_batch(batch: Batch) -> list[Batch]:
    """The job of a batch that is there already."""
    return [batch]


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


def slice_codes(values: Any) -> SliceCodes:
    """The slice of each row from a column of words or whole numbers."""
    distinct: dict[Any, int] = {}
    code = np.fromiter(
        (-1 if value is None else distinct.setdefault(value, len(distinct)) for value in values.tolist()),
        np.int64,
        len(values),
    )
    return SliceCodes(code=code, values=list(distinct))
