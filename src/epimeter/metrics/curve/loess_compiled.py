# SPDX-License-Identifier: Apache-2.0
"""The window moments of LOESS from a tree, compiled: O(N log N) in all, the same sums as `loess.window_moments`.

Every node of the tree holds sums of powers of its samples about its own middle. Inside a window and on one side of the
centre the tricube weight is a polynomial of degree 9; written about the middle of a node it turns those sums into the
node's share of the moments, exactly. Written that way small weights stay relatively accurate; shifted sums of powers
about the centre would cancel. Only the ends of a window and the leaf of its centre are added up sample by sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit  # type: ignore[import-untyped,unused-ignore]
from numpy.typing import NDArray

from epimeter.summaries.rows import Levels

Floats = NDArray[np.float64]

LEAF = 64
POWERS = 14
"""Degree 9 of the weight, 4 of the distance, and the zeroth."""
WIDE = 0.125
"""Nodes of a larger radius, in units of h, are opened: the weights at their far end may be too small for their sums."""


def window_moments(levels: Levels, at: Floats, reach: Floats, low: Any, high: Any) -> tuple[Floats, Floats]:
    """Sums over each window of w u^k (k to 4) and of w y u^k (k to 2), with u = (c_i - c)/h."""
    leaves = 1
    while leaves * LEAF < len(levels.prob):
        leaves *= 2
    nodes = _tree(levels.prob, levels.weight, levels.true, leaves)
    centre = np.searchsorted(levels.prob, at)
    out = np.zeros((len(at), 8))
    _windows(levels.prob, levels.weight, levels.true, leaves, *nodes, at, reach, low, centre, high, out)
    return out[:, :5], out[:, 5:]


@njit(nogil=True, cache=True)
def _tree(prob, weight, true, leaves):  # type: ignore[no-untyped-def]
    n = len(prob)
    middle, radius = np.zeros(2 * leaves), np.ones(2 * leaves)
    mass, came = np.zeros((2 * leaves, POWERS)), np.zeros((2 * leaves, POWERS - 2))
    size, first = LEAF, leaves
    while first >= 1:
        for node in range(first, 2 * first):
            start = (node - first) * size
            end = min(start + size, n)
            if start >= end:
                continue
            middle[node] = 0.5 * (prob[start] + prob[end - 1])
            half = 0.5 * (prob[end - 1] - prob[start])
            radius[node] = half if half > 0 else 1e-300
            for i in range(start, end):
                v = (prob[i] - middle[node]) / radius[node]
                power = 1.0
                for k in range(POWERS):
                    mass[node, k] += weight[i] * power
                    if k < POWERS - 2:
                        came[node, k] += true[i] * power
                    power *= v
        size *= 2
        first //= 2
    return middle, radius, mass, came


@njit(nogil=True, cache=True)
def _add_samples(prob, weight, true, start, end, x, h, out):  # type: ignore[no-untyped-def]
    for i in range(start, end):
        u = (prob[i] - x) / h
        g = 1.0 - abs(u * u * u)
        if g > 0:
            g = g * g * g
            w = weight[i] * g
            y = true[i] * g
            out[0] += w
            out[1] += w * u
            out[2] += w * u * u
            out[3] += w * u * u * u
            out[4] += w * u * u * u * u
            out[5] += y
            out[6] += y * u
            out[7] += y * u * u


@njit(nogil=True, cache=True)
def _add_node(middle, radius, mass, came, x, h, out, cubic, g, part):  # type: ignore[no-untyped-def]
    """Add the moments of one node that lies in the window, on one side of the centre."""
    d, r = (middle - x) / h, radius / h
    s = 1.0 if d >= 0 else -1.0
    e = s * d  # |u| = e + s r v, with v in [-1, 1]
    # 1 - |u|^3 as a cubic in v; its constant term without cancellation
    cubic[0] = (1.0 - e) * (1.0 + e + e * e)
    cubic[1] = -3.0 * e * e * s * r
    cubic[2] = -3.0 * e * r * r
    cubic[3] = -s * r * r * r
    for k in range(10):
        g[k] = 0.0
    for a in range(4):
        for b in range(4):
            ab = cubic[a] * cubic[b]
            for c in range(4):
                g[a + b + c] += ab * cubic[c]
    # part[i]: sum of w v^i; then u = d + r v gives the powers of u
    for i in range(5):
        total = 0.0
        for k in range(10):
            total += g[k] * mass[i + k]
        part[i] = total
    r2 = r * r
    out[0] += part[0]
    out[1] += d * part[0] + r * part[1]
    out[2] += d * d * part[0] + 2 * d * r * part[1] + r2 * part[2]
    out[3] += d**3 * part[0] + 3 * d * d * r * part[1] + 3 * d * r2 * part[2] + r2 * r * part[3]
    out[4] += (
        d**4 * part[0]
        + 4 * d**3 * r * part[1]
        + 6 * d * d * r2 * part[2]
        + 4 * d * r2 * r * part[3]
        + r2 * r2 * part[4]
    )
    for i in range(3):
        total = 0.0
        for k in range(10):
            total += g[k] * came[i + k]
        part[i] = total
    out[5] += part[0]
    out[6] += d * part[0] + r * part[1]
    out[7] += d * d * part[0] + 2 * d * r * part[1] + r2 * part[2]


@njit(nogil=True, cache=True)
def _windows(  # type: ignore[no-untyped-def]
    prob, weight, true, leaves, middle, radius, mass, came, at, reach, low, centre, high, out
):
    cubic, g, part = np.empty(4), np.empty(10), np.empty(5)
    stack = np.empty(128, np.int64)
    for t in range(len(at)):
        x, h = at[t], reach[t]
        for side in range(2):
            start = low[t] if side == 0 else centre[t]
            end = centre[t] if side == 0 else high[t]
            left, right = (start + LEAF - 1) // LEAF, end // LEAF
            if left >= right:
                _add_samples(prob, weight, true, start, end, x, h, out[t])
                continue
            _add_samples(prob, weight, true, start, left * LEAF, x, h, out[t])
            _add_samples(prob, weight, true, right * LEAF, end, x, h, out[t])
            # The nodes that make up the leaves from left to right.
            left, right, waiting = left + leaves, right + leaves, 0
            while left < right:
                if left & 1:
                    stack[waiting] = left
                    waiting, left = waiting + 1, left + 1
                if right & 1:
                    right -= 1
                    stack[waiting] = right
                    waiting += 1
                left //= 2
                right //= 2
            while waiting > 0:
                waiting -= 1
                node = stack[waiting]
                if radius[node] <= WIDE * h:
                    _add_node(middle[node], radius[node], mass[node], came[node], x, h, out[t], cubic, g, part)
                elif node < leaves:
                    stack[waiting], stack[waiting + 1] = 2 * node, 2 * node + 1
                    waiting += 2
                else:
                    first = (node - leaves) * LEAF
                    _add_samples(prob, weight, true, first, min(first + LEAF, len(prob)), x, h, out[t])
