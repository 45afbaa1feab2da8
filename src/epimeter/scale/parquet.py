# SPDX-License-Identifier: Apache-2.0
"""Parquet files as jobs: one a row group, decoded by whichever thread takes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from epimeter.errors import ReadError
from epimeter.readers.wording import brief, clean
from epimeter.scale.columns import Wanted, of_schema, piece_of
from epimeter.scale.passage import Damaged, Job
from epimeter.scale.piece import Piece

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


def opened(path: str, name: str, slices: Any = None) -> File:
    """The footer of a file."""
    from pyarrow import parquet as pq

    with faults(name):
        file = pq.ParquetFile(path)
        return File(path, name, slices, file.schema_arrow, file.metadata)


class faults:
    """What pyarrow raises while it reads a part of a file, as one sentence that names the part."""

    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, fault: BaseException | None, trace: Any) -> None:
        import pyarrow as pa

        if fault is None or isinstance(fault, ReadError | MemoryError):
            return
        if isinstance(fault, FileNotFoundError):
            raise ReadError(f"{self.where} is gone: no such file") from None
        if isinstance(fault, PermissionError):
            raise ReadError(f"{self.where} may not be read by this user; check its permissions") from None
        if isinstance(fault, pa.ArrowException | OSError | ValueError | KeyError):
            raise Damaged(f"{self.where} is damaged or was cut off ({brief(fault)})") from None


def columns_of(files: Sequence[File], columns: dict[str, str] | None, by: str | None, extra: frozenset[str]) -> Wanted:
    """The columns of a pass over several files, which must agree in them."""
    first = files[0]
    found = of_schema(first.schema, first.name, columns, by, extra)
    for file in files[1:]:
        if file.schema.equals(first.schema):
            continue
        for name in found.names:
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
    return found


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


def jobs(files: Iterable[File], columns: Wanted) -> Iterator[Job]:
    """A job for every row group."""
    order = 0
    for file in files:
        first = 0
        for group in range(file.metadata.num_row_groups):
            n_rows = file.metadata.row_group(group).num_rows
            yield partial(decoded, file, group, columns, first, order)
            first, order = first + n_rows, order + n_rows


def decoded(file: File, group: int, columns: Wanted, first: int, order: int) -> Iterator[Piece]:
    """The rows of one row group."""
    from pyarrow import parquet as pq

    where = f"row group {group} of {file.name}"
    with faults(where):
        source = pq.ParquetFile(
            file.path,
            metadata=file.metadata,
            memory_map=True,
            pre_buffer=False,
            page_checksum_verification=True,
            read_dictionary=[columns.by] if columns.by is not None else None,
        )
        batches = source.iter_batches(BATCH, row_groups=[group], columns=columns.names, use_threads=False)
    while True:
        with faults(where):
            batch = next(batches, None)
        if batch is None:
            return
        with faults(where):
            batch.validate()
        yield piece_of(batch, columns, file.name, first, order, file.slices)
        first, order = first + batch.num_rows, order + batch.num_rows
