"""Compiled sorting and walking against their slow twins: the same integers, bit for bit."""

import numpy as np
import pytest
from twins import packed

from epimeter.metrics.cumulative import walk
from epimeter.summaries import sorting
from epimeter.views import view


def cases():
    rng = np.random.default_rng(0)
    n = 30_000
    yield "spread", rng.random(n)
    yield "crowded at one", rng.beta(8, 0.3, n)
    yield "ties", np.round(rng.random(n), 2)
    yield "near one", 1 - rng.random(n) * 1e-9
    yield "tiny", rng.random(n) * 1e-300
    yield "all equal", np.full(n, 0.3)
    yield "zeros and ones", rng.integers(0, 2, n).astype(float)
    yield "negative zeros", np.where(rng.random(n) < 0.5, -0.0, 0.0)
    yield "one far off", np.append(rng.random(n) * 1e-12, 1.0)
    yield "many scales", 10.0 ** -(rng.random(n) * 300)
    yield "sorted", np.sort(rng.random(n))
    yield "one row", np.array([0.25])
    yield "two rows", np.array([0.75, 0.25])
    yield "single precision", rng.random(n).astype(np.float32)


CASES = [pytest.param(prob, id=name) for name, prob in cases()]


def outcomes(prob):
    return (np.random.default_rng(1).random(len(prob)) < prob).astype(np.uint8)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("prob", CASES)
def test_compiled_sorting_gives_the_integers_of_sort(prob, threads, monkeypatch):
    monkeypatch.setattr(sorting, "cores", lambda: threads)
    monkeypatch.setattr(sorting, "A_THREAD", 1)
    true = outcomes(prob)
    plain = np.sort(packed(prob.astype(np.float64), true))
    found = sorting.sorted_keys(prob, true)
    np.testing.assert_array_equal(found, plain)
    wide, binary, _ = sorting.unpacked(found)
    np.testing.assert_array_equal(wide.view(np.int64), plain >> 1)
    np.testing.assert_array_equal(binary, plain & 1)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("prob", CASES)
def test_rows_with_weights_are_sorted_by_confidence_outcome_and_weight(prob, threads, monkeypatch):
    monkeypatch.setattr(sorting, "cores", lambda: threads)
    monkeypatch.setattr(sorting, "A_THREAD", 1)
    rng, true = np.random.default_rng(3), outcomes(prob)
    for weight in (rng.random(len(prob)), rng.integers(0, 4, len(prob)) * 1.0):
        order = np.lexsort((weight, true, prob))
        for got, column in zip(
            sorting.unpacked(sorting.sorted_keys(prob, true, weight)), (prob, true, weight), strict=True
        ):
            np.testing.assert_array_equal(got, column[order])


def test_columns_of_a_matrix_and_frozen_columns_are_sorted_too():
    matrix = np.random.default_rng(2).random((5000, 3))
    true = outcomes(matrix[:, 1])
    for column in (matrix[:, 1], view(true, matrix[:, 1]).prob):
        np.testing.assert_array_equal(sorting.sorted_keys(column, true), np.sort(packed(matrix[:, 1].copy(), true)))


@pytest.mark.parametrize("prob", CASES)
def test_the_compiled_walk_has_the_bits_of_the_slow_one(prob):
    event = view(outcomes(prob), prob)
    slow = walk.Walk(walk.steps_of(event, "group"))
    assert walk.span(event, "group") == walk.Span(slow.maximum, slow.minimum, slow.sigma)


def test_a_bad_walk_of_many_units_does_not_overflow():
    keys = np.sort(packed(np.full(1 << 20, 0.999), np.zeros(1 << 20, np.uint8)))
    high, low, _, _ = walk.extremes(keys, 0.25)
    assert walk.joined(*high) == 0.0
    assert walk.joined(*low) == pytest.approx(-0.999 * 2**20, rel=1e-15)
