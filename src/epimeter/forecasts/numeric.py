# SPDX-License-Identifier: Apache-2.0
"""Forecasts of a number: a normal law, quantiles, the members of an ensemble, an interval."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from epimeter.errors import UndefinedMetricError
from epimeter.forecasts.row import Floats, Forecast

NEAR = 1e-9
"""Levels that differ by less than this are one level: 1 - 0.95 is not 0.05 in doubles."""

HISTOGRAM = 10
"""Classes of the histogram of a continuous law."""


@dataclass(frozen=True)
class Normal(Forecast):
    """A mean and a deviation a row."""

    mean: Floats = field(default_factory=lambda: np.empty(0))
    std: Floats = field(default_factory=lambda: np.empty(0))
    kind = "normal"

    def quantile(self, level: float) -> Floats:
        from epimeter.special import ndtri

        return np.asarray(self.mean + float(ndtri(level)) * self.std)

    def interval(self, level: float) -> tuple[Floats, Floats]:
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def moments(self) -> tuple[Floats, Floats]:
        return self.mean, self.std**2

    def standard(self) -> Floats:
        return np.asarray((self.true - self.mean) / self.std)

    def transform(self) -> Floats:
        """The probability integral transform: how likely the forecast thought a smaller truth."""
        from epimeter.special import ndtr

        return np.asarray(ndtr(self.standard()))

    def ranks(self) -> tuple[Floats, Floats, Floats]:
        place = np.minimum(np.floor(self.transform() * HISTOGRAM), HISTOGRAM - 1)
        return np.arange(HISTOGRAM + 1) / HISTOGRAM, place, place


@dataclass(frozen=True)
class Quantiles(Forecast):
    """One column a level, levels and values ascending."""

    levels: Floats = field(default_factory=lambda: np.empty(0))
    values: Floats = field(default_factory=lambda: np.empty((0, 0)))
    kind = "quantiles"
    shared = ("levels",)

    @property
    def stated_levels(self) -> Floats:
        return self.levels

    def quantile(self, level: float) -> Floats:
        place = int(np.argmin(np.abs(self.levels - level)))
        if abs(self.levels[place] - level) > NEAR:
            known = ", ".join(f"{each:g}" for each in self.levels)
            raise UndefinedMetricError(f"no quantile of level {level:g} is stated; those stated are {known}")
        return np.asarray(self.values[:, place])

    def interval(self, level: float) -> tuple[Floats, Floats]:
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def ranks(self) -> tuple[Floats, Floats, Floats]:
        return np.concatenate([[0.0], self.levels, [1.0]]), *_places(self.values, self.true)


@dataclass(frozen=True)
class Ensemble(Forecast):
    """The members of each row, ascending: their order says nothing."""

    members: Floats = field(default_factory=lambda: np.empty((0, 0)))
    kind = "ensemble"

    @property
    def size(self) -> int:
        """Members a row."""
        return int(self.members.shape[1])

    def quantile(self, level: float) -> Floats:
        # Linear between the ordered members (type 7 of Hyndman and Fan), as numpy and R do.
        place = level * (self.size - 1)
        low = int(np.floor(place))
        high = min(low + 1, self.size - 1)
        share = place - low
        return np.asarray(self.members[:, low] * (1 - share) + self.members[:, high] * share)

    def interval(self, level: float) -> tuple[Floats, Floats]:
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    def moments(self) -> tuple[Floats, Floats]:
        if self.size < 2:
            raise UndefinedMetricError("the variance of an ensemble needs at least 2 members a row; got 1")
        mean = self.members.mean(axis=1)
        return mean, np.asarray(((self.members - mean[:, None]) ** 2).sum(axis=1) / (self.size - 1))

    def ranks(self) -> tuple[Floats, Floats, Floats]:
        return np.arange(self.size + 2) / (self.size + 1), *_places(self.members, self.true)


@dataclass(frozen=True)
class Intervals(Forecast):
    """A lower and an upper end a row; infinite ends are allowed."""

    lower: Floats = field(default_factory=lambda: np.empty(0))
    upper: Floats = field(default_factory=lambda: np.empty(0))
    kind = "interval"

    def interval(self, level: float) -> tuple[Floats, Floats]:
        return self.lower, self.upper


def _places(ordered: Floats, true: Floats) -> tuple[Floats, Floats]:
    """How many of the ordered numbers lie below the truth, and how many not above it."""
    return (ordered < true[:, None]).sum(axis=1).astype(float), (ordered <= true[:, None]).sum(axis=1).astype(float)
