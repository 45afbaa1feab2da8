# SPDX-License-Identifier: Apache-2.0
"""What maps of class probabilities have in common: their shape, and how a convex loss of them is made least."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import UndefinedMetricError
from epimeter.recalibration.curves import Map
from epimeter.views import Multiclass

Floats = NDArray[np.float64]

STEPS = 100
"""Of Newton's method, at most."""
FEW = 256
"""Parameters up to which the matrix of second derivatives is made; of more, directions in which a step is sought."""
FLAT, LITTLE = 1e-7, 1e-11
"""The largest slope, and the gain of a step, at which a minimum is reached."""


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
    """Where mean log loss and penalty are least: Newton's method on a convex function, no number below `least`.

    `log_odds` is linear in the place and `slope` its transpose; `penalty` is a square form with its slope, which is linear too.
    So the curvature along any direction costs as much as a slope, and of many parameters Newton's equations are solved by
    conjugate gradients (Nocedal and Wright 2006, algorithm 7.1). Where classes are all but separated, so that the loss falls for
    ever, every step still takes a share of what is left; a method of first derivatives takes thousands there.
    """
    n, own = rows.n_rows, (np.arange(rows.n_rows), rows.true)
    mass = np.full(n, 1 / n) if rows.weight is None else rows.weight / rows.weight.sum()

    def look(place: Floats) -> tuple[float, Floats]:
        """The height, and the class probabilities there."""
        eta = log_odds(place)
        eta -= eta.max(axis=1, keepdims=True)
        chance = np.exp(eta)
        total = chance.sum(axis=1)
        chance /= total[:, None]
        return float(np.sum(mass * (np.log(total) - eta[own]))) + penalty(place)[0], chance

    def gradient(place: Floats, chance: Floats) -> Floats:
        rest = chance * mass[:, None]
        rest[own] -= mass
        return slope(rest) + penalty(place)[1]

    def curved(chance: Floats, free: Floats, way: Floats) -> Floats:
        """The second derivative in a direction, of what is free to move: of a softmax, chance (u - mean of u)."""
        u = log_odds(way * free)
        u -= np.einsum("ij,ij->i", chance, u)[:, None]
        u *= chance
        u *= mass[:, None]
        return (slope(u) + penalty(way * free)[1]) * free

    place = start.copy()
    height, chance = look(place)
    for _ in range(STEPS):
        fall = gradient(place, chance)
        free = np.ones(len(place)) if least is None else ((place > least) | (fall < 0)).astype(np.float64)
        fall *= free
        if np.abs(fall).max() <= FLAT:
            break
        step = _newton_step(partial(curved, chance, free), fall)
        size, along = 1.0, float(np.sum(step * fall))
        while True:
            new = place + size * step if least is None else np.maximum(place + size * step, least)
            reached, chance = look(new)
            if reached <= height + 1e-4 * size * along or size < 1e-10:  # Armijo
                break
            size /= 2
        if not reached < height:
            break
        place, gained, height = new, height - reached, reached
        if gained <= LITTLE * max(1.0, height):
            break
    if not np.isfinite(place).all() or np.abs(place).max() > 1e6:
        raise UndefinedMetricError(
            f"{name} found no finite maximum of the likelihood; the classes are all but separated"
        )
    return place


def _newton_step(curved: Callable[[Floats], Floats], fall: Floats) -> Floats:
    """The step that Newton's equations ask for: of few parameters from the matrix itself, else as exactly as it is worth."""
    if len(fall) <= FEW:
        matrix = np.stack([curved(way) for way in np.eye(len(fall))])
        # A common intercept changes nothing, nor does what is held: the matrix is singular but for this.
        matrix[np.diag_indices_from(matrix)] += 1e-12 * max(float(np.trace(matrix)) / len(fall), 1e-300)
        return np.asarray(np.linalg.solve(matrix, -fall))
    step, rest = np.zeros_like(fall), -fall
    way, square = rest, float(np.sum(rest**2))
    enough = square * min(0.25, math.sqrt(square)) ** 2
    for _ in range(FEW):
        bent = curved(way)
        curvature = float(np.sum(way * bent))
        if curvature <= 1e-14 * square:  # flat to rounding: no further along here
            break
        length = square / curvature
        step = step + length * way
        rest = rest - length * bent
        former, square = square, float(np.sum(rest**2))
        if square <= enough:
            break
        way = rest + square / former * way
    return step if step.any() else -fall
