"""The kernel family against its definitions, written as plain loops."""

import functools
import itertools
import math

import numpy as np
import pytest
import twins
from scipy.integrate import quad
from scipy.optimize import brentq, linprog
from scipy.special import betaln, gammaln
from scipy.stats import chi2, norm

from epimeter import metrics as m
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.metrics.kernel import (
    areas,
    distances,
    limiting,
    lipschitz,
    neighbours,
    pairs,
    recursions,
    regression,
    reliability,
    smooth,
    spectrum,
    sums,
)
from epimeter.metrics.kernel.bandwidth import median_gap
from epimeter.summaries.rows import Levels
from epimeter.views import view


def binary(n, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    p = rng.beta(1.2, 0.9, n)
    if ties:
        p = np.round(p, 1)
    y = (rng.random(n) < np.clip(0.8 * p + 0.15, 0, 1)).astype(int)
    return y, p


def classes(n, k, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(k), n)
    y = np.array([rng.choice(k, p=0.7 * row + 0.3 / k) for row in p])
    return y, p


def weighted(n, seed=0):
    y, p = binary(n, seed, ties=True)
    w = np.random.default_rng(seed + 99).integers(0, 4, n)
    return y, p, w, np.repeat(y, w), np.repeat(p, w)


K = {
    "gaussian": lambda u: math.exp(-u * u / 2),
    "laplace": lambda u: math.exp(-u),
    "epanechnikov": lambda u: max(0.0, 1 - u * u),
    "triweight": lambda u: max(0.0, 1 - u * u) ** 3,
}
HEIGHT = {"gaussian": 1 / math.sqrt(2 * math.pi), "laplace": 0.5, "epanechnikov": 0.75, "triweight": 35 / 32}


def curve(y, p, at, h, kernel, skip=None):
    rows = [i for i in range(len(p)) if i != skip]
    w = {i: K[kernel](abs(at - p[i]) / h) for i in rows}
    total = sum(w.values())
    if total > 0:
        return sum(w[i] * y[i] for i in rows) / total
    gap = min(abs(at - p[i]) for i in rows)
    near = [y[i] for i in rows if abs(at - p[i]) <= gap + 1e-12]
    return sum(near) / len(near)


# ---------------------------------------------------------------- bandwidths


def test_bandwidth_rules_follow_their_formulas():
    y, p = binary(57)
    s, n = np.std(p, ddof=1), 57
    assert m.kernel_bandwidth(y, p) == pytest.approx(1.06 * s * n**-0.2, rel=1e-12)
    iqr = np.subtract(*np.quantile(p, [0.75, 0.25]))
    silverman = 0.9 * min(s, iqr / 1.34) * n**-0.2
    assert m.kernel_bandwidth(y, p, rule="silverman") == pytest.approx(silverman, rel=1e-12)
    gaps = [abs(a - b) for a, b in itertools.combinations(p, 2)]
    assert m.kernel_bandwidth(y, p, rule="median") == pytest.approx(np.median(gaps), rel=1e-14)


@pytest.mark.parametrize("kernel", K)
def test_cross_validation_takes_the_first_minimum(kernel):
    y, p = binary(30, 3)
    grid = np.geomspace(0.005, 0.5, 25)
    errors = [sum((y[i] - curve(y, p, p[i], h, kernel, i)) ** 2 for i in range(30)) for h in grid]
    assert m.kernel_bandwidth(y, p, rule="cv", kernel=kernel) == pytest.approx(grid[int(np.argmin(errors))])


def log_dirichlet(at, centre, h):
    a = centre / h + 1
    return gammaln(a.sum()) - gammaln(a).sum() + sum((a[k] - 1) * math.log(max(at[k], 1e-12)) for k in range(len(a)))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_leave_one_out_likelihood_takes_the_first_maximum(n_classes):
    y, p = classes(14, n_classes, 5)
    grid = np.concatenate([np.logspace(-5, -1, 15), np.linspace(0.2, 1, 5)])
    scores = []
    for h in grid:
        score = 0.0
        for j in range(14):
            logs = [log_dirichlet(p[j], p[i], h) for i in range(14) if i != j]
            top = max(logs)
            score += top + math.log(sum(math.exp(v - top) for v in logs) / 13)
        scores.append(score)
    assert m.kernel_bandwidth(y, p, rule="loo") == pytest.approx(grid[int(np.argmax(scores))])
    if n_classes == 2:
        assert m.kernel_bandwidth(y, p[:, 1], rule="loo") == pytest.approx(grid[int(np.argmax(scores))])


@pytest.mark.parametrize(
    "points", [[0.5], [0.3, 0.3], [0.2, 0.2, 0.2, 0.7], [0.1, 0.1, 0.4], [0.0, 1.0], [0.1] * 9 + [0.4, 0.9]]
)
def test_the_median_of_distances_steps_over_ties(points):
    gaps = [abs(a - b) for a, b in itertools.combinations(points, 2)]
    middle = np.median(gaps) if gaps else 0
    if middle == 0:
        above = [g for g in gaps if g > 0]
        middle = np.median(above) if above else 1.0
    y = np.zeros(len(points), int)
    assert m.kernel_bandwidth(y, points, rule="median") == pytest.approx(middle, abs=1e-15)


def test_the_median_gap_of_many_points_is_that_of_all_pairs():
    x = np.sort(np.random.default_rng(1).random(701))
    gaps = np.abs(x[:, None] - x)[np.triu_indices(701, 1)]
    assert median_gap(x, np.ones(701)) == np.median(gaps)


def test_one_row_or_equal_confidences_have_no_bandwidth():
    assert m.kernel_bandwidth([1], [0.4], rule="median") == 1
    for rule in ("normal", "silverman", "cv", "loo"):
        with pytest.raises(UndefinedMetricError):
            m.kernel_bandwidth([1], [0.4], rule=rule)
    assert m.kernel_bandwidth([1, 0, 1], [0.7] * 3) == 0
    assert m.kernel_bandwidth([1, 0, 1], [0.7] * 3, rule="silverman") == 0
    with pytest.raises(ValueError, match="positive bandwidth"):
        m.skde([1, 0, 1], [0.7] * 3)


# ---------------------------------------------------------------- curve


@pytest.mark.parametrize("kernel", K)
@pytest.mark.parametrize("h", [0.003, 0.08, 2.0])
def test_the_curve_is_the_weighted_mean_of_labels(kernel, h):
    y, p = binary(40, 1, ties=True)
    at = np.array([0.0, 0.13, 0.5, 0.77, 1.0])
    got = m.kernel_curve(y, p, at=at, bandwidth=h, kernel=kernel)
    assert got == pytest.approx([curve(y, p, a, h, kernel) for a in at], abs=1e-12)
    label = HEIGHT[kernel] / (40 * h) * sum(y[i] * K[kernel](abs(0.13 - p[i]) / h) for i in range(40))
    assert m.kernel_curve(y, p, at=0.13, bandwidth=h, kernel=kernel, normalise=False) == pytest.approx(label, abs=1e-12)


@pytest.mark.parametrize("kernel", K)
@pytest.mark.parametrize("leave", [False, True])
def test_curve_errors_average_over_the_samples(kernel, leave):
    y, p = binary(40, 2, ties=True)
    fit = [curve(y, p, p[i], 0.07, kernel, i if leave else None) for i in range(40)]
    options = {"kernel": kernel, "bandwidth": 0.07, "leave_one_out": leave}
    assert m.msce(y, p, **options) == pytest.approx(np.mean((fit - p) ** 2), abs=1e-12)
    assert m.sece(y, p, **options) == pytest.approx(np.mean(np.abs(fit - p)), abs=1e-12)


def test_far_from_all_data_the_curve_is_the_nearest_label():
    for kernel in K:
        assert m.kernel_curve([1, 0], [0.1, 0.12], at=0.9, bandwidth=1e-3, kernel=kernel) == pytest.approx(0, abs=1e-6)
        assert m.kernel_curve([1], [0.1], at=1.0, bandwidth=1e-3, kernel=kernel) == 1
    assert m.kernel_curve([1, 0], [0.25, 0.75], at=0.5, bandwidth=0.01, kernel="triweight") == 0.5


@pytest.mark.parametrize("kernel", K)
@pytest.mark.parametrize("h", [0.002, 0.05, 0.7])
def test_fast_sums_equal_direct_sums(kernel, h):
    rng = np.random.default_rng(4)
    points = np.sort(np.concatenate([rng.random(1500), [0.0, 1.0, 0.5]]))
    columns = rng.normal(size=(2, len(points)))
    at = np.concatenate([rng.random(900), points[:50], [-0.2, 1.3]])
    got = sums.kernel_sums(kernel, points, columns, at, h)
    want = sums._direct(kernel, points, columns, at, h)
    assert got == pytest.approx(want, abs=1e-11)


def test_the_fast_curve_is_right_where_weights_are_weak():
    rng = np.random.default_rng(8)
    p = np.sort(np.concatenate([rng.beta(0.2, 0.2, 2990), 0.5 + 0.03 * rng.random(10)]))
    levels = Levels(p, np.ones(3000), (rng.random(3000) < p).astype(float))
    for kernel in K:
        for h in (0.001, 0.02):
            zero, one = regression.left_out(levels, h, kernel)
            for i in [*range(0, 3000, 311), *np.flatnonzero((p > 0.5) & (p < 0.53))]:
                want = curve_without(levels, i, h, kernel)
                got = one[i] if levels.true[i] else zero[i]
                assert got == pytest.approx(want, abs=1e-7)


def curve_without(levels, i, h, kernel):
    keep = np.arange(len(levels.prob)) != i
    u = np.abs(levels.prob[keep] - levels.prob[i])
    if kernel in ("gaussian", "laplace"):
        logs = -0.5 * (u / h) ** 2 if kernel == "gaussian" else -u / h
        w = np.exp(logs - logs.max())
    else:
        w = np.maximum(0, 1 - (u / h) ** 2) ** (1 if kernel == "epanechnikov" else 3)
        if not w.any():
            w = u <= u.min() + 1e-12
    return float(np.sum(w * levels.true[keep]) / np.sum(w))


# ---------------------------------------------------------------- SmoothECE


def smoothed_error(y, p, sigma):
    t = np.linspace(0, 1, 8001)
    g = np.zeros_like(t)
    for yi, pi in zip(y, p, strict=True):
        for image in range(-4, 5):
            for u in (t - pi - 2 * image, t + pi - 2 * image):
                g += (yi - pi) * np.exp(-0.5 * (u / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi))
    return np.trapezoid(np.abs(g), t) / len(p)


@pytest.mark.parametrize("ties", [False, True])
def test_smece_is_the_integral_and_its_fixed_point(ties):
    y, p = binary(25, 6, ties)
    for sigma in (0.03, 0.3, 1.5):
        assert m.smece(y, p, bandwidth=sigma) == pytest.approx(smoothed_error(y, p, sigma), abs=2e-6)
    root = brentq(lambda s: smoothed_error(y, p, s) - s, 1e-3, 1)
    assert m.smece(y, p) == pytest.approx(root, abs=1e-6)


def test_smece_of_the_grid_is_that_of_the_definition():
    y, p = binary(5000, 2)
    p[:40] = 0.0
    p[40:90] = 1.0
    data = view(y, p)
    few = smooth.SmoothedResiduals.of_levels(sums.levels_of(m.mmce.reads.of(data)))
    cells = 1 << 16
    for count in (twins.cell_moments, recursions.cell_moments):
        moments = count(data.true, data.prob, cells, 44).T / (5000 * 2.0**44)
        many = smooth.SmoothedResiduals(smooth.cosine_means(moments, cells // 20), 64 / cells)
        for sigma in (0.001, 0.01, 0.2):
            angle = np.pi * np.arange(int(3.1 / sigma) + 2)[:, None] * p
            a = np.cos(angle) @ (y - p) / 5000 * np.exp(-0.5 * (np.pi * sigma * np.arange(len(angle))) ** 2)
            direct = smooth.absolute_integral(a)
            assert many.error(sigma) == pytest.approx(direct, abs=1e-9)
            assert few.error(sigma) == pytest.approx(direct, abs=1e-9)
    assert few.own_scale(0.0) == pytest.approx(many.own_scale(many.finest), abs=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numpy_and_compiled_moments_are_the_same_whole_numbers(dtype):
    y, p = binary(3000, 5)
    p[:3] = [0.0, 1.0, 0.5]
    compiled = recursions.cell_moments(y.astype(np.uint8), p.astype(dtype), 512, 40)
    assert (compiled == twins.cell_moments(y.astype(np.uint8), p.astype(dtype), 512, 40)).all()


def test_smece_of_calibrated_or_certain_groups():
    assert m.smece([0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0]) == 0
    assert m.smece([0, 1, 0, 1], [0.5] * 4) == 0
    assert m.smece([1, 0, 0, 0, 0, 0, 0, 0, 0, 0], [0.1] * 10) == 0
    assert m.smece([1], [0.4]) == pytest.approx(0.6)
    assert m.smece([0], [1.0]) == 1
    assert m.smece([1, 0], [1 - 1e-7, 2e-7]) == pytest.approx(1.5e-7, rel=1e-6)


def test_smece_at_a_tiny_scale_adds_up_clusters():
    p = np.array([0.3, 0.3 + 2e-6, 0.7, 0.9999995])
    y = np.array([1, 0, 1, 1])
    tiny = m.smece(y, p, bandwidth=1e-6)
    left = lambda t: abs(0.7 * norm.pdf(t, 0, 1) - 0.3 * norm.pdf(t, 2, 1))  # noqa: E731
    want = (quad(left, -9, 11, points=[1.4], epsabs=1e-12)[0] + 0.3 + 5e-7) / 4
    assert tiny == pytest.approx(want, abs=2e-5)
    assert m.smece(y, p, bandwidth=1e-12) == pytest.approx((0.7 + 0.3 + 0.3 + 5e-7) / 4, abs=1e-6)


# ---------------------------------------------------------------- beta and Dirichlet kernels


def beta_errors(y, p, h, power, debias):
    n, total = len(p), 0.0
    for j in range(n):
        logs = {}
        for i in range(n):
            if i != j:
                a, b = p[i] / h + 1, (1 - p[i]) / h + 1
                logs[i] = (a - 1) * math.log(max(p[j], 1e-12)) + (b - 1) * math.log(max(1 - p[j], 1e-12)) - betaln(a, b)
        top = max(logs.values())
        k = {i: math.exp(v - top) for i, v in logs.items()}
        fit = sum(k[i] * y[i] for i in k) / sum(k.values())
        if debias:
            upper = sum(k[i] * k[l] * y[i] * y[l] for i in k for l in k if i != l)
            lower = sum(k[i] * k[l] for i in k for l in k if i != l)
            total += upper / lower - 2 * p[j] * fit + p[j] ** 2
        else:
            total += abs(fit - p[j]) ** power
    return total / n


@pytest.mark.parametrize("ties", [False, True])
def test_bkde_leaves_each_sample_out(ties):
    y, p = binary(22, 9, ties)
    for h in (0.01, 0.2):
        assert m.bkde(y, p, bandwidth=h) == pytest.approx(beta_errors(y, p, h, 2, True), abs=1e-12)
        for power in (1, 2, 3):
            got = m.bkde(y, p, bandwidth=h, norm=power, debias=False)
            assert got == pytest.approx(beta_errors(y, p, h, power, False), abs=1e-12)


def test_bkde_survives_one_neighbour_that_dwarfs_the_others():
    y, p = np.array([1, 1, 0, 1]), np.array([0.1, 0.3, 0.6, 0.95])
    got = m.bkde(y, p, bandwidth=1e-4)
    assert np.isfinite(got)
    # Each row sees its nearest two others: the product of their labels, and the label of the nearest.
    assert -1 <= got <= 1


def test_dkde_is_the_distance_from_the_neighbours_frequencies():
    y, p = classes(15, 3, 2)
    for power in (1, 2):
        total = 0.0
        for j in range(15):
            logs = np.array([log_dirichlet(p[j], p[i], 0.1) for i in range(15)])
            k = np.where(np.arange(15) == j, 0, np.exp(logs - logs.max()))
            f = np.array([k[y == c].sum() for c in range(3)]) / k.sum()
            total += np.sum(np.abs(f - p[j]) ** power)
        assert m.dkde(y, p, bandwidth=0.1, norm=power) == pytest.approx(total / 15, abs=1e-12)
    y, p = binary(20, 3)
    twice = 2 * m.bkde(y, p, bandwidth=0.05, norm=1, debias=False)
    assert m.dkde(y, p, bandwidth=0.05) == pytest.approx(twice, abs=1e-12)


@pytest.mark.parametrize("kind", ["even", "ends", "tails", "alone"])
def test_sums_by_panels_are_the_sums_over_all_pairs(kind, monkeypatch):
    """Many rows in linear time; rows that stand alone, ties and weights of any size included."""
    from epimeter.metrics.kernel import beta, likelihood

    rng = np.random.default_rng(7)
    n = 1_300
    p = {
        "even": rng.random(n).round(4),
        "ends": rng.beta(0.2, 0.05, n),
        "tails": np.where(rng.random(n) < 0.5, 10 ** -rng.uniform(0, 14, n), 1 - 10 ** -rng.uniform(0, 14, n)),
        "alone": np.concatenate([rng.random(n - 100) * 0.01, rng.random(98), [0.0, 1.0]]),
    }[kind]
    y, weight = (rng.random(n) < p).astype(int), rng.choice([0.3, 1, 2, 1000], n)
    calls = [
        functools.partial(metric, y, p, bandwidth=h, sample_weight=w, **more)
        for h in (1e-5, 1e-3, 0.05, 1.0, 7.0)
        for w in (None, weight)
        for metric, more in ((m.bkde, {}), (m.bkde, {"debias": False, "norm": 1}), (m.dkde, {}))
    ]
    calls += [functools.partial(m.kernel_bandwidth, y, p, rule="loo", sample_weight=w) for w in (None, weight)]
    for room in (beta, likelihood):
        monkeypatch.setattr(room, "MANY", 500)
    by_panels = [call() for call in calls]
    for room in (beta, likelihood):
        monkeypatch.setattr(room, "MANY", 10**9)
    assert by_panels == pytest.approx([call() for call in calls], abs=1e-9)


def test_too_few_rows_and_other_powers_are_refused():
    with pytest.raises(InputError, match="norm of bkde must be 2"):
        m.bkde([1, 0, 1], [0.1, 0.5, 0.9], norm=1)
    for call in (
        lambda: m.bkde([1, 0], [0.1, 0.5], bandwidth=0.1),
        lambda: m.bkde([1], [0.1], bandwidth=0.1, debias=False),
        lambda: m.dkde([1], [0.1], bandwidth=0.1),
        lambda: m.msce([1], [0.3], leave_one_out=True),
        lambda: m.skce_uq([1], [0.3]),
        lambda: m.skce_ul([1], [0.3]),
        lambda: m.kccsd([1], [0.3]),
        lambda: m.klce([1], [0.3], features=[1.0]),
        lambda: m.reliability_map([1], [0.3]),
        lambda: m.ls_ecoc_r([1], [0.3]),
    ):
        with pytest.raises(UndefinedMetricError):
            call()
    with pytest.raises(UndefinedMetricError, match="smaller k"):
        m.ecmmd([1, 0], [0.3, 0.4], k=2)
    for infinite in (m.mmce, m.smece, m.skce_b, m.lsece, m.kernel_curve, m.dkde):
        with pytest.raises(InputError, match="finite"):
            infinite([1, 0], [0.3, 0.4], bandwidth=math.inf)


# ---------------------------------------------------------------- Laplace and Lipschitz


def double_sum(r, p, kernel, h):
    d = np.abs(np.subtract.outer(p, p))
    k = np.exp(-d / h) if kernel == "laplace" else np.exp(-0.5 * (d / h) ** 2)
    return r @ k @ r


@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
def test_kernel_norms_are_double_sums(kernel):
    for ties in (False, True):
        y, p = binary(60, 4, ties)
        square = double_sum(y - p, p, kernel, 0.2) / 60**2
        assert m.mmce(y, p, kernel=kernel, bandwidth=0.2, squared=True) == pytest.approx(square, abs=1e-15)
        assert m.mmce(y, p, kernel=kernel, bandwidth=0.2) == pytest.approx(math.sqrt(square), abs=1e-12)
        r = np.where(y == 1, (1 - p) / y.sum(), -p / (60 - y.sum()))
        square = double_sum(r, p, kernel, 0.2)
        assert m.mmce_weighted(y, p, kernel=kernel, bandwidth=0.2, squared=True) == pytest.approx(square, abs=1e-13)
    assert m.lkce(y, p) == m.mmce(y, p, bandwidth=1.0)
    assert math.isnan(m.mmce_weighted([1, 1], [0.2, 0.4]))
    assert m.lkce([1], [0.3]) == pytest.approx(0.7)


def test_numpy_and_compiled_laplace_sums_agree():
    x = np.sort(np.random.default_rng(3).random(2000))
    v = np.random.default_rng(4).normal(size=2000)
    for h in (1e-5, 0.01, 3.0):
        slow = np.array([np.sum(v[: i + 1] * np.exp((x[: i + 1] - x[i]) / h)) for i in range(0, 2000, 37)])
        assert recursions.decayed(x, v, h)[::37] == pytest.approx(slow, abs=1e-11)
        assert twins.decayed(x, v, h)[::37] == pytest.approx(slow, abs=1e-11)
        assert recursions.laplace_form(x, v, h) == pytest.approx(twins.laplace_form(x, v, h), rel=1e-11)


def lipschitz_program(y, p):
    points = np.unique(p)
    r = np.array([np.sum((y - p)[p == q]) for q in points])
    rows, bounds = [], []
    for i, j in itertools.permutations(range(len(points)), 2):
        row = np.zeros(len(points))
        row[i], row[j] = 1, -1
        rows.append(row)
        bounds.append(abs(points[i] - points[j]))
    found = linprog(-r, A_ub=rows or None, b_ub=bounds or None, bounds=[(-1, 1)] * len(points))
    return -found.fun / len(p)


@pytest.mark.parametrize("seed", range(8))
def test_smooth_ce_solves_the_linear_program(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 18))
    y, p = binary(n, seed, ties=bool(seed % 2))
    assert m.smooth_ce(y, p) == pytest.approx(lipschitz_program(y, p), abs=1e-12)


@pytest.mark.parametrize("n", [2, 3, 64, 65, 700, 5000])
def test_compiled_and_plain_smooth_ce_agree(n):
    rng = np.random.default_rng(n)
    p = np.unique(rng.random(n))
    r = rng.normal(size=len(p))
    assert lipschitz.best_bet(p, r) == pytest.approx(twins.best_bet(p, r), rel=1e-12)


def test_smooth_ce_of_one_level_is_its_mean_residual():
    assert m.smooth_ce([1, 0, 1], [0.4] * 3) == pytest.approx(abs(2 / 3 - 0.4))
    assert m.smooth_ce([0, 1], [0.0, 1.0]) == 0


# ---------------------------------------------------------------- pairs


def tv(a, b):
    return sum(abs(x - z) for x, z in zip(a, b, strict=True)) / 2


def pair_matrix(y, p, distance, kernel, h=None):
    p = np.column_stack([1 - p, p]) if p.ndim == 1 else p
    e = np.eye(p.shape[1])[y] - p
    d = np.array([[distance(a, b) for b in p] for a in p])
    if h is None:
        h = np.median([d[i, j] for i, j in itertools.combinations(range(len(p)), 2)])
    k = np.exp(-d / h) if kernel == "laplace" else np.exp(-0.5 * (d / h) ** 2)
    return k * (e @ e.T)


def davies(lam, statistic):
    """The sum along the imaginary axis."""
    lam = lam[np.abs(lam) > 1e-14 * np.abs(lam).max()]
    q = statistic + lam.sum()
    step = 2 * math.pi / (abs(q) + 60 * np.abs(lam).sum() + 40 * math.sqrt(2 * np.sum(lam**2)))
    total = 0.0
    for start in range(0, 10**7, 1000):
        t = (np.arange(start, start + 1000) + 0.5) * step
        logs = -0.5 * np.log(1 - 2j * np.outer(t, lam)).sum(axis=1)
        terms = np.exp(logs - 1j * t * q).imag / (math.pi * (t / step))
        total += terms.sum()
        if np.exp(logs[-1].real) / (t[-1] / step) < 1e-13:
            break
    return 0.5 + total


@pytest.mark.parametrize("n_classes", [1, 2, 4])
@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
def test_squared_kernel_errors_are_means_over_pairs(n_classes, kernel):
    y, p = binary(24, 1) if n_classes == 1 else classes(24, n_classes, 1)
    h = pair_matrix(y, p, tv, kernel)
    n = 24
    assert m.skce_b(y, p, kernel=kernel) == pytest.approx(h.mean(), abs=1e-13)
    got = m.skce_uq(y, p, kernel=kernel)
    value = (h.sum() - np.trace(h)) / (n * (n - 1))
    assert got.value == pytest.approx(value, abs=1e-13)
    c = np.eye(n) - 1 / n
    lam = np.linalg.eigvalsh(c @ h @ c / n)
    assert got.p_value == pytest.approx(davies(lam, n * value), abs=1e-9)
    terms = [h[2 * i, 2 * i + 1] for i in range(n // 2)]
    linear = m.skce_ul(y, p, kernel=kernel)
    z = math.sqrt(n // 2) * np.mean(terms) / np.std(terms, ddof=1)
    assert (linear.value, linear.z, linear.p_value) == pytest.approx((np.mean(terms), z, norm.sf(z)), abs=1e-12)


def test_resampled_tails_follow_the_stream_of_random_numbers():
    y, p = classes(17, 3, 4)
    h = pair_matrix(y, p, tv, "laplace")
    c = np.eye(17) - 1 / 17
    centred, drawn = c @ h @ c, []
    value = (h.sum() - np.trace(h)) / (17 * 16)
    for u in np.random.Generator(np.random.PCG64(3)).random((60, 17)):
        i = np.floor(u * 17).astype(int)
        drawn.append(sum(centred[i[a], i[b]] for a in range(17) for b in range(17) if a != b) / 17)
    expected = (1 + sum(t >= 17 * value - 1e-10 for t in drawn)) / 61
    assert m.skce_uq(y, p, method="bootstrap", draws=60, seed=3).p_value == expected
    got = m.kccsd(y, p, method="wild", draws=60, seed=3)
    h = stein_matrix(y, p)
    value = (h.sum() - np.trace(h)) / (17 * 16)
    drawn = []
    for u in np.random.Generator(np.random.PCG64(3)).random((60, 17)):
        s = np.where(u < 0.5, -1, 1)
        drawn.append((s @ h @ s - np.trace(h)) / 16)
    assert got.value == pytest.approx(value, abs=1e-13)
    assert got.p_value == (1 + sum(t >= 17 * value - 1e-10 for t in drawn)) / 61


def stein_matrix(y, p):
    n, k = p.shape
    xi = np.zeros((n, k))
    for i in range(n):
        for z in range(k):
            if z != y[i] and p[i, z] + p[i, y[i]] > 0:
                share = p[i, z] / (p[i, z] + p[i, y[i]])
                xi[i, z] += share
                xi[i, y[i]] -= share
    d = np.array([[math.dist(a, b) for b in p] for a in p])
    h = np.median([d[i, j] for i, j in itertools.combinations(range(n), 2)])
    return np.exp(-0.5 * (d / h) ** 2) * (xi @ xi.T)


def test_the_stein_discrepancy_of_two_classes_is_a_squared_kernel_error():
    y, p = binary(30, 7)
    got = m.kccsd(y, p, bandwidth=0.3 * math.sqrt(2))
    assert got.value == pytest.approx(m.skce_uq(y, p, kernel="gaussian", bandwidth=0.3).value, abs=1e-14)
    h = stein_matrix(y, np.column_stack([1 - p, p]))
    got = m.kccsd(y, p)
    assert got.value == pytest.approx((h.sum() - np.trace(h)) / (30 * 29), abs=1e-13)
    assert got.p_value == pytest.approx(davies(np.linalg.eigvalsh(h / 30), 30 * got.value), abs=1e-9)
    assert m.kccsd([0, 1, 2], [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]).value == pytest.approx(
        stein_mean([0, 1, 2], [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    )


def stein_mean(y, p):
    h = stein_matrix(np.array(y), np.array(p))
    return (h.sum() - np.trace(h)) / (len(y) * (len(y) - 1))


@pytest.mark.parametrize("n_classes", [1, 3])
@pytest.mark.parametrize("dimension", [1, 2])
def test_local_errors_compare_residuals_through_the_features(n_classes, dimension):
    y, p = binary(20, 1) if n_classes == 1 else classes(20, n_classes, 1)
    x = np.random.default_rng(3).normal(2, 3, (20, dimension))
    two = np.column_stack([1 - p, p]) if p.ndim == 1 else p
    e = np.eye(two.shape[1])[y] - two
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    d = np.array([[math.dist(a, b) for b in z] for a in z])
    width = np.median([d[i, j] for i, j in itertools.combinations(range(20), 2)])
    h = np.exp(-0.5 * (d / width) ** 2) * (e @ e.T)
    got = m.klce(y, p, features=x[:, 0] if dimension == 1 else x)
    assert got.value == pytest.approx((h.sum() - np.trace(h)) / 380, abs=1e-13)
    c = np.eye(20) - 1 / 20
    assert got.p_value == pytest.approx(davies(np.linalg.eigvalsh(c @ h @ c / 20), 20 * got.value), abs=1e-9)


def test_constant_features_are_left_at_zero():
    y, p = binary(12, 1)
    x = np.random.default_rng(3).normal(size=(12, 2))
    x[:, 1] = 0.1
    assert m.klce(y, p, features=x).value == pytest.approx(m.klce(y, p, features=x[:, 0]).value, abs=1e-13)
    with pytest.raises(InputError, match="features"):
        m.klce(y, p)


def test_certain_and_right_predictions_have_value_0_and_p_value_1():
    y = np.array([0, 1, 1, 0])
    got = m.skce_uq(y, y.astype(float))
    assert (got.value, got.p_value) == (0, 1)
    got = m.skce_uq(y, np.eye(3)[y])
    assert (got.value, got.p_value) == (0, 1)
    linear = m.skce_ul(y, y.astype(float))
    assert linear.value == 0
    assert math.isnan(linear.z)
    assert math.isnan(linear.p_value)
    assert math.isnan(m.skce_ul([1, 0], [0.2, 0.4]).z)


def test_the_tail_of_one_eigenvalue_is_that_of_chi_square():
    for x in (-0.99, -0.5, 0.0, 1.3, 20.0, 60.0):
        assert spectrum.tail(np.array([0.7]), 0.7 * x) == pytest.approx(chi2.sf(x + 1, 1), rel=1e-9, abs=1e-13)
    assert spectrum.tail(np.array([0.7]), -0.8) == 1
    for df, x in ((2, 1.0), (5, 9.0), (40, -12.0)):
        assert spectrum.tail(np.full(df, 0.3), 0.3 * x) == pytest.approx(chi2.sf(x + df, df), rel=1e-9)
    assert spectrum.tail(np.zeros(0), 1.0, variance=4.0) == pytest.approx(norm.sf(0.5), rel=1e-9)
    lam, v = np.array([0.5, 0.2]), 0.3
    mixed = quad(lambda s: norm.pdf(s) * spectrum.tail(lam, 0.8 - math.sqrt(v) * s), -8, 8, epsabs=1e-11)[0]
    assert spectrum.tail(lam, 0.8, variance=v) == pytest.approx(mixed, abs=1e-9)


@pytest.mark.parametrize("kernel", ["laplace", "gaussian"])
@pytest.mark.parametrize("n_classes", [1, 3])
def test_leading_eigenvalues_and_a_normal_rest_give_nearly_the_whole_tail(n_classes, kernel, monkeypatch):
    y, p = binary(500, 1) if n_classes == 1 else classes(500, n_classes, 1)
    whole, stein = m.skce_uq(y, p, kernel=kernel), m.kccsd(y, p)
    drawn = m.skce_uq(y, p, kernel=kernel, method="bootstrap", draws=50)
    for room in (distances, pairs, limiting):
        monkeypatch.setattr(room, "WHOLE", 100)
    monkeypatch.setattr(pairs, "BLOCK", 50000)
    part = m.skce_uq(y, p, kernel=kernel)
    assert part.value == pytest.approx(whole.value, abs=1e-14)
    assert part.p_value == pytest.approx(whole.p_value, abs=1e-5)
    assert m.kccsd(y, p).value == pytest.approx(stein.value, abs=1e-14)
    assert m.kccsd(y, p).p_value == pytest.approx(stein.p_value, abs=1e-5)
    again = m.skce_uq(y, p, kernel=kernel, method="bootstrap", draws=50)
    assert (again.value, again.p_value) == pytest.approx((drawn.value, drawn.p_value), abs=1e-13)


@pytest.mark.parametrize("collected", [1 << 24, 1000])
@pytest.mark.parametrize("distance", ["variation", "euclid"])
def test_the_compiled_median_is_that_of_all_pairs(distance, collected, monkeypatch):
    monkeypatch.setattr(distances, "COLLECTED", collected)
    p = np.random.default_rng(2).dirichlet(np.ones(3), 400)
    gaps = distances.distances(p, p, distance)[np.triu_indices(400, 1)]
    assert distances._median_of_many(p, distance) == pytest.approx(np.median(gaps), abs=1e-15)
    monkeypatch.setattr(distances, "WHOLE", 100)
    tied = p[np.random.default_rng(1).integers(0, 5, 400)]
    gaps = distances.distances(tied, tied, distance)[np.triu_indices(400, 1)]
    assert distances.median_distance(tied, distance) == pytest.approx(np.median(gaps), abs=1e-15)


@pytest.mark.parametrize("weight", [None, "whole"])
def test_the_median_distance_of_vectors_is_that_of_all_pairs(weight, monkeypatch):
    monkeypatch.setattr(distances, "BLOCK", 100)
    p = np.random.default_rng(2).dirichlet(np.ones(3), 30)
    w = None if weight is None else np.random.default_rng(3).integers(0, 3, 30)
    rows = p if w is None else np.repeat(p, w, axis=0)
    gaps = [tv(a, b) for a, b in itertools.combinations(rows, 2)]
    got = distances.median_distance(p, "variation", None if w is None else w.astype(float))
    assert got == pytest.approx(np.median(gaps), abs=1e-14)
    assert distances.median_distance(np.tile(p[:1], (5, 1)), "variation") == 1
    assert distances.median_distance(p[[0, 0, 0, 0, 1]], "variation") == pytest.approx(tv(p[0], p[1]))


# ---------------------------------------------------------------- neighbours


def neighbour_test(y, p, x, k, variance):
    n = len(y)
    near = []
    for i in range(n):
        order = sorted((round(math.dist(np.atleast_1d(x[i]), np.atleast_1d(x[j])), 12), j) for j in range(n) if j != i)
        near.append({j for _, j in order[:k]})
    if p.ndim == 1:
        product = np.outer(y - p, y - p)
        null = np.outer(p * (1 - p), p * (1 - p))
    else:
        e = np.eye(p.shape[1])[y] - p
        product = e @ e.T
        sigma = [np.diag(c) - np.outer(c, c) for c in p]
        null = np.array([[np.trace(a @ b) for b in sigma] for a in sigma])
    v = null if variance == "null" else product**2
    total = sum(product[i, j] for i in range(n) for j in near[i])
    spread = sum(((j in near[i]) + (i in near[j])) ** 2 * v[i, j] for i in range(n) for j in range(i))
    z = total / math.sqrt(spread)
    return total / (n * k), z, 2 * norm.sf(abs(z))


@pytest.mark.parametrize("variance", ["null", "empirical"])
@pytest.mark.parametrize("case", ["vector", "ties", "matrix", "features"])
@pytest.mark.filterwarnings("ignore::epimeter.errors.OrderWarning")
def test_ecmmd_walks_the_nearest_neighbours(case, variance):
    y, p = classes(40, 3, 1) if case == "matrix" else binary(40, 1, case == "ties")
    x, options = p, {}
    if case == "features":
        f = np.random.default_rng(1).normal(size=(40, 2))
        x, options = (f - f.mean(axis=0)) / f.std(axis=0), {"features": f}
    got = m.ecmmd(y, p, k=4, variance=variance, **options)
    assert (got.value, got.z, got.p_value) == pytest.approx(neighbour_test(y, p, x, 4, variance), rel=1e-10)


@pytest.mark.parametrize("decimals", [1, 2, 16])
def test_sorted_neighbours_and_tree_equal_brute_force(decimals):
    rng = np.random.default_rng(decimals)
    x = np.round(rng.random(300), decimals)
    every = neighbours._by_all_pairs(x[:, None], np.arange(300), 7)
    assert (np.sort(neighbours._on_line(x, 7), axis=1) == every).all()
    x = np.round(rng.random((300, 2)), decimals)
    every = neighbours._by_all_pairs(x, np.arange(300), 7)
    assert (np.sort(neighbours._by_tree(x, 7), axis=1) == every).all()


@pytest.mark.filterwarnings("ignore::epimeter.errors.OrderWarning")
def test_certain_predictions_leave_ecmmd_without_a_scale():
    got = m.ecmmd([0, 1, 1], [0.0, 1.0, 1.0], k=1)
    assert got.value == 0
    assert math.isnan(got.z)
    assert math.isnan(got.p_value)


# ---------------------------------------------------------------- densities


def reflected(t, c, w):
    total = 0.0
    for image in range(-6, 7):
        for u in (t - c - 2 * image, t + c - 2 * image):
            total += 35 / (32 * w) * max(0.0, 1 - (u / w) ** 2) ** 3
    return total


@pytest.mark.parametrize("h", [0.02, 0.5, 1.1])
@pytest.mark.parametrize("power", [1, 2, 1.5])
def test_skde_weights_the_gap_by_the_density(h, power):
    y, p = binary(9, 3, ties=True)
    t = np.linspace(0, 1, 4001)
    k = np.vectorize(reflected)(t[:, None], p, 3 * h)
    density, true = k.mean(axis=1), (k * y).mean(axis=1)
    gap = np.abs(t - np.divide(true, density, out=np.zeros_like(true), where=density > 0))
    assert m.skde(y, p, bandwidth=h, norm=power) == pytest.approx(np.trapezoid(gap**power * density, t), abs=2e-6)


def test_lsece_is_the_integral_over_the_logits():
    y, p = binary(9, 4)
    p[0], p[1] = 0.0, 1.0
    u = np.log(np.clip(p, 1e-12, 1 - 1e-12) / np.clip(1 - p, 1e-12, 1))
    for sigma in (0.1, 0.7, 5.0):
        t = np.linspace(-28 - 9 * sigma, 28 + 9 * sigma, 400001)
        f = sum((yi - 1 / (1 + np.exp(-t))) * norm.pdf(t - ui, scale=sigma) for yi, ui in zip(y, u, strict=True))
        assert m.lsece(y, p, bandwidth=sigma) == pytest.approx(np.trapezoid(np.abs(f), t) / 9, abs=1e-6)


def test_areas_are_exact_for_parabolas():
    x = np.linspace(-1, 2, 31)
    f = 3 * x**2 - 2 * x - 0.3
    exact = quad(lambda t: abs(3 * t**2 - 2 * t - 0.3), -1, 2, points=np.roots([3, -2, -0.3]), epsabs=1e-13)[0]
    assert areas.absolute_area(f, 0.1) == pytest.approx(exact, abs=1e-12)
    assert areas.simpson(f, 0.1) == pytest.approx(9 - 3 - 0.9, abs=1e-12)


# ---------------------------------------------------------------- reliability


def line_fit(x, y, at, h):
    rows = [i for i in range(len(x)) if abs(x[i] - at) < h]
    if not rows:
        gap = min(abs(v - at) for v in x)
        return np.mean([y[i] for i in range(len(x)) if abs(x[i] - at) <= gap + 1e-12])
    w = [1 - ((x[i] - at) / h) ** 2 for i in rows]
    xm = sum(a * x[i] for a, i in zip(w, rows, strict=True)) / sum(w)
    ym = sum(a * y[i] for a, i in zip(w, rows, strict=True)) / sum(w)
    sxx = sum(a * (x[i] - xm) ** 2 for a, i in zip(w, rows, strict=True))
    sxy = sum(a * (x[i] - xm) * (y[i] - ym) for a, i in zip(w, rows, strict=True))
    return ym if sxx <= 1e-12 * h * h * sum(w) else ym + sxy / sxx * (at - xm)


def map_by_hand(y, p, groups, h1, h2):
    middle, raw = [], []
    for group in groups:
        size = len(group)
        if size < 2:
            continue
        c = np.mean(p[group])
        fit = np.clip(line_fit(p, y, c, h1), 0.001, 0.999)
        middle.append(c)
        raw.append(1 + 1 / (size - 1) - (y[group].sum() - size * fit) ** 2 / (size * (size - 1) * fit * (1 - fit)))
    r = np.array([np.clip(line_fit(middle, raw, a, h2), 0.001, 0.999) for a in p])
    mu = np.array([np.clip(line_fit(p, y, a, h1), 0.001, 0.999) for a in p])
    return r, mu, np.mean(raw), len(raw)


def split(group, x, k):
    if len(group) < 2 * k:
        return [group]
    column = int(np.argmax(x[group].var(axis=0)))
    group = group[np.argsort(x[group, column], kind="stable")]
    half = (len(group) + 1) // 2
    return split(group[:half], x, k) + split(group[half:], x, k)


@pytest.mark.parametrize("with_features", [False, True])
def test_the_reliability_map_compares_clusters_with_the_curve(with_features):
    y, p = binary(60, 5)
    order, options = np.argsort(p, kind="stable"), {}
    groups = np.array_split(order, 60 // 4)
    if with_features:
        f = np.random.default_rng(2).normal(1, 2, (60, 2))
        options = {"features": f}
        x = (f - f.mean(axis=0)) / f.std(axis=0)
        groups = [g for strip in np.array_split(order, round(math.sqrt(60 / 4))) for g in split(strip, x, 4)]
    r, _, raw, count = map_by_hand(y, p, groups, 0.15, 0.2)
    got = m.reliability_map(y, p, k=4, calibration_bandwidth=0.15, bandwidth=0.2, **options)
    assert (got.value, got.minimum, got.raw, got.clusters) == pytest.approx((r.mean(), r.min(), raw, count), abs=1e-9)


def test_moments_fit_the_same_lines_as_sums():
    rng = np.random.default_rng(7)
    x = np.sort(np.concatenate([rng.random(1500), [0.31, 0.31, 0.31 + 1e-9]]))
    y = rng.normal(size=len(x))
    at = np.concatenate([rng.random(600), [-0.4, 0.31, 1.2]])
    for h in (2e-4, 0.01, 0.3):
        want = reliability._fit_directly(x, y, at, h)
        assert reliability.local_linear(x, y, at, h) == pytest.approx(want, rel=1e-7, abs=1e-9)
    assert reliability._fit_directly(x, y, at[::50], 0.3) == pytest.approx([line_fit(x, y, a, 0.3) for a in at[::50]])


def test_experts_are_combined_on_the_simplex():
    y, p = classes(40, 3, 6)
    mu, r = np.empty((40, 3)), np.empty((40, 3))
    for c in range(3):
        groups = np.array_split(np.argsort(p[:, c], kind="stable"), 4)
        r[:, c], mu[:, c], _, _ = map_by_hand((y == c) * 1, p[:, c], groups, 0.3, 0.4)
    w = 1 / ((1 - r) * mu * (1 - mu))
    got = m.ls_ecoc_r(y, p, calibration_bandwidth=0.3, bandwidth=0.4)
    for weights, value in ((w, got.value), (np.ones_like(w), got.brier_unweighted)):
        total = 0.0
        for i in range(40):
            low, high = -10.0 * weights[i].max(), float((mu[i] * weights[i]).max())
            t = brentq(lambda t, i=i, s=weights: np.maximum(0, mu[i] - t / s[i]).sum() - 1, low, high, xtol=1e-14)
            total += np.sum((np.maximum(0, mu[i] - t / weights[i]) - np.eye(3)[y[i]]) ** 2)
        assert value == pytest.approx(total / 40, abs=1e-9)
    assert got.brier_input == pytest.approx(np.mean(np.sum((p - np.eye(3)[y]) ** 2, axis=1)))


def test_clusters_of_one_row_make_no_map():
    with pytest.raises(UndefinedMetricError):
        m.reliability_map([1, 0, 1], [0.1, 0.5, 0.9], k=1)


# ---------------------------------------------------------------- all of them


ONE_COLUMN = {
    "kernel_bandwidth": {},
    "kernel_curve": {},
    "msce": {"leave_one_out": True},
    "sece": {},
    "smece": {},
    "bkde": {"bandwidth": 0.1},
    "mmce": {},
    "mmce_weighted": {},
    "lkce": {},
    "skde": {},
    "smooth_ce": {},
    "lsece": {},
    "skce_b": {},
    "dkde": {"bandwidth": 0.1},
}


@pytest.mark.parametrize("name", ONE_COLUMN)
def test_a_whole_weight_counts_as_that_many_rows(name):
    y, p, w, many_y, many_p = weighted(40, 3)
    metric, options = getattr(m, name), ONE_COLUMN[name]
    assert metric(y, p, sample_weight=w, **options) == pytest.approx(metric(many_y, many_p, **options), rel=1e-9)


@pytest.mark.parametrize("rule", ["normal", "silverman", "median", "cv", "loo"])
def test_rules_count_weights_as_rows(rule):
    y, p, w, many_y, many_p = weighted(30, 4)
    got = m.kernel_bandwidth(y, p, sample_weight=w, rule=rule)
    assert got == pytest.approx(m.kernel_bandwidth(many_y, many_p, rule=rule), rel=1e-12)


def test_matrices_count_weights_as_rows():
    y, p = classes(20, 3, 1)
    w = np.random.default_rng(1).integers(0, 3, 20)
    many_y, many_p = np.repeat(y, w), np.repeat(p, w, axis=0)
    for metric in (m.skce_b, m.dkde):
        assert metric(y, p, sample_weight=w) == pytest.approx(metric(many_y, many_p), rel=1e-10)


@pytest.mark.parametrize("name", ONE_COLUMN)
def test_one_two_and_equal_rows_are_measured_or_refused(name):
    metric, options = getattr(m, name), ONE_COLUMN[name]
    for y, p in (([1], [0.3]), ([0, 1], [0.2, 0.9]), ([0, 1, 1, 0], [0.5] * 4), ([0, 1, 0], [0.0, 1.0, 1.0])):
        for dtype in (np.float64, np.float32):
            try:
                value = metric(y, np.array(p, dtype), **options)
            except UndefinedMetricError:
                continue
            assert math.isfinite(value) or (name == "mmce_weighted" and len(set(y)) == 1)


@pytest.mark.parametrize("name", ["smece", "lkce", "smooth_ce", "sece", "skde", "lsece", "mmce", "msce", "skce_b"])
def test_large_calls_agree_with_small_ones(name):
    y, p = binary(6000, 11)
    metric = getattr(m, name)
    few = metric(y[:6000], p[:6000])
    copies = metric(np.tile(y, 40), np.tile(p, 40)) if name not in ("skde", "skce_b") else few
    assert copies == pytest.approx(few, abs=1e-9)
    shuffled = np.random.default_rng(0).permutation(6000)
    assert metric(y[shuffled], p[shuffled]) == pytest.approx(few, abs=1e-14)
