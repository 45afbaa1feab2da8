# SPDX-License-Identifier: Apache-2.0
"""The bandwidth under which samples that are left out are most likely, for the beta and the Dirichlet kernel."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from epimeter.metrics.kernel.dirichlet import constants, log_points, row_blocks
from epimeter.metrics.kernel.panels import ENOUGH, MANY, beta_sums, on_a_line

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

GRID = np.concatenate([np.logspace(-5, -1, 15), np.linspace(0.2, 1, 5)])


def loo_width(points: Floats, weight: Floats) -> float:
    """The bandwidth of largest leave-one-out likelihood on the grid L; the first wins.

    A row of weight w counts as w equal rows, of which one is left out.
    """
    if len(points) <= MANY or not on_a_line(points):
        return float(GRID[np.argmax(_all_pairs(points, weight, np.arange(len(points)), GRID))])
    order = np.argsort(points[:, 0], kind="stable")
    points, weight = points[order], weight[order]
    unit, logs = np.minimum(1.0, weight), log_points(points)
    score = []
    for width in GRID:
        sums = beta_sums(points, float(width), weight[:, None])
        own_log = (logs * points).sum(axis=1) / width + constants(points, float(width))
        own = unit * np.exp(own_log - sums.log_scale)
        rest = sums.first[:, 0] - own
        enough = rest > ENOUGH * own
        likely = np.sum(weight[enough] * (sums.log_scale[enough] + np.log(rest[enough])))
        # Rows that stand alone at this width: taking them out of the sum would leave its rounding.
        alone = np.flatnonzero(~enough)
        score.append(likely + _all_pairs(points, weight, alone, np.array([width]))[0])
    return float(GRID[np.argmax(score)])


def _all_pairs(points: Floats, weight: Floats, at: Indices, grid: Floats) -> Floats:
    """The likelihood of some rows at each width, from all pairs."""
    score, logs = np.zeros(len(grid)), log_points(points)
    with np.errstate(divide="ignore"):
        log_weight, log_rest = np.log(weight), np.log(weight - np.minimum(1.0, weight))
    fixed = [constants(points, float(width)) + log_weight for width in grid]
    for block in row_blocks(len(at), len(points)):
        rows = at[block]
        product = logs[rows] @ points.T
        own = np.arange(len(rows)), rows
        for number, width in enumerate(grid):
            log_kernel = product / width
            log_kernel += fixed[number]
            log_kernel[own] += log_rest[rows] - log_weight[rows]
            top = log_kernel.max(axis=1)
            log_kernel -= top[:, None]
            total = top + np.log(np.exp(log_kernel, out=log_kernel).sum(axis=1))
            score[number] += np.sum(weight[rows] * total)
    return score
