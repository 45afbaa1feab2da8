# SPDX-License-Identifier: Apache-2.0
"""Nadaraya-Watson regression of outcomes on confidences, safe where all weights underflow."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from epimeter.metrics.kernel.sums import Kernel, kernel_sums
from epimeter.summaries.rows import Levels

Floats = NDArray[np.float64]

SAFE = 1e-6
"""A sum of weights below this share of the rows in reach has lost digits; it is added up again, point by point."""


def smoothed(levels: Levels, at: Floats, width: float, kernel: Kernel) -> Floats:
    """The regression curve at some points."""
    true, weight = kernel_sums(kernel, levels.prob, np.stack([levels.true, levels.weight]), at, width)
    weak = weight <= SAFE * _in_reach(levels, at, width, kernel)
    curve = np.divide(true, weight, out=np.zeros_like(true), where=~weak)
    for place in np.flatnonzero(weak):
        curve[place] = _exactly(levels, float(at[place]), width, kernel)
    return np.asarray(np.clip(curve, 0.0, 1.0))


def left_out(levels: Levels, width: float, kernel: Kernel) -> tuple[Floats, Floats]:
    """The curve at every level without one row of outcome 0, and without one row of outcome 1.

    A row of weight w counts as w equal rows, of which one is left out; of a weight below 1, all of it.
    """
    columns = np.stack([levels.true, levels.weight])
    true, weight = kernel_sums(kernel, levels.prob, columns, levels.prob, width)
    reach = _in_reach(levels, levels.prob, width, kernel)
    curves = []
    for outcome, present in ((0.0, levels.weight - levels.true), (1.0, levels.true)):
        unit = np.minimum(1.0, present)
        rest = weight - unit
        weak = rest <= SAFE * reach
        curve = np.divide(true - outcome * unit, rest, out=np.zeros_like(true), where=~weak)
        for place in np.flatnonzero(weak & (present > 0)):
            less = int(place), float(unit[place]), outcome
            curve[place] = _exactly(levels, float(levels.prob[place]), width, kernel, less)
        curves.append(np.clip(curve, 0.0, 1.0))
    return curves[0], curves[1]


def _in_reach(levels: Levels, at: Floats, width: float, kernel: Kernel) -> Floats:
    """The weight of the rows that the fast sums have touched on the way to each query."""
    reach = width * {"gaussian": 9.5, "laplace": 40.0}.get(kernel, 1.5)
    upto = np.concatenate([[0.0], np.cumsum(levels.weight)])
    return np.asarray(upto[np.searchsorted(levels.prob, at + reach)] - upto[np.searchsorted(levels.prob, at - reach)])


def _exactly(
    levels: Levels, at: float, width: float, kernel: Kernel, less: tuple[int, float, float] | None = None
) -> float:
    """The curve at one point from weights relative to the largest; the nearest rows where no kernel reaches.

    `less` names a level, the weight to take from it and the outcome of that weight.
    """
    distance = _nearest(levels, at, less)
    if kernel == "gaussian":
        window = math.sqrt(distance**2 + 80 * width**2)
    elif kernel == "laplace":
        window = distance + 40 * width
    else:
        window = max(distance, width)
    window *= 1 + 1e-12
    start, stop = np.searchsorted(levels.prob, at - window), np.searchsorted(levels.prob, at + window, side="right")
    part = slice(int(start), int(stop))
    far, weight, true = np.abs(levels.prob[part] - at), levels.weight[part].copy(), levels.true[part].copy()
    if less is not None:
        weight[less[0] - part.start] -= less[1]
        true[less[0] - part.start] -= less[1] * less[2]
    if kernel == "gaussian":
        share = np.exp(np.minimum(0.5 * ((distance - far) / width) * ((distance + far) / width), 0.0))
    elif kernel == "laplace":
        share = np.exp(np.minimum((distance - far) / width, 0.0))
    elif distance < width:
        share = (np.maximum((width - far) * (width + far), 0.0) / ((width - distance) * (width + distance))) ** (
            1 if kernel == "epanechnikov" else 3
        )
    else:
        share = (far <= distance + 1e-12).astype(np.float64)
    return float(np.sum(share * true) / np.sum(share * weight))


def _nearest(levels: Levels, at: float, less: tuple[int, float, float] | None) -> float:
    """Distance to the nearest level that carries weight; a level emptied by leaving its row out does not count."""
    place = int(np.searchsorted(levels.prob, at))
    emptied = less[0] if less is not None and levels.weight[less[0]] <= less[1] else -1
    near = [i for i in range(place - 1, place + 2) if 0 <= i < len(levels.prob) and i != emptied]
    return min(abs(float(levels.prob[i]) - at) for i in near)
