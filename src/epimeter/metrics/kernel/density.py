# SPDX-License-Identifier: Apache-2.0
"""Calibration error against densities smoothed by a triweight kernel that is reflected at 0 and 1."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import Between
from epimeter.metrics.kernel.areas import absolute_area, simpson
from epimeter.metrics.kernel.bandwidth import Bandwidth, chosen
from epimeter.metrics.kernel.sums import kernel_sums, levels_of
from epimeter.summaries import Ordered, OrderedRows
from epimeter.summaries.rows import Levels

Floats = NDArray[np.float64]

GRID = 1 << 13
"""Fewest steps of the grid; a narrow kernel gets 64 steps to its half-width."""
FINEST = 1 << 20
"""Most steps of a grid over the whole of [0, 1]."""
POINTLIKE = 1e-13
"""A half-width below which a kernel does not reach from one double to the next but one, near 1."""
WIDE = 1000.0
"""A half-width beyond which the reflected kernel is flat to 1e-12."""


@metric(
    title="Smoothed kernel density estimate of ECE",
    family="kernel",
    reads=Ordered(),
    range=(0.0, 1.0),
    direction="lower",
    equation=r"\int_0^1\big|t-\hat y(t)\big|^{norm}\,\tilde c(t)\,dt,\quad \tilde c(t)=\frac1N\sum_iK(t,c_i),\ "
    r"\hat y(t)=\frac{\sum_iy_iK(t,c_i)}{\sum_iK(t,c_i)},\ K(t,c)=\sum_{m\in\mathbb Z}\big[\kappa(t-c-2m)+"
    r"\kappa(t+c-2m)\big],\ \kappa(u)=\frac{35}{32w}\Big(1-\frac{u^2}{w^2}\Big)^3_+",
    where={
        "w": "3 h, h the bandwidth: the standard deviation of the triweight kernel",
        "K": "triweight reflected at 0 and 1, so that the density integrates to 1",
    },
    source="Zhang, Kailkhura and Han 2020 ICML (Mix-n-Match); Lane 2025 s5.4 eq 78-79 (79 corrected)",
    pitfalls="Smoothing alone moves the value: certain and right forecasts do not score 0. The bandwidth is the "
    "kernel's standard deviation; taken as its half-width, as eq 78 prints it, it would smooth three times less. "
    "The authors' code takes the spread of the positives only.",
    aliases=("kde-ece", "mix-n-match ece"),
)
def skde(
    rows: OrderedRows,
    *,
    bandwidth: Bandwidth = "normal",
    norm: Annotated[float, Between(1, math.inf, open_high=True)] = 1.0,
) -> float:
    """Distance of the smoothed calibration curve from the identity, weighted by the density of the confidences.

    Parameters
    ----------
    bandwidth
        A positive number, or a rule of `kernel_bandwidth`.
    norm
        Power of the error; no root is taken.
    """
    width = 3 * chosen(rows, bandwidth, "gaussian", "skde")
    levels = levels_of(rows)
    if width < POINTLIKE:  # narrower than doubles can tell apart: every level stands alone
        share = levels.weight / levels.weight.sum()
        return float(share @ np.abs(levels.true / levels.weight - levels.prob) ** norm)
    if 32 / width <= FINEST:
        return _area(levels, 0.0, 1.0, 2 * max(GRID, math.ceil(32 / width)), width, norm)
    # A kernel too narrow for a grid over [0, 1]: a grid over each stretch that it reaches, nothing between them.
    edge = np.flatnonzero(np.diff(levels.prob) > 2 * width)
    low = np.maximum(levels.prob[np.concatenate([[0], edge + 1])] - width, 0.0)
    high = np.minimum(levels.prob[np.concatenate([edge, [len(levels.prob) - 1]])] + width, 1.0)
    return math.fsum(
        _area(levels, a, b, 2 * math.ceil(32 * (b - a) / width), width, norm)
        for a, b in zip(low.tolist(), high.tolist(), strict=True)
    )


def _area(levels: Levels, low: float, high: float, steps: int, width: float, norm: float) -> float:
    """The integral over [low, high] on an even number of equal steps."""
    step = (high - low) / steps
    t = np.asarray(low + np.arange(steps + 1) * step, np.float64)
    first, last = np.searchsorted(levels.prob, [low - 2 * width, high + 2 * width])
    near = Levels(levels.prob[first:last], levels.weight[first:last], levels.true[first:last])
    density, true = reflected_densities(near, t, width)
    part = near.weight.sum() / levels.weight.sum()
    gap = (t * density - true) * part
    if norm == 1:
        return absolute_area(gap, step)
    share = np.divide(np.abs(gap), density * part, out=np.zeros_like(gap), where=density > 0)
    return simpson(share**norm * density * part, step)


def reflected_densities(levels: Levels, t: Floats, width: float) -> tuple[Floats, Floats]:
    """Density of all confidences and of those that came true, at the points t."""
    columns = np.stack([levels.weight, levels.true]) / levels.weight.sum()
    if width > WIDE:
        flat = columns.sum(axis=1)
        return np.full(len(t), flat[0]), np.full(len(t), flat[1])
    sums = np.zeros((2, len(t)))
    furthest = math.ceil((width + 1) / 2)
    for m in range(-furthest, furthest + 1):
        for points, values in ((levels.prob + 2 * m, columns), (2 * m - levels.prob[::-1], columns[:, ::-1])):
            if points[0] < 1 + width and points[-1] > -width:
                sums += kernel_sums("triweight", points, np.ascontiguousarray(values), t, width)
    sums *= 35 / (32 * width)
    return np.maximum(sums[0], 0.0), np.maximum(sums[1], 0.0)
