# SPDX-License-Identifier: Apache-2.0
"""Rows with one confidence each, handed to the loops of `include/rows.h`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.core import ffi, lib, read, write
from epimeter.core.threads import SHARE, shared
from epimeter.errors import UnsoundRowsError

Integers = NDArray[np.int64]
_ROWS = ffi.typeof("epi_rows *")
_BYTES, _DOUBLES, _SINGLES = np.dtype(np.uint8), np.dtype(np.float64), np.dtype(np.float32)


class LoopRows:
    """Outcomes and confidences as the loops read them.

    The memory lives as long as this does and no longer: hold it in a variable while a loop runs (columns of a matrix are copies).
    """

    __slots__ = ("_kept", "n_rows", "struct")

    def __init__(self, true: NDArray[Any], prob: NDArray[Any]) -> None:
        n_rows = len(prob)
        if len(true) != n_rows:
            raise ValueError(f"{len(true)} outcomes beside {n_rows} confidences")
        if true.dtype is not _BYTES:
            true = true.astype(np.uint8, copy=False)
        outcome, said = read(np.ascontiguousarray(true)), read(np.ascontiguousarray(prob))
        self._kept = outcome, said
        self.n_rows = n_rows
        self.struct = made = ffi.new(_ROWS)
        made.n, made.outcome = n_rows, outcome
        if prob.dtype == _SINGLES:
            made.single = said
        else:
            made.prob = said


def outcomes(label: NDArray[Any]) -> NDArray[np.uint8] | None:
    """Whole numbers in one byte each; None where one is neither 0 nor 1. Bytes are taken as they are: `sound` looks at them."""
    if label.dtype == np.uint8:
        return label
    made = np.empty(len(label), np.uint8)
    number = np.ascontiguousarray(label, np.int64)
    return made if lib.epi_outcomes(read(number), len(label), write(made)) else None


def sound(true: NDArray[Any], prob: NDArray[Any]) -> bool:
    """Whether all outcomes are 0 or 1 and all confidences probabilities."""
    if len(prob) < 8 * SHARE:
        return _sound(true, prob)
    return all(shared(lambda rows: _sound(true[rows], prob[rows]), len(prob), 4 * SHARE))


def _sound(true: NDArray[Any], prob: NDArray[Any]) -> bool:
    rows = LoopRows(true, prob)
    return bool(lib.epi_sound(rows.struct))


def width_bins(true: NDArray[Any], prob: NDArray[Any], bins: int) -> Integers:
    """Rows, outcomes, confidence in units and in steps by equal-width bin: shape (bins, 4)."""
    if len(prob) < 2 * SHARE:
        return _width_bins(true, prob, bins)
    return added(shared(lambda rows: _width_bins(true[rows], prob[rows], bins), len(prob)))


def _width_bins(true: NDArray[Any], prob: NDArray[Any], bins: int) -> Integers:
    totals, rows = np.zeros((bins, 4), np.int64), LoopRows(true, prob)
    if lib.epi_width_bins(rows.struct, bins, write(totals)):
        raise UnsoundRowsError
    return totals


def read_bins(totals: Integers) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Off such totals: rows of each bin, mean outcome less mean confidence of each, all rows."""
    bins = len(totals)
    found = np.empty(2 * bins + 1)
    lib.epi_read_bins(read(np.ascontiguousarray(totals)), bins, write(found))
    return found[:bins], found[bins:-1], found[-1]


def fine_pairs(
    units: Integers, steps: Integers, rest_units: Integers, rest_steps: Integers
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Totals with what their steps leave (`summaries.fine`), as unevaluated sums of two doubles."""
    shape = np.shape(units)
    columns = [np.ascontiguousarray(column, np.int64) for column in (units, steps, rest_units, rest_steps)]
    size = columns[0].size
    if any(column.size != size for column in columns):
        raise ValueError("totals and rests of different shapes")
    pair = np.empty((2, *shape))
    lib.epi_fine_pairs(*map(read, columns), size, write(pair[0, ...]), write(pair[1, ...]))
    return pair[0], pair[1]


def added(parts: list[Integers], pairs: int = 2) -> Integers:
    """Tables of parts as one; from column `pairs` on come units and steps by turns."""
    total = parts[0]
    for other in parts[1:]:
        total += other
        total[..., pairs::2] += total[..., pairs + 1 :: 2] >> 44
        total[..., pairs + 1 :: 2] &= (1 << 44) - 1
    return total
