# SPDX-License-Identifier: Apache-2.0
"""SmoothECE off the cells.

With residuals at the means of the groups (see `groups`) the smoothed residual changes, integrated over t, by at most

    e(s) = 1/(2N) sum_g V_g [ (|y - m| + h) k2 / s^2 + 2 k1 / s ],

because the second derivative of (y - p) K_s(p, t) in p is (y - p) K'' - 2 K', and the integrals of |K'| and |K''| of a
Gaussian of scale s, reflected or not, are at most k1/s and k2/s^2 with k1 = sqrt(2/pi), k2 = 4 phi(1) = 0.968. The
error at a scale is within e(s) of its exact value. The error at its own scale solves E(s) = s; E does not grow with s,
so E(s) - s falls at least as fast as s grows, and its root moves by at most e at the root found. For a uniform density
and a calibrated model of 10^7 rows, s is about 1e-3 and e about 5e-6.
"""

from __future__ import annotations

import math

import numpy as np

from epimeter.metrics.kernel.smooth import SmoothedResiduals
from epimeter.passes.bounds.groups import SLACK, Groups
from epimeter.summaries.cell_totals import WIDTH, CellTotals

K1 = math.sqrt(2 / math.pi)
K2 = 4 * math.exp(-0.5) / math.sqrt(2 * math.pi)
INTEGRAL = 2e-9
"""What the integral may miss, here and over the rows (see metrics.kernel.smooth)."""


def smooth_error(cells: CellTotals, bandwidth: float | None) -> tuple[float, float]:
    """The smoothed error, at a given scale or at its own, and its bound."""
    groups = Groups.of(cells)
    residual = groups.residual / groups.n_rows
    residual[np.abs(residual) < 1e-15] = 0.0  # rounding of a sum that should vanish, as over the rows
    some = residual != 0
    smooth = SmoothedResiduals(np.array([residual.sum()]), 0.0, groups.prob[some], residual[some])
    if bandwidth is None:
        scale = value = float(smooth.own_scale(0.0) or 0.0)
    else:
        scale, value = bandwidth, float(smooth.error(bandwidth))
    return value, _shift(groups, scale) + INTEGRAL + SLACK


def _shift(groups: Groups, scale: float) -> float:
    """e(s): how far the error at a scale can be from its exact value; never more than twice all residuals in play."""
    some = groups.spread > 0
    spread, mean = groups.spread[some], groups.size[some] / groups.rows[some]
    most = 2 * float(groups.size[some].sum()) / groups.n_rows
    if scale <= 0:
        return most
    first, second = float(np.sum(spread)) / groups.n_rows, float(np.sum(spread * (mean + WIDTH))) / groups.n_rows
    return min(most, 0.5 * (second * K2 / scale**2 + 2 * first * K1 / scale))
