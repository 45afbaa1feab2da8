# SPDX-License-Identifier: Apache-2.0
"""The loops of the commonest recipes over one tile after another, so that every loop finds the rows in the cache.

A tile is a part of a long run, or several short runs one after another.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from epimeter.scale.loops import add_joint, sound
from epimeter.scale.score_loops import add_logarithmic, add_plain, parted

TILE = 1 << 14
"""Rows of a tile: 144 kB, a part of the second cache."""


@njit(nogil=True, cache=True)
def add_tiles(true, prob, start, slot, ends, near_ends, light, wanted, sizes, tables, scores, rows, odd):  # type: ignore[no-untyped-def]
    """Add runs of rows, each to its slice; gives back how many rows are odd, or -1 when a row is not sound.

    `wanted` says which of joint, plain and logarithmic sums are asked for, `sizes` how many bins the first have; the
    others are what those loops add to. Odd rows (`loops.odd`) are left to the caller in the three arrays of `odd`.
    """
    bounds, home = np.empty(2, np.int64), np.empty(1, np.int64)
    found, g = 0, 0
    while g < len(slot):
        if start[g + 1] - start[g] > TILE:
            for begin in range(start[g], start[g + 1], TILE):
                bounds[0], bounds[1], home[0] = begin, min(begin + TILE, start[g + 1]), slot[g]
                found = _tile(
                    true, prob, bounds, home, ends, near_ends, light, wanted, sizes, tables, scores, rows, odd, found
                )
                if found < 0:
                    return -1
            g += 1
            continue
        last = g + 1
        while last < len(slot) and start[last + 1] - start[g] <= TILE:
            last += 1
        some, homes = start[g : last + 1], slot[g:last]
        found = _tile(true, prob, some, homes, ends, near_ends, light, wanted, sizes, tables, scores, rows, odd, found)
        if found < 0:
            return -1
        g = last
    return found


@njit(nogil=True, cache=True)
def _tile(true, prob, start, slot, ends, near_ends, light, wanted, sizes, tables, scores, rows, odd, found):  # type: ignore[no-untyped-def]
    run_ends, run_odd = np.empty((len(slot), 2)), np.empty(len(slot), np.int64)
    if not sound(true, prob, start, slot, ends, run_ends, near_ends, run_odd):
        return -1
    if wanted[0]:
        add_joint(true, prob, start, slot, sizes[0], sizes[1], tables[0], tables[1])
    if not (wanted[1] or wanted[2]):
        return found
    strange = run_odd.sum()
    if strange:
        n = start[-1] - start[0] - strange
        some_true, some_prob, some_start = np.empty(n, true.dtype), np.empty(n, prob.dtype), np.empty_like(start)
        until = found + strange
        parted(
            true,
            prob,
            start,
            slot,
            near_ends,
            run_odd,
            some_true,
            some_prob,
            some_start,
            odd[0][found:until],
            odd[1][found:until],
            odd[2][found:until],
        )
        found = until
        _scores(some_true, some_prob, some_start, slot, run_ends, light, wanted, scores, rows)
    else:
        _scores(true, prob, start, slot, run_ends, light, wanted, scores, rows)
    return found


@njit(nogil=True, cache=True)
def _scores(true, prob, start, slot, run_ends, light, wanted, scores, rows):  # type: ignore[no-untyped-def]
    plain, logs = scores
    counts, certain, plain_rows, log_rows = rows
    if wanted[1]:
        add_plain(true, prob, start, slot, run_ends, light, plain, counts)
        for g in range(len(slot)):
            plain_rows[slot[g]] += start[g + 1] - start[g]
    if wanted[2]:
        add_logarithmic(true, prob, start, slot, run_ends, light, logs, log_rows, certain)
