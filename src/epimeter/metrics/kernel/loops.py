# SPDX-License-Identifier: Apache-2.0
"""The hot loops of the kernel family, compiled. Each has its slow twin in numpy (`fast`, `lipschitz`, `pairs`)."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def threads() -> int:
    """How many threads share one pass."""
    return max(1, min(8, os.cpu_count() or 1))


@njit(nogil=True, cache=True)
def decayed(points, values, width):  # type: ignore[no-untyped-def]
    """F_i = v_i + exp(-(x_i - x_{i-1})/h) F_{i-1}."""
    reached = np.empty_like(values)
    carried = 0.0
    last = points[0]
    for i in range(len(points)):
        carried = values[i] + np.exp((last - points[i]) / width) * carried
        last = points[i]
        reached[i] = carried
    return reached


@njit(nogil=True, cache=True)
def laplace_form(points, values, width):  # type: ignore[no-untyped-def]
    """Sum over i, j of v_i v_j exp(-|x_i - x_j|/h) in one pass."""
    total = 0.0
    carried = 0.0
    last = points[0]
    for i in range(len(points)):
        carried *= np.exp((last - points[i]) / width)
        last = points[i]
        total += values[i] * (2.0 * carried + values[i])
        carried += values[i]
    return total


@njit(nogil=True, cache=True)
def _block_sums(values, fresh, running):  # type: ignore[no-untyped-def]
    for row in range(values.shape[0]):
        carried = 0.0
        for i in range(values.shape[1]):
            if fresh[i]:
                carried = 0.0
            carried += values[row, i]
            running[row, i] = carried


def block_sums(values: Floats, fresh: NDArray[np.bool_]) -> Floats:
    """Running sums along the last axis that begin anew where `fresh` is true."""
    running = np.empty_like(values)
    flat = values.reshape(-1, values.shape[-1])
    _block_sums(flat, fresh, running.reshape(flat.shape))
    return running


@njit(nogil=True, cache=True)
def _spread(true, prob, cells, scale, grid):  # type: ignore[no-untyped-def]
    last = cells - 1
    for i in range(len(prob)):
        p = np.float64(prob[i])
        place = p * cells
        cell = min(np.int64(place), last)
        s = place - cell
        r = (np.float64(true[i]) - p) * scale
        grid[cell] += np.int64(np.rint(s * (1.0 - s) * (s - 2.0) / 6.0 * r))
        grid[cell + 1] += np.int64(np.rint((s + 1.0) * (1.0 - s) * (2.0 - s) / 2.0 * r))
        grid[cell + 2] += np.int64(np.rint(s * (s + 1.0) * (2.0 - s) / 2.0 * r))
        grid[cell + 3] += np.int64(np.rint(s * (s + 1.0) * (s - 1.0) / 6.0 * r))


def spread(true: NDArray[Any], prob: NDArray[Any], cells: int, shift: int) -> NDArray[np.int64]:
    """Residuals shared among four grid points; each thread fills a grid of its own."""
    parts = min(threads(), max(1, len(prob) >> 16))
    cuts = [len(prob) * part // parts for part in range(parts + 1)]
    grids = np.zeros((parts, cells + 3), np.int64)

    def fill(part: int) -> None:
        rows = slice(cuts[part], cuts[part + 1])
        _spread(true[rows], prob[rows], cells, 2.0**shift, grids[part])

    with ThreadPoolExecutor(parts) as pool:
        list(pool.map(fill, range(parts)))
    return np.asarray(grids.sum(axis=0))


@njit(nogil=True, cache=True)
def _set(tree, offset, rank):  # type: ignore[no-untyped-def]
    for level in range(len(offset) - 1):
        word = offset[level] + (rank >> 6)
        before = tree[word]
        tree[word] = before | (np.uint64(1) << np.uint64(rank & 63))
        if before != 0:
            return
        rank >>= 6


@njit(nogil=True, cache=True)
def _clear(tree, offset, rank):  # type: ignore[no-untyped-def]
    for level in range(len(offset) - 1):
        word = offset[level] + (rank >> 6)
        tree[word] &= ~(np.uint64(1) << np.uint64(rank & 63))
        if tree[word] != 0:
            return
        rank >>= 6


@njit(nogil=True, cache=True)
def _lowest_bit(word):  # type: ignore[no-untyped-def]
    bit = 0
    for width in (32, 16, 8, 4, 2, 1):
        if word & ((np.uint64(1) << np.uint64(width)) - np.uint64(1)) == 0:
            word >>= np.uint64(width)
            bit += width
    return bit


@njit(nogil=True, cache=True)
def _highest_bit(word):  # type: ignore[no-untyped-def]
    bit = 0
    for width in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(width) != 0:
            word >>= np.uint64(width)
            bit += width
    return bit


@njit(nogil=True, cache=True)
def _first(tree, offset):  # type: ignore[no-untyped-def]
    rank = 0
    for level in range(len(offset) - 2, -1, -1):
        rank = (rank << 6) + _lowest_bit(tree[offset[level] + rank])
    return rank


@njit(nogil=True, cache=True)
def _last(tree, offset):  # type: ignore[no-untyped-def]
    rank = 0
    for level in range(len(offset) - 2, -1, -1):
        rank = (rank << 6) + _highest_bit(tree[offset[level] + rank])
    return rank


@njit(nogil=True, cache=True)
def _best_bet(running, gap, rank, where, tree, offset):  # type: ignore[no-untyped-def]
    """The two steps of `lipschitz`; breakpoints live in a tree of bits over their ranks, 64 to a word."""
    steps = len(gap)
    jump = np.zeros(len(where))
    low = np.empty(steps, np.int64)
    high = np.empty(steps, np.int64)
    start = rank[steps]
    jump[start] = 2.0
    _set(tree, offset, start)
    first = start
    last = start
    for i in range(steps):
        here = rank[i]
        jump[here] = 2.0 * gap[i]
        _set(tree, offset, here)
        first = min(first, here)
        last = max(last, here)
        left = gap[i]
        while left > 0.0:
            taken = min(left, jump[first])
            left -= taken
            jump[first] -= taken
            if jump[first] <= 0.0:
                if first == last:  # rounding alone may empty the tree; its total jump is 2
                    jump[first] = 2.0
                    break
                _clear(tree, offset, first)
                first = _first(tree, offset)
        left = gap[i]
        while left > 0.0:
            taken = min(left, jump[last])
            left -= taken
            jump[last] -= taken
            if jump[last] <= 0.0:
                if first == last:
                    jump[last] = 2.0
                    break
                _clear(tree, offset, last)
                last = _last(tree, offset)
        low[i] = first
        high[i] = last
    later = -running[steps]
    cost = 0.0
    for i in range(steps - 1, -1, -1):
        here_at = min(max(later, where[low[i]]), where[high[i]])
        cost += abs(later - here_at) + gap[i] * abs(here_at + running[i])
        later = here_at
    return cost + abs(later)


def best_bet(running: Floats, gap: Floats) -> float:
    """The smooth calibration error times N; see `lipschitz`."""
    values = np.append(-running[:-1], 0.0)
    order = np.argsort(values)
    rank = np.empty(len(values), np.int64)
    rank[order] = np.arange(len(values))
    sizes = [len(values)]
    while sizes[-1] > 1 or len(sizes) == 1:
        sizes.append((sizes[-1] + 63) >> 6)
    offset = np.concatenate([[0], np.cumsum(sizes[1:])]).astype(np.int64)
    return float(_best_bet(running, gap, rank, values[order], np.zeros(offset[-1], np.uint64), offset))
