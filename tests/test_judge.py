# SPDX-License-Identifier: Apache-2.0
"""A judge as an instrument: unbiased whatever it is worth, narrower the better it is."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from epimeter.cli import epimeter as command_line
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.inference import judged_accuracy


def graded(rng, n=2000, labelled=200, hit=0.95, false_alarm=0.15, accuracy=0.7):
    """Answers, a judge who calls right ones right with chance `hit` and wrong ones with `false_alarm`, and some labels."""
    right = rng.random(n) < accuracy
    judge = np.where(right, rng.random(n) < hit, rng.random(n) < false_alarm).astype(float)
    human = np.where(np.arange(n) < labelled, right, np.nan)
    return judge, human


@pytest.mark.parametrize(("hit", "false_alarm"), [(0.95, 0.15), (0.6, 0.5), (0.2, 0.9)])
def test_the_interval_covers_whatever_the_judge_is_worth(hit, false_alarm):
    rng = np.random.default_rng(0)
    found = [judged_accuracy(*graded(rng, hit=hit, false_alarm=false_alarm)) for _ in range(200)]
    assert sum(one.interval.low <= 0.7 <= one.interval.high for one in found) >= 182
    assert np.mean([one.accuracy for one in found]) == pytest.approx(0.7, abs=0.01)


def test_a_good_judge_is_worth_labels_and_a_useless_one_costs_nothing():
    rng = np.random.default_rng(1)
    width = lambda interval: interval.high - interval.low  # noqa: E731
    good = judged_accuracy(*graded(rng))
    assert width(good.interval) < 0.7 * width(good.people_interval)
    assert abs(good.by_judge - 0.7) > 0.005
    blind = judged_accuracy(*graded(rng, hit=0.5, false_alarm=0.5))
    assert width(blind.interval) < 1.02 * width(blind.people_interval)


def test_its_error_rates_are_those_of_the_labelled_answers():
    judge, human = [1, 1, 0, 0.2, 0.9, 1, 0], [1, 1, 1, 0, 0, None, None]
    found = judged_accuracy(judge, human)
    assert found.sensitivity[0] == pytest.approx(2 / 3) and found.specificity[0] == pytest.approx(1 / 2)
    assert (found.n_rows, found.n_labelled, found.by_people) == (7, 5, 0.6)


def test_answers_to_one_question_count_together():
    rng = np.random.default_rng(2)
    judge, human = graded(rng, n=400, labelled=200)
    alone = judged_accuracy(judge, human)
    copies = judged_accuracy(np.tile(judge, 3), np.tile(human, 3), groups=np.tile(np.arange(400), 3))
    assert copies.accuracy == pytest.approx(alone.accuracy)
    assert copies.interval.low == pytest.approx(alone.interval.low, abs=1e-6)
    assert copies.n_units == 400


def test_everything_labelled_is_the_plain_share():
    human = np.array([1, 0, 1, 1, 0, 1] * 10)
    found = judged_accuracy(np.full(60, 0.5), human)
    assert found.accuracy == found.by_people == pytest.approx(2 / 3) and found.tuning == 0


@pytest.mark.parametrize(
    ("judge", "human", "error", "says"),
    [
        ([0.5, 2.0], [1, 0], InputError, "judge must lie in"),
        ([0.5, 1.0], [1, 0.5], InputError, "human must be 1, 0, or missing"),
        ([0.5, 1.0], [1], InputError, "same length"),
        ([0.5, 1.0], [1, None], UndefinedMetricError, "at least 2 labelled"),
    ],
)
def test_what_cannot_be_used_is_refused(judge, human, error, says):
    with pytest.raises(error, match=says):
        judged_accuracy(judge, human)


def test_the_command_reads_a_file_and_writes_a_page(tmp_path):
    judge, human = graded(np.random.default_rng(3), n=300, labelled=60)
    lines = [f"q{k % 100},{j:g},{'' if h != h else int(h)}" for k, (j, h) in enumerate(zip(judge, human, strict=True))]
    (tmp_path / "a.csv").write_text("\n".join(["question,judge,human", *lines]) + "\n")
    run = CliRunner().invoke(command_line, ["judge", str(tmp_path / "a.csv"), "--json"])
    assert json.loads(run.output)["accuracy"] == pytest.approx(judged_accuracy(judge, human).accuracy)
    by_question = CliRunner().invoke(command_line, ["judge", str(tmp_path / "a.csv"), "--group", "question", "--json"])
    assert json.loads(by_question.output)["n_units"] == 100
    CliRunner().invoke(command_line, ["judge", str(tmp_path / "a.csv"), "-o", str(tmp_path / "a.html")])
    assert "How many answers are right?" in (tmp_path / "a.html").read_text()
