# SPDX-License-Identifier: Apache-2.0
"""The curve family and the recalibration maps against their definitions, written straight from the formulas."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
import twins
from numpy.testing import assert_allclose
from scipy import integrate, interpolate, optimize, stats

from epimeter import metrics as m
from epimeter import recalibration as r
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.metrics.curve import hats, loess
from epimeter.summaries.rows import Levels

RNG = np.random.Generator(np.random.PCG64(20250202))


def binary(n=80, digits=None, power=1.5):
    prob = RNG.random(n)
    prob = prob if digits is None else np.round(prob, digits)
    return (RNG.random(n) < prob**power).astype(float), prob


def classes(n=400, k=3):
    prob = RNG.dirichlet(np.full(k, 0.8), n)
    return np.array([RNG.choice(k, p=row) for row in prob]), prob


SPREAD, TIED = binary(), binary(digits=1)
EXTREME = (np.append(SPREAD[0], [0, 1, 1, 0]), np.append(SPREAD[1], [0.0, 0.0, 1.0, 1.0]))
LONG = binary(n=450, power=2.0)
DATA = pytest.mark.parametrize("data", [SPREAD, TIED, EXTREME], ids=["spread", "tied", "with 0 and 1"])


def rho(x):
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def clip(c):
    return min(max(c, 1e-12), 1 - 1e-12)


def logit(c):
    return math.log(clip(c)) - math.log1p(-clip(c))


def likelihood(y, eta):
    return -sum(np.logaddexp(0, -e if t == 1 else e) for t, e in zip(y, eta, strict=True))


def bernoulli(y, chance):
    return sum(math.log(p) if t == 1 else math.log1p(-p) for t, p in zip(y, chance, strict=True))


# LOESS


def slow_loess(y, c, at, span=0.75, degree=2):
    n = len(c)
    if n == 1:
        return y[0]
    q = min(max(math.floor(n * span + 1e-5), 1), n)
    distance = np.abs(c - at)
    h = np.sort(distance)[q - 1] * (span if span > 1 else 1)
    if h == 0:
        return y[distance == 0].mean()
    weight = np.array([max(0.0, 1 - (d / h) ** 3) ** 3 for d in distance])
    if distance.min() / h > 1 - 1e-11:
        weight = (distance <= h * (1 + 1e-11)).astype(float)
    powers = np.array([[(x - at) ** d for d in range(degree + 1)] for x in c])
    root = np.sqrt(weight)
    return np.linalg.lstsq(powers * root[:, None], y * root, rcond=1e-10)[0][0]


@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("span", [0.03, 0.2, 0.75, 1.0, 1.5])
@DATA
def test_the_local_fit_is_the_weighted_least_squares_of_the_definition(data, span, degree):
    y, c = data
    at = np.append(np.unique(c), [0.0, 0.123, 0.5, 0.91, 1.0])
    slow = [slow_loess(y, c, x, span, degree) for x in at]
    assert_allclose(m.loess_curve(y, c, at=at, span=span, degree=degree), slow, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9])
def test_tiny_samples_are_fitted_as_defined(n):
    for digits in (None, 1):
        y, c = binary(n, digits)
        for span in (0.1, 0.5, 0.75):
            slow = [slow_loess(y, c, x, span) for x in np.append(c, 0.4)]
            assert_allclose(m.loess_curve(y, c, at=np.append(c, 0.4), span=span), slow, rtol=1e-7, atol=1e-8)


@DATA
def test_distances_from_the_curve_are_means_and_quantiles_over_the_rows(data):
    y, c = data
    error = [abs(x - slow_loess(y, c, x)) for x in c]
    assert_allclose(m.ici(y, c), np.mean(error), rtol=1e-9)
    assert_allclose(m.e50(y, c), np.median(error), rtol=1e-9)
    assert_allclose(m.e90(y, c), np.quantile(error, 0.9), rtol=1e-9)
    assert_allclose(m.emax(y, c), max(error), rtol=1e-9)
    assert_allclose(m.error_percentile(y, c, percentile=33), np.quantile(error, 0.33), rtol=1e-9)


@pytest.mark.parametrize("span", [0.05, 0.3, 0.75, 1.2])
def test_the_compiled_tree_gives_the_moments_of_the_windows(span):
    saturated = 1 - 10.0 ** (-12 * RNG.random(700))
    clusters = np.concatenate([1e-9 * RNG.random(400), 1 - 1e-9 * RNG.random(400)])
    for prob in (RNG.random(900), saturated, clusters, np.round(RNG.random(3000), 2)):
        c, count = np.unique(prob, return_counts=True)
        levels = Levels(c, count.astype(float), RNG.binomial(count, 0.4).astype(float))
        reach = loess.bandwidths(levels, c, span)
        at, reach = c[reach > 0], reach[reach > 0]
        low = np.searchsorted(c, at - reach)
        high = np.searchsorted(c, at + reach, side="right")
        slow = twins.window_moments(levels, at, reach, low, high)
        fast = loess.window_moments(levels, at, reach, low, high)
        assert_allclose(fast[0] / slow[0][:, :1], slow[0] / slow[0][:, :1], atol=1e-12)
        for degree in (0, 1, 2):
            faint = 1e-33 * count.sum()
            here, safe = loess.centre_values(*slow, degree, faint)
            there, safe_too = loess.centre_values(*fast, degree, faint)
            assert_allclose(there[safe & safe_too], here[safe & safe_too], atol=1e-9)


def test_a_number_gives_a_number_and_an_array_an_array():
    y, c = SPREAD
    assert isinstance(m.loess_curve(y, c), float)
    assert m.loess_curve(y, c, at=[[0.1, 0.2], [0.3, 0.4]]).shape == (2, 2)
    with pytest.raises(InputError, match=r"at of loess_curve must lie in \[0, 1\]"):
        m.loess_curve(y, c, at=1.2)
    with pytest.raises(InputError, match="percentile of error_percentile"):
        m.error_percentile(y, c, percentile=101)


# Logistic maps


def slow_line(y, x):
    """Maximum likelihood by a general optimiser."""

    def loss(ab):
        eta = ab[0] + ab[1] * x
        return float(np.sum(np.logaddexp(0, eta) - y * eta))

    return optimize.minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x


@pytest.mark.parametrize("space", ["logit", "probability"])
@DATA
def test_platt_scaling_is_the_line_of_largest_likelihood(data, space):
    y, c = data
    x = np.array([logit(p) if space == "logit" else p for p in c])
    fit = r.platt_scaling(y, c, space=space, at=c)
    chance = [rho(fit.intercept + fit.slope * v) for v in x]
    assert_allclose([fit.intercept, fit.slope], slow_line(y, x), atol=1e-5)
    assert_allclose([sum(y - chance), sum((y - chance) * x)], 0, atol=1e-9)  # the score equations
    assert_allclose(fit.mapped, chance, rtol=1e-12)
    assert_allclose(fit.nll, -bernoulli(y, chance) / len(y), rtol=1e-12)
    assert_allclose(m.fott_platt(y, c, space=space, norm=2), np.mean((np.array(chance) - c) ** 2), rtol=1e-9)


def test_smoothed_targets_replace_the_outcomes_in_the_fit_only():
    y, c = SPREAD
    n1, n0 = sum(y), sum(1 - y)
    target = np.where(y == 1, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))
    x = np.array([logit(p) for p in c])
    fit = r.platt_scaling(y, c, smoothing=True)
    chance = np.array([rho(fit.intercept + fit.slope * v) for v in x])
    assert_allclose([sum(target - chance), sum((target - chance) * x)], 0, atol=1e-9)
    assert_allclose(fit.nll, -bernoulli(y, chance) / len(y), rtol=1e-12)
    assert math.isfinite(r.platt_scaling([0, 0, 1], [0.1, 0.2, 0.9], smoothing=True).slope)


@DATA
def test_cox_is_fisher_information_and_likelihood_ratios(data):
    y, c = data
    x = np.array([logit(p) for p in c])
    found = m.cis(y, c)
    chance = np.array([rho(found.intercept + found.slope * v) for v in x])
    information = sum(p * (1 - p) * np.outer([1, v], [1, v]) for p, v in zip(chance, x, strict=True))
    assert_allclose([found.intercept_se, found.slope_se], np.sqrt(np.diag(np.linalg.inv(information))), rtol=1e-8)
    away = np.array([found.intercept, found.slope - 1])
    assert_allclose(found.wald, away @ information @ away, rtol=1e-8)
    assert_allclose(sum(y - [rho(v + found.intercept_in_the_large) for v in x]), 0, atol=1e-9)
    at = {
        "identity": likelihood(y, x),
        "large": likelihood(y, x + found.intercept_in_the_large),
        "line": likelihood(y, found.intercept + found.slope * x),
    }
    assert_allclose(found.lr, 2 * (at["line"] - at["identity"]), rtol=1e-8)
    assert_allclose(found.lr_p_value, stats.chi2.sf(found.lr, 2), rtol=1e-9)
    assert_allclose(found.wald_p_value, stats.chi2.sf(found.wald, 2), rtol=1e-9)
    assert_allclose(
        found.in_the_large_p_value, stats.chi2.sf(2 * (at["large"] - at["identity"]), 1), rtol=1e-6, atol=1e-12
    )
    assert_allclose(found.slope_p_value, stats.chi2.sf(2 * (at["line"] - at["large"]), 1), rtol=1e-6, atol=1e-12)


def test_hard_labels_have_a_cox_fit_at_logits_of_27():
    found = m.cis([0, 1, 1, 0, 1], [0, 0, 1, 1, 1])
    assert_allclose([found.intercept, found.slope], [math.log(2) / 2, math.log(2) / 2 / logit(1)], rtol=1e-5)
    assert_allclose(found.intercept_in_the_large, math.log(1.5) / 2, rtol=1e-3)


def slow_beta(y, c):
    """Bounded maximum likelihood by a general optimiser."""
    u, v = np.log([clip(p) for p in c]), -np.log1p([-clip(p) for p in c])

    def loss(abm):
        eta = abm[0] * u + abm[1] * v + abm[2]
        return float(np.sum(np.logaddexp(0, eta) - y * eta))

    start = optimize.minimize(loss, [1.0, 1.0, 0.0], method="L-BFGS-B", bounds=[(0, None), (0, None), (None, None)])
    return start.fun


def test_the_beta_map_has_the_largest_likelihood_with_positive_coefficients():
    borders = 0
    for power in (0.2, 0.7, 1.0, 3.0, -1.0):
        c = RNG.random(60)
        y = (RNG.random(60) < (c**power if power > 0 else 1 - c)).astype(float)
        fit = r.beta_calibration(y, c, at=c)
        assert fit.a >= 0
        assert fit.b >= 0
        borders += fit.a == 0 or fit.b == 0
        chance = [rho(fit.a * math.log(p) - fit.b * math.log1p(-p) + fit.m) for p in c]
        assert_allclose(fit.mapped, chance, rtol=1e-10)
        assert_allclose(fit.nll, -bernoulli(y, chance) / 60, rtol=1e-10)
        assert fit.nll <= slow_beta(y, c) / 60 + 1e-9
        assert_allclose(m.fott_beta(y, c), np.mean(np.abs(chance - c)), rtol=1e-9)
    assert borders


def test_outcomes_that_fall_with_the_confidence_have_a_flat_beta_map():
    c = np.array([0.01, 0.02, 0.0963207, 0.0963214, 0.4, 0.7, 0.9])  # a free fit would be steeper than 1e6
    fit = r.beta_calibration([1, 1, 0, 1, 0, 0, 0], c)
    assert (fit.a, fit.b) == (0, 0)
    assert_allclose(fit.m, math.log(3 / 4))


def test_confidences_of_any_size_are_fitted():
    c = 10.0 ** -np.arange(0, 300, 7.0)
    y = np.arange(len(c)) % 3 == 0
    for metric in (m.ici, m.emax, m.fott_platt, m.fott_isotonic, m.ece_pl, m.ece_pl3, m.fott_spline, m.cis):
        assert np.isfinite(numbers(metric(y, c))).all()


def test_a_class_inside_the_other_bends_the_free_fit_without_end_but_not_the_map():
    fit = r.beta_calibration([0, 1, 1, 1, 0, 0], [0.1, 0.3, 0.35, 0.4, 0.8, 0.9])
    assert (fit.a, fit.b) == (0, 0)
    assert_allclose(fit.m, 0, atol=1e-12)


@pytest.mark.parametrize(
    ("a", "b", "shift"), [(0.3, 0.8, -0.5), (1.7, 0.2, 0.4), (0.0, 0.0, 1.0), (40, 60, 3), (1, 1, 0)]
)
def test_the_area_of_the_beta_test_is_the_integral(a, b, shift):
    from epimeter.metrics.curve.beta import area_from_identity
    from epimeter.metrics.curve.logistic import BetaMap

    def gap(c):
        return abs(rho(a * math.log(c) - b * math.log1p(-c) + shift) - c)

    slow = sum(integrate.quad(gap, i / 50, (i + 1) / 50, epsabs=1e-12, limit=300, full_output=1)[0] for i in range(50))
    assert_allclose(area_from_identity(BetaMap(a, b, shift, 0.0)), slow, atol=1e-9)


def test_the_beta_test_uses_the_upper_tail_of_both_laws():
    y, c = SPREAD
    found = m.sbct(y, c)
    fit = r.beta_calibration(y, c)
    assert (found.a, found.b, found.m) == (fit.a, fit.b, fit.m)
    assert_allclose(found.p_value, stats.gamma.sf(found.value, 4.74, scale=1 / math.sqrt(91 * len(y))), rtol=1e-9)
    assert_allclose(found.lr, 2 * (-fit.nll * len(y) - bernoulli(y, [clip(p) for p in c])), rtol=1e-8)
    assert_allclose(found.lr_p_value, stats.chi2.sf(found.lr, 3), rtol=1e-9)


LOGISTIC = [m.cis, m.fott_platt, m.fott_beta, m.sbct, r.platt_scaling, r.beta_calibration, m.eci]


@pytest.mark.parametrize("metric", LOGISTIC, ids=lambda metric: metric.name)
def test_logistic_fits_refuse_one_class_and_separation(metric):
    for y in ([1, 1, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0]):
        with pytest.raises(UndefinedMetricError):
            metric(y, [0.1, 0.4, 0.5, 0.9])
    with pytest.raises(UndefinedMetricError):  # the classes meet in one confidence only
        metric([0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9])


def test_rows_that_all_say_the_same_have_a_distance_but_no_slope():
    y, c = [0, 1, 1], [0.4, 0.4, 0.4]
    for metric in (m.ici, m.emax, m.fott_platt, m.fott_beta, m.fott_isotonic):
        assert_allclose(metric(y, c), 2 / 3 - 0.4)
    for metric in (m.ece_pl, m.ece_pl3):
        found = metric(y, c, segments=3, norm=2)
        assert_allclose(found.value, (2 / 3 - 0.4) ** 2)
        assert found.segments == 1
    assert_allclose(m.eci(y, c), (2 / 3 - 0.4) ** 2)
    for metric in (m.cis, m.sbct, m.pws, r.platt_scaling, r.beta_calibration):
        with pytest.raises(UndefinedMetricError, match="distinct confidences"):
            metric(y, c)


# Isotonic regression and the steps


def slow_isotonic(y, c):
    """The max-min formula over the distinct confidences."""
    level = sorted(set(c))
    weight = [sum(c == v) for v in level]
    true = [sum(y[c == v]) for v in level]
    k = len(level)

    def mean(i, j):
        return sum(true[i : j + 1]) / sum(weight[i : j + 1])

    fit = {level[i]: max(min(mean(a, b) for b in range(i, k)) for a in range(i + 1)) for i in range(k)}
    return np.array([fit[v] for v in c])


@DATA
def test_isotonic_regression_is_the_max_min_formula(data):
    y, c = data
    slow = slow_isotonic(y, c)
    fit = r.isotonic_regression(y, c, at=c)
    assert_allclose(fit.mapped, slow, rtol=1e-12)
    assert fit.blocks == len(np.unique(np.round(slow, 12)))
    assert_allclose(fit.brier, np.mean((slow - y) ** 2), rtol=1e-12)
    assert_allclose(m.fott_isotonic(y, c), np.mean(np.abs(slow - c)), rtol=1e-12)
    for power in (0.3, 3.0):
        assert_allclose(m.fott_isotonic(y, c, norm=power), np.mean(np.abs(slow - c) ** power), rtol=1e-12)


def test_isotonic_regression_pools_long_runs_as_one_by_one():
    for y in (
        np.arange(40)[::-1] % 2,
        (np.arange(40) < 20) * 1,
        (RNG.random(40) < 0.5) * 1,
        np.arange(40) % 7 == 0,
    ):
        c = np.sort(RNG.random(40))
        assert_allclose(r.isotonic_regression(y, c, at=c).mapped, slow_isotonic(np.asarray(y, float), c), atol=1e-12)


def test_isotonic_maps_are_linear_between_confidences_and_constant_outside():
    fit = r.isotonic_regression([0, 1], [0.2, 0.6], at=[0.0, 0.3, 1.0])
    assert_allclose(fit.mapped, [0, 0.25, 1])


@pytest.mark.parametrize("score", ["brier", "log"])
@DATA
def test_corp_splits_the_mean_score(data, score):
    y, c = data

    def mean(said):
        if score == "brier":
            return np.mean((said - y) ** 2)
        right = [p if t == 1 else 1 - p for t, p in zip(y, said, strict=True)]
        return math.inf if min(right) == 0 else -np.mean(np.log(right))

    said, fitted, flat = mean(c), mean(slow_isotonic(y, c)), mean(np.full(len(y), y.mean()))
    parts = m.corp(y, c, score=score)
    assert_allclose(
        [parts.score, parts.mcb, parts.dsc, parts.unc], [said, said - fitted, flat - fitted, flat], atol=1e-12
    )


def test_corp_of_the_impossible_and_of_one_class():
    parts = m.corp([1, 0], [0.0, 0.5], score="log")
    assert (parts.score, parts.mcb) == (math.inf, math.inf)
    assert math.isfinite(parts.dsc)
    assert m.corp([1, 1], [0.3, 0.5]).unc == m.corp([1, 1], [0.3, 0.5]).dsc == 0
    assert m.corp([1, 0, 1], [1.0, 0.0, 1.0], score="log").score == 0


@pytest.mark.parametrize("bins", [1, 4, 15, 200])
@DATA
def test_histogram_binning_by_mass_cuts_halfway_between_groups(data, bins):
    y, c = data
    groups = [group for group in np.array_split(np.sort(c), bins) if len(group)]
    edges = [(left[-1] + right[0]) / 2 for left, right in zip(groups, groups[1:], strict=False)]
    home = np.array([sum(edge <= x for edge in edges) for x in c])
    slow = np.array([y[home == b].mean() for b in home])
    fit = r.histogram_binning(y, c, bins=bins, at=c)
    assert_allclose(fit.mapped, slow, atol=1e-12)
    assert fit.bins == len(set(home))
    assert_allclose(fit.brier, np.mean((slow - y) ** 2), rtol=1e-12)


def test_histogram_binning_by_width_keeps_the_confidence_of_an_empty_bin():
    fit = r.histogram_binning([0, 1, 1], [0.1, 0.1, 1.0], bins=4, binning="width", at=[0.2, 0.3, 0.76])
    assert_allclose(fit.mapped, [0.5, 0.3, 1.0])
    assert fit.bins == 2


# Temperature


def test_the_temperature_minimises_the_log_loss():
    for y, prob in (SPREAD, EXTREME, classes(60, 3), classes(60, 2)):
        score = np.log(np.clip(prob, 1e-12, 1 - 1e-12))
        if prob.ndim == 1:
            score = np.stack([np.log1p(-np.clip(prob, 1e-12, 1 - 1e-12)), score], axis=1)

        def loss(t, score=score, y=y):
            z = score / t
            return float(np.mean([math.log(sum(np.exp(row - row[int(k)]))) for row, k in zip(z, y, strict=True)]))

        fit = r.temperature_scaling(y, prob)
        best = optimize.minimize_scalar(loss, bounds=(0.2, 60), method="bounded", options={"xatol": 1e-9})
        assert fit.nll <= best.fun + 1e-12
        assert_allclose(fit.temperature, best.x, rtol=1e-4)
        assert_allclose([fit.nll, fit.nll_before], [loss(fit.temperature), loss(1)], rtol=1e-11)


def test_a_temperature_at_the_end_of_its_range_is_that_end():
    assert r.temperature_scaling([0, 1], [0.2, 0.9]).temperature == 0.01
    assert r.temperature_scaling([1, 0], [0.2, 0.9]).temperature == 100
    assert r.temperature_scaling([0, 1], [0.5, 0.5]).temperature == 1
    # The loss of certain and right forecasts is flat: Newton's steps stay short all the way.
    for weight in (None, [1.0, 3.0], [0.3, 0.7]):
        assert r.temperature_scaling([0, 1], [0.0, 1.0], sample_weight=weight).temperature == 0.01


def test_temperature_maps_vectors_and_matrices():
    y, prob = classes(60, 3)
    fit = r.temperature_scaling(y, prob, at=prob)
    warm = prob ** (1 / fit.temperature)
    assert_allclose(fit.mapped, warm / warm.sum(axis=1, keepdims=True), rtol=1e-9)
    with pytest.raises(InputError, match="one probability per class, 3"):
        r.temperature_scaling(y, prob, at=0.5)
    fit = r.temperature_scaling(*SPREAD, at=[0.0, 0.3])
    assert_allclose(fit.mapped, [rho(logit(0) / fit.temperature), rho(logit(0.3) / fit.temperature)], rtol=1e-9)


MAPS = [r.temperature_scaling, r.platt_scaling, r.beta_calibration, r.isotonic_regression, r.histogram_binning]


@pytest.mark.parametrize("fitted", MAPS, ids=lambda fitted: fitted.name)
def test_every_map_can_be_read_elsewhere(fitted):
    y, c = SPREAD
    assert fitted(y, c).mapped is None
    one, many = fitted(y, c, at=0.3).mapped, fitted(y, c, at=[[0.3, 0.0, 1.0]]).mapped
    assert isinstance(one, float)
    assert many.shape == (1, 3)
    assert many[0, 0] == one
    assert ((many >= 0) & (many <= 1)).all()
    for wrong in (1.5, math.nan, "half"):
        with pytest.raises(InputError, match=f"at of {fitted.name}"):
            fitted(y, c, at=wrong)


# Splines


@pytest.mark.parametrize("knots", [3, 4, 6, 9])
@DATA
def test_the_cumulative_spline_is_a_least_squares_natural_spline(data, knots):
    y, c = data
    for rows in (len(y), 5, 2):
        t, p = np.array(y[:rows]), np.array(c[:rows])
        order = np.lexsort((t, p))
        t, p = t[order], p[order]
        n = len(t)
        height = np.cumsum([t[p == x].mean() - x for x in p]) / n
        cardinal = interpolate.CubicSpline(np.linspace(0, 1, knots), np.eye(knots), bc_type="natural")
        place = np.arange(n) / (n - 1)
        value = np.linalg.lstsq(cardinal(place), height, rcond=None)[0]
        slope = cardinal(place, 1) @ value
        slow = np.mean([abs(slope[p == x].mean()) ** 1.5 for x in p])
        assert_allclose(m.fott_spline(y[:rows], c[:rows], knots=knots, norm=1.5), slow, rtol=1e-8, atol=1e-10)


def test_a_spline_needs_two_rows_and_three_knots():
    with pytest.raises(UndefinedMetricError, match="at least 2 rows"):
        m.fott_spline([1], [0.4])
    with pytest.raises(InputError, match="knots of fott_spline must be at least 3"):
        m.fott_spline(*SPREAD, knots=2)


def exact_eci(y, logits):
    """The index of a vector with four knots, by Newton's method in 60 digits."""
    with localcontext(prec=60):
        z = [Decimal(float(value)) for value in logits]
        knots = [Decimal(float(q)) for q in np.quantile(logits, (0.05, 0.35, 0.65, 0.95))]

        def cube(x):
            return max(x, Decimal(0)) ** 3

        def bent(x, j):
            return (cube(x - knots[j]) - cube(x - knots[3])) / (knots[3] - knots[j])

        rows = [[Decimal(1), x, bent(x, 0) - bent(x, 2), bent(x, 1) - bent(x, 2)] for x in z]
        place = [Decimal(0)] * 4

        def height(at):
            eta = [sum(b * x for b, x in zip(at, row, strict=True)) for row in rows]
            return -sum((1 + (-e if one else e).exp()).ln() for e, one in zip(eta, y, strict=True))

        for _ in range(300):
            eta = [sum(b * x for b, x in zip(place, row, strict=True)) for row in rows]
            chance = [1 / (1 + (-e).exp()) for e in eta]
            left = [c if not one else -(1 / (1 + e.exp())) for e, c, one in zip(eta, chance, y, strict=True)]
            slope = [-sum(r * row[j] for r, row in zip(left, rows, strict=True)) for j in range(4)]
            mass = [c / (1 + e.exp()) for e, c in zip(eta, chance, strict=True)]
            table = [
                [sum(w * row[j] * row[k] for w, row in zip(mass, rows, strict=True)) for k in range(4)] + [slope[j]]
                for j in range(4)
            ]
            for j in range(4):  # Gauss and Jordan
                pivot = max(range(j, 4), key=lambda k, j=j: abs(table[k][j]))
                table[j], table[pivot] = table[pivot], table[j]
                table[j] = [value / table[j][j] for value in table[j]]
                for k in range(4):
                    if k != j:
                        table[k] = [a - table[k][j] * b for a, b in zip(table[k], table[j], strict=True)]
            step = [line[4] for line in table]
            while height([b + s for b, s in zip(place, step, strict=True)]) < height(place):
                step = [s / 2 for s in step]
            place = [b + s for b, s in zip(place, step, strict=True)]
            if max(abs(sum(s * x for s, x in zip(step, row, strict=True))) for row in rows) < Decimal("1e-20"):
                break
        prob = [1 / (1 + (-x).exp()) for x in z]
        return float(sum((p - c) ** 2 for p, c in zip(prob, chance, strict=True)) / len(z))


NEARLY_SEPARATED = [
    (
        [0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1],
        [
            -1.6453,
            -1.1288,
            -0.62,
            -0.5205,
            -0.0551,
            0.1611,
            0.256,
            1.0106,
            1.851,
            2.7167,
            3.6881,
            4.5331,
            4.8897,
            5.2767,
        ],
    ),
    (
        [0] * 15 + [1, 0, 1, 0, 0] + [1] * 10,
        [
            *(
                -16.5934,
                -15.36,
                -11.6019,
                -9.584,
                -8.8356,
                -8.5659,
                -8.4282,
                -8.1661,
                -7.1764,
                -6.529,
                -5.6827,
                -4.2439,
            ),
            *(-1.9042, -1.5018, -1.1286, -1.07499, -1.07487, -0.5404, -0.5141, 3.0077, 3.3481, 4.458, 4.9043, 5.5276),
            *(7.1627, 8.6343, 9.2789, 9.5131, 10.1883, 10.7723),
        ],
    ),
]


@pytest.mark.parametrize(("y", "logits"), NEARLY_SEPARATED)
def test_eci_of_classes_that_are_all_but_separated(y, logits):
    prob = 1 / (1 + np.exp(-np.array(logits)))
    logits = np.log(prob) - np.log(1 - prob)
    assert_allclose(m.eci(y, prob), exact_eci(y, logits), rtol=1e-7)


def test_eci_refuses_classes_that_are_separated_but_for_ties():
    prob = np.repeat([0.2, 0.8], 20)
    y = np.repeat([0, 1], 20)
    y[:5] = 1
    with pytest.raises(UndefinedMetricError, match="eci has no finite fit"):
        m.eci(y, prob)
    with pytest.raises(UndefinedMetricError, match="eci has no finite fit"):
        m.eci(np.repeat([0, 1, 2], 30), np.repeat([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.3, 0.5]], 30, axis=0))


def slow_eci(y, prob, knots):
    """Multinomial logit on cardinal natural splines, straight beyond the outer knots, by a general optimiser."""
    share = {3: [0.1, 0.5, 0.9], 4: [0.05, 0.35, 0.65, 0.95], 5: [0.05, 0.275, 0.5, 0.725, 0.95]}[knots]
    rows = np.stack([1 - prob, prob], axis=1) if prob.ndim == 1 else prob
    c = np.clip(rows, 1e-12, 1 - 1e-12)
    columns = [np.ones(len(y))]
    for l in range(1, c.shape[1]):
        z = np.log(c[:, l] / c[:, 0])
        place = np.unique(np.quantile(z, share))
        cardinal = interpolate.CubicSpline(place, np.eye(len(place)), bc_type="natural")
        inside = np.clip(z, place[0], place[-1])
        values = cardinal(inside) + cardinal(inside, 1) * (z - inside)[:, None]
        columns += list(values[:, 1:].T)
    x = np.linalg.qr(np.stack(columns, axis=1))[0]
    label = np.eye(c.shape[1])[y.astype(int)]

    def softmax(flat):
        eta = np.column_stack([np.zeros(len(y)), x @ flat.reshape(x.shape[1], -1)])
        e = np.exp(eta - eta.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def loss(flat):
        fitted = softmax(flat)
        return -np.sum(label * np.log(fitted)), -(x.T @ (label - fitted)[:, 1:]).ravel()

    start = np.zeros(x.shape[1] * (c.shape[1] - 1))
    found = optimize.minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-8})
    return np.mean((rows - softmax(found.x)) ** 2)


@pytest.mark.parametrize("knots", [3, 4, 5])
def test_the_calibration_index_is_the_distance_from_a_spline_fit(knots):
    for y, prob in (LONG, classes(400, 3)):
        k = 2 if prob.ndim == 1 else prob.shape[1]
        slow = slow_eci(y, prob, knots)
        assert_allclose(m.eci(y, prob, knots=knots), slow, rtol=1e-5)
        assert_allclose(m.eci(y, prob, knots=knots, scale="percent"), 50 * k * slow, rtol=1e-5)


def test_the_calibration_index_needs_every_class():
    _, prob = classes(50, 3)
    with pytest.raises(UndefinedMetricError, match="class 2 never does"):
        m.eci(np.arange(50) % 2, prob)
    with pytest.raises(UndefinedMetricError, match="no finite fit"):
        m.eci(prob.argmax(axis=1), prob)


def test_few_distinct_confidences_make_the_index_a_line():
    y, c = np.array([0.0, 0, 1, 0, 1, 1, 1, 0]), np.array([0.0, 0, 0, 0, 1, 1, 1, 1])
    slow = np.mean([(x - y[c == x].mean()) ** 2 for x in c])
    assert_allclose(m.eci(y, c), slow, rtol=1e-9)


# Piecewise-linear maps


def hat_matrix(x, knots):
    return np.stack([np.interp(x, knots, row) for row in np.eye(len(knots))], axis=1)


def in_rank_order(y, c):
    order = np.lexsort((y, c))
    return y[order], c[order]


def slow_straight(y, c, knots, ridge):
    matrix = np.vstack([hat_matrix(c, knots), math.sqrt(ridge) * np.eye(len(knots))])
    right = np.concatenate([y, math.sqrt(ridge) * knots])
    return optimize.lsq_linear(matrix, right, bounds=(0, 1), method="bvls", tol=1e-14).x


def slow_bent(y, x, knots, ridge):
    matrix = hat_matrix(x, knots)

    def loss(v):
        eta = matrix @ v
        slope = matrix.T @ (1 / (1 + np.exp(-eta)) - y) + ridge * (v - knots)
        return float(np.sum(np.logaddexp(0, eta) - y * eta) + ridge / 2 * np.sum((v - knots) ** 2)), slope

    return optimize.minimize(loss, knots, jac=True, method="BFGS", options={"gtol": 1e-9}).x


def slow_piecewise(y, c, fit, knots_of, link, loss, folds, most, segments, ensemble, ridge, norm):
    y, c = in_rank_order(np.asarray(y, float), np.asarray(c, float))
    fold = np.arange(len(y)) % folds
    x = np.array([logit(p) for p in c]) if link else c

    def curves(pieces):
        knots = knots_of(x, pieces)
        out = []
        for f in sorted(set(fold)):
            v = fit(y[fold != f], x[fold != f], knots, ridge)
            out.append((f, np.array([rho(e) if link else e for e in hat_matrix(x, knots) @ v])))
        return out

    if segments is None:
        held = []
        for pieces in range(1, most + 1):
            total = sum(np.sum(loss(y[fold == f], said[fold == f])) for f, said in curves(pieces))
            held.append(total / len(y))
        segments = 1 + int(np.argmin(held))
    if ensemble:
        said = np.mean([said for _, said in curves(segments)], axis=0)
    else:
        knots = knots_of(x, segments)
        eta = hat_matrix(x, knots) @ fit(y, x, knots, ridge)
        said = np.array([rho(e) for e in eta]) if link else eta
    return np.mean(np.abs(said - c) ** norm), segments


def straight_knots(x, pieces):
    return np.unique([0.0, *np.quantile(x, np.arange(1, pieces) / pieces), 1.0])


def bent_knots(x, pieces):
    return np.unique([min(x), *np.quantile(x, np.arange(1, pieces) / pieces), max(x)])


def square_loss(y, said):
    return (y - said) ** 2


def log_loss(y, said):
    said = np.clip(said, 1e-12, 1 - 1e-12)
    return -np.log(np.where(y == 1, said, 1 - said))


CHOICES = [
    {"segments": None},
    {"segments": 1, "ensemble": False},
    {"segments": 3, "folds": 4, "norm": 2},
    {"segments": 5, "ridge": 0.5, "ensemble": False},
]


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize("data", [LONG, TIED, EXTREME], ids=["long", "tied", "with 0 and 1"])
def test_straight_pieces_are_a_boxed_least_squares_fit(data, choice):
    full = {"segments": None, "folds": 10, "ensemble": True, "ridge": 1e-6, "norm": 1} | choice
    slow, pieces = slow_piecewise(
        *data, slow_straight, straight_knots, False, square_loss, most=1 + len(data[0]) // 200, **full
    )
    found = m.ece_pl(*data, **full)
    assert found.segments == pieces
    assert_allclose(found.value, slow, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("choice", CHOICES, ids=str)
@pytest.mark.parametrize("data", [LONG, TIED], ids=["long", "tied"])
def test_bent_pieces_are_a_penalised_likelihood_fit(data, choice):
    full = {"segments": None, "folds": 10, "ensemble": True, "ridge": 1e-3, "norm": 1} | choice
    slow, pieces = slow_piecewise(*data, slow_bent, bent_knots, True, log_loss, most=1 + len(data[0]) // 200, **full)
    found = m.ece_pl3(*data, **full)
    assert found.segments == pieces
    assert_allclose(found.value, slow, rtol=1e-5, atol=1e-8)


def test_heights_at_the_walls_are_the_least_of_the_box():
    for _ in range(60):
        n = int(RNG.integers(2, 9))
        matrix = np.abs(RNG.normal(size=(3 * n, n)))
        for i in range(n):
            matrix[:, i] *= [abs(i - row % n) <= 0.5 or row % n == i - 1 for row in range(3 * n)]
        right = RNG.normal(size=3 * n) * 3
        gram = matrix.T @ matrix + 1e-3 * np.eye(n)
        whole = np.vstack([matrix, math.sqrt(1e-3) * np.eye(n)])
        slow = optimize.lsq_linear(whole, np.append(right, np.zeros(n)), bounds=(0, 1), method="bvls", tol=1e-14).x
        fast = hats.boxed(np.diag(gram), np.diag(gram, 1), matrix.T @ right, "test")
        assert_allclose(fast, slow, atol=1e-8)


def test_one_bent_piece_is_platt_scaling():
    y, c = LONG
    assert_allclose(m.ece_pl3(y, c, segments=1, ensemble=False).value, m.fott_platt(y, c), rtol=1e-5)


def test_without_a_ridge_a_fit_that_is_not_unique_is_refused():
    with pytest.raises(UndefinedMetricError, match="ridge"):
        m.ece_pl([0, 1], [0.2, 0.4], segments=2, ridge=0)
    with pytest.raises(UndefinedMetricError, match="ridge"):
        m.ece_pl3([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.8], segments=1, ridge=0)


# Tests


@pytest.mark.parametrize("covariance", ["HC0", "HC1", "null", "ols"])
@DATA
def test_the_parabola_is_tested_by_its_sandwich(data, covariance):
    y, c = data
    n = len(y)
    x = np.array([[1, p, p * p] for p in c])
    bread = np.linalg.inv(x.T @ x)
    theta = bread @ x.T @ y
    residual = y - x @ theta
    omega = {
        "HC0": residual**2,
        "HC1": residual**2 * n / (n - 3),
        "null": c * (1 - c),
        "ols": np.full(n, residual @ residual / (n - 3)),
    }[covariance]
    v = bread @ x.T @ np.diag(omega) @ x @ bread
    away = theta - [0, 1, 0]
    found = m.pws(y, c, covariance=covariance)
    assert_allclose(found.value, away @ np.linalg.solve(v, away), rtol=1e-7)
    assert_allclose(found.p_value, stats.chi2.sf(found.value, 3), rtol=1e-9)
    assert_allclose([found.theta0, found.theta1, found.theta2], theta, rtol=1e-8, atol=1e-9)


def test_a_singular_covariance_leaves_zero_or_infinity():
    assert m.pws([1, 1, 1], [0.2, 0.5, 0.9]).value == math.inf
    assert m.pws([1, 1, 1], [0.2, 0.5, 0.9]).p_value == 0
    assert m.pws([0, 0, 1, 1, 0, 1], [0, 0, 1, 1, 0.5, 0.5]).value == 0
    assert m.pws([0, 1, 1], [0.0, 0.5, 1.0], covariance="null").value == math.inf
    with pytest.raises(UndefinedMetricError, match="3 distinct confidences; got 2"):
        m.pws([0, 1, 1], [0.2, 0.2, 0.9])


def slow_neighbours(y, rows, anchor, k, expected):
    distance = [round(math.sqrt(sum((p - a) ** 2 for p, a in zip(row, anchor, strict=True))), 12) for row in rows]
    near = sorted(range(len(rows)), key=lambda i: (distance[i], i))[:k]
    value, dof = 0.0, -1
    for j in range(len(anchor)):
        seen = sum(y[i] == j for i in near)
        due = k * anchor[j] if expected == "anchor" else sum(rows[i][j] for i in near)
        if due > 0:
            value, dof = value + (seen - due) ** 2 / due, dof + 1
        elif seen:
            return math.inf, None
    return value, dof


@pytest.mark.parametrize("expected", ["anchor", "neighbours"])
@pytest.mark.filterwarnings("ignore::epimeter.errors.OrderWarning")
def test_neighbours_are_counted_against_the_anchor(expected):
    for y, prob in (SPREAD, TIED, classes(90, 3)):
        rows = np.stack([1 - prob, prob], axis=1) if prob.ndim == 1 else prob
        for anchor in (None, rows[3]):
            centre = rows.mean(axis=0) if anchor is None else anchor
            value, dof = slow_neighbours(y, rows, centre, 20, expected)
            found = m.knn_chi2(y, prob, at=anchor, k=20, expected=expected)
            assert_allclose(found.value, value, rtol=1e-9)
            assert found.dof == dof
            assert_allclose(found.p_value, stats.chi2.sf(value, dof), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::epimeter.errors.OrderWarning")
def test_an_impossible_class_leaves_the_neighbour_test():
    prob = [[0.5, 0.5, 0.0]] * 4
    assert m.knn_chi2([0, 0, 1, 1], prob, k=4).dof == 1
    found = m.knn_chi2([0, 0, 1, 2], prob, k=4)
    assert (found.value, found.p_value) == (math.inf, 0)
    assert m.knn_chi2([1, 1], [1.0, 1.0], k=2).p_value == 1
    assert_allclose(m.knn_chi2([1, 0], [0.8, 0.8], at=0.8, k=2).value, 1.125)


def test_the_neighbour_test_refuses_what_is_no_prediction():
    y, c = SPREAD
    for wrong in (1.2, [0.5, 0.6], [0.2, 0.3, 0.5], "half"):
        with pytest.raises(InputError, match="at of knn_chi2"):
            m.knn_chi2(y, c, at=wrong)
    with pytest.raises(UndefinedMetricError, match="at least k = 50 rows"):
        m.knn_chi2([0, 1], [0.2, 0.7])
    with pytest.raises(InputError, match="k of knn_chi2"):
        m.knn_chi2(y, c, k=0)


# Weights

WEIGHTED = [
    *(m.loess_curve, m.ici, m.e50, m.e90, m.emax, m.error_percentile, m.eci, m.fott_platt, m.fott_beta),
    *(m.fott_isotonic, m.cis, m.sbct, m.pws, m.corp, *MAPS),
]


def numbers(answer):
    return [v for v in answer.to_dict().values() if v is not None] if hasattr(answer, "to_dict") else float(answer)


@pytest.mark.parametrize("metric", WEIGHTED, ids=lambda metric: metric.name)
def test_a_whole_weight_is_so_many_copies(metric):
    for y, c in (SPREAD, TIED):
        weight = RNG.integers(0, 4, len(y))
        copies = np.repeat(np.arange(len(y)), weight)
        assert_allclose(
            numbers(metric(y, c, sample_weight=weight)), numbers(metric(y[copies], c[copies])), rtol=1e-8, atol=1e-10
        )


SCALED = [m.loess_curve, m.ici, m.e50, m.eci, m.fott_platt, m.fott_isotonic, m.corp, *MAPS[:1], *MAPS[2:]]


@pytest.mark.parametrize("metric", SCALED, ids=lambda metric: metric.name)
def test_the_unit_of_fractional_weights_does_not_matter(metric):
    y, c = SPREAD
    weight = RNG.random(len(y)) + 0.1
    few, many = metric(y, c, sample_weight=weight), metric(y, c, sample_weight=weight * 1000.5)
    assert_allclose(numbers(few), numbers(many), rtol=1e-7)


@pytest.mark.parametrize("metric", [m.ece_pl, m.ece_pl3, m.fott_spline, m.knn_chi2], ids=lambda metric: metric.name)
def test_metrics_of_ranks_and_neighbours_take_no_weights(metric):
    y, c = SPREAD
    with pytest.raises(InputError, match="takes no sample weights"):
        metric(y, c, sample_weight=np.ones(len(y)))
