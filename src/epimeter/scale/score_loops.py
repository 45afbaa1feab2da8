# SPDX-License-Identifier: Apache-2.0
"""The compiled loops of the scores, by slice: the integers of `summaries.hot_scores` with less work a row.

Three things are left out that change no bit:

- whole units apart from steps of 2^-44: a number below 128 leaves all its steps in the last bits of its sum with 384,
  and a unit is an even number of steps, so both ways round alike;
- what the steps leave, for scores of which only the mean is read;
- the division by q + p, which is 1 in floating point for every p in [0, 1] and q = 1 - p rounded.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from epimeter.scale.loops import odd
from epimeter.summaries.fixed import BLOCK, STEPS
from epimeter.summaries.fused import fused
from epimeter.summaries.hot_scores import _log, _plain, logarithmic_rows

LIGHT = frozenset({"prob", "excess", "null_variance", "entropic", "entropic_variance"})
"""Columns whose rest the light loops keep; the other three (square, log_loss, spherical) are only read as means."""
TILE = 1 << 12
"""Rows added before a carry: 2^12 numbers below 64 are less than 2^62 steps."""
_VECTOR = 32
"""Rows that a compiled loop takes at once; what is left over costs it many times more a row, so it is filled up."""
_MASK = (1 << STEPS) - 1
_STEP = 384.0
_STEP_BITS = int(np.float64(_STEP).view(np.int64))
_ONE = 2.0**44


@njit(inline="always", error_model="numpy")
def _step(x):  # type: ignore[no-untyped-def]
    """Bits that add up to steps of 2^-44; those of 384 come along with every row and are taken off at the end."""
    return np.float64(x + _STEP).view(np.int64)


@njit(inline="always", error_model="numpy")
def _fine(x):  # type: ignore[no-untyped-def]
    """The same, and what the steps leave, in steps of 2^-88."""
    step = x + _STEP
    return np.float64(step).view(np.int64), np.float64(fused(x - (step - _STEP), _ONE, _STEP)).view(np.int64)


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
def parted(true, prob, start, slot, near_ends, run_odd, into_true, into_prob, into_start, odd_true, odd_prob, odd_slot):  # type: ignore[no-untyped-def]
    """Runs without their odd rows (see `loops.odd`), and the odd rows with the slot of each."""
    j, k = 0, 0
    for g in range(len(slot)):
        into_start[g] = j
        for i in range(start[g], start[g + 1]):
            if run_odd[g] and odd(np.float64(prob[i]), near_ends):
                odd_true[k], odd_prob[k], odd_slot[k] = true[i], prob[i], slot[g]
                k += 1
            else:
                into_true[j], into_prob[j] = true[i], prob[i]
                j += 1
    into_start[len(slot)] = j


@njit(nogil=True, cache=True)
def add_plain(true, prob, start, slot, run_ends, light, into, counts):  # type: ignore[no-untyped-def]
    """Sums of the plain scores (`hot_scores.PLAIN`) and counts by slice."""
    sums = np.zeros((4, 3), np.int64)
    last_true, last_prob = np.zeros(_VECTOR, true.dtype), np.zeros(_VECTOR, prob.dtype)
    block = TILE if light else BLOCK
    for g in range(len(slot)):
        certain = run_ends[g, 0] == 0.0 or run_ends[g, 1] == 1.0
        for begin in range(start[g], start[g + 1], block):
            end = min(begin + block, start[g + 1])
            sums[:] = 0
            if light:
                _count(true[begin:end], prob[begin:end], certain, counts[slot[g]])
                whole = begin + (end - begin) // _VECTOR * _VECTOR
                _light_plain(true[begin:whole], prob[begin:whole], sums)
                if whole < end:  # filled up with rows of p = 0 and y = 0, which add nothing
                    _fill(true[whole:end], prob[whole:end], 0.0, last_true, last_prob)
                    _light_plain(last_true, last_prob, sums)
            else:
                _plain(true[begin:end], prob[begin:end], sums, counts[slot[g]])
            _carry(sums, into[slot[g]])


@njit(nogil=True, cache=True)
def _fill(true, prob, rest, into_true, into_prob):  # type: ignore[no-untyped-def]
    for i in range(len(into_prob)):
        into_true[i] = true[i] if i < len(true) else 0
        into_prob[i] = prob[i] if i < len(prob) else rest


@njit(nogil=True, cache=True)
def _count(true, prob, certain, counts):  # type: ignore[no-untyped-def]
    """Outcomes, rows above 0, rows certain and wrong, and hits in halves: a confidence of 0.5 is half a hit."""
    n = len(prob)
    outcomes, missed, half, half_true = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for i in range(n):
        p, y = np.float64(prob[i]), np.int64(true[i])
        outcomes += y
        missed += np.int64(p > 0.5) ^ y
        half += np.int64(p == 0.5)
        half_true += np.int64(p == 0.5) & y
    said, wrong = np.int64(n), np.int64(0)
    if certain:
        for i in range(n):
            p, y = np.float64(prob[i]), np.int64(true[i])
            said -= np.int64(p == 0.0)
            wrong += (np.int64(p == 0.0) & y) | (np.int64(p == 1.0) & (1 - y))
    counts[0] += outcomes
    counts[1] += said
    counts[2] += wrong
    counts[3] += 2 * (n - half - (missed - half_true)) + half


@njit(nogil=True, cache=True, error_model="numpy")
def _light_plain(true, prob, sums):  # type: ignore[no-untyped-def]
    n = len(prob)
    a, b, b3, c, c3 = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    d, d3 = np.int64(0), np.int64(0)
    for i in range(n):
        p, y = np.float64(prob[i]), np.float64(true[i])
        x = p - y
        a += _step(2.0 * (x * x))
        steps, rest = _fine(p)
        b, b3 = b + steps, b3 + rest
        slope = 1.0 - 2.0 * p
        steps, rest = _fine((y - p) * slope)
        c, c3 = c + steps, c3 + rest
        steps, rest = _fine(slope * slope * p * (1.0 - p))
        d, d3 = d + steps, d3 + rest
    less = n * _STEP_BITS
    sums[0, 1] += a - less
    sums[1, 1] += b - less
    sums[1, 2] += b3 - less
    sums[2, 1] += c - less
    sums[2, 2] += c3 - less
    sums[3, 1] += d - less
    sums[3, 2] += d3 - less


@njit(nogil=True, cache=True, error_model="numpy")
def _light_logarithms(true, prob, sums):  # type: ignore[no-untyped-def]
    """Rows above 0 and below 1."""
    n = len(prob)
    a, b, b3, c, c3, d = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for i in range(n):
        p = np.float64(prob[i])
        q = 1.0 - p
        lp, lq = _log(p), _log(q)
        one = true[i] == 1
        loss = -(lp if one else lq)
        a += _step(loss)
        mean = q * lq + p * lp
        steps, rest = _fine(mean + loss)
        b, b3 = b + steps, b3 + rest
        left, right = mean - lq, mean - lp
        steps, rest = _fine(q * (left * left) + p * (right * right))
        c, c3 = c + steps, c3 + rest
        picked = p if one else q
        d += _step(picked / np.sqrt(q * q + p * p))
    less = n * _STEP_BITS
    sums[0, 1] += a - less
    sums[1, 1] += b - less
    sums[1, 2] += b3 - less
    sums[2, 1] += c - less
    sums[2, 2] += c3 - less
    sums[3, 1] += d - less


@njit(nogil=True, cache=True)
def _logarithms(true, prob, light, half, sums, row):  # type: ignore[no-untyped-def]
    """Rows above 0 and below 1; `half` is what a row of p = 1/2 and y = 0 adds."""
    last_true, last_prob = np.empty(_VECTOR, true.dtype), np.empty(_VECTOR, prob.dtype)
    block = TILE if light else BLOCK
    for begin in range(0, len(prob), block):
        end = min(begin + block, len(prob))
        sums[:] = 0
        if light:
            whole = begin + (end - begin) // _VECTOR * _VECTOR
            _light_logarithms(true[begin:whole], prob[begin:whole], sums)
            if whole < end:
                _fill(true[whole:end], prob[whole:end], 0.5, last_true, last_prob)
                _light_logarithms(last_true, last_prob, sums)
                more = _VECTOR - (end - whole)
                for k in range(4):
                    sums[k, 1] -= more * half[k, 1]
                    sums[k, 2] -= more * half[k, 2]
        else:
            logarithmic_rows(true[begin:end], prob[begin:end], sums)
        _carry(sums, row)


@njit(nogil=True, cache=True)
def add_logarithmic(true, prob, start, slot, run_ends, light, into, rows, certain):  # type: ignore[no-untyped-def]
    """Sums of the logarithmic scores by slice.

    Rows that said 0 or 1 are only counted, in `certain` (0 and false, 0 and true, 1 and false, 1 and true): all rows
    of one kind add the same.
    """
    sums, half = np.empty((4, 3), np.int64), np.zeros((4, 3), np.int64)
    _light_logarithms(np.zeros(1, true.dtype), np.full(1, 0.5).astype(prob.dtype), half)
    for g in range(len(slot)):
        s, begin, end = slot[g], start[g], start[g + 1]
        if run_ends[g, 0] > 0.0 and run_ends[g, 1] < 1.0:
            _logarithms(true[begin:end], prob[begin:end], light, half, sums, into[s])
            rows[s] += end - begin
            continue
        some_true, some_prob = np.empty(end - begin, true.dtype), np.empty(end - begin, prob.dtype)
        j = 0
        for i in range(begin, end):
            if prob[i] == 0.0:
                certain[s, true[i]] += 1
            elif prob[i] == 1.0:
                certain[s, 2 + true[i]] += 1
            else:
                some_true[j], some_prob[j] = true[i], prob[i]
                j += 1
        _logarithms(some_true[:j], some_prob[:j], light, half, sums, into[s])
        rows[s] += j
