"""Slow twins of the bin family's second half: intervals, soft bins, groups, neighbours, tests, ONTO errors."""

import itertools
import math

import numpy as np
import pytest
import twins
from scipy import optimize, stats

from epimeter import metrics
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.metrics.bin import binomial, intervals
from epimeter.summaries import Bins, MomentBins
from epimeter.views import view


def generator(seed):
    return np.random.Generator(np.random.PCG64(seed))


def spread(seed, n=60):
    u = generator(seed)
    p = u.random(n)
    return (u.random(n) < p**1.3).astype(int), p


def tied(seed, n=60):
    u = generator(seed)
    p = np.round(u.random(n) * 8) / 8
    return (u.random(n) < p).astype(int), p


CASES = {
    "spread": spread(1),
    "tied": tied(2),
    "two rows": ([1, 0], [0.3, 0.9]),
    "one row": ([1], [0.37]),
    "all equal": ([1, 0, 0, 1, 1], [0.6] * 5),
    "certain": ([1, 0, 1, 1], [1.0, 0.0, 0.0, 1.0]),
    "one class": ([1] * 12, list(np.linspace(0, 1, 12))),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())


def classes(seed, n=50, k=4):
    u = generator(seed)
    p = u.dirichlet(np.full(k, 0.7), n)
    return np.array([u.choice(k, p=row) for row in p]), p


def cells(y, p, index):
    """(rows, mean outcome, mean confidence) of each non-empty cell."""
    found = {}
    for label, confidence, cell in zip(y, p, index, strict=True):
        found.setdefault(cell, []).append((label, confidence))
    return [(len(rows), *np.mean(rows, axis=0)) for rows in found.values()]


def cell_error(y, p, index):
    return sum(n * abs(a - c) for n, a, c in cells(y, p, index)) / len(y)


def equal_width(p, bins):
    return [min(int(c * bins), bins - 1) for c in p]


def equal_mass(values, bins):
    values = np.asarray(values)
    group = np.concatenate([np.full(len(part), b) for b, part in enumerate(np.array_split(values, bins))])
    return np.array([group[(np.sum(values < v) + np.sum(values <= v) - 1) // 2] for v in values], int)


# intervals


def naive_rice(y, p, k):
    w = 2.0**-k
    cuts = sorted({0.0, w, *(c % w for c in p)})
    area = 0.0
    for low, high in itertools.pairwise(cuts):
        r = (low + high) / 2
        sums = {}
        for label, c in zip(y, p, strict=True):
            j = math.floor((c - r) / w)
            sums[j] = sums.get(j, 0.0) + label - c
        area += (high - low) * sum(map(abs, sums.values()))
    return area / w / len(y)


@every_case
@pytest.mark.parametrize("k", [0, 1, 3, 5])
def test_rice_is_the_integral_over_all_shifts(case, k):
    assert metrics.rice(*case, k=k) == pytest.approx(naive_rice(*case, k), abs=1e-12)


@every_case
@pytest.mark.parametrize("epsilon", [2.0, 0.5, 0.01])
def test_sice_is_the_least_error_plus_width(case, epsilon):
    last = math.floor(-math.log2(epsilon / 2))
    expected = min(naive_rice(*case, k) + 2.0**-k for k in range(last + 1))
    assert metrics.sice(*case, epsilon=epsilon) == pytest.approx(expected, abs=1e-12)


def test_very_narrow_bins_hold_one_confidence_each():
    y, p = [1, 0, 1, 0], [1e-300, 0.0, 0.25, 0.25]
    alone = (1 + 0 + abs(1 - 0.5)) / 4
    assert metrics.rice(y, p, k=5000) == pytest.approx(alone, abs=1e-12)
    # At width 2^-60 the two smallest confidences share every bin but one shift in 1e282.
    assert metrics.rice(y, p, k=60) == pytest.approx(alone, abs=1e-12)
    assert metrics.sice(y, p, epsilon=1e-300) == pytest.approx(metrics.sice(y, p, epsilon=1e-10), abs=1e-9)


def naive_interval_error(y, p):
    levels = sorted(set(p))
    best = math.inf
    for cuts in itertools.product([False, True], repeat=len(levels) - 1):
        blocks, start = [], 0
        for i, cut in enumerate([*cuts, True]):
            if cut:
                blocks.append(levels[start : i + 1])
                start = i + 1
        cost = 0.0
        for block in blocks:
            rows = [(a, c) for a, c in zip(y, p, strict=True) if block[0] <= c <= block[-1]]
            cost += abs(sum(a - c for a, c in rows)) + len(rows) * (block[-1] - block[0])
        best = min(best, cost)
    return best / len(y)


@pytest.mark.parametrize("seed", range(6))
def test_interval_ce_is_the_best_of_all_partitions(seed):
    y, p = spread(seed, 9) if seed % 2 else tied(seed, 25)
    assert metrics.interval_ce(y, p) == pytest.approx(naive_interval_error(y, p), abs=1e-12)


@every_case
def test_interval_ce_is_at_most_sice(case):
    assert metrics.interval_ce(*case) <= metrics.sice(*case) + 1e-12


def test_the_pruned_programme_agrees_with_the_full_one():
    y, p = spread(5, 700)
    order = np.argsort(p)
    columns = p[order], np.ones(700), (y - p)[order]
    full = twins.cheapest_partition(*columns, step=10**6)
    assert intervals.cheapest_partition(*columns) == pytest.approx(full, abs=1e-9)


@every_case
def test_cutoff_ce_is_the_worst_interval(case):
    y, p = case
    levels = sorted(set(p))
    worst = max(
        abs(sum(a - c for a, c in zip(y, p, strict=True) if low <= c <= high))
        for low, high in itertools.combinations_with_replacement(levels, 2)
    )
    assert metrics.cutoff_ce(y, p) == pytest.approx(worst / len(y), abs=1e-12)


@every_case
def test_ece_avg_averages_over_widths(case):
    y, p = case
    for widths in (None, [1.0], [0.3, 0.07]):
        errors = []
        for w in widths or [j / 200 for j in range(1, 11)]:
            last = math.ceil(1 / w - 1e-9) - 1
            errors.append(cell_error(y, p, [min(math.floor(c / w + 1e-9), last) for c in p]))
        assert metrics.ece_avg(y, p, widths=widths) == pytest.approx(np.mean(errors), abs=1e-12)


@pytest.mark.parametrize("widths", [[], [0.0], [1.5], [-0.1], [math.nan], "wide"])
def test_ece_avg_refuses_widths_outside_the_unit_interval(widths):
    with pytest.raises(InputError, match="widths of ece_avg"):
        metrics.ece_avg([0, 1], [0.2, 0.7], widths=widths)


@pytest.mark.parametrize("k", [0, 3, 9])
def test_the_compiled_sweep_agrees_with_its_twin(k):
    for y, p in (spread(3, 400), tied(4, 100)):
        levels = intervals.Ordered().of(view(y, p)).levels
        place = levels.prob * 2**k
        home = np.floor(place)
        columns = home.astype(np.int64), place - home, levels.residual
        assert intervals.shifted_error(*columns) == pytest.approx(twins.shifted_error(*columns), abs=1e-10)


# signs


@every_case
def test_esce_is_the_mean_outcome_minus_the_mean_confidence(case):
    y, p = case
    for choices in ({}, {"bins": 3}, {"binning": "mass", "bins": 4}):
        assert metrics.esce(y, p, **choices) == pytest.approx(np.mean(y) - np.mean(p), abs=1e-12)


def naive_wsmcs(y, p, subset):
    n, k = p.shape
    guess = p.argmax(axis=1)
    size, mean = {}, {}
    for j in range(k):
        if subset == "rest":
            residual = [float(y[i] == j) - p[i, j] for i in range(n)]
            size[j] = sum(y == j)
        else:
            group = y if subset == "true" else guess
            residual = [float(guess[i] == y[i]) - p[i].max() for i in range(n) if group[i] == j]
            size[j] = len(residual)
        mean[j] = np.mean(residual) if residual else 0.0
    used = [j for j in range(k) if size[j]]
    over, under = [j for j in used if mean[j] <= 0], [j for j in used if mean[j] > 0]

    def score(group):
        return sum(size[j] * mean[j] for j in group) / sum(size[j] for j in group) if group else 0.0

    value = (len(over) * score(over) + len(under) * score(under)) / len(used)
    return value, score(over), score(under)


@pytest.mark.parametrize("subset", ["true", "predicted", "rest"])
@pytest.mark.parametrize("seed", range(4))
def test_wsmcs_averages_groups_of_classes(subset, seed):
    y, p = classes(seed, n=30 if seed else 2)
    found = metrics.wsmcs(y, p, subset=subset)
    assert (found.value, found.over, found.under) == pytest.approx(naive_wsmcs(y, p, subset), abs=1e-12)


def test_wsmcs_reads_a_vector_as_two_classes():
    y, p = spread(1)
    assert metrics.wsmcs(y, p) == metrics.wsmcs(y, np.column_stack([1 - p, p]))


# soft bins


def naive_soft(y, p, memberships, norm):
    n, total = len(y), 0.0
    for b in range(len(memberships[0])):
        s = sum(u[b] for u in memberships)
        if s > 0:
            gap = abs(sum(u[b] * (a - c) for u, a, c in zip(memberships, y, p, strict=True))) / s
            total += s / n * gap**norm
    return total ** (1 / norm)


def softmax(scores):
    parts = [math.exp(score - max(scores)) for score in scores]
    return [part / sum(parts) for part in parts]


@every_case
@pytest.mark.parametrize(("bins", "temperature", "norm"), [(15, 0.01, 1), (10, 0.001, 2), (1, 1.0, 1), (4, 0.1, 3.5)])
def test_soft_bins_share_rows_by_softmax(case, bins, temperature, norm):
    y, p = case
    choices = {"bins": bins, "temperature": temperature, "norm": norm}
    near = [softmax([-((c - (b + 0.5) / bins) ** 2) / temperature for b in range(bins)]) for c in p]
    assert metrics.sbece(y, p, **choices) == pytest.approx(naive_soft(y, p, near, norm), abs=1e-11)
    linear = [
        softmax([(b * c - sum(j / bins for j in range(1, b))) / temperature for b in range(1, bins + 1)]) for c in p
    ]
    assert metrics.dece(y, p, **choices) == pytest.approx(naive_soft(y, p, linear, norm), abs=1e-11)


def test_hard_temperatures_give_the_hard_error():
    y, p = spread(7)
    for soft in (metrics.sbece, metrics.dece):
        for temperature in (1e-9, 1e-320):
            assert soft(y, p, bins=10, temperature=temperature) == pytest.approx(metrics.ece(y, p), abs=1e-9)
        assert soft(y, p, bins=10, temperature=1e-9, norm=math.inf) == pytest.approx(
            metrics.lp_ce(y, p, norm=math.inf), abs=1e-9
        )


@every_case
@pytest.mark.parametrize("bins", [1, 2, 10])
def test_fuzzy_bins_are_trapezoids(case, bins):
    y, p = case
    w, total, weight = 1 / bins, 0.0, 0.0
    for b in range(bins):
        low, high = b / bins, (b + 1) / bins
        mu = [max(0.0, min(1.0, (c - (low - w / 4)) / (w / 2), (high + w / 4 - c) / (w / 2))) for c in p]
        total += abs(sum(m * (a - c) for m, a, c in zip(mu, y, p, strict=True)))
        weight += sum(mu)
    assert metrics.fce(y, p, bins=bins) == pytest.approx(total / weight, abs=1e-11)


@pytest.mark.parametrize("temperature", [1e-5, 0.05, 2.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_ece_lse_bins_the_soft_maximum(temperature, weighted):
    y, p = classes(11)
    copies = generator(1).integers(0, 3, len(y)) if weighted else np.ones(len(y), int)
    rows = np.repeat(np.arange(len(y)), copies)
    top = [temperature * math.log(sum(math.exp((q - max(row)) / temperature) for q in row)) + max(row) for row in p]
    right = (p.argmax(axis=1) == y).astype(int)
    expected = cell_error(right[rows], np.array(top)[rows], np.array(equal_width(top, 10))[rows])
    found = metrics.ece_lse(y, p, temperature=temperature, sample_weight=copies if weighted else None)
    assert found == pytest.approx(expected, abs=1e-11)


# groups, features


@pytest.mark.parametrize(("bins", "binning"), [(None, "width"), (3, "width"), (4, "mass")])
@pytest.mark.parametrize("loss", ["abs", "square"])
def test_pce_averages_over_partitions(bins, binning, loss):
    y, p = spread(4)
    groups = generator(3).integers(0, 3, (len(y), 2))
    inside = [0] * len(y) if bins is None else equal_width(p, bins) if binning == "width" else equal_mass(p, bins)
    power = 2 if loss == "square" else 1
    errors = [
        sum(n * abs(a - c) ** power for n, a, c in cells(y, p, list(zip(column, inside, strict=True)))) / len(y)
        for column in groups.T
    ]
    choices = {"bins": bins, "binning": binning, "loss": loss}
    assert metrics.pce(y, p, groups=groups, **choices) == pytest.approx(np.mean(errors), abs=1e-12)
    weighted = metrics.pce(y, p, groups=groups, weights=[0.9, 0.1], **choices)
    assert weighted == pytest.approx(0.9 * errors[0] + 0.1 * errors[1], abs=1e-12)


@pytest.mark.parametrize("weights", [[1.0], [-1.0, 2.0], [math.nan, 1.0], "much"])
def test_pce_refuses_weights_that_do_not_fit_the_partitions(weights):
    with pytest.raises(InputError, match="weights of pce"):
        metrics.pce([0, 1], [0.2, 0.7], groups=[[0, 1], [1, 1]], weights=weights)


def test_labels_of_any_kind_make_groups():
    y, p = spread(6)
    numbers = generator(2).integers(0, 3, len(y))
    expected = cell_error(y, p, numbers)
    for labels in (numbers, np.array(["a", "b", "c"])[numbers], np.array(["x", 1, (2, 3)], object)[numbers]):
        assert metrics.fece(y, p, groups=labels) == pytest.approx(expected, abs=1e-12)


def test_fece_refuses_several_fields():
    with pytest.raises(InputError, match="one column"):
        metrics.fece([0, 1], [0.2, 0.7], groups=[[0, 1], [1, 1]])


@pytest.mark.parametrize("bins", [1, 7, 100])
def test_vece_and_mvce_cut_features_into_equal_masses(bins):
    y, p = spread(8)
    features = np.round(generator(9).normal(size=(len(y), 3)), 1)
    groups = generator(3).integers(0, 3, len(y))
    errors = [cell_error(y, p, equal_mass(column, bins)) for column in features.T]
    for column in range(3):
        found = metrics.vece(y, p, features=features, column=column, bins=bins)
        assert found == pytest.approx(errors[column], abs=1e-12)
    assert metrics.vece(y, p, features=features[:, 0], bins=bins) == pytest.approx(errors[0], abs=1e-12)
    assert metrics.mvce(y, p, features=features, bins=bins) == pytest.approx(np.mean(errors), abs=1e-12)
    both = metrics.mvce(y, p, features=features, groups=groups, bins=bins)
    assert both == pytest.approx(np.mean([cell_error(y, p, groups), *errors]), abs=1e-12)


def test_vece_refuses_a_column_that_is_not_there():
    with pytest.raises(InputError, match="column of vece"):
        metrics.vece([0, 1], [0.2, 0.7], features=[1.0, 2.0], column=1)


def test_mvce_refuses_to_measure_without_a_view():
    with pytest.raises(InputError, match="at least one view"):
        metrics.mvce([0, 1], [0.2, 0.7])


@pytest.mark.parametrize("dimensions", [1, 3, 20])
@pytest.mark.parametrize("binning", ["mass", "width"])
def test_piece_crosses_confidence_with_proximity(dimensions, binning):
    y, p = spread(10)
    features = generator(5).normal(size=(len(y), dimensions))
    distance = [
        np.mean(sorted(math.dist(a, b) for j, b in enumerate(features) if j != i)[:4]) for i, a in enumerate(features)
    ]
    inside = equal_mass(p, 5) if binning == "mass" else equal_width(p, 5)
    expected = cell_error(y, p, list(zip(inside, equal_mass(distance, 3), strict=True)))
    found = metrics.piece(y, p, features=features, bins=5, binning=binning, proximity_bins=3, k=4)
    assert found == pytest.approx(expected, abs=1e-12)
    assert found >= metrics.ece(y, p, bins=5, binning=binning) - 1e-12


def test_piece_of_one_row_is_its_gap():
    assert metrics.piece([1], [0.3], features=[2.0]) == pytest.approx(0.7)
    assert metrics.piece([1, 1], [0.3, 0.4], features=[2.0, 2.0], k=50) == pytest.approx(0.65)


# tests


@every_case
@pytest.mark.parametrize("binning", ["mass", "width"])
@pytest.mark.parametrize("ddof", [0, 2])
def test_hl_adds_squared_gaps_over_variances(case, binning, ddof):
    y, p = case
    index = equal_mass(p, 4) if binning == "mass" else equal_width(p, 4)
    found = cells(y, p, index)
    expected = 0.0
    for n, a, c in found:
        if 0 < c < 1:
            expected += n * (a - c) ** 2 / (c * (1 - c))
        elif a != c:
            expected = math.inf
    answer = metrics.hl(y, p, bins=4, binning=binning, ddof=ddof)
    assert answer.statistic == pytest.approx(expected, abs=1e-10)
    assert answer.dof == len(found) - ddof
    if answer.dof < 1:
        assert math.isnan(answer.p_value)
    else:
        assert answer.p_value == pytest.approx(stats.chi2.sf(expected, answer.dof), abs=1e-12)


@every_case
@pytest.mark.parametrize("binning", ["width", "mass", "area"])
def test_dpe_adds_the_products_of_all_pairs(case, binning):
    y, p = (np.asarray(column) for column in case)
    expected = 0.0
    part = Bins(6, binning)
    index = {"width": equal_width(p, 6), "mass": equal_mass(p, 6)}.get(binning)
    if index is None:
        from epimeter.summaries.cuts import area_index

        index = area_index(p, 6)
    for cell in set(np.asarray(index).tolist()):
        u = (y - p)[np.asarray(index) == cell]
        expected += sum(u[i] * u[j] for i, j in itertools.permutations(range(len(u)), 2)) / len(u)
    assert part.of(view(y, p)).n == len(y)
    assert metrics.dpe(y, p, bins=6, binning=binning) == pytest.approx(expected / len(y), abs=1e-12)


def naive_interval(y, p, bins, alpha):
    index, n = equal_width(p, bins), len(y)
    total = variance = third = first = second = 0.0
    filled = []
    for cell in set(index):
        rows = [(a - c, c * (1 - c), c) for a, c, i in zip(y, p, index, strict=True) if i == cell]
        size, u = len(rows), [r[0] for r in rows]
        mean, square = sum(u) / size, sum(v * v for v in u) / size
        filled.append((sum(a for a, i in zip(y, index, strict=True) if i == cell), size, mean))
        first += size / n * (4 * mean**2 * square - 3 * mean**4)
        second += size / n * mean**2
        if size < 2:
            continue
        total += (sum(u) ** 2 - sum(v * v for v in u)) / (size - 1) / n
        v = [r[1] for r in rows]
        t = [r[1] * (1 - 2 * r[2]) for r in rows]
        for i, j in itertools.permutations(range(size), 2):
            variance += 2 * v[i] * v[j] / (size - 1) ** 2 / n**2
            third += 4 * t[i] * t[j] / (size - 1) ** 3 / n**3
        for i, j, k in itertools.permutations(range(size), 3):
            third += 8 * v[i] * v[j] * v[k] / (size - 1) ** 3 / n**3
    s = math.sqrt(max(0.0, first - second**2) / n)
    z2, z1 = stats.norm.isf(alpha / 2), stats.norm.isf(alpha)
    plus = max(total, 0.0)
    upper = plus + z2 * s
    if len(filled) < min(10, bins):
        v = max((x + 2) / (k + 4) * (1 - (x + 2) / (k + 4)) for x, k, _ in filled)
        seen = sum(k * gap**2 for _, k, gap in filled) / v
        null = int(stats.chi2.cdf(seen, len(filled)) < 1 - alpha / 2)
        most, at = 400 * n, (seen, max(seen, len(filled)))
        ends = [
            optimize.brentq(lambda nc, a=a, q=q: stats.ncx2.cdf(a, len(filled), nc) - q, 1e-9, most)
            for a, q in zip(at[null:], (1 - alpha / 2, alpha / 2)[null:], strict=True)
        ]
        lower, upper = 0.0 if null else ends[0] * v / n, min(1.0, ends[-1] * v / n)
    elif plus >= 2 * z2 * s:
        lower = plus - z2 * s
    elif plus >= 2 * z1 * s:
        lower = plus / 2
    else:
        lower = max(0.0, plus - z1 * s)
    if variance <= 1e-15:
        tail = 1.0 if total <= 1e-12 else 0.0
    else:
        tail = stats.pearson3.sf(total / math.sqrt(variance), third / variance**1.5)
    return total, lower, upper, math.sqrt(lower), math.sqrt(upper), tail


@every_case
@pytest.mark.parametrize(("bins", "alpha"), [(6, 0.05), (15, 0.4)])
def test_l2_ece_ci_follows_its_formulas(case, bins, alpha):
    y, p = case
    found = metrics.l2_ece_ci(y, p, bins=bins, alpha=alpha)
    expected = naive_interval(y, p, bins, alpha)
    values = found.estimate, found.lower, found.upper, found.ece_lower**2, found.ece_upper**2, found.p_value
    wanted = *expected[:3], expected[1], expected[2], expected[5]
    # The naive variance cancels to rounding noise where it should be 0, and its root magnifies that.
    assert values == pytest.approx(wanted, abs=2e-7)


def test_l2_ece_ci_covers_a_constant_confidence():
    y = (generator(8).random((400, 1000)) < 0.62).astype(int)
    found = [metrics.l2_ece_ci(row, np.full(1000, 0.6)) for row in y]
    assert np.mean([one.lower <= 0.02**2 <= one.upper for one in found]) > 0.92
    exact = metrics.l2_ece_ci(np.repeat([1, 0], [600, 400]), np.full(1000, 0.6))
    assert exact.lower == 0
    assert exact.upper > 1e-3


def test_moments_of_two_halves_merge_into_those_of_the_whole():
    y, p = spread(12)
    recipe = MomentBins(8)
    whole, first, second = (view(y[rows], p[rows]) for rows in (slice(None), slice(0, 20), slice(20, None)))
    halves = recipe.summarise(first).merge(recipe.summarise(second))
    assert halves.square == recipe.summarise(whole).square
    assert halves.skew2 == recipe.summarise(whole).skew2
    assert metrics.dpe.compute(halves) == metrics.dpe(y, p, bins=8)


def naive_pava(y, p, low, high):
    """Sizes of the bins of sorted rows."""
    n = len(y)
    if n <= low:
        return [n]
    runs = [[sum(a for a, q in zip(y, p, strict=True) if q == c), list(p).count(c)] for c in sorted(set(p))]
    held = 0
    while held < low:
        held += runs.pop()[1]
    blocks = []
    for run in runs:
        blocks.append(run)
        while len(blocks) >= 2:
            (a1, v1), (a2, v2) = blocks[-2], blocks[-1]
            if v1 + v2 <= low or (v1 + v2 <= high and a1 / v1 >= a2 / v2):
                blocks[-2:] = [[a1 + a2, v1 + v2]]
            else:
                break
    if blocks and blocks[-1][1] + held <= high:
        blocks[-1] = [0, blocks[-1][1] + held]
    else:
        blocks.append([0, held])
    return [size for _, size in blocks]


def naive_binomial(x, n, c):
    if c in (0.0, 1.0):
        return float(x == n * c)
    pmf = stats.binom.pmf(np.arange(n + 1), n, c)
    return min(1.0, pmf[pmf <= pmf[x] * (1 + 1e-7)].sum())


@every_case
@pytest.mark.parametrize(
    "choices",
    [
        {"min_count": 3, "max_count": 9},
        {"min_count": 5, "max_count": 4, "alpha": 0.3},
        {"binning": "width", "bins": 4, "alpha": 0.5},
        {"binning": "mass", "bins": 7, "alpha": 1.0},
        {"alpha": 0.0},
    ],
)
def test_test_based_ce_counts_rejected_rows(case, choices):
    y, p = (np.asarray(column) for column in case)
    order = np.argsort(p, kind="stable")
    alpha = choices.get("alpha", 0.05)
    if "binning" in choices:
        cut = equal_width if choices["binning"] == "width" else equal_mass
        index = np.asarray(cut(p, choices["bins"]))[order]
    else:
        sizes = naive_pava(
            y[order].tolist(), p[order].tolist(), choices.get("min_count", 10), choices.get("max_count", 1000)
        )
        index = np.repeat(np.arange(len(sizes)), sizes)
    rejected = 0
    for cell in set(index.tolist()):
        rows = order[index == cell]
        rejected += sum(naive_binomial(y[rows].sum(), len(rows), c) <= alpha for c in p[rows])
    assert metrics.test_based_ce(y, p, **choices) == pytest.approx(rejected / len(y), abs=1e-12)


def test_binomial_p_values_add_all_outcomes_no_likelier():
    u = generator(13)
    sizes = u.integers(1, 40, 60)
    seen = (u.random(60) * (sizes + 1)).astype(int)
    prob = np.round(u.random(60), 2)
    found = binomial.binomial_p_values(seen, sizes, np.arange(60), prob)
    expected = [naive_binomial(x, n, c) for x, n, c in zip(seen, sizes, prob, strict=True)]
    assert found == pytest.approx(expected, abs=1e-12)


def test_a_p_value_equal_to_the_level_is_rejected():
    for c in (0.05, 0.01, 0.07, 0.3):
        assert metrics.test_based_ce([1], [c], alpha=c) == 1.0
        assert metrics.test_based_ce([1], [c], alpha=c * (1 - 1e-9)) == 0.0


def test_pooling_agrees_with_its_slow_twin():
    for y, p in (spread(14, 500), tied(14, 500), tied(15, 30)):
        order = np.argsort(p)
        y, p = y[order], p[order]
        levels, count = np.unique(p, return_counts=True)
        ones = np.array([y[p == c].sum() for c in levels])
        for low, high in ((10, 1000), (3, 20), (25, 5), (29, 7)):
            expected = naive_pava(y.tolist(), p.tolist(), low, high)
            assert binomial.pooled_sizes(ones, count, low, high).tolist() == expected


def naive_drawn_test(y, p, draws, seed):
    n = len(y)
    scales = max(1, math.floor(2 * math.log2(n / math.sqrt(math.log(n)))))
    uniform = np.random.Generator(np.random.PCG64(seed)).random((draws, n))
    found = []
    for scale in range(1, scales + 1):
        seen = float(metrics.dpe(y, p, bins=2**scale))
        reached = 0
        for row in uniform:
            reached += metrics.dpe((row < p).astype(int), p, bins=2**scale) >= seen - 1e-10 * max(1, abs(seen))
        found.append(((1 + reached) / (draws + 1), seen, 2**scale))
    least = min(found, key=lambda item: item[0])
    return min(1.0, scales * least[0]), least[1], least[2], scales


def test_t_cal_draws_outcomes_by_the_common_rule():
    y, p = spread(15, 10)
    p = np.round(p, 1)
    found = metrics.t_cal(y, p, method="resampling", draws=60, seed=4, alpha=0.2)
    assert (found.p_value, found.statistic, found.bins, found.levels) == pytest.approx(
        naive_drawn_test(y, p, 60, 4), abs=1e-12
    )
    assert found.reject == int(found.p_value <= 0.2)


def test_t_cal_says_how_many_draws_it_needs():
    y, p = spread(15, 100)
    with pytest.raises(InputError, match=r"draws of t_cal must be at least 219 to reject at 0\.05 over 11"):
        metrics.t_cal(y, p, method="resampling", draws=100)
    assert metrics.t_cal(y, p, method="resampling", draws=219).levels == 11


def test_t_cal_refuses_what_it_cannot_draw():
    with pytest.raises(UndefinedMetricError, match="at least 2 rows"):
        metrics.t_cal([1], [0.5])
    with pytest.raises(InputError, match="sample weights"):
        metrics.t_cal([1, 0], [0.5, 0.5], method="resampling", sample_weight=[1, 2])


# neighbours


@every_case
@pytest.mark.parametrize("size", [None, 1, 2, 17, 1000])
def test_calbin_slides_a_window(case, size):
    y, p = (np.asarray(column) for column in case)
    n = len(y)
    s = min(n, max(1, n // 10) if size is None else size)
    order = np.argsort(p, kind="stable")
    shared = np.array([y[p == c].mean() for c in p])
    windows = [order[b : b + s] for b in range(n - s + 1)]
    point = np.mean([np.mean([abs(shared[rows].mean() - c) for c in p[rows]]) for rows in windows])
    mean = np.mean([abs(shared[rows].mean() - p[rows].mean()) for rows in windows])
    assert metrics.calbin(y, p, size=size) == pytest.approx(point, abs=1e-12)
    assert metrics.calbin(y, p, size=size, within="mean") == pytest.approx(mean, abs=1e-12)


@every_case
@pytest.mark.parametrize("k", [None, 1, 5, 1000])
def test_ece_knn_asks_the_nearest_rows(case, k):
    y, p = (np.asarray(column) for column in case)
    n = len(y)
    count = min(n - 1, max(1, math.isqrt(n)) if k is None else k)
    total = 0.0
    for i in range(n):
        others = sorted(abs(p[j] - p[i]) for j in range(n) if j != i)
        reach = others[count - 1] if count else 0.0
        rows = np.abs(p - p[i]) <= reach + 1e-12
        total += abs(y[rows].mean() - p[rows].mean())
    assert metrics.ece_knn(y, p, k=k) == pytest.approx(total / n, abs=1e-12)


# blends


@every_case
@pytest.mark.parametrize("beta", [0.0, 1.0, 2.5])
def test_hcs_is_a_harmonic_mean(case, beta):
    y, p = case
    accuracy = np.mean([(c >= 0.5) == (a == 1) for a, c in zip(y, p, strict=True)])
    trust = 1 - cell_error(y, p, equal_width(p, 10))
    below = beta * accuracy + trust
    expected = (1 + beta) * accuracy * trust / below if below > 1e-12 else 0.0
    assert metrics.hcs(y, p, beta=beta) == pytest.approx(expected, abs=1e-12)


def test_hcs_of_a_matrix_takes_its_top_label():
    y, p = classes(16)
    right = (p.argmax(axis=1) == y).astype(int)
    trust = 1 - cell_error(right, p.max(axis=1), equal_width(p.max(axis=1), 10))
    assert metrics.hcs(y, p) == pytest.approx(2 * right.mean() * trust / (right.mean() + trust), abs=1e-12)


def test_hcs_is_zero_when_all_is_wrong():
    assert metrics.hcs([0, 1], [1.0, 0.0]) == 0.0


@pytest.mark.parametrize("k", [2, 5])
def test_wcr_and_gebel_compare_whole_vectors(k):
    y, p = classes(17, k=k)
    guess, total = p.argmax(axis=1), 0.0
    for j, q in itertools.product(range(k), repeat=2):
        rows = [i for i in range(len(y)) if guess[i] == q]
        total += abs(np.mean([p[i, j] - float(y[i] == j) for i in rows])) if rows else 0.0
    brier = np.mean([(p[i, j] - float(y[i] == j)) ** 2 for i in range(len(y)) for j in range(k)])
    expected = 1 - total / k**2
    assert metrics.wcr(y, p) == pytest.approx(expected, abs=1e-12)
    assert metrics.gebel_cal(y, p) == pytest.approx(math.sqrt((1 - math.sqrt(brier)) * expected), abs=1e-12)
    if k == 2:
        assert metrics.wcr(y, p[:, 1]) == pytest.approx(expected, abs=1e-12)


def test_the_worst_model_has_the_least_wcr():
    assert metrics.wcr([1, 0], [0.0, 1.0]) == 0.0
    assert metrics.gebel_cal([1, 0], [0.0, 1.0]) == 0.0
    assert metrics.wcr([1], np.array([[1.0, 0.0, 0.0, 0.0]])) == pytest.approx(1 - 2 / 16)


def test_calibration_gain_is_the_fall_of_a_metric():
    y, p = spread(18)
    after = np.sqrt(p)
    assert metrics.calibration_gain(y, p, after=after) == metrics.ece(y, p) - metrics.ece(y, after)
    found = metrics.calibration_gain(y, p, after=after, metric="dpe", bins=4, sample_weight=np.arange(60))
    weight = {"bins": 4, "sample_weight": np.arange(60)}
    assert found == metrics.dpe(y, p, **weight) - metrics.dpe(y, after, **weight)
    found = metrics.calibration_gain(y, p, after=after, metric="fece", groups=np.arange(60) % 3)
    assert found == metrics.fece(y, p, groups=np.arange(60) % 3) - metrics.fece(y, after, groups=np.arange(60) % 3)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"metric": "wcr"}, "lower is better"),
        ({"metric": "hl"}, "number or a result"),
        ({"metric": "no_such"}, "no metric is called"),
        ({"after": [0.5]}, "shape of y_prob"),
        ({"after": [0.5, 1.5]}, r"\[0, 1\]"),
        ({"bins": 0}, "bins of ece"),
        ({"binz": 3}, "binz"),
    ],
)
def test_calibration_gain_refuses_what_it_cannot_compare(choices, message):
    with pytest.raises(InputError, match=message):
        metrics.calibration_gain([0, 1], [0.2, 0.7], **{"after": [0.3, 0.6]} | choices)


# ONTO


def naive_adaptive(p, bins):
    least = max(50, len(p) / (2 * bins))
    count = np.bincount(equal_width(p, bins), minlength=bins)
    groups, current = [], []
    for number in range(bins):
        current.append(number)
        if sum(count[i] for i in current) >= least:
            groups.append(current)
            current = []
    if groups:
        groups[-1] += current
    else:
        groups = [current]
    group_of = {number: g for g, members in enumerate(groups) for number in members}
    return [group_of[number] for number in equal_width(p, bins)]


@pytest.mark.parametrize("strategy", ["equal_width", "equal_mass", "adaptive"])
@pytest.mark.parametrize("bins", [None, 1, 4, 30])
@pytest.mark.parametrize("n", [1, 49, 130, 1500])
def test_onto_ece_follows_its_strategies(strategy, bins, n):
    y, p = spread(n, n)
    m = bins or {"equal_width": 10, "equal_mass": 15, "adaptive": 10}[strategy]
    index = {"equal_width": equal_width, "equal_mass": equal_mass, "adaptive": naive_adaptive}[strategy](p, m)
    found = cells(y, p, index)
    answer = metrics.onto_ece(y, p, strategy=strategy, bins=bins)
    assert answer.ece == pytest.approx(cell_error(y, p, index), abs=1e-12)
    assert answer.mce == pytest.approx(max(abs(a - c) for _, a, c in found), abs=1e-12)
    assert answer.bins == len(found)
    assert answer.parameters["strategy"] == strategy


def test_onto_ece_streams_unless_its_bins_depend_on_the_rows():
    recipe = metrics.onto_ece.reads
    assert recipe.streams
    assert recipe.choosing(strategy="adaptive").streams
    assert not recipe.choosing(strategy="equal_mass").streams


def test_ers_ece_agrees_with_the_example_of_the_standard():
    assert metrics.ers_ece([1, 0, 1, 0], [0.9, 0.9, 0.5, 0.5]) == pytest.approx(0.2, abs=1e-12)
    y, p = spread(20)
    assert metrics.ers_ece(y, p, bins=7) == metrics.ece(y, p, bins=7)
    with pytest.raises(InputError, match="binning"):
        metrics.ers_ece(y, p, binning="mass")


# weights


@pytest.mark.parametrize(
    "name", ["rice", "sice", "interval_ce", "cutoff_ce", "ece_avg", "sbece", "dece", "fce", "hl", "dpe"]
)
@pytest.mark.parametrize("tie", [False, True])
def test_whole_weights_count_as_copies(name, tie):
    y, p = tied(21) if tie else spread(21)
    weight = generator(22).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    metric = getattr(metrics, name)
    found, expected = metric(y, p, sample_weight=weight), metric(y[rows], p[rows])
    if name == "hl":
        found, expected = found.statistic, expected.statistic
    assert found == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("name", ["piece", "test_based_ce", "calbin", "ece_knn"])
def test_metrics_that_count_rows_refuse_weights(name):
    further = {"features": [1.0, 2.0]} if name == "piece" else {}
    with pytest.raises(InputError, match="takes no sample weights"):
        getattr(metrics, name)([0, 1], [0.2, 0.7], sample_weight=[1, 2], **further)


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        ("rice", {"k": -1}),
        ("rice", {"k": 0.5}),
        ("sice", {"epsilon": 0}),
        ("sice", {"epsilon": 2.1}),
        ("sbece", {"temperature": 0}),
        ("dece", {"norm": 0.5}),
        ("fce", {"bins": 0}),
        ("hcs", {"beta": -1}),
        ("onto_ece", {"bins": 0}),
        ("onto_ece", {"strategy": "width"}),
        ("calbin", {"size": 0}),
        ("ece_knn", {"k": 0}),
        ("l2_ece_ci", {"alpha": 1}),
        ("wsmcs", {"subset": "all"}),
    ],
)
def test_parameters_out_of_bounds_are_refused(name, choices):
    with pytest.raises(InputError, match=f"{next(iter(choices))} of {name}"):
        getattr(metrics, name)([0, 1], [0.2, 0.7], **choices)
