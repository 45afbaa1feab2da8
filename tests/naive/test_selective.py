# SPDX-License-Identifier: Apache-2.0
"""The selective family against slow twins, written straight from the definitions with plain loops."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from epimeter import inference, metrics
from epimeter.errors import UndefinedMetricError


def answers(seed, n=150, decimals=None):
    rng = np.random.Generator(np.random.PCG64(seed))
    c = rng.random(n)
    if decimals is not None:
        c = np.round(c, decimals)
    return (rng.random(n) < 0.2 + 0.6 * c).astype(int), 0.5 + c / 2


CASES = [answers(1), answers(2, 90, 1), answers(3, 37, 2), (np.array([1, 0, 1, 1]), np.array([0.7, 0.7, 0.7, 0.9]))]


def risk(y, c, t):
    kept = [wrong for wrong, said in zip(1 - y, c, strict=True) if said >= t]
    return Fraction(int(sum(kept)), len(kept))


@pytest.mark.parametrize(("y", "c"), CASES)
def test_areas_are_means_over_all_thresholds(y, c):
    y, c = np.array(y), np.array(c)
    n, wrong = len(y), int((1 - y).sum())
    area = sum(risk(y, c, t) for t in c) / n
    best = sum(Fraction(k, n - wrong + k) for k in range(1, wrong + 1)) / n
    accuracy = Fraction(int(y.sum()), n)
    kind = {"y_true": y, "y_prob": c}
    assert metrics.aurc(**kind) == pytest.approx(float(area), abs=1e-13)
    assert metrics.auarc(**kind) == pytest.approx(float(1 - area), abs=1e-13)
    assert metrics.e_aurc(**kind) == pytest.approx(float(area - best), abs=1e-12)
    assert metrics.prr(**kind) == pytest.approx(float((1 - area - accuracy) / (1 - best - accuracy)), abs=1e-12)
    assert metrics.accuracy(**kind) == pytest.approx(float(accuracy), abs=1e-15)
    assert metrics.auroc(**kind) == pytest.approx(roc_auc_score(y, c), abs=1e-13)


def test_the_rejection_ratio_stops_where_it_is_told():
    y, c = answers(4, 200)
    order = np.argsort(-c)
    scores = [y[order][:k].mean() for k in range(1, 201)]
    best = [np.sort(y)[::-1][:k].mean() for k in range(1, 201)]
    expected = (np.mean(scores[100:]) - y.mean()) / (np.mean(best[100:]) - y.mean())
    assert metrics.prr(y, c, max_rejection=0.5) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("y", "c"), CASES)
def test_operating_points_keep_whole_ties(y, c):
    y, c = np.array(y), np.array(c)
    for wanted in (0.1, 0.5, 0.8, 1.0):
        t = max(t for t in c if np.mean(c >= t) >= wanted - 1e-12)
        found = metrics.selective_accuracy(y, c, coverage=wanted)
        assert (found.value, found.coverage, found.threshold) == (
            pytest.approx(y[c >= t].mean()),
            pytest.approx(np.mean(c >= t)),
            t,
        )
    for wanted in (0.3, 0.6, 0.9):
        shares = [np.mean(c >= t) for t in c if y[c >= t].mean() >= wanted - 1e-12]
        assert metrics.coverage_at_accuracy(y, c, accuracy=wanted).value == pytest.approx(max(shares, default=0.0))


def printed(confidence, correct, beta=100):
    """The calibration error as the code of Humanity's Last Exam has it, without its last bin."""
    order = np.argsort(confidence, kind="stable")
    confidence, correct = confidence[order], correct[order]
    bins = [[i * beta, (i + 1) * beta] for i in range(len(confidence) // beta)]
    bins[-1][1] = len(confidence)
    total = sum((b - a) / len(confidence) * (confidence[a:b].mean() - correct[a:b].mean()) ** 2 for a, b in bins[:-1])
    return math.sqrt(total)


def test_hundreds_with_and_without_the_last_bin():
    y, c = answers(5, 1037)
    assert metrics.hle_ce(y, c, as_printed=True) == pytest.approx(printed(c, y), abs=1e-12)
    last = math.sqrt(137 / 1037) * abs(c[np.argsort(c)][900:].mean() - y[np.argsort(c)][900:].mean())
    assert metrics.hle_ce(y, c) == pytest.approx(math.hypot(printed(c, y), last), abs=1e-12)
    y, c = answers(6, 80, 1)
    assert metrics.hle_ce(y, c) == pytest.approx(abs(y.mean() - c.mean()), abs=1e-12)
    with pytest.raises(UndefinedMetricError, match="200 answers as printed"):
        metrics.hle_ce(y, c, as_printed=True)


def test_normalized_entropy_is_the_loss_beside_that_of_the_base_rate():
    y, c = answers(7, 300)
    blind = log_loss(y, np.full(300, y.mean()))
    assert metrics.normalized_entropy(y, c) == pytest.approx(log_loss(y, c) / blind, abs=1e-12)


def test_one_kind_of_answer_leaves_ranks_undefined():
    for name in ("auroc", "prr"):
        with pytest.raises(UndefinedMetricError, match="right and wrong"):
            getattr(metrics, name)([1, 1, 1], [0.5, 0.7, 0.9])


@pytest.mark.parametrize("name", ["auroc", "aurc", "auarc", "e_aurc", "prr"])
def test_intervals_by_influence_agree_with_drawing_again(name):
    y, c = answers(8, 2000, 2)
    known = inference.interval(name, y, c, method="asymptotic")
    drawn = inference.interval(name, y, c, method="percentile", draws=400)
    assert known.method == "delta method"
    assert (known.high - known.low) / (drawn.high - drawn.low) == pytest.approx(1, abs=0.15)
    assert (known.high + known.low) / 2 == pytest.approx(
        (drawn.high + drawn.low) / 2, abs=0.2 * (drawn.high - drawn.low)
    )


def test_answers_to_one_question_widen_the_interval():
    y, c = answers(9, 300)
    again = [np.repeat(column, 5) for column in (y, c)]
    groups = np.repeat(np.arange(300), 5)
    alone = inference.interval("aurc", y, c)
    naive = inference.interval("aurc", *again)
    honest = inference.interval("aurc", *again, groups=groups)
    assert honest.high - honest.low == pytest.approx(alone.high - alone.low, rel=0.02)
    assert naive.high - naive.low < 0.5 * (alone.high - alone.low)
