# SPDX-License-Identifier: Apache-2.0
"""Answers to one question are one piece of evidence, in tests and comparisons too."""

import numpy as np
import pytest

from epimeter.errors import InputError
from epimeter.inference import calibration_tests, compare, compare_samples, safe_calibration_test


def repeated(seed, questions=60, times=16):
    """Calibrated over questions, but all answers to a question are right or wrong together."""
    rng = np.random.Generator(np.random.PCG64(seed))
    c = rng.uniform(0.3, 0.95, questions)
    y = (rng.random(questions) < c).astype(int)
    return np.repeat(y, times), np.repeat(c, times), np.repeat(np.arange(questions), times)


def test_repeats_refute_calibration_only_where_they_are_taken_for_evidence():
    naive = honest = 0
    for seed in range(12):
        y, c, question = repeated(seed)
        naive += any(f.reject for f in calibration_tests(y, c, metrics=["ece"], draws=99))
        honest += any(f.reject for f in calibration_tests(y, c, metrics=["ece"], draws=99, groups=question))
    assert naive >= 10 and honest <= 1


def test_a_group_a_row_changes_nothing_and_repeats_of_a_bad_model_still_refute():
    y, c, question = repeated(1)
    plain = calibration_tests(y, c, metrics=["ece"], draws=99)
    assert calibration_tests(y, c, metrics=["ece"], draws=99, groups=np.arange(len(y))) == plain
    found = calibration_tests(np.zeros_like(y), c, metrics=["ece", "spiegelhalter_z"], draws=199, groups=question)
    assert all(f.reject for f in found) and "one row of each of 60 groups" in found[0].method
    assert safe_calibration_test(np.zeros_like(y), c, draws=99, groups=question).reject


def test_each_model_may_have_its_own_outcomes():
    rng = np.random.Generator(np.random.PCG64(3))
    c = rng.random(400)
    good, bad = (rng.random(400) < c).astype(int), (rng.random(400) < 0.3).astype(int)
    found = compare(
        {"a": good, "b": bad}, {"a": c, "b": c}, metrics=["accuracy", "brier_score", "aurc"], draws=199, kind="answer"
    )
    first = {d.metric: d for d in found}
    assert first["accuracy"].value == pytest.approx(good.mean() - bad.mean())
    assert first["brier_score"].better == "a"
    with pytest.raises(InputError, match="same models"):
        compare({"a": good}, {"a": c, "b": c})


def test_unpaired_samples_are_drawn_by_group():
    y, c, question = repeated(5)
    z, d, other = repeated(6)
    wide = compare_samples((y, c), (z, d), metrics=["brier_score"], draws=199, groups=(question, other))[0]
    narrow = compare_samples((y, c), (z, d), metrics=["brier_score"], draws=199)[0]
    assert wide.interval.high - wide.interval.low > 2 * (narrow.interval.high - narrow.interval.low)
    assert wide.interval.units == 60
