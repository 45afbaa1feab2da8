"""Forecasts whose truth is known: the rows agree with it, and its values with sums made another way."""

import json

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import norm

from epimeter import simulate
from epimeter.cli import main
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.metrics import brier_score, ecce_mad, ece, nll, smooth_ce
from epimeter.simulate import population
from epimeter.simulate.curves import scaled

EVENTS = list(simulate.TRUTHS)


def typed(*words):
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code


def expected(score, truth, low=0.0, high=1.0):
    """E[score(p, g(p))] by an adaptive rule of scipy over the normal score."""

    def at(z):
        p = expit(truth.law.centre + truth.law.spread * z)
        return norm.pdf(z) * score(p, float(truth.curve(np.array([p]))[0]))

    ends = [np.clip((logit(end) - truth.law.centre) / truth.law.spread, -9, 9) for end in (low, high)]
    return quad(at, *ends, epsabs=1e-11, limit=400)[0]


@pytest.mark.parametrize("name", ["over", "wavy", "rare", "drift"])
def test_quadrature_agrees_with_another_rule(name):
    truth = simulate.truth(name)
    assert truth.calibration_error() == pytest.approx(expected(lambda p, q: abs(q - p), truth), abs=1e-8)
    assert truth.value("brier_score") == pytest.approx(
        expected(lambda p, q: q * (1 - p) ** 2 + (1 - q) * p**2, truth), abs=1e-9
    )
    inside = expected(lambda p, q: q - p, truth, 0.2, 0.3)
    share, gap = population._binned(truth, 10, False)
    assert share[2] * gap[2] == pytest.approx(abs(inside), abs=1e-10)


@pytest.mark.parametrize("name", EVENTS)
@pytest.mark.parametrize("metric", ["ece", "mce", "brier_score", "ecce_mad", "ecce_r"])
def test_the_population_itself_measures_what_is_integrated(name, metric):
    from epimeter.card_index import find

    truth = simulate.truth(name)
    on_nodes = population._on_the_population(truth, find(metric), {})
    assert truth.value(metric) == pytest.approx(on_nodes, abs=2e-5)


@pytest.mark.parametrize("kind", ["event", "answer", "classes"])
@pytest.mark.parametrize("name", ["calibrated", "over", "temperature", "noise", "drift"])
def test_many_rows_come_near_the_true_values(name, kind):
    truth = simulate.truth(name, kind=kind, **({"classes": 4} if kind == "classes" else {}))
    rows = truth.sample(200_000, seed=3)
    assert brier_score(rows.y_true, rows.y_prob) == pytest.approx(truth.value("brier_score"), abs=0.004)
    assert nll(rows.y_true, rows.y_prob) == pytest.approx(truth.value("nll"), abs=0.008)
    assert ece(rows.y_true, rows.y_prob) == pytest.approx(truth.value("ece"), abs=0.005)
    if kind != "classes":
        assert ecce_mad(rows.y_true, rows.y_prob).value == pytest.approx(truth.value("ecce_mad"), abs=0.004)
        assert smooth_ce(rows.y_true[::60], rows.y_prob[::60]) == pytest.approx(truth.value("smooth_ce"), abs=0.03)


def test_a_thousand_classes_have_a_truth_and_rows_that_sum_to_one():
    truth = simulate.truth("temperature", kind="classes", classes=1000)
    rows = truth.sample(300, seed=1)
    assert rows.y_prob.shape == rows.true_prob.shape == (300, 1000)
    assert rows.y_prob.sum(axis=1) == pytest.approx(1) and rows.true_prob.sum(axis=1) == pytest.approx(1)
    assert truth.value("ecd") > 1 and truth.value("ece") == pytest.approx(truth.calibration_error(), abs=0.01)
    with pytest.raises(UndefinedMetricError, match="up to"):
        truth.value("classwise_ece")


def test_classwise_error_of_a_small_matrix_is_that_of_many_rows():
    from epimeter.metrics import classwise_ece

    truth = simulate.truth("over", kind="classes", classes=3)
    rows = truth.sample(300_000, seed=5)
    assert classwise_ece(rows.y_true, rows.y_prob) == pytest.approx(truth.value("classwise_ece"), abs=0.003)


def test_a_longer_sample_begins_with_the_shorter_and_another_seed_is_another_sample():
    truth = simulate.truth("over", kind="classes", classes=5)
    short, long = truth.sample(50, seed=7), truth.sample(80, seed=7)
    assert (short.y_prob == long.y_prob[:50]).all() and (short.y_true == long.y_true[:50]).all()
    assert (truth.sample(50, seed=8).y_prob != short.y_prob).any()


def test_a_drift_grows_over_the_rows():
    rows = simulate.truth("drift").sample(1000)
    gap = np.abs(rows.true_prob - rows.y_prob)
    assert gap[:100].mean() < 0.02 < 0.08 < gap[-100:].mean()


def test_gaussian_rows_come_near_their_closed_forms():
    truth = simulate.gaussian("over", strength=1.4)
    rows = truth.sample(200_000, seed=2)
    z = (rows.y_true - rows.mean) / rows.deviation
    assert (z**2).mean() == pytest.approx(truth.value("nees"), abs=0.03)
    assert (np.abs(z) < norm.ppf(0.95)).mean() == pytest.approx(truth.value("coverage", level=0.9), abs=0.005)
    crps = rows.deviation * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
    assert crps.mean() == pytest.approx(truth.value("crps"), abs=0.01)
    assert -norm.logpdf(rows.y_true, rows.mean, rows.deviation).mean() == pytest.approx(truth.value("nll"), abs=0.02)


def test_a_curve_of_the_callers_own_is_taken_and_refused_where_it_is_no_probability():
    own = simulate.Truth("own", shape=lambda p, strength: 0.5 + 0 * p)
    assert own.value("eo_ratio") == pytest.approx(expected(lambda p, q: p, own) / 0.5, abs=1e-9)
    with pytest.raises(InputError, match=r"must give probabilities in \[0, 1\]; at 0\.\d+ it says 1\.\d+"):
        simulate.Truth("own", shape=lambda p, strength: p + 0.2)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (lambda: simulate.truth("ovr"), "did you mean 'over'"),
        (lambda: simulate.truth("rare", kind="classes"), "is one of events"),
        (lambda: simulate.truth("over", kind="classes", classes=1001), "from 2 to 1,000"),
        (lambda: simulate.truth("over", classes=3), "kind 'classes' only"),
        (lambda: simulate.truth("over").sample(0), "at least one row"),
        (lambda: simulate.truth("over", strength=float("nan")), "finite"),
        (lambda: simulate.gaussian("over", strength=-1), "ratio must be a finite number above 0; got -1"),
        (lambda: simulate.gaussian("over", deviation=-2), "deviation must be a finite number above 0; got -2"),
        (lambda: simulate.LogisticNormal(spread=-1), "spread above 0"),
        (lambda: simulate.DiscreteLaw((0.5, 1.2), (0.5, 0.5)), "1.2"),
    ],
)
def test_what_is_no_truth_is_refused_in_a_sentence(asked, message):
    with pytest.raises(InputError, match=message):
        asked()


def test_what_grows_with_the_rows_has_no_true_value():
    with pytest.raises(UndefinedMetricError, match="number of rows"):
        simulate.truth("over").value("hl")


def test_the_command_writes_rows_that_evaluate_reads_and_prints_the_truth(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for kind, file in (("event", "e.csv"), ("answer", "a.jsonl"), ("classes", "c.parquet")):
        for name in ("over", "drift"):
            assert typed("simulate", name, "--kind", kind, "-n", "400", "--seed", "1", "-o", file) == 0
            assert typed("evaluate", file, "--json", "-o", "r.json") == 0
            assert json.loads((tmp_path / "r.json").read_text())["n_rows"] == 400
    capsys.readouterr()
    assert typed("simulate", "verbal", "--kind", "answer", "--json") == 0
    values = json.loads(capsys.readouterr().out)["values"]
    assert values["nll"] == "infinite" and values["true l1 error"] == pytest.approx(values["ece"], abs=1e-9)
    assert typed("simulate", "wavy", "--strength", "9") == 2
    assert typed("simulate", "over", "-o", "rows.xyz") == 2
    assert typed("simulate", "over", "--kind", "gaussian", "-n", "20", "-o", "g.csv") == 0
    assert (tmp_path / "g.csv").read_text().splitlines()[0] == '"y_true","mean","sd"'


def test_shapes_are_what_they_say():
    assert scaled(np.array([0.8]), 0.5)[0] == pytest.approx(expit(0.5 * logit(0.8)))
