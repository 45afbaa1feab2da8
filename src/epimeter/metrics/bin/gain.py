# SPDX-License-Identifier: Apache-2.0
"""What recalibration would gain, in the units of any metric."""

from __future__ import annotations

from typing import Any

import numpy as np

from epimeter.calling import Metric
from epimeter.card_index import find, metric
from epimeter.errors import InputError
from epimeter.results import Result


@metric(
    title="Calibration gain",
    family="bin",
    direction="higher",
    equation=r"gain=m(y,p)-m(y,p')",
    where={"m": "the metric named", "p'": "parameter after"},
    source="Zhang et al. 2020 ICML; Lane 2025 s2.6",
    matrix="as the metric named",
    pitfalls="A gain measured on the rows the recalibration was fitted on is too large. Negative means that the model was "
    "better before.",
)
def calibration_gain(y_true: Any, y_prob: Any, *, after: Any, metric: str = "ece", **parameters: Any) -> float:
    """How much a metric falls when the probabilities are replaced by recalibrated ones.

    Parameters
    ----------
    after
        Probabilities after recalibration, shaped like y_prob.
    metric
        Name of a metric for which lower is better.
    parameters
        Parameters of that metric, sample_weight and further columns included.
    """
    measure = find(metric)
    if measure.card.direction != "lower":
        raise InputError(
            f"metric of calibration_gain must be one where lower is better; got {metric!r}", field="metric"
        )
    shapes = np.shape(y_prob), np.shape(after)
    if shapes[0] != shapes[1]:
        raise InputError(f"after must have the shape of y_prob, {shapes[0]}; got {shapes[1]}", field="after")
    before, then = (value_of(measure, y_true, prob, parameters) for prob in (y_prob, after))
    return before - then


def value_of(measure: Metric[Any], y_true: Any, y_prob: Any, parameters: dict[str, Any]) -> float:
    """The number a metric gives, or the field `value` of its result."""
    answer = measure(y_true, y_prob, **parameters)
    if isinstance(answer, Result):
        # A test has a headline too, but a difference of test statistics is no gain.
        answer = answer.to_dict().get("value")
    if not isinstance(answer, float | int):
        raise InputError(
            f"metric of calibration_gain must give a number or a result with a value; {measure.name} gives neither",
            field="metric",
        )
    return float(answer)
