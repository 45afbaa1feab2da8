# SPDX-License-Identifier: Apache-2.0
"""The hot loops, compiled. Each has its slow twin in numpy (`fast`) and gives the same integers."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from epimeter.summaries.cuts import mass_borders, whole_borders
from epimeter.summaries.fine import Fine
from epimeter.summaries.fixed import BLOCK, STEPS, Fixed, normalised
from epimeter.summaries.fused import fused

Integers = NDArray[np.int64]
Totals = tuple[Integers, Integers, Fixed]

_CELLS = 1 << 16
_TILE = 1 << 12
"""Rows put in the order of their bins at a time."""
_ONE = 2.0**STEPS
_STEP = 384.0
_STEP_BITS = int(np.float64(_STEP).view(np.int64))
"""Added to a number of size up to 1, 384 leaves its steps of 2^-44 in the last bits of the sum (see fixed)."""


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
def _cell_rests(prob, rests):  # type: ignore[no-untyped-def]
    for i in range(len(prob)):
        p = np.float64(prob[i])
        part = p * 17592186044416.0
        rests[min(np.int64(p * 65536.0), 65535)] += np.int64(np.rint((part - np.rint(part)) * 17592186044416.0))


@njit(nogil=True, cache=True)
def _gather(prob, wanted, rows):  # type: ignore[no-untyped-def]
    n = 0
    for i in range(len(prob)):
        if wanted[min(np.int64(np.float64(prob[i]) * 65536.0), 65535)]:
            rows[n] = i
            n += 1


def mass_totals(
    true: NDArray[Any], prob: NDArray[Any], bins: int, finer: bool = False
) -> tuple[Integers, Integers, Fixed | Fine, NDArray[np.float64]]:
    """Rows, outcomes and confidence by equal-mass bin, without sorting; the confidence with its rest if `finer`.

    A histogram of 65,536 cells says in which cells the cuts fall; only the rows of those cells are sorted. A run of
    equal confidences lies in one cell, and a cut that meets one moves to its nearer end.
    """
    count, outcomes = np.zeros(_CELLS, np.int64), np.zeros(_CELLS, np.int64)
    said, left = Fixed.zeros(_CELLS), Fixed.zeros(_CELLS)
    for start in range(0, len(prob), BLOCK):
        block = slice(start, start + BLOCK)
        steps = np.zeros(_CELLS, np.int64)
        _cell_block(true[block], prob[block], count, outcomes, steps)
        said = said + normalised(0 * steps, steps)
        if finer:
            steps[:] = 0
            _cell_rests(prob[block], steps)
            left = left + normalised(0 * steps, steps)
    before = np.concatenate([[0], np.cumsum(count)])
    border = mass_borders(len(prob), bins)
    inner = border[1:-1]
    inner = inner[(inner > 0) & (inner < len(prob))]
    wanted = np.zeros(_CELLS, np.bool_)
    home = np.searchsorted(before, inner, side="right") - 1
    wanted[home] = True
    rows = np.empty(int(count[wanted].sum()), np.int64)
    _gather(prob, wanted, rows)
    rows = rows[np.argsort(prob[rows])]
    # The sorted rows of the wanted cells lie one cell after another; `offset` is where each begins among them.
    offset = np.concatenate([[0], np.cumsum(np.where(wanted, count, 0))])
    among = offset[home] + inner - before[home]
    border[1:-1][(border[1:-1] > 0) & (border[1:-1] < len(prob))] = inner + whole_borders(prob[rows], among) - among

    def upto(position: int) -> tuple[int, int, Fixed, Fixed]:
        """Rows, outcomes, confidence and its rest of the first `position` rows of the stable order."""
        cell = int(np.searchsorted(before, position, side="right")) - 1
        cell = min(cell, _CELLS - 1)
        inside = position - int(before[cell])
        some = rows[offset[cell] : offset[cell] + inside] if wanted[cell] else rows[:0]
        steps, rests = _steps(prob[some])
        return (
            int(before[cell]) + inside,
            int(sum_outcomes[cell]) + int(true[some].sum(dtype=np.int64)),
            sum_said[cell] + steps,
            sum_left[cell] + rests,
        )

    sum_outcomes = np.concatenate([[0], np.cumsum(outcomes)])
    sum_said, sum_left = _from_nothing(said), _from_nothing(left)
    parts = [upto(int(position)) if position < len(prob) else None for position in border]
    whole = (len(prob), int(sum_outcomes[-1]), sum_said[-1], sum_left[-1])
    ends = [whole if part is None else part for part in parts]
    between = _differences([part[2] for part in ends])
    edges = _first_of(prob, before, border)
    return (
        np.diff([part[0] for part in ends]),
        np.diff([part[1] for part in ends]),
        Fine(between, _differences([part[3] for part in ends])) if finer else between,
        edges,
    )


def _from_nothing(cells: Fixed) -> Fixed:
    """Running totals, the empty one first."""
    running = cells.cumulate()
    return Fixed(np.concatenate([[0], running.units]), np.concatenate([[0], running.steps]))


def _differences(ends: list[Fixed]) -> Fixed:
    units = np.array([int(end.units) for end in ends])
    steps = np.array([int(end.steps) for end in ends])
    return Fixed(units[1:], steps[1:]) - Fixed(units[:-1], steps[:-1])


def _steps(prob: NDArray[Any]) -> tuple[Fixed, Fixed]:
    whole, left = Fixed.zeros(()), Fixed.zeros(())
    for start in range(0, len(prob), BLOCK):
        block = prob[start : start + BLOCK].astype(np.float64) * _ONE
        steps = np.rint(block)
        whole = whole + normalised(0, steps.astype(np.int64).sum())
        left = left + normalised(0, np.rint((block - steps) * _ONE).astype(np.int64).sum())
    return whole, left


def _first_of(prob: NDArray[Any], before: Integers, border: Integers) -> NDArray[np.float64]:
    """The confidences at these places of the order, from 0 to 1; only the rows of their cells are sorted."""
    edges = np.zeros(len(border))
    edges[border == len(prob)] = 1.0
    inner = border < len(prob)
    cell = np.searchsorted(before, border[inner], side="right") - 1
    wanted = np.zeros(_CELLS, np.bool_)
    wanted[cell] = True
    count = np.where(wanted, np.diff(before), 0)
    rows = np.empty(int(count.sum()), np.int64)
    _gather(prob, wanted, rows)
    ordered = np.sort(prob[rows])
    edges[inner] = ordered[(np.cumsum(count) - count)[cell] + border[inner] - before[cell]]
    edges[0], edges[-1] = 0.0, 1.0
    return edges


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
    """Add a block to `table`: per bin what `moment_sums` adds.

    Rows are put in the order of their bins, a tile at a time, so that every bin is added up in registers.
    """
    tile = min(len(prob), max(_TILE, 8 * bins))
    key, ordered_prob, ordered_true = np.empty(tile, np.int32), np.empty(tile), np.empty(tile)
    start = np.empty(bins + 1, np.int64)
    last, width, one = np.int64(bins - 1), np.float64(bins), np.uint64(1)
    for first in range(0, len(prob), tile):
        said, came = prob[first : first + tile], true[first : first + tile]
        for i in range(len(said)):
            key[i] = min(np.int64(np.float64(said[i]) * width), last)
        start[:] = 0
        for i in range(len(said)):
            start[np.uint64(key[i]) + one] += 1
        for b in range(bins):
            start[b + 1] += start[b]
        place = start.copy()
        for i in range(len(said)):
            home = np.uint64(key[i])
            j = np.uint64(place[home])
            place[home] += 1
            ordered_prob[j] = np.float64(said[i])
            ordered_true[j] = np.float64(came[i])
        for b in range(bins):
            if start[b + 1] > start[b]:
                some = slice(start[b], start[b + 1])
                moment_sums(ordered_true[some], ordered_prob[some], table[b])


@njit(inline="always")
def _finely(x):  # type: ignore[no-untyped-def]
    """A number of size up to 1 in steps of 2^-44, and what they leave in steps of 2^-88, as the last bits of a double."""
    steps = np.float64(x + _STEP)
    return steps.view(np.int64), np.float64(fused(x - (steps - _STEP), _ONE, _STEP)).view(np.int64)


@njit(nogil=True, cache=True)
def moment_sums(true, prob, sums):  # type: ignore[no-untyped-def]
    """Add the rows of one bin (doubles): how many, outcomes, then steps and rest of c, u^2, v, v^2, v^3, t, t^2."""
    outcomes = p1 = p2 = u1 = u2 = a1 = a2 = b1 = b2 = c1 = c2 = d1 = d2 = e1 = e2 = np.int64(0)
    for i in range(len(prob)):
        p, y = prob[i], true[i]
        outcomes += np.float64(y + _STEP).view(np.int64)
        steps, rest = _finely(p)
        p1, p2 = p1 + steps, p2 + rest
        u = y - p
        lost = (y - u) - p  # what u was rounded by
        square = u * u
        error = fused(u, u, -square)
        whole = np.float64(square + _STEP)
        part = fused(square - (whole - _STEP), _ONE, (error + 2.0 * u * lost) * _ONE)
        u1, u2 = u1 + whole.view(np.int64), u2 + np.float64(part + _STEP).view(np.int64)
        v = p * (1.0 - p)
        v2 = v * v
        steps, rest = _finely(v)
        a1, a2 = a1 + steps, a2 + rest
        steps, rest = _finely(v2)
        b1, b2 = b1 + steps, b2 + rest
        steps, rest = _finely(v * v2)
        c1, c2 = c1 + steps, c2 + rest
        t = v * (1.0 - 2.0 * p)
        steps, rest = _finely(t)
        d1, d2 = d1 + steps, d2 + rest
        steps, rest = _finely(t * t)
        e1, e2 = e1 + steps, e2 + rest
    less = len(prob) * _STEP_BITS
    sums[0] += len(prob)
    sums[1] += (outcomes - less) >> STEPS
    for k, total in enumerate((p1, p2, u1, u2, a1, a2, b1, b2, c1, c2, d1, d2, e1, e2)):
        sums[2 + k] += total - less


def moment_totals(true: NDArray[Any], prob: NDArray[Any], bins: int) -> tuple[Integers, Integers, list[Fine]]:
    """Rows, outcomes, and the sums of c, u^2, v, v^2, v^3, t, t^2 by equal-width bin."""
    count, outcomes = np.zeros(bins, np.int64), np.zeros(bins, np.int64)
    totals = [Fine(Fixed.zeros(bins), Fixed.zeros(bins)) for _ in range(7)]
    for start in range(0, len(prob), BLOCK):
        table = np.zeros((bins, 16), np.int64)
        _moment_block(true[start : start + BLOCK], prob[start : start + BLOCK], bins, table)
        count, outcomes = count + table[:, 0], outcomes + table[:, 1]
        totals = [
            total + Fine(normalised(0 * count, table[:, 2 * k]), normalised(0 * count, table[:, 2 * k + 1]))
            for k, total in enumerate(totals, start=1)
        ]
    return count, outcomes, totals
