# SPDX-License-Identifier: Apache-2.0
"""A map of class probabilities that keeps the order of the classes in every row, so that no answer changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError
from epimeter.metrics.curve.levels import clipped
from epimeter.recalibration.class_map import ClassMap, minimum, softmax
from epimeter.views import Multiclass

Floats = NDArray[np.float64]

LEAST = 1e-3
"""The smallest slope: above 0, so that two classes never become equal."""
PENALTY = 1e-3
"""On the mean square of the steps between neighbouring slopes: rows that say nothing of a slope leave it as its neighbours."""
ALL, TOP = (0.25, 0.5, 0.75), (0.25, 0.5, 0.75)
"""Quantiles of all logarithms, and of the largest of each row, at which the slope may change."""


@dataclass(frozen=True, eq=False)
class IntraOrder(ClassMap):
    """One increasing function of the logarithms, the same for all classes: piecewise linear (Rahimi et al. 2020, diagonal form).

    With one slope it is temperature scaling. The log loss is convex in the slopes.
    """

    knots: Floats
    slopes: Floats
    n_classes: int

    name: ClassVar[str] = "intra_order"
    formula: ClassVar[str] = (
        "q = softmax(g(log(p))), p within [1e-12, 1 - 1e-12]; g(knots[0]) = 0, g has slopes[0] below knots[0], slopes[j] between "
        "knots[j-1] and knots[j], the last slope above the last knot"
    )

    @classmethod
    def fit(cls, rows: Multiclass) -> Self:
        score = np.log(clipped(rows.prob))
        knots = np.unique(np.concatenate([np.quantile(score, ALL), np.quantile(score.max(axis=1), TOP)]))
        number = len(knots) + 1

        def log_odds(place: Floats) -> Floats:
            return _bent(score, knots, place)

        def slope(rest: Floats) -> Floats:
            return np.array([float(np.sum(rest * _part(score, knots, j))) for j in range(number)])

        def penalty(place: Floats) -> tuple[float, Floats]:
            steps, bend = np.diff(place), np.zeros(number)
            bend[1:] += 2 * steps
            bend[:-1] -= 2 * steps
            share = PENALTY / (number - 1)
            return share * float(steps @ steps), share * bend

        place = minimum(rows, log_odds, slope, penalty, np.ones(number), cls.name, least=LEAST)
        return cls(knots, place, rows.n_classes)

    def __call__(self, prob: Floats) -> Floats:
        return softmax(_bent(np.log(clipped(prob)), self.knots, self.slopes))

    def _checked(self) -> Self:
        if self.knots.ndim != 1 or not len(self.knots) or (np.diff(self.knots) <= 0).any():
            raise InputError("knots of an intra_order map must be ascending numbers", field="knots")
        if self.slopes.shape != (len(self.knots) + 1,) or (self.slopes <= 0).any():
            raise InputError("an intra_order map must have one slope more than knots, all above 0", field="slopes")
        return self


def _part(score: Floats, knots: Floats, j: int) -> Floats:
    """How far a score reaches into the j-th piece; negative below the first knot, where the function is 0."""
    if j == 0:
        return np.asarray(np.minimum(score - knots[0], 0.0))
    if j == len(knots):
        return np.asarray(np.maximum(score - knots[-1], 0.0))
    return np.asarray(np.clip(score, knots[j - 1], knots[j]) - knots[j - 1])


def _bent(score: Floats, knots: Floats, slopes: Floats) -> Floats:
    """The function of the scores."""
    heights = np.concatenate([[0.0], np.cumsum(slopes[1:-1] * np.diff(knots))])
    made = np.interp(score, knots, heights)
    made += slopes[0] * _part(score, knots, 0)
    made += slopes[-1] * _part(score, knots, len(knots))
    return np.asarray(made)
