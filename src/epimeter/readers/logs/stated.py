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

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from epimeter.readers.logs.markup import plain, unfolded
from epimeter.readers.logs.phrases import (
    ABOUT,
    AFTER_LABEL,
    ANOTHER,
    ASKED,
    BEFORE,
    BOUND,
    CHANCE_OF,
    CHANGE_TO,
    CHANGED,
    CLAUSE,
    CONDITION,
    DIRECT,
    EARLIER,
    ELSEWHERE,
    FILLER,
    FIRST_PERSON,
    GIVEN,
    IN_WORDS,
    KIND,
    LABEL,
    LEVEL,
    LISTED,
    MEANS,
    MYSELF,
    NEGATION,
    NUMBER,
    OF_A_STUDY,
    OF_MY_ANSWER,
    OF_STATISTICS,
    OPTION,
    OPTION_AFTER,
    OTHER,
    PERCENT,
    PLAINLY,
    QUOTED_EXAMPLE,
    REPORTED,
    RIGHT,
    RULE,
    SAID,
    SENTENCE,
    SEPARATOR,
    STATISTICS,
    STEMS,
    STRONG,
    THE_ANSWER,
    VALUE_BEFORE,
    WOULD,
)
from epimeter.readers.logs.quantity import AMBIGUOUS, NONE, PERCENTS, Stated, quantity, scale_of, scaled

NUMBER_AND_UNIT = re.compile(rf"{NUMBER}\s*(?:{PERCENT}|/\s*\d+|out\s+of\s+\d+)?[)\]]?", re.I)
NOT_IT = re.compile(r"\bnot\s+[^().;:,\n]{1,40}[(\[]\s*$")
"""«…, not 500 mg (confidence: 5%)»: the confidence in what was not answered."""
WHERE = re.compile(r"\b(?:if|unless|had|were|provided|assuming|given|with)\b", re.I)
ADVERBS = re.compile(r"\W*(?:(?:\w+ly|quite|very|pretty|rather|almost|not|answer|b|how)\W+)*", re.I)
MY_ANSWER_IS_RIGHT = re.compile(
    r"\s*that\s+(?:my|this|the)\s+(?:\w+\s+)?(?:answer|guess|choice|response)\s+is\s+(?:correct|right)\b"
)


@dataclass(frozen=True, slots=True)
class _Mention:
    place: int
    stated: Stated
    weak: bool = False
    option: str | None = None
    chance: bool = False
    """Whether it is a chance of being right: it counts where no confidence is stated."""
    loose: bool = False
    """Whether it is a chance that does not say of what: it counts where nothing speaks of confidence."""


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
    if not text.isascii():
        if not speaks_of_confidence(text):
            return NONE
        text = plain(text)
    else:
        low = text.lower()
        first = _first_stem(low)
        if first < 0:
            return NONE
        text = plain(text, low)
        plainly = PLAINLY.search(text, max(0, len(text) - 60))
        if plainly is not None and (first if text is low else _first_stem(text)) >= plainly.start():
            return PERCENTS[int(plainly["number"])]  # nothing else in the text could be meant
    if "|" in text:
        text = unfolded(text)
    mentions = sorted(_mentions(text, scale, words), key=lambda mention: mention.place)
    strong = [mention for mention in mentions if not mention.weak]
    if not strong:
        return AMBIGUOUS if mentions else NONE  # what was thought before is not what is stated
    strong = [mention for mention in strong if not mention.loose] or strong
    strong = [mention for mention in strong if not mention.chance] or strong
    options = {mention.option for mention in strong if mention.option is not None}
    if len(options) > 1:
        of_answer = [mention for mention in strong if answer is not None and mention.option == answer.strip().lower()]
        general = [mention for mention in strong if mention.option is None]
        chosen = of_answer or (general if general and general[-1] is strong[-1] else [])
        return chosen[-1].stated if chosen else AMBIGUOUS
    return strong[-1].stated


def speaks_of_confidence(text: str) -> bool:
    """Whether a text has a word for confidence at all: a quick look before the grammar."""
    return _first_stem(text.lower()) >= 0 if text.isascii() else LABEL.search(text) is not None


def _first_stem(text: str) -> int:
    """Where the first letters stand that a word for confidence has, in lower-case ASCII text; -1 without one."""
    first = -1
    for stem, ends in STEMS.items():
        limit = len(text) if first < 0 else first + len(stem) - 1
        place = text.find(stem, 0, limit)
        while ends and place >= 0 and not text.startswith(ends, place):
            place = text.find(stem, place + 1, limit)
        if place >= 0:
            first = place
    if "(" in text:
        chance = CHANCE_OF.search(text)
        if chance is not None and (first < 0 or chance.start() < first):
            first = chance.start()
    return first


def _stems(text: str) -> Iterator[int]:
    """Where letters stand that a word for confidence has, in lower-case ASCII text."""
    for stem, ends in STEMS.items():
        place = text.find(stem)
        while place >= 0:
            if not ends or text.startswith(ends, place):
                yield place
            place = text.find(stem, place + 1)
    if "(" in text:
        yield from (hit.start() for hit in CHANCE_OF.finditer(text))


def _labels(text: str) -> Iterator[re.Match[str]]:
    """The words for confidence; the pattern is tried only around letters that such a word has, since a text is long."""
    if not text.isascii():
        yield from LABEL.finditer(text)
        return
    done = 0
    for place in sorted(set(_stems(text))):
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
    after = CLAUSE.search(text, end, end + 200)
    return text[max(start, place - 300) : place], text[end : after.start() if after else end + 200]


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
    if (
        re.search(r"^\W*(?:is|was|should|could|would)\s+(?:the|my|your|a)\s*$", before)
        and "?" in text[label.end() :].split("\n")[0]
    ):
        return None
    if QUOTED_EXAMPLE.search(text[max(0, label.start() - 8) : label.start()]):
        return None
    if RULE.match(text, label.end()) or NOT_IT.search(text[max(0, label.start() - 60) : label.start()]):
        return None
    place, percent, high = label.end(), False, scale
    sentence = text[
        max(
            (cut.end() for cut in SENTENCE.finditer(text, max(0, label.start() - 200), label.start())), default=0
        ) : label.start()
    ]
    declared = scale_of(sentence) if "scale" in sentence else None
    if declared is not None:
        high = declared
    kind = KIND.match(text, place)
    if kind:
        place = kind.end()
        percent = kind["kind"].startswith(("percent", "pct", "in"))
        out_of = re.search(r"\d+", kind["kind"])
        if out_of:
            high = float(out_of[0])
        if OTHER.match(text, place):
            return None
    start, qualifier_start = place, place
    strong: re.Match[str] | None = None
    line_end = text.find("\n", place, place + 400)
    line_end = min(len(text), place + 400) if line_end < 0 else line_end
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
    strong = LEVEL.match(text, start) or strong
    qualifier = text[qualifier_start : strong.start() if strong else place]
    change = CHANGE_TO.match(text, start) if MYSELF.search(before) else None
    if change and (re.search(rf"\b{CHANGED}\b", change[0]) or re.search(rf"\b{CHANGED}\s+(?:\w+\s+)?$", before)):
        strong, qualifier = change, ""
    if (
        label["chance"]
        and not _is_about_the_answer(before, qualifier, strong is not None and bool(STRONG.search(strong[0])))
        and not (strong is not None and OF_MY_ANSWER.match(_after_number(text, strong.end())))
    ):
        return None
    own = scale_of(qualifier)
    if own is not None:
        high = own
    option = OPTION.search(qualifier) or _listed(text, label.start())
    name = option["option"] if option else None
    if strong is None:
        heading = re.compile(r"[\"']?\s*\n\s*(?:[-=]{2,}\s*\n\s*)?").match(text, place)
        begun = text[max(0, label.start() - 60) : label.start()].rpartition("\n")[2]
        direct = heading.end() if heading and begun.strip("\"' -#") == "" else None
        inside = re.compile(rf"\s*[(\[]\s*(?={NUMBER})").match(text, start)
        inside = inside or re.compile(rf"\s*[(\[]\s*(?={NUMBER}\s*{PERCENT}\s*[)\]])").match(text, place)
        if direct is None and inside is None and (not DIRECT.match(text, place) or re.search(r"\bthat\s*$", qualifier)):
            return None
        place = direct if direct is not None else inside.end() if inside else place
    else:
        place = strong.end()
    if _excluded(before, "") or _negated(before):
        return None
    supposed = strong is not None and "would" in strong[0]
    if supposed and (not MYSELF.search(before) or WHERE.search(_after_number(text, place).partition(". ")[0])):
        return None
    if re.search(r"\b(?:your|between|range)\b", before[-40:]) and not FIRST_PERSON.search(before):
        return None
    if REPORTED.search(before) and not FIRST_PERSON.search(before) and not re.fullmatch(r"\W*", before):
        return None
    if label["lead"]:
        pair = re.compile(r"\s*[(\[]?[^,\n]{1,80}?[)\]]?\s*,\s*").match(text, place)
        place = pair.end() if pair else place
    worded = IN_WORDS.match(text, place) if strong is not None and STRONG.search(strong[0]) else None
    place = worded.end() if worded else place
    ahead = text[place : min(line_end, place + 120)]
    if STATISTICS.match(ahead):
        return None
    weak = bool(EARLIER.search(before) or EARLIER.search(qualifier))
    if not MYSELF.search(before) and MEANS.match(_after_number(text, place)):
        return None
    if not MYSELF.search(before) and (OF_A_STUDY.match(ahead) or OF_STATISTICS.search(before)):
        return None
    if label["chance"] and not RIGHT.search(qualifier) and re.match(r"\W*\d+\s*/\s*(?!100?\b)\d", ahead):
        return None  # «probability = 3/8» is the answer
    reading = quantity(text, place, high, percent, words)
    loose = bool(label["chance"]) and not RIGHT.search(qualifier)
    return None if reading is None else _Mention(label.start(), reading, weak, name, bool(label["chance"]), loose)


def _listed(text: str, place: int) -> re.Match[str] | None:
    """The option at the beginning of the line that goes up to a place and holds nothing else."""
    return LISTED.search(text[max(0, place - 24) : place])


def _number_after(text: str, place: int, label: re.Match[str]) -> bool | None:
    lead = AFTER_LABEL.match(text, place)
    assert lead is not None
    rest = text[lead.end() : lead.end() + 40]
    if re.match(rf"{NUMBER}\s*{PERCENT}?[\"')\]]*\s+is\s+(?:{FILLER}\s*)*{NUMBER}", rest):
        return None  # «that the answer is 42 is 70%»
    return True if re.match(NUMBER, rest) or BOUND.match(rest) else None


def _after_number(text: str, place: int) -> str:
    """What follows the number at a place, within the sentence."""
    lead = AFTER_LABEL.match(text, place)
    found = NUMBER_AND_UNIT.match(text, lead.end() if lead else place)
    return text[found.end() : found.end() + 80].partition("\n")[0] if found else ""


def _is_about_the_answer(before: str, qualifier: str, separated: bool) -> bool:
    """Whether a chance is the chance of being right: any other may be part of the answer."""
    qualifier = re.sub(r"[(\[][^()\[\]]*[)\]]", lambda part: "" if scale_of(part[0]) else part[0], qualifier)
    if re.match(r"\s*(?:of|that|for)\b", qualifier) or qualifier.strip(" _-:\"'"):
        return bool(RIGHT.search(qualifier))
    if FIRST_PERSON.search(before) and re.search(r"\b(?:answer|it|this)\s+is\b.{1,60}\bwith\s+(?:an?\s+)?$", before):
        return True
    if re.search(r"(?:^|[{,])\s*[\"']$", before):
        return separated  # a key of an object
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
        asked = re.compile(rf"[^?:\n]{{0,40}}[?:]\s*(?:a(?:nswer)?:\s*)?(?:{FILLER}\s+)*(?={NUMBER})").match(
            text, label.end()
        )
        if asked:
            reading = quantity(text, asked.end(), None, False, None)
            return None if reading is None else _Mention(label.start(), reading)
        return None
    if label["adjective"] == "likely" or _negated(before) or _excluded(before, ""):
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
    return None if reading is None else _Mention(label.start(), reading, bool(EARLIER.search(before)))


def _value_before(text: str, label: re.Match[str]) -> _Mention | None:
    window = text[max(0, label.start() - 60) : label.start()].rpartition("\n")[2]
    found = VALUE_BEFORE.search(window)
    if found is None or (found["unit"] is None and not re.fullmatch(r"0?[.,]\d+|1[.,]0+", found["number"])):
        return None
    if re.search(r"[a-z\d_.,]$", window[: found.start()]) and not window[: found.start()].endswith(" "):
        return None
    if OTHER.match(text, label.end()) or re.compile(r"\s*(?:level|limit)\b").match(text, label.end()):
        return None
    place = label.start() - (len(window) - found.start())
    before, _ = _clause(text, place, place)
    rest = text[label.end() : label.end() + 80]
    if _negated(before) or _excluded(before, rest) or BEFORE.search(before):
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
        return _Mention(label.start(), AMBIGUOUS, weak=True)
    weak = bool(EARLIER.search(before))
    option = OPTION_AFTER.match(rest) or _listed(text, place)
    name = option["option"] if option else None
    if found["bound"] or found["first"] or found["plus"]:
        return _Mention(label.start(), AMBIGUOUS, weak, name, bool(label["chance"]))
    over = found["over"] or found["of"]
    high = float(over) if over is not None else 1.0 if found["unit"] is None else 100.0
    return _Mention(label.start(), scaled(found["number"], high), weak, name, bool(label["chance"]))


def _negated(before: str) -> bool:
    before = re.split(r"\s[-—]+\s|[:;]", before)[-1]  # «not sure at all - 20% confidence»
    return bool(NEGATION.search(before[-60:])) and not re.search(r"\b(?:although|though|not\s+only)\b", before)
