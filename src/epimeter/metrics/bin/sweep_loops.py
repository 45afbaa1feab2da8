# SPDX-License-Identifier: Apache-2.0
"""Loops over sorted confidences, compiled. Each has its slow twin in numpy or Python beside the metric that uses it."""

from __future__ import annotations

import numpy as np
from numba import njit

_BLOCK = 64


@njit(nogil=True, cache=True)
def _one_bin(part, residual, leave, left, enter, entered):  # type: ignore[no-untyped-def]
    """Integral of |residual sum| of one bin while it slides by its width: some rows leave, others enter."""
    total = 0.0
    for i in range(leave, left):
        total += residual[i]
    area, last = 0.0, 0.0
    while leave < left or enter < entered:
        if enter >= entered or (leave < left and part[leave] <= part[enter]):
            at, change = part[leave], -residual[leave]
            leave += 1
        else:
            at, change = part[enter], residual[enter]
            enter += 1
        area += (at - last) * abs(total)
        total += change
        last = at
    return area + (1.0 - last) * abs(total)


@njit(nogil=True, cache=True)
def shifted_error(home, part, residual):  # type: ignore[no-untyped-def]
    """Twin of `intervals.shifted_error`: neighbouring bins are merged by two pointers, nothing is sorted."""
    n = len(home)
    area = 0.0
    start = 0
    before = home[0] - 2 if n else 0
    while start < n:
        end = start
        while end < n and home[end] == home[start]:
            end += 1
        after = end
        while after < n and home[after] == home[start] + 1:
            after += 1
        if before != home[start] - 1:  # the bin below was empty at the beginning
            area += _one_bin(part, residual, 0, 0, start, end)
        area += _one_bin(part, residual, start, end, end, after)
        before = home[start]
        start = end
    return area


@njit(nogil=True, cache=True)
def cheapest_partition(prob, weight, residual):  # type: ignore[no-untyped-def]
    """Twin of `intervals.cheapest_partition`: whole blocks of candidates are passed over by their lower bound."""
    n = len(prob)
    mass, drift, cost = np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1)
    for j in range(n):
        mass[j + 1] = mass[j] + weight[j]
        drift[j + 1] = drift[j] + residual[j]
    n_blocks = n // _BLOCK + 1
    least_plus, least_minus = np.full(n_blocks, np.inf), np.full(n_blocks, np.inf)
    for j in range(1, n + 1):
        done = (j - 1) // _BLOCK
        least_plus[done] = min(least_plus[done], cost[j - 1] + drift[j - 1])
        least_minus[done] = min(least_minus[done], cost[j - 1] - drift[j - 1])
        best = np.inf
        for block in range(done, -1, -1):
            low, high = block * _BLOCK, min(j, (block + 1) * _BLOCK)
            narrowest = (mass[j] - mass[high - 1]) * (prob[j - 1] - prob[high - 1])
            bound = max(least_plus[block] - drift[j], least_minus[block] + drift[j]) + narrowest
            if bound < best:
                for l in range(high - 1, low - 1, -1):
                    width = (mass[j] - mass[l]) * (prob[j - 1] - prob[l])
                    best = min(best, cost[l] + abs(drift[j] - drift[l]) + width)
            if low > 0:
                width = (mass[j] - mass[low - 1]) * (prob[j - 1] - prob[low - 1])
                if cost[low] - abs(drift[j] - drift[low]) + width >= best:
                    break
        cost[j] = best
    return cost[n]


@njit(nogil=True, cache=True)
def pooled_sizes(true, count, min_count, max_count):  # type: ignore[no-untyped-def]
    """Twin of `binomial.pooled_sizes`."""
    n, rest = len(count), np.int64(0)
    while n > 0 and rest < min_count:
        n -= 1
        rest += count[n]
    ones, sizes = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    top = 0
    for i in range(n):
        ones[top], sizes[top] = true[i], count[i]
        top += 1
        while top > 1:
            a, v, b, w = ones[top - 2], sizes[top - 2], ones[top - 1], sizes[top - 1]
            if not (v + w <= min_count or (v + w <= max_count and a * w >= b * v)):
                break
            ones[top - 2], sizes[top - 2] = a + b, v + w
            top -= 1
    if top > 0 and sizes[top - 1] + rest <= max_count:
        sizes[top - 1] += rest
    else:
        sizes[top] = rest
        top += 1
    return sizes[:top]
