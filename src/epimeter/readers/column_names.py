# SPDX-License-Identifier: Apache-2.0
"""Columns by name: looked up as the caller wrote them, and the refusals where a name says too little or too much."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from epimeter.errors import ReadError
from epimeter.readers.wording import listed, shown, word_of

ByWord = Mapping[str, list[str]]
"""The columns of a source by their names as they are compared."""


def by_words(names: Sequence[str]) -> ByWord:
    """The columns by the word that each is compared by."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(word_of(name), []).append(name)
    return found


def named(words: Iterable[str], by_word: ByWord) -> list[str]:
    """The columns that are called one of the words, in the words' order."""
    return [name for word in words for name in by_word.get(word, ())]


def one_column(names: Sequence[str], wanted: str, role: str, source: str) -> str:
    """The column of that name, exactly or but for its case."""
    if wanted in names:
        return wanted
    alike = [name for name in names if word_of(name) == word_of(wanted)]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise ambiguous(role, alike, source)
    close = difflib.get_close_matches(wanted, names[:1000], 1)
    hint = f"did you mean {shown(close[0])}? " if close else ""
    raise ReadError(
        f"{source} has no column {shown(wanted)} for {role}; {hint}its columns are {listed(names)}",
        field=role,
    )


def several_columns(names: Sequence[str], wanted: str, role: str, source: str) -> tuple[str, ...]:
    """Columns by one name, by a common beginning (`p_`), or one after the other (`a,b,c`)."""
    if wanted in names:
        return (wanted,)
    if "," in wanted:
        return tuple(one_column(names, part.strip(), role, source) for part in wanted.split(","))
    begins = word_of(wanted)
    family = tuple(name for name in names if word_of(name).startswith(begins) and word_of(name) != begins)
    if family and wanted.endswith(("_", "-", ".")):
        numbers = [name.strip()[len(wanted.strip()) :] for name in family]
        if all(number.isdecimal() for number in numbers):
            family = tuple(sorted(family, key=lambda name: int(name.strip()[len(wanted.strip()) :])))
        return family
    return (one_column(names, wanted, role, source),)


def ambiguous(role: str, found: Sequence[str], source: str, prefix: str | None = None) -> ReadError:
    """The refusal where several columns could play one role."""
    if len(set(found)) == 1:
        return ReadError(f"columns must have different names; {source} has {shown(found[0])} twice", field=found[0])
    other = f" or --column probabilities={prefix}" if prefix else ""
    several = listed([shown(name) for name in found], "and")
    return ReadError(
        f"only one column can serve as {role}; {source} has {several}. Choose with --column {role}=NAME{other}",
        field=role,
    )


def absent(role: str, names: Sequence[str], source: str, remedy: str = "") -> ReadError:
    """The refusal where no column plays a role."""
    classes = ", or the classes that have a column each with --classes A,B,C" if role == "confidence" else ""
    return ReadError(
        f"{source} has no column for {role}; its columns are {listed(names)}. Name it with --column {role}=NAME{classes}"
        + (f". {remedy}" if remedy else ""),
        field=role,
    )


def asks_for_logits(words: Iterable[str]) -> str:
    """The remedy where no column is a probability and some are called like scores, `logit_3`; nothing otherwise."""
    named = [word for word in words if word.partition("_")[0] in ("logit", "logits")]
    return f"Scores before softmax, as {shown(named[0])}? Say --logits" if named else ""


def refuse_doubles(names: Sequence[str], columns: Mapping[str, tuple[str, ...]], source: str) -> None:
    """Two columns of one name: which is meant cannot be said."""
    if len(set(names)) == len(names):
        return
    count = Counter(names)
    for name in (name for chosen in columns.values() for name in chosen):
        if count[name] > 1:
            raise ReadError(f"columns must have different names; {source} has {shown(name)} twice", field=name)
