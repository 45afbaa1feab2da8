"""Metrics that the reviews name in a sentence: against their definitions, closed forms and other packages."""

import json

import numpy as np
import pandas as pd
import pytest
import scoringrules
from scipy import stats

from epimeter import metrics
from epimeter.cli import main
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.inference import consistency_test


def test_the_error_of_a_gaussian_state_is_tested_by_chi_squared():
    rng = np.random.default_rng(2)
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    state = rng.multivariate_normal([0, 0], covariance, 200)
    found = metrics.nees_test(state, mean=np.zeros((200, 2)), variance=covariance)
    total = 200 * metrics.ecd_gaussian(state, np.zeros((200, 2)), variance=covariance).nees
    assert found.p_value == pytest.approx(2 * min(stats.chi2.cdf(total, 400), stats.chi2.sf(total, 400)))
    assert found.lower < found.nees < found.upper and found.reject is False
    bold = metrics.nees_test(1.5 * state, mean=np.zeros((200, 2)), variance=covariance)
    assert bold.reject is True and bold.p_value_overconfident < 1e-6 and bold.nees > bold.upper


def test_a_calibrated_state_is_rejected_as_often_as_the_level_says():
    rng = np.random.default_rng(4)
    rejected = sum(
        metrics.nees_test(rng.normal(size=30), mean=np.zeros(30), std=np.ones(30)).reject for _ in range(1000)
    )
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
    assert metrics.rps_counts(count, rate=mean) == pytest.approx(np.mean(scoringrules.crps_poisson(count, mean)))
    theirs = scoringrules.crps_negbinom(count, 2.0, 2.0 / (2.0 + mean))
    assert metrics.rps_counts(count, rate=mean, dispersion=0.5) == pytest.approx(np.mean(theirs))
    assert metrics.rps_counts([3], rate=[0.0]) == 3
    with pytest.raises(InputError, match="y_true must hold counts"):
        metrics.rps_counts([1.5], rate=[1.0])
    with pytest.raises(InputError, match="none negative"):
        metrics.rps_counts([1], rate=[-1.0])


@pytest.mark.parametrize("dispersion", [0.0, 1e-12, 1e-6, 1e-4, 0.01, 0.09, 0.11, 0.5, 5.0])
def test_a_wide_law_of_counts_scores_as_the_sum_of_its_terms(dispersion):
    for rate in (4000.0, 30_000.0):
        law = stats.poisson(rate) if dispersion < 1e-9 else stats.nbinom(1 / dispersion, 1 / (1 + dispersion * rate))
        terms = np.arange(int(law.isf(1e-16)) + int(rate))
        below = law.cdf(terms)
        for seen in (0, int(rate), int(1.5 * rate)):
            found = metrics.rps_counts([seen], rate=[rate], dispersion=dispersion)
            assert found == pytest.approx(float(((below - (seen <= terms)) ** 2).sum()), rel=1e-7)


def test_counts_are_scored_from_a_file(tmp_path, capsys):
    def run(*words):
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        return ended.value.code, capsys.readouterr()

    rng = np.random.default_rng(4)
    rate = rng.uniform(0.5, 9, 80)
    rows = pd.DataFrame({"y": rng.poisson(rate), "rate": rate, "mean": rate})
    calls, means = tmp_path / "calls.csv", tmp_path / "means.csv"
    rows[["y", "rate"]].to_csv(calls, index=False)
    rows[["y", "mean"]].to_csv(means, index=False)
    whole = json.loads(run("evaluate", calls, "--json")[1].out)
    made = {line["metric"]: line["value"] for line in whole["measurements"]}
    assert set(made) == {"rps_counts", "moment_score", "normalised_squared_error"}
    assert made["rps_counts"] == metrics.rps_counts(rows.y, rate=rate)
    code, said = run("evaluate", means, "--metric", "rps_counts")
    assert code == 2 and "--column rate=mean" in said.err
    for more in ((means, "--column", "rate=mean"), (calls, "--row-limit", 10)):
        told = json.loads(run("evaluate", *more, "--metric", "rps_counts", "--json")[1].out)
        assert told["measurements"][0]["value"] == made["rps_counts"]


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


def test_cells_of_the_simplex_are_summed_as_their_definition_says():
    rng = np.random.default_rng(11)
    prob = rng.dirichlet([1.0, 1.0, 1.0], 60)
    label = np.array([rng.choice(3, p=row) for row in prob])
    found = metrics.dpe_simplex(label, prob, cuts=2)
    cells = {}
    for row, c in enumerate(prob):
        cells.setdefault(tuple(np.floor(c * 2)), []).append(row)
    unit = np.eye(3)[label] - prob
    spread = [np.diag(c) - np.outer(c, c) for c in prob]
    value = variance = 0.0
    for rows in cells.values():
        pairs = [(i, j) for i in rows for j in rows if i != j]
        value += sum(unit[i] @ unit[j] for i, j in pairs) / len(rows) / 60
        variance += 2 * sum(np.trace(spread[i] @ spread[j]) for i, j in pairs) / len(rows) ** 2 / 60**2
    assert found.value == pytest.approx(value) and found.standard_error == pytest.approx(np.sqrt(variance))
    assert found.cells == sum(len(rows) > 1 for rows in cells.values())


def test_the_simplex_error_is_unbiased_and_its_test_keeps_its_level():
    rng, z = np.random.default_rng(12), []
    for _ in range(200):
        prob = rng.dirichlet([1.0, 1.0, 1.0], 200)
        label = (rng.random(200)[:, None] > np.cumsum(prob, axis=1)).sum(axis=1)
        z.append(metrics.dpe_simplex(label, prob).z)
    assert abs(np.mean(z)) < 0.25 and np.std(z) == pytest.approx(1, abs=0.2)
    sharp = prob**4 / (prob**4).sum(axis=1, keepdims=True)
    assert consistency_test(label, sharp, metric="dpe_simplex", draws=99).reject


def test_adaptive_widths_widen_where_rows_are_few():
    rng = np.random.default_rng(13)
    p = np.concatenate([rng.uniform(0, 0.2, 900), rng.uniform(0.2, 1, 100)])
    y = (rng.random(1000) < p).astype(int)
    at, h = np.array([0.1, 0.5, 0.9]), 0.05
    pilot = np.array([np.exp(-0.5 * ((c - p) / h) ** 2).sum() for c in p])
    own = h * np.sqrt(np.exp(np.log(pilot).mean()) / pilot)
    weight = np.exp(-0.5 * ((at[:, None] - p) / own) ** 2) / own
    found = metrics.kernel_curve(y, p, at=at, bandwidth=h, widths="adaptive")
    assert found == pytest.approx((weight * y).sum(axis=1) / weight.sum(axis=1))
    assert own[p > 0.5].min() > h > np.median(own[p < 0.2])
    assert metrics.kernel_curve([1, 0], [0.1, 0.12], at=0.9, bandwidth=1e-3, kernel="triweight", widths="adaptive") == 0


def test_a_report_with_piece_warns_of_its_bias_where_cells_hold_few_rows():
    from epimeter import evaluate

    rng = np.random.default_rng(7)
    prob = rng.random(2_000)
    true = (rng.random(2_000) < prob).astype(int)
    columns = {"metrics": ["piece"], "features": rng.normal(size=(2_000, 2)), "intervals": None}
    assert any("piece spreads 2,000 rows over 150 cells" in one for one in evaluate(true, prob, **columns).cautions)
    coarse = evaluate(true, prob, **columns, bins=5, proximity_bins=2)
    assert not any("piece" in one for one in coarse.cautions)
