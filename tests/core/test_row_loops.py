"""The loops of the core and their slow twins give the same integers."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import epimeter.core
import epimeter.metrics.point as point
import slow_rows
from epimeter.core import lib
from epimeter.core.class_loops import top_labels
from epimeter.core.row_loops import sound, width_bins
from epimeter.errors import UnsoundRowsError
from epimeter.summaries import Bins, ClassBins, FineBins, MomentBins, fine
from epimeter.summaries.cuts import width_index
from epimeter.summaries.logarithm import log
from epimeter.summaries.row_totals import RowTotals
from epimeter.views import Binary, view
from slow_rows import same, slowly

SCORES = (
    "brier_score",
    "nll",
    "ecd",
    "spherical_score",
    "success_rate",
    "eo_ratio",
    "spiegelhalter_z",
    "ecd_test",
    "root_brier_score",
)
SHAPES = {
    "uniform": lambda rng, n: rng.random(n),
    "u-shaped": lambda rng, n: rng.beta(0.1, 0.1, n),
    "nearly certain": lambda rng, n: 1 - rng.random(n) ** 6 * 0.01,
    "ten values": lambda rng, n: rng.integers(0, 11, n) / 10,
    "one value": lambda rng, n: np.full(n, 0.3),
    "certain": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "tiny": lambda rng, n: rng.random(n) * 1e-300,
    "near certainty and a half": lambda rng, n: (
        rng.choice([0.0, 0.5, 1.0], n) + rng.choice([1, -1], n) * 10.0 ** rng.uniform(-320, -6, n)
    ).clip(0, 1),
}


@pytest.fixture(params=SHAPES, ids=str)
def rows(request):
    rng = np.random.Generator(np.random.PCG64(7))
    prob = SHAPES[request.param](rng, 40_001)
    surprises = rng.random(len(prob)) < 0.01  # so that certain forecasts are wrong, too
    return ((rng.random(len(prob)) < prob) ^ surprises).astype(np.uint8), prob


@pytest.fixture(params=[1, 3, 4])
def level(request):
    """Every level of the processor, as far as this one goes: all give the same bits."""
    lib.epi_limit_level(request.param)
    yield request.param
    lib.epi_limit_level(5)


def test_equal_width_bins(rows, level):
    given = Binary(*rows)
    for bins in (1, 10, 15, 256, 257, 1000):
        assert same(Bins(bins).of(given), slow_rows.bins(given, bins))


@pytest.mark.parametrize("bins", [1, 15, 300])
def test_null_moments(rows, bins, level):
    given = Binary(*rows)
    assert same(MomentBins(bins).of(given), slow_rows.moments(given, bins))


def test_several_sets_of_bins_in_one_pass(rows, level):
    recipes = [
        Bins(10),
        Bins(15),
        Bins(20),
        MomentBins(10),
        MomentBins(15),
        MomentBins(200),
        Bins(300),
        MomentBins(300),
    ]
    totals = RowTotals(recipes)
    for start in range(0, len(rows[0]), 9_001):
        assert totals.add_all(rows[0][start : start + 9_001], rows[1][start : start + 9_001])
    for recipe in recipes:
        assert same(totals.summary(recipe), slowly(recipe, Binary(*rows))), recipe


@pytest.mark.parametrize("bins", [1, 10, 1000])
def test_finer_sums_of_the_confidence(rows, bins):
    given = Binary(*rows)
    quick, index = FineBins(bins).of(given), width_index(given.prob, bins)
    assert (quick.count == np.bincount(index, minlength=bins)).all()
    assert quick.prob == fine.exact(given.prob, index, bins)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_scores(rows, name, kind, level):
    true, prob = rows
    recipe = getattr(point, name).reads
    given = Binary(true, prob.astype(kind))
    quick, slow = recipe.summarise(given), recipe.by_score(given)
    assert recipe.loop is not None
    assert quick.n_rows == slow.n_rows
    assert type(quick.total) is type(slow.total)
    assert quick.total == slow.total
    for counted in ("large", "plus", "minus", "infinite"):
        assert np.array_equal(getattr(quick, counted, 0), getattr(slow, counted, 0))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_class_bins_and_top_labels(kind):
    rng = np.random.Generator(np.random.PCG64(8))
    prob = rng.dirichlet(np.ones(7) * 0.3, 5_000).astype(kind)
    label = rng.integers(0, 7, 5_000)
    assert np.abs(prob.sum(axis=1, dtype=np.float64) - 1).max() < 1e-6
    given = view(label, prob)
    quick = ClassBins(15).of(given)
    for number, slow in enumerate(slow_rows.class_bins(given, 15)):
        assert same(quick.of_class(number), slow)
    top, guess = top_labels(prob, 1e-6)
    np.testing.assert_array_equal(guess, prob.argmax(axis=1))
    np.testing.assert_array_equal(top, prob.max(axis=1))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.25, 1.25])
def test_a_matrix_that_is_not_sound_has_no_top_labels(bad):
    prob = np.full((100, 4), 0.25)
    prob[63, 2] = bad
    assert top_labels(prob, 1e-6) is None


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf, -np.inf, -1e-30, -1.0, -2.0, -1e30, 1 + 1e-6, 2.0, 1e30])
def test_rows_that_are_not_sound_are_found_wherever_they_are(bad, kind, level):
    for place in (0, 7, 8, 8_191, 8_192, 9_999):
        prob, true = np.full(10_000, 0.25, kind), np.zeros(10_000, np.uint8)
        assert sound(true, prob)
        prob[place] = bad
        assert not sound(true, prob)
        assert not RowTotals([Bins(10)]).add_all(true, prob)
        with pytest.raises(UnsoundRowsError):
            width_bins(true, prob, 10)
        prob[place], true[place] = 0.5, 2
        assert not sound(true, prob)
        with pytest.raises(UnsoundRowsError):
            width_bins(true, prob, 10)


def test_the_core_refuses_slots_and_bounds_that_do_not_fit():
    totals = RowTotals([Bins(10)])
    totals.grow(2)
    true, prob = np.zeros(10, np.uint8), np.zeros(10)
    for start, slot in (([0, 11], [0]), ([0, 10], [2]), ([0, 10], [-1]), ([5, 3], [0]), ([-1, 3], [0])):
        with pytest.raises(ValueError, match="do not fit"):
            totals.add(true, prob, np.array(start), np.array(slot))


def test_the_polynomial_of_the_logarithm_is_within_its_bound():
    source = (Path(epimeter.core.__file__).parent / "logs.h").read_text()
    series = source[source.index("#define SERIES") : source.index("/* The logarithm")]
    terms = [float(term) for term in re.findall(r"0\.\d+", series)][::-1]
    assert len(terms) == 7
    widest = (3 - 2 * Fraction(2**0.5)) ** 2 * (1 + Fraction(1, 10**12))
    for k in range(1, 301):
        z = widest * k / 300
        series = sum(Fraction(2, 2 * j + 3) * z**j for j in range(14))
        found = sum(Fraction(term) * z**j for j, term in enumerate(terms))
        assert abs(z * (series - found)) / 2 < Fraction(1, 2**59)


def test_the_logarithm_is_within_two_ulp():
    rng = np.random.Generator(np.random.PCG64(10))
    x = np.concatenate([rng.random(100_000), 10.0 ** rng.uniform(-320, 0, 100_000), 1 - rng.random(100_000) * 1e-9])
    expected = np.log(x)
    assert (np.abs(log(x) - expected) <= 2 * np.spacing(np.abs(expected)) + 1e-320).all()
    assert log(np.array([0.0, 1.0])).tolist() == [-np.inf, 0.0]


def test_columns_of_a_matrix_are_read_as_vectors_are():
    """They do not lie beside each other in memory: what is made of them must live while a loop reads it."""
    rng = np.random.default_rng(5)
    both = rng.random((50_000, 3))
    true = (rng.random((50_000, 2)) < 0.5).astype(np.uint8)
    for column in range(3):
        strided, plain = Binary(true[:, 0], both[:, column]), Binary(true[:, 0].copy(), both[:, column].copy())
        assert sound(strided.true, strided.prob)
        for recipe in (Bins(10), Bins(15, "mass"), FineBins(7, "area"), MomentBins(15), point.nll.reads):
            assert same(recipe.of(strided), recipe.of(plain)), recipe
