# SPDX-License-Identifier: Apache-2.0
"""The share of rows whose stated confidence an exact binomial test of its bin rejects."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.core import accepted, lib, read, write
from epimeter.limits import AtLeast, Between, BinCount
from epimeter.summaries import Rows
from epimeter.summaries.cuts import mass_borders, whole_borders, width_index
from epimeter.views import Binary

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@metric(
    title="Test-based calibration error",
    family="bin",
    reads=Rows("event"),
    range=(0.0, 1.0),
    direction="lower",
    test="exact",
    equation=r"TCE=\frac1N\sum_b\#\{i\in b:\ P_{bin}(x_b;n_b,c_i)\le\alpha\}",
    where={
        "x_b, n_b": "outcomes and rows in bin b",
        "P_bin(x; n, c)": "two-sided exact binomial p-value: sum of pmf(k) over all k with pmf(k) <= pmf(x)(1 + 1e-7)",
    },
    source="Matsubara et al. 2023 UAI; Lane 2025 s4.12",
    weighted=False,
    pitfalls="The authors give a percentage, here it is a fraction. A calibrated model scores about alpha, not 0. Sample "
    "weights have no meaning in an exact test and are refused. Print starts from single rows; here equal confidences are "
    "one block from the start.",
    aliases=("TCE (Matsubara)",),
)
def test_based_ce(
    view: Binary,
    *,
    alpha: Annotated[float, Between(0, 1)] = 0.05,
    binning: Literal["pava_bc", "width", "mass"] = "pava_bc",
    min_count: Annotated[int, AtLeast(1)] = 10,
    max_count: Annotated[int, AtLeast(1)] = 1000,
    bins: BinCount = 10,
) -> float:
    """Share of rows whose confidence is rejected, at level alpha, by the outcomes of their bin.

    Parameters
    ----------
    alpha
        Level of each test.
    binning
        ``pava_bc`` pools neighbours until they are monotone and large enough; ``width`` and ``mass`` as in `ece`.
    min_count, max_count
        Least and largest size of a pooled bin, for ``pava_bc``.
    bins
        Number of bins, for ``width`` and ``mass``.
    """
    order = np.argsort(view.prob)
    prob = view.prob[order].astype(np.float64)
    true = view.true[order].astype(np.int64)
    if binning == "width":
        sizes = np.bincount(width_index(prob, int(bins)))
    elif binning == "mass":
        sizes = np.diff(whole_borders(prob, mass_borders(len(prob), int(bins))))
    else:
        sizes = pooled(prob, true, int(min_count), int(max_count))
    sizes = sizes[sizes > 0].astype(np.int64)
    rejected = rejections(prob, true, sizes, alpha * (1 + 1e-12))  # a p-value that equals the level counts as such
    return rejected / len(prob)


def pooled(prob: Floats, true: Integers, min_count: int, max_count: int) -> Integers:
    """Sizes of the bins of PAVA-BC: neighbours pooled until monotone, between a least and a largest size."""
    if len(true) <= min_count:
        return np.array([len(true)])
    start = np.flatnonzero(np.append(True, prob[1:] != prob[:-1]))
    return pooled_sizes(np.add.reduceat(true, start), np.diff(np.append(start, len(true))), min_count, max_count)


def pooled_sizes(ones: Integers, sizes: Integers, min_count: int, max_count: int) -> Integers:
    """The stack of PAVA-BC (Matsubara et al. 2023, algorithm 1) over runs of equal confidences, more than min_count rows.

    The last runs that together hold min_count rows are one block, joined to the one before it when both fit. The authors'
    code compares 2 min_count with max_count here, so that their last bin may exceed it.
    """
    ones, sizes = np.ascontiguousarray(ones, np.int64), np.ascontiguousarray(sizes, np.int64)
    pooled_ones, pooled = np.zeros(len(ones) + 1, np.int64), np.zeros(len(ones) + 1, np.int64)
    runs, room = (read(ones), read(sizes), len(ones)), (write(pooled_ones), write(pooled), len(pooled))
    most = min(max_count, int(sizes.sum()))  # nothing is larger than everything
    return pooled[: accepted(lib.epi_pooled_sizes(*runs, min_count, most, *room))]


def rejections(prob: Floats, true: Integers, sizes: Integers, alpha: float) -> int:
    """How many rows, sorted by confidence and cut into these sizes, are rejected by their bin."""
    starts = np.append(0, np.cumsum(sizes)[:-1])
    bin_ = np.repeat(np.arange(len(sizes)), sizes)
    # One test for each distinct pair of bin and confidence.
    first = np.flatnonzero(np.concatenate([[True], (prob[1:] != prob[:-1]) | (bin_[1:] != bin_[:-1])]))
    copies = np.diff(np.append(first, len(prob)))
    seen = np.add.reduceat(true, starts)
    place = bin_[first]
    p_value = binomial_p_values(seen, sizes, place, prob[first], alpha)
    return int(copies[p_value <= alpha].sum())


def binomial_p_values(seen: Integers, sizes: Integers, place: Any, prob: Floats, alpha: float = 1.0) -> Floats:
    """Two-sided exact p-values of seen[place] successes in sizes[place] trials with these probabilities.

    Where one tail alone exceeds alpha the other is not looked for: the value is then only known to be above alpha.
    """
    from epimeter.special import betainc

    n, x = sizes[place], seen[place]
    chance, rest = prob, 1 - prob
    expected = n * chance
    # Seen from the other end when x is above its mean, so that x always lies in the lower tail.
    turn = x > expected
    x = np.where(turn, n - x, x)
    chance, rest = np.where(turn, rest, chance), np.where(turn, chance, rest)
    expected = np.where(turn, n - expected, expected)
    # Certain forecasts: possible or not.
    p_value = np.where((prob == 0) | (prob == 1), (x >= expected).astype(np.float64), 1.0)
    open_ = np.flatnonzero((prob > 0) & (prob < 1) & (x < expected))
    p_value[open_] = betainc(n[open_] - x[open_], x[open_] + 1, rest[open_])
    open_ = open_[p_value[open_] <= alpha]
    if not len(open_):
        return np.asarray(p_value)
    # log C(n, k) of every bin, one after another; each table returns to 0 at k = n.
    trials = np.repeat(sizes, sizes + 1)
    offset = np.append(0, np.cumsum(sizes + 1)[:-1])
    k = np.arange(len(trials)) - np.repeat(offset, sizes + 1)
    step = np.where(k > 0, np.log(np.maximum(trials - k + 1, 1) / np.maximum(k, 1)), 0.0)
    choose = np.cumsum(step)
    choose -= np.repeat(choose[offset], sizes + 1)

    x, n, home = x[open_], n[open_], offset[place[open_]]
    odds = np.log(prob[open_]) - np.log1p(-prob[open_])
    odds = np.where(turn[open_], -odds, odds)
    allowed = choose[home + x] + x * odds + np.log1p(1e-7)
    # Beyond its mean the pmf falls: bisect for the first k there that is no likelier than x; n + 1 when there is none.
    low, high = np.ceil(expected[open_]).astype(np.int64), n + 1
    low = np.clip(low, x + 1, n + 1)
    while (low < high).any():
        middle = (low + high) // 2
        inside = np.minimum(middle, n)
        enough = (choose[home + inside] + inside * odds <= allowed) | (middle > n)
        low, high = np.where(enough | (low >= high), low, middle + 1), np.where(enough, middle, high)
    there = low <= n
    upper = np.zeros(len(x))
    upper[there] = betainc(low[there], n[there] - low[there] + 1, chance[open_][there])
    p_value[open_] = np.minimum(p_value[open_] + upper, 1.0)
    return np.asarray(p_value)
