# SPDX-License-Identifier: Apache-2.0
"""Sums along a row in a fixed order.

Library routines for dot products multiply and add in one rounding where the processor can, and in two where it
cannot: the last bit then depends on the machine. These add column after column.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def row_dot(left: Floats, right: Floats) -> Floats:
    """Sum over the columns of left * right, for every row."""
    total = left[:, 0] * right[:, 0]
    for column in range(1, left.shape[1]):
        total += left[:, column] * right[:, column]
    return total


def row_sum(values: Floats) -> Floats:
    """Sum over the columns, for every row."""
    total = values[:, 0].copy()
    for column in range(1, values.shape[1]):
        total += values[:, column]
    return total
