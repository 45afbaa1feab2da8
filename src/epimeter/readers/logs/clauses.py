# SPDX-License-Identifier: Apache-2.0
"""Clauses around a word for confidence: what they say of it, and the statement they make."""

from __future__ import annotations

import re
from dataclasses import dataclass

from epimeter.readers.logs.phrases import (
    AFTER_LABEL,
    CLAUSE,
    CONDITION,
    LISTED,
    NEGATION,
    NUMBER,
    PERCENT,
)
from epimeter.readers.logs.quantity import Stated

NUMBER_AND_UNIT = re.compile(rf"{NUMBER}\s*(?:{PERCENT}|/\s*\d+|out\s+of\s+\d+)?[)\]]?", re.I)


@dataclass(frozen=True, slots=True)
class Mention:
    """A statement of confidence: where its word stands, what it says, and how far it counts."""

    place: int
    stated: Stated
    weak: bool = False
    option: str | None = None
    chance: bool = False
    """Whether it is a chance of being right: it counts where no confidence is stated."""
    loose: bool = False
    """Whether it is a chance that does not say of what: it counts where nothing speaks of confidence."""


def clause(text: str, place: int, end: int) -> tuple[str, str]:
    """The clause up to a place, and the rest of the clause after an end."""
    start = 0
    for cut in CLAUSE.finditer(text, max(0, place - 300), place):
        start = cut.end()
    after = CLAUSE.search(text, end, end + 200)
    return text[max(start, place - 300) : place], text[end : after.start() if after else end + 200]


def excluded(before: str, after: str) -> bool:
    """Whether a clause speaks of a condition, or repeats an instruction."""
    return bool(CONDITION.search(before)) or (
        bool(re.match(r"[^.\n]{0,40}\b(?:if|unless)\b", after)) and "if" in before
    )


def negated(before: str) -> bool:
    """Whether a clause denies what follows."""
    before = re.split(r"\s[-—]+\s|[:;]", before)[-1]  # «not sure at all - 20% confidence»
    return bool(NEGATION.search(before[-60:])) and not re.search(r"\b(?:although|though|not\s+only)\b", before)


def option_listed(text: str, place: int) -> re.Match[str] | None:
    """The option at the beginning of the line that goes up to a place and holds nothing else."""
    return LISTED.search(text[max(0, place - 24) : place])


def after_number(text: str, place: int) -> str:
    """What follows the number at a place, within the sentence."""
    lead = AFTER_LABEL.match(text, place)
    found = NUMBER_AND_UNIT.match(text, lead.end() if lead else place)
    return text[found.end() : found.end() + 80].partition("\n")[0] if found else ""
