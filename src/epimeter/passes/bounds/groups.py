# SPDX-License-Identifier: Apache-2.0
"""The cells as points: rows of one cell and one outcome stand at their mean.

Let f be a function of the confidence and g a group of n rows with mean m. Then

    sum f(p_i) = n f(m) + sum f''(x_i) (p_i - m)^2 / 2,

since the first order vanishes at the mean; and sum (p_i - m)^2 = V is at most n (b - m)(m - a) in a cell [a, b]
(Bhatia and Davis 2000), which is at most n h^2 / 4, h = 1/76,800. Where all rows of a cell have one confidence V is 0,
and both outcomes are joined at that point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epimeter.summaries.cell_totals import WIDTH, CellTotals

Floats = NDArray[np.float64]

ROUNDING = 1e-13
SLACK = 1e-10
"""Added to every bound: confidences are kept in steps of 2^-44, and means and sums are rounded to doubles."""


@dataclass(frozen=True)
class Groups:
    """Points in increasing order.

    Attributes
    ----------
    prob
        Where each stands.
    residual
        Sum of y - c over its rows.
    spread
        The most that the sum of (c - prob)^2 over its rows can be.
    size
        The sum of |y - c| over its rows.
    rows
        How many they are.
    """

    prob: Floats
    residual: Floats
    spread: Floats
    size: Floats
    rows: Floats
    n_rows: int

    @classmethod
    def of(cls, cells: CellTotals, share: tuple[float, float] = (1.0, 1.0)) -> Groups:
        """The points of the cells; residuals of outcome 0 and 1 are multiplied by their share."""
        known = cells.__dict__.setdefault(
            "groups", {}
        )  # remembered with the cells: several errors read the same points
        if share not in known:
            known[share] = cls._of(cells, share)
        groups: Groups = known[share]
        return groups

    @classmethod
    def _of(cls, cells: CellTotals, share: tuple[float, float]) -> Groups:
        pure = cells.pure
        points, residuals, spreads, sizes, rows = [], [], [], [], []
        joined = np.zeros(int(pure.sum()))
        weight = np.zeros(len(joined))
        for outcome in (0, 1):
            count = cells.count[:, outcome].astype(np.float64)
            total = cells.prob[:, outcome].floats()
            residual = np.abs(outcome * count - total) * (2 * outcome - 1) * share[outcome]
            joined += residual[pure]
            weight += np.abs(residual[pure])
            some = (count > 0) & ~pure
            cell = np.flatnonzero(some)
            mean = total[some] / count[some]
            inside = np.clip(mean - cell * WIDTH, 0.0, WIDTH)
            points.append(mean)
            residuals.append(residual[some])
            # A mean of sums in steps of 2^-44 may lie beyond an edge by rounding: the edges are set a little apart.
            most = (inside + ROUNDING) * (WIDTH - inside + ROUNDING)
            spreads.append(count[some] * np.where(count[some] > 1, most, 0.0))
            sizes.append(np.abs(residual[some]))
            rows.append(count[some])
        points.append(cells.only[pure])
        residuals.append(joined)
        spreads.append(np.zeros(len(joined)))
        sizes.append(weight)
        rows.append(cells.size[pure].astype(np.float64))
        prob = np.concatenate(points)
        order = np.argsort(prob, kind="stable")
        columns = [np.concatenate(column)[order] for column in (residuals, spreads, sizes, rows)]
        return cls(prob[order], columns[0], columns[1], columns[2], columns[3], cells.n_rows)
