"""What is read off the cells lies within its stated bound of the exact value."""

import numpy as np
import pyarrow as pa
import pytest

from epimeter import scan
from epimeter.card_index import catalogue, find
from epimeter.metrics.kernel.laplace import kernel_form
from epimeter.passes.bounds import bounded
from epimeter.passes.bounds.cuts import _largest, _least
from epimeter.report.text import text
from epimeter.schema import streams
from epimeter.summaries.cell_totals import CELLS, MIXED, WIDTH
from epimeter.summaries.cells import Cells
from epimeter.summaries.row_totals import RowTotals
from epimeter.views import view
from slow_rows import cells as slow_cells

DISTRIBUTIONS = {
    "uniform": lambda rng, n: rng.random(n),
    "U-shaped": lambda rng, n: rng.beta(0.5, 0.5, n),
    "99 % above 0.99": lambda rng, n: np.where(rng.random(n) < 0.99, 0.99 + 0.01 * rng.random(n), rng.random(n)),
    "ten distinct values": lambda rng, n: rng.choice(np.arange(1, 11) / 10, n),
    "half exactly 1.0": lambda rng, n: np.where(rng.random(n) < 0.5, 1.0, rng.random(n)),
}
CONTINUOUS = ("uniform", "U-shaped", "99 % above 0.99")
READINGS = [
    ("ece", {"binning": "mass"}),
    ("ece", {"binning": "mass", "bins": 15}),
    ("lp_ce", {"binning": "mass", "norm": 2.0}),
    ("lp_ce", {"binning": "mass", "norm": float("inf")}),
    ("mce", {"binning": "mass"}),
    ("ecce_mad", {}),
    ("ecce_r", {}),
    ("smece", {}),
    ("smece", {"bandwidth": 0.003}),
    ("lkce", {}),
    ("lkce", {"squared": True}),
    ("mmce", {"bandwidth": 0.05}),
    ("mmce", {"kernel": "gaussian", "bandwidth": 0.05}),
    ("mmce_weighted", {}),
]


def both(name, choices, y, p, cells):
    """The exact value, the value off the cells, and the bound."""
    metric = find(name)
    reading = bounded(metric, *metric.settle(choices))
    answer, error = reading(cells)
    exact = metric(y, p, **choices)
    return float(getattr(exact, "value", exact)), float(getattr(answer, "value", answer)), error


def drawn(name, n, power, seed=7):
    rng = np.random.default_rng(seed)
    p = DISTRIBUTIONS[name](rng, n)
    return (rng.random(n) < p**power).astype(np.uint8), p


@pytest.mark.parametrize("power", [1.0, 1.3], ids=["calibrated", "overconfident"])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_the_exact_value_is_within_the_bound(name, power):
    for n in (1, 2, 17, 1_000, 30_000):
        y, p = drawn(name, n, power)
        cells = Cells().of(view(y, p))
        for metric, choices in READINGS:
            exact, found, error = both(metric, choices, y, p, cells)
            assert np.isnan(exact) == np.isnan(found)
            assert np.isnan(exact) or abs(found - exact) <= error, (metric, choices, n)


@pytest.mark.parametrize("seed", range(6))
def test_rows_crowded_into_few_cells_are_within_the_bound(seed):
    """The worst case: few cells, many rows in each, outcomes in order inside the cell."""
    rng = np.random.default_rng(seed)
    p = np.sort((rng.integers(0, 12, 400) + rng.random(400)) * WIDTH * rng.choice([1, 3, 6_000]))
    p = np.clip(np.round(p / WIDTH * 5) * WIDTH / 5 if seed > 3 else p, 0, 1)
    y = ((p / WIDTH) % 1 < 0.5).astype(np.uint8) if seed % 2 else (np.arange(400) % 7 < 3).astype(np.uint8)
    cells = Cells().of(view(y, p))
    for metric, choices in READINGS:
        exact, found, error = both(metric, choices, y, p, cells)
        assert abs(found - exact) <= error, (metric, choices)


def test_confidences_that_repeat_are_read_off_exactly():
    for name in ("ten distinct values",):
        y, p = drawn(name, 20_000, 1.2)
        cells = Cells().of(view(y, p))
        for metric in ("ecce_mad", "ecce_r", "smece", "lkce", "mmce"):
            exact, found, error = both(metric, {}, y, p, cells)
            assert error <= 3e-9 and abs(found - exact) <= error


@pytest.mark.slow
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_ten_million_rows_are_within_the_bound(name):
    for power in (1.0, 1.2):
        y, p = drawn(name, 10_000_000, power)
        cells = Cells().of(view(y, p))
        for metric, choices in READINGS:
            exact, found, error = both(metric, choices, y, p, cells)
            assert abs(found - exact) <= error, (metric, choices, power)
            if name in CONTINUOUS and metric in ("ece", "ecce_mad", "ecce_r", "smece", "lkce"):
                # Every cut may meet a run of equal confidences of which the cells know nothing: a tenth of 1e-4 for each.
                assert error < 1e-5 * choices.get("bins", 10), (metric, choices, power)


def test_the_best_corner_and_the_best_signs_are_those_of_all():
    rng = np.random.default_rng(0)
    for _ in range(20):
        residual = rng.normal(size=4)
        low, high = -rng.random(3), rng.random(3)
        errors = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T
        ends = np.concatenate([np.zeros((len(errors), 1)), errors, np.zeros((len(errors), 1))], axis=1)
        sums = np.abs(residual + np.diff(ends, axis=1)).sum(axis=1)
        assert _largest(residual, low, high) == pytest.approx(sums.max())
        inside = low + (high - low) * rng.random((4_000, 3))
        ends = np.concatenate([np.zeros((4_000, 1)), inside, np.zeros((4_000, 1))], axis=1)
        assert _least(residual, low, high) <= np.abs(residual + np.diff(ends, axis=1)).sum(axis=1).min() + 1e-12


def test_the_compiled_cells_are_those_of_their_slow_twin():
    rng = np.random.default_rng(1)
    edges = np.arange(CELLS + 1) / CELLS
    for p in (
        rng.random(20_000),
        rng.choice([0.0, -0.0, 0.1, 0.5, 1.0], 5_000),
        rng.random(5_000).astype(np.float32),
        np.nextafter(edges, 0.0).clip(0),
        np.nextafter(edges, 1.0).clip(0, 1),
        edges,
    ):
        y = (rng.random(len(p)) < 0.5).astype(np.uint8)
        rows = view(y, p)
        slow, compiled = slow_cells(rows), RowTotals([Cells()])
        for part in (slice(0, 1_234), slice(1_234, None)):
            assert compiled.add_all(rows.true[part], rows.prob[part])
        halves = [slow_cells(rows.take(part)) for part in (slice(0, 99), slice(99, None))]
        for found in (compiled.summary(Cells()), halves[0].merge(halves[1])):
            assert np.array_equal(found.count, slow.count)
            assert found.prob == slow.prob
            assert np.array_equal(found.only, slow.only)
        assert slow.n_rows == len(p)
        assert float(slow.stated.sum().floats()) == pytest.approx(float(np.sum(p, dtype=np.float64)), rel=1e-12)


def test_a_cell_knows_whether_its_rows_agree():
    cells = Cells().of(view([0, 1, 1], [0.5, 0.5, 0.5 + 1e-9]))
    assert cells.only[CELLS // 2] == MIXED
    assert Cells().of(view([0, 1], [0.5, 0.5])).only[CELLS // 2] == 0.5


def test_the_report_states_the_error_and_the_card_the_way():
    y, p = drawn("uniform", 30_000, 1.1)
    table = pa.table({"confidence": p, "correct": y.astype(bool)})
    found = scan(table, ["ece", "smece", "ecce_mad", "ece_sweep"], row_limit=1_000)
    assert found["ece"].exact and found["ece"].error is None
    assert not found["smece"].exact and 0 < found["smece"].error < 1e-6
    assert found["smece"].to_dict()["error_at_most"] == found["smece"].error
    assert set(found["ecce_mad"].fields) == {"value", "sigma", "statistic", "p_value"}
    assert list(found.left_out) == ["ece_sweep"]
    assert "(error at most " in text(found)
    below = scan(table, ["ece", "smece", "ecce_mad", "ece_sweep"])
    assert all(m.exact for m in below.measurements) and not below.left_out
    for metric in catalogue().values():
        assert ("within a stated bound" in streams(metric)) == (
            metric.card.bound is not None and not metric.reads.streams
        )


def test_more_slices_than_cells_can_be_kept_for_say_so():
    rng = np.random.default_rng(0)
    p = rng.random(5_000)
    table = {"confidence": p, "correct": rng.random(5_000) < p, "day": rng.integers(0, 100, 5_000)}
    found = scan(table, ["ece", "smece"], by="day", row_limit=100)
    assert found[3].left_out == {
        "smece": "needs all rows, which are more than row_limit (100); cells would bound it, but not for more than "
        "64 slices at once"
    }
    few = scan(table | {"day": table["day"] % 10}, ["ece", "smece"], by="day", row_limit=100)
    assert few[3]["smece"].error < 1e-5


def test_a_form_of_many_points_is_that_of_all_pairs():
    rng = np.random.default_rng(2)
    points, values = np.sort(rng.random(50)), rng.normal(size=50)
    pairs = values @ np.exp(-np.abs(points[:, None] - points) / 0.3) @ values
    assert kernel_form(points, values, 0.3, "laplace") == pytest.approx(pairs)
