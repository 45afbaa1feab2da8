# SPDX-License-Identifier: Apache-2.0
"""How many bytes a Parquet file can become, known before any of them is allocated.

The footer states encoded sizes, and a dictionary entry of a mebibyte can stand for every row. So the headers of the pages are
walked: a value takes its width, or as many bytes as the longest entry of its dictionary, or as its page unpacks to.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from epimeter.core import ffi, lib, read
from epimeter.readers.parquet_pages.footer import ColumnFacts, Footer

WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
LARGEST_DICTIONARY = 1 << 28
DICTIONARY_PAGE = 2
CODED = (2, 8)
"""Encodings whose values are codes of the dictionary."""
FRONT_CODED = 7
"""DELTA_BYTE_ARRAY: a value may repeat all of the one before."""
OFFSET = 8
"""Bytes beside the characters of a text."""


def unpacked_bound(file: Any, footer: Footer, columns: Iterable[int], groups: Iterable[int] | None = None) -> int:
    """At most so many bytes do these columns unpack to; a ValueError where a page makes no sense."""
    wanted = list(columns)
    total = 0
    for group in range(footer.n_groups) if groups is None else groups:
        for column in wanted:
            total += _column_bound(file, footer.facts(group, column))
    file.seek(0)
    return total


def _column_bound(file: Any, facts: ColumnFacts) -> int:
    """Of one column of one row group."""
    header = ffi.new("epi_page_header *")
    at, end, left = facts.start, facts.start + facts.size, facts.n_values
    longest, total = 0, 0
    while left > 0 and at < end:
        length = _header(file, at, end, header)
        size, packed, values = int(header.size), int(header.compressed_size), int(header.values)
        if size < 0 or packed < 0 or values < 0 or packed > end - at - length:
            raise ValueError("a page lies outside its column")
        if header.kind == DICTIONARY_PAGE:
            longest = _longest_entry(file, at + length, packed, size, values, facts)
            total += size
        elif header.kind != 1:
            total += _page_bound(facts.physical, int(header.encoding), values, size, longest)
            left -= values
        at += length + packed
    return total


def _page_bound(physical: str, encoding: int, values: int, size: int, longest: int) -> int:
    if physical in WIDTHS:
        return max(values * WIDTHS[physical], size)
    if encoding in CODED:
        return values * (longest + OFFSET)
    if encoding == FRONT_CODED:
        return values * (size + OFFSET)
    return size + values * OFFSET


def _header(file: Any, at: int, end: int, header: Any) -> int:
    for size in (1 << 10, 1 << 16):
        file.seek(at)
        data = np.frombuffer(file.read(min(size, end - at)), np.uint8)
        length = int(lib.epi_parquet_page_header(read(data), len(data), header))
        if length > 0:
            return length
    raise ValueError("a page header makes no sense")


def _longest_entry(file: Any, at: int, packed: int, size: int, entries: int, facts: ColumnFacts) -> int:
    """The longest entry of a dictionary; where it cannot be looked at, all of it may be one entry."""
    if facts.physical != "BYTE_ARRAY":
        return size // max(entries, 1)
    if size > LARGEST_DICTIONARY:
        return size
    file.seek(at)
    data = file.read(packed)
    if facts.codec != "UNCOMPRESSED":
        import pyarrow as pa

        name = {"LZ4_RAW": "lz4_raw"}.get(facts.codec, facts.codec.lower())
        if not pa.Codec.is_available(name) if name not in ("lzo", "lz4") else True:
            return size
        data = pa.Codec(name).decompress(data, size, asbytes=True)
    octets = np.frombuffer(data, np.uint8)
    longest = int(lib.epi_parquet_longest_entry(read(octets), len(octets), entries))
    if longest < 0:
        raise ValueError("a dictionary is not what its header says")
    return longest
