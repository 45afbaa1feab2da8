# SPDX-License-Identifier: Apache-2.0
"""What several recipes ask of the same rows, computed once: the pass holds it while it looks at those rows, and no longer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.summaries import paired
from epimeter.summaries.paired import Paired
from epimeter.views import Reading, View

Floats = NDArray[np.float64]


class RowScores:
    """Scores and weights of the rows of one view."""

    def __init__(self) -> None:
        self._scores: dict[Any, Floats] = {}
        self._weight: dict[int, tuple[Floats, Paired]] = {}

    def of(self, view: View, score: Callable[..., Floats], how: Reading, bound: tuple[tuple[str, Any], ...]) -> Floats:
        """The score of every row; `view` is read as `how` says."""
        key = score, how, bound
        if key not in self._scores:
            self._scores[key] = np.asarray(score(view, **dict(bound)), np.float64)
        return self._scores[key]

    def weight(self, weight: Floats, power: int = 1) -> tuple[Floats, Paired]:
        """The weights of all rows raised to a power, and their total."""
        if power not in self._weight:
            raised = weight if power == 1 else weight**power
            self._weight[power] = raised, weight_total(raised)
        return self._weight[power]


def weight_total(weight: Floats) -> Paired:
    """The sum of weights."""
    return paired.binned(np.ones(len(weight)), weight, None, 1)[0]
