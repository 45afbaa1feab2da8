# SPDX-License-Identifier: Apache-2.0
"""How much a score varies: sums of its products up to the third order, from the same pass as its mean.

They are integers as the mean is, so an interval has the same bits for any order of the rows, any chunking and any number of
machines, and a report of a billion rows has the intervals of one of a thousand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import MergeError
from epimeter.summaries import fine, paired
from epimeter.summaries.fine import Fine
from epimeter.summaries.means import MeanOf, Score
from epimeter.summaries.paired import Paired
from epimeter.summaries.recipe import Loop, Recipe
from epimeter.summaries.row_scores import RowScores
from epimeter.summaries.row_totals import POWERS, Powers, summary_of
from epimeter.summaries.sums import power_of_two
from epimeter.summaries.weighed_rows import PRODUCTS, WeighedTotals
from epimeter.views import Binary, Reading, View

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LARGE = 2.0**12
"""Scores from here on have cubes that the sums do not hold; no interval is made of them."""


@dataclass(frozen=True)
class ScoreMoments:
    """Sums over the rows of the columns x of a score, of their products in pairs and in threes.

    With weights: sums of w and w^2, of w^2 x and of w^2 x x; no threes.
    """

    n_rows: int
    first: Fine | Paired
    second: Fine | Paired
    third: Fine | None
    weight: Paired | None
    """Sums of w and of w^2."""
    beyond: int
    """Rows whose score is infinite or too large."""

    def merge(self, other: ScoreMoments) -> ScoreMoments:
        if (self.weight is None) != (other.weight is None):
            raise MergeError("cannot merge weighted and unweighted moments; give both weights, or neither")
        return ScoreMoments(
            self.n_rows + other.n_rows,
            self.first + other.first,  # type: ignore[operator]
            self.second + other.second,  # type: ignore[operator]
            None if self.third is None or other.third is None else self.third + other.third,
            None if self.weight is None or other.weight is None else self.weight + other.weight,
            self.beyond + other.beyond,
        )

    @property
    def effective(self) -> float:
        """Rows of weight one that would say as much (Kish)."""
        if self.weight is None:
            return float(self.n_rows)
        weights, squares = self.weight.floats().tolist()
        return float(weights**2 / squares)


@dataclass(frozen=True)
class FinishedMoments:
    """Moments as doubles: `second[j, k]` the sum of x_j x_k, `third[j, k, l]` that of three."""

    moments: ScoreMoments
    second: Floats
    third: Floats | None

    def error(self, means: Floats, slopes: Floats) -> tuple[float, float | None]:
        """Standard error of the combination `slopes` of the means, and its third standardised moment, if known."""
        made, n = self.moments, self.moments.n_rows
        first = made.first.floats()
        if len(slopes) == 1 and slopes[0] == 1.0 and made.weight is None:
            return self._error_of_one(float(means[0]), float(first[0]))
        if made.weight is None:
            mass, size = float(n), 1.0
        else:
            weights, squares = made.weight.floats().tolist()
            mass, size = squares, (weights / n) ** 2
        around = self.second - np.outer(first, means) - np.outer(means, first) + mass * np.outer(means, means)
        total, scale = float(slopes @ around @ slopes), float(np.abs(slopes) @ np.abs(self.second) @ np.abs(slopes))
        if total <= 1e-15 * scale:  # what rounding leaves of rows that all score alike
            return 0.0, None
        error = float(np.sqrt(total / size * n / (n - 1)) / n)
        if self.third is None or made.weight is not None:
            return error, None
        m = float(slopes @ means)
        cubes = float(np.einsum("j,k,l,jkl", slopes, slopes, slopes, self.third))
        pairs, ones = float(slopes @ self.second @ slopes), float(slopes @ first)
        cubed = cubes - 3 * m * pairs + 3 * m * m * ones - n * m**3
        return error, cubed / n / (error * float(np.sqrt(n))) ** 3

    def _error_of_one(self, mean: float, first: float) -> tuple[float, float | None]:
        """The same of one mean, without arrays of one number."""
        n, second = self.moments.n_rows, float(self.second[0, 0])
        total = second - first * mean - mean * first + n * (mean * mean)
        if total <= 1e-15 * abs(second):
            return 0.0, None
        error = math.sqrt(total * n / (n - 1)) / n
        if self.third is None:
            return error, None
        cubed = float(self.third[0, 0, 0]) - 3 * mean * second + 3 * mean * mean * first - n * mean**3
        return error, cubed / n / (error * math.sqrt(n)) ** 3

    @property
    def zero_or_one(self) -> bool:
        """Whether a single score that is never negative was 0 or 1 in every row: then its powers add up to the same."""
        first, second = self.moments.first.floats(), self.second
        return self.third is not None and bool(second[0, 0] == first[0] and self.third[0, 0, 0] == first[0])


@dataclass(frozen=True)
class MomentsOf(Recipe):
    """The moments of a score, beside the recipe of its mean; fields as those of `MeanOf`."""

    score: Score
    how: Reading = "given"
    bound: tuple[tuple[str, Any], ...] = ()
    streams = True

    @classmethod
    def of_recipe(cls, recipe: MeanOf) -> MomentsOf:
        """The moments of the score that a recipe sums."""
        return cls(recipe.score, recipe.how, recipe.bound)

    @property
    def reading(self) -> Reading:  # type: ignore[override]
        return self.how

    def choices(self) -> dict[str, Any]:
        return {}

    @property
    def loop(self) -> Loop | None:
        columns = getattr(self.score, "core_columns", ())
        if columns not in POWERS or self.bound or self.how == "classes":
            return None
        return Loop("powers", columns=columns)

    @property
    def powers(self) -> Powers:
        """Which products are summed, and what they are divided by: the same with a loop and without."""
        columns = getattr(self.score, "core_columns", ())
        return Powers() if self.bound else POWERS.get(columns, Powers())

    def summarise(self, view: View) -> ScoreMoments:
        return self.summarise_beside(view, RowScores())

    def summarise_beside(self, view: View, scores: RowScores) -> ScoreMoments:
        if view.weight is None and isinstance(view, Binary) and self.loop is not None:
            made: ScoreMoments = summary_of(self, view)
            return made
        return self._added(view, scores)

    def by_score(self, view: View) -> ScoreMoments:
        """The moments from the score of every row."""
        return self._added(view, RowScores())

    def _added(self, view: View, known_scores: RowScores) -> ScoreMoments:
        rows = known_scores.of(view, self.score, self.how, self.bound).reshape(view.n_rows, -1)
        weight, beyond = view.weight, 0
        if weight is not None and not weight.all():  # a row without weight says nothing, also at infinity
            rows = np.where(weight[:, None] > 0, rows, 0.0)
        if not (rows.max(initial=0.0) < LARGE and rows.min(initial=0.0) > -LARGE):
            inside = (np.abs(rows) < LARGE).all(axis=1)
            beyond = int(view.n_rows - np.count_nonzero(inside))
            rows, weight = rows[inside], None if weight is None else weight[inside]
            known_scores = RowScores()  # weights of all rows are of no use here
        columns = rows.T
        pairs = [columns[j] * columns[k] for j, k in combinations_with_replacement(range(len(columns)), 2)]
        if weight is not None:
            (_, mass), (squared, square) = known_scores.weight(weight), known_scores.weight(weight, 2)
            both = Paired(np.array([float(mass.floats()), float(square.floats())]), np.zeros(2))
            return ScoreMoments(
                view.n_rows, _paired(list(columns), squared), _paired(pairs, squared), None, both, beyond
            )
        known = self.powers
        pairs = [pair / scale for pair, scale in zip(pairs, np.broadcast_to(known.two, len(pairs)), strict=True)]
        if not known.threes:
            return ScoreMoments(view.n_rows, _fine(list(columns)), _fine(pairs), None, None, beyond)
        triples = [
            columns[j] * (columns[k] * columns[m]) for j, k, m in combinations_with_replacement(range(len(columns)), 3)
        ]
        triples = [
            triple / scale for triple, scale in zip(triples, np.broadcast_to(known.three, len(triples)), strict=True)
        ]
        return ScoreMoments(view.n_rows, _fine(list(columns)), _fine(pairs), _fine(triples), None, beyond)

    def from_powers(self, first: Integers, second: Integers, third: Integers | None, n_rows: int) -> ScoreMoments:
        """The moments from the sums of the core."""
        made = fine.of_tables([first, second] if third is None else [first, second, third])
        return ScoreMoments(n_rows, made[0], made[1], made[2] if third is not None else None, None, 0)

    def from_weighed(self, totals: WeighedTotals) -> ScoreMoments:
        names = getattr(self.score, "core_columns", ())
        places, sizes = zip(*PRODUCTS[names], strict=True)
        second = totals.at(list(places), np.array(sizes))
        return ScoreMoments(totals.n_rows, totals.of(names, squared=True), second, None, totals.at([0, 1]), 0)

    def finish(self, summary: ScoreMoments) -> FinishedMoments:
        size = len(np.atleast_1d(summary.first.floats()))
        known = self.powers if summary.weight is None else Powers()
        second = (summary.second.floats() * np.array(known.two))[_places(size, 2)]
        if summary.third is None:
            return FinishedMoments(summary, second, None)
        third = (summary.third.floats() * np.array(known.three))[_places(size, 3)]
        return FinishedMoments(summary, second, third)


@cache
def _places(size: int, order: int) -> NDArray[np.intp]:
    """Where among the products of columns, each kept once, the product of any of them stands."""
    known = {columns: place for place, columns in enumerate(combinations_with_replacement(range(size), order))}
    found = np.empty((size,) * order, np.intp)
    for columns in np.ndindex(found.shape):
        found[columns] = known[tuple(sorted(columns))]
    found.flags.writeable = False
    return found


def _fine(columns: list[Floats]) -> Fine:
    """Sums of columns."""
    cell = np.zeros(len(columns[0]), np.intp)
    parts = [fine.binned(column, cell, 1) for column in columns]
    tables = [[p.coarse.units[0], p.coarse.steps[0], p.rest.units[0], p.rest.steps[0]] for p in parts]
    return fine.of_tables([np.array(tables, np.int64)])[0]


def _paired(columns: list[Floats], weight: Floats) -> Paired:
    made = []
    for column in columns:
        size = power_of_two(column)
        total = paired.binned(column / size, weight, None, 1)
        made.append((total.high[0] * size, total.low[0] * size))
    return Paired(np.array([high for high, _ in made]), np.array([low for _, low in made]))
