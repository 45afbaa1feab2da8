# SPDX-License-Identifier: Apache-2.0
"""Rows for a tolerance of one's own: as many as planned decide as often as planned."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from epimeter import evaluate
from epimeter.cli import epimeter


def typed(*words):
    done = CliRunner().invoke(epimeter, ["plan", *words])
    return done.output if done.exception is None else f"{done.output}{done.exception}"


def test_as_many_rows_as_planned_decide_about_the_brier_score():
    said = typed(
        "--metric", "brier_score", "--limit", "0.2524", "--expected", "0.2504", "--deviation", "0.02", "--json"
    )
    rows = json.loads(said)["needs"][0]["rows"]
    rng = np.random.Generator(np.random.PCG64(0))
    clear = 0
    for _ in range(40):  # forecasts of 0.5 +- 0.02: the score is 0.2504 and varies by 0.02 a row
        prob = 0.5 + 0.02 * rng.choice([-1, 1], rows)
        report = evaluate((rng.random(len(prob)) < 0.5).astype(int), prob, metrics="brier_score")
        clear += report["brier_score"].interval.high < 0.2524
    assert clear >= 33


def test_without_an_expectation_several_are_supposed_and_nearer_ones_need_more():
    needs = json.loads(typed("--metric", "brier_score", "--limit", "0.05", "--json"))["needs"]
    assert [need["expected"] for need in needs] == pytest.approx([0.025, 0.04, 0.045])
    assert needs[0]["rows"] < needs[1]["rows"] < needs[2]["rows"]
    assert "if it is" in typed("--metric", "ece", "--limit", "0.05")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--metric", "ece"), "belong together"),
        (("--metric", "ece", "--limit", "3"), r"must lie in \[0, 1\]"),
        (("--metric", "ece", "--limit", "0.05", "--expected", "0.05"), "lies on the limit"),
        (("--metric", "nll", "--limit", "0.5"), "give --deviation"),
        (("--metric", "accuracy", "--limit", "0.9"), "--expected VALUE"),
        (("--metric", "ece", "--limit", "0.1", "--level", "L2"), "are for standards"),
        (("--expected", "0.1", "--expected-ece", "0.1"), "are for --metric"),
        ((), "plan takes --expected-ece"),
    ],
)
def test_a_plan_that_cannot_be_made_says_what_is_missing(words, sentence):
    done = CliRunner().invoke(epimeter, ["plan", *words], standalone_mode=False)
    assert re.search(sentence, str(getattr(done.exception, "message", done.exception)))
