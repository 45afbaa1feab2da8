# SPDX-License-Identifier: Apache-2.0
"""Rules that choose the bandwidth of a kernel from the data."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.limits import Above
from epimeter.metrics.kernel.dirichlet import pairs_of
from epimeter.metrics.kernel.likelihood import loo_width
from epimeter.metrics.kernel.regression import left_out
from epimeter.metrics.kernel.sums import Kernel, levels_of
from epimeter.summaries import Ordered, OrderedRows, Rows
from epimeter.summaries.rows import Levels
from epimeter.views import Binary, View

Floats = NDArray[np.float64]
Rule = Literal["normal", "silverman", "median", "cv"]
Bandwidth = Annotated[float, Above(0)] | Rule


@metric(
    title="Bandwidth rules for kernel calibration curves",
    family="kernel",
    reads=Rows("given"),
    range=(0.0, 1.0),
    direction="none",
    equation=r"\text{normal: } h = 1.06\,s\,N^{-1/5};\quad \text{silverman: } h = 0.9\,\min(s, IQR/1.34)\,N^{-1/5};"
    r"\quad \text{median: } h = \operatorname{median}_{i<j}|c_i-c_j|;\quad "
    r"\text{cv: } h = \arg\min_{h\in H}\frac1N\sum_i\big(y_i-\hat y_{-i}(c_i;h)\big)^2;\quad "
    r"\text{loo: } h = \arg\max_{h\in L}\sum_j\log\Big(\frac1{N-1}\sum_{i\ne j}k_h(c_j;c_i)\Big)",
    where={
        "s": "sample standard deviation of the confidences (divisor N - 1)",
        "IQR": "difference of the 0.75 and 0.25 quantiles (linear interpolation)",
        "ŷ_{-i}": "kernel_curve without sample i",
        "H": "25 points, geometric, from 0.005 to 0.5; the first minimum wins",
        "L": "15 points, geometric, from 1e-5 to 0.1, then 0.2, 0.4, ..., 1; the first maximum wins",
        "k_h": "beta kernel of bkde (vector) or Dirichlet kernel of dkde (matrix)",
    },
    source="Zhang et al. 2020 ICML (normal); Silverman 1986; Glaser et al. 2023 UAI (median); Galbraith and van Norden "
    "2011 IJF (cv); Popordanoska et al. 2022 NeurIPS (loo); Lane 2025 s5.1",
    matrix="reduced to its top label; rule=loo uses all its classes",
    pitfalls="Many ties favour tiny bandwidths under loo, and normal or silverman give 0 when (half of) the "
    "confidences are equal: pass a number then. The code of the paper behind loo subtracts log h once too often, "
    "which drives it to the smallest value of the grid.",
    aliases=(
        "normal rule of thumb",
        "median heuristic",
        "cross-validation bandwidth",
        "leave-one-out likelihood bandwidth",
    ),
    headline_is="a setting",
)
def kernel_bandwidth(
    view: View,
    *,
    rule: Literal["normal", "silverman", "median", "cv", "loo"] = "normal",
    kernel: Kernel = "gaussian",
) -> float:
    """Bandwidth that a rule chooses for the confidences at hand; not a measure of quality.

    Parameters
    ----------
    rule
        ``normal`` and ``silverman`` go by the spread, ``median`` by the distances of pairs, ``cv`` by the error of the
        curve at points left out, ``loo`` by their likelihood under the beta or Dirichlet kernel.
    kernel
        Kernel of the curve that ``cv`` scores.
    """
    if rule == "loo":
        return likelihood_width(view, "kernel_bandwidth")
    return by_rule(levels_of(Ordered().of(view)), rule, kernel)


def likelihood_width(view: View, asker: str) -> float:
    """The rule loo on a whole view: beta kernel for a vector, Dirichlet kernel for a matrix."""
    if view.total_weight <= 1:
        raise UndefinedMetricError(f"{asker} needs at least 2 rows for the rule loo; got {view.total_weight:g}")
    if isinstance(view, Binary):
        levels = levels_of(Ordered().of(view))
        return loo_width(pairs_of(levels.prob), levels.weight)
    weight = np.ones(view.n_rows) if view.weight is None else view.weight
    some = weight > 0
    return loo_width(view.prob[some].astype(np.float64), weight[some])


def chosen(rows: OrderedRows, bandwidth: float | str, kernel: Kernel, asker: str) -> float:
    """The bandwidth as a number: given, or found by a rule; 0 is of no use to a kernel."""
    if not isinstance(bandwidth, str):
        if not np.isfinite(bandwidth):
            raise InputError(f"bandwidth of {asker} must be finite; got {bandwidth}", field="bandwidth")
        return float(bandwidth)
    found = by_rule(levels_of(rows), bandwidth, kernel)
    if found <= 0:
        raise UndefinedMetricError(
            f"{asker} needs a positive bandwidth; the rule {bandwidth} gives 0 because confidences are equal. "
            "Pass bandwidth=0.05, say"
        )
    return found


def by_rule(levels: Levels, rule: str, kernel: Kernel) -> float:
    """What one of the one-dimensional rules gives."""
    n = float(levels.weight.sum())
    if rule == "median":
        return median_gap(levels.prob, levels.weight)
    if n <= 1:
        raise UndefinedMetricError(f"the bandwidth rule {rule} needs at least 2 rows; got {n:g}. Pass a number")
    if rule == "cv":
        return cross_validated(levels, kernel)
    spread = deviation(levels)
    if rule == "normal":
        return float(1.06 * spread * n**-0.2)
    quarter = quantile(levels, 0.75) - quantile(levels, 0.25)
    return float(0.9 * min(spread, quarter / 1.34) * n**-0.2)


def deviation(levels: Levels) -> float:
    """Sample standard deviation of the confidences."""
    if len(levels.prob) == 1:
        return 0.0
    n = levels.weight.sum()
    middle = np.sum(levels.weight * levels.prob) / n
    return float(np.sqrt(np.sum(levels.weight * (levels.prob - middle) ** 2) / (n - 1)))


def quantile(levels: Levels, share: float) -> float:
    """Quantile with linear interpolation; a weight counts as that many equal rows."""
    upto = np.cumsum(levels.weight)
    place = share * (upto[-1] - 1)
    low = np.floor(place)
    last = len(upto) - 1
    below, above = (levels.prob[min(int(np.searchsorted(upto, at, side="right")), last)] for at in (low, low + 1))
    return float(below + (place - low) * (above - below))


def cross_validated(levels: Levels, kernel: Kernel) -> float:
    """The bandwidth of H with the least squared error at rows left out."""
    grid = np.geomspace(0.005, 0.5, 25)
    errors = []
    for width in grid:
        without_zero, without_one = left_out(levels, float(width), kernel)
        missed = (levels.weight - levels.true) * without_zero**2 + levels.true * (1 - without_one) ** 2
        errors.append(np.sum(missed))
    # The first minimum wins, and rounding must not make another one the first.
    least = min(errors)
    return float(grid[next(i for i, e in enumerate(errors) if e <= least * (1 + 1e-12) + 1e-15 * levels.weight.sum())])


def median_gap(points: Floats, weight: Floats) -> float:
    """Median distance of pairs of rows, from the sorted levels, without forming the pairs.

    The distance of rank k is bracketed by bisection, each probe counting the pairs within x by one searchsorted;
    the pairs left in the bracket are then ranked themselves. A median of 0 gives way to that of the distances above
    0; without any, 1.
    """
    upto = np.concatenate([[0.0], np.cumsum(weight)])
    n = upto[-1]
    # Rows of weight w are w equal rows: w (w - 1)/2 pairs at distance 0. Weights below 1 have no pair of their own.
    zero = float(np.sum(np.maximum(weight * (weight - 1), 0.0)) / 2)
    apart = float((n**2 - np.sum(weight**2)) / 2)
    if apart <= 0:
        return 1.0
    ranks = middle_ranks(zero + apart)
    if ranks[-1] < zero:
        ranks, zero = middle_ranks(apart), 0.0
    gaps = [_gap_of_rank(points, weight, upto, rank - zero) if rank >= zero else 0.0 for rank in ranks]
    return float(np.mean(gaps))


def middle_ranks(total: float) -> list[float]:
    """Ranks, from 0, of the one or two middle values of `total` values."""
    if total != np.floor(total):
        return [total / 2]
    return [total / 2 - 1, total / 2] if total % 2 == 0 else [(total - 1) / 2]


def _gap_of_rank(points: Floats, weight: Floats, upto: Floats, rank: float) -> float:
    """The distance of that rank (from 0) among the pairs of distinct levels."""

    def within(gap: float) -> tuple[float, NDArray[np.intp]]:
        """Weight of the pairs at most `gap` apart, and how far each level reaches."""
        end = np.searchsorted(points, points + gap, side="right")
        return float(np.sum(weight * (upto[end] - upto[1:]))), end

    low, high = 0.0, float(points[-1] - points[0]) * (1 + 1e-12) + 1e-300
    (below, low_end), (_, high_end) = within(low), within(high)
    while np.sum(high_end - low_end) > 4 * len(points) + 64:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        count, end = within(middle)
        if count > rank:
            high, high_end = middle, end
        else:
            low, low_end, below = middle, end, count
    counts = high_end - low_end
    left = np.repeat(np.arange(len(points)), counts)
    right = np.arange(len(left)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(low_end, counts)
    gaps = points[right] - points[left]
    order = np.argsort(gaps, kind="stable")
    running = below + np.cumsum((weight[left] * weight[right])[order])
    return float(gaps[order][min(int(np.searchsorted(running, rank, side="right")), len(order) - 1)])
