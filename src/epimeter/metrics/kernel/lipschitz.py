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

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.core import accepted, lib, read, write
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
    aliases=(
        "smce",
        "weak calibration error",
        "SCE",
    ),
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
    values = np.append(-running[:-1], 0.0)  # the breakpoints: -R_i, and 0 to begin with
    order = np.argsort(values)
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values))
    sizes = [len(values)]
    while sizes[-1] > 1 or len(sizes) == 1:
        sizes.append((sizes[-1] + 63) >> 6)
    offset = np.concatenate([[0], np.cumsum(sizes[1:])]).astype(np.int64)
    tree, jump, cost = np.empty(offset[-1], np.uint64), np.empty(len(values)), np.zeros(1)
    low, high = np.empty(len(gap), np.int64), np.empty(len(gap), np.int64)
    accepted(
        lib.epi_best_bet(
            *(read(running), read(gap), read(rank), len(gap), read(values[order])),
            *(write(jump), write(low), write(high), write(tree), read(offset), len(offset), write(cost)),
        )
    )
    return float(cost[0])
