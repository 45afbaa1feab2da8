# SPDX-License-Identifier: Apache-2.0
"""The mean of a score over the rows, from an exact sum."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import MergeError
from epimeter.summaries import fixed, paired
from epimeter.summaries.atoms import Atoms, halves, whole
from epimeter.summaries.fixed import Fixed
from epimeter.summaries.paired import Paired
from epimeter.summaries.recipe import Loop, Recipe
from epimeter.summaries.row_scores import RowScores
from epimeter.summaries.row_totals import summary_of
from epimeter.views import Binary, Reading, View

if TYPE_CHECKING:
    from epimeter.summaries.weighed_rows import WeighedTotals

Floats = NDArray[np.float64]
Score = Callable[..., Floats]

LARGE = 2.0**30
"""Scores from here on are added one by one, exactly: they occur only where a score diverges (1/c at tiny c)."""


@dataclass(frozen=True)
class Mean:
    """Weight and total of a score; infinite scores are counted, not added."""

    weight: Fixed | Paired
    total: Fixed | Paired
    large: int
    """Total of the scores from LARGE on, in units of 2^-22: a double of that size is a whole number of them."""
    plus: int
    """Rows whose score is +inf."""
    minus: int
    """Rows whose score is -inf."""
    n_rows: int
    n_classes: int

    def merge(self, other: Mean) -> Mean:
        if self.n_classes != other.n_classes:
            raise MergeError(f"cannot merge means over {self.n_classes} and over {other.n_classes} classes")
        if type(self.weight) is not type(other.weight):
            raise MergeError("cannot merge weighted and unweighted means; give both weights, or neither")
        return Mean(
            self.weight + other.weight,  # type: ignore[operator]
            self.total + other.total,  # type: ignore[operator]
            self.large + other.large,
            self.plus + other.plus,
            self.minus + other.minus,
            self.n_rows + other.n_rows,
            self.n_classes,
        )

    @property
    def value(self) -> float:
        """The mean; +inf outweighs -inf, as one impossible outcome outweighs any certainty."""
        if self.plus:
            return math.inf
        if self.minus:
            return -math.inf
        weight = float(self.weight.floats())
        if not self.large:
            return float(self.total.floats()) / weight
        try:
            return float(Fraction(self.large, 1 << 22) / Fraction(weight)) + float(self.total.floats()) / weight
        except OverflowError:  # the mean itself is beyond the largest double
            return math.inf if self.large > 0 else -math.inf


@dataclass(frozen=True)
class MeanOf(Recipe):
    """The mean over the rows of a score: a function of a view that gives one number a row.

    The score's keyword parameters are parameters of the recipe.
    """

    score: Score
    how: Reading = "given"
    bound: tuple[tuple[str, Any], ...] = ()
    streams = True

    @property
    def reading(self) -> Reading:  # type: ignore[override]
        return self.how

    def choices(self) -> dict[str, Any]:
        return _keywords(self.score) | dict(self.bound)

    def choosing(self, **choices: Any) -> Self:
        settled = {name: _hashable(value) for name, value in (dict(self.bound) | choices).items()}
        return replace(self, bound=tuple(sorted(settled.items())))

    def atoms(self, view: View) -> Atoms | None:
        if view.weight is not None:
            return None
        scores = np.asarray(self.score(view, **dict(self.bound)), np.float64)
        finite = np.where(np.isinf(scores), 0.0, scores)
        if not (np.abs(finite) < LARGE).all():  # huge scores are not sums of small whole numbers
            return None
        units, steps = fixed.split(finite)
        high, low = halves(steps)

        def assemble(totals: NDArray[np.int64]) -> Mean:
            count, whole_units, highs, lows, plus, minus = totals[0]
            total = whole(highs, lows) + Fixed.of_counts(np.asarray(whole_units))
            weight = Fixed.of_counts(np.asarray(count))
            return Mean(weight, total, 0, int(plus), int(minus), int(count), view.n_classes)

        infinite = [scores == math.inf, scores == -math.inf]
        return Atoms.of(None, 1, [np.ones_like(high), units, high, low, *infinite], assemble, (2,))

    @property
    def loop(self) -> Loop | None:
        if not self.loop_columns or self.bound or self.how == "classes":
            return None
        return Loop("scores", columns=self.loop_columns)

    def from_columns(self, columns: NDArray[np.int64], n_rows: int) -> Mean:
        """The summary from the sums of its columns: units and steps, then those of what the steps leave."""
        total = Fixed(columns[0, 0, ...], columns[0, 1, ...])
        return Mean(Fixed.of_counts(np.asarray(n_rows)), total, 0, 0, 0, n_rows, 2)

    def from_weighed(self, totals: WeighedTotals) -> Mean:
        mass, total = totals.at([0]), totals.of(self.loop_columns)
        return Mean(mass[0, ...], total[0, ...], 0, 0, 0, totals.n_rows, 2)

    @property
    def loop_columns(self) -> tuple[str, ...]:
        """The columns of the core that its score is made of."""
        return getattr(self.score, "core_columns", ())

    def summarise(self, view: View) -> Mean:
        return self.summarise_beside(view, RowScores())

    def summarise_beside(self, view: View, scores: RowScores) -> Mean:
        if view.weight is None and isinstance(view, Binary) and self.loop is not None:
            made: Mean = summary_of(self, view)
            return made
        return self._added(view, scores)

    def by_score(self, view: View) -> Mean:
        """The summary from the score of every row."""
        return self._added(view, RowScores())

    def _added(self, view: View, known: RowScores) -> Mean:
        scores = known.of(view, self.score, self.how, self.bound)
        weight = view.weight
        if (
            weight is not None and not weight.all()
        ):  # a row of weight zero is ignored, even when its own score is infinite
            scores, weight = scores[weight > 0], weight[weight > 0]
        plus, minus, huge, plain = 0, 0, np.empty(0), scores
        if not (scores.max(initial=0.0) < LARGE and scores.min(initial=0.0) > -LARGE):
            infinite, large = np.isinf(scores), np.abs(scores) >= LARGE
            plus, minus = int((scores == np.inf).sum()), int((scores == -np.inf).sum())
            huge = scores[large & ~infinite] if weight is None else (scores * weight)[large & ~infinite]
            plain = np.where(large, 0.0, scores)
        total: Fixed | Paired
        mass: Fixed | Paired
        if view.weight is None or weight is None:
            mass, total = Fixed.of_counts(np.asarray(len(scores))), fixed.total(plain)
        else:
            units = np.floor(plain)
            mass = known.weight(view.weight)[1]
            total = paired.binned(plain - units, weight, None, 1)[0]
            far = np.flatnonzero(units)
            total = total + Paired(np.asarray(math.fsum((units[far] * weight[far]).tolist())), np.asarray(0.0))
        return Mean(mass, total, _exact(huge), plus, minus, view.n_rows, view.n_classes)


@cache
def _keywords(score: Score) -> dict[str, Any]:
    """The parameters of a score and their defaults."""
    return {
        name: parameter.default
        for name, parameter in inspect.signature(score).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


def _exact(values: Floats) -> int:
    """The exact total of large numbers, in units of 2^-22."""
    total = 0
    for value in values.tolist():
        numerator, denominator = value.as_integer_ratio()
        total += (numerator << 22) // denominator
    return total


def in_core(*columns: str) -> Callable[[Score], Score]:
    """Say which columns of the core's loop (`row_totals`) a score with its default parameters is the sum of."""

    def mark(score: Score) -> Score:
        score.core_columns = columns  # type: ignore[attr-defined]
        return score

    return mark


def _hashable(value: Any) -> Any:
    """A parameter that is an array or list, as a tuple, so that equal recipes are equal."""
    if isinstance(value, np.ndarray):
        return tuple(value.tolist())
    return tuple(value) if isinstance(value, list) else value
