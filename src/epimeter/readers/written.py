# SPDX-License-Identifier: Apache-2.0
"""Numbers as people write them: in percent, or with a decimal comma.

A column is read so where every cell allows no other reading, and the report says it; anything mixed is left as it is, for the
refusal to name the cell. In a column of text `1,000` alone could be a thousand, so one cell must show that the comma is decimal.
Outside text formats a number in quotes is no number; a percent sign stands only in text, and is read there too.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.readers.arrays import dense, is_arrow, is_numeric, numbers_or_nan
from epimeter.readers.block import Block
from epimeter.readers.cells import MISSING, is_gone
from epimeter.readers.findings import Form

NUMERIC = ("confidence", "probabilities", "weight", "features")
"""Roles whose columns hold numbers."""
PERCENT = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)\s*%", re.ASCII)
COMMA = re.compile(r"[+-]?(\d+(,\d*)?|,\d+)", re.ASCII)
DECIMAL = re.compile(r"[+-]?(0?,\d+|\d+,(\d{1,2}|\d{4,}))", re.ASCII)
"""A comma that cannot group thousands."""


def plainly_written(block: Block) -> tuple[Block, dict[str, Form]]:
    """The block with such columns as numbers, and how each column of numbers in text is written."""
    forms: dict[str, Form] = {}
    columns = dict(block.columns)
    for role in NUMERIC:
        for name in block.roles.columns.get(role, ()):
            raw = columns.get(name)
            cells = _text(raw)
            if cells is not None and (read := _read(cells, block.text)) is not None:
                columns[name], forms[name] = read
            elif block.text:
                forms[name] = "whole" if cells is None and _whole(raw) else "point"
    read_otherwise = any(form not in ("point", "whole") for form in forms.values())
    return (replace(block, columns=columns) if read_otherwise else block), forms


def _text(raw: Any) -> list[Any] | None:
    """The cells of a column, where some of the first are text."""
    if is_arrow(raw):
        raw = dense(raw)
        if str(raw.type) not in ("string", "large_string", "string_view"):
            return None
        cells = raw.to_pylist()
    elif isinstance(raw, list):
        cells = raw
    elif isinstance(raw, np.ndarray) and raw.dtype.kind in "OU" and raw.ndim == 1:
        cells = raw.tolist()
    else:
        return None
    first = next((cell for cell in cells if not _missing(cell)), None)
    return cells if isinstance(first, str) else None


def _missing(cell: Any) -> bool:
    return is_gone(cell) or (isinstance(cell, str) and cell.strip().lower() in MISSING)


def _read(cells: list[Any], text: bool) -> tuple[NDArray[np.float64], Form] | None:
    """Cells that are all in percent, or all with a decimal comma, as numbers; None where they are not."""
    words = [None if _missing(cell) else cell.strip() if isinstance(cell, str) else "?" for cell in cells]
    present = [word for word in words if word is not None]
    if all(map(PERCENT.fullmatch, present)):
        comma = any("," in word for word in present)
        if comma and any("." in word for word in present):
            return None
        # The exponent and not a division: 12.3% is then the double nearest to 0.123.
        return _numbers(words, lambda word: f"{word.rstrip('%').rstrip()}e-2"), "percent comma" if comma else "percent"
    if text and all(map(COMMA.fullmatch, present)) and any(map(DECIMAL.fullmatch, present)):
        return _numbers(words, str), "comma"
    return None


def _numbers(words: list[str | None], spelt: Any) -> NDArray[np.float64]:
    return np.array([np.nan if word is None else float(spelt(word).replace(",", ".")) for word in words], np.float64)


def _whole(raw: Any) -> bool:
    """Whether a column that was read as numbers holds whole ones alone."""
    values = numbers_or_nan(dense(raw)) if is_arrow(raw) and is_numeric(dense(raw)) else raw
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu":
        return False
    known = values[values == values]
    return bool((known == np.floor(known)).all())
