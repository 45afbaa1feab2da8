# SPDX-License-Identifier: Apache-2.0
"""Cells into numbers and matrices of numbers, with what is missing.

Nothing is repaired. A number is a number (text stands for one only in CSV), a missing cell is a null, a
NaN, or in CSV an empty cell or a word such as NA. Ranges are not looked at here.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.readers.arrays import dense, is_arrow, is_numeric, numbers_or_nan
from epimeter.readers.arrays import values as values_of
from epimeter.readers.block import Block
from epimeter.readers.wording import shown

Mask = NDArray[np.bool_] | None

MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "-"})
"""What a CSV cell says when it says nothing; not in columns of words, where NA may be a name."""


def numbers(block: Block, name: str, raw: Any = None) -> tuple[NDArray[Any], Mask]:
    """A column of numbers, and where it is missing (null or NaN)."""
    values = block.columns[name] if raw is None else raw
    if is_arrow(values):
        values = _arrow_numbers(values)
    if isinstance(values, np.ndarray) and values.dtype == object:
        values = values.tolist()
    if isinstance(values, list):
        values = _listed_numbers(values, block, name)
    if values.dtype.kind not in "fiu":
        kind = {"b": "true or false", "U": "text", "S": "bytes", "M": "a date"}.get(
            values.dtype.kind, str(values.dtype)
        )
        raise block.fault(
            name, "must be numbers", 0, f"has {kind}: {shown(values.ravel()[0].item())}", count=len(values)
        )
    return values, missing(values)


def missing(values: NDArray[Any]) -> Mask:
    """Where numbers are NaN; None when nowhere. The minimum carries any NaN, and is quick."""
    if values.dtype.kind != "f" or not values.size or not np.isnan(values.min()):
        return None
    gone = np.isnan(values)
    return gone if gone.ndim == 1 else np.asarray(gone.any(axis=1))


def _arrow_numbers(column: Any) -> Any:
    """An Arrow column as numpy; nulls become NaN, for `missing` to find. What is no number goes on as a list."""
    import pyarrow as pa

    column = dense(column)
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string()).cast(pa.float64())  # the direct cast makes 0.7 0.7000000000000001
    return numbers_or_nan(column) if is_numeric(column) else column.to_pylist()


def _listed_numbers(values: list[Any], block: Block, name: str) -> NDArray[Any]:
    """A list of numbers and nulls; text is a number only where the format knows nothing but text."""
    if block.text:
        values = [number(value) for value in values]
    else:
        values = [None if is_gone(value) else value for value in values]
    kinds = set(map(type, values))
    good = {kind for kind in kinds if issubclass(kind, int | float | np.number) and not issubclass(kind, bool)}
    if not kinds - good - {type(None)}:
        try:
            return np.array(values, np.float64)
        except OverflowError:
            bad = np.array([isinstance(value, int) and abs(value) > 10**300 for value in values])
            raise block.fault(name, "must be numbers", bad, "has one beyond all floats") from None
    bad = np.array([value is not None and type(value) not in good for value in values])
    first = values[int(np.flatnonzero(bad)[0])]
    raise block.fault(name, "must be numbers", bad, f"has {shown(first)}", _remedy(first, block.text))


def is_gone(value: Any) -> bool:
    """Whether a cell is a null of Python or pandas."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def number(value: Any) -> Any:
    """A cell of text as a number, as missing, or as it is."""
    if not isinstance(value, str):
        return value
    word = value.strip()
    if word.lower() in MISSING:
        return None
    try:
        # float() also reads 1_000 and the digits of every script; nobody else who reads the file would.
        return value if "_" in word or not word.isascii() else float(word)
    except ValueError:
        return value


def _remedy(value: Any, text: bool) -> str:
    if not isinstance(value, str):
        return ""
    word = value.strip()
    if word.endswith("%"):
        return "Percent? Write 0.87 for 87%"
    if word.replace(",", "", 1).isdecimal():
        return "Decimal comma? Write 0.5 for 0,5"
    if not text and isinstance(number(value), float):
        return "Write the number without quotes"
    return ""


def matrix(block: Block, names: tuple[str, ...]) -> tuple[NDArray[Any], Mask]:
    """Several columns of numbers side by side, or one column of lists of equal length."""
    if len(names) == 1:
        raw = block.columns[names[0]]
        if isinstance(raw, np.ndarray) and raw.ndim == 2:
            return numbers(block, names[0])
        if is_arrow(raw):
            raw = dense(raw)
            if raw.null_count == 0 and hasattr(raw, "flatten"):
                return _arrow_lists(raw, block, names[0])
            raw = raw.to_pylist()
        if not (hasattr(raw, "__len__") and any(isinstance(row, list | tuple | np.ndarray) for row in raw)):
            values, gone = numbers(block, names[0], raw)
            return values[:, None], gone
        return _lists(raw if isinstance(raw, list) else list(raw), block, names[0])
    columns = [numbers(block, name) for name in names]
    kind = np.result_type(*(values for values, _ in columns))
    table = np.empty((block.n_rows, len(names)), kind if kind in (np.float16, np.float32, np.float64) else np.float64)
    lost_rows: Mask = None
    for index, (values, lost) in enumerate(columns):
        table[:, index] = values
        if lost is not None:
            lost_rows = lost if lost_rows is None else lost_rows | lost
    return table, lost_rows


def _arrow_lists(column: Any, block: Block, name: str) -> tuple[NDArray[Any], Mask]:
    """An Arrow column of lists without nulls as a matrix; the numbers are not copied."""
    flat = column.flatten()
    if hasattr(column.type, "list_size"):
        width = column.type.list_size
    else:
        lengths = np.diff(values_of(column.offsets))
        width = int(lengths[0]) if len(lengths) else 0
        _refuse_ragged(lengths, block, name)
    values, _ = numbers(block, name, flat)
    table = values.reshape(len(column), width)
    return table, missing(table)


def _lists(rows: list[Any], block: Block, name: str) -> tuple[NDArray[Any], Mask]:
    """Lists of numbers as a matrix; a row that is null is missing as a whole."""
    bad = np.array([row is not None and not isinstance(row, list | tuple | np.ndarray) for row in rows])
    if bad.any():
        first = rows[int(np.flatnonzero(bad)[0])]
        raise block.fault(name, "must be lists of numbers", bad, f"has {shown(first)}")
    present = [row for row in rows if row is not None]
    gone = np.array([row is None for row in rows])
    width = len(present[0])
    _refuse_ragged(np.array([width if row is None else len(row) for row in rows]), block, name)
    flat = list(chain.from_iterable(present))
    values = numbers(_rows_of_cells(block, gone, width), name, flat)[0].reshape(len(present), width)
    table = np.full((len(rows), width), np.nan)
    table[~gone] = values
    return table, missing(table)


def _rows_of_cells(block: Block, gone: NDArray[np.bool_], width: int) -> Block:
    """The block as its lists laid end to end, so that a fault names the row it is in."""
    rows = np.repeat(np.asarray(block.rows, np.int64)[~gone], width)
    return Block(
        source=block.source,
        roles=block.roles,
        columns={},
        n_rows=len(rows),
        rows=rows,
        numbering=block.numbering,
        text=block.text,
    )


def _refuse_ragged(lengths: NDArray[Any], block: Block, name: str) -> None:
    if len(lengths) and (lengths != lengths[0]).any():
        bad = lengths != lengths[0]
        first = int(lengths[int(np.flatnonzero(bad)[0])])
        raise block.fault(name, f"must have {lengths[0]} numbers in every row", bad, f"has {first}")
