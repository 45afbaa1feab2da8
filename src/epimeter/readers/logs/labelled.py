# SPDX-License-Identifier: Apache-2.0
"""Statements with a label: the word, what it is about and its scale, a separator, the number."""

from __future__ import annotations

import re
from collections.abc import Mapping

from epimeter.readers.logs.clauses import Mention, after_number, clause, excluded, negated, option_listed
from epimeter.readers.logs.phrases import (
    ABOUT,
    AFTER_LABEL,
    BEFORE,
    BOUND,
    CHANGE_TO,
    CHANGED,
    DIRECT,
    DOWNWARD,
    EARLIER,
    ELSEWHERE,
    FILLER,
    FIRST_PERSON,
    IN_WORDS,
    KIND,
    LEVEL,
    MEANS,
    MYSELF,
    NUMBER,
    OF_A_STUDY,
    OF_BEING_WRONG,
    OF_MY_ANSWER,
    OF_STATISTICS,
    OPTION,
    OTHER,
    PERCENT,
    QUOTED_EXAMPLE,
    REPORTED,
    RIGHT,
    RULE,
    SENTENCE,
    SEPARATOR,
    STATISTICS,
    STRONG,
    THE_ANSWER,
)
from epimeter.readers.logs.quantity import AMBIGUOUS, quantity, scale_of

NOT_IT = re.compile(r"\bnot\s+[^().;:,\n]{1,40}[(\[]\s*$")
"""«…, not 500 mg (confidence: 5%)»: the confidence in what was not answered."""

WHERE = re.compile(r"\b(?:if|unless|had|were|provided|assuming|given|with)\b", re.I)


def labelled(text: str, label: re.Match[str], scale: float | None, words: Mapping[str, float] | None) -> Mention | None:
    """Form 1: the word, its kind, its scale, what it is about, a separator, the number."""
    before, _ = clause(text, label.start(), label.end())
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
        and not (strong is not None and OF_MY_ANSWER.match(after_number(text, strong.end())))
    ):
        return None
    if OF_BEING_WRONG.search(qualifier) or DOWNWARD.search(qualifier):
        return Mention(label.start(), AMBIGUOUS)
    own = scale_of(qualifier)
    if own is not None:
        high = own
    option = OPTION.search(qualifier) or option_listed(text, label.start())
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
    if excluded(before, "") or negated(before):
        return None
    supposed = strong is not None and "would" in strong[0]
    if supposed and (not MYSELF.search(before) or WHERE.search(after_number(text, place).partition(". ")[0])):
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
    if not MYSELF.search(before) and MEANS.match(after_number(text, place)):
        return None
    if not MYSELF.search(before) and (OF_A_STUDY.match(ahead) or OF_STATISTICS.search(before)):
        return None
    separated = strong is not None and bool(STRONG.search(strong[0]))
    if not MYSELF.search(before) and not separated:
        behind = after_number(text, place)
        if OF_STATISTICS.search(behind.partition(". ")[0]):
            return None
        if ELSEWHERE.search(before) and not THE_ANSWER.match(behind):
            return Mention(label.start(), AMBIGUOUS, weak=True)
    if label["chance"] and not RIGHT.search(qualifier) and re.match(r"\W*\d+\s*/\s*(?!100?\b)\d", ahead):
        return None  # «probability = 3/8» is the answer
    reading = quantity(text, place, high, percent, words)
    loose = bool(label["chance"]) and not RIGHT.search(qualifier)
    return None if reading is None else Mention(label.start(), reading, weak, name, bool(label["chance"]), loose)


def _number_after(text: str, place: int, label: re.Match[str]) -> bool | None:
    lead = AFTER_LABEL.match(text, place)
    assert lead is not None
    rest = text[lead.end() : lead.end() + 40]
    if re.match(rf"{NUMBER}\s*{PERCENT}?[\"')\]]*\s+is\s+(?:{FILLER}\s*)*{NUMBER}", rest):
        return None  # «that the answer is 42 is 70%»
    return True if re.match(NUMBER, rest) or BOUND.match(rest) else None


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
