# SPDX-License-Identifier: Apache-2.0
"""The Dirichlet kernel of Popordanoska et al. 2022; with two classes it is the beta kernel.

log k(c_j; c_i) = sum_k (c_ik/h) log c_jk + constant_i: one matrix product for all pairs, in blocks of rows j.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST = 1e-12
"""Entries of c_j are clipped to this inside the power, so that an isolated 0 or 1 still has neighbours."""
BLOCK = 1 << 16
"""Kernel entries held at a time: they stay in the cache."""


def pairs_of(prob: Floats) -> Floats:
    """The two columns c, 1 - c of the beta kernel."""
    return np.column_stack([prob, 1 - prob])


def log_points(points: Floats) -> Floats:
    """log c_jk, clipped."""
    return np.log(np.clip(points, LEAST, 1.0))


def constants(points: Floats, width: float) -> Floats:
    """Logarithm of the normalising constant of each kernel."""
    from epimeter.special import gammaln

    shape = points / width + 1
    return np.asarray(gammaln(shape.sum(axis=1)) - gammaln(shape).sum(axis=1))


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Rows in blocks whose kernel entries fit `BLOCK`, but not so few that a product of matrices is slow."""
    step = max(32, BLOCK // n_columns)
    for start in range(0, n_rows, step):
        yield slice(start, min(n_rows, start + step))
