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
from epimeter.summaries.hot import _width_block
from epimeter.summaries.hot_cells import cell_block
from epimeter.summaries.hot_scores import _plain, logarithmic_rows

_MASK = (1 << STEPS) - 1
_SHORT = 256
"""Runs shorter than this are not worth four tables."""
_LONG = 600
"""Runs shorter than this are not worth being grouped by bin."""
_TILE = 1 << 13
"""Rows grouped at a time."""
JOINT = 256
"""Groups that one byte can tell apart."""
_STEP = 384.0
_STEP_BITS = int(np.float64(_STEP).view(np.int64))
"""Added to a number of size up to 1, 384 leaves its steps of 2^-44 in the last bits of the sum."""
_ONE_BITS = int(np.float64(1.0).view(np.int64))
TINY = 1e-300
"""The least probability that the loop of logarithms takes."""


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


@njit(nogil=True, cache=True)
def sound(true, prob, start, slot, ends, run_ends):  # type: ignore[no-untyped-def]
    """Least and greatest confidence of each run and slice; False when a row is no probability with an outcome 0 or 1.

    The bits of doubles from 0 to 1 grow with them; those of negative numbers are negative, those of NaN beyond all.
    """
    for g in range(len(slot)):
        low, high, top = np.int64(_ONE_BITS), np.int64(0), np.uint8(0)
        said, came = prob[start[g] : start[g + 1]], true[start[g] : start[g + 1]]
        for i in range(len(said)):
            bits = np.float64(np.float64(said[i]) + 0.0).view(np.int64)  # -0.0 becomes 0.0
            low, high = min(low, bits), max(high, bits)
        for i in range(len(came)):
            top |= came[i]
        if low < 0 or high > _ONE_BITS or top > 1:
            return False
        run_ends[g, 0], run_ends[g, 1] = np.int64(low).view(np.float64), np.int64(high).view(np.float64)
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
    table = np.empty((bins, 9), np.int64)
    for g in range(len(slot)):
        for begin in range(start[g], start[g + 1], BLOCK):
            end = min(begin + BLOCK, start[g + 1])
            _moments(true[begin:end], prob[begin:end], bins, table, into[slot[g]])


@njit(nogil=True, cache=True)
def _moments(true, prob, bins, table, into):  # type: ignore[no-untyped-def]
    table[:] = 0
    last, width = np.int64(bins - 1), np.float64(bins)
    for i in range(len(prob)):
        p = np.float64(prob[i])
        b = np.uint64(min(np.int64(p * width), last))
        u = np.float64(true[i]) - p
        v = p * (1.0 - p)
        t = v * (1.0 - 2.0 * p)
        v2 = v * v
        table[b, 0] += 1
        table[b, 1] += np.int64(true[i])
        table[b, 2] += np.int64(np.rint(p * 17592186044416.0))
        table[b, 3] += np.int64(np.rint(u * u * 17592186044416.0))
        table[b, 4] += np.int64(np.rint(v * 17592186044416.0))
        table[b, 5] += np.int64(np.rint(v2 * 17592186044416.0))
        table[b, 6] += np.int64(np.rint(v * v2 * 17592186044416.0))
        table[b, 7] += np.int64(np.rint(t * 17592186044416.0))
        table[b, 8] += np.int64(np.rint(t * t * 17592186044416.0))
    for k in range(bins):
        _add_moments(table[k], into[k])


@njit(nogil=True, cache=True)
def _add_moments(sums, row):  # type: ignore[no-untyped-def]
    row[0] += sums[0]
    row[1] += sums[1]
    for k in range(2, 9):
        steps = row[2 * k - 1] + sums[k]
        row[2 * k - 2] += steps >> STEPS
        row[2 * k - 1] = steps & _MASK


@njit(nogil=True, cache=True)
def add_joint(true, prob, start, slot, bins, moments, into_bins, into_moments):  # type: ignore[no-untyped-def]
    """Bins and moments of two numbers of bins at once, where their product is at most JOINT.

    Rows go into groups that lie in one bin of either kind, then every group is added up in registers. A short run is not
    worth the grouping.
    """
    groups = bins * moments
    key, order_prob, order_true = np.empty(_TILE, np.uint8), np.empty(_TILE), np.empty(_TILE)
    count, table = np.empty(groups + 1, np.int64), np.empty((groups, 9), np.int64)
    short_bins, short_moments = np.empty(2 * bins, np.int64), np.empty((moments, 9), np.int64)
    for g in range(len(slot)):
        for begin in range(start[g], start[g + 1], BLOCK):
            end = min(begin + BLOCK, start[g + 1])
            if end - begin < _LONG:
                _bins(true[begin:end], prob[begin:end], bins, short_bins, into_bins[slot[g]])
                _moments(true[begin:end], prob[begin:end], moments, short_moments, into_moments[slot[g]])
                continue
            table[:] = 0
            for first in range(begin, end, _TILE):
                last = min(first + _TILE, end)
                _grouped(true[first:last], prob[first:last], bins, moments, key, count, order_true, order_prob)
                for k in range(groups):
                    if count[k + 1] > count[k]:
                        some = slice(count[k], count[k + 1])
                        _group_sums(order_true[some], order_prob[some], table[k])
            for k in range(groups):
                if table[k, 0]:
                    row = into_bins[slot[g], k // moments]
                    row[0] += table[k, 0]
                    row[1] += table[k, 1]
                    steps = row[3] + table[k, 2]
                    row[2] += steps >> STEPS
                    row[3] = steps & _MASK
                    _add_moments(table[k], into_moments[slot[g], k % moments])


@njit(nogil=True, cache=True)
def _grouped(true, prob, bins, moments, key, count, order_true, order_prob):  # type: ignore[no-untyped-def]
    """Rows in the order of their group; `count` is where each group begins."""
    n, groups = len(prob), len(count) - 1
    width, other = np.float64(bins), np.float64(moments)
    for i in range(n):
        p = np.float64(prob[i])
        left = min(np.int64(p * width), np.int64(bins - 1))
        key[i] = np.uint8(left * moments + min(np.int64(p * other), np.int64(moments - 1)))
    count[:] = 0
    for i in range(n):
        count[np.uint64(key[i]) + np.uint64(1)] += 1
    for k in range(groups):
        count[k + 1] += count[k]
    place = count.copy()
    for i in range(n):
        group = np.uint64(key[i])
        j = np.uint64(place[group])
        place[group] += 1
        order_prob[j] = np.float64(prob[i])
        order_true[j] = np.float64(true[i])


@njit(nogil=True, cache=True)
def _group_sums(true, prob, sums):  # type: ignore[no-untyped-def]
    """Add the rows of one group: how many, outcomes, then steps of 2^-44 read off the bits of a sum (see fixed)."""
    n = len(prob)
    a, b, c, d = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    e, f, h, o = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for i in range(n):
        p, y = prob[i], true[i]
        u = y - p
        v = p * (1.0 - p)
        t = v * (1.0 - 2.0 * p)
        v2 = v * v
        o += np.float64(y + _STEP).view(np.int64)
        a += np.float64(p + _STEP).view(np.int64)
        b += np.float64(u * u + _STEP).view(np.int64)
        c += np.float64(v + _STEP).view(np.int64)
        d += np.float64(v2 + _STEP).view(np.int64)
        e += np.float64(v * v2 + _STEP).view(np.int64)
        f += np.float64(t + _STEP).view(np.int64)
        h += np.float64(t * t + _STEP).view(np.int64)
    less = n * _STEP_BITS
    sums[0] += n
    sums[1] += (o - less) >> STEPS
    sums[2] += a - less
    sums[3] += b - less
    sums[4] += c - less
    sums[5] += d - less
    sums[6] += e - less
    sums[7] += f - less
    sums[8] += h - less


@njit(nogil=True, cache=True)
def _carry(sums, row):  # type: ignore[no-untyped-def]
    """Sums of a block (units, steps, rest) into (units, steps) and (units, steps) of the rest."""
    for k in range(len(sums)):
        steps = row[k, 1] + sums[k, 1]
        row[k, 0] += sums[k, 0] + (steps >> STEPS)
        row[k, 1] = steps & _MASK
        rest = row[k, 3] + sums[k, 2]
        row[k, 2] += rest >> STEPS
        row[k, 3] = rest & _MASK


@njit(nogil=True, cache=True)
def add_plain(true, prob, start, slot, into, counts):  # type: ignore[no-untyped-def]
    """Sums of the plain scores (`hot_scores.PLAIN`) and counts by slice."""
    sums = np.empty((4, 3), np.int64)
    for g in range(len(slot)):
        for begin in range(start[g], start[g + 1], BLOCK):
            end = min(begin + BLOCK, start[g + 1])
            sums[:] = 0
            _plain(true[begin:end], prob[begin:end], sums, counts[slot[g]])
            _carry(sums, into[slot[g]])


@njit(nogil=True, cache=True)
def add_logarithmic(true, prob, start, slot, run_ends, into, rows, certain, odd):  # type: ignore[no-untyped-def]
    """Sums of the logarithmic scores by slice; gives back how many places of `odd` were filled.

    Rows that said 0 or 1 are only counted, in `certain` (0 and false, 0 and true, 1 and false, 1 and true): all rows
    of one kind add the same. Rows below TINY are left to the caller, who finds their places in `odd`.
    """
    sums = np.empty((4, 3), np.int64)
    left = 0
    for g in range(len(slot)):
        s = slot[g]
        for begin in range(start[g], start[g + 1], BLOCK):
            end = min(begin + BLOCK, start[g + 1])
            plain = end - begin
            sums[:] = 0
            if run_ends[g, 0] > TINY and run_ends[g, 1] < 1.0:
                logarithmic_rows(true[begin:end], prob[begin:end], sums)
            else:
                for i in range(begin, end):
                    p = np.float64(prob[i])
                    plain -= not ((p > TINY) & (1.0 - p > 0.0))
                some_true, some_prob = np.empty(plain, true.dtype), np.empty(plain, prob.dtype)
                j = 0
                for i in range(begin, end):
                    p = np.float64(prob[i])
                    if (p > TINY) & (1.0 - p > 0.0):
                        some_true[j], some_prob[j] = true[i], prob[i]
                        j += 1
                    elif p == 0.0:
                        certain[s, true[i]] += 1
                    elif p == 1.0:
                        certain[s, 2 + true[i]] += 1
                    else:
                        odd[left] = i
                        left += 1
                logarithmic_rows(some_true, some_prob, sums)
            rows[s] += plain
            _carry(sums, into[s])
    return left


@njit(nogil=True, cache=True)
def add_cells(true, prob, start, slot, table, only):  # type: ignore[no-untyped-def]
    """Cells by slice; see `summaries.hot_cells`."""
    for g in range(len(slot)):
        cell_block(true[start[g] : start[g + 1]], prob[start[g] : start[g + 1]], table[slot[g]], only[slot[g]])
