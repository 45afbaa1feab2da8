# SPDX-License-Identifier: Apache-2.0
"""Rows with one confidence each, handed to the loops of `include/rows.h`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.core import ffi, lib, read, write
from epimeter.core.threads import SHARE, shared

Integers = NDArray[np.int64]
_ROWS = ffi.typeof("epi_rows *")


class Rows:
    """Outcomes and confidences as the loops read them.

    The memory lives as long as this does and no longer: hold it in a variable while a loop runs (columns of a matrix are copies).
    """

    __slots__ = ("_kept", "n_rows", "struct")

    def __init__(self, true: NDArray[Any], prob: NDArray[Any]) -> None:
        n_rows = len(prob)
        if len(true) != n_rows:
            raise ValueError(f"{len(true)} outcomes beside {n_rows} confidences")
        if true.dtype != np.uint8:
            true = true.astype(np.uint8)
        outcome, said = read(np.ascontiguousarray(true)), read(np.ascontiguousarray(prob))
        self._kept = outcome, said
        self.n_rows = n_rows
        single = prob.dtype == np.float32
        self.struct = ffi.new(_ROWS, (n_rows, outcome, ffi.NULL if single else said, said if single else ffi.NULL))


def outcomes(label: NDArray[Any]) -> NDArray[np.uint8] | None:
    """Whole numbers in one byte each; None where one is neither 0 nor 1. Bytes are taken as they are: `sound` looks at them."""
    if label.dtype == np.uint8:
        return label
    made = np.empty(len(label), np.uint8)
    number = np.ascontiguousarray(label, np.int64)
    return made if lib.epi_outcomes(read(number), len(label), write(made)) else None


def sound(true: NDArray[Any], prob: NDArray[Any]) -> bool:
    """Whether all outcomes are 0 or 1 and all confidences probabilities."""

    def of_part(rows: slice) -> bool:
        part = Rows(true[rows], prob[rows])
        return bool(lib.epi_sound(part.struct))

    return all(shared(of_part, len(prob), 4 * SHARE))


def width_bins(true: NDArray[Any], prob: NDArray[Any], bins: int) -> Integers:
    """Rows, outcomes, confidence in units and in steps by equal-width bin: shape (bins, 4)."""

    def of_part(rows: slice) -> Integers:
        totals = np.zeros((bins, 4), np.int64)
        part = Rows(true[rows], prob[rows])
        if lib.epi_width_bins(part.struct, bins, write(totals)):
            raise ValueError("rows that are not sound")
        return totals

    return added(shared(of_part, len(prob)))


def added(parts: list[Integers], pairs: int = 2) -> Integers:
    """Tables of parts as one; from column `pairs` on come units and steps by turns."""
    total = parts[0]
    for other in parts[1:]:
        total += other
        total[..., pairs::2] += total[..., pairs + 1 :: 2] >> 44
        total[..., pairs + 1 :: 2] &= (1 << 44) - 1
    return total
