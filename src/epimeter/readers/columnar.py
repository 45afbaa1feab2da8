# SPDX-License-Identifier: Apache-2.0
"""Parquet, Arrow IPC and npz: files that know their columns. Only the columns wanted are read."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain
from typing import Any

import numpy as np

from epimeter.errors import ReadError
from epimeter.readers.arrow_claims import claims
from epimeter.readers.block import SAMPLED, Block, Blocks, Chooser
from epimeter.readers.files import COPIES, Stream, refuse_beyond_memory
from epimeter.readers.parquet_pages import checked_footer, unpacked_bound
from epimeter.readers.records import from_columns
from epimeter.readers.roles import Roles
from epimeter.readers.wording import brief, clean, listed


def parquet(stream: Stream, chooser: Chooser, size: int | None) -> Blocks:
    """A Parquet file in batches of `size` rows, or all at once."""
    with _arrow_faults(stream.source, "Parquet"):
        from pyarrow import parquet as pq

        place = stream.seekable()
        with open(place, "rb") if isinstance(place, str) else nullcontext(place) as raw:
            footer = checked_footer(raw)
            with pq.ParquetFile(place, page_checksum_verification=True) as file:
                roles = _roles(file.schema_arrow, chooser, lambda: next(file.iter_batches(SAMPLED), None))
                n_rows = file.metadata.num_rows
                if not n_rows:
                    raise ReadError(f"{stream.source} has columns but no rows")
                columns = [file.metadata.schema.column(leaf).path for leaf in range(footer.n_columns)]
                wanted = [leaf for leaf, path in enumerate(columns) if path.partition(".")[0] in roles.wanted]
                groups = [[group] for group in range(footer.n_groups)] if size is not None else [None]
                for some in groups:  # piece by piece only one row group is unpacked at a time
                    refuse_beyond_memory(COPIES * unpacked_bound(raw, footer, wanted, some))
                if size is None:
                    found = [file.read(columns=roles.wanted)]
                else:
                    found = file.iter_batches(size, columns=roles.wanted)
                yield from _blocks(_counted((_sound(part) for part in found), n_rows), roles, stream.source)


def arrow(stream: Stream, chooser: Chooser, size: int | None) -> Blocks:
    """An Arrow IPC file or stream, batch by batch as it was written, or all at once."""
    with _arrow_faults(stream.source, "Arrow"):
        import pyarrow as pa
        from pyarrow import ipc

        whole = stream.head.startswith(b"ARROW1")
        place = stream.seekable()
        _refuse_arrow_bomb(place, whole, size is None)
        with pa.OSFile(place) if isinstance(place, str) else pa.PythonFile(place, "r") as file:
            reader = ipc.open_file(file) if whole else ipc.open_stream(file)
            found = (reader.get_batch(i) for i in range(reader.num_record_batches)) if whole else iter(reader)
            first = next(found, None)
            roles = _roles(reader.schema, chooser, lambda: first)
            found = chain([first] if first is not None else [], found)
            parts: Iterator[Any] = (_sound(batch.select(roles.wanted)) for batch in found)
            if size is None:
                parts = iter([pa.Table.from_batches(list(parts), _selected(reader.schema, roles))])
            empty = True
            for block in _blocks((part for part in parts if part.num_rows), roles, stream.source):
                empty = False
                yield block
            if empty:
                raise ReadError(f"{stream.source} has columns but no rows")


def _refuse_arrow_bomb(place: Any, whole: bool, at_once: bool) -> None:
    """Refuse batches that claim to unpack to more than memory holds, before the first is unpacked: all of them, or the largest.

    A file is the same messages as a stream, between a mark of eight bytes and a footer.
    """
    import pyarrow as pa
    from pyarrow import ipc

    with pa.memory_map(place) if isinstance(place, str) else nullcontext(pa.PythonFile(place, "r")) as file:
        file.seek(8 if whole else 0)
        sizes = [size for _, size in claims(ipc.MessageReader.open_stream(file))]
        file.seek(0)
    refuse_beyond_memory(COPIES * (sum(sizes) if at_once else max(sizes, default=0)))


def _counted(parts: Iterator[Any], n_rows: int) -> Iterator[Any]:
    """The parts, which together have as many rows as the footer says."""
    left = n_rows
    for part in parts:
        left -= part.num_rows
        if left < 0:
            break
        yield part
    if left:
        raise ValueError("its pages have another number of rows than the footer says")


def _selected(schema: Any, roles: Roles) -> Any:
    import pyarrow as pa

    return pa.schema([schema.field(name) for name in roles.wanted])


def _sound(batch: Any) -> Any:
    """The batch, its offsets and text checked: a damaged file must not be read beyond its buffers."""
    batch.validate(full=True)
    return batch


def _roles(schema: Any, chooser: Chooser, first: Callable[[], Any]) -> Roles:
    """The roles of the columns; `first` gives the first rows, should names alone not say them."""

    def sample(name: str) -> list[Any]:
        batch = first()
        return [] if batch is None else _sound(batch.select([name]).slice(0, SAMPLED)).column(0).to_pylist()

    return chooser(schema.names, list_columns(schema), sample)


def list_columns(schema: Any) -> frozenset[str]:
    """Columns of an Arrow schema that hold a list a row."""
    return frozenset(field.name for field in schema if "list" in str(field.type) or "tensor" in str(field.type))


def _blocks(parts: Any, roles: Roles, source: str) -> Blocks:
    """Arrow tables or batches as blocks."""
    start = 0
    for part in parts:
        refuse_beyond_memory(16 * part.num_rows)  # rows that are all alike, or null, take no room in a file
        yield Block(
            source=source,
            roles=roles,
            columns={name: part.column(name) for name in roles.wanted},
            n_rows=part.num_rows,
            rows=range(start, start + part.num_rows),
        )
        start += part.num_rows


@contextmanager
def _arrow_faults(source: str, format: str) -> Iterator[None]:
    """What pyarrow raises as one sentence."""
    import pyarrow as pa

    try:
        yield
    except ReadError:
        raise
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as fault:
        if isinstance(fault, OSError) and fault.errno is not None:
            raise  # the system's own, worded where the file was opened
        reason = brief(fault)
        raise ReadError(f"{source} must be a whole {format} file; it is damaged or was cut off ({reason})") from None


def npz(stream: Stream, chooser: Chooser) -> Blocks:
    """Named arrays of one .npz file. An array of Python objects is refused unopened: unpickling runs code."""
    place = stream.seekable()
    try:
        with zipfile.ZipFile(place) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            if len(members) < len(archive.infolist()):
                raise ReadError(f"the arrays of an npz file must have different names; {stream.source} has one twice")
            if "[Content_Types]" in members or "[Content_Types].xml" in members:
                raise ReadError(
                    f"{stream.source} is an Office document, not npz. A workbook? Call it .xlsx, or use --format xlsx"
                )
            foreign = [info.filename for info in members.values() if not info.filename.endswith(".npy")]
            if foreign or not members:
                raise ReadError(
                    f"an npz file holds arrays only; {stream.source} holds {listed(foreign) or 'nothing'}. "
                    "An evaluation log of inspect-ai holds header.json"
                )
            for name, info in members.items():
                _check_array(archive, name, info, stream.source)
            refuse_beyond_memory(sum(info.file_size for info in members.values()))
            yield _named_arrays(place, chooser, stream.source)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError, RuntimeError) as fault:
        raise ReadError(
            f"{stream.source} must be a whole npz file; it is damaged or was cut off ({brief(fault)})"
        ) from None


def _check_array(archive: zipfile.ZipFile, name: str, info: zipfile.ZipInfo, source: str) -> None:
    """Read a member's header only: no objects, and as many bytes as its shape says."""
    from numpy.lib import format as npy

    try:
        with archive.open(info) as member:
            version = npy.read_magic(member)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, _, dtype = read(member)
            said = int(np.prod(shape, dtype=object)) * dtype.itemsize + member.tell()
    except (ValueError, SyntaxError, TypeError) as fault:
        raise ReadError(f"{clean(name)} of {source} must be a numpy array ({brief(fault)})", field=name) from None
    if dtype.hasobject:
        raise ReadError(
            f"{clean(name)} of {source} must be numbers or text; it holds pickled Python objects, which can run "
            "code and are never opened. Save it with a plain dtype",
            field=name,
        )
    if shape and shape[0] and not dtype.itemsize * np.prod(shape[1:], dtype=object):
        raise ReadError(f"{clean(name)} of {source} must have values; its {shape[0]} rows are of no size", field=name)
    if said != info.file_size:
        raise ReadError(
            f"{clean(name)} of {source} must have the size its header says; the file is damaged", field=name
        )


def _named_arrays(place: Any, chooser: Chooser, source: str) -> Block:
    """The arrays by name as columns; single values beside them are metadata."""
    if not isinstance(place, str):
        place.seek(0)
    columns: dict[str, Any] = {}
    about: dict[str, Any] = {}
    try:
        with np.load(place, allow_pickle=False) as arrays:
            for name in arrays.files:
                values = arrays[name]
                if values.ndim == 0:
                    about[name] = values.item()
                else:
                    columns[name] = values
    except ValueError as fault:
        raise ReadError(f"{source} must hold plain arrays ({brief(fault)})") from None
    return from_columns(columns, chooser, source, about)
