# SPDX-License-Identifier: Apache-2.0
"""Names as people write them: folded to be compared, and the nearest ones where none is it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

MOST = 6
"""Names that an answer holds at most."""
SHORT = 5
"""Letters below which a likeness of letters is chance, unless the first one is right."""


def folded(name: str) -> str:
    """A name without what people write differently: case, hyphens, spaces, underscores."""
    return re.sub(r"[\W_]+", "", name.casefold().replace("@", "at"))


def nearest(name: str, called: Mapping[str, Iterable[str]]) -> list[str]:
    """The ids whose names hold every word of `name`, else the one whose name is spelt most like it.

    Parameters
    ----------
    name
        What was asked for.
    called
        Ids, each with all its names.
    """
    asked = _words(name)
    if not asked:
        return []
    held = {one: {word for each in (one, *names) for word in _words(each)} for one, names in called.items()}
    for fits in (_is_word, _begins):
        found = [one for one, words in held.items() if all(fits(word, words) for word in asked)]
        if found:
            return sorted(found, key=lambda one: len(_words(one)))[:MOST]
    word = folded(name)
    spelt: dict[str, list[str]] = {}
    for one, names in called.items():
        for each in {folded(other) for other in (one, *names)} - {""}:
            if len(word) >= SHORT or each[0] == word[0]:
                spelt.setdefault(each, []).append(one)
    near = difflib.get_close_matches(word, spelt, n=1)
    return spelt[near[0]][:MOST] if near else []


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W_]+", name.casefold())


def _is_word(word: str, words: set[str]) -> bool:
    return word in words


def _begins(word: str, words: set[str]) -> bool:
    """Whether a word begins so; two letters begin too many."""
    return word in words or (len(word) > 2 and any(each.startswith(word) for each in words))
