# SPDX-License-Identifier: Apache-2.0
"""The walk of many rows, compiled. Its slow twin is `Walk`, which gives the same integers."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Integers = NDArray[np.int64]


def extremes(keys: Integers, scale: float) -> tuple[Integers, Integers, Integers, float]:
    """Highest and lowest point of the walk over sorted keys, C_0 = 0 included, its variance, the largest c(1 - c).

    The points are in multiples of 2^-30 and 2^-60, the variance in those of `scale`.
    """
    high, low, variance = np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros(2, np.int64)
    largest = _walk(keys, (keys >> 1).view(np.float64), scale, high, low, variance)
    return high, low, variance, float(largest)


@njit(nogil=True, cache=True)
def _walk(keys, prob, scale, high, low, variance):  # type: ignore[no-untyped-def]
    coarse, fine = 0, 0
    spent_coarse, spent_fine = 0, 0
    largest = 0.0
    last = len(keys) - 1
    for i in range(len(keys)):
        p = prob[i]
        step = ((keys[i] & 1) << 60) - int(np.rint(p * 1152921504606846976.0))
        fine += step & 0x3FFFFFFF
        coarse += (step >> 30) + (fine >> 30)
        fine &= 0x3FFFFFFF
        spread = p * (1 - p)
        largest = max(largest, spread)
        step = int(np.rint(spread / scale * 1152921504606846976.0))
        spent_coarse += step >> 30
        spent_fine += step & 0x3FFFFFFF
        if i == last or prob[i + 1] != p:  # equal confidences are one step
            if coarse > high[0] or (coarse == high[0] and fine > high[1]):
                high[0], high[1] = coarse, fine
            elif coarse < low[0] or (coarse == low[0] and fine < low[1]):
                low[0], low[1] = coarse, fine
    variance[0], variance[1] = spent_coarse, spent_fine
    return largest
