# SPDX-License-Identifier: Apache-2.0
"""Maps of class probabilities: one temperature, one increasing function, one slope a class, a matrix, or a curve a class against
the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError, UndefinedMetricError
from epimeter.metrics.curve.levels import clipped
from epimeter.recalibration.class_map import ClassMap, every_class, minimum, softmax
from epimeter.recalibration.curves import CURVES, CurveMap
from epimeter.recalibration.intra_order import IntraOrder
from epimeter.recalibration.scaling import cooled, temperature_scaling
from epimeter.views import Binary, Multiclass

Floats = NDArray[np.float64]

PENALTY = 1e-3
"""Of a Dirichlet map: on the mean square of the matrix off its diagonal, and of the intercepts (Kull et al. 2019, ODIR)."""
MOST_CLASSES = 100
"""Classes up to which a matrix of classes x classes is fitted."""


@dataclass(frozen=True)
class ClassTemperature(ClassMap):
    """One temperature for all classes (Guo et al. 2017)."""

    temperature: float
    n_classes: int

    name: ClassVar[str] = "temperature"
    formula: ClassVar[str] = "q = softmax(log(p)/temperature), p within [1e-12, 1 - 1e-12]"

    @classmethod
    def fit(cls, rows: Multiclass) -> Self:
        return cls(float(temperature_scaling.compute(rows).temperature), rows.n_classes)

    def __call__(self, prob: Floats) -> Floats:
        return np.asarray(cooled(prob, 1 / self.temperature, self.n_classes))


@dataclass(frozen=True, eq=False)
class Vector(ClassMap):
    """One slope and one intercept a class (Guo et al. 2017)."""

    slope: Floats
    intercept: Floats

    name: ClassVar[str] = "vector"
    formula: ClassVar[str] = "q = softmax(slope*log(p) + intercept), p within [1e-12, 1 - 1e-12]"

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        return len(self.slope)

    @classmethod
    def fit(cls, rows: Multiclass) -> Self:
        every_class(rows, cls.name)
        score, k = np.log(clipped(rows.prob)), rows.n_classes

        def log_odds(place: Floats) -> Floats:
            return np.asarray(place[:k] * score + place[k:])

        def slope(rest: Floats) -> Floats:
            return np.concatenate([np.sum(rest * score, axis=0), rest.sum(axis=0)])

        start = np.concatenate([np.ones(k), np.zeros(k)])
        place = minimum(rows, log_odds, slope, lambda place: (0.0, np.zeros_like(place)), start, cls.name)
        return cls(place[:k], place[k:] - place[k:].mean())

    def __call__(self, prob: Floats) -> Floats:
        return softmax(self.slope * np.log(clipped(prob)) + self.intercept)

    def _checked(self) -> Self:
        if self.slope.ndim != 1 or self.slope.shape != self.intercept.shape:
            raise InputError("a vector map must have one slope and one intercept a class", field="slope")
        return self


@dataclass(frozen=True, eq=False)
class Dirichlet(ClassMap):
    """A matrix in the logarithms, small off its diagonal (Kull et al. 2019)."""

    matrix: Floats
    intercept: Floats

    name: ClassVar[str] = "dirichlet"
    formula: ClassVar[str] = "q = softmax(matrix @ log(p) + intercept), p within [1e-12, 1 - 1e-12]"

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        return len(self.intercept)

    @classmethod
    def fit(cls, rows: Multiclass) -> Self:
        every_class(rows, cls.name)
        score, k = np.log(clipped(rows.prob)), rows.n_classes
        if k > MOST_CLASSES:
            raise UndefinedMetricError(f"dirichlet is fitted for at most {MOST_CLASSES} classes; got {k}")
        off = ~np.eye(k, dtype=bool)

        def log_odds(place: Floats) -> Floats:
            return np.asarray(score @ place[: k * k].reshape(k, k).T + place[k * k :])

        def slope(rest: Floats) -> Floats:
            return np.concatenate([(rest.T @ score).ravel(), rest.sum(axis=0)])

        share = np.concatenate([(off / max(1, k * (k - 1))).ravel(), np.full(k, 1 / k)]) * PENALTY

        def penalty(place: Floats) -> tuple[float, Floats]:
            return float(share @ place**2), 2 * share * place

        start = np.concatenate([np.eye(k).ravel(), np.zeros(k)])
        place = minimum(rows, log_odds, slope, penalty, start, cls.name)
        return cls(place[: k * k].reshape(k, k), place[k * k :])

    def __call__(self, prob: Floats) -> Floats:
        return softmax(np.log(clipped(prob)) @ self.matrix.T + self.intercept)

    def _checked(self) -> Self:
        if self.matrix.shape != (len(self.intercept),) * 2:
            raise InputError("a Dirichlet map must have a square matrix and one intercept a class", field="matrix")
        return self


@dataclass(frozen=True, eq=False)
class AgainstRest(ClassMap):
    """A curve a class, fitted against all others; each row is then divided by its sum (Zadrozny and Elkan 2002).

    A row that all curves map to 0 keeps its probabilities.
    """

    curves: tuple[CurveMap, ...]

    curve: ClassVar[type[CurveMap]]

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        return len(self.curves)

    @classmethod
    def fit(cls, rows: Multiclass) -> Self:
        every_class(rows, cls.name)
        return cls(
            tuple(
                cls.curve.fit(
                    Binary((rows.true == k).astype(np.uint8), np.ascontiguousarray(rows.prob[:, k]), rows.weight)
                )
                for k in range(rows.n_classes)
            )
        )

    def __call__(self, prob: Floats) -> Floats:
        mapped = np.stack([curve(prob[:, k]) for k, curve in enumerate(self.curves)], axis=1)
        total = mapped.sum(axis=1, keepdims=True)
        return np.where(total > 0, mapped / np.where(total > 0, total, 1.0), prob)

    def numbers(self) -> dict[str, Any]:
        return {"curves": [curve.numbers() for curve in self.curves]}

    @classmethod
    def read(cls, numbers: Any) -> Self:
        if not isinstance(numbers, dict) or set(numbers) != {"curves"} or not isinstance(numbers["curves"], list):
            raise InputError(f"a {cls.name} map of classes has one curve a class")
        return cls(tuple(cls.curve.read(one) for one in numbers["curves"]))


def _against_rest(curve: type[CurveMap]) -> type[AgainstRest]:
    formula = f"each class by its own numbers: {curve.formula}; then q/sum(q), or p where all q are 0"
    return type(
        f"{curve.__name__}AgainstRest",
        (AgainstRest,),
        {"curve": curve, "name": curve.name, "formula": formula, "__doc__": AgainstRest.__doc__},
    )


@dataclass(frozen=True)
class ClassIdentity(ClassMap):
    """Nothing changed."""

    n_classes: int

    name: ClassVar[str] = "identity"
    formula: ClassVar[str] = "q = p"

    @classmethod
    def fit(cls, rows: Multiclass) -> Self:
        return cls(rows.n_classes)

    def __call__(self, prob: Floats) -> Floats:
        return np.asarray(prob, np.float64)


MATRICES: tuple[type[ClassMap], ...] = (
    ClassIdentity,
    ClassTemperature,
    IntraOrder,
    Vector,
    Dirichlet,
    *(_against_rest(curve) for curve in CURVES[2:]),
)
