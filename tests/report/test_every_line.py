# SPDX-License-Identifier: Apache-2.0
"""Every line of the default report has an interval, or says in two words why not; the intervals cover."""

from __future__ import annotations

import numpy as np
import pytest

from epimeter.inference.intervals import interval
from epimeter.metrics import classwise_ece, drmsce_bcs
from epimeter.report import evaluate

WITHOUT = {"spiegelhalter_z": "a test"}


def softmax(rng: np.random.Generator, n: int, classes: int, heat: float) -> tuple[np.ndarray, np.ndarray]:
    """Labels drawn from one softmax beside another, `heat` times too flat."""
    scores = rng.normal(size=(n, classes)) * 2
    chance, said = (np.exp(part) / np.exp(part).sum(axis=1, keepdims=True) for part in (scores, scores / heat))
    return (chance.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1), said


@pytest.mark.parametrize("kind", ["event", "answer", "classes"])
def test_every_line_of_the_default_report_has_an_interval(kind):
    rng = np.random.default_rng(0)
    if kind == "classes":
        true, said = softmax(rng, 600, 4, 1.0)
    else:
        said = rng.uniform(0.02, 0.98, 600)
        true = (rng.random(600) < said).astype(int)
    report = evaluate(true, said, kind=kind)
    why_not = {line.metric: line.no_interval for line in report.measurements if line.interval is None}
    assert why_not == WITHOUT
    for line in report.measurements:
        assert line.interval is None or line.interval.low <= line.interval.high


def test_class_probabilities_are_judged_class_by_class():
    true, said = softmax(np.random.default_rng(1), 400, 3, 1.0)
    by_class = [drmsce_bcs((true == k).astype(int), said[:, k]) for k in range(3)]
    line = evaluate(true, said)["drmsce_bcs"]
    assert line.value == pytest.approx(np.sqrt(np.mean([one.value**2 for one in by_class])), abs=1e-12)
    assert line.fields["bins"] == max(one.bins for one in by_class)
    assert line.parameters["mode"] == "classwise"
    named = evaluate(true, said, metrics=["drmsce_bcs"])["drmsce_bcs"]
    assert named.value == pytest.approx(drmsce_bcs(true, said).value)


def test_the_parts_of_a_result_stand_beside_its_interval():
    rng = np.random.default_rng(2)
    said = rng.random(300)
    shown = str(evaluate((rng.random(300) < said).astype(int), said))
    for part in ("mcb", "dsc", "unc", "above", "below"):
        assert f"\n    {part} " in shown


@pytest.mark.parametrize("heat", [1.0, 0.6])
@pytest.mark.parametrize(("metric", "choices"), [(classwise_ece, {}), (drmsce_bcs, {"mode": "classwise"})])
def test_intervals_of_class_wise_errors_cover(metric, choices, heat):
    """Measured over 200 sets of 1,000 rows: 93 to 99 %."""
    rng = np.random.default_rng(3)
    truth = 0.0 if heat == 1 else float(metric(*softmax(rng, 100_000, 4, heat), **choices))
    sets = [softmax(rng, 500, 4, heat) for _ in range(40)]
    found = [interval(metric, *rows, method="asymptotic", **choices) for rows in sets]
    assert sum(one.low <= truth <= one.high for one in found) >= 34
    assert max(one.high - one.low for one in found) < 0.12


def test_rows_written_five_times_are_as_much_evidence_to_class_wise_errors_as_rows_written_once():
    """With groups; measured over 120 sets of 300 groups the intervals of `classwise_ece` cover 96 to 100 %."""
    true, said = softmax(np.random.default_rng(4), 300, 4, 0.7)
    names = ["classwise_ece"]
    once = evaluate(true, said, metrics=names)["classwise_ece"].interval
    groups = np.repeat(np.arange(300), 5)
    often = evaluate(np.repeat(true, 5), np.repeat(said, 5, axis=0), groups=groups, metrics=names)[
        "classwise_ece"
    ].interval
    assert often.method == "inversion, by groups" and often.units == 300
    assert (often.low, often.high) == pytest.approx((once.low, once.high), abs=2e-3)


def test_class_wise_lines_have_intervals_where_rows_are_grouped():
    true, said = softmax(np.random.default_rng(5), 600, 3, 1.0)
    report = evaluate(true, said, groups=np.repeat(np.arange(150), 4))
    assert {line.no_interval for line in report.measurements if line.interval is None} == {"a test"}


def odd_rows():
    """Rows of which little can be said: constants, two values, few rows, all right, all wrong."""
    rng = np.random.default_rng(2)
    mixed, said = (rng.random(60) < 0.6).astype(int), rng.random(60)
    yield from ((mixed, np.full(60, constant)) for constant in (0.0, 0.5, 0.6, 1.0))
    yield mixed, np.where(rng.random(60) < 0.5, 0.2, 0.8)
    yield from (([1, 0, 1][:n], [0.7, 0.2, 0.9][:n]) for n in (1, 2, 3))
    yield from ((outcome, said) for outcome in (np.ones(60, int), np.zeros(60, int)))
    yield from ((mixed, stated) for stated in (mixed * 1.0, 1.0 - mixed))
    classes = rng.integers(0, 3, 60)
    yield from ((classes, np.eye(3)[(classes + shift) % 3]) for shift in (0, 1))
    yield classes, np.tile([0.5, 0.3, 0.2], (60, 1))


def test_every_line_of_odd_rows_has_an_interval_of_some_length_or_two_words_and_a_sound_number_of_degrees_of_freedom():
    for true, prob in odd_rows():
        for intervals in ("asymptotic", "bootstrap"):
            report = evaluate(true, prob, intervals=intervals, draws=10)
            for line in report.measurements:
                assert line.interval is None or line.interval.high > line.interval.low, line
                assert line.value is None or line.interval is not None or len(line.no_interval.split()) == 2, line
            assert str(report) and report.to_json()
        tests = evaluate(true, prob, metrics=["hl", "classwise_hl", "knn_chi2", "ace"])
        for line in tests.measurements:
            assert line.value is None or line.fields.get("dof", 1) >= 0, line
            assert line.value is not None or "needs" in line.undefined, line


@pytest.mark.filterwarnings("error")
def test_classes_that_are_stated_as_0_and_never_come_true_leave_the_interval_whole():
    """A softmax that underflows: bins that said 0 alone and were right have no spread, and nothing is divided by it."""
    rng = np.random.default_rng(3)
    top = rng.uniform(0.6, 1.0, 300)
    said = np.zeros((300, 5))
    said[:, 0], said[:, 1] = top, 1 - top
    line = evaluate(np.where(rng.random(300) < top, 0, 1), said)["classwise_ece"]
    assert line.interval is not None and line.interval.low <= line.value <= line.interval.high + 0.02
