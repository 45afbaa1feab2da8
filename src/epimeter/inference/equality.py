# SPDX-License-Identifier: Apache-2.0
"""Whether two models have the same value: what chance adds to an error, and how likely a difference is (docs/decisions/0112)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from epimeter.inference.consistency import redrawn
from epimeter.inference.draws import at_least, at_most
from epimeter.inference.statistic import Statistic
from epimeter.summaries.means import MeanOf
from epimeter.views import View

Floats = NDArray[np.float64]
LABELS = 60
"""Draws of labels by which it is seen how large an error is by chance alone: a mean, for which few suffice."""
APART = 1 << 64
"""Added to the seed of these draws: predictions made up with the same small seed would be the numbers that draw their labels."""


def by_chance(given: View, statistics: Sequence[Statistic], draws: int, seed: int, threads: int | None) -> Floats:
    """What each error is on the average where the model is right about every row; 0 for what is no error of calibration."""
    mean, places = np.zeros(len(statistics)), [s for s, statistic in enumerate(statistics) if _is_error(statistic)]
    if places:
        some = [statistics[s] for s in places]
        drawn = redrawn(given, some, min(draws, LABELS), seed + APART, False, threads, undefined=0.0)
        mean[places] = drawn.mean(axis=0)
    return mean


def _is_error(statistic: Statistic) -> bool:
    """Whether it is 0 where a model is calibrated, and above by chance; a mean is not."""
    if statistic.metric is None or isinstance(statistic.recipe, MeanOf):
        return False
    card = statistic.metric.card
    return card.ideal == 0 and card.direction == "lower"


def equal_p(statistic: Statistic, value: float, drawn: Floats, bias: float, units: int) -> float:
    """How likely such a difference is where both have the same value in the population.

    A mean's replicates lie around it as it lies around the truth, so they are counted. An error is larger than the truth by chance,
    by `bias` more in one model than in the other where both are calibrated and by less where they are not: between 0 and
    `bias` a difference says nothing. Beyond, it is measured by the deviation of the replicates; and p is no less than the share of
    them that have the other sign (levels measured: docs/decisions/0112).
    """
    from epimeter.special import stdtr

    if isinstance(statistic.recipe, MeanOf) or not np.isfinite(drawn).all():
        return _bootstrap_p(value, drawn)
    deviation = float(np.std(drawn, ddof=1))
    beyond = max(value - max(bias, 0.0), min(bias, 0.0) - value, 0.0)
    if deviation == 0:
        return 1.0 if beyond == 0 else 1 / (len(drawn) + 1)
    reached = min(int(at_least(drawn, 0.0).sum()), int(at_most(drawn, 0.0).sum()))
    counted = 2 * (1 + reached) / (len(drawn) + 1) if reached else 0.0
    return min(1.0, max(counted, 2 * float(stdtr(max(1, units - 1), -beyond / deviation))))


def _bootstrap_p(value: float, drawn: Floats) -> float:
    """The level at which the basic interval just reaches 0."""
    reached = min(int(at_least(drawn, 2 * value).sum()), int(at_most(drawn, 2 * value).sum()))
    return min(1.0, 2 * (1 + reached) / (len(drawn) + 1))
