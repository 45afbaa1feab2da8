# SPDX-License-Identifier: Apache-2.0
"""Forecasts that state a set of labels, as conformal prediction gives them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError
from epimeter.forecasts.row import Floats, Forecast


@dataclass(frozen=True)
class Sets(Forecast):
    """Of each row the true label, whether the set holds it, and how many labels the set has."""

    covered: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, bool))
    size: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    kind = "set"

    def interval(self, level: float) -> tuple[Floats, Floats]:
        raise self.silent("intervals")


def read_sets(y_true: Any, sets: Any) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.int64]]:
    """True labels, whether their set holds them, sizes.

    `sets` is a matrix of flags, one column a class (then truths are class numbers), or one collection of labels a row.
    """
    flags = np.asarray(sets) if isinstance(sets, np.ndarray) else None
    if flags is not None and flags.ndim == 2 and flags.dtype.kind in "biuf":
        return _flagged(np.asarray(y_true), flags)
    rows = list(sets)
    true = np.asarray(y_true)
    if true.ndim != 1 or len(true) != len(rows):
        raise InputError(f"y_true and sets must have the same length; got {true.shape} and {len(rows)}", field="sets")
    for row, each in enumerate(rows):
        if isinstance(each, str | bytes) or not hasattr(each, "__iter__"):
            raise InputError(
                f"sets must hold one collection of labels a row; sets[{row}] = {each!r:.60}. One label? Write [label]",
                field="sets",
                row=row,
            )
    held = [frozenset(np.asarray(each).tolist() if isinstance(each, np.ndarray) else each) for each in rows]
    return (
        true,
        np.fromiter((label in each for label, each in zip(true.tolist(), held, strict=True)), bool, len(held)),
        np.fromiter((len(each) for each in held), np.int64, len(held)),
    )


def _flagged(true: NDArray[Any], flags: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_], NDArray[np.int64]]:
    if true.ndim != 1 or len(true) != len(flags):
        raise InputError(f"y_true and sets must have the same length; got {true.shape} and {flags.shape}", field="sets")
    strange = ~np.isin(flags, (0, 1))
    if strange.any():
        row = int(np.flatnonzero(strange.any(axis=1))[0])
        raise InputError(
            f"sets as a matrix must hold 0 and 1, one column a class; sets[{row}] = {flags[row].tolist()!r:.80}",
            field="sets",
            row=row,
        )
    n_classes = flags.shape[1]
    if true.dtype.kind not in "iub" or (len(true) and (true.min() < 0 or true.max() >= n_classes)):
        raise InputError(
            f"y_true must hold class numbers 0 to {n_classes - 1} beside sets of {n_classes} columns", field="y_true"
        )
    held = flags.astype(bool)
    return true, held[np.arange(len(true)), true.astype(np.intp)], held.sum(axis=1).astype(np.int64)
