# SPDX-License-Identifier: Apache-2.0
"""Statements with the number before the word, or without a noun: ``85% sure``, ``How sure am I? 85%``, ``confident (85%)``."""

from __future__ import annotations

import re

from epimeter.readers.logs.clauses import Mention, clause, excluded, negated, option_listed
from epimeter.readers.logs.phrases import (
    ANOTHER,
    ASKED,
    BEFORE,
    EARLIER,
    ELSEWHERE,
    FILLER,
    FIRST_PERSON,
    GIVEN,
    MEANS,
    MYSELF,
    NUMBER,
    OF_A_STUDY,
    OF_BEING_WRONG,
    OF_STATISTICS,
    OPTION_AFTER,
    OTHER,
    PERCENT,
    REPORTED,
    SAID,
    THE_ANSWER,
    VALUE_BEFORE,
    WOULD,
)
from epimeter.readers.logs.quantity import AMBIGUOUS, quantity, scaled

ADVERBS = re.compile(r"\W*(?:(?:\w+ly|quite|very|pretty|rather|almost|not|answer|b|how)\W+)*", re.I)

MY_ANSWER_IS_RIGHT = re.compile(
    r"\s*that\s+(?:my|this|the)\s+(?:\w+\s+)?(?:answer|guess|choice|response)\s+is\s+(?:correct|right)\b"
)


def number_first(text: str, label: re.Match[str]) -> Mention | None:
    """Form 2 with a noun: ``with 85% confidence``, ``an 85% chance of being right``."""
    if label["word"].startswith("p") and "(" in label["word"]:
        return None
    return _value_before(text, label)


def adjective(text: str, label: re.Match[str]) -> Mention | None:
    """Form 2 and 3: ``85% sure``; ``how sure am I? 85%``; ``confident (85%)``."""
    first = _value_before(text, label)
    if first is not None:
        return first
    before, _ = clause(text, label.start(), label.end())
    if re.search(r"\bhow\s+$", before):
        asked = re.compile(rf"[^?:\n]{{0,40}}[?:]\s*(?:a(?:nswer)?:\s*)?(?:{FILLER}\s+)*(?={NUMBER})").match(
            text, label.end()
        )
        if asked:
            reading = quantity(text, asked.end(), None, False, None)
            return None if reading is None else Mention(label.start(), reading)
        return None
    if label["adjective"] == "likely" or negated(before) or excluded(before, ""):
        return None
    if REPORTED.search(before) and not FIRST_PERSON.search(before):
        return None
    if (
        label["adjective"] in ("positive", "certain", "sure")
        and not MYSELF.search(before)
        and not ADVERBS.fullmatch(before)
    ):
        return None  # «a false positive: 5%»
    direct = re.compile(
        rf"(?:\s+(?:in|of|about)\s+(?:(?:this|my)\s+(?:\w+\s+)?\w+|the\s+(?:\w+\s+)?(?:answer|response|choice|guess|solution))(?=\s*[:(]))?\s*(?:[:=(\[,]|\bat\b|\bto\b|\bà|\bzu\b|\bal\b|\ball'|\bna\b|\bна\b)\s*(?:{FILLER}\s*)*(?={NUMBER}\s*(?:{PERCENT}|/\s*\d|\s+out\s+of|\.\d))"
    ).match(text, label.end())
    if direct is None and re.match(r"\s*[:=(\[]\s*0?[.,]\d", text[label.end() : label.end() + 40]):
        direct = re.compile(r"\s*[:=(\[]\s*").match(text, label.end())
    if direct is None:
        return None
    reading = quantity(text, direct.end(), None, False, None)
    return None if reading is None else Mention(label.start(), reading, bool(EARLIER.search(before)))


def _value_before(text: str, label: re.Match[str]) -> Mention | None:
    window = text[max(0, label.start() - 60) : label.start()].rpartition("\n")[2]
    found = VALUE_BEFORE.search(window)
    if found is None or (found["unit"] is None and not re.fullmatch(r"0?[.,]\d+|1[.,]0+", found["number"])):
        return None
    if re.search(r"[a-z\d_.,]$", window[: found.start()]) and not window[: found.start()].endswith(" "):
        return None
    if OTHER.match(text, label.end()) or re.compile(r"\s*(?:level|limit)\b").match(text, label.end()):
        return None
    place = label.start() - (len(window) - found.start())
    before, _ = clause(text, place, place)
    rest = text[label.end() : label.end() + 80]
    if negated(before) or excluded(before, rest) or BEFORE.search(before):
        return None
    asked = ASKED.search(before) or re.match(r"\W*(?:is|are|was|does|do|would|could|should|can)\b", before)
    if (asked and re.match(r"[^.!\n]{0,60}\?", rest)) or SAID.match(rest):
        return None
    if not MYSELF.search(before) and (OF_STATISTICS.search(before) or OF_STATISTICS.search(rest.partition("\n")[0])):
        return None
    if WOULD.search(before) and re.match(r"[^.;\n]{0,60}?\b(?:if|unless|provided|assuming|had)\b", rest):
        return None
    if REPORTED.search(before) and not FIRST_PERSON.search(before):
        return None
    if label["chance"] and not re.match(
        r"\s*(?:that\s+|of\s+|to\s+|on\s+)?(?:(?:my|the|this|being|i'm|i\s+am|it'?s?|is|am|answer|i)\s+)*(?:\S+\s+){0,2}?(?:is\s+)?(?:correct|right|true)\b",
        rest,
    ):
        return None
    if label["adjective"] == "likely" and not re.match(
        r"\s*(?:to\s+be\s+|that\s+(?:my|the|this)\s+\S+\s+is\s+)?(?:correct|right|true)\b", rest
    ):
        return None
    if not MYSELF.search(before) and (
        OF_A_STUDY.match(rest) or (label["adjective"] and re.match(r"\s+to\s+(?!be\s+(?:right|correct|true))\w", rest))
    ):
        return None
    if label["adjective"] in ("certain", "positive") and re.match(
        r"\s*(?:patients?|cases?|tests?|results?|charges?|types?|people|integers?|numbers?|values?)\b", rest
    ):
        return None
    if label["adjective"] == "positive" and not re.match(
        r"\s*(?:$|[^\w\s]|(?:that|about|of|it|it's|this|the|on|in|my|i|a|an|and|but|here|because)\b)", rest
    ):
        return None
    if label["adjective"] and ANOTHER.search(before):
        return None
    if (
        label["adjective"]
        and not FIRST_PERSON.search(before)
        and not MY_ANSWER_IS_RIGHT.match(rest)
        and re.search(r"\b(?:is|are|was|were|feels?|felt|seems?|remains?)\s*(?:\w+\s*)?$", before)
    ):
        return None
    if not MYSELF.search(before) and (MEANS.match(rest) or GIVEN.search(before)):
        return None
    if not label["adjective"] and not MYSELF.search(before) and ELSEWHERE.search(before) and not THE_ANSWER.match(rest):
        return Mention(label.start(), AMBIGUOUS, weak=True)
    if OF_BEING_WRONG.search(re.split(r"[.;,\n]", rest)[0]):
        return Mention(label.start(), AMBIGUOUS)
    weak = bool(EARLIER.search(before))
    option = OPTION_AFTER.match(rest) or option_listed(text, place)
    name = option["option"] if option else None
    if found["bound"] or found["first"] or found["plus"]:
        return Mention(label.start(), AMBIGUOUS, weak, name, bool(label["chance"]))
    over = found["over"] or found["of"]
    high = float(over) if over is not None else 1.0 if found["unit"] is None else 100.0
    return Mention(label.start(), scaled(found["number"], high), weak, name, bool(label["chance"]))
