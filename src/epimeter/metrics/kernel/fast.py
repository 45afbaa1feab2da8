# SPDX-License-Identifier: Apache-2.0
"""Sums over sorted rows: numpy for small calls, compiled loops (`loops`) for large ones; a test holds both together."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WORTH_LOADING = 1 << 18
WORTH_CALLING = 1 << 12


def worth(n_rows: int) -> bool:
    """Whether compiled loops win on this many rows."""
    return n_rows >= (WORTH_CALLING if "epimeter.metrics.kernel.loops" in sys.modules else WORTH_LOADING)


def decayed(points: Floats, values: Floats, width: float) -> Floats:
    """F_i = sum over j <= i of v_j exp(-(x_i - x_j)/h), for sorted points.

    The compiled loop is the recursion F_i = v_i + exp(-(x_i - x_{i-1})/h) F_{i-1}; numpy doubles the reach of the
    sum instead, log2 N times. Underflow of a factor is harmless.
    """
    if worth(len(points)):
        from epimeter.metrics.kernel import loops

        return np.asarray(loops.decayed(points, values, width))
    reached, step = values.copy(), 1
    while step < len(points):
        factor = np.exp((points[:-step] - points[step:]) / width)
        reached[step:] += factor * reached[:-step]  # the right side is finished before the left is written
        step *= 2
    return reached


def laplace_form(points: Floats, values: Floats, width: float) -> float:
    """Sum over all i, j of v_i v_j exp(-|x_i - x_j|/h), for sorted points: sum_i v_i (2 F_i - v_i)."""
    if worth(len(points)):
        from epimeter.metrics.kernel import loops

        return float(loops.laplace_form(points, values, width))
    return float(np.sum(values * (2 * decayed(points, values, width) - values)))


def block_sums(values: Floats, starts: NDArray[np.intp]) -> Floats:
    """Running sums along the last axis that begin anew at each start, so that nothing cancels between blocks."""
    if worth(values.shape[-1]):
        from epimeter.metrics.kernel import loops

        fresh = np.zeros(values.shape[-1], np.bool_)
        fresh[starts] = True
        return np.asarray(loops.block_sums(np.ascontiguousarray(values), fresh))
    running = np.empty_like(values)
    ends = [*starts[1:].tolist(), values.shape[-1]]
    for start, end in zip(starts.tolist(), ends, strict=True):
        np.cumsum(values[..., start:end], axis=-1, out=running[..., start:end])
    return running


def cell_moments(true: NDArray[Any], prob: NDArray[Any], cells: int, shift: int) -> NDArray[np.int64]:
    """Sums of (y - c) s^k, k = 0..3, by cell of [0, 1], s in [-1/2, 1/2] the place in the cell; shape (cells, 4).

    They are whole numbers of 2^-shift: the same bits for any order of the rows and any number of threads.
    """
    if worth(len(prob)):
        from epimeter.metrics.kernel import loops

        return loops.cell_moments(true, prob, cells, shift)
    place = prob.astype(np.float64) * cells
    cell = np.minimum(place.astype(np.int64), cells - 1)
    part = (true - prob.astype(np.float64)) * 2.0**shift
    moments = np.zeros((cells, 4), np.int64)
    for power in range(4):
        np.add.at(moments[:, power], cell, part.astype(np.int64))
        part = part * (place - cell - 0.5)
    return moments
