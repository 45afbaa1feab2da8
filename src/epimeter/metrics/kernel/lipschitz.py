# SPDX-License-Identifier: Apache-2.0
"""The smooth calibration error: the best bet of a 1-Lipschitz function on the residuals, exactly and without an LP.

With ties joined, r_i the residual sums, d_i = c_{i+1} - c_i and R_i = r_1 + ... + r_i, linear programming duality turns
the maximum into transport along the line at cost d_i, creation and removal of mass at cost 1:

    N smCE = min_X |X_1| + sum_{i<m} d_i |X_i + R_i| + sum_{1<i<m} |X_i - X_{i-1}| + |X_{m-1} + R_m|.

1. Forward: the cost of the best beginning, as a function of X_i, is convex and piecewise linear with end slopes -1 and 1;
   it is kept as its breakpoints with their jumps of slope. Step i inserts the breakpoint -R_i with jump 2 d_i and takes
   the jump d_i away from either end; lo_i and hi_i are the outermost breakpoints left.
2. Backward: X_m = -R_m, X_i = X_{i+1} clipped to [lo_i, hi_i]; the cost is added up on the way.
"""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from epimeter.card import metric
from epimeter.metrics.kernel.fast import worth
from epimeter.metrics.kernel.sums import levels_of
from epimeter.summaries import Ordered, OrderedRows

Floats = NDArray[np.float64]


@metric(
    title="Smooth calibration error",
    family="kernel",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"smCE=\max_{z}\ \frac1N\sum_{i=1}^N(y_i-c_i)z_i\quad\text{s.t. } |z_i|\le1,\ |z_i-z_j|\le|c_i-c_j|",
    where={"z": "values at the samples of a 1-Lipschitz function bounded by 1"},
    source="Kakade and Foster 2008; Błasiok, Gopalan, Hu and Nakkiran 2023 STOC; Lane 2025 s5.6 eq 82",
    pitfalls="Unsigned: the review's range [-1, 1] cannot occur, since z = 0 is allowed. Not SmoothECE (smece), nor the "
    "kernel regression error (sece).",
    aliases=("smce", "weak calibration error"),
)
def smooth_ce(rows: OrderedRows) -> float:
    """Largest mean gain of a bounded 1-Lipschitz bet on the residuals: within a square of the distance to calibration."""
    levels = levels_of(rows)
    return best_bet(levels.prob, levels.residual) / float(levels.weight.sum())


def best_bet(points: Floats, residual: Floats) -> float:
    """max sum r_i z_i over |z| <= 1, z 1-Lipschitz; points distinct and sorted."""
    if len(points) == 1:
        return abs(float(residual[0]))
    running, gap = np.cumsum(residual), np.diff(points)
    if len(points) >= 1 << 14 or worth(len(points)):
        from epimeter.metrics.kernel import loops

        return loops.best_bet(running, gap)
    lows, highs = _forward(running, gap)
    return _backward(running, gap, lows, highs)


def _forward(running: Floats, gap: Floats) -> tuple[list[float], list[float]]:
    """Step 1, with the breakpoints in a sorted list."""
    where, jump = [0.0], [2.0]
    lows, highs = [], []
    for total, step in zip(running[:-1].tolist(), gap.tolist(), strict=True):
        place = bisect_left(where, -total)
        where.insert(place, -total)
        jump.insert(place, 2 * step)
        for end in (0, -1):
            left = step
            while left > 0:
                taken = min(left, jump[end])
                left -= taken
                jump[end] -= taken
                if jump[end] <= 0:
                    if len(where) == 1:  # rounding alone may empty the list; its total jump is 2
                        jump[0] = 2.0
                        break
                    del where[end], jump[end]
        lows.append(where[0])
        highs.append(where[-1])
    return lows, highs


def _backward(running: Floats, gap: Floats, lows: list[float], highs: list[float]) -> float:
    """Step 2."""
    later = -float(running[-1])
    cost = 0.0
    for total, step, low, high in zip(
        running[-2::-1].tolist(), gap[::-1].tolist(), reversed(lows), reversed(highs), strict=True
    ):
        here = min(max(later, low), high)
        cost += abs(later - here) + step * abs(here + total)
        later = here
    return cost + abs(later)
