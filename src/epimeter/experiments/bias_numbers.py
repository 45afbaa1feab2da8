# SPDX-License-Identifier: Apache-2.0
"""The bias study of forecasts of a number: normal laws whose true mean and deviation are known."""

from __future__ import annotations

import math
import time
from functools import cache
from typing import Any

import numpy as np

from epimeter.calling import Metric
from epimeter.card_index import catalogue
from epimeter.errors import EpimeterError, UndefinedMetricError
from epimeter.inference import interval
from epimeter.results import Result
from epimeter.simulate.gaussian import GaussianSample, GaussianTruth
from epimeter.summaries.exact import RowMeans

STEPS = 20_001
"""Points of the truth's standard score at which expectations are added up."""
DEVIATIONS = 5
"""Stated deviations among them: enough for scores that are smooth in them (15 change nothing in nine digits)."""


def measures() -> dict[str, Metric[Any]]:
    """Every metric that takes nothing but a mean, a deviation and what came."""
    return {
        name: metric
        for name, metric in catalogue().items()
        if "normal" in metric.card.forecasts and not metric.card.needs
    }


def noted(kept: dict[str, Any], metric: Metric[Any], rows: GaussianSample, alpha: float) -> None:
    """Add one sample to what is kept of a metric."""
    begun = time.process_time()
    try:
        answer = metric(rows.y_true, mean=rows.mean, std=rows.deviation)
        value = float(answer.headline if isinstance(answer, Result) else answer)
    except EpimeterError:
        kept["undefined"] += 1
        return
    kept["seconds"] += time.process_time() - begun
    kept["values"].append(value)
    p_value = getattr(answer, "p_value", None)
    if p_value is not None and math.isfinite(p_value):
        kept["tests"] += 1
        kept["refuted"] += bool(p_value <= alpha)


def noted_interval(kept: dict[str, Any], metric: Metric[Any], rows: GaussianSample, true: float, level: float) -> None:
    """Count whether the interval of a mean holds what the metric tends to; others would have to be drawn."""
    try:
        found = interval(metric, rows.y_true, mean=rows.mean, std=rows.deviation, level=level, method="asymptotic")
    except UndefinedMetricError:
        return
    kept["intervals"] += 1
    kept["held"] += bool(found.low - 1e-12 <= true <= found.high + 1e-12)


@cache
def limit(law: GaussianTruth, metric: Metric[Any]) -> float | None:
    """What the metric tends to: a mean over rows is added up over the law of the rows; None where it is no mean."""
    if metric.name == "nees_test":
        return law.nees()
    if not isinstance(metric.reads, RowMeans):
        return None
    score = np.linspace(-9, 9, STEPS)
    place, weight = np.polynomial.hermite_e.hermegauss(DEVIATIONS)
    deviation = law.deviation * np.exp(law.spread * place)
    error = deviation[:, None] * (law.bias + law.ratio * score)
    weights = weight[:, None] * np.exp(-(score**2) / 2)
    stated = np.repeat(deviation, STEPS)
    return float(metric(error.ravel(), mean=np.zeros(error.size), std=stated, sample_weight=weights.ravel()))


def true_error(law: GaussianTruth) -> float:
    """The area between the shares of truths at or below the stated quantiles and their levels."""
    levels = (np.arange(2_000) + 0.5) / 2_000
    return float(np.mean([abs(law.pit(float(level)) - level) for level in levels]))
