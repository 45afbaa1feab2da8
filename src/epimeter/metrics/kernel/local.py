# SPDX-License-Identifier: Apache-2.0
"""Calibration within neighbourhoods of the features rather than of the predictions."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import AtLeast
from epimeter.metrics.kernel.distances import width_of
from epimeter.metrics.kernel.pairs import PairKernel, Pairs, points_and_residuals
from epimeter.metrics.kernel.squared import CANONICAL, KernelTest, MedianBandwidth, kernel_test, require_rows
from epimeter.summaries import Rows
from epimeter.views import View

Floats = NDArray[np.float64]


def feature_matrix(view: View, standardise: bool = True) -> Floats:
    """Features as (N, d), centred and divided by their standard deviation; a constant one is only centred."""
    features = view.columns["features"].astype(np.float64)
    if features.ndim == 1:
        features = features[:, None]
    if not standardise:
        return features
    constant = (features == features[0]).all(axis=0)
    features = features - features.mean(axis=0)
    features[:, constant] = 0.0
    spread = np.sqrt(np.mean(features**2, axis=0))
    return np.asarray(features / np.where(spread > 0, spread, 1.0))


@metric(
    title="Kernel local calibration error",
    family="kernel",
    cost="quadratic",
    nanoseconds=200,
    reads=Rows("given"),
    range=(-2.0, 2.0),
    ideal=0.0,
    direction="lower",
    test="asymptotic",
    needs=("features",),
    weighted=False,
    equation=r"KLCE=\frac2{N(N-1)}\sum_{i<j}k(x_i,x_j)\,e_i^Te_j,\qquad p\text{ as skce\_uq with } "
    r"h_{ij}=k(x_i,x_j)\,e_i^Te_j",
    where={"x_i": "(standardised) feature vector", "e_i": "onehot(y_i) - c_i", "k": "kernel on the features"},
    source="Vashistha and Farahi 2025 AISTATS (I-trustworthy models); Lane, journal version, s5.5",
    matrix=CANONICAL,
    pitfalls="Tells only about the features it is given and their scale. The review's equation breaks off; the kernel "
    "and the median bandwidth on standardised features are ours. Takes no weights.",
    aliases=("i-trustworthiness test",),
)
def klce(
    view: View,
    *,
    bandwidth: MedianBandwidth = "median",
    kernel: PairKernel = "gaussian",
    standardise: bool = True,
    method: Literal["spectral", "bootstrap"] = "spectral",
    draws: Annotated[int, AtLeast(1)] = 1000,
    seed: Annotated[int, AtLeast(0)] = 0,
) -> KernelTest:
    """Unbiased squared kernel error of the residuals over the features: are predictions calibrated for similar cases.

    Parameters
    ----------
    bandwidth
        A positive number, or the median Euclidean distance of the features.
    kernel
        ``gaussian`` exp(-d^2/2h^2) or ``laplace`` exp(-d/h).
    standardise
        Whether every feature is centred and divided by its standard deviation first.
    method, draws, seed
        As `skce_uq`.
    """
    require_rows(view.n_rows, "klce")
    features = feature_matrix(view, standardise)
    width = width_of(features, "euclid", bandwidth, "klce")
    residual = points_and_residuals(view)[1]
    return kernel_test(Pairs(features, residual, "euclid", kernel, width), method, draws, seed)
