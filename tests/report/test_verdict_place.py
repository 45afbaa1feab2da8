# SPDX-License-Identifier: Apache-2.0
"""Where the error lies: a range that says something, whichever way the errors are spread."""

import re

import numpy as np
import pytest

import epimeter
from epimeter.report.verdict import _densest


def _place(report):
    (told,) = [line for line in str(report).splitlines() if "of the error lies where" in line]
    share, low, high, rows = re.search(r"(\d+)% .* is ([\d.]+) to ([\d.]+): .*\(([\d,]+) rows\)", told).groups()
    return int(share), float(low), float(high), int(rows.replace(",", ""))


def test_an_error_everywhere_is_placed_where_half_of_it_lies():
    rng = np.random.default_rng(7)
    confidence = rng.beta(5, 1, 4000)
    correct = rng.random(4000) < confidence**0.6  # too little confidence at every value
    share, low, high, rows = _place(epimeter.evaluate(correct=correct, confidence=confidence))
    assert 45 <= share <= 85 and rows < 3000 and high - low < 0.6


def test_an_error_in_one_range_is_placed_there():
    rng = np.random.default_rng(8)
    confidence = rng.random(4000)
    correct = rng.random(4000) < np.where((confidence > 0.4) & (confidence < 0.6), confidence - 0.3, confidence)
    share, low, high, _ = _place(epimeter.evaluate(correct=correct, confidence=confidence))
    assert share >= 50 and low >= 0.3 and high <= 0.7


@pytest.mark.parametrize("seed", range(40))
def test_the_stretch_is_the_shortest_that_holds_half(seed):
    rng = np.random.default_rng(seed)
    gap = np.abs(rng.normal(size=15)) * (rng.random(15) < 0.8) * 10 ** rng.normal(size=15)
    run = np.flatnonzero(gap)
    chosen = _densest(run, gap)
    every = [run[a:b] for a in range(len(run)) for b in range(a + 1, len(run) + 1)]
    enough = [some for some in every if gap[some].sum() >= gap.sum() / 2]
    assert chosen[-1] - chosen[0] == min(some[-1] - some[0] for some in enough)
    assert gap[chosen].sum() >= gap.sum() / 2 * (1 - 1e-12)


def test_the_share_that_can_be_recovered_names_the_score_it_is_a_share_of():
    rng = np.random.default_rng(9)
    logits = rng.normal(size=(3000, 4)) * 3
    true = (logits / 3 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    told = str(epimeter.evaluate(true, np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)))
    assert "of the Brier score of its top label could be recovered" in told
