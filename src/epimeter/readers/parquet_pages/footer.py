# SPDX-License-Identifier: Apache-2.0
"""The footer of a Parquet file, checked by `core/parquet_footer.c` before pyarrow sees it.

pyarrow ends the process when a column's own description contradicts its schema and somebody asks for that description. So
nobody asks: where the columns lie is read here, and pyarrow is given files whose schema, groups and columns agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.core import lib, read, write

MAGIC = b"PAR1"
TAIL = 8
TYPES = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
CODECS = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW")
FAULTS = (
    "",
    "its footer makes no sense or ends too early",
    "its schema is not a tree of columns",
    "a row group has other columns than the schema",
    "a column has another number of values than its row group has rows",
    "a column lies outside the file",
    "the row groups have another number of rows than the file says",
)


@dataclass(frozen=True)
class ColumnFacts:
    """What the footer says of one column of one row group."""

    physical: str
    codec: str
    n_values: int
    start: int
    size: int
    unpacked: int


@dataclass(frozen=True)
class Footer:
    """The columns of a file by row group; `numbers` has shape (groups, columns, 7)."""

    numbers: NDArray[np.int64]

    @property
    def n_groups(self) -> int:
        return len(self.numbers)

    @property
    def n_columns(self) -> int:
        return int(self.numbers.shape[1])

    def rows(self, group: int) -> int:
        """Rows of a row group."""
        return int(self.numbers[group, 0, 6])

    def facts(self, group: int, column: int) -> ColumnFacts:
        """One column of one row group."""
        kind, codec, values, start, size, unpacked, _ = self.numbers[group, column].tolist()
        return ColumnFacts(TYPES[kind], CODECS[codec], values, start, size, unpacked)


def checked_footer(file: Any) -> Footer:
    """The footer of a file that can be read at any place, or a ValueError that says what is wrong with it."""
    end = file.seek(0, 2)
    file.seek(max(0, end - TAIL))
    tail = file.read(TAIL)
    if end < TAIL + len(MAGIC) or tail[4:] != MAGIC:
        if tail[4:] == b"PARE":
            raise ValueError("it is encrypted, which is not read here")
        raise ValueError("Parquet magic bytes not found in footer")
    size = int.from_bytes(tail[:4], "little")
    begin = end - TAIL - size
    if begin < len(MAGIC):
        raise ValueError(FAULTS[1])
    file.seek(begin)
    data = np.frombuffer(file.read(size), np.uint8)
    if len(data) != size:
        raise ValueError(FAULTS[1])
    counts = np.zeros(2, np.int64)
    table = np.empty(0, np.int64)
    for _ in range(2):  # how much room it takes is known after the first time
        fault = lib.epi_parquet_footer_fault(read(data), size, begin, write(table), len(table), write(counts), 2)
        if fault:
            raise ValueError(FAULTS[fault])
        groups, columns = counts.tolist()
        table = table if len(table) else np.zeros(7 * groups * columns, np.int64)
    file.seek(0)
    return Footer(table.reshape(groups, columns, 7))
