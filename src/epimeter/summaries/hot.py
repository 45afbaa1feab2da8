# SPDX-License-Identifier: Apache-2.0
"""The hot loops, compiled. Each has its slow twin in numpy (`fast`) and gives the same integers."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from epimeter.summaries.cuts import mass_borders
from epimeter.summaries.fixed import BLOCK, Fixed, normalised

Integers = NDArray[np.int64]
Totals = tuple[Integers, Integers, Fixed]

_CELLS = 1 << 16


@njit(nogil=True, cache=True)
def _width_block(true, prob, bins, table):  # type: ignore[no-untyped-def]
    """Add a block to `table`: per bin, rows + outcomes * 2^32, then the confidence in steps.

    Four neighbouring rows go to four tables, so that one addition need not wait for the last; rows and outcomes share
    one integer, which halves the additions. Unsigned indices spare the check for negative ones.
    """
    last, width = np.int64(bins - 1), np.float64(bins)
    one = np.uint64(1)
    t0, t1 = np.zeros(2 * bins, np.int64), np.zeros(2 * bins, np.int64)
    t2, t3 = np.zeros(2 * bins, np.int64), np.zeros(2 * bins, np.int64)
    whole = len(prob) // 4 * 4
    for i in range(0, whole, 4):
        p0, p1 = np.float64(prob[i]), np.float64(prob[i + 1])
        p2, p3 = np.float64(prob[i + 2]), np.float64(prob[i + 3])
        b0 = np.uint64(min(np.int64(p0 * width), last) * 2)
        b1 = np.uint64(min(np.int64(p1 * width), last) * 2)
        b2 = np.uint64(min(np.int64(p2 * width), last) * 2)
        b3 = np.uint64(min(np.int64(p3 * width), last) * 2)
        t0[b0] += 1 + (np.int64(true[i]) << 32)
        t0[b0 + one] += np.int64(np.rint(p0 * 17592186044416.0))
        t1[b1] += 1 + (np.int64(true[i + 1]) << 32)
        t1[b1 + one] += np.int64(np.rint(p1 * 17592186044416.0))
        t2[b2] += 1 + (np.int64(true[i + 2]) << 32)
        t2[b2 + one] += np.int64(np.rint(p2 * 17592186044416.0))
        t3[b3] += 1 + (np.int64(true[i + 3]) << 32)
        t3[b3 + one] += np.int64(np.rint(p3 * 17592186044416.0))
    for i in range(whole, len(prob)):
        p = np.float64(prob[i])
        b = min(np.int64(p * width), last) * 2
        t0[b] += 1 + (np.int64(true[i]) << 32)
        t0[b + 1] += np.int64(np.rint(p * 17592186044416.0))
    for j in range(2 * bins):
        table[j] += t0[j] + t1[j] + t2[j] + t3[j]


def width_totals(true: NDArray[Any], prob: NDArray[Any], bins: int) -> Totals:
    """Rows, outcomes and confidence by equal-width bin."""
    count, outcomes, said = np.zeros(bins, np.int64), np.zeros(bins, np.int64), Fixed.zeros(bins)
    for start in range(0, len(prob), BLOCK):
        rows = slice(start, start + BLOCK)
        table = np.zeros(2 * bins, np.int64)
        _width_block(true[rows], prob[rows], bins, table)
        count += table[::2] & 0xFFFFFFFF
        outcomes += table[::2] >> 32
        said = said + normalised(0 * count, table[1::2])
    return count, outcomes, said


@njit(nogil=True, cache=True)
def _class_block(true, prob, bins, table):  # type: ignore[no-untyped-def]
    """Add a block to `table`: per class and bin, rows + outcomes * 2^32, then the confidence in steps."""
    last, width = np.int64(bins - 1), np.float64(bins)
    one = np.uint64(1)
    for i in range(len(prob)):
        for k in range(prob.shape[1]):
            p = np.float64(prob[i, k])
            b = np.uint64((k * bins + min(np.int64(p * width), last)) * 2)
            table[b] += 1
            table[b + one] += np.int64(np.rint(p * 17592186044416.0))
        k = true[i]
        b = np.uint64((k * bins + min(np.int64(np.float64(prob[i, k]) * width), last)) * 2)
        table[b] += 4294967296


def class_width_totals(true: NDArray[Any], prob: NDArray[Any], bins: int) -> Totals:
    """Rows, outcomes and confidence by class and equal-width bin; the rows are shared among the cores."""
    n_rows, n_classes = prob.shape
    step = min(BLOCK, -(-n_rows // (os.cpu_count() or 1)))

    def block(start: int) -> Totals:
        table = np.zeros(2 * n_classes * bins, np.int64)
        rows = slice(start, start + step)
        _class_block(true[rows], prob[rows], bins, table)
        cells = table.reshape(n_classes, bins, 2)
        return cells[..., 0] & 0xFFFFFFFF, cells[..., 0] >> 32, normalised(0 * cells[..., 1], cells[..., 1])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = list(pool.map(block, range(0, n_rows, step)))
    count, outcomes, said = parts[0]
    for more in parts[1:]:
        count, outcomes, said = count + more[0], outcomes + more[1], said + more[2]
    return count, outcomes, said


@njit(nogil=True, cache=True)
def _cell_block(true, prob, count, outcomes, steps):  # type: ignore[no-untyped-def]
    for i in range(len(prob)):
        p = np.float64(prob[i])
        c = min(np.int64(p * 65536.0), 65535)
        count[c] += 1
        outcomes[c] += np.int64(true[i])
        steps[c] += np.int64(np.rint(p * 17592186044416.0))


@njit(nogil=True, cache=True)
def _gather(prob, wanted, rows):  # type: ignore[no-untyped-def]
    n = 0
    for i in range(len(prob)):
        if wanted[min(np.int64(np.float64(prob[i]) * 65536.0), 65535)]:
            rows[n] = i
            n += 1


def mass_totals(
    true: NDArray[Any], prob: NDArray[Any], bins: int
) -> tuple[Integers, Integers, Fixed, NDArray[np.float64]]:
    """Rows, outcomes and confidence by equal-mass bin, without sorting.

    A histogram of 65,536 cells says in which cells the cuts fall; only the rows of those cells are sorted, stably, so
    that ties are cut in row order as a full stable sort would cut them.
    """
    count, outcomes = np.zeros(_CELLS, np.int64), np.zeros(_CELLS, np.int64)
    said = Fixed.zeros(_CELLS)
    for start in range(0, len(prob), BLOCK):
        block = slice(start, start + BLOCK)
        steps = np.zeros(_CELLS, np.int64)
        _cell_block(true[block], prob[block], count, outcomes, steps)
        said = said + normalised(0 * steps, steps)
    before = np.concatenate([[0], np.cumsum(count)])
    border = mass_borders(len(prob), bins)
    inner = border[1:-1]
    inner = inner[(inner > 0) & (inner < len(prob))]
    wanted = np.zeros(_CELLS, np.bool_)
    home = np.searchsorted(before, inner, side="right") - 1
    wanted[home] = True
    rows = np.empty(int(count[wanted].sum()), np.int64)
    _gather(prob, wanted, rows)
    rows = rows[np.argsort(prob[rows], kind="stable")]
    # The sorted rows of the wanted cells lie one cell after another; `offset` is where each begins among them.
    offset = np.concatenate([[0], np.cumsum(np.where(wanted, count, 0))])

    def upto(position: int) -> tuple[int, int, Fixed]:
        """Rows, outcomes and confidence of the first `position` rows of the stable order."""
        cell = int(np.searchsorted(before, position, side="right")) - 1
        cell = min(cell, _CELLS - 1)
        inside = position - int(before[cell])
        some = rows[offset[cell] : offset[cell] + inside] if wanted[cell] else rows[:0]
        steps = _steps(prob[some])
        return (
            int(before[cell]) + inside,
            int(sum_outcomes[cell]) + int(true[some].sum(dtype=np.int64)),
            sum_said[cell] + steps,
        )

    sum_outcomes = np.concatenate([[0], np.cumsum(outcomes)])
    running = said.cumulate()
    sum_said = Fixed(np.concatenate([[0], running.units]), np.concatenate([[0], running.steps]))
    parts = [upto(int(position)) if position < len(prob) else None for position in border]
    whole = (len(prob), int(sum_outcomes[-1]), sum_said[-1])
    ends = [whole if part is None else part for part in parts]
    units = np.array([int(part[2].units) for part in ends])
    steps = np.array([int(part[2].steps) for part in ends])
    edges = np.array([_at(prob, rows, before, offset, int(position)) for position in border])
    edges[0], edges[-1] = 0.0, 1.0
    return (
        np.diff([part[0] for part in ends]),
        np.diff([part[1] for part in ends]),
        Fixed(units[1:], steps[1:]) - Fixed(units[:-1], steps[:-1]),
        edges,
    )


def _steps(prob: NDArray[Any]) -> Fixed:
    whole = Fixed.zeros(())
    for start in range(0, len(prob), BLOCK):
        block = prob[start : start + BLOCK].astype(np.float64)
        whole = whole + normalised(0, np.rint(block * 2.0**44).astype(np.int64).sum())
    return whole


def _at(prob: NDArray[Any], rows: Integers, before: Integers, offset: Integers, position: int) -> float:
    """The confidence at a place of the stable order; 1 beyond the end."""
    if position in (0, len(prob)):
        return 1.0
    cell = int(np.searchsorted(before, position, side="right")) - 1
    return float(prob[rows[offset[cell] + position - before[cell]]])


@njit(nogil=True, cache=True)
def weighed(counts, start, columns, into):  # type: ignore[no-untyped-def]
    """Add the columns of atoms, each row as often as `counts` says, cell by cell."""
    for c in range(len(start) - 1):
        here = counts[start[c] : start[c + 1]]
        for k in range(len(columns)):
            column = columns[k, start[c] : start[c + 1]]
            total = np.int64(0)
            for i in range(len(here)):
                total += np.int64(here[i]) * np.int64(column[i])
            into[c, k] += total


@njit(nogil=True, cache=True)
def _moment_block(true, prob, bins, table):  # type: ignore[no-untyped-def]
    """Add the squares and null moments of the residual to `table`: six numbers a bin, in steps (see MomentTotals)."""
    last, width = np.int64(bins - 1), np.float64(bins)
    for i in range(len(prob)):
        p = np.float64(prob[i])
        b = np.uint64(min(np.int64(p * width), last))
        u = np.float64(true[i]) - p
        v = p * (1.0 - p)
        t = v * (1.0 - 2.0 * p)
        v2 = v * v
        table[b, 0] += np.int64(np.rint(u * u * 17592186044416.0))
        table[b, 1] += np.int64(np.rint(v * 17592186044416.0))
        table[b, 2] += np.int64(np.rint(v2 * 17592186044416.0))
        table[b, 3] += np.int64(np.rint(v * v2 * 17592186044416.0))
        table[b, 4] += np.int64(np.rint(t * 17592186044416.0))
        table[b, 5] += np.int64(np.rint(t * t * 17592186044416.0))


def moment_totals(true: NDArray[Any], prob: NDArray[Any], bins: int) -> list[Fixed]:
    """Sums of u^2, v, v^2, v^3, t, t^2 by equal-width bin."""
    totals = [Fixed.zeros(bins) for _ in range(6)]
    for start in range(0, len(prob), BLOCK):
        table = np.zeros((bins, 6), np.int64)
        _moment_block(true[start : start + BLOCK], prob[start : start + BLOCK], bins, table)
        totals = [total + normalised(0 * column, column) for total, column in zip(totals, table.T, strict=True)]
    return totals
