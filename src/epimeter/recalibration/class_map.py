# SPDX-License-Identifier: Apache-2.0
"""What maps of class probabilities have in common: their shape, and how a convex loss of them is made least."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import UndefinedMetricError
from epimeter.recalibration.curves import Map
from epimeter.views import Multiclass

Floats = NDArray[np.float64]


class ClassMap(Map):
    """A map of one probability a class."""

    n_classes: int


def every_class(rows: Multiclass, name: str) -> None:
    """A class that never came true has no finite intercept, and no curve of its own."""
    missing = np.setdiff1d(np.arange(rows.n_classes), rows.true)
    if len(missing):
        raise UndefinedMetricError(f"{name} needs every class among the outcomes; class {missing[0]} never comes true")


def softmax(score: Floats) -> Floats:
    """Class probabilities from log odds."""
    made = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(made / made.sum(axis=1, keepdims=True))


def minimum(
    rows: Multiclass,
    log_odds: Callable[[Floats], Floats],
    slope: Callable[[Floats], Floats],
    penalty: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    name: str,
    least: float | None = None,
) -> Floats:
    """Where mean log loss and penalty are least: L-BFGS on a convex function, no number below `least`."""
    from scipy.optimize import minimize

    n, own = rows.n_rows, (np.arange(rows.n_rows), rows.true)
    mass = np.full(n, 1 / n) if rows.weight is None else rows.weight / rows.weight.sum()

    def height(place: Floats) -> tuple[float, Floats]:
        eta = log_odds(place)
        eta -= eta.max(axis=1, keepdims=True)
        chance = np.exp(eta)
        total = chance.sum(axis=1)
        loss = float(mass @ (np.log(total) - eta[own]))
        chance /= total[:, None]
        chance[own] -= 1.0
        chance *= mass[:, None]
        more, bend = penalty(place)
        return loss + more, slope(chance) + bend

    limits = None if least is None else [(least, None)] * len(start)
    options = {"maxiter": 2000, "ftol": 1e-11, "gtol": 1e-7}
    found = minimize(height, start, jac=True, method="L-BFGS-B", bounds=limits, options=options)
    if not np.isfinite(found.x).all() or np.abs(found.x).max() > 1e6:
        raise UndefinedMetricError(
            f"{name} found no finite maximum of the likelihood; the classes are all but separated"
        )
    return np.asarray(found.x, np.float64)
