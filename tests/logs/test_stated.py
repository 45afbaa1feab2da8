# SPDX-License-Identifier: Apache-2.0
"""The grammar of stated confidence, on phrasings written for the purpose; half of them are traps."""

import cProfile
import pstats
import re
from pathlib import Path

import pytest

from epimeter.readers.logs import stated as statements
from epimeter.readers.logs.stated import stated

FILE = Path(__file__).with_name("phrasings.tsv")
STATUS = {"none": "none", "ambiguous": "ambiguous", "beyond": "out of range"}


def phrasings():
    for line in FILE.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            expected, _, text = line.partition("\t")
            yield expected, text.replace("\\n", "\n").replace("\\\\", "\\")


def test_every_phrasing_is_read_as_its_author_meant_it():
    wrong = []
    for expected, text in phrasings():
        found = stated(text)
        meant = (None, STATUS[expected]) if expected in STATUS else (float(expected), "stated")
        if (found.value, found.status) != (
            meant[0] if meant[0] is None else pytest.approx(meant[0], abs=1e-12),
            meant[1],
        ):
            wrong.append(f"{text!r}: {found.value if found.value is not None else found.status}, meant {expected}")
    assert not wrong, "\n".join(wrong)


def test_the_phrasings_are_many_and_near_half_are_traps():
    expected = [word for word, _ in phrasings()]
    traps = sum(word in STATUS for word in expected)
    assert len(expected) >= 1400 and traps >= 600


@pytest.mark.parametrize(
    ("text", "options", "value"),
    [
        ("Confidence: 7", {"scale": 10}, 0.7),
        ("Confidence: 7", {"scale": 100}, 0.07),
        ("Confidence: 7%", {"scale": 10}, 0.07),
        ("Confidence: almost certain", {"words": {"almost certain": 0.95, "certain": 1.0}}, 0.95),
        ("Confidence in A: 70%\nConfidence in B: 30%\nAnswer: B", {"answer": "B"}, 0.3),
        ("Confidence in A: 70%\nConfidence in B: 30%\nConfidence: 65%", {"answer": "B"}, 0.65),
        ("Confidence: 85% for A, 15% for B", {"answer": "A"}, 0.85),
        ("Confidence: 85% for A, 15% for B", {"answer": "B"}, 0.15),
        ("Confidence: 85% for Paris, 15% for London", {"answer": "London"}, 0.15),
        ("Confidence: A: 85%, B: 15%", {"answer": "B"}, 0.15),
        ("Is it A? 30% sure. Is it B? I don't know.", {"answer": "A"}, 0.3),
        ("Is it A? 30% sure. Is it B? 60% sure.", {"answer": "A"}, 0.3),
        ("Is it A? 30% sure. Is it B? 60% sure.", {}, 0.6),
        ("Confidences: A 10%, B 70%, C 10%, D 10%", {"answer": "B"}, 0.7),
        ("Guess 1: Paris\nConfidence 1: 80%\nGuess 2: London\nConfidence 2: 15%", {"answer": "Paris"}, 0.8),
        ("1. Paris\nConfidence: 80%\n2. London\nConfidence: 15%", {"answer": "London"}, 0.15),
        ("A: too early. I'm 10% confident.\nB: fits. I'm 85% confident.\nAnswer: B", {"answer": "B"}, 0.85),
        ("Confidence A: 20%\nConfidence B: 80%", {"answer": "B"}, 0.8),
        ("| Answer | Confidence |\n|---|---|\n| Paris | 80% |\n| Rome | 15% |", {"answer": "Paris"}, 0.8),
        ('[{"answer":"Paris","confidence":0.8},{"answer":"London","confidence":0.15}]', {"answer": "Paris"}, 0.8),
        ("I'm 80% sure about Paris and 15% sure about Rome.", {"answer": "Rome"}, 0.15),
    ],
)
def test_what_the_caller_knows_settles_what_the_text_leaves_open(text, options, value):
    assert stated(text, **options).value == pytest.approx(value)


def test_a_long_text_without_a_statement_is_no_burden():
    text = "The probability of an even number is certain to be confident. " * 2000
    assert stated(text).status == "none"


@pytest.mark.parametrize(
    "piece",
    [
        '{"answer": "x", "confidence": 0.5},',
        "1. Paris (80% sure), ",
        "Confidence: 5% for A, ",
        "G1: x\nConfidence: 5%\n",
    ],
)
def test_a_text_of_many_statements_takes_time_in_proportion(piece):
    """By the calls that are made: twice the text may not take four times as many."""
    calls = []
    for count in (500, 1000):
        profile = cProfile.Profile(builtins=True)
        profile.runcall(stated, piece * count)
        calls.append(pstats.Stats(profile).total_calls)
    assert calls[1] < 2.5 * calls[0]


@pytest.mark.parametrize(
    "line", ["Confidence: 85%", "confidence : 7 %.", "Confidence: 100%", "Confidence: 101%", "**Confidence:** 60%"]
)
@pytest.mark.parametrize(
    "before", ["", "It is B.\n", "On a scale from 0 to 10\n", "I am certain.\n", "If so, say\n", "Not at all:\n\n"]
)
def test_the_short_way_says_what_the_grammar_says(line, before, monkeypatch):
    quick = stated(before + line)
    monkeypatch.setattr(statements, "PLAINLY", re.compile("(?!)"))
    assert stated(before + line) == quick
