# SPDX-License-Identifier: Apache-2.0
"""Rows with one probability a class, handed to the loops of `include/classes.h`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.core import NULL, accepted, ffi, lib, read, write
from epimeter.core.row_loops import added
from epimeter.core.threads import SHARE, shared


def _matrix(prob: NDArray[Any]) -> tuple[Any, Any]:
    """The matrix as the loops read it, and what must live as long."""
    said = read(prob)
    struct = ffi.new("epi_matrix *")
    struct.n, struct.classes = prob.shape
    if prob.dtype == np.float32:
        struct.single = said
    else:
        struct.prob = said
    return struct, said


def _share(prob: NDArray[Any]) -> int:
    return max(1, SHARE // int(prob.shape[1]))


def top_labels(prob: NDArray[Any], tolerance: float) -> tuple[NDArray[Any], NDArray[np.int64]] | None:
    """Largest probability and first class that has it, for every row; None when a row is no distribution over the classes."""
    prob = np.ascontiguousarray(prob)
    top, guess = np.empty(len(prob), prob.dtype), np.empty(len(prob), np.int64)
    single = prob.dtype == np.float32

    def of_part(rows: slice) -> bool:
        struct, _kept = _matrix(prob[rows])
        found = write(top[rows])
        return not lib.epi_top_labels(
            struct, tolerance, NULL if single else found, found if single else NULL, write(guess[rows])
        )

    return (top, guess) if all(shared(of_part, len(prob), _share(prob))) else None


def class_bins(label: NDArray[Any], prob: NDArray[Any], bins: int) -> NDArray[np.int64]:
    """Rows, outcomes, confidence in units and in steps by class and equal-width bin: shape (classes, bins, 4)."""
    prob = np.ascontiguousarray(prob)
    label = np.ascontiguousarray(label, np.int64)

    def of_part(rows: slice) -> NDArray[np.int64]:
        totals = np.zeros((prob.shape[1], bins, 4), np.int64)
        struct, _kept = _matrix(prob[rows])
        if lib.epi_class_bins(struct, read(label[rows]), bins, write(totals)):
            raise ValueError("labels that are no classes, or no memory for their bins")
        return totals

    return added(shared(of_part, len(prob), _share(prob)))


def softmax_moments(score: NDArray[np.float64], cold: float) -> NDArray[np.float64]:
    """Of every row, under softmax(cold * score): largest cold * score, sum of exp(cold * score - largest), mean score, variance."""
    score = np.ascontiguousarray(score, np.float64)
    columns = np.empty((4, len(score)))

    def of_part(rows: slice) -> None:
        part = score[rows]
        accepted(lib.epi_softmax_moments(read(part), *part.shape, cold, *(write(column[rows]) for column in columns)))

    shared(of_part, len(score), _share(score))
    return columns
