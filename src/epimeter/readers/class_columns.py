# SPDX-License-Identifier: Apache-2.0
"""The columns of class probabilities: one a class, found by their names, by the classes named, or by the labels.

A family is numbered (`p_0`, `p_1`), named (`proba_cat`, `proba_dog`), or called like the labels that stand beside it,
bare (`cat`, `dog` beside a label that says cat or dog) or with a beginning or an end of its own (`score_cat`, `cat_prob`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import ReadError
from epimeter.readers.column_names import ByWord, ambiguous
from epimeter.readers.wording import clean, listed, shown, word_of

NUMBERED = ("p", "prob", "class")
NAMED = ("p", "prob", "proba", "probability")
NO_CLASSES = ("p_value", "p_values")
"""Names that begin like a class's probability and are none."""
SUMS = 0.02
"""How far from 1 the class probabilities of a row may sum to be known as such; what is wrong is refused later."""

Sample = Callable[[str], list[Any]]
"""The cells of a column in some rows of the source, the same rows for every column."""
Families = dict[str, tuple[str, ...]]


def families(by_word: ByWord, further: Sequence[str] = ()) -> tuple[Families, list[str]]:
    """Complete sets of class columns by their prefix, one of `further` too, and the columns of one that is not complete."""
    with_numbers, with_names = {*NUMBERED, *further}, {*NAMED, *further}
    numbered: dict[str, dict[int, str]] = {}
    named: dict[str, list[str]] = {}
    for word, alike in by_word.items():
        prefix, _, suffix = word.partition("_")
        if not suffix:
            continue
        if prefix in with_numbers and suffix.isdecimal():
            numbered.setdefault(prefix, {})[int(suffix)] = alike[0]
        elif prefix in with_names and word not in NO_CLASSES:
            named.setdefault(prefix, []).extend(alike)
    found: Families = {}
    broken: list[str] = []
    for prefix, members in numbered.items():
        if len(members) > 1 and max(members) == len(members) - 1:
            found[f"{prefix}_"] = tuple(members[number] for number in range(len(members)))
        else:
            broken = list(members.values())
    for prefix, family in named.items():
        if len(family) > 1 and f"{prefix}_" not in found:
            found[f"{prefix}_"] = _in_order(family)
        elif prefix not in with_numbers:
            broken = family
    return found, broken


def _in_order(family: list[str]) -> tuple[str, ...]:
    """Class columns as the file has them; in order of number when their suffixes are 0..K-1."""
    suffixes = [name.strip().partition("_")[2] for name in family]
    if sorted(suffixes) == sorted(map(str, range(len(family)))):
        return tuple(name for _, name in sorted(zip(map(int, suffixes), family, strict=True)))
    return tuple(family)


def suffixes_of(family: tuple[str, ...]) -> tuple[str, ...] | None:
    """Class names: what the columns do not have in common at their beginning, up to an underscore."""
    if len(family) == 1:
        return None
    heads = {word_of(name).partition("_")[0] for name in family}
    if len(heads) == 1 and all("_" in word_of(name) for name in family):
        return tuple(name.strip()[len(next(iter(heads))) + 1 :] for name in family)
    return tuple(name.strip() for name in family)


def columns_of_classes(names: Sequence[str], classes: Sequence[str]) -> Families:
    """Columns called as the classes are, bare (`cat`, `dog`) or with a beginning of their own (`p_cat`, `p_dog`)."""
    for beginning in ("", *dict.fromkeys(f"{word_of(name).partition('_')[0]}_" for name in names if "_" in name)):
        family = tuple(
            next((name for name in names if word_of(name) == word_of(f"{beginning}{one}")), "") for one in classes
        )
        if all(family):
            return {beginning: family}
    return {}


def ordered_classes(classes: tuple[str, ...], columns: Mapping[str, tuple[str, ...]], source: str) -> tuple[str, ...]:
    """The classes as the caller named them, one a column."""
    chosen = columns.get("probabilities", ())
    if not chosen:
        raise ReadError(f"classes need one probability column each; {source} has none", field="classes")
    if len(chosen) > 1 and len(chosen) != len(classes):
        raise ReadError(
            f"classes must be one a column; {source} has {len(chosen)} columns of probabilities and {len(classes)} classes "
            f"were named, {listed(classes)}",
            field="classes",
        )
    return classes


def columns_of_labels(
    names: Sequence[str], label: str, sample: Sample, known: Container[str], source: str
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Columns called like the labels of some rows, and the classes as the labels write them; None where there are none.

    Parameters
    ----------
    names
        The columns of the source.
    label
        The column of labels.
    sample
        The cells of a column in some rows.
    known
        Columns that play another role.
    source
        The source's name, for messages.
    """
    said = {class_word(value) for value in sample(label)} - {""}
    spelling = {word_of(word): word for word in said}
    free = [name for name in names if name != label]
    if not said or len(spelling) < len(said):
        return None
    first = min(spelling, key=lambda word: (-len(word), word))  # the longest is least likely inside another name
    ways = dict.fromkeys(
        (word[:at], word[at + len(first) :])
        for word in map(word_of, free)
        for at in range(len(word) - len(first) + 1)
        if word.startswith(first, at)
    )
    found = {way: _family(free, way, spelling) for way in ways if _is_border(way)}
    complete = {way: family for way, family in found.items() if spelling.keys() <= family.keys()}
    sound = {
        way: family for way, family in complete.items() if len(family) > 1 and _sums_to_one(family.values(), sample)
    }
    if not sound and ("", "") in complete:  # not every class need be among the labels of some rows
        numeric = {word_of(name): name for name in free if name not in known and _in_unit_range(sample(name))}
        if len(numeric) > 1 and complete["", ""].keys() <= numeric.keys() and _sums_to_one(numeric.values(), sample):
            sound = {("", ""): numeric}
    if len(sound) > 1:
        several = [f"{next(iter(family.values()))} … {list(family.values())[-1]}" for family in sound.values()]
        raise ambiguous("probabilities", several, source)
    if not sound:
        return None
    (way, family), *_ = sound.items()
    classes = tuple(spelling.get(word) or _unwrapped(name, way) for word, name in family.items())
    columns = tuple(family.values())
    if all(one.isdecimal() for one in classes):
        order = sorted(range(len(classes)), key=lambda at: int(classes[at]))
        columns, classes = tuple(columns[at] for at in order), tuple(classes[at] for at in order)
    return columns, classes


def order_note(classes: Sequence[str], columns: Sequence[str]) -> tuple[str, ...]:
    """A sentence for the report where classes were named in the order of columns whose names do not say them."""
    pairs = list(zip(classes, columns, strict=False))
    if len(columns) < 2 or all(word_of(column).endswith(word_of(one)) for one, column in pairs):
        return ()
    told = [f"{clean(column)} is {clean(one)}" for one, column in pairs]
    shown_ones = ", ".join(told if len(told) <= 6 else [*told[:5], "…", told[-1]])
    return (f"the classes were named in the order of their columns: {shown_ones}",)


def label_of_classes(names: Sequence[str], sample: Sample, known: Container[str], source: str) -> str | None:
    """The one column of words that all name class columns, where no column is called like a label; None without one.

    A column that names the likeliest class in every row looked at may be the prediction: it is not taken for the truth.
    """
    found = {}
    for name in names:
        cells = [] if name in known else [cell for cell in sample(name) if cell is not None]
        if cells and all(isinstance(cell, str) for cell in cells) and _numbers(cells) is None:
            called = columns_of_labels(names, name, sample, known, source)
            if called is not None:
                found[name] = called
    if len(found) > 1:
        raise ambiguous("label", list(found), source)
    for name, (columns, classes) in found.items():
        said = np.array([_numbers(sample(column)) for column in columns])
        top = [classes[at] for at in np.argmax(np.nan_to_num(said), axis=0)]
        if all(word_of(class_word(cell)) in ("", word_of(one)) for cell, one in zip(sample(name), top, strict=True)):
            raise ReadError(
                f"the label must be named where it could be the prediction; {shown(name)} of {source} is the likeliest class "
                f"in every row looked at. If it is what came true, say --column label={clean(name)}",
                field="label",
            )
        return name
    return None


def class_word(value: Any) -> str:
    """A label as the name of a class: 1, 1.0 and "1" are one; nothing where there is none."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else ""
    return str(value) if isinstance(value, int | np.integer) and not isinstance(value, bool) else ""


def _is_border(way: tuple[str, str]) -> bool:
    """Whether beginning and end are apart from the class's name: `p_cat`, not `concat`."""
    before, after = way
    return (not before or not before[-1].isalnum()) and (not after or not after[0].isalnum())


def _family(free: Sequence[str], way: tuple[str, str], spelling: Mapping[str, str]) -> dict[str, str]:
    """The columns between one beginning and one end, by the word of their class; bare ones only where a label says it."""
    before, after = way
    found = {}
    for name in free:
        word = word_of(name)
        if word.startswith(before) and word.endswith(after) and len(word) > len(before) + len(after):
            inner = word[len(before) : len(word) - len(after)]
            if before or after or inner in spelling:
                found[inner] = name
    return found


def _unwrapped(name: str, way: tuple[str, str]) -> str:
    bare = name.strip()
    return bare[len(way[0]) : len(bare) - len(way[1])]


def _numbers(cells: list[Any]) -> NDArray[np.float64] | None:
    try:
        return np.array([float(cell) if cell not in (None, "") else np.nan for cell in cells])
    except (TypeError, ValueError):
        return None


def _in_unit_range(cells: list[Any]) -> bool:
    found = _numbers(cells)
    return found is not None and bool(np.all((found >= 0) & (found <= 1)))


def _sums_to_one(family: Any, sample: Sample) -> bool:
    """Whether the rows of the sample that are complete sum to 1."""
    columns = [_numbers(sample(name)) for name in family]
    if any(column is None for column in columns):
        return False
    total = np.sum([column for column in columns if column is not None], axis=0)
    known = total[~np.isnan(total)]
    return bool(len(known)) and bool(np.all(np.abs(known - 1) <= SUMS))
