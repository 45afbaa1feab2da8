# SPDX-License-Identifier: Apache-2.0
"""Piecewise-linear calibration maps, with the number of pieces chosen by cross-validation (ECE-PL and ECE-PL3).

The authors learn the knots too, with a neural network and random batches. Knots at quantiles keep the family of maps
and make the fit convex and reproducible. Folds go by the rank of a row (by confidence, then outcome), so that they do
not depend on the order of the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import UndefinedMetricError
from epimeter.limits import AtLeast
from epimeter.metrics.curve.cox import FIT_ON_TEST, Norm
from epimeter.metrics.curve.hats import Hats, boxed, solved
from epimeter.metrics.curve.levels import NORM_SYMBOLS, TOP_LABEL, clipped, logistic, logit
from epimeter.metrics.curve.logistic import log_likelihood, step_length
from epimeter.results import Result
from epimeter.summaries import Ordered, OrderedRows

Floats = NDArray[np.float64]
Equations = tuple[Floats, Floats, Floats]
"""Diagonal, neighbours and right side of tridiagonal equations."""
Segments = Annotated[int, AtLeast(1)] | None
Folds = Annotated[int, AtLeast(2)]

FOLDS = {
    "fold": "rank of a row by confidence, then outcome, modulo F",
    "S_max": "1 + min(floor(N/200), max_segments - 1); the first minimum wins",
    "F": "parameter folds; empty folds are skipped",
}
UNWEIGHTED = "No weights: rows are dealt to folds one by one."


@dataclass(frozen=True, kw_only=True)
class PiecewiseError(Result):
    """The error, and the number of pieces it was measured with."""

    value: float
    segments: int


@metric(
    title="Piecewise-linear fit-on-the-test ECE",
    family="curve",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"\frac1N\sum_i|\hat y(c_i)-c_i|^\alpha,\quad \hat y=\frac1F\sum_f\hat y_{-f},\quad "
    r"\hat y_{-f}(c)=\sum_{k=0}^Sv_kB_k(c),\quad v=\arg\min_{0\le v_k\le1}\sum_{i\notin f}(y_i-\hat y_{-f}(c_i))^2"
    r"+\rho\sum_k(v_k-t_k)^2,\quad "
    r"S=\arg\min_{1\le S\le S_{max}}\frac1N\sum_f\sum_{i\in f}(y_i-\hat y_{-f}(c_i))^2",
    where=NORM_SYMBOLS
    | FOLDS
    | {
        "B_k": "hat functions of the knots 0, the quantiles j/S of all confidences, 1; equal knots merged",
        "ρ": "ridge",
    },
    source=FIT_ON_TEST,
    matrix=TOP_LABEL,
    weighted=False,
    pitfalls="The authors' code learns the knots by a neural network and refits to all rows after choosing S "
    "(ensemble=False); its numbers differ from run to run. " + UNWEIGHTED,
    aliases=("ece-pl", "pl"),
)
def ece_pl(
    rows: OrderedRows,
    *,
    segments: Segments = None,
    folds: Folds = 10,
    max_segments: Annotated[int, AtLeast(1)] = 16,
    ensemble: bool = True,
    ridge: Annotated[float, AtLeast(0)] = 1e-6,
    norm: Norm = 1,
) -> PiecewiseError:
    """Mean distance between the confidences and a piecewise-linear map fitted to the same rows.

    Parameters
    ----------
    segments
        Number of linear pieces; None chooses it by cross-validation.
    folds
        Number of cross-validation folds.
    max_segments
        Largest number of pieces tried, never more than one for each 200 rows and one.
    ensemble
        True averages the fits that each leave one fold out; False fits once to all rows.
    ridge
        Weight of the pull towards the identity that makes the fit unique.
    norm
        Exponent of the distance; no root is taken.
    """
    if rows.prob[0] == rows.prob[-1]:
        return all_alike(rows, norm)
    return measured(Straight(rows.prob, rows.true, int(folds), ridge), rows, segments, max_segments, ensemble, norm)


@metric(
    title="Piecewise-linear in logit-logit space fit-on-the-test ECE",
    family="curve",
    nanoseconds=40_000,
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"\frac1N\sum_i|\hat y(c_i)-c_i|^\alpha,\quad \hat y=\frac1F\sum_f\rho\Big(\sum_kv^{(-f)}_k"
    r"B_k(\operatorname{logit}c)\Big),\quad v^{(-f)}=\arg\min_v\ -\sum_{i\notin f}\log\text{Bernoulli}\Big(y_i\,\Big|\,"
    r"\rho\big(\textstyle\sum_kv_kB_k(\operatorname{logit}c_i)\big)\Big)+\frac{ridge}2\sum_k(v_k-t_k)^2,\quad "
    r"S=\arg\min_S\ \text{mean held-out log loss}",
    where=NORM_SYMBOLS
    | FOLDS
    | {
        "ρ": "logistic function",
        "B_k": "hat functions of the knots: smallest logit, quantiles j/S of the logits, largest logit; equal ones merged",
        "logit": "of c clipped to [1e-12, 1 - 1e-12]; so are the probabilities of the held-out log loss",
    },
    source=FIT_ON_TEST,
    matrix=TOP_LABEL,
    weighted=False,
    pitfalls="One segment is Platt scaling of the logit (two parameters), not temperature scaling as the review says. "
    "Knots are quantiles, not learnt. " + UNWEIGHTED,
    aliases=("ece-pl3", "pl3"),
)
def ece_pl3(
    rows: OrderedRows,
    *,
    segments: Segments = None,
    folds: Folds = 10,
    max_segments: Annotated[int, AtLeast(1)] = 16,
    ensemble: bool = True,
    ridge: Annotated[float, AtLeast(0)] = 1e-6,
    norm: Norm = 1,
) -> PiecewiseError:
    """Mean distance between the confidences and a map that is piecewise linear between logits.

    Parameters
    ----------
    segments
        Number of linear pieces; None chooses it by cross-validation.
    folds
        Number of cross-validation folds.
    max_segments
        Largest number of pieces tried, never more than one for each 200 rows and one.
    ensemble
        True averages the fits that each leave one fold out; False fits once to all rows.
    ridge
        Weight of the pull towards the identity that makes the fit unique.
    norm
        Exponent of the distance; no root is taken.
    """
    x = logit(rows.prob)
    if x[0] == x[-1]:
        return all_alike(rows, norm)
    return measured(Bent(x, rows.true, int(folds), ridge), rows, segments, max_segments, ensemble, norm)


def all_alike(rows: OrderedRows, norm: float) -> PiecewiseError:
    """All rows say the same: the map is their mean outcome."""
    value = np.mean(np.abs(np.mean(rows.true) - rows.prob) ** norm)
    return PiecewiseError(value=float(value), segments=1)


def measured(
    maps: Maps, rows: OrderedRows, segments: int | None, max_segments: int, ensemble: bool, norm: float
) -> PiecewiseError:
    """The error of the map with the given number of pieces, or with the one of least held-out loss."""
    most = 1 + min(rows.n_rows // 200, int(max_segments) - 1)
    if segments is None and most > 1:
        losses = np.array([maps.loss(maps.knots(pieces)) for pieces in range(1, most + 1)])
        # The first minimum; losses that differ by rounding only (merged knots) are the same.
        segments = 1 + int(np.flatnonzero(losses <= losses.min() + 1e-13 * abs(losses.min()))[0])
    pieces = int(segments or 1)
    knots = maps.knots(pieces)
    heights = maps.folded(knots) if ensemble else [maps.whole(knots)]
    value = np.mean(np.abs(maps.mapped(knots, heights) - rows.prob) ** norm)
    return PiecewiseError(value=float(value), segments=pieces)


@dataclass(frozen=True)
class Maps(ABC):
    """Piecewise-linear functions of sorted places, given by their heights at knots."""

    x: Floats
    true: Floats
    folds: int
    ridge: float

    @property
    def filled_folds(self) -> range:
        return range(min(self.folds, len(self.x)))

    @abstractmethod
    def knots(self, pieces: int) -> Floats:
        """Where the pieces meet, and both ends."""

    @abstractmethod
    def whole(self, knots: Floats) -> Floats:
        """The heights fitted to all rows."""

    @abstractmethod
    def folded(self, knots: Floats) -> list[Floats]:
        """The heights fitted without each fold."""

    @abstractmethod
    def loss(self, knots: Floats) -> float:
        """Mean loss of every fold under the fit without it."""

    @abstractmethod
    def mapped(self, knots: Floats, heights: list[Floats]) -> Floats:
        """The mean of some fits at the rows."""


class Straight(Maps):
    """Least squares in the confidence. A fit without a fold solves the totals less that fold's: one pass serves all."""

    def knots(self, pieces: int) -> Floats:
        inner = np.quantile(self.x, np.arange(1, pieces) / pieces)
        return np.unique(np.concatenate([[0.0], inner, [1.0]]))

    def whole(self, knots: Floats) -> Floats:
        return self._solved(self._equations(slice(None), knots), knots)

    def folded(self, knots: Floats) -> list[Floats]:
        return [height for _, height in self._folds(knots)]

    def loss(self, knots: Floats) -> float:
        total = 0.0
        for (own, next_to, came), v in self._folds(knots):
            total += float(own @ v**2 + 2 * next_to @ (v[1:] * v[:-1]) - 2 * came @ v)
        return (float(self.true.sum()) + total) / len(self.x)

    def mapped(self, knots: Floats, heights: list[Floats]) -> Floats:
        return Hats.at(self.x, knots).values(np.mean(heights, axis=0))

    def _equations(self, rows: slice, knots: Floats) -> Equations:
        hats = Hats.at(self.x[rows], knots)
        return *hats.gram(np.ones(len(hats.part))), hats.gathered(self.true[rows])

    def _folds(self, knots: Floats) -> list[tuple[Equations, Floats]]:
        parts = [self._equations(slice(fold, None, self.folds), knots) for fold in self.filled_folds]
        total = [np.sum(column, axis=0) for column in zip(*parts, strict=True)]
        return [
            (part, self._solved((total[0] - part[0], total[1] - part[1], total[2] - part[2]), knots)) for part in parts
        ]

    def _solved(self, equations: Equations, knots: Floats) -> Floats:
        diagonal, beside, right = equations
        return boxed(diagonal + self.ridge, beside, right + self.ridge * knots, "ece_pl")


class Bent(Maps):
    """Maximum likelihood in the logit, pulled towards the identity."""

    def knots(self, pieces: int) -> Floats:
        return np.unique(np.quantile(self.x, np.arange(pieces + 1) / pieces))

    def whole(self, knots: Floats) -> Floats:
        return penalised_fit(Hats.at(self.x, knots), self.true, self.ridge, knots)

    def folded(self, knots: Floats) -> list[Floats]:
        near = self.whole(knots)
        heights = []
        for fold in self.filled_folds:
            kept = np.arange(len(self.x)) % self.folds != fold
            heights.append(penalised_fit(Hats.at(self.x[kept], knots), self.true[kept], self.ridge, near))
        return heights

    def loss(self, knots: Floats) -> float:
        total = 0.0
        for fold, v in enumerate(self.folded(knots)):
            rows = slice(fold, None, self.folds)
            said = clipped(logistic(Hats.at(self.x[rows], knots).values(v)))
            total -= float(np.sum(np.log(np.where(self.true[rows] == 1, said, 1 - said))))
        return total / len(self.x)

    def mapped(self, knots: Floats, heights: list[Floats]) -> Floats:
        hats = Hats.at(self.x, knots)
        return np.asarray(sum(logistic(hats.values(v)) for v in heights) / len(heights))


def penalised_fit(hats: Hats, true: Floats, ridge: float, start: Floats) -> Floats:
    """Newton's method for the heights at the knots; the Hessian is tridiagonal."""
    height, ones = start, np.ones(len(true))

    def gain(v: Floats) -> float:
        return log_likelihood(hats.values(v), ones, true) - ridge / 2 * float(np.sum((v - hats.knots) ** 2))

    for _ in range(200):
        chance = logistic(hats.values(height))
        diagonal, beside = hats.gram(chance * (1 - chance))
        pull = hats.gathered(true - chance) - ridge * (height - hats.knots)
        step = solved(diagonal + ridge, beside, pull, "ece_pl3")
        largest = float(np.abs(step).max())
        height = np.asarray(height + step * step_length(gain, height, step, largest))
        if largest < 1e-7:  # the error left is about its square
            return height
    raise UndefinedMetricError("ece_pl3 found no finite fit; pass a ridge above 0")
