# SPDX-License-Identifier: Apache-2.0
"""The point family against its definitions, written straight from the formulas with plain loops."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from epimeter import metrics as m
from epimeter.card_index import catalogue
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.views import view

RNG = np.random.Generator(np.random.PCG64(20250101))


def binary(n=60, digits=None):
    prob = RNG.random(n)
    prob = prob if digits is None else np.round(prob, digits)
    return (RNG.random(n) < prob).astype(int), prob


def classes(n=50, k=4):
    prob = RNG.dirichlet(np.ones(k), n)
    return RNG.integers(0, k, n), prob


VECTOR, MATRIX, TWO, TIED = binary(), classes(), classes(k=2), binary(digits=1)
GIVEN = {"vector": VECTOR, "matrix": MATRIX, "two columns": TWO}
WEIGHTS = {name: RNG.random(len(y)) * 3 for name, (y, _) in GIVEN.items()}


def as_rows(prob):
    """Class probabilities: a vector p is [1 - p, p]."""
    return [[1 - p, p] for p in prob] if np.ndim(prob) == 1 else [list(row) for row in prob]


def as_entries(y, prob):
    """(outcome, forecast) of every entry of a row: one for a vector, K for a matrix."""
    if np.ndim(prob) == 1:
        return [[(t, p)] for t, p in zip(y, prob, strict=True)]
    return [[(int(t == k), p) for k, p in enumerate(row)] for t, row in zip(y, prob, strict=True)]


def as_event(y, prob):
    """(outcome, confidence): a matrix is reduced to its top label."""
    if np.ndim(prob) == 1:
        return list(zip(y, prob, strict=True))
    return [(int(t == int(np.argmax(row))), max(row)) for t, row in zip(y, prob, strict=True)]


def mean_of_rows(score):
    """The slow twin of a mean of class scores: score(row, label)."""
    return lambda y, prob: [score(row, t) for row, t in zip(as_rows(prob), y, strict=True)]


def mean_of_entries(loss):
    return lambda y, prob: [sum(loss(t, p) for t, p in row) / len(row) for row in as_entries(y, prob)]


def mean_of_events(loss):
    return lambda y, prob: [loss(t, p) for t, p in as_event(y, prob)]


def brier_row(row, t):
    return sum((p - (k == t)) ** 2 for k, p in enumerate(row))


def rival(row, t):
    return max([p for p in row if p < row[t]], default=0.0)


def top2(row):
    second, first = sorted(row)[-2:]
    return 1 - first + second


def cumulated(row, t):
    return [sum(row[: k + 1]) - (t <= k) for k in range(len(row) - 1)]


def huber(r, delta):
    return r * r / 2 if abs(r) <= delta else delta * (abs(r) - delta / 2)


def soft_insensitive(d, epsilon, beta):
    if d < (1 - beta) * epsilon:
        return 0.0
    if d <= (1 + beta) * epsilon:
        return (d - (1 - beta) * epsilon) ** 2 / (4 * beta * epsilon)
    return d - epsilon


def flsd(p):
    return 5 if p < 0.2 else 3


def clip(p, eps):
    return min(max(p, eps), 1 - eps)


MEANS = [
    ("brier_score", {}, mean_of_rows(lambda c, t: brier_row(c, t) / len(c))),
    ("brier_score", {"scale": "half"}, mean_of_rows(lambda c, t: brier_row(c, t) / 2)),
    ("brier_score", {"scale": "sum"}, mean_of_rows(brier_row)),
    ("nll", {}, mean_of_rows(lambda c, t: -math.log(c[t]))),
    ("nll", {"eps": 0.2, "per_class": True}, mean_of_rows(lambda c, t: -math.log(clip(c[t], 0.2)) / len(c))),
    ("focal_loss", {}, mean_of_rows(lambda c, t: -((1 - c[t]) ** 2) * math.log(c[t]))),
    ("focal_loss", {"gamma": 0}, mean_of_rows(lambda c, t: -math.log(c[t]))),
    ("focal_loss", {"gamma": "flsd53"}, mean_of_rows(lambda c, t: -((1 - c[t]) ** flsd(c[t])) * math.log(c[t]))),
    (
        "focal_loss",
        {"gamma": 1.5, "eps": 0.1, "per_class": True},
        mean_of_rows(lambda c, t: -((1 - clip(c[t], 0.1)) ** 1.5) * math.log(clip(c[t], 0.1)) / len(c)),
    ),
    ("dual_focal_loss", {}, mean_of_rows(lambda c, t: -((1 - c[t] + rival(c, t)) ** 2) * math.log(c[t]))),
    ("dual_focal_loss", {"variant": "top2", "gamma": 3}, mean_of_rows(lambda c, t: -(top2(c) ** 3) * math.log(c[t]))),
    (
        "dual_focal_loss",
        {"eps": 0.3, "per_class": True},
        mean_of_rows(
            lambda c, t: -((1 - clip(c[t], 0.3) + rival(c, t)) ** 2) * math.log(clip(c[t], 0.3)) / len(c),
        ),
    ),
    (
        "focal_calibration_loss",
        {"gamma": 3, "strength": 0.5},
        mean_of_rows(lambda c, t: -((1 - c[t]) ** 3) * math.log(c[t]) + 0.5 * brier_row(c, t)),
    ),
    ("ecd", {}, mean_of_rows(lambda c, t: sum(p * math.log(p) for p in c) - math.log(c[t]))),
    ("ecd", {"variant": "true_vs_rest"}, mean_of_rows(lambda c, t: (c[t] - 1) * math.log(c[t] / (1 - c[t])))),
    ("success_rate", {}, mean_of_rows(lambda c, t: (c[t] == max(c)) / c.count(max(c)))),
    ("nses", {}, mean_of_rows(lambda c, t: (1 / c[t] - 1) / (len(c) - 1))),
    ("dss", {}, mean_of_rows(lambda c, t: 1 / c[t] - 1 + sum(math.log(p) for p in c))),
    ("spherical_score", {}, mean_of_rows(lambda c, t: c[t] / math.sqrt(sum(p * p for p in c)))),
    (
        "pseudo_spherical_score",
        {"alpha": 3.5},
        mean_of_rows(lambda c, t: (c[t] / sum(p**3.5 for p in c) ** (1 / 3.5)) ** 2.5),
    ),
    ("power_score", {"alpha": 1.5}, mean_of_rows(lambda c, t: 0.5 * sum(p**1.5 for p in c) - 1.5 * c[t] ** 0.5)),
    ("proper_linear_score", {}, mean_of_rows(lambda c, t: sum(p * p for p in c) - 2 * c[t])),
    ("rps", {}, mean_of_rows(lambda c, t: sum(e * e for e in cumulated(c, t)) / (len(c) - 1))),
    ("sarps", {}, mean_of_rows(lambda c, t: sum(abs(e) for e in cumulated(c, t)) ** 2 / (len(c) - 1))),
    (
        "sarps",
        {"normalize": True},
        mean_of_rows(lambda c, t: sum(abs(e) for e in cumulated(c, t)) ** 2 / (len(c) - 1) ** 2),
    ),
    ("mae", {}, mean_of_entries(lambda t, p: abs(t - p))),
    ("l1eps", {"epsilon": 0.01}, mean_of_entries(lambda t, p: math.sqrt((t - p) ** 2 + 0.01))),
    ("huber_loss", {"threshold": 0.3}, mean_of_entries(lambda t, p: huber(t - p, 0.3))),
    ("huber_loss", {"threshold": 0.3, "unit_slope": True}, mean_of_entries(lambda t, p: huber(t - p, 0.3) / 0.3)),
    ("silf", {"epsilon": 0.3, "beta": 0.5}, mean_of_entries(lambda t, p: soft_insensitive(abs(t - p), 0.3, 0.5))),
    ("silf", {"epsilon": 0.3, "beta": 1}, mean_of_entries(lambda t, p: soft_insensitive(abs(t - p), 0.3, 1.0))),
    ("hinge_loss", {}, mean_of_events(lambda t, p: max(0.0, 1 - (2 * t - 1) * (2 * p - 1)))),
    ("hinge_loss", {"score": "margin"}, mean_of_events(lambda t, p: max(0.0, 1 - (2 * t - 1) * p))),
    (
        "asymmetric_least_squares",
        {"under": 2.0, "over": 0.5},
        mean_of_events(lambda t, p: (2.0 if t > p else 0.5) * (t - p) ** 2),
    ),
]


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize(("name", "params", "rows"), MEANS, ids=[f"{n} {p}" for n, p, _ in MEANS])
def test_a_mean_of_scores_is_the_mean_of_its_scores(name, params, rows, weighted, given):
    y, prob = GIVEN[given]
    weight = WEIGHTS[given] if weighted else np.ones(len(y))
    expected = sum(w * s for w, s in zip(weight, rows(y, prob), strict=True)) / sum(weight)
    choices = {"sample_weight": weight} if weighted else {}
    assert_allclose(getattr(m, name)(y, prob, **params, **choices), expected, rtol=1e-10)


def test_class_balance_is_a_number_for_two_classes_or_a_factor_for_each():
    y, prob = VECTOR
    loss = [-((1 - q) ** 2) * math.log(q) for q in np.where(y == 1, prob, 1 - prob)]
    expected = np.mean([(0.25 if t else 0.75) * s for t, s in zip(y, loss, strict=True)])
    assert_allclose(m.focal_loss(y, prob, alpha=0.25), expected, rtol=1e-10)
    assert_allclose(m.focal_loss(y, prob, alpha=[0.75, 0.25]), expected, rtol=1e-10)
    distance = 2 * np.mean((prob - y) ** 2)
    assert_allclose(m.focal_calibration_loss(y, prob, alpha=0.25), expected + distance, rtol=1e-10)


@pytest.mark.parametrize("alpha", [[1.0, 2.0], 0.5, [1, 1, 1, -1], [1, 1, 1, math.nan], "half"])
def test_class_balance_that_does_not_fit_four_classes_is_refused(alpha):
    with pytest.raises(InputError, match="alpha"):
        m.focal_loss(*MATRIX, alpha=alpha)


# Roots and ratios of sums.


@pytest.mark.parametrize("given", GIVEN)
def test_root_brier_score_is_the_root(given):
    y, prob = GIVEN[given]
    assert_allclose(m.root_brier_score(y, prob), math.sqrt(m.brier_score(y, prob)), rtol=1e-12)


def test_root_brier_score_keeps_small_errors():
    assert_allclose(m.root_brier_score([0, 0, 1], [1e-9, 1e-9, 1 - 1e-9]), 1e-9, rtol=1e-4)


@pytest.mark.parametrize("given", GIVEN)
def test_stratified_brier_score_is_the_brier_score_of_each_class(given):
    y, prob = GIVEN[given]
    weight = WEIGHTS[given]
    found = m.stratified_brier_score(y, prob, sample_weight=weight)
    each = [m.brier_score(y[y == k], prob[y == k], sample_weight=weight[y == k]) for k in np.unique(y)]
    assert_allclose(found.per_class, each, rtol=1e-10)
    assert_allclose([found.balanced, found.worst], [np.mean(each), np.max(each)], rtol=1e-10)


def test_stratified_brier_score_leaves_out_a_class_that_does_not_occur():
    prob = [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]
    found = m.stratified_brier_score([0, 2], prob)
    assert math.isnan(found.per_class[1])
    assert_allclose(found.balanced, np.nanmean(found.per_class))
    alone = m.stratified_brier_score([0, 0], prob)
    assert_allclose([alone.balanced, alone.worst], [m.brier_score([0, 0], prob)] * 2)
    ignored = m.stratified_brier_score([0, 1], prob, sample_weight=[1, 0])
    assert math.isnan(ignored.per_class[1])


@pytest.mark.parametrize("given", GIVEN)
def test_global_bias_compares_means(given):
    y, prob = GIVEN[given]
    weight = WEIGHTS[given]
    rows = np.array(as_rows(prob))
    bias = [
        sum(w * (row[k] - (t == k)) for w, row, t in zip(weight, rows, y, strict=True)) / sum(weight)
        for k in range(rows.shape[1])
    ]
    assert_allclose(m.gsb(y, prob, sample_weight=weight), np.mean(np.square(bias)), rtol=1e-9)
    assert_allclose(m.mdca(y, prob, sample_weight=weight), np.mean(np.abs(bias)), rtol=1e-9)


@pytest.mark.parametrize("given", GIVEN)
def test_ratios_of_expected_and_observed(given):
    pairs = as_event(*GIVEN[given])
    expected, observed = sum(p for _, p in pairs), sum(t for t, _ in pairs)
    assert_allclose(m.eo_ratio(*GIVEN[given]), expected / observed, rtol=1e-12)
    assert_allclose(m.oe_ratio(*GIVEN[given]), observed / expected, rtol=1e-12)


def test_ratios_without_events_or_expectation():
    assert m.eo_ratio([0, 0], [0.2, 0.1]) == math.inf
    assert m.eo_ratio([0], [1e-40]) == math.inf
    assert math.isnan(m.eo_ratio([0, 0], [0.0, 0.0]))
    assert m.oe_ratio([1, 0], [0.0, 0.0]) == math.inf
    assert math.isnan(m.oe_ratio([0, 0], [0.0, 0.0]))
    assert m.oe_ratio([0, 0], [0.2, 0.1]) == 0.0
    assert m.oe_ratio([0], [1e-40]) == 0.0


@pytest.mark.parametrize("given", GIVEN)
def test_soft_f1_is_the_f1_of_doubt(given):
    pairs = as_event(*GIVEN[given])
    hits = sum((1 - p) * (1 - t) for t, p in pairs)
    assert_allclose(m.soft_f1(*GIVEN[given]), 2 * hits / sum(2 - p - t for t, p in pairs), rtol=1e-12)


def test_soft_f1_at_its_borders():
    assert math.isnan(m.soft_f1([1, 1], [1.0, 1.0]))
    assert m.soft_f1([1, 1], [0.9, 1.0]) == 0.0
    assert m.soft_f1([0, 1], [0.0, 1.0]) == 1.0


# Tests.


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("weighted", [False, True])
def test_spiegelhalter_z_is_the_standardised_brier_score(given, weighted):
    y, prob = GIVEN[given]
    weight = WEIGHTS[given] if weighted else np.ones(len(y))
    excess = variance = 0.0
    for w, row, t in zip(weight, as_rows(prob), y, strict=True):
        scores = [brier_row(row, k) for k in range(len(row))]
        expected = sum(p * s for p, s in zip(row, scores, strict=True))
        excess += w * (scores[t] - expected)
        variance += w**2 * sum(p * (s - expected) ** 2 for p, s in zip(row, scores, strict=True))
    found = m.spiegelhalter_z(y, prob, **({"sample_weight": weight} if weighted else {}))
    assert_allclose(found.z, excess / math.sqrt(variance), rtol=1e-9)
    assert_allclose(found.p_value, math.erfc(abs(found.z) / math.sqrt(2)), rtol=1e-12)


@pytest.mark.parametrize(
    ("y", "prob", "z"),
    [
        ([0, 1, 1], [0.0, 1.0, 0.5], math.nan),
        ([1, 1, 0], [0.0, 1.0, 0.5], math.inf),
        ([0, 1, 2], [[1 / 3] * 3, [1 / 3] * 3, [0, 0, 1]], math.nan),
        ([0, 1, 2], [[0.3333333] * 3] * 3, math.nan),
        ([0, 1], [[1 / 3] * 3, [0, 0, 1]], math.inf),
    ],
)
def test_spiegelhalter_z_of_certain_and_uniform_rows(y, prob, z):
    for weight in (None, np.full(len(y), 0.3)):
        found = m.spiegelhalter_z(y, prob, sample_weight=weight)
        assert_allclose(found.z, z)
        assert_allclose(found.p_value, 0.0 if z == math.inf else math.nan)


def test_spiegelhalter_z_keeps_its_tail_and_its_small_probabilities():
    assert 0 < m.spiegelhalter_z([0] * 40, [0.95] * 40).p_value < 1e-150
    z = -20 * 1e-12 * (1 - 2e-12) / math.sqrt(20 * (1 - 2e-12) ** 2 * 1e-12 * (1 - 1e-12))
    assert_allclose(m.spiegelhalter_z([0] * 20, [1e-12] * 20).z, z, rtol=1e-9)


def slow_contribution(row, k, variant):
    if variant == "general":
        return sum(p * math.log(p) for p in row if p > 0) - math.log(row[k])
    return 0.0 if row[k] == 1 else (row[k] - 1) * math.log(row[k] / (1 - row[k]))


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("variant", ["general", "true_vs_rest"])
def test_ecd_test_has_the_null_mean_and_variance(given, variant):
    y, prob = GIVEN[given]
    weight = WEIGHTS[given]
    total = ecd = expected = variance = 0.0
    for w, row, t in zip(weight, as_rows(prob), y, strict=True):
        scores = [slow_contribution(row, k, variant) for k in range(len(row))]
        mean = sum(p * s for p, s in zip(row, scores, strict=True))
        total, ecd, expected = total + w, ecd + w * scores[t], expected + w * mean
        variance += w**2 * sum(p * (s - mean) ** 2 for p, s in zip(row, scores, strict=True))
    found = m.ecd_test(y, prob, variant=variant, sample_weight=weight)
    error = math.sqrt(variance) / total
    assert_allclose(found.ecd, ecd / total, rtol=1e-9)
    assert_allclose(found.expected, expected / total, rtol=1e-9, atol=1e-12)
    assert_allclose(found.standard_error, error, rtol=1e-9)
    assert_allclose(found.z, (ecd - expected) / total / error, rtol=1e-8)
    assert_allclose(found.p_value_overconfident, math.erfc(found.z / math.sqrt(2)) / 2, rtol=1e-9)


def test_ecd_at_its_limits():
    assert m.ecd([0, 1, 1], [0.5, 0.5, 0.5]) == 0.0
    assert m.ecd([0, 2, 1], [[1 / 3] * 3] * 3) == 0.0
    assert m.ecd([1, 0], [1.0, 0.0]) == 0.0
    assert m.ecd([1, 0], [1.0, 0.0], variant="true_vs_rest") == 0.0
    assert m.ecd([1, 1], [0.0, 0.7]) == math.inf
    assert m.ecd([1, 1], [0.0, 0.7], variant="true_vs_rest") == math.inf
    assert_allclose(m.ecd([2], [[0.5, 0.0, 0.5]]), 0.0, atol=1e-13)


@pytest.mark.parametrize("variant", ["general", "true_vs_rest"])
def test_ecd_test_at_its_limits(variant):
    impossible = m.ecd_test([1, 1], [0.0, 0.7], variant=variant)
    assert impossible.ecd == impossible.z == math.inf
    assert impossible.p_value == impossible.p_value_overconfident == 0.0
    for weight in (None, [0.2, 0.7]):
        for y, prob in [([0, 1], [0.5, 0.5]), ([0, 2], [[1 / 3] * 3] * 2), ([1, 0], [1.0, 0.0])]:
            silent = m.ecd_test(y, prob, variant=variant, sample_weight=weight)
            assert silent.standard_error == 0.0
            assert math.isnan(silent.z)
            assert math.isnan(silent.p_value)
            assert math.isnan(silent.p_value_overconfident)
    assert m.ecd_test([1, 1], [0.0, 0.7], variant=variant, sample_weight=[0, 1]).z < math.inf


# Gaussian forecasts.


def test_ecd_gaussian_reads_variances_of_every_shape():
    true, mean = RNG.normal(size=(7, 3)), RNG.normal(size=(7, 3))
    root = RNG.normal(size=(7, 3, 3))
    covariance = root @ root.transpose(0, 2, 1) + np.eye(3)
    diagonal = RNG.random(3) + 0.5
    rows = RNG.random((7, 3)) + 0.5
    for variance, each in [
        (0.5, [0.5 * np.eye(3)] * 7),
        (diagonal, [np.diag(diagonal)] * 7),
        (covariance[0], [covariance[0]] * 7),
        (rows, [np.diag(row) for row in rows]),
        (covariance, list(covariance)),
    ]:
        errors = [(t - c) @ np.linalg.inv(v) @ (t - c) for t, c, v in zip(true, mean, each, strict=True)]
        found = m.ecd_gaussian(true, mean, variance=variance)
        assert_allclose(found.nees, np.mean(errors), rtol=1e-10)
        assert_allclose(found.ecd, (np.mean(errors) - 3) / 2, rtol=1e-9)
        assert found.dimension == 3


def test_ecd_gaussian_reads_a_square_variance_as_one_covariance():
    true, mean = RNG.normal(size=(2, 2)), RNG.normal(size=(2, 2))
    variance = np.array([[2.0, 0.5], [0.5, 1.0]])
    errors = [(t - c) @ np.linalg.inv(variance) @ (t - c) for t, c in zip(true, mean, strict=True)]
    assert_allclose(m.ecd_gaussian(true, mean, variance=variance).nees, np.mean(errors))


def test_ecd_gaussian_of_single_numbers():
    found = m.ecd_gaussian([1.0, 3.0], [0.0, 1.0], variance=[0.5, 2.0])
    assert_allclose(found.nees, (1 / 0.5 + 4 / 2) / 2)
    assert found.dimension == 1
    assert_allclose(m.ecd_gaussian([1.0], [0.0], variance=[[4.0]]).nees, 0.25)


@pytest.mark.parametrize(
    ("true", "mean", "variance"),
    [
        ([1.0, 2.0], [1.0], 1.0),
        ([], [], 1.0),
        ([math.nan], [1.0], 1.0),
        ([1.0], [1.0], 0.0),
        ([1.0], [1.0], -1.0),
        ([1.0], [1.0], math.nan),
        ([[1.0, 2.0]], [[1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]),
        ([[1.0, 2.0]], [[1.0, 2.0]], [[1.0, 0.5], [0.2, 1.0]]),
        ([[1.0, 2.0]], [[1.0, 2.0]], [1.0, 1.0, 1.0]),
        ([[[1.0]]], [[[1.0]]], 1.0),
        (["a"], [1.0], 1.0),
    ],
)
def test_ecd_gaussian_refuses(true, mean, variance):
    with pytest.raises(InputError):
        m.ecd_gaussian(true, mean, variance=variance)


# Decompositions.


def slow_groups(column, binning, bins):
    """Lists of row numbers: by equal value, by equal width, by equal mass."""
    column = list(map(tuple, column)) if np.ndim(column) == 2 else list(column)
    if binning == "unique":
        return [[i for i, c in enumerate(column) if c == value] for value in sorted(set(column))]
    if binning == "width":
        place = [min(int(c * bins), bins - 1) for c in column]
        return [[i for i, b in enumerate(place) if b == bin_] for bin_ in sorted(set(place))]
    group = [b for b, part in enumerate(np.array_split(np.arange(len(column)), bins)) for _ in part]
    place = [group[(sum(v < c for v in column) + sum(v <= c for v in column) - 1) // 2] for c in column]
    return [[i for i, b in enumerate(place) if b == bin_] for bin_ in sorted(set(place))]


def slow_murphy(groups, c, y, w):
    total = sum(w)
    rate = sum(a * b for a, b in zip(w, y, strict=True)) / total
    terms = np.zeros(5)
    for g in groups:
        size = sum(w[i] for i in g)
        said, seen = sum(w[i] * c[i] for i in g) / size, sum(w[i] * y[i] for i in g) / size
        terms += [
            size * (said - seen) ** 2,
            size * (seen - rate) ** 2,
            0.0,
            sum(w[i] * (c[i] - said) ** 2 for i in g),
            2 * sum(w[i] * (y[i] - seen) * (c[i] - said) for i in g),
        ]
    terms /= total
    terms[2] = rate * (1 - rate)
    return terms


DECOMPOSED = GIVEN | {"ties": TIED}


@pytest.mark.parametrize("given", DECOMPOSED)
@pytest.mark.parametrize(("binning", "bins"), [("unique", 10), ("width", 7), ("mass", 6), ("mass", 100)])
def test_brier_decomposition_closes_and_agrees(given, binning, bins):
    y, prob = DECOMPOSED[given]
    weights = [None] if binning == "mass" else [None, RNG.random(len(y)) + 0.1]
    for weight in weights:
        w = np.ones(len(y)) if weight is None else weight
        if np.ndim(prob) == 1:
            columns = [slow_murphy(slow_groups(prob, binning, bins), prob, y == 1, w)]
        else:
            columns = [
                slow_murphy(
                    slow_groups(prob if binning == "unique" else prob[:, k], binning, bins), prob[:, k], y == k, w
                )
                for k in range(prob.shape[1])
            ]
        found = m.brier_decomposition(y, prob, binning=binning, bins=bins, sample_weight=weight)
        rel, res, unc = found.reliability, found.resolution, found.uncertainty
        wbv, wbc = found.within_bin_variance, found.within_bin_covariance
        assert_allclose([rel, res, unc, wbv, wbc], np.mean(columns, axis=0), rtol=1e-10, atol=1e-13)
        assert_allclose(found.score, m.brier_score(y, prob, sample_weight=weight), rtol=1e-12)
        assert_allclose(found.score, rel - res + unc + wbv - wbc, atol=1e-12)


@pytest.mark.parametrize("name", ["brier_decomposition", "nll_decomposition"])
def test_equal_mass_groups_count_whole_weights_as_copies(name):
    y, prob = VECTOR
    weight = RNG.integers(0, 4, len(y))
    weighted = getattr(m, name)(y, prob, binning="mass", bins=7, sample_weight=weight)
    copied = getattr(m, name)(np.repeat(y, weight), np.repeat(prob, weight), binning="mass", bins=7)
    assert_allclose(list(weighted.to_dict().values()), list(copied.to_dict().values()), rtol=1e-10, atol=1e-12)


def test_brier_decomposition_at_its_borders():
    different = m.brier_decomposition([0, 1, 1], [0.2, 0.5, 0.9])
    assert_allclose(different.reliability, different.score)
    assert_allclose(different.resolution, different.uncertainty)
    alone = m.brier_decomposition([1, 1], [0.2, 0.2])
    assert alone.uncertainty == alone.resolution == 0.0
    assert m.brier_decomposition([1], [1.0], binning="width").score == 0.0
    assert_allclose(m.brier_decomposition([0, 1], [-0.0, 0.0]).reliability, 0.25)


def slow_divergence(a, b):
    return sum(math.inf if q == 0 else p * math.log(p / q) for p, q in zip(a, b, strict=True) if p > 0)


@pytest.mark.parametrize("given", DECOMPOSED)
@pytest.mark.parametrize(("binning", "bins"), [("unique", 10), ("width", 7), ("mass", 6)])
def test_nll_decomposition_closes_and_agrees(given, binning, bins):
    y, prob = DECOMPOSED[given]
    if given == "ties":
        prob = np.clip(prob, 0.1, 0.9)
    if given == "matrix" and binning != "unique":
        with pytest.raises(InputError, match="unique"):
            m.nll_decomposition(y, prob, binning=binning)
        return
    rows = np.array(as_rows(prob))
    rate = [np.mean(y == k) for k in range(rows.shape[1])]
    rel = res = 0.0
    for g in slow_groups(rows if binning == "unique" else rows[:, 1], binning, bins):
        seen = [np.mean(y[g] == k) for k in range(rows.shape[1])]
        rel += len(g) / len(y) * slow_divergence(seen, rows[g].mean(axis=0))
        res += len(g) / len(y) * slow_divergence(seen, rate)
    found = m.nll_decomposition(y, prob, binning=binning, bins=bins)
    unc = -sum(p * math.log(p) for p in rate if p > 0)
    score = m.nll(y, prob)
    assert_allclose(found.score, score, rtol=1e-12)
    assert_allclose([found.reliability, found.resolution, found.uncertainty], [rel, res, unc], rtol=1e-9, atol=1e-12)
    assert_allclose(found.residual, score - (rel - res + unc), atol=1e-11)


def test_nll_decomposition_says_where_the_impossible_happened():
    found = m.nll_decomposition([1, 0], [0.0, 0.4])
    assert found.score == found.reliability == math.inf
    assert math.isnan(found.residual)
    certain = m.nll_decomposition([1, 0, 1], [1.0, 0.0, 1 - 2**-53])
    assert math.isfinite(certain.reliability)
    assert m.nll_decomposition([1, 0], [0.0, 0.4], sample_weight=[0, 1]).score < 1


# Skill.


def slow_skill(score, perfect, y, prob, reference):
    start, reached = score(y, reference), score(y, prob)
    return (start - reached) / (start - perfect)


SCORES = {
    "brier_score": (m.brier_score, 0.0),
    "nll": (m.nll, 0.0),
    "rps": (m.rps, 0.0),
    "mae": (m.mae, 0.0),
    "spherical_score": (m.spherical_score, 1.0),
}


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("given", GIVEN)
def test_skill_is_the_way_from_the_reference_to_perfection(name, given):
    y, prob = GIVEN[given]
    score, perfect = SCORES[name]
    k = len(as_rows(prob)[0])
    rates = np.array([np.mean(y == j) for j in range(k)])
    other = RNG.dirichlet(np.ones(k), len(y))
    for reference, rows in [
        (None, np.tile(rates, (len(y), 1))),
        (np.full(k, 1 / k), np.full((len(y), k), 1 / k)),
        (other, other),
    ]:
        expected = slow_skill(score, perfect, y, np.array(as_rows(prob)), rows)
        assert_allclose(m.skill_score(y, prob, metric=name, reference=reference), expected, rtol=1e-9)
        if name == "brier_score":
            assert_allclose(m.brier_skill_score(y, prob, reference=reference), expected, rtol=1e-9)


def test_skill_reads_references_of_two_classes():
    y, prob = VECTOR
    other = RNG.random(len(y))
    expected = 1 - np.mean((prob - y) ** 2) / np.mean((other - y) ** 2)
    assert_allclose(m.brier_skill_score(y, prob, reference=other), expected, rtol=1e-10)
    assert_allclose(m.brier_skill_score(y, prob, reference=list(other)), expected, rtol=1e-10)
    constant = 1 - np.mean((prob - y) ** 2) / np.mean((0.3 - y) ** 2)
    assert_allclose(m.brier_skill_score(y, prob, reference=0.3), constant, rtol=1e-10)
    assert_allclose(m.brier_skill_score(y, prob, reference=[0.7, 0.3]), constant, rtol=1e-10)
    # With two rows and two classes a vector is one forecast a row.
    two = m.brier_skill_score([0, 1], [0.2, 0.6], reference=[0.5, 0.5])
    assert_allclose(two, 1 - (0.04 + 0.16) / 0.5)
    assert_allclose(m.brier_skill_score([0, 1], [0.2, 0.6], reference=[0.1, 0.8]), 1 - (0.04 + 0.16) / (0.01 + 0.04))


def test_skill_weighs_rows_and_the_default_reference():
    y, prob = VECTOR
    weight = WEIGHTS["vector"]
    rate = np.average(y, weights=weight)
    expected = 1 - np.average((prob - y) ** 2, weights=weight) / np.average((rate - y) ** 2, weights=weight)
    assert_allclose(m.brier_skill_score(y, prob, sample_weight=weight), expected, rtol=1e-10)


def test_skill_beside_a_perfect_reference_or_an_infinite_score():
    assert math.isnan(m.brier_skill_score([1, 1], [1.0, 1.0]))
    assert m.brier_skill_score([1, 1], [1.0, 0.9]) == -math.inf
    assert m.skill_score([1, 1], [1.0, 0.9], metric="spherical_score") == -math.inf
    assert math.isnan(m.skill_score([1, 1], [1.0, 1.0], metric="spherical_score"))
    assert m.skill_score([1, 0], [0.0, 0.5], metric="nll") == -math.inf
    assert m.skill_score([1, 0], [0.5, 0.5], metric="nll", reference=0.0) == 1.0


@pytest.mark.parametrize("reference", [1.5, -0.1, math.nan, [0.5, 0.6], [0.2, 0.3, 0.5], [[0.5, 0.5]], "climate"])
def test_skill_refuses_references_that_are_no_forecast(reference):
    with pytest.raises(InputError, match="reference"):
        m.brier_skill_score(*VECTOR, reference=reference)


@pytest.mark.parametrize("reference", [0.3, np.full(50, 0.3), [0.5, 0.5]])
def test_skill_refuses_two_class_references_beside_four_classes(reference):
    with pytest.raises(InputError, match="reference"):
        m.skill_score(*MATRIX, reference=reference)


# Distances.


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("norm", [1, 2, 3.5, "inf", math.inf])
def test_pointwise_lp_error_is_a_power_mean(given, norm):
    y, prob = GIVEN[given]
    weight = WEIGHTS[given]
    rows = [[abs(t - p) for t, p in row] for row in as_entries(y, prob)]
    if float(norm) == math.inf:
        expected = max(max(row) for row in rows)
    else:
        powers = [w * sum(e**norm for e in row) / len(row) for w, row in zip(weight, rows, strict=True)]
        expected = (sum(powers) / sum(weight)) ** (1 / norm)
    assert_allclose(m.pointwise_lp_error(y, prob, norm=norm, sample_weight=weight), expected, rtol=1e-10)


def test_pointwise_lp_error_does_not_underflow():
    assert_allclose(m.pointwise_lp_error([0] * 4, [1e-3] * 4, norm=1000), 1e-3)
    assert_allclose(m.pointwise_lp_error([0, 0], [1e-200, 1e-200], norm=2), 1e-200)
    assert m.pointwise_lp_error([0, 1], [0.0, 1.0], norm=3) == 0.0
    assert m.pointwise_lp_error([0, 1], [0.9, 0.8], norm="inf", sample_weight=[0, 1]) == pytest.approx(0.2)


def test_hinge_loss_takes_margins_of_any_size():
    y, margin = np.array([1, 0, 1]), np.array([-3.0, 2.5, 1.5])
    assert_allclose(m.hinge_loss(y, margin, score="margin"), (4 + 3.5 + 0) / 3)
    with pytest.raises(InputError, match="y_prob"):
        m.hinge_loss(y, margin)
    with pytest.raises(InputError, match="finite"):
        m.hinge_loss(y, [math.nan, 1, 2], score="margin")
    wide = np.array([[3.0, -1.0, 0.5], [0.1, 0.2, 4.0]])
    assert_allclose(m.hinge_loss([0, 1], wide, score="margin"), (0 + 5) / 2)
    assert_allclose(m.hinge_loss(*VECTOR), 2 * m.mae(*VECTOR))


def test_general_least_squares_is_a_quadratic_form():
    y, prob = VECTOR
    n, r = len(y), y - prob
    form = RNG.normal(size=(n, n))
    slow = sum(r[i] * form[i, j] * r[j] for i in range(n) for j in range(n))
    assert_allclose(m.general_least_squares(y, prob, weights=form), slow, rtol=1e-9)
    diagonal = RNG.normal(size=n)
    assert_allclose(m.general_least_squares(y, prob, weights=diagonal), sum(diagonal * r**2), rtol=1e-10)
    assert_allclose(m.general_least_squares(y, prob), m.brier_score(y, prob), rtol=1e-12)
    top = [t - p for t, p in as_event(*MATRIX)]
    assert_allclose(m.general_least_squares(*MATRIX), np.mean(np.square(top)), rtol=1e-12)
    assert_allclose(m.general_least_squares([1], [0.5], weights=[[2.0]]), 0.5)


def test_general_least_squares_reads_sparse_forms():
    from scipy import sparse

    y, prob = VECTOR
    form = sparse.random_array((len(y), len(y)), density=0.1, rng=np.random.default_rng(3), format="coo")
    dense = m.general_least_squares(y, prob, weights=form.toarray())
    assert_allclose(m.general_least_squares(y, prob, weights=form), dense, rtol=1e-10)
    assert_allclose(m.general_least_squares(y, prob, weights=sparse.csc_matrix(form)), dense, rtol=1e-10)
    form.data[0] = math.nan
    with pytest.raises(InputError, match="weights"):
        m.general_least_squares(y, prob, weights=form)


@pytest.mark.parametrize(
    "weights", [[1.0, 2.0], np.ones((60, 2)), np.full(60, math.nan), np.ones((60, 60, 1)), math.nan, "I"]
)
def test_general_least_squares_refuses_other_forms(weights):
    with pytest.raises(InputError, match="weights"):
        m.general_least_squares(*VECTOR, weights=weights)


def test_general_least_squares_takes_no_sample_weights():
    with pytest.raises(InputError, match="sample weights"):
        m.general_least_squares(*VECTOR, sample_weight=np.ones(60))


# Consistency.


@pytest.mark.parametrize("norm", [1, 2, "inf"])
def test_consistency_calibration_counts_votes_beside_a_vector(norm):
    y, prob = VECTOR
    scores = RNG.normal(size=(len(y), 5))
    errors = [abs(np.mean([s >= 0.2 for s in row]) - p) for row, p in zip(scores, prob, strict=True)]
    expected = max(errors) if norm == "inf" else np.mean(np.power(errors, norm)) ** (1 / norm)
    assert_allclose(m.consistency_calibration(y, prob, perturbed=scores, threshold=0.2, norm=norm), expected)
    assert_allclose(m.consistency_calibration(None, prob, perturbed=scores, threshold=0.2, norm=norm), expected)


def test_consistency_calibration_counts_votes_beside_a_matrix():
    y, prob = MATRIX
    scores = np.round(RNG.normal(size=(len(y), 6, 4)), 1)
    votes = [[int(np.argmax(copy)) for copy in row] for row in scores]
    weight = WEIGHTS["matrix"]
    errors = [[abs(row.count(k) / 6 - p[k]) for k in range(4)] for row, p in zip(votes, prob, strict=True)]
    expected = np.average([np.mean(row) for row in errors], weights=weight)
    for perturbed in (scores, votes):
        found = m.consistency_calibration(y, prob, perturbed=perturbed, sample_weight=weight)
        assert_allclose(found, expected)
    top = np.average([row[int(np.argmax(p))] for row, p in zip(errors, prob, strict=True)], weights=weight)
    assert_allclose(m.consistency_calibration(None, prob, perturbed=scores, reduction="top", sample_weight=weight), top)


def test_consistency_calibration_reads_one_dimension_as_one_copy():
    assert_allclose(m.consistency_calibration(None, [0.2, 0.9], perturbed=[0.1, 0.5]), (0.2 + 0.1) / 2)
    assert_allclose(m.consistency_calibration(None, [[0.2, 0.8]], perturbed=[1]), 0.2)


@pytest.mark.parametrize(
    ("prob", "perturbed"),
    [
        ([0.2, 0.9], None),
        ([0.2, 0.9], [[1.0]]),
        ([0.2, 0.9], [[1.0], [math.nan]]),
        ([0.2, 0.9], np.ones((2, 3, 2))),
        ([0.2, 0.9], np.ones((2, 0))),
        ([[0.2, 0.8]], [[2]]),
        ([[0.2, 0.8]], [[-1]]),
        ([[0.2, 0.8]], [[0.5]]),
        ([[0.2, 0.8]], np.ones((1, 3, 3))),
    ],
)
def test_consistency_calibration_refuses(prob, perturbed):
    with pytest.raises(InputError, match="perturbed"):
        m.consistency_calibration(None, prob, perturbed=perturbed)


def test_consistency_calibration_asks_for_what_it_needs():
    with pytest.raises(InputError, match="perturbed"):
        m.consistency_calibration(*VECTOR)


def slow_quantile(values, q):
    """Hyndman and Fan type 7."""
    values = sorted(values)
    place = (len(values) - 1) * q
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


@pytest.mark.parametrize("m_points", [1, 2, 9])
def test_eice_measures_from_the_middle_of_the_jackknife_interval(m_points):
    _, prob = VECTOR
    predictions, residuals = RNG.random((len(prob), m_points)), RNG.random(m_points)
    middle = [(slow_quantile(row + residuals, 0.9) + slow_quantile(row - residuals, 0.1)) / 2 for row in predictions]
    found = m.eice(None, prob, loo_predictions=predictions, loo_residuals=residuals, coverage=0.8)
    assert_allclose(found, np.mean(np.abs(prob - middle)), rtol=1e-10)
    weight = WEIGHTS["vector"]
    assert_allclose(
        m.eice(None, prob, jackknife=middle, loo_predictions="ignored", sample_weight=weight),
        np.average(np.abs(prob - middle), weights=weight),
        rtol=1e-10,
    )


@pytest.mark.parametrize(
    "choices",
    [
        {},
        {"loo_predictions": np.ones((60, 2))},
        {"loo_residuals": np.ones(2)},
        {"jackknife": np.ones(59)},
        {"jackknife": np.full(60, math.nan)},
        {"loo_predictions": np.ones((60, 2)), "loo_residuals": np.ones(3)},
        {"loo_predictions": np.ones((60, 2)), "loo_residuals": [1.0, -1.0]},
        {"loo_predictions": np.ones((60, 1)), "loo_residuals": math.nan},
        {"jackknife": np.ones(60), "coverage": 1.0},
    ],
)
def test_eice_refuses(choices):
    with pytest.raises(InputError):
        m.eice(*VECTOR, **choices)


def test_eice_takes_no_matrix():
    with pytest.raises(InputError, match="matrix"):
        m.eice(None, MATRIX[1], jackknife=np.ones(50))


# Limits, identities and refusals of the means.


@pytest.mark.parametrize("name", ["nll", "focal_loss", "dual_focal_loss", "focal_calibration_loss", "nses", "dss"])
def test_the_impossible_costs_everything_unless_it_has_no_weight(name):
    metric = getattr(m, name)
    assert metric([1, 0], [0.0, 0.4]) == math.inf
    assert metric([2], [[0.6, 0.4, 0.0]]) == math.inf
    assert_allclose(metric([1, 0], [0.0, 0.4], sample_weight=[0, 2]), metric([0], [0.4]), rtol=1e-12)


def test_a_certain_and_wrong_forecast_is_infinite_where_its_factor_vanishes():
    assert m.dual_focal_loss([1], [[1.0, 0.0]], variant="top2") == math.inf
    assert m.focal_loss([1], [0.0], alpha=0.0) == math.inf


@pytest.mark.parametrize("gamma", [0, 2, "flsd53"])
def test_a_certain_and_right_forecast_costs_nothing(gamma):
    assert m.focal_loss([1, 0], [1.0, 0.0], gamma=gamma) == 0.0
    assert m.nll([1, 0], [1.0, 0.0]) == 0.0
    assert m.nses([1, 0], [1.0, 0.0]) == 0.0


def test_dss_lets_plus_infinity_outweigh_minus():
    assert m.dss([1], [1.0]) == -math.inf
    assert m.dss([1, 1], [1.0, 0.0]) == math.inf
    assert m.dss([0], [[0.6, 0.4, 0.0]]) == -math.inf
    assert_allclose(m.dss([1], [0.5]), 1 + math.log(0.25))


def test_dss_closed_form_is_the_definition():
    y, prob = MATRIX
    total = 0.0
    for t, row in zip(y, prob, strict=True):
        mu, hit = row[:-1], (np.arange(3) == t).astype(float)
        sigma = np.diag(mu) - np.outer(mu, mu)
        total += (hit - mu) @ np.linalg.solve(sigma, hit - mu) + math.log(np.linalg.det(sigma))
    assert_allclose(m.dss(y, prob), total / len(y), rtol=1e-8)


def test_success_is_shared_among_ties():
    assert m.success_rate([1, 0], [0.5, 0.5]) == 0.5
    assert m.success_rate([0], [0.5 + 2**-53]) == 0.0
    assert m.success_rate([0, 2], [[0.4, 0.4, 0.2], [0.4, 0.4, 0.2]]) == 0.25


def test_large_exponents_do_not_underflow():
    row = np.full((1, 1000), 1e-3)
    assert_allclose(m.pseudo_spherical_score([3], row, alpha=200.0), 1000 ** (-199 / 200), rtol=1e-9)
    assert m.pseudo_spherical_score([1], [[1.0, 0.0]], alpha=2) == 0.0


def test_identities_between_scores():
    for given in GIVEN.values():
        assert_allclose(m.proper_linear_score(*given), m.brier_score(*given, scale="sum") - 1, rtol=1e-10)
        assert_allclose(m.power_score(*given), m.proper_linear_score(*given), rtol=1e-10)
        assert_allclose(m.pointwise_lp_error(*given), m.root_brier_score(*given), rtol=1e-10)
        assert_allclose(m.huber_loss(*given, threshold=1.0), m.brier_score(*given) / 2, rtol=1e-10)
    assert_allclose(m.rps(*VECTOR), m.brier_score(*VECTOR), rtol=1e-10)
    assert_allclose(m.asymmetric_least_squares(*VECTOR), m.brier_score(*VECTOR), rtol=1e-10)
    assert_allclose(m.sarps([0], [[0.0, 0.0, 0.0, 1.0]]), 3.0)


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("brier_score", {"scale": "mean"}),
        ("nll", {"eps": -0.1}),
        ("nll", {"eps": 0.6}),
        ("focal_loss", {"gamma": -1}),
        ("focal_loss", {"gamma": "flsd"}),
        ("dual_focal_loss", {"variant": "top3"}),
        ("focal_calibration_loss", {"strength": -1}),
        ("ecd", {"variant": "rest"}),
        ("pointwise_lp_error", {"norm": 0.5}),
        ("pointwise_lp_error", {"norm": math.nan}),
        ("l1eps", {"epsilon": 0}),
        ("huber_loss", {"threshold": 0}),
        ("silf", {"epsilon": 0}),
        ("silf", {"beta": 0}),
        ("silf", {"beta": 1.1}),
        ("asymmetric_least_squares", {"under": -1}),
        ("pseudo_spherical_score", {"alpha": 1}),
        ("power_score", {"alpha": 1}),
        ("hinge_loss", {"score": "logit"}),
        ("skill_score", {"metric": "ece"}),
        ("brier_decomposition", {"binning": "area"}),
        ("brier_decomposition", {"bins": 0}),
        ("rps", {"sample_weight": np.zeros(60)}),
    ],
)
def test_parameters_that_make_no_sense_are_refused(name, choices):
    with pytest.raises(InputError):
        getattr(m, name)(*VECTOR, **choices)


@pytest.mark.parametrize("name", ["rps", "sarps"])
def test_one_class_has_no_order(name):
    with pytest.raises(InputError):
        getattr(m, name)([0], [[1.0]])


# Every metric on the smallest and plainest data, and in chunks.

PLAIN = [
    name
    for name, metric in catalogue("point").items()
    if metric.reads is not None and name not in ("consistency_calibration", "eice")
]
SMALL = [
    ([1], [0.3]),
    ([0, 1], [0.3, 0.3]),
    ([0, 1], [0.0, 1.0]),
    ([1, 1, 1], [0.5, 0.5, 0.5]),
    ([0, 1, 0], [1.0, 0.0, 1.0]),
    ([2], [[0.2, 0.3, 0.5]]),
    ([1, 0], [[0.5, 0.5], [1.0, 0.0]]),
]


@pytest.mark.parametrize("name", PLAIN)
def test_small_data_give_an_answer_and_no_warning(name):
    for y, prob in SMALL:
        prob = np.array(prob, np.float32) if len(y) == 2 else prob
        # The base rate of one outcome is certain, and nothing is a share of its loss.
        if name == "normalized_entropy" and len(set(view(y, prob).read_as("event").true)) == 1:
            with pytest.raises(UndefinedMetricError, match="needs both outcomes"):
                getattr(m, name)(y, prob)
            continue
        answer = getattr(m, name)(y, prob)
        assert answer.n_rows == len(y)


@pytest.mark.parametrize("name", [name for name in PLAIN if catalogue()[name].reads.streams])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("given", GIVEN)
def test_chunks_measure_as_the_whole(name, weighted, given):
    y, prob = GIVEN[given]
    metric = getattr(m, name)
    weight = WEIGHTS[given].copy() if weighted else None
    if weighted:
        weight[:10] = 0.0  # the first chunk holds rows of weight zero only
    whole = view(y, prob, sample_weight=weight).read_as(metric.reads.reading)
    summaries = [metric.reads.summarise(chunk) for chunk in whole.chunks(10)]
    merged = summaries[0]
    for summary in summaries[:0:-1]:
        merged = merged.merge(summary)
    found, at_once = metric.compute(merged), metric(y, prob, sample_weight=weight)
    if isinstance(at_once, float):
        assert found == pytest.approx(at_once, rel=1e-13 if weighted else 0)
    else:
        left, right = found.to_dict(), at_once.to_dict()
        for field in left:
            assert_allclose(left[field], right[field], rtol=1e-12 if weighted else 0)


def test_atoms_put_together_again_are_the_sums():
    for name in ("gsb", "soft_f1", "spiegelhalter_z", "ecd_test", "root_brier_score"):
        recipe = getattr(m, name).reads
        given = view(*VECTOR).read_as(recipe.reading)
        atoms = recipe.atoms(given)
        counts = RNG.integers(0, 3, given.n_rows).astype(np.int32)
        copied = recipe.summarise(given.take(np.repeat(np.arange(given.n_rows), counts)))
        assembled = atoms.assemble(atoms.totals(counts))
        np.testing.assert_array_equal(assembled.totals, copied.totals)
        assert assembled.size == copied.size


def test_sums_of_different_data_do_not_merge():
    recipe = m.gsb.reads
    vector, matrix = recipe.summarise(view(*VECTOR)), recipe.summarise(view(*MATRIX))
    weighted = recipe.summarise(view(*VECTOR, sample_weight=np.ones(60)))
    with pytest.raises(InputError, match="classes"):
        vector.merge(matrix)
    with pytest.raises(InputError, match="weighted"):
        vector.merge(weighted)
