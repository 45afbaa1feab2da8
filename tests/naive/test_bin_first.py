"""The first half of the bin family against slow twins, written straight from the formulas with plain loops."""

import math
from fractions import Fraction

import numpy as np
import pytest

from epimeter import metrics
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.metrics.bin.staircase import Staircase, width_edges
from epimeter.summaries import Bins, Ordered
from epimeter.summaries.cuts import width_index
from epimeter.views import view

RNG = np.random.Generator(np.random.PCG64(20))


def sample(n, decimals=None, power=1.5):
    p = RNG.random(n)
    if decimals is not None:
        p = np.round(p, decimals)
    return (RNG.random(n) < p**power).astype(int), p


def matrix(n, k=3):
    p = RNG.dirichlet(np.linspace(1.5, 0.4, k), n)
    y = np.array([RNG.choice(k, p=(row + 1 / k) / 2) for row in p])
    return y, p


BINARY = [
    sample(120),
    sample(75, 1),
    sample(33, 2, 0.5),
    (np.array([1]), np.array([0.3])),
    (np.array([0, 1]), np.array([0.9, 0.2])),
    (np.array([1, 0, 1, 1]), np.array([0.5, 0.5, 0.5, 0.5])),
    (np.array([0, 1, 1, 0, 0]), np.array([0.0, 1.0, 1.0, 0.0, 1.0])),
    (np.zeros(9, int), np.linspace(0, 1, 9)),
]
MATRICES = [matrix(80), matrix(41, 5), matrix(30, 2), (np.array([2]), np.array([[0.2, 0.5, 0.3]]))]
ALL = BINARY + MATRICES


# --- the definitions -------------------------------------------------------------------------------------------------


def event(y, p):
    """A matrix as its top label."""
    if p.ndim == 1:
        return list(map(int, y)), list(map(float, p))
    top = [max(range(len(row)), key=lambda k: (row[k], -k)) for row in p.tolist()]
    return [int(t == label) for t, label in zip(top, y, strict=True)], [
        row[t] for row, t in zip(p.tolist(), top, strict=True)
    ]


def expanded(p):
    return np.column_stack([1 - p, p]) if p.ndim == 1 else p


def groups(p, bins, binning):
    """Rows of each bin; empty bins are left out."""
    if binning == "width":
        index = [min(math.floor(c * bins), bins - 1) for c in p]
    elif binning == "mass":
        group = [b for b, part in enumerate(np.array_split(np.arange(len(p)), bins)) for _ in part]
        below, upto = [sum(q < c for q in p) for c in p], [sum(q <= c for q in p) for c in p]
        index = [group[(s + e - 1) // 2] for s, e in zip(below, upto, strict=True)]
    else:
        level = sorted(set(p))
        count = [list(p).count(u) for u in level]
        g = [0.0]
        for j in range(len(level) - 1):
            g.append(g[-1] + math.sqrt((level[j + 1] - level[j]) * (count[j] + count[j + 1]) / 2))
        place = dict(zip(level, g, strict=True))
        index = [min(math.floor(bins * place[c] / g[-1] + 1e-9), bins - 1) if g[-1] else 0 for c in p]
    return [[i for i in range(len(p)) if index[i] == b] for b in range(bins) if b in index]


def mean(values):
    return math.fsum(values) / len(values)


def table(y, p, bins, binning):
    """(share, frequency, confidence, rows) of every filled bin."""
    return [
        (len(rows) / len(p), mean([y[i] for i in rows]), mean([p[i] for i in rows]), rows)
        for rows in groups(p, bins, binning)
    ]


def naive_lp(y, p, bins, binning, norm):
    y, p = event(y, p)
    gaps = [(share, abs(seen - said)) for share, seen, said, _ in table(y, p, bins, binning)]
    if math.isinf(norm):
        return max(gap for _, gap in gaps)
    return math.fsum(share * gap**norm for share, gap in gaps) ** (1 / norm)


def naive_class(y, p, k, bins, binning, norm=1):
    return naive_lp((np.asarray(y) == k).astype(int), p[:, k], bins, binning, norm)


def naive_ce2(y, p, bins, binning):
    return math.fsum(
        share * ((seen - said) ** 2 - seen * (1 - seen) / (len(rows) - 1))
        for share, seen, said, rows in table(y, p, bins, binning)
        if len(rows) >= 2
    )


def naive_monotone(y, p, bins, binning):
    heights = [Fraction(sum(y[i] for i in rows), len(rows)) for rows in groups(p, bins, binning)]
    return all(a <= b for a, b in zip(heights, heights[1:], strict=False))


def naive_sweep(y, p, binning):
    bins = 1
    while bins < len(p) and naive_monotone(y, p, bins + 1, binning):
        bins += 1
    return bins


def naive_bcs(y, p, binning, start, max_bins, min_count):
    low, high, t = 1, max(1, min(len(p) // min_count, len(set(p)), max_bins)), start
    while low < high:
        t = min(max(t, low + 1), high)
        if naive_monotone(y, p, t, binning):
            low, t = t, min(2 * t, t + (high - t) // 2)
        else:
            high = t - 1
            t = low + (high - low) // 2
    return low


def naive_partition(y, p, min_count):
    points = [[c] for c in p.tolist()] if p.ndim == 1 else p.tolist()
    hot = [[label] for label in y] if p.ndim == 1 else [[int(label == k) for k in range(p.shape[1])] for label in y]
    columns = range(len(points[0]))

    def distance(rows):
        gap = sum(abs(mean([hot[i][k] for i in rows]) - mean([points[i][k] for i in rows])) for k in columns)
        return len(rows) * (gap if p.ndim == 1 else gap / 2)

    def visit(rows):
        if len(rows) < min_count:
            return distance(rows)
        means = [mean([points[i][k] for i in rows]) for k in columns]
        spread = [mean([(points[i][k] - means[k]) ** 2 for i in rows]) for k in columns]
        cut = next(k for k in columns if spread[k] >= max(spread) - 1e-12)
        low = [i for i in rows if points[i][cut] < means[cut] - 1e-12]
        high = [i for i in rows if i not in set(low)]
        return visit(low) + visit(high) if low and high else distance(rows)

    return visit(list(range(len(points)))) / len(points)


def naive_map(y, p, bins, binning, slope):
    """Fit the roof on these rows and give it back as a function."""
    edges = []
    if binning == "mass" and p:
        parts = np.array_split(np.array(sorted(p)), min(bins, len(p)))
        edges = [part[0] for part in parts[1:]]

    def place(c):
        return min(math.floor(c * bins), bins - 1) if binning == "width" else sum(e <= c for e in edges)

    fitted = {}
    for b in {place(c) for c in p}:
        rows = [i for i in range(len(p)) if place(p[i]) == b]
        fitted[b] = mean([y[i] for i in rows]), mean([p[i] for i in rows])

    def roof(c):
        if place(c) not in fitted:
            return c
        seen, said = fitted[place(c)]
        return seen + slope * (c - said)

    return roof


def naive_fott(y, p, bins, binning, slope, norm, folds, max_bins):
    n = len(p)
    if bins == "cv":
        count = min(folds, n)
        losses = []
        for b in range(1, max_bins + 1):
            loss = 0.0
            for f in range(count):
                train = [i for i in range(n) if i % count != f]
                test = [i for i in range(n) if i % count == f]
                roof = naive_map([y[i] for i in train], [p[i] for i in train], b, binning, slope)
                loss += mean([(roof(p[i]) - y[i]) ** 2 for i in test])
            losses.append(loss / count)
        bins = next(b for b, loss in enumerate(losses, 1) if loss <= min(losses) + 1e-12)
    roof = naive_map(y, p, bins, binning, slope)
    return mean([abs(roof(c) - c) ** norm for c in p]), bins


def close(found, expected):
    assert float(found) == pytest.approx(expected, rel=1e-9, abs=1e-12)


# --- fast against slow -----------------------------------------------------------------------------------------------

data = pytest.mark.parametrize(("y", "p"), ALL)
binary = pytest.mark.parametrize(("y", "p"), BINARY)
cuts = pytest.mark.parametrize(
    ("bins", "binning"), [(10, "width"), (7, "mass"), (4, "area"), (1, "width"), (200, "mass")]
)


@data
@cuts
@pytest.mark.parametrize("norm", [1, 2, 3.5, math.inf])
def test_lp_ce_is_the_power_mean_of_the_gaps(y, p, bins, binning, norm):
    close(metrics.lp_ce(y, p, bins=bins, binning=binning, norm=norm), naive_lp(y, p, bins, binning, norm))
    classes = expanded(p)
    close(metrics.top_label_ce(y, p, bins=bins, binning=binning, norm=norm), naive_lp(y, classes, bins, binning, norm))


@data
@cuts
def test_errors_of_the_gaps_alone_agree(y, p, bins, binning):
    close(metrics.mce(y, p, bins=bins, binning=binning), naive_lp(y, p, bins, binning, math.inf))
    yes, said = event(y, p)
    rows = table(yes, said, bins, binning)
    found = metrics.abc(y, p, bins=bins, binning=binning)
    close(found.above, sum(share * max(0, seen - c) for share, seen, c, _ in rows))
    close(found.below, sum(share * max(0, c - seen) for share, seen, c, _ in rows))
    close(found.total, metrics.ece(y, p, bins=bins, binning=binning))
    close(found.headline, found.total)
    smbs = mean([(yes[i] - c) ** 2 for _, _, c, part in rows for i in part])
    close(metrics.smbs(y, p, bins=bins, binning=binning), smbs)
    close(metrics.ce2_db(y, p, bins=bins, binning=binning), naive_ce2(yes, said, bins, binning))
    # Squares are compared: the root of a rounding error is not small.
    close(metrics.drmsce(y, p, bins=bins, binning=binning) ** 2, max(0, naive_ce2(yes, said, bins, binning)))
    if binning == "area":
        close(metrics.ece_ea(y, p, bins=bins), naive_lp(y, p, bins, "area", 1))


@data
@cuts
@pytest.mark.parametrize("norm", [1, 2, 40, math.inf])
def test_ece_lb_holds_every_confidence_against_the_frequency_of_its_bin(y, p, bins, binning, norm):
    yes, said = event(y, p)
    distance = [abs(seen - said[i]) for _, seen, _, rows in table(yes, said, bins, binning) for i in rows]
    expected = max(distance) if math.isinf(norm) else mean([d**norm for d in distance]) ** (1 / norm)
    close(metrics.ece_lb(y, p, bins=bins, binning=binning, norm=norm), expected)
    assert expected >= metrics.lp_ce(y, p, bins=bins, binning=binning, norm=norm) - 1e-12


@data
@cuts
def test_classes_against_the_rest_agree(y, p, bins, binning):
    q = expanded(p)
    errors = [naive_class(y, q, k, bins, binning) for k in range(q.shape[1])]
    counts = [list(y).count(k) / len(y) for k in range(q.shape[1])]
    chosen = {"bins": bins, "binning": binning}
    close(metrics.classwise_ece(y, p, **chosen), mean(errors))
    close(metrics.wsece(y, p, **chosen), sum(c * e for c, e in zip(counts, errors, strict=True)))
    close(metrics.cece(y, p, **chosen), sum(e * e for e in errors) / sum(errors) if sum(errors) else 0.0)
    for norm in (1, 2, math.inf):
        inner = [naive_class(y, q, k, bins, binning, norm) for k in range(q.shape[1])]
        weights = [1 / len(inner)] * len(inner)
        close(metrics.marginal_ce(y, p, norm=norm, root="inner", **chosen), mean(inner))
        uneven = [0.0, *([2.0] * (len(inner) - 1))]
        for given, used in ((None, weights), (uneven, uneven)):
            if math.isinf(norm):
                outer = max(e for e, w in zip(inner, used, strict=True) if w)
            else:
                outer = sum(w * e**norm for w, e in zip(used, inner, strict=True)) ** (1 / norm)
            close(metrics.marginal_ce(y, p, norm=norm, weights=given, **chosen), outer)
    squares = [max(0, naive_ce2([int(v == k) for v in y], list(q[:, k]), bins, binning)) for k in range(q.shape[1])]
    close(metrics.drmsce(y, p, mode="classwise", **chosen) ** 2, mean(squares))


@data
@pytest.mark.parametrize("bins", [1, 6, 100])
def test_ace_and_tace_cut_equal_counts(y, p, bins):
    problems = [(y, p)] if p.ndim == 1 else [((y == k).astype(int), p[:, k]) for k in range(p.shape[1])]
    for norm in (1, 2, math.inf):
        close(metrics.ace(y, p, bins=bins, norm=norm), mean([naive_lp(a, b, bins, "mass", norm) for a, b in problems]))
    for threshold in (0, 0.01, 0.3, 0.99, 1):
        errors = [
            naive_lp(a[b > threshold], b[b > threshold], bins, "mass", 1) if (b > threshold).any() else 0.0
            for a, b in problems
        ]
        close(metrics.tace(y, p, bins=bins, threshold=threshold), mean(errors))


def naive_at_k(y, p, k, bins, binning):
    k = min(k, len(p))
    rows = [i for i in range(len(p)) if p[i] >= sorted(p)[-k]]
    bins = max(1, math.floor(math.log10(k) + 1e-12)) if bins is None else bins
    return naive_lp(np.array([y[i] for i in rows]), np.array([p[i] for i in rows]), bins, binning, 1)


@data
@pytest.mark.parametrize(("bins", "binning"), [(None, "mass"), (3, "mass"), (5, "width"), (2, "area")])
def test_the_most_confident_rows_are_measured_as_by_sorting_all(y, p, bins, binning):
    yes, said = event(y, p)
    chosen = {"bins": bins, "binning": binning}
    for k in (1, 2, 10, 57, 100, 1000):
        close(metrics.ece_at_k(y, p, k=k, **chosen), naive_at_k(yes, said, k, **chosen))
    for limit, steps in ((100, 10), (1, 3), (50, 7), (5, 20)):
        last = min(limit, len(said))
        places = {j * last // steps for j in range(1, steps + 1)} - {0}
        expected = mean([naive_at_k(yes, said, k, **chosen) for k in places])
        close(metrics.avg_ece_at_l(y, p, limit=limit, steps=steps, **chosen), expected)


@data
@cuts
def test_the_line_area_is_that_of_many_thin_strips(y, p, bins, binning):
    yes, said = event(y, p)
    rows = table(yes, said, bins, binning)
    x, r = [c for _, _, c, _ in rows], [seen for _, seen, _, _ in rows]
    found = metrics.abc(y, p, bins=bins, binning=binning, measure="line")
    above = below = 0.0
    for left, right, low, high in zip(x, x[1:], r, r[1:], strict=False):
        t = (np.arange(4000) + 0.5) / 4000
        gap = (low + t * (high - low)) - (left + t * (right - left))
        above += (right - left) * np.maximum(gap, 0).mean()
        below += (right - left) * np.maximum(-gap, 0).mean()
    assert found.above == pytest.approx(above, abs=1e-6)
    assert found.below == pytest.approx(below, abs=1e-6)
    close(found.total, found.above + found.below)


@data
@cuts
def test_imbalanced_ce_weighs_by_a_power_of_the_share(y, p, bins, binning):
    k = 2 if p.ndim == 1 else p.shape[1]
    shares = [list(y).count(c) / len(y) for c in range(k)]
    alpha = -sum(g * math.log(g) for g in shares if g) / math.log(k)
    rows = table(*event(y, p), bins, binning)
    expected = sum(s**alpha * abs(a - c) for s, a, c, _ in rows) / sum(s**alpha for s, *_ in rows)
    close(metrics.imbalanced_ce(y, p, bins=bins, binning=binning), expected)


@data
@pytest.mark.parametrize("min_count", [1, 5, 10])
def test_rbece_averages_the_bins_with_enough_rows(y, p, min_count):
    rows = [abs(a - c) for _, a, c, part in table(*event(y, p), 10, "width") if len(part) >= min_count]
    if rows:
        close(metrics.rbece(y, p, min_count=min_count), mean(rows))
    else:
        with pytest.raises(UndefinedMetricError, match="needs a bin with at least"):
            metrics.rbece(y, p, min_count=min_count)


@data
@pytest.mark.parametrize("binning", ["mass", "width"])
def test_the_sweep_stops_before_the_first_fall(y, p, binning):
    yes, said = event(y, p)
    bins = naive_sweep(yes, said, binning)
    for norm in (1, 2):
        found = metrics.ece_sweep(y, p, binning=binning, norm=norm)
        assert found.bins == bins
        close(found.value, naive_lp(y, p, bins, binning, norm))


@pytest.mark.parametrize("binning", ["mass", "width"])
def test_every_number_of_bins_is_judged_as_with_fractions(binning):
    for n, decimals, power in ((60, None, 1.0), (60, 1, 4.0), (40, None, 12.0), (50, 2, 6.0)):
        y, p = sample(n, decimals, power)
        p = p**2 if decimals is None else p
        stairs = Staircase.of(Ordered().of(view(y, p)), binning)
        # Separated data have many monotone numbers of bins: swap a few outcomes near the border only.
        apart = (p > 0.5).astype(int)
        near = np.argsort(np.abs(p - 0.5))[:6]
        apart[near] = 1 - apart[near]
        border = Staircase.of(Ordered().of(view(apart, p)), binning)
        for bins in range(1, n + 1):
            assert stairs.monotone(bins) == naive_monotone(list(y), list(p), bins, binning)
            assert border.monotone(bins) == naive_monotone(list(apart), list(p), bins, binning)


def test_the_sweep_over_separated_or_constant_outcomes_takes_a_bin_a_row_at_once():
    p = np.linspace(0, 1, 20_000)
    for y in ((p > 0.4).astype(int), np.ones(len(p), int)):
        for binning in ("mass", "width"):
            assert metrics.ece_sweep(y, p, binning=binning).bins == len(p)


@data
@pytest.mark.parametrize("binning", ["mass", "width"])
@pytest.mark.parametrize(("start", "max_bins", "min_count"), [(10, 100, 10), (15, 40, 4), (1, 7, 1), (500, 30, 2)])
def test_the_bin_count_search_follows_the_printed_steps(y, p, binning, start, max_bins, min_count):
    yes, said = event(y, p)
    choices = {"start": start, "max_bins": max_bins, "min_count": min_count}
    bins = naive_bcs(yes, said, binning, **choices)
    assert metrics.bcs(y, p, binning=binning, **choices) == bins
    found = metrics.drmsce_bcs(y, p, binning=binning, **choices)
    assert found.bins == bins
    close(found.value**2, max(0, naive_ce2(yes, said, bins, binning)))


@pytest.mark.parametrize("bins", [1, 3, 7, 10, 15, 100, 1021, 76800])
def test_width_edges_are_the_first_doubles_of_their_bins(bins):
    number = np.arange(1, bins)
    edge = width_edges(number, bins)
    assert (width_index(edge, bins) == number).all()
    assert (width_index(np.nextafter(edge, 0), bins) == number - 1).all()


@data
@cuts
def test_ece_db_uses_the_mean_of_the_folded_normal(y, p, bins, binning):
    step = np.linspace(-9, 9, 20_001)
    density = np.exp(-(step**2) / 2)
    expected = 0.0
    for share, seen, said, rows in table(*event(y, p), bins, binning):
        spread = math.sqrt(seen * (1 - seen) / len(rows))
        folded = np.sum(np.abs(seen - said + spread * step) * density) / density.sum()
        expected += share * (2 * abs(seen - said) - folded)
    assert metrics.ece_db(y, p, bins=bins, binning=binning) == pytest.approx(expected, abs=1e-6)


@data
@pytest.mark.parametrize("min_count", [1, 8, 30, 1000])
def test_the_partition_is_that_of_the_recursion(y, p, min_count):
    close(metrics.mvms_ece(y, p, min_count=min_count), naive_partition(y, p, min_count))


@data
@pytest.mark.parametrize("bins", [None, 1, 12])
@pytest.mark.parametrize("aggregate", ["max", "mean"])
@pytest.mark.parametrize("slack", [True, False])
def test_dce_is_the_error_of_the_rounded_forecast_and_the_cost_of_rounding(y, p, bins, aggregate, slack):
    yes, said = event(y, p)
    number = bins or next(b for b in range(1, 100) if b**3 >= len(said))
    value = 0.0
    for _, _, average, rows in table(yes, said, number, "width"):
        v = max(said[i] for i in rows) if aggregate == "max" else average
        value += abs(sum(yes[i] - v for i in rows)) + slack * sum(abs(said[i] - v) for i in rows)
    close(metrics.dce(y, p, bins=bins, aggregate=aggregate, slack=slack), value / len(said))
    if aggregate == "mean" and not slack:
        close(value / len(said), metrics.ece(y, p, bins=number))


FOTT_DATA = [BINARY[1], BINARY[2], *BINARY[3:], MATRICES[1], MATRICES[3]]


@pytest.mark.parametrize(("y", "p"), FOTT_DATA)
@pytest.mark.parametrize("binning", ["mass", "width"])
@pytest.mark.parametrize(
    ("slope", "norm", "folds", "max_bins"), [(1, 1, 10, 12), (0, 2, 5, 9), (0.5, 1.5, 3, 6), (1, 1, 1, 4)]
)
def test_the_roof_is_fitted_and_chosen_as_with_plain_loops(y, p, binning, slope, norm, folds, max_bins):
    yes, said = event(y, p)
    for bins in ("cv", 1, 6, 300):
        choices = {"bins": bins, "binning": binning, "slope": slope, "norm": norm, "folds": folds, "max_bins": max_bins}
        found = metrics.ece_fott(y, p, **choices)
        value, count = naive_fott(yes, said, **choices)
        assert found.bins == count
        close(found.value, value)


# --- weights ---------------------------------------------------------------------------------------------------------

WEIGHTED = [
    ("lp_ce", {"binning": "area"}),
    ("lp_ce", {"binning": "mass", "norm": 3}),
    ("top_label_ce", {"binning": "mass"}),
    ("marginal_ce", {"binning": "area", "bins": 4}),
    ("ace", {"norm": 2}),
    ("tace", {"threshold": 0.4}),
    ("ece_ea", {"bins": 5}),
    ("ece_at_k", {"k": 37, "bins": 3}),
    ("ece_at_k", {"k": 37, "bins": 3, "binning": "area"}),
    ("avg_ece_at_l", {"limit": 61, "steps": 4}),
    ("abc", {"measure": "line", "binning": "mass"}),
    ("imbalanced_ce", {"binning": "mass"}),
    ("ece_lb", {"binning": "mass", "norm": 2}),
    ("ece_sweep", {"binning": "width"}),
    ("ece_sweep", {"binning": "mass"}),
    ("bcs", {"min_count": 2}),
    ("drmsce_bcs", {"binning": "width", "min_count": 1}),
    ("mvms_ece", {"min_count": 20}),
    ("dce", {"aggregate": "mean"}),
    ("dce", {"bins": 7}),
]


@pytest.mark.parametrize(("name", "choices"), WEIGHTED)
def test_a_whole_weight_is_that_many_copies_under_other_parameters_too(name, choices):
    function = getattr(metrics, name)
    for y, p in (BINARY[0], BINARY[1], MATRICES[0]):
        weight = RNG.integers(0, 4, len(y))
        copies = np.repeat(np.arange(len(y)), weight)
        weighted, repeated = function(y, p, sample_weight=weight, **choices), function(y[copies], p[copies], **choices)
        if hasattr(weighted, "to_dict"):
            for field, value in repeated.to_dict().items():
                close(weighted[field], value)
        else:
            close(weighted, float(repeated))


@pytest.mark.parametrize(
    "name", ["lp_ce", "wsece", "cece", "mce", "imbalanced_ce", "ece_lb", "smbs", "ace", "tace", "ece_ea"]
)
def test_errors_of_shares_do_not_depend_on_the_unit_of_the_weights(name):
    function = getattr(metrics, name)
    for y, p in (BINARY[0], MATRICES[0]):
        weight = RNG.random(len(y))
        close(function(y, p, sample_weight=weight), float(function(y, p, sample_weight=weight * 37.5)))


@pytest.mark.parametrize("binning", ["mass", "width"])
def test_the_heights_of_fractional_weights_are_those_of_the_bins(binning):
    for n, power in ((50, 1.0), (50, 8.0)):
        y, p = sample(n, None, power)
        rows = view(y, p, sample_weight=RNG.random(n) * 2)
        stairs = Staircase.of(Ordered().of(rows), binning)
        for bins in range(1, n):
            totals = Bins(bins, binning).of(rows)
            height = totals.frequency[totals.size > 1e-12]
            assert stairs.monotone(bins) == bool((np.diff(height) >= -1e-9).all())


@pytest.mark.parametrize("name", ["ece_sweep", "drmsce_bcs", "ce2_db", "ece_db", "dce", "mvms_ece"])
def test_weights_near_whole_ones_give_nearly_the_same_over_bins_of_fixed_width(name):
    y, p = BINARY[0]
    weight = RNG.integers(1, 4, len(y)).astype(float)
    function = getattr(metrics, name)
    choices = {} if name in ("dce", "mvms_ece") else {"binning": "width"}
    left, right = (function(y, p, sample_weight=w, **choices) for w in (weight, weight + 1e-11))
    assert float(getattr(left, "value", left)) == pytest.approx(float(getattr(right, "value", right)), abs=1e-6)


# --- refusals and corners --------------------------------------------------------------------------------------------


def test_a_norm_below_one_is_refused():
    for name in ("lp_ce", "top_label_ce", "marginal_ce", "ace", "ece_lb", "ece_sweep", "ece_fott"):
        with pytest.raises(InputError, match=r"norm of .* must be (at least 1|in \[1, inf\))"):
            getattr(metrics, name)([0, 1], [0.2, 0.7], norm=0.5)


def test_a_high_norm_does_not_underflow():
    y, p = BINARY[0]
    assert metrics.lp_ce(y, p, norm=5000) == pytest.approx(metrics.mce(y, p), rel=1e-2)
    assert metrics.ece_lb(y, p, norm=5000) == pytest.approx(metrics.ece_lb(y, p, norm=math.inf), rel=1e-2)


def test_class_weights_must_be_one_a_class_and_not_negative():
    y, p = MATRICES[0]
    for bad in ([1, 1], [1, -1, 1], [1, math.nan, 1], "abc", 3, [[1, 1, 1]]):
        with pytest.raises(InputError, match="weights must"):
            metrics.marginal_ce(y, p, weights=bad)
    assert metrics.marginal_ce(y, p, weights=np.zeros(3)) == 0


def test_counts_below_one_are_refused():
    y, p = BINARY[0]
    for name, choices in (
        ("ece_at_k", {"k": 0}),
        ("ece_at_k", {"bins": 0}),
        ("avg_ece_at_l", {"steps": 0}),
        ("bcs", {"start": 0}),
        ("rbece", {"min_count": 0}),
        ("mvms_ece", {"min_count": 0}),
        ("dce", {"bins": 0}),
        ("ece_fott", {"bins": 0}),
        ("ece_fott", {"folds": 0}),
    ):
        with pytest.raises(InputError, match=r"must be (at least 1|in \[1, 1000000\])"):
            getattr(metrics, name)(y, p, **choices)


def test_words_that_a_metric_does_not_know_are_refused():
    for name, choices in (
        ("ece_sweep", {"binning": "area"}),
        ("ece_fott", {"bins": "many"}),
        ("drmsce", {"mode": "all"}),
        ("abc", {"measure": "bars"}),
        ("marginal_ce", {"root": "none"}),
    ):
        with pytest.raises(InputError, match="must be one of"):
            getattr(metrics, name)([0, 1], [0.2, 0.7], **choices)


def test_fixed_cuts_are_no_parameter():
    for name in ("ace", "tace", "ece_ea"):
        with pytest.raises(InputError, match="no parameter 'binning'"):
            getattr(metrics, name)([0, 1], [0.2, 0.7], binning="width")


def test_rows_of_weight_zero_are_no_rows():
    y, p = [1, 0, 1, 0], [0.3, 0.99, 0.6, 0.2]
    for name in ("dce", "tace", "ece_at_k", "ece_ea", "ece_lb", "mvms_ece", "ece_sweep", "bcs", "lp_ce"):
        function = getattr(metrics, name)
        left = function(y, p, sample_weight=[1, 0, 1, 1])
        right = function([1, 1, 0], [0.3, 0.6, 0.2])
        close(getattr(left, "value", left), float(getattr(right, "value", right)))
    assert metrics.tace([1, 0], [0.9, 0.005], sample_weight=[0, 1]) == 0


def test_avg_ece_at_l_needs_a_whole_row():
    with pytest.raises(UndefinedMetricError, match="total weight of at least 1"):
        metrics.avg_ece_at_l([1], [0.5], sample_weight=[0.5])


def test_a_fitted_roof_takes_no_weights():
    with pytest.raises(InputError, match="takes no sample weights"):
        metrics.ece_fott([0, 1], [0.2, 0.7], sample_weight=[1, 2])


def test_the_folds_follow_the_order_of_the_rows_and_a_given_count_does_not():
    y, p = BINARY[0]
    turned = RNG.permutation(len(y))
    close(metrics.ece_fott(y[turned], p[turned], bins=9).value, metrics.ece_fott(y, p, bins=9).value)


def test_one_distinct_confidence_is_one_bin_of_equal_area():
    close(metrics.ece_ea([1, 0, 1, 1], [0.5] * 4), 0.25)


def test_the_number_of_bins_comes_back_as_a_whole_number():
    y, p = BINARY[0]
    assert isinstance(metrics.ece_sweep(y, p).bins, int)
    assert isinstance(metrics.ece_fott(y, p).bins, int)
    assert isinstance(metrics.drmsce_bcs(y, p).bins, int)
    assert metrics.bcs(y, p).is_integer()


def test_imbalanced_totals_merge():
    recipe = metrics.imbalanced_ce.reads
    for y, p in (BINARY[0], MATRICES[0]):
        whole, left, right = view(y, p), view(y[:20], p[:20]), view(y[20:], p[20:])
        joined = recipe.summarise(left).merge(recipe.summarise(right))
        assert metrics.imbalanced_ce.compute(joined) == metrics.imbalanced_ce.compute(recipe.summarise(whole))


@pytest.mark.parametrize("binning", ["width", "mass", "area"])
def test_no_error_is_above_1_when_all_are_sure_and_wrong(binning):
    for n in range(1, 120):
        y, p = np.zeros(n, int), np.ones(n)
        assert metrics.ece(y, p, binning=binning) == 1.0
        for norm in (1, 1.5, 2, 7):
            assert metrics.lp_ce(y, p, binning=binning, norm=norm) <= 1.0
