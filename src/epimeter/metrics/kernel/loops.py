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
def _cell_moments(true, prob, cells, scale, moments):  # type: ignore[no-untyped-def]
    last = np.uint64(cells - 1)
    for i in range(len(prob)):
        p = np.float64(prob[i])
        place = p * cells
        cell = min(np.uint64(np.int64(place)), last)
        s = place - np.float64(np.int64(cell)) - 0.5
        part = (np.float64(true[i]) - p) * scale
        at = cell * np.uint64(4)
        moments[at] += np.int64(part)
        part *= s
        moments[at + np.uint64(1)] += np.int64(part)
        part *= s
        moments[at + np.uint64(2)] += np.int64(part)
        part *= s
        moments[at + np.uint64(3)] += np.int64(part)


def cell_moments(true: NDArray[Any], prob: NDArray[Any], cells: int, shift: int) -> NDArray[np.int64]:
    """Moments of the residuals by cell; each thread fills a table of its own."""
    parts = min(threads(), max(1, len(prob) >> 17))
    cuts = [len(prob) * part // parts for part in range(parts + 1)]
    tables = np.zeros((parts, 4 * cells), np.int64)

    def fill(part: int) -> None:
        rows = slice(cuts[part], cuts[part + 1])
        _cell_moments(true[rows], prob[rows], cells, 2.0**shift, tables[part])

    with ThreadPoolExecutor(parts) as pool:
        list(pool.map(fill, range(parts)))
    return np.asarray(tables.sum(axis=0).reshape(cells, 4))


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


_LOOSE = {"reassoc", "nsz", "contract"}
"""Sums over coordinates may be reordered, so that they use wide registers."""


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def _distance(left, right, i, j, euclid):  # type: ignore[no-untyped-def]
    total = 0.0
    if euclid:
        for k in range(left.shape[1]):
            gap = left[i, k] - right[j, k]
            total += gap * gap
        return np.sqrt(total)
    for k in range(left.shape[1]):
        total += abs(left[i, k] - right[j, k])
    return 0.5 * total


@njit(nogil=True, cache=True, fastmath=_LOOSE)
def _distance_rows(left, right, euclid, gaps):  # type: ignore[no-untyped-def]
    """Four rows at a time share what is read of the right-hand points."""
    n = len(left)
    for first in range(0, n - n % 4, 4):
        for j in range(len(right)):
            a = 0.0
            b = 0.0
            c = 0.0
            d = 0.0
            if euclid:
                for k in range(left.shape[1]):
                    x = right[j, k]
                    a += (left[first, k] - x) ** 2
                    b += (left[first + 1, k] - x) ** 2
                    c += (left[first + 2, k] - x) ** 2
                    d += (left[first + 3, k] - x) ** 2
            else:
                for k in range(left.shape[1]):
                    x = right[j, k]
                    a += abs(left[first, k] - x)
                    b += abs(left[first + 1, k] - x)
                    c += abs(left[first + 2, k] - x)
                    d += abs(left[first + 3, k] - x)
            gaps[first, j] = a
            gaps[first + 1, j] = b
            gaps[first + 2, j] = c
            gaps[first + 3, j] = d
    for i in range(n - n % 4, n):
        for j in range(len(right)):
            a = 0.0
            for k in range(left.shape[1]):
                x = left[i, k] - right[j, k]
                a += x * x if euclid else abs(x)
            gaps[i, j] = a


def _in_parts(cuts: Any, work: Any) -> list[Any]:
    """Run work(start, stop) between the cuts, several at a time."""
    with ThreadPoolExecutor(threads()) as pool:
        return list(pool.map(work, cuts[:-1], cuts[1:]))


def _even_cuts(n_rows: int) -> list[int]:
    """Rows cut into one part a thread, at multiples of four."""
    parts = threads()
    return [min(n_rows, -(-n_rows * part // (4 * parts)) * 4) for part in range(parts + 1)]


def times_kernel(left: Floats, right: Floats, euclid: bool, gaussian: bool, width: float, block: Floats) -> None:
    """Multiply block[i, j] by the kernel of left[i] and right[j]."""
    gaps = np.empty_like(block)

    def fill(start: int, stop: int) -> None:
        part = gaps[start:stop]
        _distance_rows(left[start:stop], right, euclid, part)
        if euclid and not gaussian:
            np.sqrt(part, out=part)
        elif gaussian and not euclid:
            np.square(part, out=part)
        # Gaps hold the sum of sizes (twice the distance) or of squares (its square), or the root of that.
        size = 1.0 if euclid else 0.5
        part *= -0.5 * size**2 / width**2 if gaussian else -size / width
        np.exp(part, out=part)
        block[start:stop] *= part

    _in_parts(_even_cuts(len(left)), fill)


@njit(nogil=True, cache=True)
def _tally(gaps, skipped, low, high, found):  # type: ignore[no-untyped-def]
    """How many gaps lie below `low` and in [low, high]; those are written down as far as there is room.

    Row i of the gaps begins to count at column skipped + i.
    """
    below = 0
    inside = 0
    for i in range(gaps.shape[0]):
        for j in range(skipped + i, gaps.shape[1]):
            gap = gaps[i, j]
            if gap < low:
                below += 1
            elif gap <= high:
                if inside < len(found):
                    found[inside] = gap
                inside += 1
    return below, inside


def pair_tally(points: Floats, euclid: bool, low: float, high: float, room: int) -> tuple[int, int, Floats]:
    """Number of pairs nearer than `low`, number in [low, high], and the distances of these unless they are too many."""
    n, step = len(points), 64
    scale = 1.0 if euclid else 2.0

    def tally(start: int, stop: int) -> tuple[int, int, Floats]:
        gaps = np.empty((stop - start, n - start))
        _distance_rows(points[start:stop], points[start:], euclid, gaps)
        if euclid:
            np.sqrt(gaps, out=gaps)
        found = np.empty(min(room, gaps.size))
        below, inside = _tally(gaps, 1, scale * low, scale * high, found)
        return below, inside, found[: min(inside, len(found))] / scale

    parts = _in_parts([*range(0, n, step), n], tally)
    inside = sum(part[1] for part in parts)
    held = np.concatenate([part[2] for part in parts]) if inside <= room else np.empty(0)
    return sum(part[0] for part in parts), inside, held
