# SPDX-License-Identifier: Apache-2.0
"""Cells into labels: 0 and 1, or the number of a class.

Accepted are 0 and 1 as whole or floating numbers, true and false (in CSV in any case), and beside class
probabilities the class number or the class name that the columns say. Everything else would have to be
guessed and is refused. A missing label is no fault: its row is unlabelled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.readers.arrays import codes, dense, is_arrow, is_numeric, numbers_or_nan
from epimeter.readers.block import Block
from epimeter.readers.cells import MISSING, Mask, is_gone, number, numbers
from epimeter.readers.wording import listed, shown

TRUTH = {"true": 1, "false": 0}
GONE, BAD = -1, -2


def labels(
    block: Block, name: str, n_classes: int | None = None, class_names: tuple[str, ...] | None = None
) -> tuple[NDArray[Any], Mask]:
    """Labels, 0 and 1 (uint8) or class numbers (int64) when there are classes, and where they are missing."""
    raw = block.columns[name]
    if is_arrow(raw):
        raw = _arrow_labels(raw)
    elif isinstance(raw, list) or raw.dtype.kind not in "fiub":
        raw = _uniques(list(raw) if isinstance(raw, list) else raw.tolist())
    elif class_names is not None and _all_numbers(class_names) and not _are_indices(class_names):
        raw = _uniques(raw.tolist())  # classes called 3, 5, 8: a number is a name
    if isinstance(raw, tuple):
        return _coded(raw, block, name, n_classes, class_names)
    values, gone = numbers(block, name, raw.view(np.uint8) if raw.dtype == bool else raw)
    filled = values if gone is None else np.where(gone, 0, values)
    top = 1 if n_classes is None else n_classes - 1
    bad = (filled < 0) | (filled > top)
    if values.dtype.kind == "f":
        bad |= filled != np.floor(filled)
    if bad.any():
        first = values[int(np.flatnonzero(bad)[0])].item()
        raise block.fault(name, _rule(n_classes), bad, f"has {first:g}", _label_remedy(first, n_classes))
    return filled.astype(np.uint8 if n_classes is None else np.int64, copy=False), gone


def _rule(n_classes: int | None) -> str:
    if n_classes is None:
        return "must be 0 or 1, true or false"
    return f"must be a class number from 0 to {n_classes - 1} or a class name"


def _label_remedy(value: Any, n_classes: int | None) -> str:
    if n_classes is not None:
        return ""
    if isinstance(value, str) and isinstance(number(value), str):
        return "Write 1 where the answer was right and 0 where it was wrong; leave out what nobody knows"
    return "Classes? They need one probability column each, p_0, p_1, …"


def _arrow_labels(column: Any) -> Any:
    """An Arrow column as numpy numbers, or as (codes, distinct values) when it holds anything else."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        return codes(column)
    column = dense(column)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string()).cast(pa.float64())
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if pa.types.is_boolean(column.type) or is_numeric(column):
        return numbers_or_nan(column)
    return _uniques(column.to_pylist())


def _uniques(values: list[Any]) -> tuple[NDArray[np.int64], list[Any]]:
    """Codes and distinct values; 1, 1.0 and True stay apart, since they are distinct things to say."""
    seen: dict[tuple[type, Any], int] = {}
    try:
        found = [seen.setdefault((type(value), value), len(seen)) for value in values]
    except TypeError:  # lists or dicts as labels: not hashable, and no labels
        return np.arange(len(values)), values
    return np.array(found, np.int64), [value for _, value in seen]


def _coded(
    coded: tuple[NDArray[Any], list[Any]],
    block: Block,
    name: str,
    n_classes: int | None,
    class_names: tuple[str, ...] | None,
) -> tuple[NDArray[Any], Mask]:
    """Labels from their codes and few distinct values: each value is judged once."""
    code, distinct = coded
    judged = [_label(value, block.text, n_classes, class_names) for value in distinct]
    table = np.array([*judged, GONE], np.int64)
    found = table[code]  # code -1, a null, is the last entry
    if (found == BAD).any():
        bad = found == BAD
        first = distinct[int(code[int(np.flatnonzero(bad)[0])])]
        remedy = _label_remedy(first, n_classes)
        rule = _rule(n_classes)
        if class_names is not None and isinstance(first, str):
            rule, remedy = "must be a class that has a column", f"The classes are {listed(class_names)}"
        raise block.fault(name, rule, bad, f"has {shown(first)}", remedy)
    gone = found == GONE
    if not gone.any():
        return found.astype(np.uint8 if n_classes is None else np.int64), None
    return np.where(gone, 0, found).astype(np.uint8 if n_classes is None else np.int64), gone


def _label(value: Any, text: bool, n_classes: int | None, class_names: tuple[str, ...] | None) -> int:
    """One distinct label as its number, GONE or BAD."""
    if class_names is not None:
        word = value.strip() if isinstance(value, str) else _whole_text(value)
        if word in class_names:
            return class_names.index(word)
        if _all_numbers(class_names) and not (isinstance(value, str) and word.lower() in MISSING):
            return GONE if is_gone(value) or value != value else BAD
    if is_gone(value) or (isinstance(value, float) and value != value):
        return GONE
    if isinstance(value, str):
        if not text:
            return BAD
        word = value.strip().lower()
        if word in MISSING:
            return GONE
        if n_classes is None:
            return TRUTH.get(word, _whole(number(value), 1))
        return _whole(number(value), n_classes - 1)
    if isinstance(value, bool | np.bool_):
        return int(value) if n_classes in (None, 2) else BAD
    return _whole(value, 1 if n_classes is None else n_classes - 1)


def _whole(value: Any, top: int) -> int:
    if isinstance(value, int | float | np.number) and value in range(top + 1):
        return int(value)
    return BAD


def _whole_text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if isinstance(value, bool) or is_gone(value) else str(value)


def _all_numbers(class_names: tuple[str, ...]) -> bool:
    return all(name.isdecimal() for name in class_names)


def _are_indices(class_names: tuple[str, ...]) -> bool:
    """Whether the names are nothing but 0..K-1 in order: then name and number are one."""
    return class_names == tuple(map(str, range(len(class_names))))
