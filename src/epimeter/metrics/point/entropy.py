# SPDX-License-Identifier: Apache-2.0
"""The log loss beside that of the base rate."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import UndefinedMetricError
from epimeter.metrics.point.likelihood import Clip, log_losses
from epimeter.summaries.sums import Sums, SumsOf
from epimeter.uncertainty import SmoothSums
from epimeter.views import View


def losses_and_outcomes(view: View, *, eps: Clip = 0.0) -> NDArray[np.float64]:
    """The log loss and the outcome of each row.

    Parameters
    ----------
    eps
        As in nll.
    """
    return np.stack([log_losses(view, eps=eps), np.asarray(view.true, np.float64)], axis=1)


@metric(
    title="Normalized entropy",
    family="point",
    reads=SumsOf(losses_and_outcomes, "event"),
    range=(0.0, None),
    direction="lower",
    proper="yes",
    equation=r"NE=\frac{NLL}{-\bar y\log\bar y-(1-\bar y)\log(1-\bar y)}",
    where={"NLL": "nll of the event", "ybar": "share of outcome 1, the base rate"},
    source="He et al. 2014 ADKDD, eq 3; beyond the review",
    matrix="reduced to its top label",
    pitfalls="1 is what the base rate itself scores; above 1 the forecast is worse than knowing no more. Undefined where all "
    "outcomes are the same. It is 1 - skill_score with metric=nll.",
    aliases=("normalised_entropy", "normalized_cross_entropy", "ne"),
    interval=SmoothSums(),
)
def normalized_entropy(sums: Sums) -> float:
    """Log loss as a share of the log loss of always saying the base rate."""
    loss, rate = (float(value) for value in sums.mean)
    if not 0 < rate < 1:
        raise UndefinedMetricError("normalized_entropy needs both outcomes; got only one of them")
    return loss / -(rate * math.log(rate) + (1 - rate) * math.log1p(-rate))
