# SPDX-License-Identifier: Apache-2.0
"""Several candidates, each with its own confidence: «Guess 1: Paris (80%)», «85% for A, 15% for B», objects in a list.

Prompts that ask for the k best guesses get such texts (Tian et al. 2023, *Just Ask for Calibration*). The last statement is then
about the last candidate and not about the answer, so every statement is given the names of what it is about. One candidate is a
statement as any other; of several, the one that names the answer counts, and without such a one the text is ambiguous.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from epimeter.readers.logs.clauses import Mention
from epimeter.readers.logs.phrases import NUMBER, PERCENT
from epimeter.readers.logs.quantity import AMBIGUOUS, quantity

THING = (
    r"(?:guess|candidate|option|answer|choice|hypothesis|response|possibility|prediction|question|part|item|problem)"
)
NUMBERED = re.compile(
    rf"(?:^|\n|[.;,]\s)[\s\-*(\"'#]*(?:(?:{THING}|[gq])\s*[_#(]*(?P<one>\d{{1,2}}|[a-j])\b|(?P<two>\d{{1,2}})[.)](?=\s)|"
    r"\(?(?P<three>[a-j])[.):](?=\s))[\s)\"':.=-]*(?P<name>[^\n({;]{0,60})"
)
"""The mark of a candidate, and what stands behind it."""
INSTEAD = re.compile(
    rf"\b(?:(?:second|third|fourth|fifth|2nd|3rd|4th|5th|next|other|another|alternat(?:iv)?e|backup|less\s+likely)[\s-]+(?:best\s+)?{THING}|"
    r"runner-?up|alternatives?|alternatively|close\s+second|otherwise)\b"
)
"""What is not the answer."""
OVERALL = re.compile(
    r"\b(?:final(?:ly)?|overall|revised?|updated?|actually|however|checking|verif\w+|so|thus|therefore)\b|->|→|=>"
)
"""Between two statements: the second is about the outcome of all."""
KEY = re.compile(r"[\"'](?:[\w ]*confidence[\w ]*|probability|certainty)[\"']\s*:")
NAME_KEY = re.compile(
    rf"[\"'](?:\w*{THING}\w*|text|label|value|name|letter)[\"']\s*:\s*[\"']?(?P<name>[^\"',}}\n]{{1,60}})"
)
OBJECT_KEY = re.compile(r"[\"'](?P<name>[^\"'\n]{1,60})[\"']\s*:\s*\{[^{}]*$")
IN_BRACKETS = re.compile(r"(?P<name>[^\n()\[\],;:.]{1,60}?)\s*[(\[][^()\[\]\n]{0,40}$")
JOINT = re.compile(
    r"[^()\[\]\n]{0,40}[)\]]\s*(?:[,;/]|\n[\s\-*\d.)]*|\b(?:and|or|then)\b)[\s,]*(?:and\s|or\s)?[^()\[\]\n.:]{1,60}[(\[][^()\[\]\n]{0,40}"
)
"""Between two statements in brackets behind names: «80% sure), London (15%»."""
LINE = re.compile(
    r"(?:^|\n)[ \t\-*•\d.)]*(?P<name>[a-z][^\n:;.()]{0,60}?)[ \t]*(?::|-|—|,|=|\()[ \t]*(?:(?:i'm|i[ ]am|about|around)[ ]+)*"
    rf"(?:{NUMBER}[ \t]*{PERCENT}?[ \t]*)?\Z"
)
"""A line that begins with a name and goes on to a statement."""
TURN = re.compile(
    rf"\w+\s+(?:that\s+)?(?:about|it'?s|it\s+is|in|of|for|on|(?:the\s+)?answer\s+is)\s+(?P<name>[^,;.\n\d]{{1,40}}?)\s*(?:,|;|\band\b|\bbut\b|\bor\b)[\s,]*"
    rf"(?:(?:and|but|or|only|i'm|i\s+am|a|about)\s+)*{NUMBER}\s*{PERCENT}\s*"
)
"""Between two statements in one sentence: «sure about Paris and 15%»."""
OWN = re.compile(rf"{NUMBER}[ \t]*{PERCENT}?[ \t]*\Z")
"""The number of a statement that begins with it."""
POSED = re.compile(
    r"(?:^|\n|[.!?;,]\s)[\s\-*(]{0,8}(?:(?:so|or|but|and|then|hmm)[\s,]{1,3}){0,3}"
    r"(?P<lead>(?:is|was|could|can|might|may|would)\s+(?:it|this|that|he|she|(?:the|my)\s+(?:\w+\s+)?answer)(?:\s+be)?\s|"
    r"(?:how|what)\s+about\s|(?=[a-j]\?))"
    r"(?!(?:clear|ok(?:ay)?|right|correct|sure|certain|enough|true|good|fine|helpful)\b)(?P<name>[^?.!;\n]{1,60})\?"
)
"""A candidate put as a question: «Is it Paris?»."""
REPLY = re.compile(
    r"\s*(?:(?:yes|no|yeah|nope|maybe|perhaps|possibly|probably|likely|hm+)\b[.,!…\s-]*)*[^.!?\n]*(?:[.!?]\d[^.!?\n]*)*"
)
"""What is said to a question, up to the end of its sentence."""
DENIED = re.compile(r"\s*(?:no|nope|not)\b(?!\s+(?:idea|clue|sure|certain|opinion|way))|\s*(?:unlikely|impossible)\b")
REACH = 400
"""Characters around a statement in which its candidate is looked for."""
ONE = rf"{NUMBER}\s*{PERCENT}?"
BEHIND = re.compile(
    rf"(?P<number>{NUMBER}\s*{PERCENT})\s+(?:for\s|in\s|on\s|to\s)?(?:that\s)?(?:it'?s\s|it\s+is\s|the\s+answer\s+is\s)?\s*(?P<name>[^\d,;:.()%\n]{{1,40}}?)(?=\s*(?:[,;/.)\n]|$|\band\b|\bvs\b))",
    re.I,
)
AHEAD = re.compile(rf"[(\"']?(?:{THING}\s+)?(?P<name>[a-j])[)\"']?\s*[:=-]?\s*(?P<number>{ONE})", re.I)
BETWEEN = re.compile(r"\s*(?:[,;/]|\band\b|\bvs\.?\b|\n)[\s,\-*]*(?:and\s+)?", re.I)
BEGUN = re.compile(r"s?\s*(?:level|score)?s?\s*(?:[:=]|\bis\b|\bare\b)\s*", re.I)


def shares(text: str, label: re.Match[str], scale: float | None) -> list[Mention]:
    """The statements of a list of shares behind one word: «Confidence: 85% for A, 15% for B»; empty where it is none."""
    begun = BEGUN.match(text, label.end())
    if begun is None:
        return []
    for form in (BEHIND, AHEAD):
        found, place = list[Mention](), begun.end()
        while (one := form.match(text, place)) is not None:
            reading = quantity(one["number"], 0, scale, False, None) or AMBIGUOUS
            found.append(Mention(label.start() + len(found), reading, option=_plain(one["name"])))
            joint = BETWEEN.match(text, one.end())
            if joint is None:
                break
            place = joint.end()
        if len(found) > 1:
            return found
    return []


def told_apart(text: str, mentions: Sequence[Mention], answer: str | None) -> list[Mention]:
    """The statements, each with the candidate it is about where the text lists several; those on what is not the answer are weak.

    Parameters
    ----------
    text
        Plain and in lower case.
    mentions
        In the order they stand in.
    answer
        The answer that was given.
    """
    if len(mentions) < 2:
        return list(mentions)
    starts = [0, *(mention.place for mention in mentions[:-1])]
    before = [
        text[max(start, mention.place - REACH) : mention.place] for start, mention in zip(starts, mentions, strict=True)
    ]
    for way in (_of_objects, _by_marks, _in_brackets, _by_lines, _in_turn):
        names = way(text, mentions, before)
        if names is not None:
            given = None if answer is None else _plain(answer.strip().lower())
            return [
                replace(mention, option=given if given in found else mention.option or found[-1]) if found else mention
                for mention, found in zip(mentions, names, strict=True)
            ]
    return [
        replace(mention, weak=True) if place and mention.option is None and _instead(part) else mention
        for place, (mention, part) in enumerate(zip(mentions, before, strict=True))
    ]


def with_posed(text: str, mentions: Sequence[Mention], answer: str | None) -> list[Mention]:
    """The statements, each with the candidate where it replies to a question about one.

    «Is it A? 30% sure. Is it B? I don't know.» says how sure A is, and not which is the answer: the second candidate is added
    as a statement without a number. One that is denied («Is it B? No.») leaves the statement before as it is.
    """
    asked = list(POSED.finditer(text)) if "?" in text and mentions and mentions[-1].option is None else []
    if len(asked) < 2:
        return list(mentions)
    ends = [one.end() for one in asked]
    own = [_answered(text, asked, bisect_right(ends, mention.place), mention.place) for mention in mentions]
    last = own[-1]
    if last is None:
        return list(mentions)
    named = [
        mention if one is None or one["lead"] != last["lead"] else replace(mention, option=_plain(one["name"]))
        for mention, one in zip(mentions, own, strict=True)
    ]
    later = [
        one
        for one in asked
        if one.start() > last.end() and one["lead"] == last["lead"] and one["name"] != last["name"]
        if not DENIED.match(text, one.end())
    ]
    if later:
        return [*named, Mention(later[-1].end(), AMBIGUOUS, option=_plain(later[-1]["name"]))]
    # Without an answer to choose by, the last statement is about the outcome of all.
    given = None if answer is None else _plain(answer.strip().lower())
    return named if given in {mention.option for mention in named} - {None} else list(mentions)


def _answered(text: str, asked: Sequence[re.Match[str]], before: int, place: int) -> re.Match[str] | None:
    """The nearest question before a place, where the place is in the sentence that replies to it."""
    found = REPLY.match(text, asked[before - 1].end()) if before else None
    return asked[before - 1] if found is not None and place <= found.end() else None


Names = list[tuple[str, ...]]
"""What each statement is about, by one name or two; nothing for a statement about the answer."""


def _instead(part: str) -> bool:
    """Whether what is named last before a statement is not the answer, and has no number yet."""
    found = _last(INSTEAD.finditer(part))
    return found is not None and re.search(r"\d\s*%|[.!?]\s", OWN.sub("", part[found.end() :])) is None


def _by_marks(text: str, mentions: Sequence[Mention], before: Sequence[str]) -> Names | None:
    """Candidates that are numbered one by one, or lettered; a last statement without a mark is about the answer."""
    marks = [_last(NUMBERED.finditer(part)) for part in before]
    known = [mark for mark in marks if mark is not None]
    if len(known) < 2 or None in marks[: len(known)] or len(marks) - len(known) > 1 or OVERALL.search(before[-1]):
        return None
    keys = [mark["one"] or mark["two"] or mark["three"] for mark in known]
    if any(not _follows(one, other) for one, other in pairwise(keys)):
        return None
    if any(mark["two"] and not re.search(r"[a-z]", mark["name"]) for mark in known):
        return None  # «2. Confidence: 73%» is a point of a list and no candidate
    names = [(key, _plain(mark["name"]) or key)[key.isdigit() :] for key, mark in zip(keys, known, strict=True)]
    return [*names, *[()] * (len(marks) - len(known))]


def _follows(one: str, other: str) -> bool:
    if one.isdigit() != other.isdigit():
        return False
    return int(other) == int(one) + 1 if one.isdigit() else ord(other) == ord(one) + 1


def _of_objects(text: str, mentions: Sequence[Mention], before: Sequence[str]) -> Names | None:
    """Objects of JSON with a confidence each; a last one outside of them is about the answer."""
    if text.count("{") < 2 or not all(_is_key(text, mention) for mention in mentions):
        return None
    places = [0, *(mention.place for mention in mentions)]
    opened = [text.count("{", one, other) - text.count("}", one, other) for one, other in pairwise(places)]
    depths = list(accumulate(opened))
    if depths[-1] < max(depths):
        return None
    names: Names = []
    for number, mention in enumerate(mentions):
        start = max(text.rfind("{", max(0, mention.place - REACH), mention.place), 0)
        stop = text.find("}", mention.place, mention.place + REACH)
        found = NAME_KEY.search(text, start, stop if stop >= 0 else mention.place)
        found = found or OBJECT_KEY.search(text[max(0, start - 80) : start + 1])
        names.append((_plain(found["name"]) if found else f"object {number}",))
    return names if len(set(names)) > 1 else None


def _is_key(text: str, mention: Mention) -> bool:
    """Whether the word is a key, or part of one: `"answer_confidence":`."""
    first = max(0, mention.place - 40)
    start = max(text.rfind(mark, first, mention.place) for mark in "\"'")
    return start >= 0 and KEY.match(text, start) is not None


def _in_brackets(text: str, mentions: Sequence[Mention], before: Sequence[str]) -> Names | None:
    """Names with a statement in brackets behind each: «Paris (80% sure), London (15% sure)»."""
    joints = [text[one.place : other.place] for one, other in pairwise(mentions)]
    if any(JOINT.fullmatch(joint) is None or OVERALL.search(joint) for joint in joints):
        return None
    heads = [IN_BRACKETS.search(part[-120:]) for part in before]
    return [(_plain(head["name"]),) if head else () for head in heads]


def _by_lines(text: str, mentions: Sequence[Mention], before: Sequence[str]) -> Names | None:
    """Lines that follow each other, each a name and a statement: «Paris: 80% sure»."""
    heads = [LINE.search(part[-120:]) for part in before]
    if any(part.count("\n") != 1 or OVERALL.search(part) for part in before[1:]):
        return None
    found: Names = [(_plain(head["name"]),) for head in heads if head]
    return found if len(found) == len(heads) and len(set(found)) > 1 else None


def _in_turn(text: str, mentions: Sequence[Mention], before: Sequence[str]) -> Names | None:
    """Statements that follow each other in one sentence: «80% sure about Paris and 15% sure about Rome»."""
    turns = [TURN.fullmatch(text[one.place : other.place]) for one, other in pairwise(mentions)]
    if not all(turns):
        return None
    last = TURN.match(f"{text[mentions[-1].place : mentions[-1].place + 80].partition('.')[0]}, 1% ")
    names: Names = [(_plain(turn["name"]),) for turn in [*turns, last] if turn]
    return names if len(names) == len(mentions) else [*names, ("the last",)]


def _last(found: Iterator[re.Match[str]]) -> re.Match[str] | None:
    last = None
    for one in found:
        last = one
    return last


def _plain(name: str) -> str:
    """A name without brackets, quotes, articles and joints."""
    return re.sub(
        r"^(?:(?:option|answer|choice|the|and|or|then|either)\s+)+", "", name.strip(" \t\"'()[]-:.,*")
    ).strip()
