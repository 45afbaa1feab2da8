"""Forecasts of a number or of a set, against their definitions, scoringrules, MAPIE and the uncertainty toolbox."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import scoringrules
from scipy import integrate, stats

from epimeter import metrics
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.inference import interval
from epimeter.summaries.exact import whole

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@pytest.fixture
def rows():
    rng = np.random.default_rng(7)
    mean, std = rng.normal(size=80), rng.uniform(0.4, 2, 80)
    return mean + 1.3 * std * rng.normal(size=80), mean, std


def quantiles_of(mean, std):
    return {level: mean + std * stats.norm.ppf(level) for level in LEVELS}


def test_scores_are_those_of_scoringrules(rows):
    y, mean, std = rows
    members = mean[:, None] + std[:, None] * np.random.default_rng(1).normal(size=(80, 9))
    lower, upper = mean - std, mean + std
    q = quantiles_of(mean, std)
    matrix = np.column_stack(list(q.values()))
    expected = {
        metrics.crps(y, mean=mean, std=std): scoringrules.crps_normal(y, mean, std),
        metrics.crps(y, members=members): scoringrules.crps_ensemble(y, members, estimator="nrg"),
        metrics.crps(y, members=members, estimator="fair"): scoringrules.crps_ensemble(y, members, estimator="fair"),
        metrics.crps(y, quantiles=q): scoringrules.crps_quantile(y, matrix, np.array(LEVELS)),
        metrics.log_score(y, mean=mean, std=std): scoringrules.logs_normal(y, mean, std),
        metrics.interval_score(y, lower=lower, upper=upper, level=0.7): scoringrules.interval_score(
            y, lower, upper, 0.3
        ),
        metrics.pinball_loss(y, quantiles=q, quantile=0.25): scoringrules.quantile_score(y, q[0.25], 0.25),
        # Bracher et al. (2021), equation 2; their own function depends on whether numba is installed.
        metrics.weighted_interval_score(y, quantiles=q): (
            0.5 * np.abs(y - q[0.5])
            + 0.25 * scoringrules.interval_score(y, q[0.25], q[0.75], 0.5)
            + 0.05 * scoringrules.interval_score(y, q[0.05], q[0.95], 0.1)
        )
        / 2.5,
    }
    for found, theirs in expected.items():
        assert found == pytest.approx(float(np.mean(theirs)), rel=1e-9), found.metric


def test_values_are_those_of_mapie_and_of_the_uncertainty_toolbox():
    """Frozen by make_forecast_peers.py, which says with which versions."""
    known = json.loads(Path(__file__).with_name("forecast_peers.json").read_text())
    y, mean, std, half, sets = (np.array(known["rows"][name]) for name in ("y", "mean", "std", "half", "sets"))
    normal, ends = {"mean": mean, "std": std}, {"lower": mean - half, "upper": mean + half}
    labels = [[k for k in range(4) if row[k]] for row in sets]
    toolbox, mapie = known["values"]["uncertainty_toolbox"], known["values"]["mapie"]
    tenths = {k / 10: mean + std * stats.norm.ppf(k / 10) for k in range(1, 10)}
    # The toolbox means its gaps over 100 levels, 0 and 1 among them, where there is none.
    expected = [
        (metrics.crps(y, **normal), toolbox["crps"]),
        (metrics.log_score(y, **normal), toolbox["log_score"]),
        (metrics.pinball_loss(y, quantiles=tenths), toolbox["pinball_loss"]),
        (metrics.interval_score(y, **normal, level=0.9), toolbox["interval_score"]),
        (metrics.picp(y, **normal, level=0.9), toolbox["picp"]),
        (metrics.miscalibration_area(y, **normal, count=98), toolbox["miscalibration_area"]),
        (metrics.quantile_calibration_error(y, **normal, count=98), toolbox["mean_absolute"] / 0.98),
        (metrics.quantile_calibration_error(y, **normal, count=98, norm=2), toolbox["root_mean_squared"] / 0.98**0.5),
        (metrics.picp(y, **ends, level=0.8), mapie["picp"]),
        (metrics.mean_interval_width(y, **ends), mapie["mean_interval_width"]),
        (metrics.interval_score(y, **ends, level=0.8), mapie["interval_score"]),
        (metrics.size_stratified_coverage(y, **ends, strata=5).least, mapie["size_stratified_coverage"]),
        (metrics.set_coverage(known["rows"]["label"], sets=labels), mapie["set_coverage"]),
        (metrics.set_size(known["rows"]["label"], sets=labels), mapie["set_size"]),
    ]
    for place, (found, theirs) in enumerate(expected):
        assert float(found) == pytest.approx(theirs, rel=1e-9), place


def test_the_crps_is_the_integral_it_is_defined_by(rows):
    y, mean, std = (column[:3] for column in rows)
    found = [
        integrate.quad(lambda x, i=i: (stats.norm.cdf(x, mean[i], std[i]) - (x >= y[i])) ** 2, -15, 15, points=[y[i]])[
            0
        ]
        for i in range(3)
    ]
    assert metrics.crps(y, mean=mean, std=std) == pytest.approx(np.mean(found), rel=1e-6)


def test_coverage_width_and_quantile_errors_are_those_of_their_definitions(rows):
    y, mean, std = rows
    lower, upper = mean - 1.645 * std, mean + 1.645 * std
    inside = (y >= lower) & (y <= upper)
    assert metrics.picp(y, lower=lower, upper=upper) == np.mean(inside)
    assert metrics.mean_interval_width(y, lower=lower, upper=upper) == pytest.approx(np.mean(upper - lower))
    levels = np.arange(1, 20) / 20
    share = np.array([np.mean(y <= mean + std * stats.norm.ppf(level)) for level in levels])
    assert metrics.quantile_calibration_error(y, mean=mean, std=std) == pytest.approx(np.mean(abs(share - levels)))
    rms = metrics.quantile_calibration_error(y, mean=mean, std=std, norm=2)
    assert rms == pytest.approx(math.sqrt(np.mean((share - levels) ** 2)))
    fine = np.linspace(0, 1, 20_001)
    line = np.interp(fine, np.arange(101) / 100, np.concatenate(
        [[0], [np.mean(y <= mean + std * stats.norm.ppf(k / 100)) for k in range(1, 100)], [1]]))  # fmt: skip
    area = float(np.trapezoid(abs(line - fine), fine))
    assert metrics.miscalibration_area(y, mean=mean, std=std) == pytest.approx(area, abs=1e-5)


def test_a_mean_and_a_variance_are_scored_whatever_the_law(rows):
    y, mean, std = rows
    assert metrics.moment_score(y, mean=mean, variance=std**2) == pytest.approx(
        np.mean((y - mean) ** 2 / std**2 + np.log(std**2))
    )
    assert metrics.normalised_squared_error(y, mean=mean, std=std) == pytest.approx(np.mean(((y - mean) / std) ** 2))
    agreeing = np.ones((2, 4))
    assert metrics.moment_score([1.0, 2.0], members=agreeing) == math.inf
    with pytest.raises(UndefinedMetricError, match="at least 2 members"):
        metrics.normalised_squared_error([1.0], members=[[2.0]])


def test_the_transform_is_tested_as_scipy_does_and_ranks_share_ties(rows):
    y, mean, std = rows
    u = stats.norm.cdf(y, mean, std)
    assert metrics.pit_test(y, mean=mean, std=std).p_value == pytest.approx(stats.kstest(u, "uniform").pvalue)
    counts = np.histogram(u, np.arange(11) / 10)[0]
    by_counts = metrics.pit_test(y, mean=mean, std=std, method="chi2")
    assert by_counts.p_value == pytest.approx(stats.chisquare(counts).pvalue)
    tied = metrics.pit([1.0, 5.0], members=[[0.0, 1.0, 1.0], [0.0, 1.0, 2.0]])
    assert tied.count.tolist() == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3 + 1], abs=1e-8)
    assert metrics.pit(y, mean=mean, std=std).outside > 0  # deviations too small: truths fall into the tails


def test_a_calibrated_forecast_is_refuted_as_often_as_its_level_says():
    rng, refuted, covered = np.random.default_rng(3), 0, 0
    for _ in range(400):
        mean = rng.normal(size=200)
        y = mean + rng.normal(size=200)
        refuted += metrics.pit_test(y, mean=mean, std=np.ones(200)).p_value <= 0.05
        found = interval("crps", y, mean=mean, std=np.ones(200))
        covered += found.low <= 1 / math.sqrt(math.pi) <= found.high  # E CRPS = 1/sqrt(pi)
    assert 8 <= refuted <= 36
    assert covered >= 365


def test_strata_groups_and_classes_are_counted_by_hand():
    y = np.array([1, 1, 0, 2, 2, 0, 1, 0])
    sets = [[1], [0, 1], [1], [2], [0, 1], [0], [1, 2], []]
    hit = [True, True, False, True, False, True, True, False]
    assert metrics.set_coverage(y, sets=sets) == np.mean(hit)
    assert metrics.set_size(y, sets=sets) == np.mean([1, 2, 1, 1, 2, 1, 2, 0])
    by_class = metrics.class_conditional_coverage(y, sets=sets, least_rows=1)
    assert by_class.least == pytest.approx(1 / 3) and by_class.strata == 3
    by_size = metrics.size_stratified_coverage(y, sets=sets, least_rows=2)
    assert by_size.least == pytest.approx(2 / 3) and by_size.strata == 2
    by_group = metrics.conditional_coverage(y, sets=sets, groups=list("aaaabbbb"), least_rows=1, level=0.5)
    assert (by_group.least, by_group.largest_gap) == (0.5, 0.25)
    flags = np.array([[label in each for label in range(3)] for each in sets])
    assert metrics.set_coverage(y, sets=flags) == metrics.set_coverage(y, sets=sets)


def test_any_unit_has_the_same_digits_and_sums_are_exact(rows):
    y, mean, std = rows
    tiny = 2.0**-60
    for name in ("crps", "interval_score", "pinball_loss"):
        here = getattr(metrics, name)(y, mean=mean, std=std)
        assert getattr(metrics, name)(y * tiny, mean=mean * tiny, std=std * tiny) == here * tiny
    values = np.array([1e300, 1.0, -1e300, 2.0**-1074, 1e-320, -1.0])
    assert whole(values) / 2**1074 == pytest.approx(math.fsum(values), rel=1e-15)


def test_intervals_stand_beside_every_value(rows):
    y, mean, std = rows
    share = metrics.picp(y, mean=mean, std=std, interval="exact").interval
    hits = int(np.sum(abs(y - mean) <= stats.norm.ppf(0.95) * std))
    assert (share.low, share.high) == pytest.approx(stats.binomtest(hits, 80).proportion_ci(0.95, "exact"))
    drawn = metrics.quantile_calibration_error(y, mean=mean, std=std, interval=True)
    assert drawn.interval.low <= drawn <= drawn.interval.high and "bootstrap" in drawn.interval.method
    groups = np.repeat(np.arange(20), 4)
    by_groups = interval("crps", y, mean=mean, std=std, groups=groups)
    assert by_groups.units == 20 and "groups" in by_groups.method
    with pytest.raises(UndefinedMetricError, match="no interval"):
        interval("pit_test", y, mean=mean, std=std)


ONE = {"y_true": [1.0, 2.0, 3.0]}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mean": [1, 2, 3], "std": [1, -0.5, 1]}, "std must be above 0; 1 of 3 does not, the first: std[1] = -0.5"),
        ({"mean": [1, 2, 3], "variance": [1, 0, 1]}, "variance must be above 0"),
        (
            {"quantiles": {0.1: [1, 2, 3], 0.9: [2, 1, 4]}},
            "quantiles must not cross; 1 of 3 rows do, the first is row 1",
        ),
        (
            {"lower": [1, 5, 3], "upper": [2, 4, 4]},
            "lower must not be above upper; 1 of 3 rows have it so, the first is row 1",
        ),
        ({"lower": [1, 5, 3]}, "upper is missing"),
        ({"mean": [1, 2, 3]}, "a mean and either a std or a variance"),
        ({"mean": [1, 2], "std": [1, 1]}, "same length; got 3 and 2"),
        ({"quantiles": np.ones((3, 2)), "levels": [0.1, 1.0]}, "levels must lie between 0 and 1"),
        ({"quantiles": np.ones((3, 2)), "levels": [0.1, 0.1]}, "levels must differ"),
        ({"quantiles": np.ones((3, 2))}, "need levels"),
        ({"members": [1, 2, 3]}, "members must be a matrix"),
        ({"mean": [1, 2, 3], "std": [1, 1, 1], "lower": [0, 0, 0]}, "stated in one way"),
        ({}, "a forecast must be stated beside y_true"),
        ({"sets": [[], [], []]}, "sets must not all be empty"),
        ({"sets": ["a", "b", "c"]}, "one collection of labels a row"),
        ({"mean": [1, np.nan, 3], "std": [1, 1, 1]}, "mean must be finite"),
        ({"mean": [1, 1e300, 3], "std": [1, 1, 1]}, "mean must be at most 1e+75 in size; 1 of 3 does not"),
        ({"mean": [1, 2, 3], "std": [1, 1e-300, 1]}, "std must be at least 1e-75"),
    ],
)
def test_bad_forecasts_are_refused_in_one_sentence(given, words):
    metric = metrics.set_coverage if "sets" in given else metrics.picp
    with pytest.raises(InputError) as refusal:
        metric(**ONE, **given)
    assert words in str(refusal.value)


def test_a_question_that_a_kind_cannot_answer_is_undefined():
    y, bounds = [1.0, 2.0], {"lower": [0, 0], "upper": [3, 3]}
    with pytest.raises(
        UndefinedMetricError, match="crps is read off forecasts of kind normal or quantiles or ensemble"
    ):
        metrics.crps(y, **bounds)
    with pytest.raises(
        UndefinedMetricError, match=r"no quantile of level 0\.05 is stated; those stated are 0\.1, 0\.9"
    ):
        metrics.picp(y, quantiles={0.1: [0, 0], 0.9: [3, 3]})
    with pytest.raises(InputError, match="takes one column by place"):
        metrics.crps(y, y)
