# SPDX-License-Identifier: Apache-2.0
"""The hot loops, compiled. Each has its slow twin in numpy (`fast`) and gives the same integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from epimeter.summaries.cuts import mass_borders, whole_borders
from epimeter.summaries.fine import Fine
from epimeter.summaries.fixed import BLOCK, STEPS, Fixed, normalised

Integers = NDArray[np.int64]

_CELLS = 1 << 16
_ONE = 2.0**STEPS


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
