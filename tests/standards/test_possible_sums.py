"""Sums that fit no records are refused, and those of any records are not."""

from dataclasses import replace

import numpy as np
import pytest

from epimeter.standards.ers_sums import ErsSums
from epimeter.summaries.fixed import total
from epimeter.views import view


def sums(correct, confidence):
    return ErsSums.of(view(np.asarray(correct, np.uint8), np.asarray(confidence, float)).event)


@pytest.mark.parametrize("seed", range(30))
def test_the_sums_of_records_are_possible(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 3000))
    grid = rng.choice([0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0, 0.6999999999999999, 0.7000000000000001, 1e-12], n)
    confidence = np.where(rng.random(n) < 0.3, grid, rng.random(n) ** rng.uniform(0.1, 5))
    made = sums(rng.random(n) < confidence, confidence)
    assert made.possible and made.merge(made).possible


def test_sums_of_no_records_are_not():
    rng = np.random.default_rng(1)
    confidence = rng.random(2000)
    made = sums(rng.random(2000) < confidence, confidence)

    assert made.possible
    assert not replace(made, squares=total(np.zeros(1))).possible  # squares 0 beside gaps
    assert not replace(made, squares=total(np.full(2000, 0.9))).possible
    swapped = replace(made, unsure=made.sure, sure=made.unsure)  # wrong answers on the wrong side of the threshold
    assert not swapped.possible
    lower = replace(
        made, whole=replace(made.whole, prob=made.unsure.prob + made.sure.prob)
    )  # the mean of a bin below its edge
    assert not lower.possible
