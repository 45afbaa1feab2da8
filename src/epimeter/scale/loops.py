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
from epimeter.summaries.hot_scores import _logarithmic, _plain

_MASK = (1 << STEPS) - 1
_SHORT = 256
"""Runs shorter than this are not worth four tables."""
TINY = 1e-300
"""The least probability that the loop of logarithms takes."""


@njit(nogil=True, cache=True)
def spread(code, slots, true, prob, start, into_true, into_prob):  # type: ignore[no-untyped-def]
    """Rows grouped by their code: `start` is filled with where each code begins, one entry more than codes."""
    n_codes = len(start) - 1
    for k in range(n_codes + 1):
        start[k] = 0
    for i in range(len(code)):
        start[slots[code[i]] + 1] += 1
    for k in range(n_codes):
        start[k + 1] += start[k]
    place = start[:-1].copy()
    for i in range(len(code)):
        k = slots[code[i]]
        j = place[k]
        place[k] = j + 1
        into_prob[j] = prob[i]
        into_true[j] = true[i]


@njit(nogil=True, cache=True)
def sound(true, prob, start, slot, ends):  # type: ignore[no-untyped-def]
    """Least and greatest confidence of each slice; False when a row is not a probability with an outcome 0 or 1."""
    for g in range(len(slot)):
        low, high, top = 2.0, -1.0, np.uint8(0)
        bad = 0
        for i in range(start[g], start[g + 1]):
            p = np.float64(prob[i])
            bad += not ((p >= 0.0) & (p <= 1.0))
            low, high = min(low, p), max(high, p)
            top |= true[i]
        if bad or top > 1:
            return False
        ends[slot[g], 0] = min(ends[slot[g], 0], low)
        ends[slot[g], 1] = max(ends[slot[g], 1], high)
    return True


@njit(nogil=True, cache=True)
def add_bins(true, prob, start, slot, bins, into):  # type: ignore[no-untyped-def]
    """Rows, outcomes and confidence (units, steps) by slice and equal-width bin."""
    table = np.empty(2 * bins, np.int64)
    last, width = np.int64(bins - 1), np.float64(bins)
    for g in range(len(slot)):
        for begin in range(start[g], start[g + 1], BLOCK):
            end = min(begin + BLOCK, start[g + 1])
            table[:] = 0
            if end - begin >= _SHORT:
                _width_block(true[begin:end], prob[begin:end], bins, table)
            else:
                for i in range(begin, end):
                    p = np.float64(prob[i])
                    b = min(np.int64(p * width), last) * 2
                    table[b] += 1 + (np.int64(true[i]) << 32)
                    table[b + 1] += np.int64(np.rint(p * 17592186044416.0))
            for k in range(bins):
                row = into[slot[g], k]
                row[0] += table[2 * k] & 0xFFFFFFFF
                row[1] += table[2 * k] >> 32
                steps = row[3] + table[2 * k + 1]
                row[2] += steps >> STEPS
                row[3] = steps & _MASK


@njit(nogil=True, cache=True)
def add_moments(true, prob, start, slot, bins, into):  # type: ignore[no-untyped-def]
    """Rows, outcomes, confidence and the six moments of `MomentTotals` by slice and equal-width bin."""
    table = np.empty((bins, 8), np.int64)
    last, width = np.int64(bins - 1), np.float64(bins)
    for g in range(len(slot)):
        for begin in range(start[g], start[g + 1], BLOCK):
            end = min(begin + BLOCK, start[g + 1])
            table[:] = 0
            for i in range(begin, end):
                p = np.float64(prob[i])
                b = np.uint64(min(np.int64(p * width), last))
                u = np.float64(true[i]) - p
                v = p * (1.0 - p)
                t = v * (1.0 - 2.0 * p)
                v2 = v * v
                table[b, 0] += 1 + (np.int64(true[i]) << 32)
                table[b, 1] += np.int64(np.rint(p * 17592186044416.0))
                table[b, 2] += np.int64(np.rint(u * u * 17592186044416.0))
                table[b, 3] += np.int64(np.rint(v * 17592186044416.0))
                table[b, 4] += np.int64(np.rint(v2 * 17592186044416.0))
                table[b, 5] += np.int64(np.rint(v * v2 * 17592186044416.0))
                table[b, 6] += np.int64(np.rint(t * 17592186044416.0))
                table[b, 7] += np.int64(np.rint(t * t * 17592186044416.0))
            for j in range(bins):
                row = into[slot[g], j]
                row[0] += table[j, 0] & 0xFFFFFFFF
                row[1] += table[j, 0] >> 32
                for k in range(1, 8):
                    steps = row[2 * k + 1] + table[j, k]
                    row[2 * k] += steps >> STEPS
                    row[2 * k + 1] = steps & _MASK


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
def add_logarithmic(true, prob, start, slot, into, rows, certain, odd):  # type: ignore[no-untyped-def]
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
            for i in range(begin, end):
                p = np.float64(prob[i])
                plain -= not ((p > TINY) & (1.0 - p > 0.0))
            sums[:] = 0
            if plain == end - begin:
                _logarithmic(true[begin:end], prob[begin:end], sums)
            else:
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
                _logarithmic(some_true, some_prob, sums)
            rows[s] += plain
            _carry(sums, into[s])
    return left


@njit(nogil=True, cache=True)
def add_cells(true, prob, start, slot, table, only):  # type: ignore[no-untyped-def]
    """Cells by slice; see `summaries.hot_cells`."""
    for g in range(len(slot)):
        cell_block(true[start[g] : start[g + 1]], prob[start[g] : start[g + 1]], table[slot[g]], only[slot[g]])
