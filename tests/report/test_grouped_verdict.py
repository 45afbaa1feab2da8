# SPDX-License-Identifier: Apache-2.0
"""Answers to one question are one piece of evidence: in the verdict, and in passes over several files."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

import epimeter
from epimeter.cli import epimeter as command_line


def repeated(times, questions=60, seed=5):
    """A calibrated system whose every answer is written down several times."""
    rng = np.random.default_rng(seed)
    confidence = np.round(0.3 + 0.6 * rng.random(questions), 2)
    right = (rng.random(questions) < confidence).astype(int)
    return np.repeat(right, times), np.repeat(confidence, times), np.repeat(np.arange(questions), times)


def written(path, right, confidence, question):
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["confidence", "correct", "question", "half"])
        rows.writerows((c, y, f"q{q}", "ab"[q % 2]) for y, c, q in zip(right, confidence, question, strict=True))
    return str(path)


def test_the_verdict_counts_questions_and_not_their_repeats():
    right, confidence, question = repeated(20)
    once = epimeter.evaluate(right[::20], confidence[::20], kind="answer").verdict
    blind = epimeter.evaluate(right, confidence, kind="answer").verdict
    report = epimeter.evaluate(right, confidence, kind="answer", groups=question)
    assert once.refuted is False and blind.refuted is True
    assert report.verdict.refuted is False and "in 60 groups" in report.verdict.sentences[0]
    # The same answers chosen again and again: twice their p-value, which is what the mean over choices allows, for three tests
    # instead of two.
    assert report.verdict.p_value == pytest.approx(min(1.0, 3 * once.p_value))
    assert report.verdict.bias_high - report.verdict.bias_low == pytest.approx(once.bias_high - once.bias_low, rel=0.02)
    assert any("60 independent units" in caution for caution in report.cautions)


def questions(number, *, gap, alike, seed):
    """Answers of one confidence, twenty a question; `alike`: all of a question are right or wrong together."""
    rng = np.random.default_rng(seed)
    sizes = np.where(np.arange(number) < number // 10, 60, 20)
    question = np.repeat(np.arange(number), sizes)
    chance = rng.random(number)[question] if alike else rng.random(len(question))
    confidence = np.full(len(question), 0.97)
    return (chance < confidence - gap).astype(int), confidence, question


def test_all_rows_of_a_group_speak_in_the_verdict_and_luck_does_not(tmp_path):
    file = written(tmp_path / "off.csv", *questions(200, gap=0.05, alike=False, seed=1))
    result = CliRunner().invoke(command_line, ["evaluate", file])
    assert "Calibration is refuted (a bet on the mean of every group, p " in " ".join(result.output.split()), (
        result.output
    )
    lucky = [
        epimeter.evaluate(right, confidence, kind="answer", groups=question, metrics=["ece"]).verdict
        for right, confidence, question in (questions(24, gap=0.0, alike=True, seed=seed) for seed in range(8))
    ]
    # The standard error of the mean, seen where every group happened to be right, would refute calibrated systems.
    assert sum(not one.bias_low <= 0 <= one.bias_high for one in lucky) >= 2
    assert not any(one.refuted for one in lucky)


def test_groups_count_over_several_files_and_by_slice(tmp_path):
    right, confidence, question = repeated(6)
    whole = written(tmp_path / "whole.csv", right, confidence, question)
    halves = [
        written(tmp_path / f"part{k}.csv", right[k::2], confidence[k::2], question[k::2]) for k in range(2)
    ]  # every question in both files

    def measured(*words):
        result = CliRunner().invoke(command_line, ["evaluate", *words, "-m", "brier_score,accuracy", "--json"])
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    one, several = measured(whole), measured(*halves)
    for a, b in zip(one["measurements"], several["measurements"], strict=True):
        assert a["value"] == pytest.approx(b["value"]) and a["interval"]["low"] == pytest.approx(b["interval"]["low"])
    assert several["n_units"] == one["n_units"] == 60
    sliced = json.dumps(measured(*halves, "--by", "half"))
    assert '"n_units": 30' in sliced


def test_a_pass_that_counts_rows_says_so(tmp_path):
    files = [written(tmp_path / f"{k}.csv", *repeated(3, seed=k)) for k in range(2)]
    result = CliRunner().invoke(command_line, ["evaluate", *files, "--row-limit", "100", "-m", "accuracy"])
    assert result.exit_code == 0 and "counts rows" in result.stderr
