# SPDX-License-Identifier: Apache-2.0
"""Norms of the residuals in the Hilbert space of a kernel (lkce, mmce) off the cells.

Let u be the residuals as a measure on the confidences, u = 1/N sum r_i at p_i, and v the same with every group at its
mean. The metric is the norm of u, so by the triangle inequality it is within |u - v| of the norm of v. Split u - v by
cells. Its part in one cell has no mass, lies on an interval of length h, and its variation is at most 2A, A being the
sum of |r_i|/N in the cell; where 1 - k <= q on the cell, the square of its norm is at most 2 q A^2, with q = h/b for
the Laplace kernel of width b and h^2/(2 b^2) for the Gaussian. Parts of different cells see each other through a smooth
kernel: their first moments are -V/N as well as their second, so each of their products is at most
V V'/N^2 (1/b + 1/b^2)^2, three times that for the Gaussian. Together

    |u - v|^2 <= 2 q sum_c A_c^2 + 3 (sum_g V_g/N)^2 (1/b + 1/b^2)^2.

For a uniform density and b = 1 this is 6e-6, whatever N. Cells whose rows all have one confidence drop out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from epimeter.metrics.kernel.laplace import kernel_form
from epimeter.passes.bounds.groups import SLACK, Groups
from epimeter.summaries.cell_totals import CELLS, WIDTH, CellTotals


def norm(cells: CellTotals, width: float, kernel: Any, squared: bool, by_outcome: bool) -> tuple[float, float]:
    """The norm, or its square, and its bound; with `by_outcome` each outcome counts as if it were half of the rows."""
    right, wrong = int(cells.count[:, 1].sum()), int(cells.count[:, 0].sum())
    if by_outcome and not (right and wrong):
        return math.nan, 0.0
    share = (1 / wrong, 1 / right) if by_outcome else (1 / cells.n_rows,) * 2
    groups = Groups.of(cells, share)
    square = kernel_form(groups.prob, groups.residual, width, kernel)
    value = math.sqrt(square)
    error = _distance(cells, groups, share, width, kernel) + SLACK
    return (square, error * (2 * value + error)) if squared else (value, error)


def _distance(cells: CellTotals, groups: Groups, share: tuple[float, float], width: float, kernel: Any) -> float:
    """The most that |u - v| can be."""
    some = groups.spread > 0
    cell = np.minimum((groups.prob[some] * CELLS).astype(np.int64), CELLS - 1)
    size = np.bincount(cell, weights=groups.size[some], minlength=1)
    near = min(1.0, WIDTH / width if kernel == "laplace" else WIDTH**2 / (2 * width**2))
    spread = float(np.sum(groups.spread[some])) * max(share)
    far = 3 * (spread * (1 / width + 1 / width**2)) ** 2
    return math.sqrt(2 * near * float(np.sum(size**2)) + far)
