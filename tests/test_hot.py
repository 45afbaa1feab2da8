"""The compiled loops and their slow twins give the same integers."""

from fractions import Fraction

import numpy as np
import pytest

import epimeter.metrics.point as point
from epimeter.matrix_scan import scan
from epimeter.summaries import Bins, ClassBins, FineBins, MomentBins, fast, hot
from epimeter.summaries.bins import MOMENTS
from epimeter.summaries.cuts import width_index
from epimeter.summaries.logarithm import TERMS, log
from epimeter.views import Binary, view

HOT_SCORES = (
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


@pytest.fixture
def slowly(monkeypatch):
    """Compute by numpy, whatever the number of rows."""

    def call(function):
        with monkeypatch.context() as patch:
            patch.setattr(fast, "worth", lambda n_rows: False)
            return function()

    return call


def test_equal_width_bins(rows):
    true, prob = rows
    for bins in (1, 10, 15, 1000):
        quick = hot.width_totals(true, prob, bins)
        slow = fast.indexed_totals(true, prob, width_index(prob, bins), bins)
        assert (quick[0] == slow[0]).all()
        assert (quick[1] == slow[1]).all()
        assert quick[2] == slow[2]


@pytest.mark.parametrize("bins", [1, 2, 15, 100, 50_000])
def test_equal_mass_bins_without_a_sort(rows, bins, slowly):
    true, prob = rows
    given = view(true, prob)
    quick = hot.mass_totals(true, prob, bins)
    slow = slowly(lambda: Bins(bins, "mass").of(given))
    assert (quick[0] == slow.count).all()
    assert (quick[1] == slow.true.units).all()
    assert quick[2] == slow.prob
    np.testing.assert_array_equal(quick[3], slow.edges)


def test_null_moments(rows, slowly):
    given = view(*rows)
    quick, slow = MomentBins(15).of(given), slowly(lambda: MomentBins(15).of(view(*rows)))
    assert "hot_moments_15" in given.__dict__
    assert (quick.count == slow.count).all()
    for name in ("weight", "true", "prob", *MOMENTS):
        assert getattr(quick, name) == getattr(slow, name)


@pytest.mark.parametrize("bins", [1, 10, 1000])
@pytest.mark.parametrize("binning", ["width", "mass", "area"])
def test_finer_sums_of_the_confidence(rows, bins, binning, slowly):
    quick, slow = FineBins(bins, binning).of(view(*rows)), slowly(lambda: FineBins(bins, binning).of(view(*rows)))
    assert (quick.count == slow.count).all()
    assert quick.true == slow.true
    assert quick.prob == slow.prob


@pytest.mark.parametrize("name", HOT_SCORES)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_scores(rows, name, kind, slowly):
    true, prob = rows
    recipe = getattr(point, name).reads
    columns = true, prob.astype(kind)
    quick = recipe.summarise(Binary(*columns))
    slow = slowly(lambda: recipe.summarise(Binary(*columns)))
    assert quick.n_rows == slow.n_rows
    assert type(quick.total) is type(slow.total)
    assert quick.total == slow.total
    for counted in ("large", "plus", "minus", "infinite"):
        assert np.array_equal(getattr(quick, counted, 0), getattr(slow, counted, 0))


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_class_bins_and_top_labels(kind, slowly):
    rng = np.random.Generator(np.random.PCG64(8))
    prob = rng.dirichlet(np.ones(7) * 0.3, 5_000).astype(kind)
    label = rng.integers(0, 7, 5_000)
    assert np.abs(prob.sum(axis=1, dtype=np.float64) - 1).max() < 1e-6
    given = view(label, prob)
    quick, slow = hot.class_width_totals(label, prob, 15), slowly(lambda: ClassBins(15).of(given))
    assert (quick[0] == slow.count).all()
    assert (quick[1] == slow.true.units).all()
    assert quick[2] == slow.prob
    found = scan(prob, 1e-6)
    assert found is not None
    top, guess = found
    np.testing.assert_array_equal(guess, prob.argmax(axis=1))
    np.testing.assert_array_equal(top, prob.max(axis=1))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.25, 1.25])
def test_the_scan_of_a_matrix_is_never_sure_of_an_unsound_one(bad):
    prob = np.full((100, 4), 0.25)
    prob[63, 2] = bad
    assert scan(prob, 1e-6) is None


def test_resampled_totals():
    rng = np.random.Generator(np.random.PCG64(9))
    prob = rng.random(3_000)
    atoms = Bins(10).atoms(view(rng.random(3_000) < prob, prob))
    counts = rng.integers(0, 5, 3_000).astype(np.int32)
    np.testing.assert_array_equal(atoms.totals(counts, True), atoms.totals(counts, False))


def test_the_polynomial_of_the_logarithm_is_within_its_bound():
    widest = (3 - 2 * Fraction(2**0.5)) ** 2 * (1 + Fraction(1, 10**12))
    for k in range(1, 301):
        z = widest * k / 300
        series = sum(Fraction(2, 2 * j + 3) * z**j for j in range(14))
        found = sum(Fraction(term) * z**j for j, term in enumerate(TERMS))
        assert abs(z * (series - found)) / 2 < Fraction(1, 2**59)


def test_the_logarithm_is_within_two_ulp():
    rng = np.random.Generator(np.random.PCG64(10))
    x = np.concatenate([rng.random(100_000), 10.0 ** rng.uniform(-320, 0, 100_000), 1 - rng.random(100_000) * 1e-9])
    expected = np.log(x)
    assert (np.abs(log(x) - expected) <= 2 * np.spacing(np.abs(expected)) + 1e-320).all()
    assert log(np.array([0.0, 1.0])).tolist() == [-np.inf, 0.0]
