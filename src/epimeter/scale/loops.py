# SPDX-License-Identifier: Apache-2.0
"""The compiled loops of a pass: rows of many slices, each run of rows added to the totals of its slice.

Rows come grouped: `start[g]` to `start[g + 1]` are the rows of slice `slot[g]`; without slices there is one run. Within a
run the loops are those of `summaries`, so every total has the integers that the recipe's own `summarise` gives.
Totals are carried to (units, steps) after each run, so nothing overflows whatever the number of rows.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from epimeter.summaries.fixed import BLOCK, STEPS
from epimeter.summaries.hot import _moment_block, _width_block, moment_sums
from epimeter.summaries.hot_scores import _NEAR_END, _NEAR_HALF, _NEAR_NOTHING

_MASK = (1 << STEPS) - 1
_SHORT = 256
"""Runs shorter than this are not worth four tables."""
_TILE = 1 << 13
"""Rows grouped at a time."""
_VECTOR = 8
"""Rows that a compiled loop takes at once; what is left over costs it many times more a row."""
JOINT = 256
"""Groups that one byte can tell apart."""
_ONE_BITS, _NOTHING_BITS, _HALF_BITS = (
    int(np.float64(number).view(np.int64)) for number in (1.0, _NEAR_NOTHING, _NEAR_HALF)
)


@njit(nogil=True, cache=True)
def spread(code, true, prob, start, into_true, into_prob):  # type: ignore[no-untyped-def]
    """Rows grouped by their code, a missing one (-1) last: `start` is filled with where each group begins."""
    groups = len(start) - 1
    for k in range(groups + 1):
        start[k] = 0
    for i in range(len(code)):
        start[np.uint64(code[i] if code[i] >= 0 else groups - 1) + np.uint64(1)] += 1
    for k in range(groups):
        start[k + 1] += start[k]
    place = start[:-1].copy()
    for i in range(len(code)):
        group = np.uint64(code[i] if code[i] >= 0 else groups - 1)
        j = np.uint64(place[group])
        place[group] += 1
        said = prob[i] + prob.dtype.type(0.0)  # -0.0 becomes 0.0
        if not said >= 0.0 or true[i] > 1:
            said = prob.dtype.type(np.nan)  # what is no probability with an outcome stays refusable
        into_prob[j] = -said if true[i] else said  # the outcome travels as the sign: one move a row, not two
    for i in range(len(into_prob)):
        into_true[i] = np.signbit(into_prob[i])
        into_prob[i] = abs(into_prob[i])


@njit(inline="always")
def odd(p, ends):  # type: ignore[no-untyped-def]
    """Whether a row may add a tiny number to a finer sum, as `hot_scores.near_rows` finds them: no loop keeps such."""
    near = ((p < _NEAR_NOTHING) & (p > 0.0)) | ((abs(p - 0.5) < _NEAR_HALF) & (p != 0.5))
    return near | (ends & (((p < _NEAR_END) & (p > 0.0)) | ((1.0 - p < _NEAR_END) & (p < 1.0))))


@njit(nogil=True, cache=True)
def sound(true, prob, start, slot, ends, run_ends, near_ends, run_odd):  # type: ignore[no-untyped-def]
    """Least and greatest confidence of each run and slice, and how many rows of a run are odd.

    False when a row is no probability with an outcome 0 or 1. The bits of doubles from 0 to 1 grow with them; those of
    negative numbers are negative, those of NaN beyond all.
    """
    for g in range(len(slot)):
        low, high, top = np.int64(_ONE_BITS), np.int64(0), np.uint8(0)
        above, beside = np.int64(_ONE_BITS), np.int64(_ONE_BITS)  # nearest to 0 and to a half, but not there
        said, came = prob[start[g] : start[g + 1]], true[start[g] : start[g + 1]]
        for i in range(len(said)):
            p = np.float64(said[i]) + 0.0  # -0.0 becomes 0.0
            bits = np.float64(p).view(np.int64)
            low, high = min(low, bits), max(high, bits)
            above = min(above, bits if bits > 0 else np.int64(_ONE_BITS))
            distance = abs(p - 0.5)
            beside = min(beside, np.float64(distance if distance > 0.0 else 1.0).view(np.int64))
        for i in range(len(came)):
            top |= came[i]
        if low < 0 or high > _ONE_BITS or top > 1:
            return False
        run_ends[g, 0], run_ends[g, 1] = np.int64(low).view(np.float64), np.int64(high).view(np.float64)
        run_odd[g] = 0
        if near_ends or above < _NOTHING_BITS or beside < _HALF_BITS:
            for i in range(len(said)):
                run_odd[g] += np.int64(odd(np.float64(said[i]), near_ends))
        ends[slot[g], 0] = min(ends[slot[g], 0], run_ends[g, 0])
        ends[slot[g], 1] = max(ends[slot[g], 1], run_ends[g, 1])
    return True


@njit(nogil=True, cache=True)
def add_bins(true, prob, start, slot, bins, into):  # type: ignore[no-untyped-def]
    """Rows, outcomes and confidence (units, steps) by slice and equal-width bin."""
    table = np.empty(2 * bins, np.int64)
    for g in range(len(slot)):
        for begin in range(start[g], start[g + 1], BLOCK):
            end = min(begin + BLOCK, start[g + 1])
            _bins(true[begin:end], prob[begin:end], bins, table, into[slot[g]])


@njit(nogil=True, cache=True)
def _bins(true, prob, bins, table, into):  # type: ignore[no-untyped-def]
    table[:] = 0
    last, width = np.int64(bins - 1), np.float64(bins)
    if len(prob) >= _SHORT:
        _width_block(true, prob, bins, table)
    else:
        for i in range(len(prob)):
            p = np.float64(prob[i])
            b = min(np.int64(p * width), last) * 2
            table[b] += 1 + (np.int64(true[i]) << 32)
            table[b + 1] += np.int64(np.rint(p * 17592186044416.0))
    for k in range(bins):
        row = into[k]
        row[0] += table[2 * k] & 0xFFFFFFFF
        row[1] += table[2 * k] >> 32
        steps = row[3] + table[2 * k + 1]
        row[2] += steps >> STEPS
        row[3] = steps & _MASK


@njit(nogil=True, cache=True)
def add_moments(true, prob, start, slot, bins, into):  # type: ignore[no-untyped-def]
    """Rows, outcomes, confidence and the six moments of `MomentTotals` by slice and equal-width bin."""
    table = np.empty((bins, 16), np.int64)
    for g in range(len(slot)):
        for begin in range(start[g], start[g + 1], BLOCK):
            end = min(begin + BLOCK, start[g + 1])
            table[:] = 0
            _moment_block(true[begin:end], prob[begin:end], bins, table)
            for k in range(bins):
                _add_moments(table[k], into[slot[g], k])


@njit(nogil=True, cache=True)
def _add_moments(sums, row):  # type: ignore[no-untyped-def]
    """Rows, outcomes, then steps and rest of seven sums into (units, steps) and (units, steps) of the rest."""
    row[0] += sums[0]
    row[1] += sums[1]
    for k in range(2, 16):
        steps = row[2 * k - 1] + sums[k]
        row[2 * k - 2] += steps >> STEPS
        row[2 * k - 1] = steps & _MASK


@njit(nogil=True, cache=True)
def add_joint(true, prob, start, slot, bins, moments, into_bins, into_moments):  # type: ignore[no-untyped-def]
    """Bins and moments of two numbers of bins at once, where together they are at most JOINT.

    Rows go into groups that lie in one bin of either kind, then every group is added up in registers. As p grows, so do
    the two numbers of its bins, so their sum tells the groups apart. A group is filled up with rows of p = 0 and y = 0,
    which add nothing, to whole vectors.
    """
    groups = bins + moments - 1
    room = _TILE + groups * _VECTOR
    key, order_true, order_prob = np.empty(_TILE, np.uint8), np.empty(room), np.empty(room)
    count, place, table = np.empty(groups, np.int64), np.empty(groups, np.int64), np.empty((groups, 16), np.int64)
    least, joined = np.empty(groups), np.empty((moments, 16), np.int64)
    for g in range(len(slot)):
        for begin in range(start[g], start[g + 1], BLOCK):
            end = min(begin + BLOCK, start[g + 1])
            table[:], joined[:] = 0, 0
            for first in range(begin, end, _TILE):
                last = min(first + _TILE, end)
                _grouped(true[first:last], prob[first:last], bins, moments, key, count, place, order_true, order_prob)
                at = 0
                for k in range(groups):
                    if count[k]:
                        size = (count[k] + _VECTOR - 1) // _VECTOR * _VECTOR
                        least[k] = order_prob[at]
                        moment_sums(order_true[at : at + size], order_prob[at : at + size], table[k])
                        table[k, 0] += count[k] - size
                        at += size
            for k in range(groups):
                if table[k, 0]:
                    left = min(np.int64(least[k] * np.float64(bins)), np.int64(bins - 1))
                    row = into_bins[slot[g], left]
                    row[0] += table[k, 0]
                    row[1] += table[k, 1]
                    steps = row[3] + table[k, 2]
                    row[2] += steps >> STEPS
                    row[3] = steps & _MASK
                    for j in range(16):
                        joined[k - left, j] += table[k, j]
            for k in range(moments):
                if joined[k, 0]:
                    _add_moments(joined[k], into_moments[slot[g], k])


@njit(nogil=True, cache=True)
def _grouped(true, prob, bins, moments, key, count, place, order_true, order_prob):  # type: ignore[no-untyped-def]
    """Rows in the order of their group, each group filled up to whole vectors."""
    n, groups = len(prob), len(count)
    width, other, most, most_other = np.float64(bins), np.float64(moments), np.int32(bins - 1), np.int32(moments - 1)
    for i in range(n):
        p = np.float64(prob[i])
        key[i] = np.uint8(min(np.int32(p * width), most) + min(np.int32(p * other), most_other))
    count[:] = 0
    for i in range(n):
        count[np.uint64(key[i])] += 1
    at = 0
    for k in range(groups):
        place[k] = at
        at += (count[k] + _VECTOR - 1) // _VECTOR * _VECTOR
    for k in range(groups):
        for i in range(place[k] + count[k], place[k + 1] if k + 1 < groups else at):
            order_true[i], order_prob[i] = 0.0, 0.0
    for i in range(n):
        group = np.uint64(key[i])
        j = np.uint64(place[group])
        place[group] += 1
        order_prob[j] = np.float64(prob[i])
        order_true[j] = np.float64(true[i])
