# SPDX-License-Identifier: Apache-2.0
"""Norms of the gaps of equal-mass bins (ece, lp_ce, mce with binning=mass) off the cells.

A cut after k rows falls into a cell, and moves to an end of the run of equal confidences that it meets. Where the cell
holds one confidence the run is known, and so is all that lies left of the cut. Elsewhere the run is unknown, and the
residual left of the cut is known up to an error e in an interval [l, u]; the estimate takes the share k falls on. Of the n
rows of the cell let m lie left of row k. A run from s to t, s <= m < t, moves the cut to s where 2 m <= s + t - 1, else to t:

- to s only with s >= 2 m + 1 - t >= 2 m + 1 - n, to t only with t <= 2 m - s <= 2 m.
- With i rows on the left, j of which came true, the residual there is between j - i (upper end) and j - i (lower end of the
  cell), where i - n0 <= j <= n1: it is least at i = n0 and largest at i = n1, or as near to it as i may come.
- The same holds of the rows on the right, and both residuals add up to that of the cell, which is known.

With the residuals R_b of the bins and the errors e_b of the cuts, N ECE = sum_b |R_b + e_b - e_{b-1}|.

- It is convex in the errors, so it is largest in a corner of their intervals: a walk over the cuts with two states.
- For any signs s_b in {-1, 0, 1} it is at least sum_b s_b (R_b + e_b - e_{b-1}), and the least of that over the errors is
  a sum over the cuts: the best signs are found by a walk with three states. Where neighbouring bins err to the same
  side the error of the cut between them cancels.

For the other norms every bin adds n_b^(1-p) |R_b|^p, which grows with |R_b| and falls with n_b: it is largest with the
largest residual in the fewest rows, and least with the least residual in the most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.metrics.bin.expected import power_mean
from epimeter.passes.bounds.groups import SLACK
from epimeter.summaries.cell_totals import WIDTH, CellTotals
from epimeter.summaries.cuts import mass_borders

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cuts:
    """Where the cuts between the bins may lie, from the first row to the last, and the residual left of each."""

    place: Floats
    first: Floats
    last: Floats
    residual: Floats
    low: Floats
    """The least and the largest error of the residual."""
    high: Floats


def gap_norm(cells: CellTotals, bins: int, norm: float) -> tuple[float, float]:
    """The norm of the gaps, weighted by the rows of the bins, and its bound."""
    n_rows = cells.n_rows
    cuts = _cuts(cells, mass_borders(n_rows, bins)[1:-1])
    residual, size = np.diff(cuts.residual), np.diff(cuts.place)

    def norm_of(residual: Floats, size: Floats, weight: Floats) -> float:
        gap = np.divide(residual, size, out=np.zeros(bins), where=size > 0)
        gap = np.where((size <= 0) & (residual > 0), 1.0, np.minimum(gap, 1.0))
        weight = np.where(gap < 1, size, weight)
        return float(power_mean(gap, norm, lambda values: np.asarray(np.sum(weight * values) / n_rows)))

    value = norm_of(np.abs(residual), size, size)
    if norm == 1:
        inner = cuts.low[1:-1], cuts.high[1:-1]
        largest, least = _largest(residual, *inner) / n_rows, _least(residual, *inner) / n_rows
    else:
        worst = np.maximum(np.abs(cuts.high[1:] - cuts.low[:-1]), np.abs(cuts.low[1:] - cuts.high[:-1]))
        fewest, most = np.maximum(cuts.first[1:] - cuts.last[:-1], 0), cuts.last[1:] - cuts.first[:-1]
        largest = norm_of(np.abs(residual) + worst, fewest, most)
        least = norm_of(np.maximum(np.abs(residual) - worst, 0), most, most)
    return value, max(largest - value, value - least) + SLACK


def _cuts(cells: CellTotals, border: NDArray[np.intp]) -> Cuts:
    some = cells.filled
    size, total, right = cells.size[some], cells.stated[some].floats(), cells.count[some, 1]
    before = np.concatenate([[0], np.cumsum(size)])
    sums = np.concatenate([[0.0], cells.residual[some].cumulate().floats()])
    at = np.minimum(np.searchsorted(before, border, side="right") - 1, len(some) - 1)
    n, n1, pure = size[at], right[at], cells.pure[some][at]
    m = np.minimum(border - before[at], n)
    # The run of a cell with one confidence lies left of the cut when its middle does.
    m = np.where(pure, np.where(m <= (n - 1) // 2, 0, n), m)
    whole = (m == 0) | (m == n)
    lower, upper = np.asarray(some[at] * WIDTH, np.float64), np.asarray((some[at] + 1) * WIDTH, np.float64)
    fewest, most = np.maximum(2 * m + 1 - n, 0), np.minimum(2 * m, n)
    least, largest = _residuals(n, n1, fewest, most, lower, upper)
    others_least, others_largest = _residuals(n, n1, n - most, n - fewest, lower, upper)
    cell = n1 - total[at]
    inside = m * (n1 / n - total[at] / n)
    low = np.where(whole, 0.0, np.maximum(least, cell - others_largest) - inside)
    high = np.where(whole, 0.0, np.minimum(largest, cell - others_least) - inside)
    place = before[at] + m

    def ends(values: Floats, first: float, last: float) -> Floats:
        return np.concatenate([[first], values, [last]])

    n_rows = cells.n_rows
    return Cuts(
        ends(place, 0, n_rows),
        ends(np.where(whole, place, before[at] + fewest), 0, n_rows),
        ends(np.where(whole, place, before[at] + most), 0, n_rows),
        ends(sums[at] + inside, 0, float(cells.residual.sum().floats())),
        ends(low, 0, 0),
        ends(high, 0, 0),
    )


def _residuals(
    n: NDArray[Any], n1: NDArray[Any], fewest: NDArray[Any], most: NDArray[Any], lower: Floats, upper: Floats
) -> tuple[Floats, Floats]:
    """Least and largest residual of the rows of a cell on one side of a cut, of which there are `fewest` to `most`."""
    at_least, at_most = np.clip(n - n1, fewest, most), np.clip(n1, fewest, most)
    return np.maximum(at_least - (n - n1), 0) - at_least * upper, np.minimum(at_most, n1) - at_most * lower


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
