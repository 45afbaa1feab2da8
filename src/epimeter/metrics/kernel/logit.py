# SPDX-License-Identifier: Apache-2.0
"""Calibration error smoothed in logit space."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import InputError
from epimeter.limits import Above
from epimeter.metrics.kernel.areas import absolute_area
from epimeter.metrics.kernel.sums import kernel_sums, levels_of
from epimeter.summaries import Ordered, OrderedRows

Floats = NDArray[np.float64]

LEAST = 1e-12
REACH = 9.0
"""Standard deviations beyond which a Gaussian is nothing."""
PART = 1 << 19
"""Grid points held at a time."""


@metric(
    title="Logit-smoothed ECE",
    family="kernel",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"LSECE=\frac1N\int_{-\infty}^{\infty}\Big|\sum_{i=1}^N\big(y_i-\rho(u)\big)\,\varphi_\sigma\big(u-u_i\big)"
    r"\Big|\,du,\qquad u_i=\log\frac{c_i}{1-c_i},\quad \rho(u)=\frac1{1+e^{-u}}",
    where={
        "φ_σ": "normal density with standard deviation σ, the bandwidth",
        "c_i": "confidence, clipped to [1e-12, 1 - 1e-12] before the logit",
    },
    source="Chidambaram, Lee, McSwiggen and Rezchikov 2024 ICML (How flawed is ECE?); Lane 2025 s5.7 eq 83-84",
    pitfalls="The paper averages over noisy copies of random samples; this integral is the exact mean of that. Samples "
    "at exactly 0 or 1 stand by themselves at a logit of 27.6. The default bandwidth is ours, the paper names none.",
    aliases=("ls-ece",),
)
def lsece(rows: OrderedRows, *, bandwidth: Annotated[float, Above(0)] = 0.1) -> float:
    """Calibration error of the confidences after Gaussian noise on their logits: continuous in the model.

    Parameters
    ----------
    bandwidth
        Standard deviation of the Gaussian in logit space.
    """
    if not math.isfinite(bandwidth):
        raise InputError(f"bandwidth of lsece must be finite; got {bandwidth}", field="bandwidth")
    levels = levels_of(rows)
    clipped = np.clip(levels.prob, LEAST, 1 - LEAST)
    logit, start = np.unique(np.log(clipped) - np.log1p(-clipped), return_index=True)
    columns = np.stack([np.add.reduceat(levels.true, start), np.add.reduceat(levels.weight, start)])
    columns /= levels.weight.sum() * bandwidth * math.sqrt(2 * math.pi)
    # Stretches of points less than 18 standard deviations apart; between them the integrand is nothing.
    reach = REACH * bandwidth
    first = np.flatnonzero(np.concatenate([[True], np.diff(logit) > 2 * reach]))
    last = np.append(first[1:], len(logit))
    return sum(
        _stretch(logit[a:b], columns[:, a:b], bandwidth) for a, b in zip(first.tolist(), last.tolist(), strict=True)
    )


def _stretch(logit: Floats, columns: Floats, sigma: float) -> float:
    """The integral around one stretch of points."""
    begin, end = float(logit[0]) - REACH * sigma, float(logit[-1]) + REACH * sigma
    # Forty steps to a standard deviation of the Gaussian, and to the unit on which rho bends.
    steps = 2 * math.ceil((end - begin) * 20 / min(sigma, 1.0))
    step = (end - begin) / steps
    total = 0.0
    for start in range(0, steps, PART):
        u = begin + step * np.arange(start, min(start + PART, steps) + 1, dtype=np.float64)
        near = slice(*np.searchsorted(logit, [u[0] - 10 * sigma, u[-1] + 10 * sigma]))
        true, weight = kernel_sums("gaussian", logit[near], np.ascontiguousarray(columns[:, near]), u, sigma)
        total += absolute_area(true - _sigmoid(u) * weight, step)
    return total


def _sigmoid(u: Floats) -> Floats:
    small = np.exp(-np.abs(u))
    return np.asarray(np.where(u >= 0, 1.0, small) / (1 + small))
