# SPDX-License-Identifier: Apache-2.0
"""Parquet pages straight into arrays, for the columns that a pass reads most: numbers and booleans without nulls.

pyarrow decodes everything and is asked for everything that is not plain: nulls, lists, text, rarer encodings and codecs. For a
column of doubles beside one of booleans most of its time goes into what is not there, and its columns come as whole row
groups. Here `core/parquet_pages.c` reads, unpacks and hands on pages while they are in the cache: several times less work a
row (docs/benchmarks.md). A test holds both ways to the same rows.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.core import ffi, lib, read, write
from epimeter.readers.parquet_pages.footer import Footer

WINDOW = 1 << 18
"""Bytes read at a time: they stay in the cache of a core. A page that is taken as a whole may make the window longer."""
BLOCK = 1 << 16
"""Bytes of a page that are unpacked at a time."""
LARGEST_PAGE = 1 << 26
"""Bytes that a page may unpack to; larger ones are left to pyarrow."""
TYPES = {"DOUBLE": np.float64, "FLOAT": np.float32, "INT32": np.int32, "INT64": np.int64, "BOOLEAN": np.uint8}
PACKED = {"UNCOMPRESSED": False, "SNAPPY": True}
ARROW = frozenset({"double", "float", "bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))})
"""Arrow types whose values are the physical ones as they stand."""
WORDS = frozenset({"string", "large_string"})


class NotPlain(Exception):
    """A column that is left to pyarrow."""


class Broken(Exception):
    """A page that cannot be what the format says."""


@dataclass(frozen=True)
class Chunk:
    """Where one column of one row group lies in its file, and how it is written."""

    start: int
    size: int
    n_values: int
    physical: str
    packed: bool
    nullable: bool

    @classmethod
    def of(cls, footer: Footer, columns: Any, schema: Any, group: int, name: str, words: bool = False) -> Chunk:
        """The column of that name; NotPlain when it is not one of the plain kinds, or with `words` not text.

        `columns` is pyarrow's schema of the file itself, `schema` that of the table it stands for.
        """
        place = schema.names.index(name)
        kind = schema.types[place]
        if words and str(kind).startswith("dictionary"):
            kind = kind.value_type
        if str(kind) not in (WORDS if words else ARROW):
            raise NotPlain
        found = columns.column(place) if len(columns) == len(schema.names) else None
        if found is None or found.path != name or found.max_repetition_level or found.max_definition_level > 1:
            raise NotPlain  # nested columns elsewhere shift the places
        facts = footer.facts(group, place)
        if facts.codec not in PACKED or facts.physical not in ({"BYTE_ARRAY"} if words else TYPES):
            raise NotPlain
        nullable = found.max_definition_level == 1
        return cls(facts.start, facts.size, facts.n_values, facts.physical, PACKED[facts.codec], nullable)

    @property
    def words(self) -> bool:
        """Whether it is text, of which codes are read."""
        return self.physical == "BYTE_ARRAY"

    @property
    def dtype(self) -> Any:
        return np.int32 if self.words else TYPES[self.physical]


class _Buffers(threading.local):
    """Memory that a thread uses for one column after another: fresh memory costs more than what is done with it."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, Any], NDArray[Any]] = {}

    def get(self, name: str, size: int, dtype: Any = np.uint8) -> NDArray[Any]:
        """A buffer of at least that size."""
        found = self.held.get((name, dtype))
        if found is None or len(found) < size:
            found = self.held[name, dtype] = np.empty(size, dtype)
        return found


buffers = _Buffers()


class Column:
    """A column chunk that is read value by value, in as much memory as a few pages, whatever its size."""

    def __init__(self, file: int, chunk: Chunk, name: str) -> None:
        self.file, self.chunk, self.name = file, chunk, name
        self.at, self.end = chunk.start, chunk.start + chunk.size
        self.window = buffers.get(f"{name} window", WINDOW)
        self.page = buffers.get(f"{name} page", BLOCK)
        self.codes = buffers.get(f"{name} codes", 1 << 15, np.int32)
        self.dictionary = buffers.get(f"{name} dictionary", 1 << 18)
        self.state = ffi.new("epi_parquet_column *")
        self.state.left, self.state.entries, self.state.largest = chunk.n_values, -1, LARGEST_PAGE
        self.state.compressed, self.state.nullable = chunk.packed, chunk.nullable
        self.state.boolean, self.state.words = chunk.physical == "BOOLEAN", chunk.words
        self.read_on(0)

    def read_on(self, size: int) -> None:
        """Move the window to the first byte not yet used, and read at least `size` bytes."""
        self.at += self.state.at
        if size > len(self.window):
            self.window = buffers.get(f"{self.name} window", size)
        wanted = min(len(self.window), self.end - self.at)
        got = os.preadv(self.file, [self.window[:wanted].data], self.at) if wanted > 0 else 0
        if got < wanted:
            raise Broken("the file ends within a column")
        self.state.at, self.state.end = 0, got
        self.state.whole = self.at + got >= self.end

    def fill(self, out: NDArray[Any]) -> int:
        """Fill `out` with the next values; gives back how many there were."""
        state = self.state
        state.filled = 0
        octets = out.view(np.uint8)
        while True:
            ended = lib.epi_parquet_fill(
                state,
                *(read(self.window), len(self.window), write(self.page), len(self.page)),
                *(write(self.codes), len(self.codes), write(self.dictionary), len(self.dictionary)),
                *(write(octets), len(octets), out.itemsize, len(out)),
            )
            if ended == lib.EPI_DONE:
                return int(state.filled)
            need = int(state.need)
            if ended == lib.EPI_MORE:
                self.read_on(need)
            elif ended == lib.EPI_GROW_PAGE:
                self.page = buffers.get(f"{self.name} page", need)
            elif ended == lib.EPI_GROW_CODES:
                self.codes = buffers.get(f"{self.name} codes", need, np.int32)
            elif ended == lib.EPI_GROW_DICTIONARY:
                self.dictionary = buffers.get(f"{self.name} dictionary", need)
            elif ended == lib.EPI_NOT_PLAIN:
                raise NotPlain
            else:
                raise Broken("a page is not what its header says")

    def words(self) -> list[str]:
        """What the codes stand for."""
        octets, at, found = self.dictionary[: self.state.octets].tobytes(), 0, []
        for _ in range(self.state.entries):
            end = at + 4 + int.from_bytes(octets[at : at + 4], "little")
            if at + 4 > len(octets) or end > len(octets):
                raise Broken("a dictionary is not what its header says")
            try:
                found.append(octets[at + 4 : end].decode())
            except UnicodeDecodeError:
                raise NotPlain from None
            at = end
        return found
