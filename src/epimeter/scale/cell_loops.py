# SPDX-License-Identifier: Apache-2.0
"""The compiled loops of the cells, by slice.

Cells are written in no order, so what counts is how much memory they take. While rows of one slice come in long runs
their number and their sum in a cell share one word (18 bits and 46), and of cells that are known to hold different
confidences only a flag is read: 1.3 MB instead of 3. Before a word could run over, all are added to the wide table.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from epimeter.summaries.cells import CELLS, EMPTY, MIXED, STRIDE
from epimeter.summaries.hot_cells import cell_block

MOST_PACKED = (1 << 18) - 1
"""Rows that a word can count; 2^18 sums inside a cell, each below 2^28, stay below 2^46."""
LONG = 1 << 12
"""Rows that make a run worth packing."""
_SHIFT = 46
_LOW = (1 << _SHIFT) - 1
_CELLS, _LAST, _STRIDE = float(CELLS), CELLS - 1, STRIDE
_TILE = 1 << 10


@njit(nogil=True, cache=True)
def add_cells(true, prob, start, slot, table, only):  # type: ignore[no-untyped-def]
    """Cells by slice; see `summaries.hot_cells`."""
    for g in range(len(slot)):
        cell_block(true[start[g] : start[g + 1]], prob[start[g] : start[g + 1]], table[slot[g]], only[slot[g]])


@njit(nogil=True, cache=True)
def add_packed(true, prob, packed, mixed, only):  # type: ignore[no-untyped-def]
    """Add rows of one slice to packed words (outcome 0, outcome 1); `mixed` flags the cells that `only` calls MIXED."""
    place, word = np.empty(_TILE, np.int32), np.empty(_TILE, np.int64)
    last, stride, one = np.int64(_LAST), np.int64(_STRIDE), np.int64(1) << _SHIFT
    for begin in range(0, len(prob), _TILE):
        said, came = prob[begin : begin + _TILE], true[begin : begin + _TILE]
        for i in range(len(said)):
            p = np.float64(said[i])
            c = min(np.int64(p * _CELLS), last)
            place[i] = np.int32(2 * c + np.int64(came[i]))
            word[i] = one + np.int64(np.rint(p * 17592186044416.0)) - c * stride
        for i in range(len(said)):
            at = np.uint64(place[i])
            packed[at] += np.uint64(word[i])
            home = at >> np.uint64(1)
            if not mixed[home]:
                p = np.float64(said[i]) + 0.0
                if only[home] == EMPTY:
                    only[home] = p
                elif only[home] != p:
                    only[home] = MIXED
                    mixed[home] = 1


@njit(nogil=True, cache=True)
def fullest(packed):  # type: ignore[no-untyped-def]
    """The most rows that a word holds."""
    most = np.uint64(0)
    for k in range(len(packed)):
        most = max(most, packed[k])
    return most >> np.uint64(_SHIFT)


@njit(nogil=True, cache=True)
def spill(packed, table):  # type: ignore[no-untyped-def]
    """Add packed words to the wide table and clear them."""
    for k in range(len(packed)):
        table[2 * k] += np.int64(packed[k] >> np.uint64(_SHIFT))
        table[2 * k + 1] += np.int64(packed[k] & np.uint64(_LOW))
        packed[k] = 0
