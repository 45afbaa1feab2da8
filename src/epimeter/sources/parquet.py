# SPDX-License-Identifier: Apache-2.0
"""Parquet files as jobs: one a row group, decoded by whichever thread takes it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np

from epimeter.errors import ReadError
from epimeter.passes.batch import Batch, SliceCodes
from epimeter.passes.workers import Damaged, Job
from epimeter.readers import parquet_pages as pages
from epimeter.readers.block import SAMPLED
from epimeter.readers.files import COPIES, refuse_beyond_memory
from epimeter.readers.forecast import Choice
from epimeter.readers.wording import brief, clean
from epimeter.sources.columns import ReadColumns, batch_of, of_schema, sliced

STRETCH = 1 << 18
"""Rows taken from pages at a time: so many that a call costs nothing beside them, so few that memory stays small."""
GROUPED = 1 << 20
"""The same where rows are grouped by slice: the run of a slice is to be long."""
BATCH = 1 << 20
"""Rows decoded at a time: a row group of usual size at once, a larger one in parts."""


@dataclass(frozen=True)
class File:
    """A Parquet file with what its footer says, and the slice that its folder stands for."""

    path: str
    name: str
    slices: Any
    schema: Any
    metadata: Any
    footer: pages.Footer
    by_pages: bool
    """Whether pages may be decoded here."""

    @property
    def n_rows(self) -> int:
        return sum(self.footer.rows(group) for group in range(self.footer.n_groups))


def opened(path: str, name: str, slices: Any = None, by_pages: bool | None = None) -> File:
    """The footer of a file, checked before pyarrow is given it."""
    from pyarrow import parquet as pq

    with faults(name):
        with open(path, "rb") as raw:
            footer = pages.checked_footer(raw)
        file = pq.ParquetFile(path)
        return File(path, name, slices, file.schema_arrow, file.metadata, footer, pages.enabled(by_pages))


class faults:
    """What pyarrow raises while it reads a part of a file, as one sentence that names the part."""

    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, fault: Any, trace: Any) -> None:
        import pyarrow as pa

        if fault is None or isinstance(fault, ReadError | MemoryError):
            return
        if isinstance(fault, FileNotFoundError):
            raise ReadError(f"{self.where} is gone: no such file") from None
        if isinstance(fault, PermissionError):
            raise ReadError(f"{self.where} may not be read by this user; check its permissions") from None
        if isinstance(fault, pa.ArrowException | OSError | ValueError | KeyError):
            raise Damaged(f"{self.where} is damaged or was cut off ({brief(fault)})") from None


def columns_of(files: Sequence[File], columns: Choice, by: str | None, extra: frozenset[str]) -> ReadColumns:
    """The columns of a pass over several files, which must agree in them."""
    first = files[0]
    read = of_schema(first.schema, first.name, columns, by, extra, partial(_first_cells, first))
    for file in files[1:]:
        if file.schema.equals(first.schema):
            continue
        for name in read.names:
            place = file.schema.get_field_index(name)
            if place < 0:
                raise ReadError(
                    f"all files must have the column {clean(name)}; {first.name} has it and {file.name} has not",
                    field=name,
                )
            here, there = first.schema.field(name).type, file.schema.field(place).type
            if kind(here) != kind(there):
                raise ReadError(
                    f"{clean(name)} must be of one type in all files; it is {here} in {first.name} "
                    f"and {there} in {file.name}",
                    field=name,
                )
    return read


def _first_cells(file: File, name: str) -> list[Any]:
    """The first cells of a column, where names alone do not say the class columns."""
    from pyarrow import parquet as pq

    with faults(file.name), pq.ParquetFile(file.path, page_checksum_verification=True) as opened_file:
        batch = next(opened_file.iter_batches(SAMPLED, columns=[name]), None)
        return [] if batch is None else batch.column(0).to_pylist()


def kind(type_: Any) -> str:
    """What a type is good for: numbers of any width are one kind."""
    import pyarrow as pa

    if pa.types.is_dictionary(type_):
        return kind(type_.value_type)
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    if any(test(type_) for test in numbers):
        return "numbers"
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return "text"
    return str(type_)


def jobs(files: Iterable[File], columns: ReadColumns) -> Iterator[Job]:
    """A job for every row group."""
    order = 0
    for file in files:
        first = 0
        for group in range(file.footer.n_groups):
            n_rows = file.footer.rows(group)
            yield partial(decoded, file, group, columns, first, order)
            first, order = first + n_rows, order + n_rows


def decoded(file: File, group: int, columns: ReadColumns, first: int, order: int) -> Iterator[Batch]:
    """The rows of one row group: page by page where the columns are plain, else by pyarrow.

    What the pages do not say plainly, or not soundly, pyarrow is asked for, from there on: it has the last word.
    """
    done = 0
    if columns.roles.plain and file.by_pages:
        try:
            for rows in _paged(file, group, columns, first, order):
                yield rows
                done += rows.n_rows
            return
        except (pages.NotPlain, pages.Broken):
            pass
    yield from _by_arrow(file, group, columns, first, order, done)


def _paged(file: File, group: int, columns: ReadColumns, first: int, order: int) -> Iterator[Batch]:
    """The rows of one row group, in stretches that stay in the cache; the next stretch overwrites the last."""
    where = f"row group {group} of {file.name}"
    names = [columns.roles.columns[role][0] for role in ("confidence", "label")]
    chunks = [pages.Chunk.of(file.footer, file.metadata.schema, file.schema, group, name) for name in names]
    if chunks[0].physical not in ("DOUBLE", "FLOAT"):
        raise pages.NotPlain
    stretch = STRETCH if columns.by is None else GROUPED
    size = min(stretch, chunks[0].n_values)
    prob, true = (
        pages.buffers.get(name, size, chunk.dtype)[:size] for name, chunk in zip(("prob", "true"), chunks, strict=True)
    )
    with faults(where):
        handle = os.open(file.path, os.O_RDONLY)
    try:
        left, right = pages.Column(handle, chunks[0], "prob"), pages.Column(handle, chunks[1], "true")
        slices = repeat(file.slices) if columns.by is None else _slices(file, group, columns.by, handle, len(prob))
        while n_rows := left.fill(prob):
            if right.fill(true) != n_rows:
                raise pages.Broken
            outcome = true[:n_rows]
            if outcome.dtype != np.uint8:
                if outcome.min() < 0 or outcome.max() > 1:
                    raise pages.NotPlain  # the readers say which row is at fault
                outcome = outcome.astype(np.uint8)
            value = next(slices)
            if columns.by is not None and len(value.code) != n_rows:
                raise pages.NotPlain  # pyarrow cuts batches elsewhere where a dictionary changes
            yield Batch(
                true=outcome,
                prob=prob[:n_rows],
                kind=columns.roles.kind,
                slices=value,
                source=file.name,
                first=first,
                order=order,
            )
            first, order = first + n_rows, order + n_rows
    finally:
        os.close(handle)


def _slices(file: File, group: int, by: str, handle: int, size: int) -> Iterator[Any]:
    """The slices of each `size` rows: codes straight from the pages of a text, else by pyarrow."""
    done = 0
    try:
        chunk = pages.Chunk.of(file.footer, file.metadata.schema, file.schema, group, by, words=True)
        column, known = pages.Column(handle, chunk, "by"), None
        size = min(size, chunk.n_values)
        code = pages.buffers.get("by", size, np.int32)[:size]
        while n_rows := column.fill(code):
            known = known or column.words()
            yield SliceCodes(code=code[:n_rows], values=known)
            done += n_rows
        return
    except (pages.NotPlain, pages.Broken):
        pass
    for batch in _batches(file, group, [by], by, size):
        if done >= batch.num_rows:  # both ways cut the rows alike
            done -= batch.num_rows
            continue
        yield sliced(batch.column(by))


def _by_arrow(file: File, group: int, columns: ReadColumns, first: int, order: int, done: int) -> Iterator[Batch]:
    """The rows of one row group by pyarrow, from row `done` on."""
    for batch in _batches(file, group, columns.names, columns.by, BATCH):
        n_rows = batch.num_rows
        if done < n_rows:
            yield batch_of(batch.slice(done), columns, file.name, first + done, order + done, file.slices)
        first, order, done = first + n_rows, order + n_rows, max(0, done - n_rows)


def _batches(file: File, group: int, names: list[str], by: str | None, size: int) -> Iterator[Any]:
    """Columns of one row group as pyarrow gives them; words to slice by stay codes."""
    from pyarrow import parquet as pq

    where = f"row group {group} of {file.name}"
    with faults(where):
        with open(file.path, "rb") as raw:
            bound = pages.unpacked_bound(raw, file.footer, _leaves(file, names), [group])
        try:
            refuse_beyond_memory(COPIES * bound)
        except MemoryError:
            raise ReadError(f"{where} can unpack to {bound:,} bytes, which do not fit in memory") from None
        source = pq.ParquetFile(
            file.path,
            metadata=file.metadata,
            pre_buffer=False,
            page_checksum_verification=True,
            read_dictionary=[by] if by is not None else None,
        )
        batches = source.iter_batches(size, row_groups=[group], columns=names, use_threads=False)
    left = file.footer.rows(group)
    while True:
        with faults(where):
            batch = next(batches, None)
            left -= 0 if batch is None else batch.num_rows
            if left < 0 or (batch is None and left):
                raise ValueError("its pages have another number of rows than the footer says")
            if batch is None:
                return
            batch.validate(full=True)  # text too: what follows decodes it
        yield batch


def _leaves(file: File, names: Sequence[str]) -> list[int]:
    """The places among the columns of a file, which may be nested, of what a table calls by these names."""
    columns = file.metadata.schema
    wanted = set(names)
    return [place for place in range(len(columns)) if columns.column(place).path.partition(".")[0] in wanted]
