# SPDX-License-Identifier: Apache-2.0
"""A number that a text states, with what it is out of: a unit, a scale said beside it, a decimal point, or its size.

What leaves several scales open (a bare 7), a range or a bound is ambiguous; nothing is resolved by guessing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from epimeter.readers.logs.phrases import (
    AFTER_LABEL,
    BOUND,
    ENDS,
    NUMBER,
    OUT_OF,
    PAIR,
    PERCENT,
    RANGE,
    RETRACTED,
    SCALE,
    TO_THE_END,
    UNIT,
)

Status = Literal["stated", "none", "ambiguous", "out of range"]


@dataclass(frozen=True, slots=True)
class Stated:
    """What a text states: the confidence in 0..1, or why there is none."""

    value: float | None
    status: Status
    bare: bool = False
    """Whether the number had neither unit nor scale, and its size alone told the scale."""


NONE = Stated(None, "none")
AMBIGUOUS = Stated(None, "ambiguous")
BEYOND = Stated(None, "out of range")
PERCENTS = tuple(Stated(percent / 100, "stated") for percent in range(101))
"""What most texts state."""
DOUBTED = re.compile(
    rf"\s*(?:\?+\s*(?:no|nope|nah|too|not|that(?:'s|\s+(?:is|would|seems))|h+m+|well|wait|really)\b|"
    rf"(?:→|->|=>|➜|⇒)[^\n\d]{{1,40}}{NUMBER}\s*(?:{PERCENT}|/))"
)
"""A number that is asked and not said, or of which another comes."""
THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?")


def scale_of(text: str) -> float | None:
    """The end of a scale that a text declares: 100 of ``(0-100)``, 1 of ``between 0 and 1``."""
    out_of = OUT_OF.search(text) or ENDS.search(text)
    if out_of:
        return float(out_of["high"])
    found = SCALE.search(text)
    if found is None:
        return (
            100.0
            if re.search(rf"\(\s*(?:in\s+|as\s+(?:a\s+)?)?{PERCENT}(?:age)?\s*\)|\bin\s+percent\b", text)
            else None
        )
    if found["percent"]:
        return 100.0
    high = float(found["high"])
    return None if float(found["low"]) >= high else high


def quantity(
    text: str, place: int, high: float | None, percent: bool, words: Mapping[str, float] | None
) -> Stated | None:
    """The number at a place, with its unit; None when there is no number."""
    lead = AFTER_LABEL.match(text, place)
    assert lead is not None
    place = lead.end()
    bound = BOUND.match(text, place)
    if bound:
        is_scale = re.compile(RANGE).match(text, bound.end()) and scale_of(text[place : place + 40]) is not None
        return None if is_scale else AMBIGUOUS
    ranged = re.compile(RANGE).match(text, place)
    if ranged:
        declared = SCALE.match(text, place)
        return None if declared and declared.end() >= ranged.end() else AMBIGUOUS
    if re.compile(PAIR).match(text, place):
        return None if SCALE.match(text, place) else AMBIGUOUS
    found = re.compile(rf"(?P<sign>-)?(?P<number>{NUMBER})").match(text, place)
    if found is None:
        return _word(text, lead.start(), words)
    if found["sign"]:
        return BEYOND
    unit = UNIT.match(text, found.end())
    ended = unit.end() if unit else found.end()
    rest = text[ended : ended + 80]
    onward = re.compile(rf"\s*(?:→|->|=>|➜|⇒)\s*(?={NUMBER}\s*(?:{PERCENT}|/))").match(text, ended)
    onward = onward or RETRACTED.match(text, ended)
    if onward:
        return quantity(text, onward.end(), high, percent, words)
    if re.match(rf"\s*(?:[×·^+]|\bx\b{'' if unit else '|='})\s*{NUMBER}", rest):
        return AMBIGUOUS  # a calculation
    if re.match(rf"\s*\?+\s*(?:or\s+)?(?:maybe|perhaps|possibly|or|no)?[\s,]*{NUMBER}\s*{PERCENT}", rest):
        return AMBIGUOUS
    if DOUBTED.match(rest):
        return AMBIGUOUS
    if re.match(rf"-?ish\s+(?:-|to)\s*{NUMBER}", rest):
        return AMBIGUOUS
    if re.match(r"\+(?!/)", rest) or re.match(
        r"\s*(?:(?:or|and)\s+(?:more|less|higher|so\s+higher|above|lower|up)\b|plus\b|at\s+(?:least|most)|or\s+\d)",
        rest,
    ):
        return AMBIGUOUS
    if re.match(
        rf"(?:\s+or\s+so)?\s*,?\s*(?:or\s+)?(?:maybe|perhaps|possibly|even)\s+(?:even\s+)?{NUMBER}\s*{PERCENT}", rest
    ):
        return AMBIGUOUS
    if re.match(rf"\s*/\s*{NUMBER}\s*%", rest) or re.match(rf"\s*(?:/|or)\s*{NUMBER}", rest):
        return AMBIGUOUS
    if unit is None:
        if percent:
            return scaled(found["number"], 100.0)
        return _bare(found["number"], high, rest)
    if unit["percent"]:
        return scaled(found["number"], 100.0)
    if unit["over"]:
        over = float(unit["over"])
        value = value_of(found["number"])
        if value is not None and value + over == 100 and over != 100:
            return AMBIGUOUS  # 50/50, 60/40: odds, not a fraction
        if re.match(r"\s*%", rest):
            return AMBIGUOUS
        return scaled(found["number"], over)
    return scaled(found["number"], float(unit["of"] or unit["high"] or unit["high2"]))


def _word(text: str, place: int, words: Mapping[str, float] | None) -> Stated | None:
    if not words:
        return None
    for word in sorted(words, key=len, reverse=True):
        if re.compile(rf"[\s\"'(\[]*{re.escape(word.lower())}\b").match(text, place):
            return Stated(float(words[word]), "stated")
    return None


def _bare(number: str, high: float | None, rest: str) -> Stated | None:
    """A number without unit: by the scale that is known, else by its decimal point or its size."""
    value = value_of(number)
    if value is None:
        return BEYOND
    point = "." in number or "," in number
    if not point and not TO_THE_END.match(rest):
        return None  # «confidence is 20 years»: a number of something else
    if point and re.match(r"\s*(?:mm|cm|km|kg|m|s|ms|years?|days?|points?|eur|usd|million|billion)\b", rest):
        return None
    if high is not None:
        # On a scale up to 100 or 10 a 0.85 was still meant as a share.
        if high > 1 and point and 0 < value < 1:
            return AMBIGUOUS
        return scaled(number, high)
    if point and value <= 1:
        return Stated(value, "stated", bare=True)
    if value == 0 or 10 < value <= 100:
        return Stated(value / 100, "stated", bare=True)
    return AMBIGUOUS if value <= 100 else BEYOND


def scaled(number: str, high: float) -> Stated:
    """A number out of `high`, as a share."""
    value = value_of(number)
    if value is None or high <= 0 or value > high or not math.isfinite(value):
        return BEYOND
    return Stated(float(f"{value / high:.12g}"), "stated")


def value_of(number: str) -> float | None:
    """A number with a point or a comma before its decimals; None for thousands."""
    if "," in number and THOUSANDS.fullmatch(number):
        return None
    return float(number.replace(",", "."))
