"""Metrics that the reviews name in a sentence: against their definitions, closed forms and other packages."""

import numpy as np
import pytest
import scoringrules
from scipy import stats

from epimeter import metrics
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.inference import consistency_test


def test_the_error_of_a_gaussian_state_is_tested_by_chi_squared():
    rng = np.random.default_rng(2)
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    state = rng.multivariate_normal([0, 0], covariance, 200)
    found = metrics.nees_test(state, np.zeros((200, 2)), variance=covariance)
    total = 200 * metrics.ecd_gaussian(state, np.zeros((200, 2)), variance=covariance).nees
    assert found.p_value == pytest.approx(2 * min(stats.chi2.cdf(total, 400), stats.chi2.sf(total, 400)))
    assert found.lower < found.nees < found.upper and found.reject is False
    bold = metrics.nees_test(1.5 * state, np.zeros((200, 2)), variance=covariance)
    assert bold.reject is True and bold.p_value_overconfident < 1e-6 and bold.nees > bold.upper


def test_a_calibrated_state_is_rejected_as_often_as_the_level_says():
    rng = np.random.default_rng(4)
    rejected = sum(metrics.nees_test(rng.normal(size=30), np.zeros(30)).reject for _ in range(1000))
    assert 30 <= rejected <= 72


def test_the_asymmetric_success_rate_is_the_cost_of_decisions_turned_round():
    rng = np.random.default_rng(1)
    p, y = rng.random(300), rng.integers(0, 2, 300)
    assert metrics.asymmetric_success_rate(y, p) == pytest.approx(metrics.success_rate(y, p), abs=1e-12)
    c = 0.2
    decided = p > c
    worth = np.where(y == 1, 2 * (1 - c) * decided, 2 * c * ~decided)
    assert metrics.asymmetric_success_rate(y, p, threshold=c) == pytest.approx(worth.mean())
    assert metrics.asymmetric_success_rate([1], [c], threshold=c) == pytest.approx(1 - c)


def test_counts_are_scored_as_scoringrules_does():
    rng = np.random.default_rng(3)
    mean = rng.uniform(0.2, 30, 40)
    count = rng.poisson(mean).astype(float)
    assert metrics.rps_counts(count, mean) == pytest.approx(np.mean(scoringrules.crps_poisson(count, mean)))
    theirs = scoringrules.crps_negbinom(count, 2.0, 2.0 / (2.0 + mean))
    assert metrics.rps_counts(count, mean, dispersion=0.5) == pytest.approx(np.mean(theirs))
    assert metrics.rps_counts([3], [0.0]) == 3
    with pytest.raises(InputError, match="y_true must hold counts"):
        metrics.rps_counts([1.5], [1.0])
    with pytest.raises(InputError, match="none negative"):
        metrics.rps_counts([1], [-1.0])


def test_each_class_is_tested_as_hosmer_and_lemeshow_test_one():
    rng = np.random.default_rng(6)
    prob = rng.dirichlet([1.0, 1.0, 1.0], 900)
    label = np.array([rng.choice(3, p=row) for row in prob])
    found = metrics.classwise_hl(label, prob)
    alone = [metrics.hl((label == k).astype(int), prob[:, k], ddof=0) for k in range(3)]
    assert found.statistics == pytest.approx([test.statistic for test in alone])
    assert found.p_value == pytest.approx(min(1.0, 3 * min(test.p_value for test in alone)))
    sharpened = prob**3 / (prob**3).sum(axis=1, keepdims=True)
    assert metrics.classwise_hl(label, sharpened).p_value < 1e-6


def test_power_grows_with_the_neighbours_and_is_that_of_simulated_truths():
    found = metrics.knn_chi2_power([0.2, 0.3, 0.5], k=[30, 300])
    assert found.power[0] < found.power[1] == found.value
    rng = np.random.default_rng(8)
    anchor, rejected = np.array([0.2, 0.3, 0.5]), 0
    for _ in range(2000):
        counts = rng.multinomial(300, rng.dirichlet(50 * anchor))
        rejected += stats.chisquare(counts, 300 * anchor).pvalue <= 0.05
    assert found.value == pytest.approx(rejected / 2000, abs=0.04)
    with pytest.raises(UndefinedMetricError, match="two classes possible"):
        metrics.knn_chi2_power([0.0, 1.0])


def test_labels_can_be_drawn_from_an_estimated_map():
    rng = np.random.default_rng(9)
    p = rng.random(400)
    y = (rng.random(400) < p**1.5).astype(int)
    assert consistency_test(y, p, draws=199).reject
    mapped = consistency_test(y, p, draws=199, truth=p**1.5)
    assert not mapped.reject and mapped.lower < mapped.value < mapped.upper
    assert consistency_test(y, p, draws=199, truth=p).p_value == consistency_test(y, p, draws=199).p_value
    with pytest.raises(InputError, match="truth must hold probabilities"):
        consistency_test(y, p, draws=199, truth=p + 1)
