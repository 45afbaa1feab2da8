# SPDX-License-Identifier: Apache-2.0
"""Sums along sorted points and by cells, by the loops of `core/kernels.c`."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.core import accepted, lib, read, write

Floats = NDArray[np.float64]
A_THREAD = 1 << 17
"""Rows from which a further thread pays."""


def threads() -> int:
    """How many threads share one pass."""
    return max(1, min(8, os.cpu_count() or 1))


def decayed(points: Floats, values: Floats, width: float) -> Floats:
    """F_i = sum over j <= i of v_j exp(-(x_i - x_j)/h), for sorted points: F_i = v_i + exp(-(x_i - x_{i-1})/h) F_{i-1}."""
    points, values = np.ascontiguousarray(points, np.float64), np.ascontiguousarray(values, np.float64)
    reached = np.empty_like(values)
    accepted(lib.epi_decayed(read(points), read(values), len(points), width, write(reached)))
    return reached


def laplace_form(points: Floats, values: Floats, width: float) -> float:
    """Sum over all i, j of v_i v_j exp(-|x_i - x_j|/h), for sorted points, in one pass."""
    points, values = np.ascontiguousarray(points, np.float64), np.ascontiguousarray(values, np.float64)
    total = np.zeros(1)
    accepted(lib.epi_laplace_form(read(points), read(values), len(points), width, write(total)))
    return float(total[0])


def block_sums(values: Floats, starts: NDArray[np.intp]) -> Floats:
    """Running sums along the last axis that begin anew at each start, so that nothing cancels between blocks."""
    values = np.ascontiguousarray(values, np.float64)
    columns = values.shape[-1]
    fresh, running = np.zeros(columns, np.uint8), np.empty_like(values)
    fresh[starts] = 1
    rows = values.size // columns if columns else 0
    accepted(lib.epi_block_sums(read(values), read(fresh), rows, columns, write(running), running.size))
    return running


def cell_moments(true: NDArray[Any], prob: NDArray[Any], cells: int, shift: int) -> NDArray[np.int64]:
    """Sums of (y - c) s^k, k = 0..3, by cell of [0, 1], s in [-1/2, 1/2] the place in the cell; shape (cells, 4).

    They are whole numbers of 2^-shift: the same bits for any order of the rows and any number of threads.
    """
    parts = min(threads(), max(1, len(prob) // A_THREAD))
    cuts = [len(prob) * part // parts for part in range(parts + 1)]
    tables = np.zeros((parts, 4 * cells), np.int64)

    def fill(part: int) -> None:
        table = tables[part]
        for start in range(cuts[part], cuts[part + 1], A_THREAD):
            rows = slice(start, min(start + A_THREAD, cuts[part + 1]))
            outcome = np.ascontiguousarray(true[rows], np.uint8)
            confidence = np.ascontiguousarray(prob[rows], np.float64)
            columns = read(outcome), read(confidence), len(confidence)
            accepted(lib.epi_cell_moments(*columns, cells, 2.0**shift, write(table), 4 * cells))

    if parts == 1:
        fill(0)
    else:
        with ThreadPoolExecutor(parts) as pool:
            list(pool.map(fill, range(parts)))
    return np.asarray(tables.sum(axis=0).reshape(cells, 4))
