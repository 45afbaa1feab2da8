# SPDX-License-Identifier: Apache-2.0
"""Local regression (LOESS): at each point a polynomial fitted to its nearest samples with tricube weights.

Fits are made at distinct confidences. A fit needs eight weighted moments of its window, five of the distance and three
of the outcome; from them the value at the centre follows in closed form by orthogonal polynomials. The moments are read
off a tree (`core/loess.c`), because the tricube weight is a polynomial on either side of the centre.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from epimeter.core import accepted, lib, read, write
from epimeter.metrics.curve.levels import are_whole
from epimeter.summaries.rows import Levels

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

LEAF = 64
"""Samples of a leaf of the tree."""
A_THREAD = 1 << 12
"""Windows from which a further thread pays."""
UNSAFE = 1e-6
"""A variance that cancels to less than this share of its terms is not trusted; the window is then solved by SVD."""

TOUCH = 1e-11
"""Distances this close to h, relatively, are h."""


def loess(levels: Levels, at: Floats, span: float, degree: int) -> Floats:
    """The fitted values at some points."""
    if levels.weight.sum() == 1 and len(levels.prob) == 1:
        return np.full(len(at), levels.true[0])
    order = np.argsort(at, kind="stable")
    x = at[order]
    reach = bandwidths(levels, x, span)
    tied = reach == 0  # at least q samples stand exactly there: their mean outcome
    fitted = np.empty(len(at))
    fitted[order[tied]] = mean_outcome(levels, x[tied])
    fitted[order[~tied]] = local_fits(levels, x[~tied], reach[~tied], degree)
    return fitted


def mean_outcome(levels: Levels, at: Floats) -> Floats:
    """Mean outcome of the samples exactly there."""
    place = np.searchsorted(levels.prob, at)
    return np.asarray(levels.true[place] / levels.weight[place])


def bandwidths(levels: Levels, at: Floats, span: float) -> Floats:
    """h(c): the distance to the q-th nearest sample, without a search through the neighbours of each point.

    A window that begins at one level and holds q samples ends at a known level. The farther of its ends is nearest
    where the sum of both ends passes 2c, and those sums increase: one binary search a point.
    """
    total = float(levels.weight.sum())
    if are_whole(levels.weight):
        wanted = min(max(np.floor(total * span + 1e-5), 1.0), total)
    else:
        wanted = min(total * span, total) * (1 - 1e-12)
    before = np.concatenate([[0.0], np.cumsum(levels.weight)])
    last = np.searchsorted(before, before[:-1] + wanted) - 1
    enough = int(np.count_nonzero(last < len(levels.prob)))
    first, end = levels.prob[:enough], levels.prob[last[:enough]]
    place = np.searchsorted(first + end, 2 * at)

    def farther(window: Indices) -> Floats:
        window = np.clip(window, 0, enough - 1)
        return np.asarray(np.maximum(np.abs(at - first[window]), np.abs(end[window] - at)))

    reach = np.minimum(farther(place - 1), farther(place))
    return np.asarray(reach * span if span > 1 else reach)


def local_fits(levels: Levels, at: Floats, reach: Floats, degree: int) -> Floats:
    """Weighted least squares around each point; the points are sorted and their windows have a width."""
    wide = reach * (1 + TOUCH)  # samples at the very edge belong to the window, whatever rounding says
    low = np.searchsorted(levels.prob, np.nextafter(at - wide, -1.0))
    high = np.searchsorted(levels.prob, np.nextafter(at + wide, 2.0), side="right")
    distance, outcome = window_moments(levels, at, reach, low, high)
    fitted, safe = centre_values(distance, outcome, degree, faintest=1e-33 * float(levels.weight.sum()))
    for i in np.flatnonzero(~safe):
        window = slice(low[i], high[i])
        fitted[i] = least_norm_fit(
            levels.prob[window] - at[i], levels.weight[window], levels.true[window], reach[i], degree
        )
    return fitted


def window_moments(levels: Levels, at: Floats, reach: Floats, low: Indices, high: Indices) -> tuple[Floats, Floats]:
    """Sums over each window of w u^k (k to 4) and of w y u^k (k to 2), with u = (c_i - c)/h; see `core/loess.c`."""
    prob, weight, true = (np.ascontiguousarray(c, np.float64) for c in (levels.prob, levels.weight, levels.true))
    leaves = 1
    while leaves * LEAF < len(prob):
        leaves *= 2
    nodes = [np.empty(2 * leaves), np.empty(2 * leaves), np.empty((2 * leaves, 14)), np.empty((2 * leaves, 12))]
    columns = read(prob), read(weight), read(true), len(prob), leaves
    accepted(lib.epi_loess_tree(*columns, *map(write, nodes), 2 * leaves))
    places = [np.ascontiguousarray(c, np.int64) for c in (low, np.searchsorted(prob, at), high)]
    points = [np.ascontiguousarray(c, np.float64) for c in (at, reach)]
    sums = np.zeros((len(at), 8))
    parts = max(1, min(os.cpu_count() or 1, len(at) // A_THREAD))
    cuts = [len(at) * part // parts for part in range(parts + 1)]

    def fill(start: int, stop: int) -> None:
        asked = [read(column[start:stop]) for column in (*points, *places)]
        out = write(sums[start:stop]), stop - start
        accepted(lib.epi_loess_windows(*columns, *map(read, nodes), 2 * leaves, *asked, *out))

    if parts == 1:
        fill(0, len(at))
    else:
        with ThreadPoolExecutor(parts) as pool:
            list(pool.map(fill, cuts[:-1], cuts[1:]))
    return sums[:, :5], sums[:, 5:]


def centre_values(distance: Floats, outcome: Floats, degree: int, faintest: float) -> tuple[Floats, NDArray[np.bool_]]:
    """The fitted polynomial at the centre, and where rounding left it trustworthy.

    The polynomial is 1, p1 = u - m1, p2 = u^2 - m2 - k (u - m1), orthogonal under the weights; m are mean powers.
    """
    total = distance[:, 0]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        m = distance / total[:, None]
        y0, y1, y2 = (outcome / total[:, None]).T
        fitted, safe = y0, total > faintest
        if degree >= 1:
            variance = m[:, 2] - m[:, 1] ** 2
            safe = safe & (variance > UNSAFE * m[:, 2])
            along = y1 - m[:, 1] * y0
            fitted = fitted - m[:, 1] * along / variance
        if degree == 2:
            lean = m[:, 3] - m[:, 1] * m[:, 2]
            k = lean / variance
            bend = m[:, 4] - m[:, 2] ** 2 - k * lean
            safe = safe & (bend > UNSAFE * m[:, 4])
            across = y2 - m[:, 2] * y0 - k * along
            fitted = fitted + (k * m[:, 1] - m[:, 2]) * across / bend
    return fitted, safe


def least_norm_fit(offset: Floats, weight: Floats, true: Floats, reach: float, degree: int) -> float:
    """One window by SVD: too few distinct confidences for the polynomial take the solution of least norm."""
    ratio = np.abs(offset) / reach
    # All nearest samples exactly at the edge would get no weight at all; they get weight 1 instead.
    edge = ratio.min() > 1 - TOUCH
    tricube = np.ones_like(ratio) if edge else np.maximum(1 - ratio**3, 0.0) ** 3
    some = tricube > 0
    root = np.sqrt(weight[some] * tricube[some])
    powers = np.vander(offset[some], degree + 1, increasing=True)
    solution = np.linalg.lstsq(powers * root[:, None], root * true[some] / weight[some], rcond=1e-10)[0]
    return float(solution[0])
