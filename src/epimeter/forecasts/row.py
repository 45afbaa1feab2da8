# SPDX-License-Identifier: Apache-2.0
"""What every kind of forecast has: what came true, how much a row counts, and which questions it can answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from epimeter.checks import refuse
from epimeter.errors import UndefinedMetricError

Floats = NDArray[np.float64]
ForecastKind = Literal["normal", "quantiles", "ensemble", "interval", "set", "state", "count"]
KINDS: tuple[ForecastKind, ...] = get_args(ForecastKind)

WORDING: Mapping[str, str] = {
    "normal": "each row states a mean and a standard deviation",
    "quantiles": "each row states quantiles",
    "ensemble": "each row states the members of an ensemble",
    "interval": "each row states an interval",
    "set": "each row states a set of labels",
    "state": "each row states the means and the covariance of several numbers",
    "count": "each row states the expected count",
}
"""The kinds as a report says them."""


LARGEST = 1e75
"""The largest number that is forecast, and the smallest deviation its inverse: squares of their ratio are numbers then."""


def refuse_huge(values: Floats, name: str) -> None:
    """Refuse finite numbers whose squares, in units of a small deviation, leave the doubles."""
    with np.errstate(invalid="ignore"):
        huge = np.isfinite(values) & (np.abs(values) > LARGEST)
    refuse(huge, values, name, f"must be at most {LARGEST:g} in size")


@dataclass(frozen=True)
class Forecast(ABC):
    """Validated rows; subclasses add what was stated."""

    true: NDArray[Any]
    weight: Floats | None = None
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    kind: ClassVar[ForecastKind]
    shared: ClassVar[tuple[str, ...]] = ()
    """Fields that hold for all rows together."""

    @property
    def n_rows(self) -> int:
        return len(self.true)

    @property
    def total_weight(self) -> float:
        """Sum of the weights; the number of rows when there are none."""
        return float(self.n_rows) if self.weight is None else float(np.sum(self.weight))

    def read_as(self, reading: str) -> Self:
        """The same rows: a forecast of a number has one reading."""
        return self

    @property
    def tied(self) -> bool:
        """No metric of forecasts depends on the order of equal rows."""
        return False

    def take(self, rows: Any) -> Self:
        """The forecast of some rows: a slice, an array of indices, or one of flags."""
        own = [f.name for f in fields(self) if f.name not in ("weight", "columns", *self.shared)]
        return replace(
            self,
            weight=None if self.weight is None else self.weight[rows],
            columns={name: column[rows] for name, column in self.columns.items()},
            **{name: getattr(self, name)[rows] for name in own},
        )

    def merged(self, other: Self) -> Self:
        """The rows of both, these first."""
        own = [f.name for f in fields(self) if f.name not in ("weight", "columns", *self.shared)]
        both = [None if f.weight is None else f.weight for f in (self, other)]
        return replace(
            self,
            weight=None if both[0] is None or both[1] is None else np.concatenate([both[0], both[1]]),
            columns={name: np.concatenate([column, other.columns[name]]) for name, column in self.columns.items()},
            **{name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in own},
        )

    def chunks(self, size: int) -> Iterator[Self]:
        """The rows in slices of at most `size`, without copying them."""
        for start in range(0, self.n_rows, size):
            yield self.take(slice(start, start + size))

    @abstractmethod
    def interval(self, level: float) -> tuple[Floats, Floats]:
        """Both ends of the central interval of that level."""

    def quantile(self, level: float) -> Floats:
        """The quantile of that level of every row."""
        raise self.silent("quantiles")

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and variance of every row."""
        raise self.silent("a mean and a variance")

    @property
    def dimension(self) -> int:
        """How many numbers a row forecasts."""
        return 1

    def squares(self) -> Floats:
        """Squared error in units of the stated variance; infinite where that is 0 and the truth is missed."""
        mean, variance = self.moments()
        with np.errstate(divide="ignore", invalid="ignore"):
            square = (self.true - mean) ** 2 / variance
        return np.asarray(np.where(variance > 0, square, np.where(self.true == mean, 0.0, np.inf)))

    def log_determinant(self) -> Floats:
        """Logarithm of the stated variance."""
        variance = self.moments()[1]
        return np.asarray(np.where(variance > 0, np.log(np.where(variance > 0, variance, 1.0)), -np.inf))

    def standard(self) -> Floats:
        """(truth - mean) / deviation of every row."""
        mean, variance = self.moments()
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((self.true - mean) / np.sqrt(variance))

    def ranks(self) -> tuple[Floats, Floats, Floats]:
        """Edges of the classes that a rank histogram has, and the first and last class that the truth of each row may fall in.

        Where the truth equals what was stated, it lies between: the row is shared out evenly among these classes.
        """
        raise self.silent("ranks")

    @property
    def stated_levels(self) -> Floats:
        """The levels at which quantiles are read unless a caller says others."""
        return np.arange(1, 20) / 20

    def silent(self, what: str) -> UndefinedMetricError:
        """The refusal of a question that this kind cannot answer."""
        return UndefinedMetricError(f"{what} cannot be read off these forecasts: {WORDING[self.kind]}")
