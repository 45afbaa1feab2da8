# SPDX-License-Identifier: Apache-2.0
"""Maps of one number a row: the probability of an event, or the confidence in an answer, into a better one.

A map is a frozen value with a few numbers, which are all that is written to a file. `fit` makes it from validated rows,
calling it maps probabilities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError
from epimeter.metrics.curve.isotonic import isotonic
from epimeter.metrics.curve.levels import are_whole, as_copies, filled, logistic, logit, quantiles
from epimeter.metrics.curve.logistic import (
    BetaMap,
    LogisticLine,
    fitted_beta,
    fitted_line,
    maximum_likelihood,
    refuse_few,
    refuse_one_class,
    refuse_separation,
)
from epimeter.metrics.curve.multinomial import KNOTS, spline_columns
from epimeter.recalibration.scaling import temperature_scaling
from epimeter.recalibration.steps import group_edges
from epimeter.summaries import Ordered
from epimeter.summaries.rows import Levels
from epimeter.views import Binary, View

Floats = NDArray[np.float64]

GROUPS = 256
"""Levels that a Venn-Abers map tells apart at most; more confidences are grouped, equally many rows each."""


class Map(ABC):
    """A fitted map from probabilities to probabilities of the same shape."""

    name: ClassVar[str]
    formula: ClassVar[str]
    """How a program in another language applies the numbers of the file."""

    @classmethod
    @abstractmethod
    def fit(cls, rows: Any) -> Self:
        """The map of these rows."""

    @abstractmethod
    def __call__(self, prob: Floats) -> Floats:
        """The probabilities mapped."""

    def numbers(self) -> dict[str, Any]:
        """The fitted numbers, as they stand in a file."""
        made = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in made.items()}

    @classmethod
    def read(cls, numbers: Mapping[str, Any]) -> Self:
        """The map with these numbers; refused where one is missing, is not finite, or has no place."""
        wanted = {f.name: f.type for f in fields(cls)}  # type: ignore[arg-type]
        if not isinstance(numbers, Mapping) or set(numbers) != set(wanted):
            raise InputError(
                f"a {cls.name} map has the numbers {', '.join(wanted)}; got {', '.join(map(str, numbers))}"
            )
        made: dict[str, Any] = {}
        for name, kind in wanted.items():
            try:
                value = np.asarray(numbers[name], np.float64)
            except (TypeError, ValueError):
                value = np.array(np.nan)
            single = kind in ("float", "int")
            if not np.isfinite(value).all() or (value.ndim == 0) != single:
                what = "a finite number" if single else "a list of finite numbers"
                raise InputError(f"{name} of a {cls.name} map must be {what}", field=name)
            made[name] = value if not single else int(value) if kind == "int" else float(value)
        return cls(**made)._checked()

    def _checked(self) -> Self:
        return self


class CurveMap(Map):
    """A map of one number."""

    @classmethod
    @abstractmethod
    def fit(cls, rows: Binary) -> Self:
        """The map of these rows."""


@dataclass(frozen=True)
class Identity(CurveMap):
    """Nothing changed: what every other map is measured against."""

    name: ClassVar[str] = "identity"
    formula: ClassVar[str] = "q = p"

    @classmethod
    def fit(cls, rows: View) -> Self:
        return cls()

    def __call__(self, prob: Floats) -> Floats:
        return np.asarray(prob, np.float64)


@dataclass(frozen=True)
class Temperature(CurveMap):
    """One temperature in the log odds (Guo et al. 2017)."""

    temperature: float

    name: ClassVar[str] = "temperature"
    formula: ClassVar[str] = "q = 1/(1 + exp(-logit(p)/temperature)), p within [1e-12, 1 - 1e-12]"

    @classmethod
    def fit(cls, rows: Binary) -> Self:
        return cls(float(temperature_scaling.compute(rows).temperature))

    def __call__(self, prob: Floats) -> Floats:
        return logistic(logit(prob) / self.temperature)


@dataclass(frozen=True)
class Platt(CurveMap):
    """A line in the log odds (Platt 1999)."""

    intercept: float
    slope: float

    name: ClassVar[str] = "platt"
    formula: ClassVar[str] = "q = 1/(1 + exp(-(intercept + slope*logit(p)))), p within [1e-12, 1 - 1e-12]"

    @classmethod
    def fit(cls, rows: Binary) -> Self:
        line, _ = fitted_line(levels_of(rows), "logit", "platt")
        return cls(line.intercept, line.slope)

    def __call__(self, prob: Floats) -> Floats:
        return LogisticLine(self.intercept, self.slope, "logit")(prob)


@dataclass(frozen=True)
class Beta(CurveMap):
    """Three numbers in the log odds (Kull, Silva Filho and Flach 2017)."""

    a: float
    b: float
    m: float

    name: ClassVar[str] = "beta"
    formula: ClassVar[str] = "q = 1/(1 + exp(-(a*log(p) - b*log(1 - p) + m))), p within [1e-12, 1 - 1e-12]"

    @classmethod
    def fit(cls, rows: Binary) -> Self:
        found = fitted_beta(levels_of(rows), "beta")
        return cls(found.a, found.b, found.m)

    def __call__(self, prob: Floats) -> Floats:
        return BetaMap(self.a, self.b, self.m, 0.0)(prob)


@dataclass(frozen=True, eq=False)
class Isotonic(CurveMap):
    """The non-decreasing map nearest to the outcomes (Zadrozny and Elkan 2002)."""

    p: Floats
    q: Floats

    name: ClassVar[str] = "isotonic"
    formula: ClassVar[str] = "q is linear between the points (p, q), constant before the first and after the last"

    @classmethod
    def fit(cls, rows: Binary) -> Self:
        levels = levels_of(rows)
        fitted = isotonic(levels)
        # Inside a block the map is flat: its two ends say all.
        kept = np.ones(len(fitted), bool)
        kept[1:-1] = (fitted[1:-1] != fitted[:-2]) | (fitted[1:-1] != fitted[2:])
        return cls(levels.prob[kept], fitted[kept])

    def __call__(self, prob: Floats) -> Floats:
        return np.asarray(np.interp(np.asarray(prob, np.float64), self.p, self.q))

    def _checked(self) -> Self:
        if self.p.ndim != 1 or len(self.p) != len(self.q) or not len(self.p) or (np.diff(self.p) <= 0).any():
            raise InputError("an isotonic map must have growing p and as many q", field="p")
        _within(self.name, self.q)
        return self


@dataclass(frozen=True, eq=False)
class Histogram(CurveMap):
    """The frequency seen in each of 15 bins of equally many rows (Zadrozny and Elkan 2001)."""

    edges: Floats
    q: Floats

    name: ClassVar[str] = "histogram"
    formula: ClassVar[str] = "q[k], where k is the number of edges that are <= p"

    @classmethod
    def fit(cls, rows: Binary) -> Self:
        levels = levels_of(rows)
        edges = np.unique(group_edges(levels.prob, as_copies(levels.weight, rows.n_rows), 15))
        size, true = _grouped(levels, edges)
        return cls(edges, true / size)

    def __call__(self, prob: Floats) -> Floats:
        return np.asarray(self.q[np.searchsorted(self.edges, np.asarray(prob, np.float64), side="right")])

    def _checked(self) -> Self:
        if self.edges.ndim != 1 or len(self.q) != len(self.edges) + 1 or (np.diff(self.edges) <= 0).any():
            raise InputError("a histogram map must have growing edges and one q more", field="edges")
        _within(self.name, self.q)
        return self


@dataclass(frozen=True, eq=False)
class Spline(CurveMap):
    """A natural cubic spline in the log odds, straight beyond the outer knots (Lucena 2018; knots after Harrell)."""

    knots: Floats
    coefficients: Floats

    name: ClassVar[str] = "spline"
    formula: ClassVar[str] = (
        "q = 1/(1 + exp(-(c0 + c1*u + sum_j c[j+2]*(h(u-t[j]) - s*h(u-t[-2]) + (s-1)*h(u-t[-1]))))), with x = logit(p), "
        "u = (x - knots[0])/(knots[-1] - knots[0]), t = knots likewise, h(v) = max(v, 0)^3, s = (t[-1]-t[j])/(t[-1]-t[-2])"
    )

    @classmethod
    def fit(cls, rows: Binary) -> Self:
        levels = levels_of(rows)
        refuse_one_class(levels, cls.name)
        x = logit(levels.prob)
        refuse_separation(x, levels, cls.name)
        knots = np.unique(quantiles(x, as_copies(levels.weight, rows.n_rows), np.array(KNOTS[5])))
        refuse_few(knots, 3, "spline (between its knots)")
        design = np.column_stack([np.ones(len(x)), spline_columns(x, knots)])
        found = maximum_likelihood(design, levels.weight, levels.true, cls.name)
        return cls(knots, found.coefficients)

    def __call__(self, prob: Floats) -> Floats:
        x = logit(prob)
        design = np.column_stack([np.ones(x.size), spline_columns(x.ravel(), self.knots)])
        return logistic(design @ self.coefficients).reshape(x.shape)

    def _checked(self) -> Self:
        if len(self.knots) < 3 or len(self.coefficients) != len(self.knots) or (np.diff(self.knots) <= 0).any():
            raise InputError(
                "a spline map must have three growing knots or more, and as many coefficients", field="knots"
            )
        return self


@dataclass(frozen=True, eq=False)
class VennAbers(CurveMap):
    """Isotonic regression with the new row in it, once as 0 and once as 1 (Vovk, Petej and Fedorova 2015).

    `low` and `high` are the two answers, q = high/(1 - low + high) is between them and never 0 or 1. Rows are told apart
    by the nearest of at most 256 levels, which is what keeps the file small.
    """

    edges: Floats
    low: Floats
    high: Floats

    name: ClassVar[str] = "venn_abers"
    formula: ClassVar[str] = "q = high[k]/(1 - low[k] + high[k]), where k is the number of edges that are <= p"

    @classmethod
    def fit(cls, rows: Binary) -> Self:
        levels = levels_of(rows)
        if len(levels.prob) > GROUPS:
            edges = np.unique(group_edges(levels.prob, as_copies(levels.weight, rows.n_rows), GROUPS))
        else:
            edges = (levels.prob[1:] + levels.prob[:-1]) / 2
        size, true = _grouped(levels, edges)
        if not are_whole(size):
            scale = rows.n_rows / size.sum()
            size, true = size * scale, true * scale
        low, high = (_with_one_more(size, true, outcome) for outcome in (0.0, 1.0))
        return cls(edges, low, high)

    def __call__(self, prob: Floats) -> Floats:
        place = np.searchsorted(self.edges, np.asarray(prob, np.float64), side="right")
        return np.asarray((self.high / (1 - self.low + self.high))[place])

    def _checked(self) -> Self:
        right = self.edges.ndim == 1 and len(self.low) == len(self.high) == len(self.edges) + 1
        if not right or (np.diff(self.edges) <= 0).any() or (self.low > self.high).any():
            raise InputError("a Venn-Abers map must have growing edges, and low <= high between them", field="edges")
        _within(self.name, self.low, self.high)
        return self


def levels_of(rows: View) -> Levels:
    """The distinct confidences of a view, with the weight that came true at each."""
    recipe = Ordered()
    return filled(recipe.finish(recipe.summarise(rows.event)))


def _grouped(levels: Levels, edges: Floats) -> tuple[Floats, Floats]:
    """Weight, and weight that came true, between the edges; no group is empty."""
    starts = np.searchsorted(levels.prob, edges, side="left")
    starts = np.concatenate([[0], starts]).astype(np.intp)
    return np.add.reduceat(levels.weight, starts), np.add.reduceat(levels.true, starts)


def _with_one_more(size: Floats, true: Floats, outcome: float) -> Floats:
    """The isotonic fit at each level when one more row of that outcome stands there.

    It is the largest, over where the block begins, of the smallest, over where it ends, of the mean in between.
    """
    weight = np.concatenate([[0.0], np.cumsum(size)])
    came = np.concatenate([[0.0], np.cumsum(true)])
    made = np.empty(len(size))
    for place in range(len(size)):
        begin, end = slice(0, place + 1), slice(place + 1, len(size) + 1)
        mean = (came[end] - came[begin, None] + outcome) / (weight[end] - weight[begin, None] + 1)
        made[place] = mean.min(axis=1).max()
    return np.clip(made, 0.0, 1.0)


def _within(name: str, *columns: Floats) -> None:
    if any(((values < 0) | (values > 1)).any() for values in columns):
        raise InputError(f"a {name} map must map into [0, 1]", field="q")


CURVES: tuple[type[CurveMap], ...] = (Identity, Temperature, Platt, Beta, Isotonic, Histogram, Spline, VennAbers)
