# SPDX-License-Identifier: Apache-2.0
"""A bin for every row: windows that overlap, and nearest neighbours in confidence."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import AtLeast
from epimeter.summaries import Ordered, OrderedRows, Rows
from epimeter.views import Binary

Floats = NDArray[np.float64]


@metric(
    title="CalBin",
    family="bin",
    reads=Rows("event"),
    range=(0.0, 1.0),
    direction="lower",
    equation=r"CalBin=\frac1{N-s+1}\sum_{b=1}^{N-s+1}\frac1s\sum_{i=b}^{b+s-1}|\bar y_b-c_{(i)}|",
    where={
        "s": "parameter size",
        "c_(i)": "i-th smallest confidence",
        "ȳ_b": "mean outcome of rows b..b+s-1 in that order, equal confidences sharing the mean of theirs",
    },
    source="Bella et al. 2013; Caruana and Niculescu-Mizil 2004 (CAL); Lane 2025 s4.13 eq 57",
    weighted=False,
    pitfalls="With within=point even a calibrated model scores above 0, because confidences vary inside a window. Rows of "
    "one confidence have the mean of their outcomes. Sample weights are refused: windows hold a number of rows.",
    aliases=(
        "cal",
        "CalBin, overlapping bins",
        "CAL (within='mean')",
    ),
)
def calbin(
    view: Binary,
    *,
    size: Annotated[int, AtLeast(1)] | None = None,
    within: Literal["point", "mean"] = "point",
) -> float:
    """Gap between confidence and frequency in every window of neighbouring confidences.

    Parameters
    ----------
    size
        Rows in a window, at most N; None means N // 10, at least 1.
    within
        ``point`` compares every confidence of the window with its frequency, ``mean`` only their mean (CAL).
    """
    n = view.n_rows
    s = min(n, max(1, n // 10) if size is None else int(size))
    order = np.argsort(view.prob)
    prob = view.prob[order].astype(np.float64)
    said = np.append(0.0, np.cumsum(prob))
    seen = shared_outcomes(prob, view.true[order])
    start = np.arange(n - s + 1)
    frequency = (seen[s:] - seen[:-s]) / s
    if within == "mean":
        return float(np.mean(np.abs(frequency - (said[s:] - said[:-s]) / s)))
    # Inside a window the confidences below its frequency come first: both parts are differences of running sums.
    cut = np.clip(np.searchsorted(prob, frequency), start, start + s)
    below = frequency * (cut - start) - (said[cut] - said[start])
    above = (said[start + s] - said[cut]) - frequency * (start + s - cut)
    return float(np.mean(below + above) / s)


def shared_outcomes(prob: Floats, true: NDArray[Any]) -> Floats:
    """Running totals of outcomes, those of equal (sorted) confidences shared evenly: a line from run to run."""
    start = np.append(np.flatnonzero(np.append(True, prob[1:] != prob[:-1])), len(prob))
    came_true = np.append(0, np.cumsum(true, dtype=np.int64))
    return np.asarray(np.interp(np.arange(len(prob) + 1), start, came_true[start]), np.float64)


@metric(
    title="k-nearest-neighbour ECE",
    family="bin",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"\frac1N\sum_i|\bar y_{B_i}-\bar c_{B_i}|,\quad B_i=\{j:|c_j-c_i|\le d_k(i)+10^{-12}\}",
    where={
        "d_k(i)": "k-th smallest |c_j - c_i| over j other than i",
        "B_i": "all rows within that distance, row i and ties included",
    },
    source="Peng et al. 2023; Lane 2025 s4.13",
    weighted=False,
    pitfalls="The source chooses k by hand; the square root of N is our default. Sample weights are refused: k counts rows.",
    aliases=("ece-knn",),
)
def ece_knn(rows: OrderedRows, *, k: Annotated[int, AtLeast(1)] | None = None) -> float:
    """Gap between confidence and frequency among the nearest neighbours of every row.

    Parameters
    ----------
    k
        Neighbours besides the row itself, at most N - 1; None means floor(sqrt(N)).
    """
    prob, n = rows.prob, rows.n_rows
    k = min(n - 1, max(1, math.isqrt(n)) if k is None else int(k))
    reach = neighbour_distance(prob, k) + 1e-12
    low, high = np.searchsorted(prob, prob - reach), np.searchsorted(prob, prob + reach, side="right")
    residual = np.append(0.0, np.cumsum(rows.true - prob))
    return float(np.mean(np.abs(residual[high] - residual[low]) / (high - low)))


def neighbour_distance(prob: Floats, k: int) -> Floats:
    """d_k(i) of sorted confidences: the k nearest rows and row i lie side by side, in a window of k + 1 rows.

    As the window l..l+k moves up, its lower end comes closer to row i and its upper end moves away; the best window is
    where the two distances cross, found for all rows at once by bisection.
    """
    n = len(prob)
    row = np.arange(n)
    low, high = np.maximum(row - k, 0), np.minimum(row, n - 1 - k)
    first, last = low.copy(), high.copy()
    while (low < high).any():
        middle = (low + high) // 2
        crossed = prob[middle + k] - prob >= prob - prob[middle]
        low, high = np.where(crossed | (low >= high), low, middle + 1), np.where(crossed, middle, high)

    def reach(start: NDArray[np.intp]) -> Floats:
        return np.asarray(np.maximum(prob - prob[start], prob[start + k] - prob))

    return np.minimum(reach(low), reach(np.clip(low - 1, first, last)))
