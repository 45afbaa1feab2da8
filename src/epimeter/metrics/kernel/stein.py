# SPDX-License-Identifier: Apache-2.0
"""A kernel discrepancy of Stein residuals, which need probabilities only up to a factor."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import AtLeast
from epimeter.metrics.kernel.limiting import spectral_test, wild_test
from epimeter.metrics.kernel.pairs import Pairs, calibration_pairs
from epimeter.metrics.kernel.squared import CANONICAL, KernelTest, MedianBandwidth, require_rows
from epimeter.summaries import Rows
from epimeter.views import View

Floats = NDArray[np.float64]


@metric(
    title="Kernel calibration-conditional Stein discrepancy, classifier form",
    family="kernel",
    cost="quadratic",
    nanoseconds=4_000,
    reads=Rows("given"),
    range=(None, None),
    ideal=0.0,
    direction="lower",
    test="asymptotic",
    weighted=False,
    equation=r"\xi_i=\sum_{z\ne y_i}\frac{c_{iz}}{c_{iz}+c_{iy_i}}(e_z-e_{y_i}),\quad KCCSD=\frac2{N(N-1)}\sum_{i<j}h_{ij},"
    r"\ h_{ij}=\exp\Big(-\frac{\lVert c_i-c_j\rVert_2^2}{2h^2}\Big)\,\xi_i^T\xi_j;\quad \text{spectral: } "
    r"p=P\Big(\sum_l\lambda_l(Z_l^2-1)>N\,KCCSD\Big),\ \lambda_l\text{ eigenvalues of }H/N;\quad"
    r"\text{wild: } T^*=\frac1{N-1}\sum_{i\ne j}s_is_jh_{ij},\ p=\frac{1+\#\{T^*\ge N\,KCCSD\}}{1+draws}",
    where={
        "ξ_i": "Stein residual of the observed class; its mean given c is 0 if and only if y follows c",
        "e_z": "unit vector of class z",
        "s_i": "random sign",
        "h": "bandwidth",
    },
    source="Glaser, Widmann, Lindsten and Gretton 2023 UAI (continuous targets); Barker 1965; Shi, Zhou, Hwang, Titsias "
    "and Mackey 2022 NeurIPS (discrete Stein operators); Lane 2025 s5.12 (in words)",
    matrix=CANONICAL,
    pitfalls="Experimental: the paper treats continuous targets, this form for classes is ours. For two classes it is "
    "skce_uq with a Gaussian kernel. Takes no weights.",
)
def kccsd(
    view: View,
    *,
    bandwidth: MedianBandwidth = "median",
    method: Literal["spectral", "wild"] = "spectral",
    draws: Annotated[int, AtLeast(1)] = 1000,
    seed: Annotated[int, AtLeast(0)] = 0,
) -> KernelTest:
    """Squared kernel discrepancy of Stein residuals, and a test of calibration.

    Parameters
    ----------
    bandwidth
        A positive number, or the median Euclidean distance of the probability vectors.
    method
        ``spectral`` is the exact tail of the limiting law, ``wild`` draws random signs as the paper does.
    draws, seed
        For ``wild``.
    """
    require_rows(view.n_rows, "kccsd")
    pairs = calibration_pairs(view, "euclid", "gaussian", bandwidth, "kccsd")
    if not pairs.on_line:
        residual = stein_residuals(view.prob.astype(np.float64), view.true)
        pairs = Pairs(pairs.points, residual, "euclid", "gaussian", pairs.width)
    if method == "wild":
        value, p_value = wild_test(pairs, draws, seed)
    else:
        value, p_value = spectral_test(pairs, centred=False)
    return KernelTest(value=value, p_value=p_value)


def stein_residuals(prob: Floats, true: NDArray[np.intp]) -> Floats:
    """xi of the equation; a term with c_z + c_y = 0 counts as 0."""
    line = np.arange(len(prob))
    both = prob + prob[line, true][:, None]
    residual = np.divide(prob, both, out=np.zeros_like(prob), where=both > 0)
    residual[line, true] = 0.0
    residual[line, true] = -residual.sum(axis=1)
    return residual
