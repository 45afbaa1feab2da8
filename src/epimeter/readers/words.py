# SPDX-License-Identifier: Apache-2.0
"""Cells into words, ids and times."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.readers.arrays import codes, dense, is_arrow, valid, values
from epimeter.readers.block import Block
from epimeter.readers.cells import is_gone
from epimeter.readers.wording import clean, shown

ZONED = r"\d[Tt ]\d.*([Zz]|[+-]\d\d(:?\d\d)?)\s*$|^\s*$"
"""A time that ends with its zone, Z, +01, +0100 or +01:00; an empty cell is no time and needs none."""


def words(block: Block, name: str) -> NDArray[Any]:
    """A column of words or whole numbers: whole numbers stay numbers, words are str; None where missing."""
    raw = block.columns[name]
    if is_arrow(raw):
        import pyarrow as pa

        if pa.types.is_integer(raw.type) and not raw.null_count:
            return values(dense(raw))
        code, distinct = _coded(raw)
        return np.asarray(np.array([*map(_worded, distinct), None], object)[code])
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "iu":
        return np.asarray(raw)
    cells = raw.tolist() if isinstance(raw, np.ndarray) else list(raw)
    if cells and set(map(type, cells)) == {int}:
        try:
            return np.array(cells, np.int64)
        except OverflowError:
            pass
    return _objects(cells)


def _objects(cells: Any) -> NDArray[Any]:
    made = np.empty(len(cells), object)
    made[:] = [_worded(cell) for cell in cells]
    return made


def _coded(column: Any) -> tuple[NDArray[Any], list[Any]]:
    """Codes and distinct values of an Arrow column; -1 for null."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        try:
            column = column.dictionary_encode()
        except pa.ArrowException:  # lists, structs: one code a row
            return np.arange(len(column)), column.to_pylist()
    return codes(column)


def _worded(value: Any) -> Any:
    """A word as str; an empty one, a null or a NaN as None."""
    if is_gone(value) or value == "" or (isinstance(value, float) and value != value):
        return None
    return value if isinstance(value, str) else str(value)


def identities(block: Block, name: str) -> Any:
    """A column of ids as text; an Arrow column of strings stays one."""
    raw = block.columns[name]
    if is_arrow(raw):
        import pyarrow as pa

        whole = dense(raw)
        if pa.types.is_string(whole.type) or pa.types.is_large_string(whole.type):
            return whole
        try:
            return whole.cast(pa.string())
        except pa.ArrowException:
            raw = whole.to_pylist()
    return _objects(raw.tolist() if isinstance(raw, np.ndarray) else raw)


def times(block: Block, name: str) -> NDArray[np.datetime64] | str:
    """A column of times in UTC; a sentence when it holds something else, to be refused or noted."""
    raw = block.columns[name]
    if isinstance(raw, np.ndarray) and raw.dtype.kind == "M":
        return raw.astype("datetime64[us]")
    if isinstance(raw, list) and set(map(type, raw)) == {str}:
        import pyarrow as pa

        raw = pa.array(raw, pa.string())
    if is_arrow(raw):
        import pyarrow as pa

        raw = dense(raw)
        if pa.types.is_timestamp(raw.type) or pa.types.is_date(raw.type):
            return _clock(raw.cast(pa.timestamp("us"), safe=False))
        if (pa.types.is_string(raw.type) or pa.types.is_large_string(raw.type)) and not raw.null_count:
            for kind in (pa.timestamp("us", "UTC"), pa.timestamp("us")):
                try:
                    return _clock(raw.cast(kind))
                except pa.ArrowException:  # some have a zone and some have none, or a cell is no time
                    continue
        raw = raw.to_pylist()
    made = np.empty(block.n_rows, "datetime64[us]")
    for row, value in enumerate(raw):
        moment = _moment(value)
        if moment is None:
            where = f"{block.numbering} {int(block.rows[row])} of {block.source}"
            return f"{clean(name)} must hold ISO 8601 times; {where} has {shown(value)}"
        made[row] = moment
    return made


def first_without_zone(block: Block, name: str) -> int | None:
    """The first row whose time says no zone; None when all do. Missing times say nothing."""
    raw = block.columns[name]
    if isinstance(raw, np.ndarray) and raw.dtype.kind == "M":
        return 0
    if isinstance(raw, list) and set(map(type, raw)) == {str}:
        import pyarrow as pa

        raw = pa.array(raw, pa.string())
    if is_arrow(raw):
        import pyarrow as pa

        raw = dense(raw)
        if pa.types.is_timestamp(raw.type):
            return 0 if raw.type.tz is None else None
        if pa.types.is_string(raw.type) or pa.types.is_large_string(raw.type):
            from pyarrow import compute

            zoned = compute.match_substring_regex(raw, ZONED).fill_null(True)
            row = compute.index(zoned, False).as_py()
            return None if row < 0 else int(row)
        raw = raw.to_pylist()
    return next((row for row, value in enumerate(raw) if not _zoned(value)), None)


def _zoned(value: Any) -> bool:
    if isinstance(value, datetime):
        return value.tzinfo is not None
    return bool(re.search(ZONED, value)) if isinstance(value, str) and value else not isinstance(value, date)


def _clock(column: Any) -> NDArray[np.datetime64]:
    """An Arrow array of microseconds as numpy times, NaT where null."""
    import pyarrow as pa

    made = values(column.view(pa.int64())).view("datetime64[us]")
    present = valid(column)
    return made if present is None else np.where(present, made, np.datetime64("NaT", "us"))


def _moment(value: Any) -> np.datetime64 | None:
    """One time in UTC; NaT when missing, None when it is no time."""
    if is_gone(value) or value == "" or (isinstance(value, float) and value != value):
        return np.datetime64("NaT", "us")
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, datetime):
        if value.tzinfo is not None:
            value = value.astimezone(UTC).replace(tzinfo=None)
        return np.datetime64(value, "us")
    return np.datetime64(value, "us") if isinstance(value, date) else None
