# SPDX-License-Identifier: Apache-2.0
"""What every fitted curve starts from: distinct confidences, their logits, weighted quantiles, points to evaluate at."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError
from epimeter.summaries.rows import Levels, OrderedRows

Floats = NDArray[np.float64]

CLIP = 1e-12
"""Confidences are kept this far from 0 and 1 before a logarithm, so that a logit is at most 27.6."""

TOP_LABEL = "reduced to its top label: c is the largest probability, y whether that class came true"
NORM_SYMBOLS = {"α": "parameter norm", "ŷ": "the fitted map", "c_i": "confidence", "y_i": "outcome, 0 or 1"}


def filled(rows: OrderedRows) -> Levels:
    """The distinct confidences that have weight; rows of weight zero leave no trace."""
    levels = rows.levels
    some = levels.weight > 0
    return levels if some.all() else Levels(levels.prob[some], levels.weight[some], levels.true[some])


def clipped(prob: Any) -> Floats:
    """Confidences within [1e-12, 1 - 1e-12]."""
    return np.clip(np.asarray(prob, np.float64), CLIP, 1 - CLIP)


def logit(prob: Any) -> Floats:
    """Log odds of clipped confidences."""
    inner = clipped(prob)
    return np.asarray(np.log(inner) - np.log1p(-inner))


def logistic(eta: Floats) -> Floats:
    """The inverse of the logit, without overflow."""
    small = np.exp(-np.abs(eta))
    return np.asarray(np.where(eta >= 0, 1.0, small) / (1.0 + small))


def weighted_mean(values: Floats, weight: Floats) -> float:
    """Sums are rounded once, so that no bit depends on the threads of a library for products of vectors."""
    return math.fsum((weight * values).tolist()) / math.fsum(weight.tolist())


def are_whole(weight: Floats) -> bool:
    """Whether weights can be read as numbers of copies."""
    return bool((weight == np.floor(weight)).all())


def as_copies(weight: Floats, n_rows: int) -> Floats:
    """Weights as numbers of copies; where they are not whole, scaled to sum to the number of rows."""
    return weight if are_whole(weight) else weight * (n_rows / weight.sum())


def weighty_rows(rows: OrderedRows) -> int:
    """Rows whose weight is not zero."""
    return rows.n_rows if rows.weight is None else int((rows.weight > 0).sum())


def quantiles(values: Floats, copies: Floats, shares: Floats) -> Floats:
    """Quantiles with linear interpolation (R type 7) of values that stand there several times."""
    order = np.argsort(values, kind="stable")
    ordered, end = values[order], np.cumsum(copies[order])
    place = (end[-1] - 1) * np.asarray(shares, np.float64)
    below = np.floor(place)

    def at(rank: Floats) -> Floats:
        return ordered[np.minimum(np.searchsorted(end, rank, side="right"), len(ordered) - 1)]

    left = at(below)
    return np.asarray(left + (at(below + 1) - left) * (place - below))


def points(at: Any, metric: str) -> tuple[Floats, bool]:
    """Where to evaluate a map, and whether a single number was asked for."""
    try:
        values = np.asarray(at, np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"at of {metric} must be a number or an array of numbers; got {at!r:.60}", field="at"
        ) from None
    if not ((values >= 0) & (values <= 1)).all():
        raise InputError(f"at of {metric} must lie in [0, 1]; got {at!r:.60}", field="at")
    return values, values.ndim == 0
