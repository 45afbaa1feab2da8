"""The loops of a pass: same integers as the recipes, same refusals with slices as without, workers that join."""

import pickle

import numpy as np
import pytest

from epimeter.errors import InputError
from epimeter.passes.batch import Batch, SliceCodes
from epimeter.passes.ledger import MOST_CELLS, joined
from epimeter.passes.plan import Plan, identity
from epimeter.passes.tally import Tally
from epimeter.summaries import row_totals, unusual_rows
from epimeter.summaries.cells import Cells
from epimeter.summaries.logarithm import log
from epimeter.views import view
from slow_rows import same, slowly

N = 40_000


def plan(metrics=None, **rest):
    return Plan.of(metrics, {}, kind="event", weighted=False, **rest)


def rows(n=N, seed=0, kind=np.float64):
    rng = np.random.default_rng(seed)
    p = rng.random(n).astype(kind)
    return p, (rng.random(n) < p).astype(np.uint8)


def tally(p, y, slices=None, made=None, **rest):
    made = made or Tally(plan(**rest), lambda rows: False)
    made.add(Batch(true=y, prob=p, kind="event", slices=slices, source="x"))
    return made


def coded(code, names):
    return SliceCodes(code=np.asarray(code, np.int32), values=list(names))


def assert_same(share, y, p, which):
    for recipe in which.streaming:
        assert same(share.totals[recipe], slowly(recipe, view(y, p))), identity(recipe)


BAD = {"negative": -0.3, "just below 0": -1e-44, "beyond one": 1.5, "not a number": np.nan, "infinite": -np.inf}


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("true", [0, 1])
@pytest.mark.parametrize("value", BAD)
def test_a_bad_confidence_is_refused_alike_with_slices_and_without(value, true, kind):
    p, y = rows(kind=kind)
    p[5], y[5] = BAD[value], true
    said = []
    for slices in (None, coded(np.arange(N) % 3 - 1, "ab")):
        with pytest.raises(InputError) as caught:
            tally(p, y, slices)
        said.append(str(caught.value))
    assert said[0] == said[1] and said[0].endswith("(x, row 5)")


def test_an_outcome_of_two_is_refused_alike_with_slices_and_without():
    p, y = rows()
    y[7] = 2
    for slices in (None, coded(np.arange(N) % 3 - 1, "ab")):
        with pytest.raises(InputError, match=r"y_true must hold 0 and 1; 1 of 40000 does not, .*\(x, row 7\)$"):
            tally(p, y, slices)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_minus_zero_is_zero_with_slices_and_without(kind):
    p, y = rows(kind=kind)
    p[:600:2], y[:600] = -0.0, np.arange(600) // 2 % 2
    which = plan(cells=True)
    assert_same(tally(p, y, cells=True).ledger().slices[None], y, p, which)
    code = np.arange(N) % 3 - 1
    shares = tally(p, y, coded(code, "ab"), cells=True).ledger().slices
    for number, value in ((0, "a"), (1, "b"), (-1, None)):
        assert_same(shares[value], y[code == number], p[code == number], which)


NEAR = {
    "tiny": [1e-310, 5e-324, 1e-40, 2.0**-51, 2.0**-50, 2.0**-49],
    "near a half": [0.5 + 2.0**-k for k in (20, 27, 28, 29, 30, 52)] + [0.5 - 2.0**-k for k in (28, 31, 54)] + [0.5],
    "near the ends": [1 - 2.0**-k for k in (53, 40, 30, 29, 28)] + [2.0**-k for k in (40, 30, 29, 28)],
    "certain": [0.0, 1.0],
}


@pytest.mark.parametrize("metrics", [None, ["root_brier_score", "nll", "eo_ratio"]])
@pytest.mark.parametrize("name", NEAR)
def test_rows_near_nothing_a_half_and_the_ends_have_the_integers_of_the_recipes(name, metrics, monkeypatch):
    monkeypatch.setattr(unusual_rows, "BUNDLE", 1_000)
    rng = np.random.default_rng(1)
    p = np.where(rng.random(N) < 0.2, rng.choice(NEAR[name], N), rng.random(N))
    y = (rng.random(N) < 0.5).astype(np.uint8)
    assert_same(tally(p, y, metrics=metrics).ledger().slices[None], y, p, plan(metrics))
    code = rng.integers(0, 40, N)
    shares = tally(p, y, coded(code, range(40)), metrics=metrics).ledger().slices
    for value in (0, 17):
        assert_same(shares[value], y[code == value], p[code == value], plan(metrics))


def test_a_probability_and_its_rounded_complement_add_up_to_one():
    """Why the loop need not divide by q + p."""
    rng = np.random.default_rng(2)
    p = np.concatenate([rng.random(100_000), 2.0 ** -rng.uniform(0, 1_000, 100_000), 1 - 2.0 ** -np.arange(1.0, 54)])
    assert ((1.0 - p) + p == 1.0).all()
    assert -log(np.array([2.0**-50]))[0] < 64 and 8_192 * 64 * 2.0**44 <= 2.0**63  # a tile's sums fit into 64 bits


@pytest.mark.parametrize("n", [1, 31, 32, 33, 4_095, 4_097])
def test_runs_of_every_length_have_the_integers_of_the_recipes(n):
    p, y = rows()
    code = np.where(np.arange(N) < n, 0, 1)
    shares = tally(p, y, coded(code, "ab")).ledger().slices
    for number, value in enumerate("ab"):
        assert_same(shares[value], y[code == number], p[code == number], plan())


# Cells: packed while runs are long, set aside before they run over, dropped where slices are many.


def test_cells_are_the_same_however_they_are_packed(monkeypatch):
    which = plan(["ece"], cells=True)
    p, y = rows(3 * N)
    p[: N // 2] = np.round(p[: N // 2], 1)
    whole = slowly(Cells(), view(y, p))
    for most in (1 << 18, 30_000, 9_000):
        monkeypatch.setattr(row_totals, "MOST_CELL_ROWS", 2 * most)
        made = Tally(which, lambda rows: False)
        for begin in range(0, 3 * N, 7_001):
            rest = slice(begin, begin + 7_001)
            made.add(Batch(true=y[rest], prob=p[rest], kind="event"))
        assert same(made.ledger().slices[None].totals[Cells()], whole)


def test_packed_and_sliced_runs_mix():
    which = plan(["ece"], cells=True, by="s")
    made, kept = Tally(which, lambda rows: False), {}
    for seed, slices in enumerate(["a", "b", "a", coded(np.arange(N) % 2, "ab"), "b", coded(np.arange(N) % 2, "bc")]):
        p, y = rows(seed=seed)
        made.add(Batch(true=y, prob=p, kind="event", slices=slices))
        for value in "abc":
            mine = np.full(N, slices == value)
            if isinstance(slices, SliceCodes):
                mine = np.array(slices.values)[slices.code] == value
            kept.setdefault(value, []).append((y[mine], p[mine]))
    for value, parts in kept.items():
        y, p = (np.concatenate(column) for column in zip(*parts, strict=True))
        assert same(made.ledger().slices[value].totals[Cells()], slowly(Cells(), view(y, p))), value


# Workers.


def two_workers(codes, names, which):
    """The ledger of two workers, and of one."""
    parts, one = [], Tally(which, lambda rows: False)
    for seed, (code, values) in enumerate(zip(codes, names, strict=True)):
        p, y = rows(seed=seed)
        parts.append(tally(p, y, coded(code, values), made=Tally(which, lambda rows: False)))
        tally(p, y, coded(code, values), made=one)
    parts[0].absorb(parts[1])
    return parts[0].ledger(), one.ledger()


def assert_same_ledgers(left, right):
    assert left.slices.keys() == right.slices.keys()
    for value in left.slices:
        assert (left.slices[value].n_rows, left.slices[value].low, left.slices[value].high) == (
            right.slices[value].n_rows,
            right.slices[value].low,
            right.slices[value].high,
        )
        assert left.slices[value].totals.keys() == right.slices[value].totals.keys()
        for recipe in left.slices[value].totals:
            assert same(left.slices[value].totals[recipe], right.slices[value].totals[recipe]), identity(recipe)


def test_a_slice_that_one_worker_alone_has_seen():
    code = np.arange(N) % 3 - 1
    left, right = two_workers([code, code], ["ab", "bz"], plan(cells=True, by="s"))
    assert set(left.slices) == {"a", "b", "z", None}
    assert_same_ledgers(left, right)


@pytest.mark.parametrize("first", [3, MOST_CELLS + 1], ids=["few first", "many first"])
def test_cells_that_one_worker_has_dropped_are_dropped_by_both(first):
    second = 3 + MOST_CELLS + 1 - first
    codes = [np.arange(N) % first, np.arange(N) % second]
    left, right = two_workers(codes, [range(first), range(100, 100 + second)], plan(["ece"], cells=True, by="s"))
    assert_same_ledgers(left, right)
    assert all(Cells() not in share.totals for share in left.slices.values())


def test_cells_are_dropped_where_only_both_workers_together_have_many_slices():
    codes, names = [np.arange(N) % 40] * 2, [range(40), range(100, 140)]
    left, right = two_workers(codes, names, plan(["ece"], cells=True, by="s"))
    assert_same_ledgers(left, right)
    assert Cells() not in left.slices[0].totals


def test_a_worker_that_saw_few_rows_joins_one_that_saw_many():
    which = plan(cells=True)
    (p, y), (few_p, few_y) = rows(), rows(100, 1)
    both = np.concatenate([y, few_y]), np.concatenate([p, few_p])
    for order in (1, -1):
        made = [tally(p, y, cells=True), tally(few_p, few_y, cells=True)][::order]
        made[0].absorb(made[1])
        assert_same(made[0].ledger().slices[None], *both, which)
    empty = Tally(which, lambda rows: False)
    empty.absorb(tally(p, y, cells=True))
    assert_same(empty.ledger().slices[None], y, p, which)


def test_a_ledger_travels_whole_between_machines():
    p, y = rows()
    code = np.arange(N) % 3
    made = tally(p, y, coded(code, "abc"), cells=True, by="s").ledger()
    back = pickle.loads(pickle.dumps(made))
    assert type(back.slices["a"].totals) is dict
    assert_same_ledgers(back, made)
    assert_same_ledgers(joined([back, back]), joined([made, made]))
