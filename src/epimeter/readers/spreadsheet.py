# SPDX-License-Identifier: Apache-2.0
"""Excel workbooks: the first sheet that holds anything, its first row the names of the columns.

Cells are taken as they are stored: a formula by the value it last had, an error value as missing.
"""

from __future__ import annotations

import warnings
import zipfile
from contextlib import nullcontext
from typing import Any

import numpy as np

from epimeter.errors import MissingExtraError, ReadError
from epimeter.readers.block import Block, Blocks, Chooser, spread_rows
from epimeter.readers.files import COPIES, Stream, refuse_beyond_memory
from epimeter.readers.wording import brief, clean

ERRORS = frozenset({"#N/A", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#GETTING_DATA"})
"""What a cell holds whose formula has no value."""


def workbook(stream: Stream, chooser: Chooser) -> Blocks:
    """The first sheet with cells of an Excel workbook, as one block."""
    try:
        from openpyxl import load_workbook
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise MissingExtraError("reading Excel workbooks", "openpyxl", "excel") from None
    place = stream.seekable()
    try:
        with zipfile.ZipFile(place) as archive:
            refuse_beyond_memory(COPIES * sum(member.file_size for member in archive.infolist()))
        with open(place, "rb") if isinstance(place, str) else nullcontext(place) as raw, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what openpyxl does not know (styles, validation) is no concern of ours
            book = load_workbook(raw, read_only=True, data_only=True)
            try:
                yield _block(book, chooser, stream.source)
            finally:
                book.close()
    except (ReadError, MemoryError):
        raise
    except (InvalidFileException, zipfile.BadZipFile, KeyError, ValueError, TypeError, SyntaxError, OSError) as fault:
        raise ReadError(
            f"{stream.source} must be a whole Excel workbook; it is damaged or was cut off ({brief(fault)})"
        ) from None


def _block(book: Any, chooser: Chooser, source: str) -> Block:
    for sheet in book.worksheets:
        sheet.reset_dimensions()  # what the file claims of its size need not be so
        rows = ((number, cells) for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1))
        full = [(number, cells) for number, cells in rows if any(cell is not None for cell in cells)]
        if full:
            return _sheet(full, chooser, f"{source}, sheet {clean(sheet.title)}")
    raise ReadError(f"{source} must have a sheet with cells; all of its sheets are empty")


def _sheet(rows: list[tuple[int, tuple[Any, ...]]], chooser: Chooser, source: str) -> Block:
    """The rows below the first, which names the columns."""
    header, body = rows[0][1], rows[1:]
    names = ["" if name is None else str(name).strip() for name in header]
    while names and not names[-1]:
        names.pop()
    if all(isinstance(name, int | float) for name in header if name is not None):
        raise ReadError(f"the first row must name the columns; {source} begins with numbers. Add a row such as p, y")
    if not body:
        raise ReadError(f"{source} has column names but no rows")
    columns = {name: [_value(cells, place) for _, cells in body] for place, name in enumerate(names)}
    some = spread_rows(len(body))
    roles = chooser(names, frozenset(), lambda name: [columns[name][row] for row in some])
    return Block(
        source=source,
        roles=roles,
        columns={name: columns[name] for name in roles.wanted},
        n_rows=len(body),
        rows=np.array([number for number, _ in body], np.int64),
    )


def _value(cells: tuple[Any, ...], place: int) -> Any:
    value = cells[place] if place < len(cells) else None
    if isinstance(value, str):
        return None if not value.strip() or value.strip() in ERRORS else value
    return value
