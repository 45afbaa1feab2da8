# SPDX-License-Identifier: Apache-2.0
"""The confidence that a text states, found by a small grammar.

A statement is a word for confidence and a number beside it, in one of these forms:

1. ``Confidence: 85%``: the word, what it is about and its scale, a separator, the number;
2. ``I am 85% sure``: the number, then the adjective or the noun;
3. ``How confident am I? 85%``.

The number needs a scale: a unit (``%``, ``/100``, ``out of 10``), a scale said beside the word (``(0-100)``), a decimal point
(0.85), or a size that leaves one scale only (a bare 85). What looks like a statement and is none: intervals, thresholds,
conditions, negations, what others believe, ranges in brackets, ordinals. The last statement wins; a range or a bound in its
place (``80-90%``, ``over 90%``) is ambiguous, and so is a bare 7. Ambiguity is returned as such and never resolved by guessing.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from epimeter.readers.logs.phrases import (
    ABOUT,
    AFTER_LABEL,
    BEFORE,
    BOUND,
    CLAUSE,
    CONDITION,
    DIRECT,
    EARLIER,
    FILLER,
    FIRST_PERSON,
    KIND,
    LABEL,
    MARKUP,
    NEGATION,
    NUMBER,
    OPEN_THOUGHT,
    OPTION,
    OTHER,
    OUT_OF,
    PERCENT,
    RANGE,
    REPORTED,
    RIGHT,
    SCALE,
    SENTENCE,
    SEPARATOR,
    STATISTICS,
    STEMS,
    STRONG,
    TAG,
    THOUGHT,
    TO_THE_END,
    UNIT,
    VALUE_BEFORE,
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


@dataclass(frozen=True, slots=True)
class _Mention:
    place: int
    stated: Stated
    weak: bool = False
    option: str | None = None


def stated(
    text: str, *, scale: float | None = None, words: Mapping[str, float] | None = None, answer: str | None = None
) -> Stated:
    """The confidence that a text states last.

    Parameters
    ----------
    text
        What the model wrote. Reasoning in tags such as ``<think>`` is left aside.
    scale
        What a number without a unit is out of, where that is known: 100, 10, 1.
    words
        Words that count as numbers: ``{"almost certain": 0.95}``. Without a table words are no statement.
    answer
        The answer that was given, to choose between statements about several options.

    Examples
    --------
    >>> stated("Answer: 42. Confidence (0-100): 85").value
    0.85
    >>> stated("Confidence: 60%. (95% confidence interval 2 to 3)").value
    0.6
    >>> stated("Confidence: 7").status
    'ambiguous'
    """
    if text.isascii() and not any(stem.search(text) for stem in STEMS):
        return NONE
    text = _plain(text)
    mentions = sorted(_mentions(text, scale, words), key=lambda mention: mention.place)
    strong = [mention for mention in mentions if not mention.weak] or mentions
    if not strong:
        return NONE
    options = {mention.option for mention in strong if mention.option is not None}
    if len(options) > 1:
        of_answer = [mention for mention in strong if answer is not None and mention.option == answer.strip().lower()]
        general = [mention for mention in strong if mention.option is None]
        chosen = of_answer or (general if general and general[-1] is strong[-1] else [])
        return chosen[-1].stated if chosen else AMBIGUOUS
    return strong[-1].stated


def _plain(text: str) -> str:
    """The text without reasoning in tags and without marks of emphasis, in one form of each character."""
    if OPEN_THOUGHT.search(text):
        text = THOUGHT.sub("\n", text)
        cut = OPEN_THOUGHT.search(text)
        text = text[: cut.start()] if cut else text
    text = unicodedata.normalize("NFKC", text) if not text.isascii() else text
    text = text.replace("’", "'").replace("−", "-").replace("–", "-").replace("—", " - ")
    text = TAG.sub(lambda tag: f"\n{tag['word']}: ", text)
    return MARKUP.sub("", text).replace("\\%", "%").lower()


def _labels(text: str) -> Iterator[re.Match[str]]:
    """The words for confidence; the pattern is tried only around letters that such a word has, since a text is long."""
    if not text.isascii():
        yield from LABEL.finditer(text)
        return
    done = 0
    for place in sorted({hit.start() for stem in STEMS for hit in stem.finditer(text)}):
        label = LABEL.search(text, max(done, place - 24), place + 40)
        if label is not None and label.start() >= done:
            done = label.end()
            yield label


def _mentions(text: str, scale: float | None, words: Mapping[str, float] | None) -> Iterator[_Mention]:
    for label in _labels(text):
        if label["adjective"]:
            mention = _adjective(text, label)
        else:
            mention = _number_first(text, label) or _labelled(text, label, scale, words)
        if mention is not None:
            yield mention


def _clause(text: str, place: int, end: int) -> tuple[str, str]:
    """The clause up to a place, and the rest of the clause after an end."""
    start = 0
    for cut in CLAUSE.finditer(text, max(0, place - 300), place):
        start = cut.end()
    after = CLAUSE.search(text, end)
    return text[max(start, place - 300) : place], text[end : after.start() if after else len(text)][:200]


def _excluded(before: str, after: str) -> bool:
    return bool(CONDITION.search(before)) or (
        bool(re.match(r"[^.\n]{0,40}\b(?:if|unless)\b", after)) and "if" in before
    )


def _labelled(
    text: str, label: re.Match[str], scale: float | None, words: Mapping[str, float] | None
) -> _Mention | None:
    """Form 1: the word, its kind, its scale, what it is about, a separator, the number."""
    before, _ = _clause(text, label.start(), label.end())
    if OTHER.match(text, label.end()) or BEFORE.search(before):
        return None
    place, percent, high = label.end(), False, scale
    sentence = text[
        max(
            (cut.end() for cut in SENTENCE.finditer(text, max(0, label.start() - 200), label.start())), default=0
        ) : label.start()
    ]
    declared = _scale_of(sentence) if "scale" in sentence else None
    if declared is not None:
        high = declared
    kind = KIND.match(text, place)
    if kind:
        place = kind.end()
        percent = kind["kind"].startswith(("percent", "pct"))
        out_of = re.search(r"\d+", kind["kind"])
        if out_of:
            high = float(out_of[0])
        if OTHER.match(text, place):
            return None
    start, qualifier_start = place, place
    strong: re.Match[str] | None = None
    line_end = text.find("\n", place)
    line_end = len(text) if line_end < 0 else line_end
    while True:  # what the confidence is about, up to the separator
        found = SEPARATOR.match(text, place)
        if found and STRONG.search(found[0]):
            strong = found
            break
        if found:
            number = _number_after(text, found.end(), label)
            if number is not None:
                strong = found
                break
        about = None if DIRECT.match(text, place) else ABOUT.match(text, place, line_end)
        if not about or about.end() == place or place - start > 120:
            break
        place = about.end()
    qualifier = text[qualifier_start : strong.start() if strong else place]
    if label["chance"] and not _is_about_the_answer(
        before, qualifier, strong is not None and bool(STRONG.search(strong[0]))
    ):
        return None
    own = _scale_of(qualifier)
    if own is not None:
        high = own
    option = OPTION.search(qualifier)
    name = option["option"] if option else None
    if strong is None:
        heading = re.compile(r"[\"']?\s*\n\s*").match(text, place)
        direct = heading.end() if heading and text[: label.start()].rpartition("\n")[2].strip("\"' -#") == "" else None
        inside = re.compile(rf"\s*[(\[]\s*(?={NUMBER})").match(text, start)
        if direct is None and inside is None and not DIRECT.match(text, place):
            return None
        place = direct if direct is not None else inside.end() if inside else place
    else:
        place = strong.end()
    if _excluded(before, "") or _negated(before):
        return None
    if re.search(r"\b(?:your|between|range)\b", before[-40:]) and not FIRST_PERSON.search(before):
        return None
    if REPORTED.search(before) and not FIRST_PERSON.search(before) and not re.fullmatch(r"\W*", before):
        return None
    if label["lead"]:
        pair = re.compile(r"\s*[(\[]?[^,\n]{1,80}?[)\]]?\s*,\s*").match(text, place)
        place = pair.end() if pair else place
    if STATISTICS.match(text[place:line_end]):
        return None
    weak = bool(EARLIER.search(before)) or bool(re.search(r"\bwas\b", qualifier))
    reading = _number(text, place, high, percent, words)
    return None if reading is None else _Mention(label.start(), reading, weak, name)


def _number_after(text: str, place: int, label: re.Match[str]) -> bool | None:
    lead = AFTER_LABEL.match(text, place)
    assert lead is not None
    rest = text[lead.end() : lead.end() + 40]
    return True if re.match(NUMBER, rest) or BOUND.match(rest) else None


def _is_about_the_answer(before: str, qualifier: str, separated: bool) -> bool:
    """Whether a chance is the chance of being right: any other may be part of the answer."""
    if re.match(r"\s*(?:of|that|for)\b", qualifier) or qualifier.strip(" _-:\"'"):
        return bool(RIGHT.search(qualifier))
    return separated and before.strip(" \t-*#|>\"'{,1234567890.)") in (
        "",
        "my",
        "estimated",
        "final",
        "answer",
        "the",
        "overall",
        "subjective",
    )


def _number_first(text: str, label: re.Match[str]) -> _Mention | None:
    """Form 2 with a noun: ``with 85% confidence``, ``an 85% chance of being right``."""
    if label["word"].startswith("p") and "(" in label["word"]:
        return None
    return _value_before(text, label)


def _adjective(text: str, label: re.Match[str]) -> _Mention | None:
    """Form 2 and 3: ``85% sure``; ``how sure am I? 85%``; ``confident (85%)``."""
    first = _value_before(text, label)
    if first is not None:
        return first
    before, _ = _clause(text, label.start(), label.end())
    if re.search(r"\bhow\s+$", before):
        asked = re.compile(rf"[^?:\n]{{0,40}}[?:]\s*(?:{FILLER}\s+)*(?={NUMBER})").match(text, label.end())
        if asked:
            reading = _number(text, asked.end(), None, False, None)
            return None if reading is None else _Mention(label.start(), reading)
        return None
    if label["adjective"] == "likely" or _negated(before) or _excluded(before, ""):
        return None
    if REPORTED.search(before) and not FIRST_PERSON.search(before):
        return None
    direct = re.compile(
        rf"\s*(?:[:=(\[,]|\bat\b|\bto\b)\s*(?:{FILLER}\s*)*(?={NUMBER}\s*(?:{PERCENT}|/\s*\d|\s+out\s+of|\.\d))"
    ).match(text, label.end())
    if direct is None and re.match(r"\s*[:=(\[]\s*0?[.,]\d", text[label.end() :]):
        direct = re.compile(r"\s*[:=(\[]\s*").match(text, label.end())
    if direct is None:
        return None
    reading = _number(text, direct.end(), None, False, None)
    return None if reading is None else _Mention(label.start(), reading, bool(EARLIER.search(before)))


def _value_before(text: str, label: re.Match[str]) -> _Mention | None:
    window = text[max(0, label.start() - 60) : label.start()].rpartition("\n")[2]
    found = VALUE_BEFORE.search(window)
    if found is None or (found["unit"] is None and not re.fullmatch(r"0?[.,]\d+|1[.,]0+", found["number"])):
        return None
    if re.search(r"[\w.,]$", window[: found.start()]) and not window[: found.start()].endswith(" "):
        return None
    if OTHER.match(text, label.end()) or re.compile(r"\s*(?:level|limit)\b").match(text, label.end()):
        return None
    place = label.start() - (len(window) - found.start())
    before, _ = _clause(text, place, place)
    rest = text[label.end() : label.end() + 80]
    if _negated(before) or _excluded(before, rest) or BEFORE.search(before):
        return None
    if REPORTED.search(before) and not FIRST_PERSON.search(before):
        return None
    if label["chance"] and not re.match(
        r"\s*(?:that\s+|of\s+)?(?:(?:my|the|this|being|i'm|i\s+am|it'?s?|is|am|answer|i)\s+)*(?:\S+\s+){0,2}?(?:is\s+)?(?:correct|right|true)\b",
        rest,
    ):
        return None
    if label["adjective"] == "likely" and not re.match(
        r"\s*(?:to\s+be\s+|that\s+(?:my|the|this)\s+\S+\s+is\s+)?(?:correct|right|true)\b", rest
    ):
        return None
    if label["adjective"] in ("certain", "positive") and re.match(
        r"\s*(?:patients?|cases?|tests?|results?|charges?|types?|people|integers?|numbers?|values?)\b", rest
    ):
        return None
    if (
        label["adjective"]
        and not FIRST_PERSON.search(before)
        and re.search(r"\b(?:is|are|was|were|feels?|felt|seems?|remains?)\s*(?:\w+\s*)?$", before)
    ):
        return None
    weak = bool(EARLIER.search(before))
    if found["bound"] or found["first"]:
        return _Mention(label.start(), AMBIGUOUS, weak)
    over = found["over"] or found["of"]
    high = float(over) if over is not None else 1.0 if found["unit"] is None else 100.0
    return _Mention(label.start(), _scaled(found["number"], high), weak)


def _negated(before: str) -> bool:
    return bool(NEGATION.search(before[-60:])) and not re.search(r"\b(?:although|though|not\s+only)\b", before)


def _scale_of(text: str) -> float | None:
    """The end of a scale that a text declares: 100 of ``(0-100)``, 1 of ``between 0 and 1``."""
    out_of = OUT_OF.search(text)
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


def _number(
    text: str, place: int, high: float | None, percent: bool, words: Mapping[str, float] | None
) -> Stated | None:
    """The number at a place, with its unit; None when there is no number."""
    lead = AFTER_LABEL.match(text, place)
    assert lead is not None
    place = lead.end()
    bound = BOUND.match(text, place)
    if bound:
        is_scale = re.compile(RANGE).match(text, bound.end()) and _scale_of(text[place : place + 40]) is not None
        return None if is_scale else AMBIGUOUS
    ranged = re.compile(RANGE).match(text, place)
    if ranged:
        declared = SCALE.match(text, place)
        return None if declared and declared.end() >= ranged.end() else AMBIGUOUS
    found = re.compile(rf"(?P<sign>-)?(?P<number>{NUMBER})").match(text, place)
    if found is None:
        return _word(text, lead.start(), words)
    if found["sign"]:
        return BEYOND
    unit = UNIT.match(text, found.end())
    rest = text[unit.end() if unit else found.end() :]
    if re.match(r"\+(?!/)", rest) or re.match(
        r"\s*(?:or\s+(?:more|less|higher|so\s+higher|above|lower)|at\s+(?:least|most)|or\s+\d)", rest
    ):
        return AMBIGUOUS
    if re.match(rf"\s*/\s*{NUMBER}\s*%", rest) or re.match(rf"\s*(?:/|or)\s*{NUMBER}", rest):
        return AMBIGUOUS
    if unit is None:
        if percent:
            return _scaled(found["number"], 100.0)
        return _bare(found["number"], high, rest)
    if unit["percent"]:
        return _scaled(found["number"], 100.0)
    if unit["over"]:
        over = float(unit["over"])
        value = _value(found["number"])
        if value is not None and value + over == 100 and over != 100:
            return AMBIGUOUS  # 50/50, 60/40: odds, not a fraction
        if re.match(r"\s*%", rest):
            return AMBIGUOUS
        return _scaled(found["number"], over)
    return _scaled(found["number"], float(unit["of"] or unit["high"] or unit["high2"]))


def _word(text: str, place: int, words: Mapping[str, float] | None) -> Stated | None:
    if not words:
        return None
    for word in sorted(words, key=len, reverse=True):
        if re.compile(rf"[\s\"'(\[]*{re.escape(word.lower())}\b").match(text, place):
            return Stated(float(words[word]), "stated")
    return None


def _bare(number: str, high: float | None, rest: str) -> Stated | None:
    """A number without unit: by the scale that is known, else by its decimal point or its size."""
    value = _value(number)
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
        return _scaled(number, high)
    if point and value <= 1:
        return Stated(value, "stated", bare=True)
    if value == 0 or 10 < value <= 100:
        return Stated(value / 100, "stated", bare=True)
    return AMBIGUOUS if value <= 100 else BEYOND


def _scaled(number: str, high: float) -> Stated:
    value = _value(number)
    if value is None or high <= 0 or value > high or not math.isfinite(value):
        return BEYOND
    return Stated(float(f"{value / high:.12g}"), "stated")


def _value(number: str) -> float | None:
    """A number with a point or a comma before its decimals; None for thousands."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", number) and not number.startswith("0,"):
        return None
    return float(number.replace(",", "."))
