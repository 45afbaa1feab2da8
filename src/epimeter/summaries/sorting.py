# SPDX-License-Identifier: Apache-2.0
"""Rows sorted by confidence and outcome, compiled; its slow twin is `sort` on the packed integers in `rows`.

Two distributions and hardly any comparison. The confidences go into buckets by where they lie between the least and
the greatest; each bucket, small enough for the cache, goes into cells of about four keys by where its keys lie between
its own least and greatest; what is still out of order inside a cell moves a few places. Threads share the rows in the
first step and the buckets in the second, and give the same integers for any number of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

BUCKETS = 2048
A_CELL = 4
"""Keys meant for a cell."""
CROWDED = 48
"""A cell with more keys, because they lie unevenly, is sorted by comparison."""
MOST_THREADS = 4


def sorted_keys(prob: NDArray[Any], true: NDArray[Any]) -> Integers:
    """Confidence and outcome packed into one integer each, in increasing order."""
    prob = np.ascontiguousarray(prob, np.float64)
    true = np.ascontiguousarray(true, np.uint8)
    n_rows, threads = len(prob), _threads()
    cuts = [n_rows * part // threads for part in range(threads + 1)]
    slices = [slice(*pair) for pair in zip(cuts, cuts[1:], strict=False)]
    with ThreadPoolExecutor(threads) as pool:
        ends = _all(pool, _extremes, [(prob[rows],) for rows in slices])
        low, high = min(end[0] for end in ends), max(end[1] for end in ends)
        scale = BUCKETS / (high - low) if high > low else 0.0
        count = np.zeros((threads, BUCKETS), np.int64)
        _all(pool, _count, [(prob[rows], low, scale, count[part]) for part, rows in enumerate(slices)])
        begin = np.concatenate([[0], np.cumsum(count.sum(axis=0))])
        # A bucket holds the rows of the first thread, then those of the second, and so on.
        place = begin[:-1] + np.cumsum(count, axis=0) - count
        keys, bits = np.empty(n_rows, np.int64), prob.view(np.int64)
        _all(
            pool,
            _distribute,
            [(true[rows], prob[rows], bits[rows], low, scale, place[part], keys) for part, rows in enumerate(slices)],
        )
        share = np.searchsorted(begin, cuts)
        share[0], share[-1] = 0, BUCKETS
        _all(pool, _sort_buckets, [(keys, begin, *pair) for pair in zip(share, share[1:], strict=False)])
    return keys


def unpacked(keys: Integers) -> tuple[Floats, Floats]:
    """Confidence and outcome back from the integers."""
    prob, true = np.empty(len(keys)), np.empty(len(keys))
    threads = _threads()
    cuts = [len(keys) * part // threads for part in range(threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        parts = [slice(*pair) for pair in zip(cuts, cuts[1:], strict=False)]
        _all(pool, _unpack, [(keys[rows], prob.view(np.int64)[rows], true[rows]) for rows in parts])
    return prob, true


def _threads() -> int:
    if hasattr(os, "sched_getaffinity"):
        return min(MOST_THREADS, len(os.sched_getaffinity(0)))
    return min(MOST_THREADS, os.cpu_count() or 1)


def _all(pool: ThreadPoolExecutor, function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
    """The function on every set of arguments, side by side."""
    return [waiting.result() for waiting in [pool.submit(function, *call) for call in calls]]


@njit(nogil=True, cache=True)
def _extremes(prob):  # type: ignore[no-untyped-def]
    low, high = 1.0, 0.0
    for i in range(len(prob)):
        low, high = min(low, prob[i]), max(high, prob[i])
    return low, high


@njit(nogil=True, cache=True)
def _count(prob, low, scale, count):  # type: ignore[no-untyped-def]
    last = len(count) - 1
    for i in range(len(prob)):
        count[min(np.int64((prob[i] - low) * scale), last)] += 1


@njit(nogil=True, cache=True)
def _distribute(true, prob, bits, low, scale, place, keys):  # type: ignore[no-untyped-def]
    last = len(place) - 1
    for i in range(len(prob)):
        b = min(np.int64((prob[i] - low) * scale), last)
        # The shift drops the sign of -0.0, as packing by way of + 0.0 does.
        keys[place[b]] = (bits[i] << 1) | np.int64(true[i])
        place[b] += 1


@njit(nogil=True, cache=True)
def _sort_buckets(keys, begin, first, last):  # type: ignore[no-untyped-def]
    largest = 0
    for b in range(first, last):
        largest = max(largest, begin[b + 1] - begin[b])
    spare, end = np.empty(largest, np.int64), np.empty(largest // A_CELL + 2, np.int64)
    for b in range(first, last):
        bucket = keys[begin[b] : begin[b + 1]]
        n = len(bucket)
        if n < 2:
            continue
        low, high = bucket[0], bucket[0]
        for i in range(n):
            low, high = min(low, bucket[i]), max(high, bucket[i])
        cells = n // A_CELL + 1
        scale = cells / (np.float64(high - low) + 1.0)
        end[: cells + 1] = 0
        for i in range(n):
            end[min(int(np.float64(bucket[i] - low) * scale), cells - 1) + 1] += 1
        for c in range(cells):
            end[c + 1] += end[c]
        for i in range(n):
            c = min(int(np.float64(bucket[i] - low) * scale), cells - 1)
            spare[end[c]] = bucket[i]
            end[c] += 1
        start = 0
        for c in range(cells):
            if end[c] - start > CROWDED:
                spare[start : end[c]].sort()
            start = end[c]
        bucket[0] = spare[0]
        for i in range(1, n):
            key, j = spare[i], i - 1
            while j >= 0 and bucket[j] > key:
                bucket[j + 1] = bucket[j]
                j -= 1
            bucket[j + 1] = key


@njit(nogil=True, cache=True)
def _unpack(keys, bits, true):  # type: ignore[no-untyped-def]
    for i in range(len(keys)):
        bits[i] = keys[i] >> 1
        true[i] = keys[i] & 1
