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

from epimeter.readers.logs.candidates import shares, told_apart, with_posed
from epimeter.readers.logs.clauses import Mention
from epimeter.readers.logs.labelled import labelled
from epimeter.readers.logs.markup import plain, unfolded
from epimeter.readers.logs.number_first import adjective, number_first
from epimeter.readers.logs.phrases import (
    CHANCE_OF,
    LABEL,
    LONGEST_LINE,
    PLAINLY,
    STEMS,
    WITHDRAWN,
)
from epimeter.readers.logs.quantity import AMBIGUOUS, NONE, PERCENTS, Stated, quantity


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
    if "<" not in text and (said := _last_line(text, scale)) is not None:
        return said
    if not text.isascii():
        if not speaks_of_confidence(text):
            return NONE
        text = plain(text)
    else:
        low = text.lower()
        if next(_stems(low), None) is None:
            return NONE
        text = plain(text, low)
    if (said := _last_line(text, scale)) is not None:
        return said
    if "|" in text:
        text = unfolded(text)
    mentions = sorted(_mentions(text, scale, words), key=lambda mention: mention.place)
    mentions = with_posed(text, told_apart(text, mentions, answer), answer)
    strong = [mention for mention in mentions if not mention.weak]
    if not strong:
        return AMBIGUOUS if mentions else NONE  # what was thought before is not what is stated
    strong = [mention for mention in strong if not mention.loose] or strong
    strong = [mention for mention in strong if not mention.chance] or strong
    if WITHDRAWN.match(text, strong[-1].place):
        return AMBIGUOUS
    options = {mention.option for mention in strong if mention.option is not None}
    if len(options) > 1:
        of_answer = [mention for mention in strong if answer is not None and mention.option == answer.strip().lower()]
        general = [mention for mention in strong if mention.option is None]
        chosen = general if general and general[-1] is strong[-1] else of_answer
        return chosen[-1].stated if chosen else AMBIGUOUS
    return strong[-1].stated


def speaks_of_confidence(text: str) -> bool:
    """Whether a text has a word for confidence at all: a quick look before the grammar."""
    return next(_stems(text.lower()), None) is not None if text.isascii() else LABEL.search(text) is not None


def _last_line(text: str, scale: float | None) -> Stated | None:
    """What the last line says where it is a plain statement, nothing else, and the only one in these words."""
    plainly = PLAINLY.search(text, max(0, len(text) - LONGEST_LINE))
    if plainly is None or text.find(plainly["word"], 0, plainly.start()) >= 0:
        return None
    percent = plainly["percent"]
    return PERCENTS[int(percent)] if percent else quantity(plainly["number"], 0, scale, False, None)


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


def _mentions(text: str, scale: float | None, words: Mapping[str, float] | None) -> Iterator[Mention]:
    for label in _labels(text):
        if not label["adjective"] and (several := shares(text, label, scale)):
            yield from several
            continue
        if label["adjective"]:
            mention = adjective(text, label)
        else:
            mention = number_first(text, label) or labelled(text, label, scale, words)
        if mention is not None:
            yield mention
