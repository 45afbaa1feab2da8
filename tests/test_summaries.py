"""Exact sums: the same integers for any order, any chunking, and back from bytes."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epimeter.errors import MergeError, ReadError
from epimeter.metrics import brier_score, nll
from epimeter.passes.plan import Plan
from epimeter.report import evaluate
from epimeter.summaries import Bins, ClassBins, MomentBins, Ordered, Rows, fixed, paired
from epimeter.summaries.sorting import sorted_keys, unpacked
from epimeter.summaries.travel import from_bytes, to_bytes
from epimeter.views import view

PROBABILITIES = st.lists(
    st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 0.1, 0.3, 0.5, 0.7, 0.9999999999999999])),
    min_size=1,
    max_size=60,
)
RECIPES = (
    Bins(10),
    Bins(15),
    Bins(7, "mass"),
    MomentBins(15),
    ClassBins(5),
    brier_score.reads,
    nll.reads,
    Ordered(),
    Rows("given"),
)


def rows(prob):
    rng = np.random.Generator(np.random.PCG64(len(prob)))
    return view((rng.random(len(prob)) < 0.5).astype(int), np.array(prob))


@given(st.lists(st.floats(-60, 60), max_size=50))
def test_a_fixed_total_is_the_sum_of_rounded_numbers(values):
    exact = sum(Fraction(round(Fraction(v) * 2**44), 2**44) for v in values)
    found = fixed.total(np.array(values, float))
    assert Fraction(int(found.units)) + Fraction(int(found.steps), 2**44) == exact


@given(st.lists(st.floats(-60, 60), min_size=1, max_size=50), st.randoms())
def test_totals_by_cell_do_not_depend_on_the_order(values, random):
    cells = [random.randrange(4) for _ in values]
    order = list(range(len(values)))
    random.shuffle(order)
    straight = fixed.binned(np.array(values), np.array(cells), 4)
    turned = fixed.binned(np.array(values)[order], np.array(cells)[order], 4)
    assert straight == turned


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1e6)), min_size=1, max_size=40))
def test_weighted_totals_are_right_to_the_last_bit(pairs):
    values, weight = (np.array(column) for column in zip(*pairs, strict=True))
    found = paired.binned(values, weight, np.zeros(len(values), int), 1).floats()[0]
    exact = float(sum(Fraction(v) * Fraction(w) for v, w in pairs))
    assert found == pytest.approx(exact, rel=1e-15, abs=1e-18 * max(1.0, weight.max()))


@pytest.mark.parametrize(
    "recipe",
    RECIPES,
    ids=lambda recipe: (
        f"{type(recipe).__name__}-{getattr(recipe, 'bins', '')}{getattr(getattr(recipe, 'score', None), '__name__', '')}"
    ),
)
@settings(max_examples=25)
@given(prob=PROBABILITIES, cut=st.integers(0, 60), swap=st.booleans())
def test_two_parts_merged_are_the_whole_to_the_bit(recipe, prob, cut, swap):
    whole = rows(prob).read_as(recipe.reading)
    cut = min(cut, whole.n_rows)
    parts = [whole.take(slice(0, cut)), whole.take(slice(cut, None))]
    parts = [part for part in parts if part.n_rows]
    if swap and recipe.streams:
        parts = parts[::-1]
    merged = recipe.summarise(parts[0])
    for part in parts[1:]:
        merged = merged.merge(recipe.summarise(part))
    assert to_bytes(recipe.finish(merged)) == to_bytes(recipe.finish(recipe.summarise(whole)))


@pytest.mark.parametrize(
    "recipe",
    RECIPES,
    ids=lambda recipe: (
        f"{type(recipe).__name__}-{getattr(recipe, 'bins', '')}{getattr(getattr(recipe, 'score', None), '__name__', '')}"
    ),
)
def test_a_summary_travels_as_bytes_and_back(recipe):
    given_rows = rows(list(np.linspace(0, 1, 40))).read_as(recipe.reading)
    data = to_bytes(recipe.summarise(given_rows))
    assert to_bytes(from_bytes(data)) == data


def test_every_damaged_byte_of_a_summary_is_noticed():
    data = to_bytes(Bins(3).summarise(rows([0.1, 0.5, 0.9])))
    for position in range(len(data)):
        broken = bytearray(data)
        broken[position] ^= 1
        with pytest.raises(ReadError):
            from_bytes(bytes(broken))
    for length in range(0, len(data), 7):
        with pytest.raises(ReadError):
            from_bytes(data[:length])


def test_totals_of_different_recipes_do_not_merge():
    left, right = Bins(10).summarise(rows([0.5])), Bins(15).summarise(rows([0.5]))
    with pytest.raises(MergeError, match="cannot merge totals of 10 and of 15 bins"):
        left.merge(right)
    with pytest.raises(MergeError, match="weighted and unweighted"):
        left.merge(Bins(10).summarise(view([1], [0.5], sample_weight=[2.0])))


def test_one_pass_shares_summaries_between_metrics():
    plan = Plan.of("ece,mce,esce", {}, kind="event", weighted=False)
    assert [recipe for recipe in plan.streaming if isinstance(recipe, Bins)].count(Bins(10)) == 1


def test_a_report_has_the_same_bits_whatever_the_chunks(monkeypatch):
    rng = np.random.Generator(np.random.PCG64(3))
    prob = rng.random(5_000)
    true = rng.random(5_000) < prob
    whole = evaluate(true, prob, intervals=None).to_dict()
    for chunk in (1, 7, 1_000, 4_999):
        if chunk == 1:
            part = evaluate(true[:50], prob[:50], intervals=None).to_dict()
            monkeypatch.setattr("epimeter.passes.workers.CHUNK", chunk)
            assert evaluate(true[:50], prob[:50], intervals=None).to_dict() == part
            continue
        monkeypatch.setattr("epimeter.passes.workers.CHUNK", chunk)
        assert evaluate(true, prob, intervals=None).to_dict() == whole
    turned = rng.permutation(5_000)
    assert evaluate(true[turned], prob[turned], intervals=None).to_dict() == whole


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30))
def test_packed_rows_sort_by_confidence_then_outcome(pairs):
    prob, true = np.array([p for p, _ in pairs]), np.array([y for _, y in pairs])
    back = list(zip(*(column.tolist() for column in unpacked(sorted_keys(prob, true))[:2]), strict=True))
    assert back == sorted((p, float(y)) for p, y in pairs)
