"""Curves against their definitions in plain loops, and figures by what is in them."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from epimeter import draw, metrics
from epimeter.cli import main
from epimeter.cli.draw import NOUNS
from epimeter.draw.bands import clopper_pearson, wilson
from epimeter.draw.canvas import amount, number, thinned
from epimeter.draw.triangle import cell_of
from epimeter.draw.walk import largest_excursion
from epimeter.errors import InputError, MissingExtraError
from epimeter.views import view


def sample(n, seed=0, levels=None):
    rng = np.random.default_rng(seed)
    prob = rng.random(n) if levels is None else rng.choice(levels, n)
    return (rng.random(n) < prob**1.5).astype(int), prob


def three_classes(n, seed=0):
    rng = np.random.default_rng(seed)
    prob = rng.dirichlet([0.7] * 3, n)
    return np.array([rng.choice(3, p=row) for row in prob**0.8 / (prob**0.8).sum(1, keepdims=True)]), prob


BINARY = sample(60)
SMALL = {
    "twenty rows": sample(20, 1),
    "one row": ([1], [0.7]),
    "ties only": sample(60, 2, [0.0, 0.5, 0.9, 1.0]),
    "all certain and right": ([1] * 30, [1.0] * 30),
    "all certain, half right": ([0, 1] * 15, [1.0] * 30),
    "all zero": ([0, 0, 1], [0.0, 0.0, 0.0]),
    "single precision": (BINARY[0], BINARY[1].astype(np.float32)),
    "three classes": three_classes(60),
}


def columns_for(noun):
    return three_classes(60) if noun == "simplex" else BINARY


# Reliability curves


def naive_bins(true, prob, edges):
    """Rows of each bin [a, b), the last closed."""
    last = len(edges) - 2
    return [
        [
            (t, p)
            for t, p in zip(true, prob, strict=True)
            if edges[b] <= p < edges[b + 1] or (b == last and p == edges[b + 1])
        ]
        for b in range(last + 1)
    ]


@pytest.mark.parametrize("edges", [[0, 0.25, 0.5, 0.75, 1], [0, 0.1, 0.9, 1], [-0.5, 2]])
def test_a_bin_stands_at_its_mean_confidence_with_its_frequency(edges):
    true, prob = sample(60, 3)
    curve = draw.reliability_curve(true, prob, edges=edges)
    for b, rows in enumerate(naive_bins(true, prob, edges)):
        assert curve.count[b] == len(rows)
        assert curve.confidence[b] == pytest.approx(sum(p for _, p in rows) / len(rows), abs=1e-12)
        assert curve.frequency[b] == pytest.approx(sum(t for t, _ in rows) / len(rows))
        exact = stats.binomtest(sum(int(t) for t, _ in rows), len(rows)).proportion_ci(0.95, method="exact")
        assert (curve.low[b], curve.high[b]) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_four_equal_bins_are_the_bins_between_their_edges():
    true, prob = sample(60, 3)
    width = draw.reliability_curve(true, prob, bins=4)
    given = draw.reliability_curve(true, prob, edges=[0, 0.25, 0.5, 0.75, 1])
    for name in ("edges", "count", "confidence", "frequency", "low", "high"):
        np.testing.assert_array_equal(getattr(width, name), getattr(given, name))


@pytest.mark.parametrize("binning", ["width", "mass", "area"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_curve_is_summed_up_by_ece(binning, weighted):
    true, prob = sample(80, 4)
    weight = np.random.default_rng(5).random(80) if weighted else None
    curve = draw.reliability_curve(true, prob, bins=7, binning=binning, sample_weight=weight)
    expected = metrics.ece(true, prob, bins=7, binning=binning, sample_weight=weight)
    assert curve.value == expected
    some = curve.count > 0
    gap = np.abs(curve.confidence - curve.frequency)[some]
    assert curve.weight[some] @ gap / curve.weight.sum() == pytest.approx(expected, abs=1e-12)
    assert curve.edges[0] == 0
    assert curve.edges[-1] == 1
    assert (np.diff(curve.edges) >= 0).all()


def test_levels_have_a_bin_each():
    levels = [0.5, np.nextafter(0.5, 1), 0.9, 1.0]
    true, prob = sample(60, 2, levels)
    curve = draw.reliability_curve(true, prob, binning="level")
    assert curve.confidence.tolist() == pytest.approx(levels, abs=1e-12)
    assert curve.count.tolist() == [int((prob == level).sum()) for level in levels]
    assert curve.frequency.tolist() == pytest.approx([true[prob == level].mean() for level in levels])


def test_empty_bins_are_kept_and_have_no_numbers():
    curve = draw.reliability_curve([0, 1], [0.05, 0.95], bins=10)
    assert curve.count.tolist() == [1, *[0] * 8, 1]
    assert np.isnan(curve.frequency[1:9]).all()
    assert np.isnan(curve.low[1:9]).all()
    assert curve.to_dict()["frequency"][4] is None


def test_rows_of_weight_zero_leave_no_trace():
    true, prob = sample(50, 6)
    weight = np.r_[np.ones(40), np.zeros(10)]
    for noun, (compute, _) in draw.CURVES.items():
        if noun in ("simplex", "roof"):
            continue
        with_zeros = compute(true, prob, sample_weight=weight).to_dict()
        without = compute(true[:40], prob[:40], sample_weight=weight[:40]).to_dict()
        assert with_zeros == without


def test_weighted_intervals_are_wilsons_at_the_effective_number_of_rows():
    true, prob = sample(50, 7)
    weight = np.random.default_rng(8).random(50) + 0.1
    curve = draw.reliability_curve(true, prob, bins=2, sample_weight=weight)
    for b in range(2):
        inside = (prob * 2).astype(int) == b
        n = weight[inside].sum() ** 2 / (weight[inside] ** 2).sum()
        f, z = np.average(true[inside], weights=weight[inside]), stats.norm.ppf(0.975)
        # The ends solve |x - f| = z sqrt(x (1 - x) / n).
        for end in (curve.low[b], curve.high[b]):
            assert abs(end - f) == pytest.approx(z * math.sqrt(end * (1 - end) / n), abs=1e-9)
        assert curve.low[b] < f < curve.high[b]
    assert "Wilson" in curve.interval


def test_clopper_pearson_leaves_the_tails_it_promises():
    for n in (1, 5, 40):
        for k in range(n + 1):
            low, high = (float(x[0]) for x in clopper_pearson(np.array([float(k)]), np.array([float(n)]), 0.9))
            assert stats.binom.sf(k - 1, n, low) == pytest.approx(0.05 if k else 1.0)
            assert stats.binom.cdf(k, n, high) == pytest.approx(0.05 if k < n else 1.0)


def test_wilson_ends_at_the_rim():
    low, high = wilson(np.array([0.0, 1.0, 0.5]), np.array([7.0, 7.0, 0.0]), 0.95)
    assert low[0] == 0
    assert high[1] == 1
    assert np.isnan([low[2], high[2]]).all()


@pytest.mark.parametrize("binning", ["width", "mass", "level"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_consistency_band_holds_the_curves_of_redrawn_labels(binning, weighted):
    true, prob = sample(40, 9, [0.1, 0.3, 0.5, 0.9])
    weight = np.random.default_rng(10).integers(1, 4, 40) if weighted else None
    curve = draw.reliability_curve(
        true, prob, bins=3, binning=binning, draws=39, seed=5, level=0.9, sample_weight=weight
    )
    uniform = np.random.Generator(np.random.PCG64(5)).random((39, 40))
    drawn = [
        draw.reliability_curve((row < prob).astype(int), prob, bins=3, binning=binning, sample_weight=weight).frequency
        for row in uniform
    ]
    ordered = np.sort(drawn, axis=0)
    # 90 % of 39 draws: the second smallest and the second largest, floor(0.05 * 40) = 2.
    np.testing.assert_allclose(curve.band_low, ordered[1], atol=1e-12)
    np.testing.assert_allclose(curve.band_high, ordered[-2], atol=1e-12)


def test_too_few_draws_make_no_band():
    with pytest.raises(InputError, match="draws must be at least 39"):
        draw.reliability_curve(*BINARY, draws=20)


def test_classwise_curves_are_the_curves_of_each_class():
    true, prob = three_classes(80)
    weight = np.random.default_rng(1).random(80)
    for given in (None, weight):
        curve = draw.classwise_curve(true, prob, bins=5, sample_weight=given)
        for k in range(3):
            one = draw.reliability_curve((true == k).astype(int), prob[:, k], bins=5, sample_weight=given)
            for name in ("count", "weight", "confidence", "frequency", "low", "high"):
                np.testing.assert_allclose(getattr(curve, name)[k], getattr(one, name), atol=1e-12)
            assert curve.errors[k] == pytest.approx(one.value)
        assert curve.value == metrics.classwise_ece(true, prob, bins=5, sample_weight=given)


# Curves without bins


def naive_isotonic(prob, true, weight):
    """The isotonic fit by its minimax formula, at each distinct confidence."""
    levels = sorted(set(prob))
    w = [sum(wi for p, wi in zip(prob, weight, strict=True) if p == level) for level in levels]
    s = [sum(wi * t for p, t, wi in zip(prob, true, weight, strict=True) if p == level) for level in levels]
    n = len(levels)
    return levels, [
        max(min(sum(s[i : j + 1]) / sum(w[i : j + 1]) for j in range(k, n)) for i in range(k + 1)) for k in range(n)
    ]


@pytest.mark.parametrize("levels", [None, [0.1, 0.2, 0.5, 0.8]])
def test_the_isotonic_curve_is_the_nearest_growing_map(levels):
    true, prob = sample(40, 11, levels)
    weight = np.random.default_rng(12).integers(1, 4, 40).astype(float)
    curve = draw.isotonic_curve(true, prob, sample_weight=weight, draws=0)
    at, fit = naive_isotonic(prob, true, weight)
    block = np.searchsorted(curve.last, at)
    assert (curve.first[block] <= at).all()
    np.testing.assert_allclose(curve.frequency[block], fit, atol=1e-12)
    assert (np.diff(curve.frequency) > 0).all()
    assert curve.weight.sum() == weight.sum()
    assert curve.band_at is None
    assert curve.score == pytest.approx(curve.mcb - curve.dsc + curve.unc)
    assert curve.score == pytest.approx(metrics.brier_score(true, prob, sample_weight=weight))


@pytest.mark.parametrize("band", ["consistency", "confidence"])
def test_the_isotonic_band_holds_the_curves_of_redrawn_labels(band):
    true, prob = sample(30, 13)
    curve = draw.isotonic_curve(true, prob, band=band, draws=39, level=0.9, seed=3)
    at, fit = naive_isotonic(prob, true, np.ones(30))
    said = prob if band == "consistency" else np.asarray(fit)[np.searchsorted(at, prob)]
    uniform = np.random.Generator(np.random.PCG64(3)).random((39, 30))
    drawn = np.sort([naive_isotonic(prob, row < said, np.ones(30))[1] for row in uniform], axis=0)
    np.testing.assert_array_equal(curve.band_at, at)
    np.testing.assert_allclose(curve.band_low, drawn[1], atol=1e-12)
    np.testing.assert_allclose(curve.band_high, drawn[-2], atol=1e-12)


def naive_differences(prob, true, weight):
    """Running sums over the distinct confidences, and the variance up to each."""
    total, running, passed = sum(weight), 0.0, 0.0
    for level in sorted(set(prob)):
        inside = [(t, w) for p, t, w in zip(prob, true, weight, strict=True) if p == level]
        running += sum(w * (t - level) for t, w in inside) / total
        passed += sum(w**2 for _, w in inside) * level * (1 - level) / total**2
        share = sum(w for p, w in zip(prob, weight, strict=True) if p <= level) / total
        yield share, level, running, passed


@pytest.mark.parametrize("levels", [None, [0.1, 0.5, 0.8, 1.0]])
def test_cumulative_differences_are_running_sums(levels):
    true, prob = sample(50, 14, levels)
    weight = np.random.default_rng(15).random(50)
    curve = draw.cumulative_curve(true, prob, sample_weight=weight)
    share, level, running, passed = map(np.array, zip(*naive_differences(prob, true, weight), strict=True))
    np.testing.assert_allclose(curve.fraction, share, atol=1e-12)
    np.testing.assert_allclose(curve.confidence, level)
    np.testing.assert_allclose(curve.difference, running, atol=1e-12)
    np.testing.assert_allclose(curve.band, stats.norm.ppf(0.975) * np.sqrt(passed), atol=1e-12)
    assert curve.sigma == pytest.approx(math.sqrt(passed[-1]))
    assert curve.value == pytest.approx(np.abs(running).max())
    assert curve.limit == pytest.approx(2.2414 * curve.sigma, rel=1e-4)


def test_the_limit_is_a_quantile_of_the_largest_excursion():
    for level in (0.01, 0.5, 0.95, 0.999):
        assert metrics.brownian_tail(largest_excursion(level)) == pytest.approx(1 - level)


def naive_loss(cost, threshold, prob, true, weight):
    """2c for a false alarm, 2(1 - c) for a miss, on average; the outcome is predicted above the threshold."""
    loss = [
        w * (2 * cost * (t == 0) if p > threshold else 2 * (1 - cost) * (t == 1))
        for p, t, w in zip(prob, true, weight, strict=True)
    ]
    return sum(loss) / sum(weight)


@pytest.mark.parametrize("levels", [None, [0.0, 0.1, 0.5, 0.8, 1.0]])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_brier_curve_is_the_expected_loss(levels, weighted):
    true, prob = sample(40, 16, levels)
    weight = np.random.default_rng(17).random(40) if weighted else np.ones(40)
    curve = draw.brier_curve(true, prob, sample_weight=weight if weighted else None)
    thresholds = [-1.0, *prob]
    for cost in np.random.default_rng(18).random(40):
        assert np.interp(cost, curve.cost, curve.loss) == pytest.approx(naive_loss(cost, cost, prob, true, weight))
        least = min(naive_loss(cost, threshold, prob, true, weight) for threshold in thresholds)
        assert np.interp(cost, curve.least_cost, curve.least_loss) == pytest.approx(least, abs=1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_the_area_under_the_brier_curve_is_the_brier_score(name):
    given = view(*SMALL[name])
    curve = draw.brier_curve(given)
    area = np.sum(np.diff(curve.cost) * (curve.loss[1:] + curve.loss[:-1]) / 2)
    least = np.sum(np.diff(curve.least_cost) * (curve.least_loss[1:] + curve.least_loss[:-1]) / 2)
    score = np.mean((given.event.prob.astype(float) - given.event.true) ** 2)
    assert area == pytest.approx(score, abs=1e-12)
    assert curve.value == pytest.approx(score, abs=1e-12)
    assert least == pytest.approx(curve.least, abs=1e-12)
    assert area - least == pytest.approx(draw.isotonic_curve(given, draws=0).mcb, abs=1e-12)


def naive_kernel(c, t, scale):
    """The Gaussian about c, reflected at 0 and 1."""
    at = [t + sign * c - 2 * m for m in range(-6, 7) for sign in (1, -1)]
    return sum(math.exp(-((x / scale) ** 2) / 2) for x in at) / (scale * math.sqrt(2 * math.pi))


@pytest.mark.parametrize("scale", [None, 0.05, 0.6])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_smooth_curve_weighs_neighbours_by_the_reflected_gaussian(scale, weighted):
    true, prob = sample(30, 19)
    prob[:3] = 0.0, 1.0, 1.0
    weight = np.random.default_rng(20).random(30) if weighted else np.ones(30)
    curve = draw.smooth_curve(true, prob, bandwidth=scale, points=21, sample_weight=weight if weighted else None)
    value = metrics.smece(true, prob, sample_weight=weight if weighted else None)
    assert curve.value == value
    assert curve.bandwidth == (max(value, 1 / 20) if scale is None else scale)
    z = stats.norm.ppf(0.975)
    for t, seen, density, low in zip(curve.at, curve.frequency, curve.density, curve.low, strict=True):
        kernel = np.array([naive_kernel(c, t, curve.bandwidth) for c in prob]) * weight
        f = kernel @ true / kernel.sum()
        assert seen == pytest.approx(f, abs=1e-10)
        assert density == pytest.approx(kernel.sum() / weight.sum(), abs=1e-10)
        n = kernel.sum() ** 2 / (kernel**2).sum()
        assert f - low == pytest.approx(z * math.sqrt(low * (1 - low) / n), abs=1e-8)
    assert np.trapezoid(curve.density, curve.at) == pytest.approx(1, abs=0.02)


def test_the_smooth_curve_ends_with_the_confidences():
    curve = draw.smooth_curve([0, 1, 1, 0], [0.4, 0.5, 0.55, 0.6], points=101)
    shown = curve.at[np.isfinite(curve.frequency)]
    assert (shown[0], shown[-1]) == pytest.approx((0.4, 0.6))
    assert curve.to_dict()["frequency"][0] is None


@pytest.mark.parametrize("slope", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("binning", ["mass", "width"])
def test_the_roof_is_the_map_of_ece_fott(slope, binning):
    true, prob = sample(50, 21)
    curve = draw.roof_curve(true, prob, bins=6, binning=binning, slope=slope)
    distance = []
    for t, p in zip(true, prob, strict=True):
        piece = int(np.flatnonzero((curve.begin <= p) & ((p < curve.end) | (curve.end == 1)))[0])
        share = (p - curve.begin[piece]) / (curve.end[piece] - curve.begin[piece])
        fitted = curve.left[piece] + share * (curve.right[piece] - curve.left[piece])
        assert curve.first[piece] <= p <= curve.last[piece]
        distance.append(abs(fitted - p))
        assert t in (0, 1)
    expected = metrics.ece_fott(true, prob, bins=6, binning=binning, slope=slope).value
    assert curve.value == expected
    assert np.mean(distance) == pytest.approx(expected, abs=1e-12)
    for begin, end, mean, n in zip(curve.begin, curve.end, curve.frequency, curve.count, strict=True):
        inside = (prob >= begin) & ((prob < end) | (end == 1))
        assert n == inside.sum()
        assert mean == pytest.approx(true[inside].mean())


def test_the_roof_refuses_weights():
    with pytest.raises(InputError, match="no sample weights"):
        draw.roof_curve(*BINARY, sample_weight=np.ones(60))


# The simplex


@pytest.mark.parametrize("side", [1, 2, 3, 10])
def test_every_point_lies_in_its_triangle(side):
    lattice = np.array([[i, j, side - i - j] for i in range(side + 1) for j in range(side + 1 - i)]) / side
    points = np.concatenate([three_classes(200)[1], lattice, [[1 / 3] * 3, [0.333333, 0.333333, 0.333333]]])
    cells = cell_of(points, side)
    assert len(set(cells.tolist())) <= side**2
    for point, cell in zip(points, cells, strict=True):
        (i, j), inverted = divmod(cell // 2, side), cell % 2
        k = side - 1 - i - j - inverted
        corner = np.array([i, j, k])
        assert k >= 0
        within = point * side - corner
        assert (within >= -1e-4).all()
        assert (within <= 1 + 1e-4).all()


def test_arrows_run_from_the_mean_prediction_to_the_mean_outcome():
    true, prob = three_classes(300)
    for weight in (None, np.random.default_rng(2).random(300)):
        curve = draw.simplex_curve(true, prob, side=4, sample_weight=weight)
        mass = np.ones(300) if weight is None else weight
        cells = cell_of(prob, 4)
        assert curve.count.sum() == 300
        distance = 0.0
        for place, cell in enumerate(curve.cell):
            inside = cells == cell
            said = np.average(prob[inside], axis=0, weights=mass[inside])
            seen = np.average(np.eye(3)[true[inside]], axis=0, weights=mass[inside])
            np.testing.assert_allclose(curve.predicted[place], said)
            np.testing.assert_allclose(curve.observed[place], seen)
            distance += mass[inside].sum() * np.abs(said - seen).sum() / 2
            outside = (said < curve.low[place]) | (said > curve.high[place])
            assert curve.beyond[place] == outside.any()
        assert curve.value == pytest.approx(distance / mass.sum())


@pytest.mark.parametrize("columns", [BINARY, ([0, 1, 2, 3], np.full((4, 4), 0.25))])
def test_the_simplex_needs_three_classes(columns):
    with pytest.raises(InputError, match="three class probabilities"):
        draw.simplex_curve(*columns)


def test_the_histogram_counts_both_outcomes():
    true, prob = sample(50, 22)
    curve = draw.histogram_curve(true, prob, bins=5)
    for cell in range(5):
        inside = (prob * 5).astype(int) == cell
        assert curve.came[cell] == true[inside].sum()
        assert curve.failed[cell] == (1 - true[inside]).sum()
    assert curve.mean_confidence == pytest.approx(prob.mean())
    assert curve.base_rate == pytest.approx(true.mean())


# All curves


@pytest.mark.parametrize("noun", draw.CURVES)
def test_a_curve_of_columns_is_the_curve_of_their_view_and_travels_as_json(noun):
    compute, _ = draw.CURVES[noun]
    columns = columns_for(noun)
    curve = compute(*columns)
    assert curve.to_dict() == compute(view(*columns)).to_dict()
    assert json.loads(json.dumps(curve.to_dict(), allow_nan=False))["curve"] == noun == curve.kind
    for values in vars(curve).values():
        if isinstance(values, np.ndarray):
            with pytest.raises(ValueError):
                values[...] = 0
    with pytest.raises(AttributeError):
        curve.n_rows = 3


@pytest.mark.parametrize("noun", draw.CURVES)
def test_a_curve_says_in_words_what_it_cannot_take(noun):
    compute, paint = draw.CURVES[noun]
    true, prob = columns_for(noun)
    with pytest.raises(InputError, match="y_prob is missing"):
        compute(true)
    with pytest.raises(InputError, match="got both"):
        compute(view(true, prob), prob)
    with pytest.raises(InputError, match="has no parameter 'colour'"):
        paint(true, prob, colour="red")
    with pytest.raises(InputError, match="must be finite"):
        compute(true, np.full_like(prob, np.nan))
    curve = compute(true, prob)
    with pytest.raises(InputError, match="takes a curve alone"):
        paint(curve, prob)
    with pytest.raises(InputError, match="draws a"):
        paint(draw.brier_curve(*BINARY) if noun != "brier" else draw.histogram_curve(*BINARY))


@pytest.mark.parametrize("edges", [[0.5], [0, 1, 0.5], "wide", [0.2, 0.9]])
def test_edges_must_grow_and_cover(edges):
    with pytest.raises(InputError, match="edges must"):
        draw.reliability_curve(*BINARY, edges=edges)


# Figures


def texts(figure):
    """Everything written on a figure."""
    from matplotlib.text import Text

    return " ".join(text.get_text() for text in figure.findobj(Text)).replace("\n", " ")


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("noun", [noun for noun in draw.CURVES if noun != "simplex"])
def test_every_figure_says_how_many_rows_and_which_metric(noun, name):
    compute, paint = draw.CURVES[noun]
    curve = compute(*SMALL[name])
    figure = paint(curve)
    said = texts(figure)
    assert f"N = {curve.n_rows:,}" in said
    assert number(curve.value) in said
    assert ("mcb" if noun == "isotonic" else curve.metric) in said
    assert " ".join(curve.convention.split()) in " ".join(figure.get_label().split())
    if name in ("twenty rows", "all certain and right"):
        assert draw.rendered(figure, "png", dpi=20).startswith(b"\x89PNG")


def test_bins_are_drawn_at_their_means_with_intervals_and_counts():
    true, prob = sample(60, 3)
    curve = draw.reliability_curve(true, prob, bins=5, draws=39)
    axes, under = draw.reliability(curve).axes
    points = next(c for c in axes.containers if c.get_label() == "bin, with interval")
    np.testing.assert_allclose(points[0].get_xdata(), curve.confidence)
    np.testing.assert_allclose(points[0].get_ydata(), curve.frequency)
    bars = points[2][0].get_segments()
    np.testing.assert_allclose([bar[:, 1] for bar in bars], np.stack([curve.low, curve.high], axis=1))
    assert [bar.get_height() for bar in under.patches] == curve.count.tolist()
    assert {amount(n) for n in curve.count} <= {text.get_text() for text in under.texts}
    assert axes.get_legend_handles_labels()[1] == ["perfect", "if calibrated", "gap", "bin, with interval"]
    assert axes.get_ylabel() == "share with outcome 1"
    assert under.get_xlabel() == "stated probability of outcome 1"
    assert under.get_ylabel() == "rows"
    assert axes.get_xlim() == under.get_xlim()


def test_weights_are_named_where_rows_would_stand():
    _, under = draw.reliability(*BINARY, sample_weight=np.full(60, 0.5)).axes
    assert under.get_ylabel() == "weight"


@pytest.mark.parametrize("noun", ["reliability", "isotonic", "smooth", "roof"])
def test_every_diagram_has_the_diagonal_and_a_histogram(noun):
    axes, under = draw.CURVES[noun][1](*BINARY).axes
    diagonal = next(line for line in axes.lines if line.get_label() == "perfect")
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    assert sum(bar.get_height() for bar in under.patches) == 60


def test_lines_show_the_data_of_their_curves():
    isotonic = draw.isotonic_curve(*BINARY)
    line = next(x for x in draw.isotonic(isotonic).axes[0].lines if x.get_label() == "isotonic frequency")
    np.testing.assert_array_equal(line.get_xydata().T, isotonic.corners)
    brier = draw.brier_curve(*BINARY)
    line = next(x for x in draw.brier(brier).axes[0].lines if x.get_label() == "the model")
    np.testing.assert_array_equal(line.get_xydata().T, [brier.cost, brier.loss])
    walk = draw.cumulative_curve(*BINARY)
    axes = draw.cumulative(walk).axes[0]
    line = next(x for x in axes.lines if x.get_label() == "cumulative difference")
    np.testing.assert_array_equal(line.get_ydata(), [0, *walk.difference])
    limits = [x.get_ydata()[0] for x in axes.lines if "whole line" in str(x.get_label())]
    assert limits == [walk.limit]
    smooth = draw.smooth_curve(*BINARY)
    line = next(x for x in draw.smooth(smooth).axes[0].lines if x.get_label() == "smooth frequency")
    np.testing.assert_array_equal(line.get_ydata(), smooth.frequency)


def test_classes_are_small_multiples_with_their_names():
    true, prob = three_classes(60)
    figure = draw.classwise(true, prob, names=["cat", "dog", "owl"])
    assert len(figure.axes) == 6
    assert [axes.get_title("left").split(":")[0] for axes in figure.axes[::2]] == ["cat", "dog", "owl"]
    assert len(draw.classwise(true, prob, classes=[2]).axes) == 2
    with pytest.raises(InputError, match="names must be one a class"):
        draw.classwise(true, prob, names=["cat"])
    with pytest.raises(InputError, match="classes must be some of 0 to 2"):
        draw.classwise(true, prob, classes=[3])


def test_of_many_classes_the_worst_are_drawn():
    rng = np.random.default_rng(0)
    curve = draw.classwise_curve(rng.integers(0, 20, 100), rng.dirichlet(np.ones(20), 100))
    figure = draw.classwise(curve)
    assert len(figure.axes) == 24
    assert "12 of 20 classes" in texts(figure)
    worst = set(np.argsort(-curve.errors)[:12].tolist())
    assert {int(a.get_title("left").split(":")[0].removeprefix("class ")) for a in figure.axes[::2]} == worst


def test_the_simplex_has_an_arrow_a_cell_and_names_at_its_corners():
    true, prob = three_classes(200)
    curve = draw.simplex_curve(true, prob, side=4)
    (axes,) = draw.simplex(curve, names=("a", "b", "c")).axes
    arrows = [text for text in axes.texts if text.arrow_patch is not None]
    assert len(arrows) == len(curve.cell)
    words = [text.get_text() for text in axes.texts if text.arrow_patch is None]
    assert words[-3:] == ["a", "b", "c"]
    assert [word for word in words if word[0] == "0"] == ["0.2", "0.4", "0.6", "0.8"] * 3
    assert draw.simplex_curve(true, prob).side ** 2 == 25
    with pytest.raises(InputError, match="names must be three"):
        draw.simplex(curve, names=("a", "b"))


@pytest.mark.parametrize("format", ["png", "svg", "pdf"])
def test_one_curve_gives_the_same_file_twice(format, tmp_path):
    first, second = (
        draw.save(draw.histogram(*BINARY), tmp_path / f"{name}.{format}", dpi=40).read_bytes() for name in "ab"
    )
    assert first == second
    assert b"Date" not in first
    assert b"<dc:date>" not in first


def test_saving_leaves_no_setting_behind(tmp_path):
    import matplotlib

    before = dict(matplotlib.rcParams)
    draw.save(draw.reliability(*BINARY), tmp_path / "a.svg")
    assert dict(matplotlib.rcParams) == before


def test_a_figure_is_saved_only_as_what_it_can_be(tmp_path):
    figure = draw.histogram(*BINARY)
    with pytest.raises(InputError, match=r"\.png, \.svg or \.pdf"):
        draw.save(figure, tmp_path / "a.bmp")
    with pytest.raises(InputError, match="format must be one of"):
        draw.rendered(figure, "gif")


def test_without_matplotlib_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'epimeter\[plots\]'"):
        draw.reliability(*BINARY)
    assert draw.reliability_curve(*BINARY).n_rows == 60


def test_drawing_loads_matplotlib_late_and_pyplot_never():
    program = (
        "import sys; from epimeter import draw; c = draw.reliability_curve([0, 1], [0.2, 0.7]);"
        "assert 'matplotlib' not in sys.modules; draw.rendered(draw.reliability(c), 'png');"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_thinned_lines_keep_their_extremes():
    x = np.linspace(0, 1, 100_000)
    y = np.random.default_rng(0).normal(size=len(x))
    a, b = thinned(x, y)
    assert len(a) <= 4 * 1600
    assert (np.diff(a) >= 0).all()
    assert (b.min(), b.max(), a[0], a[-1]) == (y.min(), y.max(), 0, 1)
    for edge in range(0, 1600, 97):
        column, kept = (np.minimum((v * 1600).astype(int), 1599) == edge for v in (x, a))
        assert (b[kept].min(), b[kept].max()) == (y[column].min(), y[column].max())


@pytest.mark.parametrize(
    ("rows", "shown"), [(0.25, "0.25"), (7, "7"), (8912, "8,912"), (12_345, "12.3k"), (5.1e6, "5.1M"), (2e9, "2G")]
)
def test_amounts_are_short(rows, shown):
    assert amount(rows) == shown


# The command


@pytest.fixture
def predictions(tmp_path):
    file = tmp_path / "predictions.csv"
    true, prob = sample(50, 30)
    file.write_text("confidence,correct\n" + "".join(f"{p},{t}\n" for t, p in zip(true, prob, strict=True)))
    return file


def run(*arguments):
    with pytest.raises(SystemExit) as done:
        main([str(argument) for argument in arguments])
    return done.value.code


def test_the_command_knows_every_curve():
    assert set(NOUNS) == set(draw.CURVES) | {"grouping", "detections", "recalibration"}


def test_the_command_draws_a_figure(predictions, tmp_path, capsys):
    assert run("draw", predictions, "--curve", "isotonic", "-o", tmp_path / "a.svg", "--title", "mine") == 0
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    assert "wrote" in capsys.readouterr().err


def test_the_command_prints_the_data_of_a_curve(predictions, capsys):
    assert run("draw", predictions, "--json", "--bins", "4", "--set", "level=0.9") == 0
    printed = json.loads(capsys.readouterr().out)
    true, prob = sample(50, 30)
    answers = view(true, prob, kind="answer")
    assert printed == draw.reliability_curve(answers, bins=4, level=0.9).to_dict()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "a figure needs a file"),
        (["-o", "a.bmp"], "saved as .png, .svg or .pdf"),
        (["--json", "--set", "bin=3"], "did you mean 'bins'"),
        (["--json", "--curve", "simplex"], "three class probabilities"),
        (["--json", "--curve", "pie"], "'pie' is not one of"),
    ],
)
def test_the_command_refuses_in_a_sentence(predictions, arguments, sentence, capsys):
    assert run("draw", predictions, *arguments) == 2
    assert sentence in capsys.readouterr().err


def test_the_command_says_where_a_bad_row_is(tmp_path, capsys):
    (tmp_path / "bad.csv").write_text("confidence,correct\n0.5,1\n1.5,0\n")
    assert run("draw", tmp_path / "bad.csv", "--json") == 2
    assert "line 3" in capsys.readouterr().err
