"""The cumulative family against its definitions written with plain loops and exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from epimeter import metrics
from epimeter.errors import InputError, UndefinedMetricError


def plain_event(y, p, reduction, k):
    """Outcome and confidence of each row of a matrix."""
    true, prob = [], []
    for label, row in zip(y, p, strict=True):
        ranked = sorted(range(len(row)), key=lambda c: (-row[c], c))
        if reduction == "class":
            true.append(int(label == k))
            prob.append(row[k])
        elif reduction == "top":
            true.append(int(label == ranked[k - 1]))
            prob.append(row[ranked[k - 1]])
        else:
            true.append(int(label in ranked[:k]))
            prob.append(min(1.0, float(np.sum([row[c] for c in ranked[:k]]))))
    return true, prob


def plain_walk(y, c, w=None, ties="group"):
    """C_1..C_J in exact fractions, the share of the variance at each step, and sigma."""
    w = [1] * len(y) if w is None else w
    rows = [(c[i], i) for i in range(len(y)) if w[i] > 0]
    rows.sort(key=lambda row: row[0])  # stable
    total = sum(Fraction(w[i]) for _, i in rows)
    variances = [Fraction(w[i]) ** 2 * Fraction(c[i]) * (1 - Fraction(c[i])) for _, i in rows]
    walk, shares, at, spent = [], [], Fraction(0), Fraction(0)
    for place, (confidence, i) in enumerate(rows):
        at += Fraction(w[i]) * (int(y[i]) - Fraction(confidence))
        spent += variances[place]
        if ties == "stable" or place + 1 == len(rows) or rows[place + 1][0] != confidence:
            walk.append(float(at / total))
            shares.append(float(spent))
    sigma = math.sqrt(sum(variances)) / float(total)
    return walk, [s / shares[-1] if shares[-1] else math.nan for s in shares], sigma


def samples():
    rng = np.random.default_rng(0)
    spread = rng.random(60)
    coarse = np.round(rng.random(80), 1)
    near_ends = np.concatenate([rng.random(20) ** 8, 1 - rng.random(20) ** 8, [0.0, 1.0]])
    tiny = np.full(5, 1e-18)
    yield "spread", (rng.random(60) < spread**2).astype(int), spread
    yield "ties", (rng.random(80) < coarse).astype(int), coarse
    yield "near the ends", (rng.random(42) < near_ends).astype(int), near_ends
    yield "one row", np.array([1]), np.array([0.3])
    yield "two rows", np.array([0, 1]), np.array([0.9, 0.2])
    yield "all equal", np.array([0, 1, 1, 0, 1]), np.full(5, 0.4)
    yield "tiny", np.zeros(5, int), tiny


SAMPLES = [pytest.param(y, p, id=name) for name, y, p in samples()]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", ["group", "stable"])
@pytest.mark.parametrize(("y", "p"), SAMPLES)
def test_the_walk_is_the_exact_sum(y, p, ties, weighted):
    w = np.random.default_rng(1).integers(0, 5, len(y)) * 0.7 if weighted else None
    if w is not None:
        w[0] = 1.3
    walk, shares, sigma = plain_walk(y, p, w, ties)
    found = metrics.cdp(y, p, ties=ties, sample_weight=w)
    np.testing.assert_allclose(found.difference, walk, rtol=1e-13, atol=1e-16)
    assert found.steps == len(walk)
    assert found.terminal == found.difference[-1]
    assert found.maximum == pytest.approx(max(0, *walk, 0), abs=1e-16)
    assert found.minimum == pytest.approx(min(0, *walk, 0), abs=1e-16)
    assert found.sigma == pytest.approx(sigma, rel=1e-13)
    assert found.fraction[-1] == pytest.approx(1.0)
    assert (np.diff(found.confidence) > 0).all() or ties == "stable"
    mad, span = (f(y, p, ties=ties, sample_weight=w) for f in (metrics.ecce_mad, metrics.ecce_r))
    assert mad.value == pytest.approx(max(map(abs, walk)), rel=1e-13)
    assert span.value == pytest.approx(max(0, *walk, 0) - min(0, *walk, 0), rel=1e-13)
    assert mad.statistic == pytest.approx(mad.value / sigma, rel=1e-12)
    assert mad.p_value == metrics.brownian_tail(mad.statistic)
    assert span.p_value == metrics.brownian_tail(span.statistic, kind="range")
    test = metrics.bbt(y, p, ties=ties, sample_weight=w)
    bridge = max(abs(c / sigma - t * walk[-1] / sigma) for c, t in zip(walk, shares, strict=True))
    # Confidences are read in steps of 2^-60; over a sigma of 1e-10 that is 1e-8 of a standard deviation.
    assert test.b_star == pytest.approx(bridge, rel=1e-9, abs=1e-8)
    assert test.s_n == pytest.approx(walk[-1] / sigma, rel=1e-12, abs=1e-8)


def test_the_range_is_the_worst_interval_of_confidences():
    rng = np.random.default_rng(5)
    p = np.round(rng.random(40), 1)
    y = rng.integers(0, 2, 40)
    levels = np.unique(p)
    worst = max(abs(np.sum((y - p)[(p >= low) & (p <= high)])) / 40 for low in levels for high in levels if low <= high)
    assert metrics.ecce_r(y, p).value == pytest.approx(worst, rel=1e-12)


@pytest.mark.parametrize(("reduction", "ks"), [("top", (1, 2, 4)), ("within", (1, 2, 4)), ("class", (0, 3))])
def test_a_matrix_is_reduced_as_asked(reduction, ks):
    rng = np.random.default_rng(2)
    p = np.round(rng.dirichlet(np.ones(4), 50), 1)
    p = np.vstack([p[np.abs(p.sum(axis=1) - 1) < 1e-9], [[0.25] * 4, [0.5, 0.5, 0, 0]]])
    y = rng.integers(0, 4, len(p))
    for k in ks:
        true, prob = plain_event(y, p.tolist(), reduction, k)
        found = metrics.cdp(y, p, reduction=reduction, k=k)
        np.testing.assert_allclose(found.difference, plain_walk(true, prob)[0], rtol=1e-12, atol=1e-15)


def test_a_rank_that_does_not_exist_is_refused_for_a_matrix_and_ignored_for_a_vector():
    p = np.full((3, 3), 1 / 3)
    for reduction, k in (("top", 0), ("top", 4), ("within", 4), ("class", 3), ("class", -1)):
        with pytest.raises(InputError, match=f"must be from . to . when reduction is {reduction}"):
            metrics.ecce_mad([0, 1, 2], p, reduction=reduction, k=k)
    assert metrics.ecce_mad([0, 1], [0.2, 0.7], reduction="class", k=9) == metrics.ecce_mad([0, 1], [0.2, 0.7])


def test_the_order_of_the_rows_changes_no_bit():
    rng = np.random.default_rng(8)
    p = np.round(rng.random(3000), 3)
    y = (rng.random(3000) < p).astype(int)
    turned = rng.permutation(3000)
    for metric in (metrics.ecce_mad, metrics.ecce_r, metrics.bbt):
        assert metric(y, p) == metric(y[turned], p[turned])
    one, other = metrics.cdp(y, p), metrics.cdp(y[turned], p[turned])
    np.testing.assert_array_equal(one.difference, other.difference)


def test_a_stable_walk_follows_the_rows():
    first = metrics.ecce_r([1, 0], [0.5, 0.5], ties="stable")
    assert first.value == 0.25
    assert metrics.ecce_r([1, 0], [0.5, 0.5]).value == 0.0


def test_certainty_leaves_no_noise():
    right, wrong = ([0, 1, 1], [0.0, 1.0, 1.0]), ([0, 1, 0], [0.0, 1.0, 1.0])
    for metric in (metrics.ecce_mad, metrics.ecce_r):
        good, bad = metric(*right), metric(*wrong)
        assert (good.value, good.statistic, good.p_value) == (0.0, 0.0, 1.0)
        assert (bad.statistic, bad.p_value) == (math.inf, 0.0)
        assert bad.value == pytest.approx(1 / 3)
    with pytest.raises(UndefinedMetricError, match="every one is 0 or 1"):
        metrics.bbt(*right)
    assert metrics.mcm(*right).mcm == 0.0
    found = metrics.mcm(*wrong)
    assert (found.mcm, found.p_value) == (math.inf, 0.0)
    assert math.isnan(found.mcm_absolute)


def test_scaling_the_weights_changes_nothing():
    rng = np.random.default_rng(4)
    p, w = rng.random(50), rng.random(50)
    y = rng.integers(0, 2, 50)
    for factor in (4.0, 3.7, 1e-200, 1e200):
        one, other = metrics.bbt(y, p, sample_weight=w), metrics.bbt(y, p, sample_weight=w * factor)
        for field in ("p_value", "s_n", "b_star", "c_star"):
            assert one[field] == pytest.approx(other[field], rel=1e-10)


def test_the_methods_of_the_bridge_test_are_what_they_say():
    rng = np.random.default_rng(6)
    p = rng.random(200)
    y = (rng.random(200) < p * 0.9).astype(int)
    tests = {m: metrics.bbt(y, p, method=m) for m in ("BB", "BB1p", "BM", "BM2p")}
    tail = metrics.brownian_tail
    one = tests["BB"]
    assert one.p_mean == pytest.approx(math.erfc(abs(one.s_n) / math.sqrt(2)))
    assert one.p_distance == tests["BB1p"].p_value == tail(one.b_star, kind="bridge")
    assert tests["BB1p"].statistic == one.b_star
    assert tests["BM"].p_value == metrics.ecce_mad(y, p).p_value
    assert tests["BM"].statistic == one.s_star
    assert tests["BM2p"].p_distance == tail(one.s_star, kind="max_abs_given_end", end=one.s_n)
    for name in ("BB", "BM2p"):
        q = tests[name].p_mean * tests[name].p_distance
        assert tests[name].statistic == pytest.approx(-2 * math.log(q), rel=1e-12)
        assert tests[name].p_value == pytest.approx(q * (1 - math.log(q)), rel=1e-12)


def test_a_p_value_that_underflows_leaves_an_infinite_statistic():
    found = metrics.bbt(np.zeros(20000, int), np.full(20000, 0.5))
    assert (found.p_mean, found.statistic, found.p_value) == (0.0, math.inf, 0.0)


def plain_tree(features, rows, depth, min_size, level=0):
    """The rows of every node below the root, depth first."""
    if level == depth:
        return []
    values = [features[i][level % len(features[0])] for i in rows]
    middle = np.median(values)
    left = [i for i, v in zip(rows, values, strict=True) if v <= middle]
    right = [i for i, v in zip(rows, values, strict=True) if v > middle]
    if min(len(left), len(right)) < min_size:
        return []
    nodes = []
    for child in (left, right):
        nodes += [child, *plain_tree(features, child, depth, min_size, level + 1)]
    return nodes


def plain_mcm(y, p, parts, w, ties):
    ratios = []
    for part in parts:
        walk, _, sigma = plain_walk(y[part], p[part], None if w is None else w[part], ties)
        kuiper = max(0, *walk, 0) - min(0, *walk, 0)
        ratios.append((kuiper / sigma if sigma else (math.inf if kuiper else 0.0), kuiper, sigma))
    return ratios


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", ["group", "stable"])
@pytest.mark.parametrize("include_all", [True, False])
def test_the_worst_subpopulation_of_all_kinds(weighted, ties, include_all, monkeypatch):
    from epimeter.metrics.cumulative import subpopulations

    monkeypatch.setattr(subpopulations, "AT_ONCE", 100)  # several batches
    rng = np.random.default_rng(7)
    n = 120
    p = np.round(rng.random(n), 2)
    y = (rng.random(n) < p**2).astype(int)
    w = rng.integers(1, 4, n) * 0.3 if weighted else None
    features = np.round(rng.normal(size=(n, 2)), 1)
    labels = rng.choice(["b", "a", "c"], n)
    members = rng.random((n, 3)) < 0.4
    members[:, 1] = False
    every = [np.arange(n)] if include_all else []
    by_label = [np.flatnonzero(labels == name) for name in ("a", "b", "c")]
    by_column = [np.flatnonzero(members[:, j]) for j in (0, 2)]
    nodes = [np.array(node) for node in plain_tree(features.tolist(), list(range(n)), 3, 8)]
    for given, parts in [
        ({"groups": labels}, by_label),
        ({"groups": members}, by_column),
        ({"groups": members.astype(int)}, by_column),
        ({"features": features, "min_size": 8}, nodes),
        ({"groups": labels, "features": features, "min_size": 8}, by_label + nodes),
    ]:
        found = metrics.mcm(y, p, ties=ties, sample_weight=w, include_all=include_all, **given)
        ratios = plain_mcm(y, p, every + parts, w, ties)
        worst = max(range(len(ratios)), key=lambda s: ratios[s][0])
        assert found.subpopulations == len(ratios)
        np.testing.assert_allclose((found.mcm, found.kuiper, found.sigma), ratios[worst], rtol=1e-11)
        sigma_all = plain_walk(y, p, w, ties)[2]
        assert found.mcm_absolute == pytest.approx(found.mcm * sigma_all, rel=1e-11)
        assert found.p_value_bonferroni == min(1.0, len(ratios) * found.p_value)


def test_without_subpopulations_it_is_the_statistic_of_the_range():
    rng = np.random.default_rng(9)
    p = rng.random(70)
    y = rng.integers(0, 2, 70)
    whole, span = metrics.mcm(y, p, include_all=False), metrics.ecce_r(y, p)
    assert (whole.mcm, whole.kuiper, whole.worst, whole.subpopulations) == (span.statistic, span.value, "all", 1)
    assert metrics.mcm(y, p, features=p, depth=0).subpopulations == 1


def test_the_worst_subpopulation_is_named():
    rng = np.random.default_rng(10)
    p = rng.random(200)
    y = (rng.random(200) < p).astype(int)
    bad = np.arange(200) % 4 == 1
    y[bad] = 0
    assert metrics.mcm(y, p, groups=np.where(bad, "x", "y")).worst == "group x"
    assert metrics.mcm(y, p, groups=np.column_stack([~bad, bad])).worst == "column 1"
    assert metrics.mcm(y, p, features=-bad.astype(float), include_all=False, depth=1).worst in ("all", "node L")


def test_a_small_group_of_tiny_weight_is_measured_as_exactly_as_any():
    rng = np.random.default_rng(11)
    p, y = rng.random(60), rng.integers(0, 2, 60)
    group = np.repeat([0, 1], 30)
    even = metrics.mcm(y, p, groups=group, include_all=False)
    light = metrics.mcm(y, p, groups=group, include_all=False, sample_weight=np.where(group == 0, 1e-30, 1.0))
    assert light.mcm == pytest.approx(even.mcm, rel=1e-10)


def test_rows_of_weight_zero_do_not_make_a_subpopulation():
    found = metrics.mcm([0, 1, 1], [0.2, 0.6, 0.9], groups=["a", "b", "b"], sample_weight=[0, 1, 1])
    assert found.subpopulations == 2


@pytest.mark.parametrize(
    "groups",
    [
        [0.0, math.nan, 1.0],
        ["a", None, "b"],
        np.array(["a", math.nan, "b"], dtype=object),
        np.array(["a", 1, (2,)], dtype=object),
        [0, 1],
        [[0, 2], [1, 0], [0, 0]],
        [["a"], ["b"], ["c"]],
    ],
)
def test_groups_that_are_no_groups_are_refused(groups):
    with pytest.raises(InputError, match="groups"):
        metrics.mcm([0, 1, 1], [0.2, 0.6, 0.9], groups=groups)


LAWS = ("max_abs", "range", "bridge")


def plain_upper(kind, x, end=0.0):
    """The upper tail by its own series, in plain doubles; good for x of 1 and more."""

    def q(z):
        return math.erfc(z / math.sqrt(2)) / 2

    if kind == "max_abs":
        return 4 * sum((-1) ** k * q((2 * k + 1) * x) for k in range(40))
    if kind == "range":
        return 8 * sum((-1) ** (k - 1) * k * q(k * x) for k in range(1, 80))
    w = abs(end) if kind == "max_abs_given_end" else 0.0
    return sum(
        (-1) ** (n - 1) * (math.exp(-2 * n * x * (n * x - w)) + math.exp(-2 * n * x * (n * x + w)))
        for n in range(1, 80)
    )


def plain_lower(kind, x, end=0.0):
    """The lower tail by its own series, in plain doubles; good for x up to 2."""
    if kind == "max_abs":
        return (
            4
            / math.pi
            * sum((-1) ** k / (2 * k + 1) * math.exp(-((2 * k + 1) ** 2) * math.pi**2 / (8 * x * x)) for k in range(40))
        )
    if kind == "range":
        halves = [(k + 0.5) * math.pi for k in range(40)]
        return sum((8 / x**2 + 2 / h**2) * math.exp(-2 * h**2 / x**2) for h in halves)
    w = end if kind == "max_abs_given_end" else 0.0
    odd = [(2 * k - 1) * math.pi for k in range(1, 40)]
    return (
        math.sqrt(2 * math.pi) / x * math.exp(w * w / 2)
        * sum(math.exp(-o * o / (8 * x * x)) * math.cos(o * w / (2 * x)) for o in odd)
    )  # fmt: skip


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("x", [0.3, 0.6, 0.99, 1.0, 1.2, 1.49, 1.5, 1.8])
def test_both_series_of_a_law_agree(kind, x):
    # Each series on the other's side, where it still converges.
    lower = metrics.brownian_tail(x, kind=kind, tail="lower")
    assert lower == pytest.approx(plain_lower(kind, x), rel=1e-11)
    if x >= 0.6:
        assert metrics.brownian_tail(x, kind=kind) == pytest.approx(plain_upper(kind, x), rel=1e-11)


@pytest.mark.parametrize("end", [0.0, 0.3, -0.3, 0.9, -1.1, 2.5])
@pytest.mark.parametrize("above", [1e-3, 0.05, 0.4, 1.0])
def test_the_law_given_the_end_agrees_with_both_its_series(end, above):
    x = abs(end) + above
    if x >= 0.6:
        upper = metrics.brownian_tail(x, kind="max_abs_given_end", end=end)
        assert upper == pytest.approx(plain_upper("max_abs_given_end", x, end), rel=1e-11)
    if 0.1 < x < 1.6:
        lower = metrics.brownian_tail(x, kind="max_abs_given_end", end=end, tail="lower")
        assert lower == pytest.approx(plain_lower("max_abs_given_end", x, end), rel=1e-9, abs=1e-13)


def test_given_an_end_at_zero_the_motion_is_a_bridge():
    for x in (0.4, 0.99, 1.0, 1.7, 5.0):
        bridge = metrics.brownian_tail(x, kind="bridge")
        assert metrics.brownian_tail(x, kind="max_abs_given_end") == pytest.approx(bridge, rel=1e-12)


@pytest.mark.parametrize("end", [0.5, 1.5, 20.0])
def test_the_lower_tail_keeps_its_digits_as_x_falls_to_the_end(end):
    # Close above the end the lower tail grows in proportion to x - |end|.
    near, nearer = (
        metrics.brownian_tail(end + d, kind="max_abs_given_end", end=end, tail="lower") for d in (2e-9, 1e-9)
    )
    exact = (end + 2e-9 - end) / (end + 1e-9 - end)
    assert near / nearer == pytest.approx(exact, rel=1e-6)
    assert nearer > 0


@pytest.mark.parametrize("kind", [*LAWS, "max_abs_given_end"])
def test_the_ends_of_every_law(kind):
    x = [-math.inf, -1.0, 0.0, 1e-320, 1e-5, 1e5, 1e200, math.inf, math.nan]
    upper, lower = (metrics.brownian_tail(x, kind=kind, tail=tail) for tail in ("upper", "lower"))
    assert upper[:5].tolist() == [1.0] * 5
    assert lower[:5].tolist() == [0.0] * 5
    assert upper[5:8].tolist() == [0.0] * 3
    assert lower[5:8].tolist() == [1.0] * 3
    assert np.isnan([upper[8], lower[8]]).all()


@pytest.mark.parametrize("kind", [*LAWS, "max_abs_given_end"])
def test_a_tail_falls_and_both_add_to_one(kind):
    x = np.linspace(0.01, 4, 400)
    upper, lower = (metrics.brownian_tail(x, kind=kind, tail=tail, end=0.7) for tail in ("upper", "lower"))
    np.testing.assert_allclose(upper + lower, 1, atol=1e-14)
    assert (np.diff(upper) <= 1e-15).all()


def test_a_statistic_may_be_named_and_keeps_its_shape():
    tail = metrics.brownian_tail
    assert tail(2.0) == tail(statistic=2.0)
    assert isinstance(tail(2.0), float)
    assert tail(np.ones((2, 3))).shape == (2, 3)
    assert tail([]).shape == (0,)
    with pytest.raises(InputError, match="statistic of brownian_tail must be numbers"):
        tail("large")
    with pytest.raises(InputError, match="statistic is missing"):
        tail()
    with pytest.raises(InputError, match="must be one of"):
        tail(1.0, kind="min")
