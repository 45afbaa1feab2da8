# SPDX-License-Identifier: Apache-2.0
"""Parquet pages straight into arrays, for the columns that a pass reads most: numbers and booleans without nulls.

pyarrow decodes everything and is asked for everything that is not plain: nulls, lists, text, rarer encodings and
codecs. For a column of doubles beside one of booleans most of its time goes into what is not there, and its columns
come as whole row groups. Here pages are read, unpacked and handed on by compiled loops while they are in the cache:
several times less work a row (docs/benchmarks.md). A test holds both ways to the same rows.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.scale import page_headers, snappy
from epimeter.scale import page_loops as loops

WINDOW = 1 << 18
"""Bytes read at a time: they stay in the cache of a core. A page that is taken as a whole may make the window longer."""
TYPES = {"DOUBLE": np.float64, "FLOAT": np.float32, "INT32": np.int32, "INT64": np.int64, "BOOLEAN": np.uint8}
CODECS = {"UNCOMPRESSED": False, "SNAPPY": True}
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
    def of(cls, metadata: Any, schema: Any, group: int, name: str, words: bool = False) -> Chunk:
        """The column of that name; NotPlain when it is not one of the plain kinds, or with `words` not text."""
        place = schema.names.index(name)
        kind = schema.types[place]
        if words and str(kind).startswith("dictionary"):
            kind = kind.value_type
        if str(kind) not in (WORDS if words else ARROW):
            raise NotPlain
        found = metadata.schema.column(place) if len(metadata.schema) == len(schema.names) else None
        if found is None or found.path != name or found.max_repetition_level or found.max_definition_level > 1:
            raise NotPlain  # nested columns elsewhere shift the places
        column = metadata.row_group(group).column(place)
        if column.compression not in CODECS or column.physical_type not in ({"BYTE_ARRAY"} if words else TYPES):
            raise NotPlain
        start = column.data_page_offset
        if column.has_dictionary_page and column.dictionary_page_offset:
            start = min(start, column.dictionary_page_offset)
        return cls(
            start,
            column.total_compressed_size,
            column.num_values,
            column.physical_type,
            CODECS[column.compression],
            found.max_definition_level == 1,
        )

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
        self.page = buffers.get(f"{name} page", snappy.BLOCK)
        self.codes = buffers.get(f"{name} codes", 1 << 15, np.int32)
        self.entry = np.uint8 if chunk.words else chunk.dtype
        self.dictionary = buffers.get(f"{name} dictionary", 1 << 15, self.entry)
        self.header = np.zeros(page_headers.FIELDS, np.int64)
        self.state = np.zeros(loops.STATES, np.int64)
        self.state[loops.LEFT], self.state[loops.ENTRIES] = chunk.n_values, -1
        self.read_on(0)

    def read_on(self, size: int) -> None:
        """Move the window to the first byte not yet used, and read at least `size` bytes."""
        self.at += int(self.state[loops.AT])
        if size > len(self.window):
            self.window = buffers.get(f"{self.name} window", size)
        wanted = min(len(self.window), self.end - self.at)
        got = os.preadv(self.file, [self.window[:wanted].data], self.at) if wanted > 0 else 0
        if got < wanted:
            raise Broken("the file ends within a column")
        self.state[loops.AT], self.state[loops.END] = 0, got
        self.state[loops.WHOLE] = self.at + got >= self.end

    def fill(self, out: NDArray[Any]) -> int:
        """Fill `out` with the next values; gives back how many there were."""
        state, chunk = self.state, self.chunk
        state[loops.FILLED] = 0
        octets = out.view(np.uint8)
        while True:
            ended = loops.fill(
                self.window,
                self.page,
                self.codes,
                self.dictionary,
                self.dictionary.view(np.uint8),
                out,
                octets,
                len(out),
                state,
                self.header,
                chunk.packed,
                chunk.nullable,
                chunk.physical == "BOOLEAN",
                chunk.words,
            )
            if ended == loops.DONE:
                return int(state[loops.FILLED])
            need = int(state[loops.NEED])
            if ended == loops.MORE:
                self.read_on(need)
            elif ended == loops.GROW_PAGE:
                self.page = buffers.get(f"{self.name} page", need)
            elif ended == loops.GROW_CODES:
                self.codes = buffers.get(f"{self.name} codes", need, np.int32)
            elif ended == loops.GROW_DICTIONARY:
                self.dictionary = buffers.get(f"{self.name} dictionary", need, self.entry)
            elif ended == loops.NOT_PLAIN:
                raise NotPlain
            else:
                raise Broken("a page is not what its header says")

    def words(self) -> list[str]:
        """What the codes stand for."""
        octets, at, found = self.dictionary[: int(self.state[loops.OCTETS])].tobytes(), 0, []
        for _ in range(int(self.state[loops.ENTRIES])):
            end = at + 4 + int.from_bytes(octets[at : at + 4], "little")
            if at + 4 > len(octets) or end > len(octets):
                raise Broken("a dictionary is not what its header says")
            try:
                found.append(octets[at + 4 : end].decode())
            except UnicodeDecodeError:
                raise NotPlain from None
            at = end
        return found
