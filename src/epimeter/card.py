# SPDX-License-Identifier: Apache-2.0
"""The card of a metric: all that is known about it besides how it is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from epimeter.forecasts.row import ForecastKind
from epimeter.summaries.recipe import Order
from epimeter.uncertainty import CellBound, KnownInterval

Family = Literal[
    "point",
    "bin",
    "kernel",
    "curve",
    "cumulative",
    "selective",
    "detection",
    "distribution",
    "test",
    "recalibration",
    "standard",
]
Direction = Literal["lower", "higher", "signed", "none"]


@dataclass(frozen=True)
class Card:
    """All that is known about a metric besides how it is computed."""

    name: str
    title: str
    family: Family
    equation: str
    """The definition, in LaTeX."""
    source: str
    """Where it is published, equation numbers included."""
    range: tuple[float | None, float | None] = (None, None)
    """Least and greatest value with default parameters; None is unbounded."""
    ideal: float | None = None
    """The value of a perfectly calibrated model; None when calibration alone does not fix it."""
    aims_at: str = ""
    """The parameter whose value is the ideal, where it depends on one."""
    direction: Direction = "lower"
    where: Mapping[str, str] = field(default_factory=dict)
    """The symbols of the equation."""
    pitfalls: str = ""
    """Where it misleads, and where we differ from print or from peers."""
    simulated: str = ""
    """Where simulations found its test off its level, or its interval off its coverage, with the figures."""
    aliases: tuple[str, ...] = ()
    """Other names in print and in other packages; `find` knows them."""
    needs: tuple[str, ...] = ()
    """Columns it cannot do without, besides y_true and y_prob: `features`, `groups`."""
    takes: tuple[str, ...] = ()
    """Further columns it can use."""
    forecasts: tuple[ForecastKind, ...] = ()
    """The kinds of forecast it reads, where those are of a number or a set; none: probabilities."""
    order: Order = "free"
    weighted: bool = True
    """Whether it takes sample weights."""
    copies: bool = True
    """Whether an integer weight counts as that many equal rows; not so where a variance goes with its square."""
    labels: Literal["needed", "ignored"] = "needed"
    matrix: str = "reduced to its top label"
    """What an (N, K) matrix means to it."""
    proper: Literal["strictly", "yes", "no", "unknown"] = "no"
    test: Literal["asymptotic", "exact", "resampling"] | None = None
    """How calibration is tested with it: by its own law, or by drawing (`consistency_test`); None: no test is published."""
    interval: KnownInterval | None = None
    """The interval it has without drawing rows again, beside the one that a mean of scores always has."""
    redrawn: bool = True
    """Whether drawing rows again makes an interval; not so for debiased squares: it would only add back the bias."""
    headline_is: str = ""
    """What its headline is, where that is no property of the population and no interval can be for it: "a p-value"."""
    bound: CellBound | None = None
    """How it is read off the cells of a fine histogram, with a bound on the error, where it needs the rows."""
    cost: Literal["linear", "quadratic"] = "linear"
    """How the time grows with the rows, logarithms aside."""
    nanoseconds: float = 2_000.0
    """What a row takes, or a pair of rows where the cost is quadratic, on one ordinary core: measured, and rounded up."""
    two_classes: float | None = None
    """What a row of two classes takes, where only more classes need all pairs."""

    def seconds(self, n_rows: int, *, n_classes: int = 2) -> float:
        """About how long so many rows take."""
        each, power = self._growth(n_classes)
        return 1e-9 * each * float(n_rows) ** power

    def rows_within(self, seconds: float, *, n_classes: int = 2) -> int:
        """About how many rows can be had in a time."""
        each, power = self._growth(n_classes)
        return int((1e9 * seconds / each) ** (1 / power))

    def _growth(self, n_classes: int) -> tuple[float, int]:
        if self.two_classes is not None and n_classes <= 2:
            return self.two_classes, 1
        return self.nanoseconds, 2 if self.cost == "quadratic" else 1
