# SPDX-License-Identifier: Apache-2.0
"""Columns of arriving tables as plain values: words, numbers, times, right or wrong."""

from __future__ import annotations

import math
from typing import Any

from epimeter.errors import InputError

LONGEST = 200
"""Letters of an id, a label, a slice."""
WHOLE = 2.0**53
"""From here on neighbouring whole numbers are one and the same float."""


def texts(table: Any, name: str | None) -> list[str | None]:
    """A column of words or whole numbers as words; None throughout where there is no such column."""
    import pyarrow as pa

    if name is None:
        return [None] * table.num_rows
    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    held = column.type
    if pa.types.is_floating(held):
        return [_number_text(cell) for cell in column.to_pylist()]
    if str(held) == "extension<arrow.uuid>":
        return [None if cell is None else str(cell) for cell in column.to_pylist()]
    if pa.types.is_null(held):
        return [None] * len(column)
    if pa.types.is_boolean(held):
        column = column.cast(pa.int8()).cast(pa.string())
    elif pa.types.is_integer(held) or str(held) == "string_view":
        column = column.cast(pa.string())
    elif not (pa.types.is_string(held) or pa.types.is_large_string(held)):
        raise no_words(table, name)
    cells = column.to_pylist()
    long = next(
        (row for row, cell in enumerate(cells) if cell is not None and (len(cell) > LONGEST or "\0" in cell)), None
    )
    if long is not None:
        raise InputError(
            f"{name} must have at most {LONGEST} letters and no NUL; row {long:,} does not", field=name, row=long
        )
    return list(cells)


def _number_text(cell: float | None) -> str | None:
    """A number as a word, every digit of it: a whole one as it stands in a column of whole numbers; None where there is none."""
    if cell is None or math.isnan(cell):
        return None
    return str(int(cell)) if cell.is_integer() and abs(cell) < WHOLE else repr(cell)


def no_words(table: Any, name: str) -> InputError:
    """The refusal of a column that holds neither words nor numbers."""
    held = str(table.column(name).type)[:80]
    return InputError(f"{name[:60]} must hold words or whole numbers; it holds {held}", field=name)


def numbers(table: Any, name: str) -> Any:
    """A column with a number in every row."""
    import pyarrow as pa

    column = table.column(name)
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        raise InputError(f"{name} must be a number in every row; it holds {column.type}", field=name)
    if column.null_count:
        first = column.is_null().to_pylist().index(True)
        raise InputError(
            f"{name} must be a number in every row; {column.null_count:,} of {len(column):,} have none, the first is row {first:,}",
            field=name,
            row=first,
            count=column.null_count,
        )
    return column.cast(pa.float64()).to_numpy()


def moments(table: Any, name: str | None) -> list[int | None]:
    """Times as microseconds since 1970; a time without a zone is UTC."""
    import pyarrow as pa

    if name is None:
        return [None] * table.num_rows
    column = table.column(name)
    try:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            import datetime

            made: list[int | None] = []
            for row, cell in enumerate(column.to_pylist()):
                if cell is None:
                    made.append(None)
                    continue
                try:
                    moment = datetime.datetime.fromisoformat(cell.replace("Z", "+00:00"))
                    moment = moment.replace(tzinfo=moment.tzinfo or datetime.UTC)
                    made.append(round(moment.timestamp() * 1e6))
                except (ValueError, OverflowError):
                    raise InputError(
                        f"{name} must hold times such as 2026-02-10T09:00:00Z; row {row:,} has {cell!r:.40}",
                        field=name,
                        row=row,
                    ) from None
            return made
        if pa.types.is_date(column.type):
            column = column.cast(pa.timestamp("us"))
        if pa.types.is_timestamp(column.type):
            return list(column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64()).to_pylist())
    except InputError:
        raise
    except (ValueError, OverflowError, pa.ArrowException):
        pass
    if pa.types.is_null(column.type):
        return [None] * table.num_rows
    raise InputError(
        f"{name} must hold times such as 2026-02-10T09:00:00Z; it holds {str(column.type)[:80]}", field=name
    )


def bit(cell: Any, row: int) -> int:
    """Right or wrong, 1 or 0."""
    if isinstance(cell, bool) or cell in (0, 1):
        return int(cell)
    raise InputError(f"correct must be true or false, 1 or 0; row {row:,} has {cell!r:.40}", field="correct", row=row)
