# SPDX-License-Identifier: Apache-2.0
"""Rows that no loop of the scores takes (`loops.odd`): they go through the recipes themselves, a bundle at a time."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.summaries import MeanOf
from epimeter.summaries.recipe import Recipe
from epimeter.views import Binary

BUNDLE = 1 << 16
"""Rows that wait until they are summarised: memory does not grow with them."""
FEW = 1 << 12
"""Rows so few that recipes take no compiled loop."""


class Odd:
    """The odd rows of one slice."""

    def __init__(self) -> None:
        self.waiting: list[tuple[NDArray[Any], NDArray[Any]]] = []
        self.rows = 0
        self.done: dict[Recipe, Any] = {}

    def add(self, true: NDArray[Any], prob: NDArray[Any], recipes: Iterable[MeanOf]) -> None:
        """Add rows; many that wait are summarised for all the recipes."""
        self.waiting.append((true, prob))
        self.rows += len(prob)
        if self.rows >= BUNDLE:
            self.done = {
                recipe: reduce(lambda left, right: left.merge(right), self.summaries(recipe)) for recipe in recipes
            }
            self.waiting, self.rows = [], 0

    def absorb(self, other: Odd) -> None:
        """Add the rows of another."""
        for recipe, summary in other.done.items():
            self.done[recipe] = summary if recipe not in self.done else self.done[recipe].merge(summary)
        self.waiting += other.waiting
        self.rows += other.rows

    def summaries(self, recipe: MeanOf) -> list[Any]:
        """The summaries whose sum is that of the rows."""
        made = [self.done[recipe]] if recipe in self.done else []
        if self.waiting:
            true, prob = (np.concatenate(column) for column in zip(*self.waiting, strict=True))
            made += [recipe.summarise(chunk) for chunk in Binary(true, prob).chunks(FEW)]
        return made
