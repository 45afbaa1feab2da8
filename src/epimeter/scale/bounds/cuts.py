# SPDX-License-Identifier: Apache-2.0
"""Norms of the gaps of equal-mass bins (ece, lp_ce, mce with binning=mass) off the cells.

A cut after k rows falls into a cell and leaves m of its n rows on the left, those of least confidence, ties in the order
of the rows. Of these rows between max(0, m - n0) and min(m, n1) came true, and their confidences add up to at most m
times the mean of the cell and at least what its edges allow. So the residual left of the cut is known up to an
error e in an interval [l, u]; the estimate takes the share m/n of the outcomes.

With the residuals R_b of the bins and the errors e_b of the cuts, N ECE = sum_b |R_b + e_b - e_{b-1}|.

- It is convex in the errors, so it is largest in a corner of their intervals: a walk over the cuts with two states.
- For any signs s_b in {-1, 0, 1} it is at least sum_b s_b (R_b + e_b - e_{b-1}), and the least of that over the errors is
  a sum over the cuts: the best signs are found by a walk with three states. Where neighbouring bins err to the same
  side the error of the cut between them cancels.

For the other norms the triangle inequality is used: the norm of the largest error of each bin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from epimeter.metrics.bin.expected import power_mean
from epimeter.scale.bounds.groups import SLACK
from epimeter.summaries.cells import WIDTH, CellTotals
from epimeter.summaries.cuts import mass_borders

Floats = NDArray[np.float64]


def gap_norm(cells: CellTotals, bins: int, norm: float) -> tuple[float, float]:
    """The norm of the gaps, weighted by the rows of the bins, and its bound."""
    n_rows = cells.n_rows
    border = mass_borders(n_rows, bins)
    left, low, high = _cuts(cells, border[1:-1])
    ends = np.concatenate([[0.0], left, [float(cells.residual.sum().floats())]])
    residual = np.diff(ends)
    size = np.diff(border).astype(np.float64)

    def mean(values: Floats) -> Floats:
        return np.asarray(np.sum(size * values) / n_rows)

    gap = np.divide(residual, size, out=np.zeros(bins), where=size > 0)
    value = float(power_mean(gap, norm, mean))
    if norm == 1:
        largest, least = _largest(residual, low, high), _least(residual, low, high)
        return value, max(largest / n_rows - value, value - least / n_rows) + SLACK
    low, high = np.concatenate([[0.0], low, [0.0]]), np.concatenate([[0.0], high, [0.0]])
    worst = np.maximum(np.abs(high[1:] - low[:-1]), np.abs(low[1:] - high[:-1]))
    error = np.divide(worst, size, out=np.zeros(bins), where=size > 0)
    return value, float(power_mean(error, norm, mean)) + SLACK


def _cuts(cells: CellTotals, border: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
    """The residual left of each cut, and the least and largest error of it."""
    some = cells.filled
    size, total = cells.size[some], cells.said[some].floats()
    wrong, right = cells.count[some, 0], cells.count[some, 1]
    before = np.concatenate([[0], np.cumsum(size)])
    sums = np.concatenate([[0.0], cells.residual[some].cumulate().floats()])
    at = np.minimum(np.searchsorted(before, border, side="right") - 1, len(some) - 1)
    n, n0, n1 = size[at], wrong[at], right[at]
    m = np.minimum(border - before[at], n)
    mean = total[at] / n
    bottom = np.where(cells.pure[some][at], mean, some[at] * WIDTH)
    top = np.where(cells.pure[some][at], mean, (some[at] + 1) * WIDTH)
    said_high = m * mean
    said_low = np.minimum(np.maximum(m * bottom, total[at] - (n - m) * top), said_high)
    said = (said_low + said_high) / 2
    came = m * n1 / n
    low = np.maximum(0, m - n0) - came - (said_high - said)
    high = np.minimum(m, n1) - came + (said - said_low)
    whole = (m == 0) | (m == n)
    return sums[at] + came - said, np.where(whole, 0.0, low), np.where(whole, 0.0, high)


def _largest(residual: Floats, low: Floats, high: Floats) -> float:
    """The most that the sum of |R_b + e_b - e_{b-1}| can be."""
    states = [(0.0, 0.0)]  # error of the cut on the left, best sum so far
    for number, value in enumerate(residual.tolist()):
        last = number == len(residual) - 1
        cuts = [0.0] if last else [float(low[number]), float(high[number])]
        states = [(cut, max(best + abs(value + cut - earlier) for earlier, best in states)) for cut in cuts]
    return max(best for _, best in states)


def _least(residual: Floats, low: Floats, high: Floats) -> float:
    """A number that the sum of |R_b + e_b - e_{b-1}| cannot fall below."""
    states = {sign: sign * float(residual[0]) for sign in (-1, 0, 1)}
    for value, l, u in zip(residual[1:].tolist(), low.tolist(), high.tolist(), strict=True):
        states = {
            sign: sign * value + max(best + min(l * (s - sign), u * (s - sign)) for s, best in states.items())
            for sign in (-1, 0, 1)
        }
    return max(0.0, *states.values())
