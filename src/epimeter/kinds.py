# SPDX-License-Identifier: Apache-2.0
"""What a forecast is: the probability of an event, the confidence in an answer, or one probability a class.

The same number means different things. 0.1 as the probability of outcome 1 is a confident "no"; 0.1 as the confidence in
an answer is a system that does not believe itself. So the kind is a fact of the data, carried from the columns to the
certificate, and every sentence about the data is worded by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from epimeter.errors import InputError

Kind = Literal["event", "answer", "classes"]
KINDS: tuple[Kind, ...] = get_args(Kind)

TOP_LABEL = "the answer is 1 where p >= 0.5, else 0, and its confidence max(p, 1 - p)"
"""The rule by which an event is read as an answer (C-48)."""


@dataclass(frozen=True)
class Wording:
    """The words of one kind.

    Attributes
    ----------
    what
        What each row states, as a report's first line says it.
    noun
        What each stated number is called, in one word.
    said, seen
        Axis labels: what was stated, what then came.
    too_sure
        What is so where the outcomes are further off than the stated numbers allow.
    too_much, too_little
        What a system does that states more, or less, than comes true; `{}` holds the points.
    as_answers
        How the standards read such rows, which speak of answers; empty where nothing has to be changed.
    """

    what: str
    noun: str
    said: str
    seen: str
    too_sure: str
    too_much: str
    too_little: str
    as_answers: str


WORDING: dict[Kind, Wording] = {
    "event": Wording(
        "events: each row states the probability of outcome 1",
        "probability",
        "probability stated for outcome 1",
        "outcome 1 came true",
        "its probabilities are surer than the outcomes bear out",
        "says {} points too much for outcome 1",
        "says {} points too little for outcome 1",
        f"probabilities of outcome 1 are read as answers by their top label: {TOP_LABEL}",
    ),
    "answer": Wording(
        "answers: each row states the confidence in the answer given",
        "confidence",
        "confidence stated in the answer",
        "the answer was right",
        "it is over-confident",
        "is over-confident by {} points",
        "is under-confident by {} points",
        "",
    ),
    "classes": Wording(
        "classes: each row states one probability a class",
        "confidence",
        "confidence stated in the top label",
        "the top label was right",
        "it is over-confident",
        "is over-confident by {} points in its top label",
        "is under-confident by {} points in its top label",
        "class probabilities are read as answers by their top label: the class of largest probability, the first on ties, "
        "with that probability as its confidence",
    ),
}


CERTIFIED: dict[Kind, str] = {
    "event": f"the probability of outcome 1, read as an answer by its top label: {TOP_LABEL}",
    "answer": "the confidence in the answer given, beside whether it was right",
    "classes": "one probability a class, read as an answer by its top label: the class of largest probability, the first on ties",
}
"""What a certificate says of the forecast it speaks of; part of its signed bytes, so never reworded."""


def kind_of(value: object, *, name: str = "kind") -> Kind:
    """The kind of that name; anything else is refused."""
    if value not in KINDS:
        raise InputError(
            f"{name} must be event (the probability of outcome 1), answer (the confidence in the answer given) or classes "
            f"(one probability a class); got {value!r:.40}",
            field=name,
        )
    return value
