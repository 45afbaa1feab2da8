# SPDX-License-Identifier: Apache-2.0
"""Rows that the loops of the scores hand back, because they would add a tiny number to a finer sum.

They are next to 0, to a half or to 1, and rare; they go through the score itself, a bundle at a time.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from epimeter.views import Binary

if TYPE_CHECKING:
    from epimeter.summaries.means import MeanOf

BUNDLE = 1 << 16
"""Rows that wait until they are summarised: memory does not grow with them."""


class UnusualRows:
    """The unusual rows of one slice."""

    def __init__(self) -> None:
        self.waiting: list[tuple[NDArray[Any], NDArray[Any]]] = []
        self.rows = 0
        self.done: dict[Any, Any] = {}

    def add(self, true: NDArray[Any], prob: NDArray[Any], recipes: Iterable[MeanOf]) -> None:
        """Add rows; many that wait are summarised for all the recipes."""
        self.waiting.append((true, prob))
        self.rows += len(prob)
        if self.rows >= BUNDLE:
            self.done = {
                recipe: reduce(lambda left, right: left.merge(right), self.summaries(recipe)) for recipe in recipes
            }
            self.waiting, self.rows = [], 0

    def absorb(self, other: UnusualRows) -> None:
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
            made.append(recipe.by_score(Binary(true, prob)))
        return made
