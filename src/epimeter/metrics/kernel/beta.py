# SPDX-License-Identifier: Apache-2.0
"""Calibration error against a density estimate with beta and Dirichlet kernels."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card import metric
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.limits import Above, AtLeast
from epimeter.metrics.kernel.bandwidth import chosen
from epimeter.metrics.kernel.dirichlet import constants, log_points, loo_width, pairs_of, row_blocks
from epimeter.metrics.kernel.sums import levels_of
from epimeter.summaries import Ordered, OrderedRows, Rows
from epimeter.summaries.rows import Levels
from epimeter.views import Multiclass

Floats = NDArray[np.float64]


@metric(
    title="Beta kernel density estimator of calibration error",
    family="kernel",
    reads=Ordered(),
    range=(None, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"k_{ji}=\frac{c_j^{\alpha_i-1}(1-c_j)^{\beta_i-1}}{B(\alpha_i,\beta_i)},\ \alpha_i=\frac{c_i}{h}+1,\ "
    r"\beta_i=\frac{1-c_i}{h}+1,\ \hat y_j=\frac{\sum_{i\ne j}k_{ji}y_i}{\sum_{i\ne j}k_{ji}},\ "
    r"T_j=\frac{(\sum_{i\ne j}k_{ji}y_i)^2-\sum_{i\ne j}(k_{ji}y_i)^2}{(\sum_{i\ne j}k_{ji})^2-\sum_{i\ne j}k_{ji}^2};"
    r"\quad\text{debias: } \frac1N\sum_j\big(T_j-2c_j\hat y_j+c_j^2\big),\ "
    r"\text{else: } \frac1N\sum_j|\hat y_j-c_j|^{norm}",
    where={
        "h": "bandwidth; the kernel at c has variance about h c (1 - c)",
        "B": "beta function",
        "T_j": "mean of y_i y_l over pairs of other samples: E[y|c_j]^2 without the variance of ŷ_j",
    },
    source="Popordanoska, Sayer and Blaschko 2022 NeurIPS (A consistent and differentiable Lp canonical calibration "
    "error estimator); Lane 2025 s5.2 eq 67-68 (completed)",
    pitfalls="A squared error by default, and slightly negative values occur when debias is true. Print gives T alone, "
    "one of the three terms of the error. The authors' code counts both classes (twice debias=false).",
    aliases=("ece-kde (binary)",),
)
def bkde(
    rows: OrderedRows,
    *,
    bandwidth: Annotated[float, Above(0)] | Literal["loo", "normal", "silverman", "median", "cv"] = "loo",
    norm: Annotated[float, AtLeast(1)] = 2.0,
    debias: bool = True,
) -> float:
    """Distance of confidences from the frequencies that their neighbours, weighted by beta kernels, show.

    Parameters
    ----------
    bandwidth
        A positive number, or a rule of `kernel_bandwidth`.
    norm
        Power of the error; no root is taken.
    debias
        Whether to subtract the variance of the estimate; with norm 2 only.
    """
    if debias and norm != 2:
        raise InputError(f"norm of bkde must be 2 when debias is true; got {norm:g}", field="norm")
    levels = levels_of(rows)
    n = float(levels.weight.sum())
    if n < (3 if debias else 2):
        raise UndefinedMetricError(f"bkde needs at least {3 if debias else 2} rows; got {n:g}")
    points = pairs_of(levels.prob)
    if bandwidth == "loo":
        width = loo_width(points, levels.weight)
    else:
        width = chosen(rows, bandwidth, "gaussian", "bkde")
    total = 0.0
    for outcome, present in ((0.0, levels.weight - levels.true), (1.0, levels.true)):
        some = np.flatnonzero(present > 0)
        for block in row_blocks(len(some), len(levels.prob)):
            at = some[block]
            near = _Neighbours.of(levels, points, at, outcome, present[at], width)
            if debias:
                error = near.pairs - 2 * levels.prob[at] * near.mean + levels.prob[at] ** 2
            else:
                error = np.abs(near.mean - levels.prob[at]) ** norm
            total += float(np.sum(present[at] * error))
    return total / n


class _Neighbours:
    """Mean outcome of the other rows around some rows, and mean product of the outcomes of two of them.

    The row of largest weight is kept apart and the rest is scaled by its own largest weight: where one neighbour
    dwarfs the others, the pair sums (sum k)^2 - sum k^2 would otherwise cancel to 0.
    """

    def __init__(self, mean: Floats, pairs: Floats) -> None:
        self.mean = mean
        self.pairs = pairs

    @classmethod
    def of(
        cls, levels: Levels, points: Floats, at: NDArray[np.intp], outcome: float, present: Floats, width: float
    ) -> _Neighbours:
        line = np.arange(len(at))
        log_kernel = log_points(points[at]) @ (points.T / width) + constants(points, width)
        count = np.broadcast_to(levels.weight, log_kernel.shape).copy()
        true = np.broadcast_to(levels.true, log_kernel.shape).copy()
        unit = np.minimum(1.0, present)
        count[line, at] -= unit
        true[line, at] -= outcome * unit
        top, a, y_top, log_top = cls._take_largest(log_kernel, count, true, line)
        del top
        shown = np.where(count > 0, log_kernel, -np.inf)
        log_rest = shown.max(axis=1)
        kernel = np.exp(
            np.where(count > 0, log_kernel - np.where(np.isfinite(log_rest), log_rest, 0.0)[:, None], -np.inf)
        )
        s = np.exp(np.minimum(log_rest - log_top, 0.0))
        weighted = count * kernel
        rest, rest_true = weighted.sum(axis=1), (true * kernel).sum(axis=1)
        square, square_true = (weighted * kernel).sum(axis=1), (true * kernel * kernel).sum(axis=1)
        mean = (a * y_top + s * rest_true) / (a + s * rest)
        # Divided by the scale s of the rest; a (a - 1) is 0 unless weights are fractions.
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.where(a < 1, a * (a - 1) / np.where(s > 0, s, 1.0), 0.0)
            upper = own * y_top + 2 * a * y_top * rest_true + s * (rest_true**2 - square_true)
            lower = own + 2 * a * rest + s * (rest**2 - square)
            pairs = np.where(lower != 0, upper / np.where(lower != 0, lower, 1.0), mean**2)
        return cls(mean, pairs)

    @staticmethod
    def _take_largest(
        log_kernel: Floats, count: Floats, true: Floats, line: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], Floats, Floats, Floats]:
        """Take one row of the level of largest weight out of `count` and `true`: its level, weight, outcome, log k."""
        top = np.where(count > 0, log_kernel, -np.inf).argmax(axis=1)
        remaining, came_true = count[line, top], true[line, top]
        a = np.minimum(1.0, remaining)
        share = np.clip(came_true, 0.0, a)
        whole = np.where(came_true >= a, a, np.where(remaining - came_true >= a, 0.0, share))
        count[line, top] -= a
        true[line, top] -= whole
        return top, a, whole / a, log_kernel[line, top]


@metric(
    title="Dirichlet kernel density estimator of canonical calibration error",
    family="kernel",
    reads=Rows("classes"),
    range=(0.0, 2.0),
    ideal=0.0,
    direction="lower",
    equation=r"\frac1N\sum_{j=1}^N\Big\lVert\frac{\sum_{i\ne j}k(c_j;c_i)\,e_{y_i}}{\sum_{i\ne j}k(c_j;c_i)}-c_j"
    r"\Big\rVert_p^p,\qquad k(c_j;c_i)=\frac{\Gamma(\sum_k\alpha_{ik})}{\prod_k\Gamma(\alpha_{ik})}"
    r"\prod_{k=1}^Kc_{jk}^{\alpha_{ik}-1},\quad \alpha_{ik}=\frac{c_{ik}}h+1",
    where={"e_y": "one-hot label", "h": "bandwidth", "p": "norm"},
    source="Popordanoska, Sayer and Blaschko 2022 NeurIPS; Lane 2025 s5.2 eq 69-70",
    matrix="used whole (canonical calibration); a vector p is read as 1 - p, p",
    pitfalls="The L1 distance of two probability vectors reaches 2, not 1. With many classes few samples are near one "
    "another and the estimate is dominated by single labels. Time grows with N^2 K.",
    aliases=("ece-kde",),
)
def dkde(
    view: Multiclass,
    *,
    bandwidth: Annotated[float, Above(0)] | Literal["loo"] = "loo",
    norm: Annotated[float, AtLeast(1)] = 1.0,
) -> float:
    """Distance of whole probability vectors from the class frequencies that their neighbours show.

    Parameters
    ----------
    bandwidth
        A positive number, or ``loo``: the largest likelihood of samples left out.
    norm
        The p of the p-norm; its p-th power is averaged.
    """
    weight = np.ones(view.n_rows) if view.weight is None else view.weight
    some = weight > 0
    points, true, weight = view.prob[some].astype(np.float64), view.true[some], weight[some]
    n = float(weight.sum())
    if n < 2:
        raise UndefinedMetricError(f"dkde needs at least 2 rows; got {n:g}")
    if bandwidth == "loo":
        width = loo_width(points, weight)
    elif np.isfinite(bandwidth):
        width = float(bandwidth)
    else:
        raise InputError(f"bandwidth of dkde must be finite; got {bandwidth}", field="bandwidth")
    hot = np.zeros_like(points)
    hot[np.arange(len(points)), true] = 1.0
    logs, scaled, fixed = log_points(points), points.T / width, constants(points, width)
    with np.errstate(divide="ignore"):
        log_weight, log_rest = np.log(weight), np.log(weight - np.minimum(1.0, weight))
    total = 0.0
    for rows in row_blocks(len(points), len(points)):
        log_kernel = logs[rows] @ scaled + (fixed + log_weight)
        line = np.arange(rows.stop - rows.start)
        log_kernel[line, line + rows.start] += log_rest[rows] - log_weight[rows]
        log_kernel -= log_kernel.max(axis=1, keepdims=True)
        kernel = np.exp(log_kernel, out=log_kernel)
        frequency = kernel @ hot / kernel.sum(axis=1, keepdims=True)
        total += float(np.sum(weight[rows, None] * np.abs(frequency - points[rows]) ** norm))
    return total / n
