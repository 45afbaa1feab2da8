"""Intervals, tests, comparisons, monitors and plans: slow twins, invariance, bad input, small simulations."""

import json
import math
import pickle

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import stats

import epimeter
from epimeter.card_index import find
from epimeter.cli import epimeter as command
from epimeter.core import lib
from epimeter.errors import EpimeterError, InputError, MergeError, UndefinedMetricError
from epimeter.inference import (
    CalibrationMonitor,
    Target,
    adaptive_bins_test,
    adjust_p_values,
    bootstrap_difference,
    bootstrap_interval,
    calibration_tests,
    compare,
    compare_samples,
    confidence_sequence,
    consistency_test,
    interval,
    paired_permutation_test,
    plan,
    safe_calibration_test,
    sequential_calibration_test,
    tolerance_test,
)
from epimeter.inference import bootstrap as bootstrap_module
from epimeter.inference import draws as draws_module
from epimeter.inference.inversion import BinnedError, WalkError, _cumulants
from epimeter.inference.planning import fewest
from epimeter.inference.spread import clopper_pearson, wilson
from epimeter.inference.statistic import Statistic
from epimeter.metrics import brier_score, ecce_mad, ece, ece_db, l2_ece_ci, mce, success_rate
from epimeter.summaries.atoms import Atoms
from epimeter.views import view


def drawn(n=400, seed=1, slope=1.0):
    rng = np.random.Generator(np.random.PCG64(seed))
    p = rng.random(n)
    y = (rng.random(n) < p**slope).astype(int)
    return y, p


Y, P = drawn()
Q = np.clip(P + 0.1 * np.sin(7 * P), 0, 1)


# Random numbers


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 1000, 4099])
def test_compiled_draws_are_those_of_numpy(n):
    rng = np.random.Generator(np.random.PCG64(9).advance(3 * n))
    uniform = rng.random(n)
    p = np.random.Generator(np.random.PCG64(2)).random(n)
    p[0] = 1.0
    words, bound = draws_module.words(9), draws_module.bounds(p)
    np.testing.assert_array_equal(draws_module.labels(words, 3 * n, bound), uniform < p)
    rows = np.bincount((uniform * n).astype(int), minlength=n)
    np.testing.assert_array_equal(draws_module.counts(words, 3 * n, n), rows)
    group = range(2, 7)  # replicate 3 is its second
    np.testing.assert_array_equal(draws_module.label_bits(words, group, bound) >> 1 & 1, uniform < p)
    np.testing.assert_array_equal(draws_module.side_bits(words, group, n) >> 1 & 1, uniform < 0.5)
    np.testing.assert_array_equal(draws_module.count_bytes(words, group, n)[1], rows)


def test_a_row_drawn_more_often_than_a_byte_can_say_is_told():
    assert draws_module.count_bytes(draws_module.words(0), range(1), 1) is not None
    # 300 numbers and a "size" of 1 row cannot be asked for; a generator stuck at 0 draws row 0 every time.
    assert draws_module.count_bytes(np.zeros(4, np.uint64), range(2), 300) is None


def test_every_level_of_the_processor_draws_and_adds_the_same():
    rng = np.random.default_rng(3)
    n, cells = 5003, 7
    cell = rng.integers(0, cells, n)
    columns = [np.ones(n, np.int32), rng.integers(-(2**31), 2**31, n), rng.integers(0, 2**22, n), np.zeros(n, np.int32)]
    words, p = draws_module.words(4), rng.random(n)
    layouts = [Atoms.of(cell, cells, columns, tuple), Atoms.of(None, 1, columns, tuple)]
    best = lib.epi_level()
    try:
        for level in (1, 3, 4, 5):
            lib.epi_limit_level(level)
            counts = draws_module.count_bytes(words, range(3, 9), n)
            counts = counts.copy()  # the next call draws into the same memory
            bits = draws_module.label_bits(words, range(3, 9), draws_module.bounds(p))
            for atoms in layouts:
                home = cell if atoms.n_cells > 1 else np.zeros(n, int)
                for r in range(6):
                    for drawn, totals in (
                        (counts[r], atoms.counted_totals(counts)[r]),
                        (bits >> r & 1, atoms.chosen_totals(bits, 6)[r]),
                        (counts[r], atoms.totals(counts[r])),
                    ):
                        for k, column in enumerate(columns):
                            exact = np.zeros(atoms.n_cells, np.int64)
                            np.add.at(exact, home, drawn.astype(np.int64) * column.astype(np.int64))
                            np.testing.assert_array_equal(totals[:, k], exact)
    finally:
        lib.epi_limit_level(best)


def test_a_probability_on_the_grid_of_doubles_is_not_below_itself():
    uniform = np.random.Generator(np.random.PCG64(0)).random(64)
    assert not draws_module.labels(draws_module.words(0), 0, draws_module.bounds(uniform)).any()


# Slow twins


def test_the_bootstrap_is_the_metric_of_drawn_rows():
    draws, n = 25, len(Y)
    uniform = np.random.Generator(np.random.PCG64(5)).random((draws, n))
    naive = [float(ece(Y[rows], P[rows])) for rows in (uniform * n).astype(int)]
    made = bootstrap_interval(Y, P, draws=draws, seed=5)
    value = float(ece(Y, P))
    low, high = np.quantile(naive, [0.025, 0.975])
    assert made.low == pytest.approx(2 * value - high, abs=1e-12)
    assert made.high == pytest.approx(2 * value - low, abs=1e-12)
    assert made.se == pytest.approx(np.std(naive, ddof=1), abs=1e-12)


def test_groups_are_drawn_whole():
    groups = np.repeat(np.arange(80), 5)
    uniform = np.random.Generator(np.random.PCG64(5)).random((20, 80))
    naive = []
    for row in (uniform * 80).astype(int):
        rows = np.concatenate([np.flatnonzero(groups == g) for g in row])
        naive.append(float(brier_score(Y[rows], P[rows])))
    made = bootstrap_interval(Y, P, metric="brier_score", groups=groups, draws=20, seed=5)
    assert made.units == 80
    assert made.se == pytest.approx(np.std(naive, ddof=1), abs=1e-12)


def test_the_null_draws_labels_from_the_forecasts():
    uniform = np.random.Generator(np.random.PCG64(3)).random((39, len(P)))
    naive = [float(mce((u < P).astype(int), P)) for u in uniform]
    made = consistency_test(Y, P, metric="mce", draws=39, seed=3)
    assert made.p_value == (1 + sum(t >= made.value - 1e-10 for t in naive)) / 40
    assert made.null_mean == pytest.approx(np.mean(naive), abs=1e-12)


def test_permutation_swaps_rows():
    uniform = np.random.Generator(np.random.PCG64(3)).random((39, len(P)))
    naive = [float(ece(Y, np.where(u < 0.5, Q, P))) - float(ece(Y, np.where(u < 0.5, P, Q))) for u in uniform]
    made = paired_permutation_test(Y, P, Q, metric="ece", draws=39, seed=3)
    assert made.p_value == (1 + sum(abs(d) >= abs(made.value) - 1e-10 for d in naive)) / 40


def test_many_statistics_share_the_replicates_of_each():
    plan_ = bootstrap_module.scheme(len(Y), None, None)
    names = ("ece", "brier_score", "ecce_mad")
    statistics = [Statistic.of(name, None) for name in names]
    together = bootstrap_module.bootstrapped([view(Y, P)], statistics, plan_, 30, 0)
    for i, statistic in enumerate(statistics):
        alone = bootstrap_module.bootstrapped([view(Y, P)], [statistic], plan_, 30, 0)
        np.testing.assert_array_equal(together[:, 0, i], alone[:, 0, 0])


def test_shares_have_wilsons_and_the_exact_interval():
    hits = round(float(success_rate(Y, P)) * len(Y))
    peer = stats.binomtest(hits, len(Y)).proportion_ci(0.9, method="wilson")
    made = interval("success_rate", Y, P, level=0.9)
    assert (made.low, made.high) == pytest.approx((peer.low, peer.high), abs=1e-12)
    assert made.method == "Wilson"
    peer = stats.binomtest(hits, len(Y)).proportion_ci(0.9, method="exact")
    made = interval("success_rate", Y, P, level=0.9, method="exact")
    assert (made.low, made.high) == pytest.approx((peer.low, peer.high), abs=1e-12)
    assert wilson(0.0, 10, 0.95)[0] == 0.0
    assert clopper_pearson(10, 10, 0.95)[1] == 1.0


def test_means_have_students_interval_less_their_skewness():
    scores = (P - Y) ** 2
    n, mean, error = len(scores), scores.mean(), stats.sem(scores)
    made = interval("brier_score", Y, P)
    plain = stats.t.interval(0.95, n - 1, mean, error)
    assert (made.low, made.high) == pytest.approx(plain, abs=0.1 * (plain[1] - plain[0]))
    # Hall 1992: the mapped statistic has the quantiles of Student's law at both ends.
    a = (((scores - mean) ** 3).mean() / scores.std(ddof=1) ** 3) / math.sqrt(n)
    for end, sign in ((made.low, 1), (made.high, -1)):
        t = (mean - end) / error
        assert t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6 == pytest.approx(sign * stats.t.ppf(0.975, n - 1), rel=2e-3)


def test_groups_widen_an_interval_as_their_sums_vary():
    groups = np.repeat(np.arange(100), 4)
    y, p = np.repeat(Y[:100], 4), np.repeat(P[:100], 4)
    scores = (p - y) ** 2
    sums = np.bincount(groups, weights=scores - scores.mean())
    error = math.sqrt((sums**2).sum() * 100 / 99) / 400
    made = interval("brier_score", y, p, groups=groups)
    reach = stats.t.ppf(0.975, 99) * error
    assert (made.low, made.high) == pytest.approx((scores.mean() - reach, scores.mean() + reach), abs=1e-12)
    assert made.units == 100
    single = interval("brier_score", Y[:100], P[:100])
    assert made.high - made.low == pytest.approx(single.high - single.low, rel=0.05)


def test_repeats_are_no_new_evidence_for_a_binned_error():
    groups = np.repeat(np.arange(len(Y)), 4)
    y, p = np.repeat(Y, 4), np.repeat(P, 4)
    once, again = interval("ece", Y, P), interval("ece", y, p, groups=groups)
    assert again.high == pytest.approx(once.high, rel=0.05)
    assert again.low == pytest.approx(once.low, abs=0.003)
    taken_for_new = interval("ece", y, p)
    assert taken_for_new.low > again.low
    assert taken_for_new.high - taken_for_new.low < 0.8 * (again.high - again.low)


def test_cumulants_of_folded_normals_are_those_of_quadrature():
    for norm in (1, 1.5, 2, 3):
        for d, s in ((0.0, 0.1), (0.05, 0.1), (0.4, 0.02)):
            x = np.linspace(d - 9 * s, d + 9 * s, 200_001)
            density = stats.norm.pdf(x, d, s)
            one, two, three = (np.trapezoid(np.abs(x) ** (norm * k) * density, x) for k in (1, 2, 3))
            expected = one, two - one**2, three - 3 * one * two + 2 * one**3
            found = [float(c[0, 0]) for c in _cumulants(np.array([[d]]), np.array([s]), norm)]
            assert found[:2] == pytest.approx(expected[:2], rel=2e-2 if norm not in (1, 2) else 1e-8)


def test_the_law_of_a_binned_error_is_that_of_simulated_bins():
    rng = np.random.Generator(np.random.PCG64(4))
    share, gap, frequency = np.array([0.2, 0.5, 0.3]), np.array([0.02, -0.05, 0.01]), np.array([0.3, 0.5, 0.8])
    for norm in (1, 2, math.inf):
        bins = BinnedError(share, gap, frequency, 500, norm)
        for theta in (0.0, 0.05):
            size = np.abs(gap).max() if math.isinf(norm) else (share @ np.abs(gap) ** norm) ** (1 / norm)
            noisy = theta * np.abs(gap) / size + bins.spread * rng.normal(size=(20000, 3))
            sizes = np.abs(noisy).max(1) if math.isinf(norm) else (np.abs(noisy) ** norm @ share) ** (1 / norm)
            at = float(np.quantile(sizes, 0.9))
            assert bins.below(np.array([theta]), at)[0] == pytest.approx(0.9, abs=0.015)


def test_the_law_of_a_walk_without_drift_is_brownian():
    rng = np.random.Generator(np.random.PCG64(4))
    walk = WalkError(rng.normal(size=5000), 5000.0, 1.0, spans=False)
    critical = 2.2414 * walk.sigma  # 95 % point of max |W|
    assert walk.below(np.zeros(1), critical)[0] == pytest.approx(0.95, abs=0.015)


# The same answer whatever the threads, chunks and loops


CALLS = {
    "interval": lambda **how: bootstrap_interval(Y, P, draws=60, **how),
    "bca": lambda **how: bootstrap_interval(Y, P, method="bca", metric="brier_score", draws=60, **how),
    "groups": lambda **how: bootstrap_interval(Y, P, groups=np.arange(len(Y)) // 3, draws=60, **how),
    "strata": lambda **how: bootstrap_interval(Y, P, stratify=Y, metric="nll", draws=60, **how),
    "difference": lambda **how: bootstrap_difference(Y, P, Q, draws=60, **how),
    "consistency": lambda **how: consistency_test(Y, P, metric="ecd", draws=59, **how),
    "resampled": lambda **how: consistency_test(Y, P, draws=59, resample=True, **how),
    "rows": lambda **how: consistency_test(Y, P, metric="ecce_r", draws=59, **how),
    "permutation": lambda **how: paired_permutation_test(Y, P, Q, draws=59, **how),
    "scales": lambda **how: adaptive_bins_test(Y, P, combine="minp", draws=59, **how),
}


@pytest.mark.parametrize("name", CALLS)
def test_one_and_two_threads_give_the_same_bits(name):
    assert CALLS[name](threads=1) == CALLS[name](threads=2)


@pytest.mark.parametrize("name", CALLS)
def test_small_and_large_blocks_give_the_same_bits(name, monkeypatch):
    usual = CALLS[name]()
    for block in (7, 100_000):
        monkeypatch.setattr(draws_module, "BLOCK", block)
        assert CALLS[name]() == usual


def test_intervals_do_not_depend_on_the_order_of_the_rows():
    turn = np.random.Generator(np.random.PCG64(1)).permutation(len(Y))
    for name in ("ece", "brier_score", "ecce_mad", "eo_ratio", "drmsce"):
        assert interval(name, Y[turn], P[turn]).to_dict() == pytest.approx(interval(name, Y, P).to_dict())


# An interval for every metric


def test_the_function_carries_the_interval_that_was_asked_for():
    plain = ece(Y, P)
    assert plain.interval is None
    assert ece(Y, P, interval=False).interval is None
    made = ece(Y, P, interval=True)
    assert made == plain
    assert made.interval == interval("ece", Y, P)
    assert made.interval.low <= made.interval.high
    assert pickle.loads(pickle.dumps(made)).interval == made.interval
    named = ece(Y, P, bins=20, interval={"level": 0.8, "method": "percentile", "draws": 50})
    assert (named.interval.level, named.interval.method) == (0.8, "percentile bootstrap")
    assert l2_ece_ci(Y, P, interval=True).interval.method == "Sun et al. 2024"
    assert ecce_mad(Y, P, interval="asymptotic").interval.method == "inversion"


def test_a_metric_with_parameters_called_like_those_of_intervals_keeps_them():
    from epimeter.metrics import rbece

    assert rbece(Y, P, interval={"draws": 20}).interval is not None


@pytest.mark.parametrize("name", ["wsece", "ici", "smece", "stratified_brier_score", "cdp", "wsmcs"])
def test_what_has_no_known_law_is_drawn_again(name):
    made = interval(name, Y[:80], P[:80], draws=30)
    assert "bootstrap" in made.method
    assert made.low <= made.high


def test_class_probabilities_have_intervals_too():
    rng = np.random.Generator(np.random.PCG64(8))
    prob = rng.dirichlet([1, 1, 1], 200)
    label = (rng.random((200, 1)) > np.cumsum(prob, axis=1)).sum(axis=1)
    for name in ("brier_score", "ece", "nll", "classwise_ece", "success_rate", "brier_skill_score"):
        made = interval(name, label, prob, draws=30)
        assert made.low <= made.high


def test_boxes_have_intervals_by_image():
    from epimeter.metrics import detection_ace, match_detections

    rng = np.random.Generator(np.random.PCG64(3))
    image = np.repeat(np.arange(12), 3)
    corner = rng.random((36, 2)) * 50
    box = np.hstack([corner, corner + 10])
    found = box + rng.normal(size=box.shape)
    found[:, 2:] = np.maximum(found[:, 2:], found[:, :2] + 1)
    columns = image, np.zeros(36, int), box, image, np.zeros(36, int), found, rng.random(36)
    made = match_detections(*columns, interval={"draws": 30})
    assert made.interval.units == 12
    assert made.interval.low <= made.precision <= made.interval.high + 1e-9
    naive = []
    for u in np.random.Generator(np.random.PCG64(0)).random((30, 12)):
        chosen = (u * 12).astype(int)
        rows = np.concatenate([np.flatnonzero(image == i) for i in chosen])
        numbers = np.repeat(np.arange(12), 3)
        again = numbers, columns[1], box[rows], numbers, columns[4], found[rows], columns[6][rows]
        naive.append(match_detections(*again).precision)
    value = match_detections(*columns).precision
    assert made.interval.low == pytest.approx(max(0.0, 2 * value - np.quantile(naive, 0.975)), abs=1e-12)
    assert detection_ace(*columns, interval={"draws": 20}).interval.units == 12


def test_a_test_has_no_interval():
    with pytest.raises(UndefinedMetricError, match="it is a p-value, not a property of the population"):
        interval("t_cal", Y, P)
    with pytest.raises(UndefinedMetricError, match="consistency_test has no interval"):
        interval("consistency_test", Y, P)


def test_a_calibrated_model_keeps_zero_inside():
    covered = {"ece": 0, "ece_db": 0, "drmsce": 0, "ecce_mad": 0, "smooth": 0}
    for seed in range(60):
        y, p = drawn(300, seed + 100)
        for name in ("ece", "ece_db", "drmsce"):
            covered[name] += interval(name, y, p).low == 0
        if seed < 15:
            covered["ecce_mad"] += interval("ecce_mad", y, p).low == 0
            covered["smooth"] += interval("lkce", y, p, draws=49).low == 0
    assert all(covered[name] >= 52 for name in ("ece", "ece_db", "drmsce"))
    assert covered["ecce_mad"] >= 11
    assert covered["smooth"] >= 11


def test_a_clearly_miscalibrated_model_is_covered():
    rng = np.random.Generator(np.random.PCG64(3))
    held = {"ece": 0, "brier_score": 0, "ecce_r": 0}
    # y = 1 with probability p^2: within every bin p - p^2 > 0, so ece = ecce = E[p - p^2] = 1/6; Brier = 1/6 too.
    for number in range(60):
        p = rng.random(800)
        y = (rng.random(800) < p**2).astype(int)
        for name in held if number < 25 else ("ece", "brier_score"):
            found = interval(name, y, p)
            held[name] += found.low <= 1 / 6 <= found.high
    assert held["ece"] >= 52
    assert held["brier_score"] >= 52
    assert held["ecce_r"] >= 20


# Reports


def test_reports_carry_intervals_unless_told_otherwise():
    report = epimeter.evaluate(Y, P)
    with_interval = {m.metric for m in report.values() if m.interval is not None}
    assert {"brier_score", "nll", "ece", "mce", "esce", "ecd"} <= with_interval
    without = {m.metric: m.no_interval for m in report.values() if m.interval is None}
    assert without == {"spiegelhalter_z": "a test"}
    assert all(m.no_interval is None for m in report.values() if m.interval is not None)
    assert report.to_dict()["measurements"][0]["interval"]["level"] == 0.95
    asked = ("lp_ce", "success_rate", "eo_ratio", "dpe")
    assert all(m.interval is not None for m in epimeter.evaluate(Y, P, metrics=",".join(asked)).values())
    assert all(m.interval is None and m.no_interval is None for m in epimeter.evaluate(Y, P, intervals=None).values())


def test_a_report_by_bootstrap_shares_replicates_with_the_interval_alone():
    report = epimeter.evaluate(Y, P, metrics="ece,brier_score,smooth_ce", intervals="bootstrap", draws=50, level=0.9)
    for name in ("ece", "brier_score", "smooth_ce"):
        alone = interval(name, Y, P, method="bootstrap", draws=50, level=0.9)
        assert report[name].interval == alone


def test_reports_say_how_many_independent_units_there_are():
    report = epimeter.evaluate(Y, P, groups=np.arange(len(Y)) // 4)
    assert report.n_units == 100
    assert report["brier_score"].interval.units == 100
    assert report.to_dict()["n_units"] == 100
    few = epimeter.evaluate(Y, P, groups=np.arange(len(Y)) % 3)
    assert few.n_units == len(Y)
    assert any("3 groups are too few" in caution for caution in few.cautions)


def test_a_report_of_one_row_or_of_undefined_values_has_no_intervals():
    report = epimeter.evaluate([1], [0.7])
    assert all(m.interval is None and m.no_interval for m in report.values())
    asked = "eo_ratio,normalized_entropy"
    report = epimeter.evaluate([1, 1, 1], [0.7, 0.7, 0.7], metrics=asked, intervals="bootstrap", draws=20)
    assert report["eo_ratio"].value is not None
    undefined = report["normalized_entropy"]
    assert undefined.value is None
    assert undefined.undefined
    assert undefined.interval is None


# Bad input


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bootstrap_interval(Y, P, draws=0), "draws of bootstrap_interval must be at least 2"),
        (lambda: bootstrap_interval(Y, P, level=1), "level of bootstrap_interval must be in"),
        (lambda: consistency_test(Y, P, draws=0), "draws of consistency_test must be at least 1"),
        (lambda: consistency_test(Y, P, draws=9), "draws must be at least 19 to reject"),
        (lambda: consistency_test(Y, P, alpha=1), "alpha of consistency_test must be in"),
        (lambda: paired_permutation_test(Y, P, Q[:-1]), "must have the same length"),
        (lambda: paired_permutation_test(Y, P, Q, draws=0), "draws of paired_permutation_test must be at least 1"),
        (lambda: adaptive_bins_test([1], [0.5]), "needs at least 2 rows"),
        (lambda: adaptive_bins_test(Y, P, draws=5), "draws must be at least"),
        (lambda: adjust_p_values([]), "must have at least one value"),
        (lambda: adjust_p_values([0.2, math.nan]), "must lie in"),
        (lambda: sequential_calibration_test(Y, P, alpha=0), "alpha of sequential_calibration_test must be in"),
        (lambda: sequential_calibration_test(Y, P, prior=0), "must be above 0"),
        (lambda: confidence_sequence([], []), "at least one row"),
        (lambda: interval("ece", Y, P, level=1), "level of interval must be in"),
        (lambda: interval("ece", Y, P, level=0), "level of interval must be in"),
        (lambda: interval("ece", Y, P, draws=0), "draws of interval must be at least 2"),
        (lambda: interval("ece", Y, P, method="magic"), "method of interval must be one of"),
        (lambda: interval("ece", [1], [0.3]), "needs at least 2 rows"),
        (lambda: interval("ece", Y, P, groups=[1, 2]), "groups must have one label per row"),
        (lambda: interval("ece", Y, P, groups=np.zeros(len(Y))), "needs at least 2 of them"),
        (lambda: interval("smece", Y, P, method="asymptotic"), "no asymptotic interval is known"),
        (lambda: interval("brier_score", Y, P, method="exact"), "no exact interval is known"),
        (lambda: interval("ecee", Y, P), "did you mean 'ece'"),
        (lambda: interval("ece", Y, P, bims=3), "did you mean 'bins'"),
        (lambda: ece(Y, P, interval=3), "interval must be True, a method, or a dict of options"),
        (lambda: ece(Y, P, interval={"lvl": 3}), "interval has no option 'lvl'"),
        (lambda: epimeter.evaluate(Y, P, level=1), "level of evaluate must be in"),
        (lambda: epimeter.evaluate(Y, P, intervals="guess"), "intervals must be 'asymptotic', 'bootstrap' or None"),
        (lambda: tolerance_test(Y, P, tau=math.nan), "tau must be a finite number"),
        (lambda: tolerance_test(Y, P, tau=0.1, alpha=1), "alpha of tolerance_test must be in"),
        (lambda: tolerance_test(Y, P, tau=0.1, metric="success_rate"), "not an error with a tolerance"),
        (lambda: tolerance_test([1], [0.4], tau=0.1), "needs at least 2 rows"),
        (
            lambda: safe_calibration_test(Y, P, method="guess"),
            "method of safe_calibration_test must be one of",
        ),
        (lambda: calibration_tests(Y, P, metrics=()), "needs at least one metric"),
        (lambda: calibration_tests(Y, P, draws=0), "draws of calibration_tests must be at least"),
        (lambda: compare(Y, {"a": P}), "needs at least two models"),
        (lambda: compare(Y, {"a": P, "b": Q}, level=1), "level of compare must be in"),
        (lambda: compare(Y, {"a": P, "b": Q[:5]}), "must have the same length"),
        (lambda: plan([]), "a plan needs at least one number"),
        (lambda: plan([Target(name="x", kind="score", expected=1, limits=(2,))], power=1), "power of plan must be in"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, words):
    with pytest.raises(EpimeterError) as refusal:
        call()
    assert isinstance(refusal.value, ValueError)
    assert words in str(refusal.value)


def test_one_class_and_equal_confidences_have_defined_answers():
    ones, same = np.ones(50, int), np.full(50, 0.5)
    for y, p in ((ones, P[:50]), (Y[:50], same), (ones, same), (ones, np.ones(50))):
        assert consistency_test(y, p, draws=39).p_value > 0
        assert 0 < paired_permutation_test(y, p, p, draws=39).p_value <= 1
        assert bootstrap_interval(y, p, draws=20).se >= 0
        assert 0 <= sequential_calibration_test(y, p).p_value <= 1
        assert adaptive_bins_test(y, p).p_value > 0
        for name in ("ece", "ece_db", "drmsce", "mce", "brier_score", "ecd", "ecce_mad", "success_rate"):
            made = interval(name, y, p, draws=20)
            assert made.low <= made.high
        assert all(0 < f.p_value <= 1 for f in calibration_tests(y, p, draws=39))


def test_certain_and_right_forecasts_are_not_taken_for_proof():
    certain = (np.arange(40) % 2).astype(float)
    made = interval("ece", certain.astype(int), certain)
    assert made.low == 0
    assert 0.01 < made.high < 0.3


def test_rows_of_weight_zero_change_no_interval():
    weight = np.ones(len(Y))
    weight[::3] = 0
    kept = weight > 0
    for name in ("ece", "brier_score", "ecd", "eo_ratio", "ecce_mad"):
        with_zeros = interval(name, Y, P, sample_weight=weight)
        without = interval(name, Y[kept], P[kept], sample_weight=weight[kept])
        assert (with_zeros.low, with_zeros.high) == pytest.approx((without.low, without.high), rel=5e-3, abs=1e-4)


def test_infinite_scores_make_infinite_ends():
    made = bootstrap_interval([1, 0, 1, 1, 0], [0.0, 0.2, 0.5, 0.7, 0.3], metric="nll", draws=50)
    assert made.value == math.inf
    assert interval("nll", [1, 0, 1, 1, 0], [0.0, 0.2, 0.5, 0.7, 0.3], draws=50).method.endswith("bootstrap")


# Tests and comparisons


def test_a_tolerance_is_exceeded_kept_or_left_open():
    y, p = drawn(3000, 2, slope=1.3)  # ece about 0.065
    verdicts = [tolerance_test(y, p, tau=tau).verdict for tau in (0.0, 0.02, 0.06, 0.2)]
    assert verdicts == ["above", "above", "undecided", "within"]
    p_values = [tolerance_test(y, p, tau=tau).p_value for tau in (0.0, 0.03, 0.05, 0.08)]
    assert p_values == sorted(p_values)
    assert tolerance_test(y, p, tau=0.001, metric="dpe").verdict == "above"
    assert tolerance_test(y, p, tau=0.4, metric="brier_score").method == "normal"
    assert tolerance_test(y[:200], p[:200], tau=0.5, metric="ici", draws=99).verdict == "within"


def test_a_tolerance_test_agrees_with_the_interval():
    y, p = drawn(1500, 5, slope=1.4)
    found = interval("ece_db", y, p)
    assert tolerance_test(y, p, metric="ece_db", tau=found.low - 1e-3).p_value < 0.05
    assert tolerance_test(y, p, metric="ece_db", tau=found.high + 1e-3).p_value_within < 0.025 + 1e-3


def test_under_confidence_is_safe_and_over_confidence_is_not():
    rng = np.random.Generator(np.random.PCG64(6))
    truth = rng.random(1500)
    y = (rng.random(1500) < truth).astype(int)
    timid, bold = 0.5 + 0.5 * (truth - 0.5), np.clip(0.5 + 1.6 * (truth - 0.5), 0.02, 0.98)
    for method in ("resampling", "asymptotic"):
        assert not safe_calibration_test(y, timid, method=method, draws=199).reject
        assert safe_calibration_test(y, bold, method=method, draws=199).reject


def test_many_tests_are_adjusted_for_their_number():
    found = calibration_tests(Y, P, draws=99)
    expected = adjust_p_values([f.p_value for f in found]).adjusted
    assert [f.adjusted for f in found] == pytest.approx(expected.tolist())
    by_itself = consistency_test(Y, P, metric="mce", draws=99)
    assert next(f for f in found if f.metric == "mce").p_value == by_itself.p_value


def test_several_models_are_ranked_with_how_sure_that_is():
    made = compare(Y, {"a": P, "b": Q, "c": 1 - P}, metrics=("brier_score",), draws=99)
    lines = made.facts["ranking"]["brier_score"]
    values = {name: brier_score(Y, prob) for name, prob in (("a", P), ("b", Q), ("c", 1 - P))}
    assert [line["model"] for line in lines] == sorted(values, key=values.get)
    assert sum(line["best_in"] for line in lines) == pytest.approx(1) and lines[-1]["best_in"] == 0
    assert all(line["ranks"][0] <= line["rank"] <= line["ranks"][1] for line in lines)
    assert lines[-1]["ranks"][0] > 1
    assert set(lines[-1]["beaten_by"]) == {"a", "b"} and not lines[0]["beaten_by"]
    assert "Ranking by brier_score" in str(made) and json.loads(made.to_json())["ranking"]
    assert "ranking" not in compare(Y, {"a": P, "b": Q}, metrics=("brier_score",), draws=19).facts


def test_two_models_of_equal_error_are_rarely_called_different():
    # One says 0.05 too much, the other 0.05 too little: equal errors, but not exchangeable. Swapping rejects a third of them.
    generator, found = np.random.default_rng(5), 0
    for seed in range(40):
        truth = generator.uniform(0.1, 0.9, 800)
        true = (generator.random(800) < truth).astype(int)
        (made,) = compare(true, {"a": truth + 0.05, "b": truth - 0.05}, metrics=("ece",), draws=99, seed=seed)
        found += made.p_value <= 0.05
    assert found <= 6  # more than this happens once in 100 where the rate is 5 %


def test_models_are_compared_in_pairs_and_adjusted_together():
    made = compare(Y, {"a": P, "b": Q, "c": 1 - P}, metrics=("brier_score", "ece"), draws=99)
    assert len(made) == 6
    one = bootstrap_difference(Y, P, Q, metric="ece", draws=99)
    here = next(d for d in made if (d.first, d.second, d.metric) == ("a", "b", "ece"))
    assert (here.interval.low, here.interval.high) == (one.low, one.high)
    mean = next(d for d in made if (d.first, d.second, d.metric) == ("a", "b", "brier_score"))
    assert mean.p_value == paired_permutation_test(Y, P, Q, metric="brier_score", draws=99).p_value
    worse = next(d for d in made if (d.first, d.second, d.metric) == ("a", "c", "brier_score"))
    assert worse.better == ("a" if worse.reject else "")
    assert json.dumps([d.to_dict() for d in made])


def test_equal_models_do_not_differ():
    for difference in compare(Y, {"a": P, "b": P.copy()}, draws=99):
        assert difference.value == 0
        assert difference.p_value == 1
        assert difference.better == ""


def test_different_rows_are_compared_as_independent_samples():
    y, p = drawn(900, 3)
    same = compare_samples((Y, P), (y, p), draws=199)
    assert not any(d.better for d in same)
    apart = compare_samples((Y, P), (y, 1 - p), metrics=("brier_score",), draws=199, names=("good", "bad"))
    assert apart[0].better == "good"
    grouped = compare(Y, {"a": P, "b": Q}, groups=np.arange(len(Y)) // 4, draws=99)
    assert grouped[0].interval.units == 100


# Monitors


@pytest.mark.parametrize("method", ["cox_mixture", "bins", "average"])
def test_a_saved_monitor_continues_as_if_never_stopped(method):
    y, p = drawn(300, 7, slope=2.0)
    whole = CalibrationMonitor(method=method).feed(y, p)
    piecewise = CalibrationMonitor(method=method)
    for start in range(0, 300, 37):
        piecewise = CalibrationMonitor.from_dict(json.loads(json.dumps(piecewise.to_dict())))
        piecewise = piecewise.feed(y[start : start + 37], p[start : start + 37])
    assert piecewise == whole  # bit for bit


def test_an_impossible_outcome_is_remembered_for_good():
    state = CalibrationMonitor().feed([1], [0.0]).feed([0, 1], [0.2, 0.9])
    back = CalibrationMonitor.from_dict(json.loads(json.dumps(state.to_dict())))
    assert back.log_e_value == math.inf
    assert back.result().p_value == 0
    assert back.stopping_index == 1


def test_streams_merge_by_adding_their_evidence():
    y, p = drawn(200, 7, slope=2.0)
    parts = [CalibrationMonitor(method="cox_mixture").feed(y[s], p[s]) for s in (slice(0, 90), slice(90, 200))]
    whole = CalibrationMonitor(method="cox_mixture").feed(y, p)
    assert parts[0].merge(parts[1]).log_e_value == pytest.approx(whole.log_e_value, abs=1e-9)
    assert parts[1].merge(parts[0]).rows == 200
    with pytest.raises(MergeError, match="only monitors of method cox_mixture"):
        CalibrationMonitor().merge(CalibrationMonitor())


def test_streams_of_different_levels_are_not_merged():
    first, second = (CalibrationMonitor(method="cox_mixture", alpha=alpha) for alpha in (0.05, 0.01))
    with pytest.raises(MergeError, match="monitors of one alpha"):
        first.merge(second)


@pytest.mark.parametrize("choice", [{"method": "cox"}, {"alpha": 1.0}, {"bins": 0}, {"prior": 0.0}])
def test_a_monitor_of_impossible_settings_is_refused(choice):
    with pytest.raises(InputError, match=f"{next(iter(choice))} must be"):
        CalibrationMonitor(**choice)


@pytest.mark.parametrize(("label", "prob"), [(0, np.nextafter(1, 0)), (1, 5e-324)])
def test_a_bet_against_the_outcome_loses_half_at_most(label, prob):
    # The rival of a forecast just below 1 rounds to 1 itself: a miss must not end the walk for good.
    before = CalibrationMonitor(method="bins").feed([1 - label], [0.95 if label == 0 else 0.05])
    after = before.feed([label], [prob])
    assert after.bin_log - before.bin_log == pytest.approx(-math.log(2))


def test_outcomes_without_forecasts_are_refused():
    assert sequential_calibration_test([], []).p_value == 1
    with pytest.raises(InputError):
        sequential_calibration_test([1, 0], [])


def test_functions_are_given_whole_numbers_and_doubles():
    y, p = [1, 0, 1], np.float32([0.5, 0.25, 0.75])
    assert bootstrap_interval(y, p, metric=lambda true, _: np.mean(2 * true - 1), draws=2).value == pytest.approx(1 / 3)
    first, second = np.float32([0.1]), np.array([0.4])
    made = paired_permutation_test([1], first, second, metric=lambda true, prob: np.mean(true - prob), draws=19)
    assert made.p_value == 1  # swapping one row changes the sign only; no digit may be lost on the way


@pytest.mark.parametrize("metric", ["skce_ul", lambda true, prob: 0.0])
def test_weights_that_a_metric_would_not_see_are_refused(metric):
    with pytest.raises(InputError, match="takes no sample weights"):
        bootstrap_interval([1, 0, 1, 0], [0.2, 0.4, 0.6, 0.8], metric=metric, sample_weight=[1, 2, 3, 4], draws=2)


def test_what_is_no_state_is_refused():
    with pytest.raises(InputError, match="not the state of a calibration monitor"):
        CalibrationMonitor.from_dict({"colour": "blue"})


@pytest.mark.parametrize("method", ["cox_mixture", "bins", "average"])
def test_false_alarms_stay_below_alpha_at_any_time(method):
    alarms = sum(
        sequential_calibration_test(*drawn(250, 1000 + s), method=method, alpha=0.1).reject for s in range(120)
    )
    # At most 10 % of 120; three standard errors above that is 22.
    assert alarms <= 22


def test_a_confidence_sequence_holds_at_all_times():
    broken = 0
    for seed in range(60):
        y, p = drawn(200, 2000 + seed)
        broken += any(
            abs((s := confidence_sequence(y[:t], p[:t])).estimate) > s.high - s.estimate for t in range(1, 200, 9)
        )
    assert broken <= 9


def test_the_monitor_catches_a_model_that_drifts():
    y, p = drawn(1500, 7, slope=2.5)
    assert 0 < sequential_calibration_test(y, p).stopping_index < 800


# Plans


def test_more_rows_are_needed_nearer_to_a_limit():
    rows = [
        plan([Target(name="ece", kind="error", expected=e, limits=(0.15,), variance=0.15)]).rows
        for e in (0.02, 0.08, 0.12, 0.14)
    ]
    assert rows == sorted(rows)
    assert plan([Target(name="ece", kind="error", expected=0.15, limits=(0.15,))]).rows is None


def test_a_planned_sample_is_firm_as_often_as_promised():
    target = Target(name="ece", kind="error", expected=0.06, limits=(0.1,), variance=0.25)
    rows = plan([target]).rows
    rng = np.random.Generator(np.random.PCG64(1))
    firm = 0
    for _ in range(80):  # ten bins, outcomes 6 points below their confidence near one half: variance about 0.25
        p = (np.arange(rows) % 10 + 0.5) / 10 * 0.2 + 0.4
        y = (rng.random(rows) < p - 0.06).astype(int)
        bins = (np.arange(rows) % 10)[None]
        size = np.bincount(bins[0], minlength=10)
        gap = np.bincount(bins[0], weights=y - p, minlength=10) / size
        frequency = np.bincount(bins[0], weights=y, minlength=10) / size
        firm += BinnedError(size / rows, gap, frequency, rows, 1).ends(0.95)[1] < 0.1
    assert 0.8 <= firm / 80 <= 1.0


def test_a_planned_share_is_firm_by_the_binomial_law():
    target = Target(name="u_recall", kind="share", expected=0.6, limits=(0.5, 0.7))
    rows = plan([target]).rows
    hits = np.arange(rows + 1)
    inside = [clopper_pearson(h, rows, 0.95)[0] > 0.5 and clopper_pearson(h, rows, 0.95)[1] < 0.7 for h in hits]
    assert stats.binom.pmf(hits[inside], rows, 0.6).sum() >= 0.9


def test_the_fewest_rows_are_found_within_a_percent():
    assert 1000 <= fewest(lambda n: float(n >= 1000), 0.9) <= 1010
    assert fewest(lambda n: 0.0, 0.9) is None


# Commands


@pytest.fixture
def files(tmp_path):
    for name, prob in (("a", P), ("b", Q)):
        rows = "".join(f"{p:.6f},{y}\n" for p, y in zip(np.clip(prob, 0.01, 0.99), Y, strict=True))
        (tmp_path / f"{name}.csv").write_text("confidence,correct\n" + rows)
    turned = np.random.Generator(np.random.PCG64(0)).permutation(len(Y))
    for name, prob in (("c", P), ("d", Q)):
        order = turned if name == "d" else np.arange(len(Y))
        rows = "".join(f"q{i},{min(max(prob[i], 0.01), 0.99):.6f},{Y[i]}\n" for i in order)
        (tmp_path / f"{name}.csv").write_text("id,confidence,correct\n" + rows)
    return tmp_path


def ran(*arguments):
    return CliRunner().invoke(command, [str(a) for a in arguments], catch_exceptions=False)


def test_the_command_test_says_what_is_refuted(files):
    text = ran("test", files / "a.csv", "--draws", 99, "--tau", 0.3).output
    assert "Perfect calibration" in text
    assert "ece at most 0.3: shown to be kept" in text
    made = json.loads(ran("test", files / "a.csv", "--draws", 99, "--json").output)
    assert {f["metric"] for f in made["calibration"]} >= {"ece", "ecd", "ecce_mad"}
    assert made["tolerance"] is None


def test_the_gate_closes_on_a_refuted_model(files, tmp_path):
    rows = "".join(f"{1 - p:.6f},{y}\n" for p, y in zip(P, Y, strict=True))
    (tmp_path / "bad.csv").write_text("confidence,correct\n" + rows)
    assert ran("test", tmp_path / "bad.csv", "--draws", 199, "--gate").exit_code == 1
    assert ran("test", tmp_path / "bad.csv", "--draws", 199).exit_code == 0


def test_figures_are_written(files):
    assert ran("test", files / "a.csv", "--draws", 99, "--figure", files / "t.png").exit_code == 0
    assert ran("compare", files / "a.csv", files / "b.csv", "--draws", 99, "--figure", files / "c.svg").exit_code == 0
    assert (files / "t.png").stat().st_size > 1000
    assert (files / "c.svg").stat().st_size > 1000


def test_compare_finds_the_same_rows_by_outcome_or_by_id(files):
    by_row = json.loads(ran("compare", files / "a.csv", files / "b.csv", "--draws", 99, "--json").output)
    by_id = json.loads(ran("compare", files / "c.csv", files / "d.csv", "--draws", 99, "--json").output)
    assert by_row["pairing"] == by_id["pairing"] == "same rows"
    values = [[d["value"] for d in made["differences"]] for made in (by_row, by_id)]
    assert values[0] == pytest.approx(values[1], abs=1e-9)
    apart = ran("compare", files / "a.csv", files / "b.csv", "--draws", 99, "--unpaired").output
    assert "different rows" in apart


def test_compare_refuses_one_file_and_ids_with_other_outcomes(files):
    assert ran("compare", files / "a.csv").exit_code == 2
    for name in (
        "c",
        "d",
    ):  # whether an event happened is a fact of the row; whether an answer is right, one of the model
        path = files / f"{name}.csv"
        path.write_text(path.read_text().replace("confidence,correct", "prob,label"))
    text = (files / "d.csv").read_text().splitlines()
    text[1] = text[1][:-1] + str(1 - int(text[1][-1]))
    (files / "e.csv").write_text("\n".join(text) + "\n")
    with pytest.raises(InputError, match="the same ids but not the same outcomes"):
        ran("compare", files / "c.csv", files / "e.csv")


def test_plan_knows_the_limits_of_both_standards():
    text = ran("plan", "--level", "L2", "--expected-ece", 0.06).output
    assert "ONTO-ERS: 1,000 rows" in text
    assert "ONTO 42001" in text
    made = json.loads(ran("plan", "--expected-ece", 0.06, "--expected-u-recall", 0.62, "--json").output)
    names = [need["name"] for need in made["standards"]["ONTO-ERS"]["needs"]]
    assert names == ["ece", "u_recall", "ers"]
    assert made["standards"]["ONTO 42001"]["rows"] > 5000
    assert "no number of rows" in ran("plan", "--level", "L2", "--expected-ece", 0.15, "--standard", "ers").output


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["ece", "mce", "ecd"])
def test_the_level_of_the_null_test_holds(metric):
    rejected = sum(consistency_test(*drawn(300, 5000 + s), metric=metric, draws=99).reject for s in range(600))
    assert 0.03 <= rejected / 600 <= 0.07


def test_debiased_and_plug_in_errors_have_intervals_for_their_own_bins():
    assert interval("ece_db", Y, P) == interval("ece", Y, P, bins=15, binning="mass")
    assert ece_db(Y, P, interval=True).interval == interval("ece_db", Y, P)


@pytest.mark.parametrize("name", ["vece", "piece", "klce", "pce"])
def test_columns_that_a_metric_reads_stay_with_their_rows(name):
    rng = np.random.Generator(np.random.PCG64(21))
    prob = rng.random(40)
    true = (rng.random(40) < prob).astype(int)
    metric = find(name)
    column = rng.integers(0, 3, 40) if "groups" in metric.card.needs else rng.random((40, 2))
    (word,) = metric.card.needs

    def value(rows, labels):
        answer = metric(labels, prob[rows], **{word: column[rows]})
        return getattr(answer, "headline", answer)

    everything = np.arange(40)
    uniform = np.random.Generator(np.random.PCG64(3)).random((9, 40))
    kept = [value(everything, (row < prob).astype(int)) for row in uniform]
    found = consistency_test(true, prob, metric=name, metric_params={word: column}, draws=9, alpha=0.1, seed=3)
    assert found.value == pytest.approx(value(everything, true))
    assert found.null_mean == pytest.approx(np.mean(kept))
    rows = (uniform * 40).astype(int)
    drawn = [value(row, true[row]) for row in rows]
    found = bootstrap_interval(true, prob, metric=name, metric_params={word: column}, draws=9, seed=3)
    assert found.bias == pytest.approx(np.mean(drawn) - found.value)


def test_a_column_that_is_missing_is_asked_for_in_one_sentence():
    with pytest.raises(InputError, match=r"vece needs the column features; .* metric_params=\{'features': …\}"):
        consistency_test([0, 1], [0.2, 0.7], metric="vece")
    with pytest.raises(InputError, match="metric_params must not hold sample_weight"):
        bootstrap_interval([0, 1], [0.2, 0.7], metric="ece", metric_params={"sample_weight": [1, 2]})


@pytest.mark.parametrize("seed", range(6))
def test_beyond_its_threshold_a_test_rejects_and_within_it_does_not(seed):
    y, p = drawn(300, 40 + seed, slope=1.0 + 0.15 * seed)
    for finding in calibration_tests(y, p, draws=199):
        beyond = finding.upper is not None and finding.value > finding.upper
        beyond |= finding.lower is not None and finding.value < finding.lower
        assert beyond == (finding.p_value <= 0.05), finding
    for method in ("resampling", "asymptotic"):
        safe = safe_calibration_test(y, p, method=method, draws=199)
        assert safe.reject is (safe.value > safe.threshold) and safe.reject is (safe.p_value <= 0.05)
    assert json.loads(safe.to_json())["reject"] in (True, False)


def test_safe_calibration_is_in_the_catalogue_with_its_variants_and_its_clip():
    y, p = drawn(300, 3)
    certain = np.where(p > 0.97, 1.0, p)
    certain[0], y[0] = 0.0, 1
    assert safe_calibration_test(y, certain, draws=99).value == math.inf
    clipped = safe_calibration_test(y, certain, draws=99, eps=1e-3)
    assert math.isfinite(clipped.value)
    plain = safe_calibration_test(y, np.clip(certain, 1e-3, 1 - 1e-3), draws=99)
    assert (clipped.value, clipped.p_value) == (plain.value, plain.p_value)
    classes = np.full((300, 3), 1 / 3)
    label = np.repeat([0, 1, 2], [120, 100, 80])
    # The formula of the true class against the rest is not 0 for calibrated classes, and its test knows.
    found = safe_calibration_test(label, classes * [1.2, 1.0, 0.8], draws=99, variant="true_vs_rest")
    assert found.value > 0.3 and not found.reject


def test_what_chance_adds_to_an_error_makes_no_difference_of_models():
    """Both say 0.05 too much everywhere; the first says many things, the second one: at few rows its `ece` is much less."""
    called = 0
    for seed in range(12):
        rng = np.random.Generator(np.random.PCG64(seed))
        true = 0.1 + 0.8 * rng.random(20)
        y = (rng.random(20) < true).astype(int)
        found = compare(y, {"spread": true + 0.05, "constant": np.full(20, 0.55)}, metrics=["ece", "mce"], draws=199)
        called += sum(d.p_value <= 0.05 for d in found)
    assert called <= 4  # of 24; 15 before labels were drawn


def test_the_interval_of_a_difference_holds_the_difference():
    for seed in (101, 113, 145):
        rng = np.random.default_rng(seed)
        n = int(rng.choice([30, 200, 2000]))
        p = rng.random(n)
        y, q = rng.random(n) < p, np.clip(p + 0.02 * rng.standard_normal(n), 0.001, 0.999)
        metrics = ["drmsce_bcs", "ece", "mce"]
        paired = compare(y, {"a": p, "b": q}, metrics=metrics, draws=99, kind="event")
        apart = compare_samples((y, p), (y, q), metrics=metrics, draws=99, kind="event")
        for found in (*paired, *apart):
            assert found.interval.low <= found.value <= found.interval.high, (seed, found.metric)
