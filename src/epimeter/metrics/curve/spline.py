# SPDX-License-Identifier: Apache-2.0
"""A spline through the cumulated differences of outcome and confidence; its slope is the calibration error."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import UndefinedMetricError
from epimeter.limits import AtLeast
from epimeter.metrics.curve.cox import FIT_ON_TEST, Norm
from epimeter.metrics.curve.levels import TOP_LABEL, weighted_mean
from epimeter.summaries import Ordered, OrderedRows

Floats = NDArray[np.float64]


@metric(
    title="Fit-on-the-test ECE, cumulative spline",
    family="curve",
    reads=Ordered(),
    range=(0.0, None),
    ideal=0.0,
    direction="lower",
    equation=r"\frac1N\sum_i|s'(t_i)|^\alpha,\qquad s=\arg\min_{\text{natural cubic}}\sum_{i=1}^N\big(s(t_i)-H_i\big)^2,"
    r"\quad t_i=\frac{i-1}{N-1},\quad H_i=\frac1N\sum_{j\le i}(y_{(j)}-c_{(j)}),\qquad \hat y(c_{(i)})=c_{(i)}+s'(t_i)",
    where={
        "(i)": "order of increasing confidence; tied rows share their mean outcome, and the mean of s' over the tie",
        "α": "parameter norm",
    },
    source="Gupta et al. 2021 ICLR (Calibration of neural networks using splines); " + FIT_ON_TEST,
    matrix=TOP_LABEL,
    weighted=False,
    pitfalls="The map is not clipped to [0, 1]. Gupta's code leaves ties in row order; here they share their mean, so "
    "the order of the rows does not matter. No weights: each row takes one place in the ranking.",
    aliases=("spline_calibration_error", "fott"),
)
def fott_spline(rows: OrderedRows, *, knots: Annotated[int, AtLeast(3)] = 6, norm: Norm = 1) -> float:
    """Mean slope of a smooth fit to the cumulated differences between outcome and confidence.

    Parameters
    ----------
    knots
        Knots of the natural cubic spline, evenly spaced on [0, 1].
    norm
        Exponent of the distance; no root is taken.
    """
    n, knots = rows.n_rows, int(knots)
    if n < 2:
        raise UndefinedMetricError(f"fott_spline needs at least 2 rows; got {n}")
    tie = np.diff(np.append(rows.starts, n))
    outcome = np.repeat(np.add.reduceat(rows.true, rows.starts) / tie, tie)
    height = np.cumsum(outcome - rows.prob) / n
    slope = NaturalSpline(n, knots).slopes(height)
    error = np.abs(np.add.reduceat(slope, rows.starts) / tie) ** norm
    return weighted_mean(error, tie.astype(np.float64))


class NaturalSpline:
    """The least-squares natural cubic spline over n evenly spaced places of [0, 1], by its values at the knots.

    Between two knots a spline is a combination of four functions: a and b = 1 - a for the values at the knots, and
    (a^3 - a) h^2/6, (b^3 - b) h^2/6 for the second derivatives there, which follow from the values.
    """

    def __init__(self, n: int, knots: int) -> None:
        self.knots, self.n = knots, n
        self.width = 1.0 / (knots - 1)
        place = np.arange(n) / (n - 1) * (knots - 1)
        self.piece = np.minimum(place.astype(np.intp), knots - 2)
        self.part = place - self.piece  # b
        # Second derivatives at the inner knots: M_{j-1} + 4 M_j + M_{j+1} = 6 (v_{j-1} - 2 v_j + v_{j+1})/h^2.
        inner = np.arange(1, knots - 1)
        second = np.zeros((knots, knots))
        tight = 4 * np.eye(knots - 2) + np.eye(knots - 2, k=1) + np.eye(knots - 2, k=-1)
        bend = np.zeros((knots - 2, knots))
        bend[inner - 1, inner - 1], bend[inner - 1, inner], bend[inner - 1, inner + 1] = 1, -2, 1
        second[1:-1] = np.linalg.solve(tight, bend) * 6 / self.width**2
        self.second = second

    def slopes(self, height: Floats) -> Floats:
        """The slope, at every place, of the spline nearest to these heights."""
        knots, b = self.knots, self.part
        a = 1 - b
        scale = self.width**2 / 6
        local = np.stack([a, b, (a**3 - a) * scale, (b**3 - b) * scale])
        whole = np.concatenate([np.eye(knots), self.second])  # knot values into values and second derivatives
        if self.n < 4 * knots:  # too few rows for normal equations; few enough for the matrix itself
            matrix = np.zeros((self.n, knots))
            for row, function in enumerate(local):
                matrix += function[:, None] * whole[self.piece + (row % 2) + knots * (row // 2)]
            value = np.linalg.lstsq(matrix, height, rcond=None)[0]
        else:
            gram, right = np.zeros((2 * knots, 2 * knots)), np.zeros(2 * knots)
            starts = np.searchsorted(self.piece, np.arange(knots))
            for piece in range(knots - 1):
                rows = slice(starts[piece], starts[piece + 1])
                cells = [piece, piece + 1, knots + piece, knots + piece + 1]
                gram[np.ix_(cells, cells)] += local[:, rows] @ local[:, rows].T
                right[cells] += local[:, rows] @ height[rows]
            value = np.linalg.solve(whole.T @ gram @ whole, whole.T @ right)
        bent = self.second @ value
        return np.asarray(
            (value[self.piece + 1] - value[self.piece]) / self.width
            + self.width / 6 * ((3 * b**2 - 1) * bent[self.piece + 1] - (3 * a**2 - 1) * bent[self.piece])
        )
