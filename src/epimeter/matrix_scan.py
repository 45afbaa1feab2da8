# SPDX-License-Identifier: Apache-2.0
"""One compiled pass over a large matrix of class probabilities: is it sound, and what is each row's top label?

Its slow twin is in `views`: minimum, maximum and row sums, then argmax.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(nogil=True, cache=True, fastmath={"reassoc", "nsz"})
def _scan(prob, bits, one, tolerance, top, guess):  # type: ignore[no-untyped-def]
    """Fill `top` and `guess`; False when a row holds anything but probabilities that sum to 1.

    The bits of non-negative numbers order like the numbers, negative ones and NaN fall outside [0, bits of 1], and
    integers can be compared eight at a time. Only the sum is of floats; its order may vary, it is compared with a
    tolerance and then forgotten.
    """
    sound = True
    for i in range(len(prob)):
        total = 0.0
        for j in range(prob.shape[1]):
            total += np.float64(prob[i, j])
        largest = bits[i, 0]
        least = bits[i, 0]
        for j in range(prob.shape[1]):
            largest = max(largest, bits[i, j])
            least = min(least, bits[i, j])
        first = np.uint64(0)
        while bits[i, first] != largest:
            first += np.uint64(1)
        top[i] = prob[i, first]
        guess[i] = first
        sound &= (least >= 0) & (largest <= one) & (abs(total - 1.0) <= tolerance)
    return sound


def scan(prob: NDArray[Any], tolerance: float) -> tuple[NDArray[Any], NDArray[np.intp]] | None:
    """Largest probability and first class that has it, for every row; None when the matrix is not surely sound."""
    bits = prob.view(np.int32 if prob.dtype == np.float32 else np.int64)
    one = np.ones(1, prob.dtype).view(bits.dtype)[0]
    top, guess = np.empty(len(prob), prob.dtype), np.empty(len(prob), np.intp)
    workers = os.cpu_count() or 1
    border = np.linspace(0, len(prob), workers + 1).astype(int)
    parts = [slice(a, b) for a, b in zip(border[:-1], border[1:], strict=True) if b > a]

    def part(rows: slice) -> bool:
        return bool(_scan(prob[rows], bits[rows], one, tolerance, top[rows], guess[rows]))

    with ThreadPoolExecutor(workers) as pool:
        return (top, guess) if all(pool.map(part, parts)) else None
