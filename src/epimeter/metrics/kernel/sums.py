# SPDX-License-Identifier: Apache-2.0
"""One-dimensional kernel sums, sum_i v_i k(|q - x_i|/h), at many points q in time O(N log N).

- laplace: the exponential recursion, once from either side;
- gaussian: boxes of width h/2. Inside a box exp(-(x-q)^2/2h^2) is a polynomial in x and in q to 1e-15, so a box is
  known by 14 Chebyshev moments, and two boxes further apart than 9 h do not see each other;
- epanechnikov, triweight: polynomials in x - q, so prefix sums of the powers of x about a local origin suffice.

All kernels are 1 at distance 0 here. Few points are added up directly.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.core import accepted, lib, read, write
from epimeter.metrics.kernel.recursions import block_sums, decayed
from epimeter.summaries.rows import Levels, OrderedRows

Floats = NDArray[np.float64]
Kernel = Literal["gaussian", "laplace", "epanechnikov", "triweight"]

DIRECT = 1 << 19
"""Up to so many pairs are added up one by one."""
_TERMS = 14
_REACH = 19
"""Boxes of width h/2 whose gap may be below 9 h."""


def levels_of(rows: OrderedRows) -> Levels:
    """The distinct confidences that carry weight."""
    levels = rows.levels
    if rows.weight is None or levels.weight.all():
        return levels
    some = levels.weight > 0
    return Levels(levels.prob[some], levels.weight[some], levels.true[some])


def kernel_value(kernel: Kernel, u: Floats) -> Floats:
    """k(u) for u >= 0, scaled to k(0) = 1."""
    if kernel == "gaussian":
        return np.exp(-0.5 * u * u)
    if kernel == "laplace":
        return np.exp(-u)
    inside = np.maximum(1 - u * u, 0.0)
    return inside if kernel == "epanechnikov" else inside**3


def kernel_sums(kernel: Kernel, points: Floats, columns: Floats, at: Floats, width: float) -> Floats:
    """Sums for every column (one row of `columns`) and every query; `points` are sorted."""
    if len(points) * len(at) <= DIRECT or width < 1e-9:
        return _direct(kernel, points, columns, at, width)
    if kernel == "laplace":
        return _laplace(points, columns, at, width)
    if kernel == "gaussian":
        return _gaussian(points, columns, at, width)
    moments = window_moments(points, columns, at, width, 2 if kernel == "epanechnikov" else 6)
    if kernel == "epanechnikov":
        return moments[:, 0] - moments[:, 2]
    return moments[:, 0] - 3 * moments[:, 2] + 3 * moments[:, 4] - moments[:, 6]


def _direct(kernel: Kernel, points: Floats, columns: Floats, at: Floats, width: float) -> Floats:
    sums = np.empty((len(columns), len(at)))
    step = max(1, DIRECT // len(points))
    with np.errstate(over="ignore"):  # a width of 1e-300 sees equal points only
        for start in range(0, len(at), step):
            rows = slice(start, start + step)
            sums[:, rows] = columns @ kernel_value(kernel, np.abs(points[:, None] - at[rows]) / width)
    return sums


def _laplace(points: Floats, columns: Floats, at: Floats, width: float) -> Floats:
    sums = np.empty((len(columns), len(at)))
    right = np.searchsorted(points, at, side="right")  # points before here are <= q
    left = np.maximum(right - 1, 0)
    after = np.minimum(right, len(points) - 1)
    from_left = np.where(right > 0, np.exp(np.minimum(points[left] - at, 0.0) / width), 0.0)
    from_right = np.where(right < len(points), np.exp(np.minimum(at - points[after], 0.0) / width), 0.0)
    mirrored = -points[::-1]
    for row, values in enumerate(columns):
        forward = decayed(points, values, width)
        backward = decayed(mirrored, values[::-1].copy(), width)[::-1]
        sums[row] = from_left * forward[left] + from_right * backward[after]
    return sums


@lru_cache(maxsize=1)
def _transfers() -> Floats:
    """Chebyshev coefficients of the Gaussian between two boxes, for every offset of the boxes."""
    place = (np.arange(_TERMS) + 0.5) * math.pi / _TERMS
    node = np.cos(place)
    to_coefficients = 2 / _TERMS * np.cos(np.arange(_TERMS)[:, None] * place)
    to_coefficients[0] /= 2
    offset = np.arange(-_REACH, _REACH + 1)[:, None, None]
    distance = 0.5 * offset + 0.25 * (node[None, :] - node[:, None])  # source node minus target node, in units of h
    return np.asarray(to_coefficients @ np.exp(-0.5 * distance**2) @ to_coefficients.T)


def _gaussian(points: Floats, columns: Floats, at: Floats, width: float) -> Floats:
    box = width / 2
    home, starts, place = _boxes(points, box)
    moments = np.stack(
        [np.add.reduceat(columns * term, starts, axis=1) for term in _chebyshev(place)], axis=-1
    )  # column, box, term
    order = None if bool(np.all(at[1:] >= at[:-1])) else np.argsort(at, kind="stable")
    query = at if order is None else at[order]
    target, target_starts, target_place = _boxes(query, box)
    local = np.zeros((len(columns), len(target), _TERMS))
    for number, transfer in enumerate(_transfers()):
        found = np.searchsorted(home, target + (number - _REACH))
        found = np.minimum(found, len(home) - 1)
        match = np.flatnonzero(home[found] == target + (number - _REACH))
        local[:, match] += moments[:, found[match]] @ transfer.T
    member = np.repeat(np.arange(len(target)), np.diff(target_starts, append=len(query)))
    sums = np.zeros((len(columns), len(query)))
    for number, term in enumerate(_chebyshev(target_place)):
        sums += local[:, member, number] * term
    if order is None:
        return sums
    restored = np.empty_like(sums)
    restored[:, order] = sums
    return restored


def _boxes(points: Floats, box: float) -> tuple[Floats, NDArray[np.intp], Floats]:
    """Numbers of the boxes that hold sorted points, where each begins, and the place of every point in its box."""
    number = np.floor(points / box)
    starts = np.flatnonzero(np.concatenate([[True], number[1:] != number[:-1]]))
    return number[starts], starts, 2 * (points / box - number) - 1


def _chebyshev(place: Floats) -> list[Floats]:
    terms = [np.ones_like(place), place]
    while len(terms) < _TERMS:
        terms.append(2 * place * terms[-1] - terms[-2])
    return terms


def window_moments(points: Floats, columns: Floats, at: Floats, width: float, degree: int) -> Floats:
    """Sum of v ((x - q)/h)^d over |x - q| < h, for d = 0..degree: shape (columns, degree + 1, queries).

    Powers are taken about the middle of blocks of width h and added up inside a block, so that neither the shift to
    q nor the difference of two prefix sums loses digits to faraway points.
    """
    number = np.floor(points / width)
    starts = np.flatnonzero(np.concatenate([[True], number[1:] != number[:-1]]))
    place = points / width - number - 0.5
    powers = [np.ones_like(place)]
    for _ in range(degree):
        powers.append(powers[-1] * place)  # products, since a power of numpy has other last bits on another processor
    running = block_sums(columns[:, None, :] * np.stack(powers), starts)
    low = np.searchsorted(points, at - width, side="right").astype(np.int64)
    high = np.searchsorted(points, at + width, side="left").astype(np.int64)
    moments = np.empty((len(columns), degree + 1, len(at)))
    blocks = read(number[starts]), read(np.append(starts, len(points)).astype(np.int64)), len(starts)
    sums = read(running), len(columns), degree + 1, len(points)
    queries = read(low), read(high), read(np.ascontiguousarray(at)), len(at)
    accepted(lib.epi_window_moments(*sums, *blocks, *queries, width, write(moments), moments.size))
    return moments
