# SPDX-License-Identifier: Apache-2.0
"""Cells into labels: 0 and 1, or the number of a class.

Accepted are 0 and 1 as whole or floating numbers, true and false, a pair of plain words (yes and no, right and wrong), the
label that the caller says is outcome 1 and all others as 0, and beside class probabilities the class number or the class
name that the columns say. Everything else would have to be guessed and is refused. A missing label is no fault: its row
is unlabelled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.readers.arrays import codes, dense, is_arrow, is_numeric, numbers_or_nan
from epimeter.readers.block import Block
from epimeter.readers.cells import MISSING, Mask, is_gone, number, numbers
from epimeter.readers.class_columns import class_word
from epimeter.readers.findings import NOTHING, Findings
from epimeter.readers.wording import clean, listed, shown

PAIRS = (
    ("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("negative", "positive"), ("neg", "pos"), ("wrong", "right"),
    ("incorrect", "correct"), ("failure", "success"), ("fail", "pass"), ("failed", "passed"),
)  # fmt: skip
"""Words for 0 and for 1 that nobody uses the other way round."""
GONE, BAD = -1, -2


def positive_labels(block: Block, name: str, positive: str) -> tuple[NDArray[Any], Mask, Findings]:
    """1 where the label is the one that the caller says is outcome 1, 0 elsewhere; where it is missing; the other labels."""
    code, distinct = distinct_cells(block, name)
    words = ["" if is_missing(value, block.text) else cell_word(value) for value in distinct]
    table = np.array([GONE if not word else int(word == positive) for word in words] + [GONE], np.int64)
    found = table[code]
    others = frozenset(word for word in words if word and word != positive)
    gone = found == GONE
    said = Findings(label=name, positive=positive, zeros=others)
    return np.where(gone, 0, found).astype(np.uint8), gone if gone.any() else None, said


def equal_cells(block: Block, prediction: str, label: str) -> tuple[NDArray[np.uint8], Mask]:
    """1 where the prediction is the label, 0 where it is another, and where the label is missing.

    Numbers are compared as numbers, words as words; a missing prediction, and predictions of another kind than the labels,
    are refused.
    """
    said_code, said = distinct_cells(block, prediction)
    true_code, true = distinct_cells(block, label)
    said_words = [None if is_missing(value, block.text) else cell_word(value) for value in said]
    true_words = [None if is_missing(value, block.text) else cell_word(value) for value in true]
    place: dict[str | None, int] = {}
    said_at = np.array(
        [place.setdefault(word, len(place)) for word in said_words] + [place.setdefault(None, len(place))]
    )
    true_at = np.array([place.setdefault(word, len(place)) for word in true_words] + [place[None]])
    answers, truths = said_at[said_code], true_at[true_code]
    gone = truths == place[None]
    missing = (answers == place[None]) & ~gone
    if missing.any():
        raise block.fault(prediction, "must be present in every labelled row", missing, "has none")
    numbers_said = [_is_number(word) for word in said_words if word is not None]
    numbers_true = [_is_number(word) for word in true_words if word is not None]
    if (
        numbers_said
        and numbers_true
        and all(numbers_said) != all(numbers_true)
        and not {*said_words} & {*true_words} - {None}
    ):
        kinds = ["numbers" if all(kind) else "words" for kind in (numbers_said, numbers_true)]
        raise block.fault(
            prediction,
            f"must be of the kind of {clean(label)}, to be compared with it; the predictions are {kinds[0]} and the labels "
            f"{kinds[1]}",
            0,
            f"has {shown(said[int(said_code[0])])} beside {shown(true[int(true_code[0])])}",
            "Write both as the same classes",
            1,
        )
    return (answers == truths).view(np.uint8), gone if gone.any() else None


def distinct_cells(block: Block, name: str) -> tuple[NDArray[Any], list[Any]]:
    """A column as codes and its distinct values; code -1 is a null."""
    raw = block.columns[name]
    if is_arrow(raw):
        import pyarrow as pa

        if not pa.types.is_dictionary(raw.type):
            raw = raw.dictionary_encode() if not pa.types.is_nested(raw.type) else raw
        return codes(raw) if pa.types.is_dictionary(raw.type) else _uniques(raw.to_pylist())
    if isinstance(raw, np.ndarray) and raw.dtype.kind in "iub":
        values, code = np.unique(raw, return_inverse=True)
        return code, values.tolist()
    return _uniques(list(raw) if isinstance(raw, list) else raw.tolist())


def cell_word(value: Any) -> str:
    """A label as a word: 1, 1.0 and "1" are one label, `Yes` and `yes` are two."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    if isinstance(value, str):
        parsed = number(value)
        return value.strip() if isinstance(parsed, str) or parsed != parsed else cell_word(parsed)
    return str(value)


def is_missing(value: Any, text: bool) -> bool:
    """Whether a cell holds no label."""
    if is_gone(value) or (isinstance(value, float) and value != value):
        return True
    return isinstance(value, str) and (not value.strip() or (text and value.strip().lower() in MISSING))


def _is_number(word: str | None) -> bool:
    return word is not None and not isinstance(number(word), str)


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
        raise block.fault(
            name, _rule(n_classes), bad, f"has {first:g}", _label_remedy(first, n_classes, block.roles.beside)
        )
    return filled.astype(np.uint8 if n_classes is None else np.int64, copy=False), gone


def _rule(n_classes: int | None) -> str:
    if n_classes is None:
        return "must be 0 or 1, true or false"
    return f"must be a class number from 0 to {n_classes - 1} or a class name"


def _label_remedy(value: Any, n_classes: int | None, beside: str | None = None, distinct: Sequence[Any] = ()) -> str:
    """What may be meant instead; `beside` is a column of predictions that is not read, `distinct` what else is in the column."""
    asked = number(value) if isinstance(value, str) else value
    if n_classes is not None:
        counted = not isinstance(asked, str) and asked == n_classes
        return f"Labels 1 to {n_classes}? Say --classes 1,2,…,{n_classes}, written out" if counted else ""
    if isinstance(asked, float | np.floating) and 0 < asked < 1:
        return (
            "Probabilities in place of outcomes? Say which is which with --column label=NAME and --column confidence=NAME; soft "
            "labels have no right and wrong"
        )
    if beside is not None and value not in (-1, "-1"):
        return (
            f"Is it the confidence in the answer {clean(beside)} that is stated? Say --kind answer. The probability of one label? "
            f"Say which with --positive"
        )
    if isinstance(value, str) and isinstance(number(value), str):
        words = dict.fromkeys(
            word.strip()[:20] for word in (value, *distinct) if isinstance(word, str) and word.strip()
        )
        said = " or ".join(f"--positive {word!r}" for word in (words if len(words) == 2 else [value.strip()[:20]]))
        return f"Which label is outcome 1? Say {said}, or write 1 where it came true (or the answer was right) and 0 where not"
    if value in (-1, "-1"):
        return "Labels -1 and 1? Say --positive 1"
    if value in (2, "2"):
        return (
            "Labels 1 and 2? Say --positive 2. Classes? They need one probability column each, p_0, p_1, … (or a column with the "
            "prediction, and --kind answer)"
        )
    return "Classes? They need one probability column each, p_0, p_1, … (or a column with the prediction, and --kind answer)"


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
    words = _pair(distinct) if n_classes is None else {}
    columns = tuple(name.strip() for name in block.roles.columns.get("probabilities", ()))
    judged = [_label(value, block.text, n_classes, class_names, columns, words) for value in distinct]
    table = np.array([*judged, GONE], np.int64)
    found = table[code]  # code -1, a null, is the last entry
    if (found == BAD).any():
        bad = found == BAD
        first = distinct[int(code[int(np.flatnonzero(bad)[0])])]
        remedy = _label_remedy(first, n_classes, block.roles.beside, distinct)
        rule = _rule(n_classes)
        if class_names is not None and isinstance(first, str):
            rule = "must be a class that has a column"
            remedy = remedy or f"The classes are {listed(class_names)}"
        raise block.fault(name, rule, bad, f"has {shown(first)}", remedy)
    gone = found == GONE
    if not gone.any():
        return found.astype(np.uint8 if n_classes is None else np.int64), None
    return np.where(gone, 0, found).astype(np.uint8 if n_classes is None else np.int64), gone


def _pair(distinct: list[Any]) -> dict[str, int]:
    """The pair of words that the labels are, if all of them are of one pair."""
    words = {
        value.strip().lower() for value in distinct if isinstance(value, str) and value.strip().lower() not in MISSING
    }
    for pair in PAIRS:
        if words and words <= set(pair):
            return {pair[0]: 0, pair[1]: 1}
    return dict(zip(PAIRS[0], (0, 1), strict=True))  # true and false stand beside 0 and 1 too


def plain_words(values: list[Any]) -> NDArray[np.uint8] | None:
    """Labels that are a pair of plain words, yes and no, as 0 and 1; None for all others."""
    if not values or not all(isinstance(value, str) for value in values):
        return None
    pair = _pair(list(dict.fromkeys(values)))
    found = [pair.get(value.strip().lower(), BAD) for value in values]
    return None if BAD in found else np.array(found, np.uint8)


def label_words(block: Block, name: str) -> Findings:
    """The words that were read as 0 and 1, where labels are words other than true and false."""
    raw = block.columns[name]
    if is_arrow(raw):
        import pyarrow as pa

        kind = raw.type.value_type if pa.types.is_dictionary(raw.type) else raw.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or "string_view" in str(kind)):
            return NOTHING
    elif not isinstance(raw, list) and raw.dtype.kind in "fiub":
        return NOTHING
    return word_findings(distinct_cells(block, name)[1], name)


def word_findings(distinct: list[Any], name: str) -> Findings:
    """Which of two plain words is 1, where labels are such words other than true and false."""
    pair = _pair(distinct)
    if "true" in pair:
        return NOTHING
    words: dict[int, set[str]] = {0: set(), 1: set()}
    for value in distinct:
        if isinstance(value, str) and value.strip().lower() in pair:
            words[pair[value.strip().lower()]].add(value.strip())
    return Findings(label=name, ones=frozenset(words[1]), zeros=frozenset(words[0]))


def _label(
    value: Any,
    text: bool,
    n_classes: int | None,
    class_names: tuple[str, ...] | None,
    columns: tuple[str, ...],
    words: Mapping[str, int],
) -> int:
    """One distinct label as its number, GONE or BAD."""
    if class_names is not None:
        word = class_word(value)
        for names in (class_names, columns):  # a label may be called like the column of its class: class_0
            if word in names:
                return names.index(word)
        if _all_numbers(class_names) and not (isinstance(value, str) and word.lower() in MISSING):
            return GONE if is_gone(value) or value != value else BAD
    if is_gone(value) or (isinstance(value, float) and value != value):
        return GONE
    if isinstance(value, str):
        word = value.strip().lower()
        if n_classes is None and word in words:
            return words[word]
        if not text:
            return BAD
        if word in MISSING:
            return GONE
        return _whole(number(value), 1 if n_classes is None else n_classes - 1)
    if isinstance(value, bool | np.bool_):
        return int(value) if n_classes in (None, 2) else BAD
    return _whole(value, 1 if n_classes is None else n_classes - 1)


def _whole(value: Any, top: int) -> int:
    if isinstance(value, int | float | np.number) and value in range(top + 1):
        return int(value)
    return BAD


def _all_numbers(class_names: tuple[str, ...]) -> bool:
    return all(name.isdecimal() for name in class_names)


def _are_indices(class_names: tuple[str, ...]) -> bool:
    """Whether the names are nothing but 0..K-1 in order: then name and number are one."""
    return class_names == tuple(map(str, range(len(class_names))))
