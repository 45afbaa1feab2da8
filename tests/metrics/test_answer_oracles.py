# SPDX-License-Identifier: Apache-2.0
"""Metrics of answers beside the packages that language-model people use; their values are frozen here.

Computed with inspect-evals 0.26.0 (`hle.metrics.cerr`), lm-polygraph 0.7.0 (`ue_metrics.PredictionRejectionArea`, its random
order replaced by the mean over all orders, which is the accuracy), scikit-learn 1.9.1 and MAPIE 1.6.0
(`metrics.calibration`; its Kolmogorov-Smirnov statistic adds noise of its own, and its ECE cuts other bins) on the columns
below.
"""

from __future__ import annotations

import numpy as np
import pytest

from epimeter import metrics
from epimeter.errors import InputError


@pytest.fixture
def percents():
    """Whole percents, as a judge extracts them: 300 answers, and no tie across the bins of a hundred."""
    i = np.arange(300)
    percent = i // 4
    return {"correct": (i * 7919 % 300 / 300 < 0.2 + 0.6 * percent / 100).astype(int), "confidence": percent / 100}


@pytest.fixture
def distinct():
    """250 answers of which no two are equally sure."""
    i = np.arange(250)
    confidence = (i * 89 % 250 + 0.5) / 250
    return {"correct": (i * 57 % 250 / 250 < confidence).astype(int), "confidence": confidence}


def test_the_error_of_humanitys_last_exam_is_that_of_inspect_evals(percents):
    assert metrics.hle_ce(**percents) == pytest.approx(0.09678154093971984, abs=1e-12)


def test_fractions_of_a_percent_count_where_inspect_evals_cuts_them():
    """Its `cerr` with the cut to whole percents left out; with it the same answers give 0.1705."""
    i = np.arange(433)
    confidence = (i * 89 % 433 + 0.37) / 433.9
    correct = (i * 57 % 433 / 433 < confidence**2).astype(int)
    assert metrics.hle_ce(correct=correct, confidence=confidence) == pytest.approx(0.17514651692690766, abs=1e-12)


@pytest.mark.parametrize(
    ("metric", "choices", "value"),
    [
        ("prr", {}, 0.715223786139846),  # lm-polygraph
        ("prr", {"max_rejection": 0.5}, 0.6300204794386837),
        ("auarc", {}, 0.7502802979780805),
        ("auroc", {}, 0.8268049155145929),  # scikit-learn
        ("brier_score", {}, 0.16994),
        ("nll", {}, 0.5212537008584887),
        ("accuracy", {}, 0.504),
    ],
)
def test_metrics_of_answers_are_those_of_the_packages(distinct, metric, choices, value):
    assert float(getattr(metrics, metric)(**distinct, **choices)) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(("metric", "value"), [("ecce_mad", 0.3581720586373806), ("ecce_r", 0.39039515550777903)])
def test_the_largest_cumulative_error_over_its_scale_is_mapies_statistic(distinct, metric, value):
    said = distinct["confidence"]
    scale = np.sqrt(np.sum(said * (1 - said))) / len(said)
    assert float(getattr(metrics, metric)(**distinct)) / scale == pytest.approx(value, rel=1e-3)


def test_spiegelhalters_statistic_is_mapies(distinct):
    found = metrics.spiegelhalter_z(**distinct)
    assert float(found) == pytest.approx(0.2833578451449779, abs=1e-9)
    assert found.p_value / 2 == pytest.approx(0.3884512696768303, abs=1e-9)  # MAPIE's is of one side


def test_columns_that_are_called_correct_and_confidence_are_answers_in_every_metric(distinct):
    doubtful = {
        "correct": distinct["correct"],
        "confidence": distinct["confidence"] / 2,
    }  # an event would be turned round
    from epimeter import evaluate

    report = evaluate(**doubtful, metrics=["accuracy", "aurc", "auroc", "hle_ce", "prr"])
    for name in report:
        assert float(getattr(metrics, name)(**doubtful)) == pytest.approx(report[name].value, abs=1e-12)
    with pytest.raises(InputError, match="takes two columns"):
        metrics.auroc(correct=doubtful["correct"])
