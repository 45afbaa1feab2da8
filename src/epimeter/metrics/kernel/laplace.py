# SPDX-License-Identifier: Apache-2.0
"""Norms of the residuals in the Hilbert space of a kernel on the confidences.

All three are one quadratic form, sum_ij r_i r_j k(c_i, c_j). For the Laplace kernel it is exact in O(N log N): sort,
then carry A_i = exp(-(c_i - c_{i-1})/h) (A_{i-1} + r_{i-1}) along and add r_i (2 A_i + r_i).
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.metrics.kernel.bandwidth import Bandwidth, chosen
from epimeter.metrics.kernel.recursions import laplace_form
from epimeter.metrics.kernel.sums import kernel_sums
from epimeter.summaries import Ordered, OrderedRows
from epimeter.uncertainty import KernelForm

Floats = NDArray[np.float64]
NormKernel = Literal["laplace", "gaussian"]


def kernel_form(points: Floats, values: Floats, width: float, kernel: NormKernel) -> float:
    """Sum over all pairs of v_i v_j k(x_i, x_j), for sorted points; never negative."""
    if kernel == "laplace":
        form = laplace_form(points, values, width)
    else:
        form = float(np.sum(values * kernel_sums("gaussian", points, values[None], points, width)[0]))
    return max(form, 0.0)


def _residual(rows: OrderedRows) -> Floats:
    residual = rows.true - rows.prob
    return residual if rows.weight is None else rows.weight * residual


@metric(
    title="Maximum mean calibration error",
    family="kernel",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"MMCE=\Big(\frac1{N^2}\sum_{i=1}^N\sum_{j=1}^N(y_i-c_i)(y_j-c_j)\,k(c_i,c_j)\Big)^{1/2},\qquad "
    r"k(c,c')=\exp(-|c-c'|/h)",
    where={"h": "bandwidth", "c_i": "confidence", "y_i": "outcome"},
    source="Kumar, Sarawagi and Jain 2018 ICML (Trainable calibration measures from kernel mean embeddings); "
    "Lane 2025 s5.3 eq 71-72",
    pitfalls="Print and some training losses leave out the root: that is squared=true. Biased upwards on small "
    "samples, since every residual is paired with itself.",
    bound=KernelForm(),
)
def mmce(
    rows: OrderedRows,
    *,
    bandwidth: Bandwidth = 0.4,
    kernel: NormKernel = "laplace",
    squared: bool = False,
) -> float:
    """Size of the residuals as a function in the kernel's Hilbert space: zero if and only if no smooth bet on them wins.

    Parameters
    ----------
    bandwidth
        A positive number, or a rule of `kernel_bandwidth`.
    kernel
        ``laplace`` exp(-d/h) or ``gaussian`` exp(-d^2/2h^2).
    squared
        Whether to leave the root out.
    """
    width = chosen(rows, bandwidth, kernel, "mmce")
    square = kernel_form(rows.prob, _residual(rows), width, kernel) / _total(rows) ** 2
    return square if squared else math.sqrt(square)


@metric(
    title="Weighted maximum mean calibration error",
    family="kernel",
    reads=Ordered(),
    range=(0.0, math.sqrt(2)),
    direction="lower",
    equation=r"MMCE_w^2=\frac1{m^2}\sum_{y_i=y_j=1}(1-c_i)(1-c_j)k_{ij}+\frac1{n^2}\sum_{y_i=y_j=0}c_ic_jk_{ij}"
    r"-\frac2{mn}\sum_{y_i=1,\,y_j=0}(1-c_i)c_jk_{ij}",
    where={"m": "number of samples with y = 1", "n": "number with y = 0", "k_ij": "kernel of mmce"},
    source="Kumar, Sarawagi and Jain 2018 ICML and the authors' code; Lane 2025 s5.3 (in words)",
    pitfalls="Both outcomes count as if they were equally frequent, so a calibrated model does not score 0: a training "
    "loss rather than a measure of calibration. NaN when only one outcome is present.",
    aliases=("mmce_w", "wmmce", "weighted_mmce"),
    bound=KernelForm(weighted=True),
)
def mmce_weighted(
    rows: OrderedRows,
    *,
    bandwidth: Bandwidth = 0.4,
    kernel: NormKernel = "laplace",
    squared: bool = False,
) -> float:
    """Distance between the mean embeddings of the residuals of right and of wrong predictions.

    Parameters
    ----------
    bandwidth
        A positive number, or a rule of `kernel_bandwidth`.
    kernel
        As `mmce`.
    squared
        Whether to leave the root out.
    """
    right = float(np.sum(rows.mass * rows.true))
    wrong = float(np.sum(rows.mass * (1 - rows.true)))
    if right == 0 or wrong == 0:
        return math.nan
    width = chosen(rows, bandwidth, kernel, "mmce_weighted")
    share = np.where(rows.true == 1, (1 - rows.prob) / right, -rows.prob / wrong)
    square = kernel_form(rows.prob, rows.mass * share, width, kernel)
    return square if squared else math.sqrt(square)


@metric(
    title="Laplace kernel calibration error",
    family="kernel",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"LKCE=\Big(\frac1{N^2}\sum_{i,j}(y_i-c_i)(y_j-c_j)e^{-|c_i-c_j|}\Big)^{1/2}",
    where={"c_i": "confidence", "y_i": "outcome"},
    source="Błasiok, Gopalan, Hu and Nakkiran 2023 STOC (A unifying theory of distance from calibration); "
    "Lane 2025 s5.3",
    pitfalls="The same as mmce with bandwidth 1. Peers draw random pairs; here all pairs count, exactly.",
    aliases=("kce with laplace kernel", "kce (laplace)", "kernel calibration error (laplace)", "laplace_kernel_ce"),
    bound=KernelForm(kernel="laplace", width=1.0),
)
def lkce(rows: OrderedRows, *, squared: bool = False) -> float:
    """Kernel calibration error with the kernel exp(-|c - c'|), which bounds the distance to calibration.

    Parameters
    ----------
    squared
        Whether to leave the root out.
    """
    square = kernel_form(rows.prob, _residual(rows), 1.0, "laplace") / _total(rows) ** 2
    return square if squared else math.sqrt(square)


def _total(rows: OrderedRows) -> float:
    return float(rows.n_rows if rows.weight is None else rows.weight.sum())
