# SPDX-License-Identifier: Apache-2.0
"""Scores without bounds: their order as it is, their calibration after a cross-fitted recalibration."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

import epimeter
from epimeter.cli import epimeter as command_line
from epimeter.errors import ReadError
from epimeter.metrics.selective import OF_ORDER
from epimeter.readers.logs import read_log


@pytest.fixture
def log(tmp_path):
    """A reward between -20 and 5, in steps so that some are equal, and an entropy that runs the other way; two epochs."""
    rng = np.random.default_rng(11)
    samples = []
    for i in range(120):
        for epoch in (1, 2):
            z = round(rng.normal(), 1)
            right = rng.random() < 1 / (1 + math.exp(-1.5 * z))
            samples.append(
                {"id": i, "epoch": epoch, "output": {"completion": f"no {i}"}, "metadata": {"reward": 3 * z - 7, "entropy": 2 - z},
                 "scores": {"s": {"value": "C" if right else "I", "answer": f"{i} {epoch}"}}}
            )  # fmt: skip
    path = tmp_path / "run.json"
    about = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m", "run_id": "r"}}
    path.write_text(json.dumps(about | {"samples": samples}))
    return path


def run(*words):
    result = CliRunner().invoke(command_line, [str(word) for word in words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def measured(right, confidence, name):
    return epimeter.evaluate(right, confidence, kind="answer", metrics=[name])[name].value


def test_its_order_is_measured_as_it_is_and_the_rest_after_recalibration(log):
    told = ("--scale", "higher", "-m", "auroc,ece,accuracy", "--json")
    report = json.loads(run("evaluate", log, "--confidence", "metadata:reward", *told).output)
    values = {one["metric"]: one["value"] for one in report["measurements"]}
    rows = [(s["metadata"]["reward"], s["scores"]["s"]["value"] == "C") for s in json.loads(log.read_text())["samples"]]
    right, wrong = [c for c, y in rows if y], [c for c, y in rows if not y]
    pairs = sum((a > b) + (a == b) / 2 for a in right for b in wrong) / (len(right) * len(wrong))
    assert values["auroc"] == pytest.approx(pairs, abs=1e-12)
    table = read_log(log, confidence="metadata:reward", scale="higher").table()
    assert values["ece"] == pytest.approx(measured(table.label, table.confidence, "ece"), abs=1e-12)
    assert values["ece"] < 0.12 and "no bounds" in str(report["source"]["notes"])
    assert any("recalibrated after the model made them" in caution for caution in report["cautions"])


def test_an_answer_is_mapped_by_answers_to_other_questions(log):
    before = read_log(log, confidence="metadata:reward", scale="higher").rows
    document = json.loads(log.read_text())
    own = document["samples"][0]["scores"]["s"]
    own["value"] = "I" if own["value"] == "C" else "C"
    log.write_text(json.dumps(document))
    after = read_log(log, confidence="metadata:reward", scale="higher").rows
    changed = [a != b for a, b in zip(before["confidence"].to_pylist(), after["confidence"].to_pylist(), strict=True)]
    assert not changed[0] and not changed[1] and sum(changed) > 150


def test_lower_may_mean_surer_and_the_wrong_way_is_said(log):
    surer = read_log(log, confidence="metadata:entropy", scale="lower")
    assert surer.rows["confidence"].to_pylist() == pytest.approx(
        read_log(log, confidence="metadata:reward", scale="higher").rows["confidence"].to_pylist(), abs=1e-9
    )
    assert any("--scale higher" in note for note in read_log(log, confidence="metadata:reward", scale="lower").notes)


def test_without_a_word_on_its_direction_it_is_refused(log):
    with pytest.raises(ReadError, match="least value in run.json is .*--scale higher or --scale lower"):
        read_log(log, confidence="metadata:reward")


@pytest.mark.parametrize("name", OF_ORDER)
def test_metrics_of_order_see_no_increasing_map(name):
    rng = np.random.default_rng(5)
    confidence = np.round(rng.random(200), 2)
    right = rng.random(200) < confidence
    plain, bent = (measured(right, values, name) for values in (confidence, confidence**3 / 2))
    assert plain == pytest.approx(bent, abs=1e-12)


def test_comparisons_and_curves_of_order_are_of_the_score_itself(log, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(log.read_text().replace('"model": "m"', '"model": "n"').replace('"run_id": "r"', '"run_id": "q"'))
    score = ("--confidence", "metadata:reward", "--scale", "higher")
    table = read_log(log, confidence="metadata:reward", scale="higher").table()
    made = json.loads(run("compare", log, other, *score, "-m", "auroc,aurc", "--draws", 19, "--json").output)
    values = {one["metric"]: one["value_first"] for one in made["differences"]}
    assert values["auroc"] == pytest.approx(measured(table.label, table.rank, "auroc"), abs=1e-12)
    assert values["auroc"] != pytest.approx(measured(table.label, table.confidence, "auroc"), abs=1e-6)
    mixed = CliRunner().invoke(
        command_line, ["compare", str(log), str(other), *score, "-m", "auroc,ece", "--draws", "19"]
    )
    assert "compare them apart: --metric auroc, and --metric ece" in str(mixed.exception)
    curve = json.loads(run("draw", log, *score, "--curve", "risk_coverage", "--json").output)
    assert curve["value"] == pytest.approx(measured(table.label, table.rank, "aurc"), abs=1e-12)


@pytest.mark.parametrize("values", [[0.4, 2.5, 7.0], [2, 5, 9]])
def test_a_score_that_may_have_no_bounds_is_refused_with_the_way_to_say_so(tmp_path, values):
    scores = [{"value": "CI"[i % 2], "answer": "x", "metadata": {"entropy": value}} for i, value in enumerate(values)]
    samples = [
        {"id": i, "epoch": 1, "output": {"completion": "x"}, "scores": {"s": score}} for i, score in enumerate(scores)
    ]
    path = tmp_path / "run.json"
    about = {"task": "t", "model": "m", "run_id": "r"}
    path.write_text(json.dumps({"version": 2, "status": "success", "eval": about, "samples": samples}))
    with pytest.raises(ReadError, match="--scale higher or lower"):
        read_log(path, confidence="metadata:entropy")
