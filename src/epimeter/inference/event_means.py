# SPDX-License-Identifier: Apache-2.0
"""Intervals of means over events that are read off a summary: of the residual, off bins; of a score, off levels."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from epimeter.inference.spread import SamplingDesign, student
from epimeter.summaries.bins import BinTotals
from epimeter.summaries.rows import STRETCH, Levels, OrderedRows, square_sums
from epimeter.views import View

Floats = NDArray[np.float64]


def level_ends(
    rows: OrderedRows, view: View | None, brier: bool, design: SamplingDesign, level: float
) -> tuple[float, float] | None:
    """Mean score of an event: Student's interval of the mean, from what each level scores where it came true and where not."""
    if not brier:
        first, second, total = _log_sums(rows.levels)
    elif rows.weight is None and rows.distinct:
        first, second, total = square_sums(rows.prob, None, rows.outcome)
    else:
        first, second, total = square_sums(rows.levels.prob, rows.levels.weight, rows.levels.true)
    mean = first / total
    if not math.isfinite(mean):
        return None
    variance = max(0.0, second / total - mean**2)
    inflation = 1.0
    if design.group is not None:
        if view is None:
            return None
        true = view.event.true.astype(np.float64)
        hit, miss = _event_scores(view.event.prob.astype(np.float64), true, 1 - true, brier)
        inflation = design.inflation(true * hit + (1 - true) * miss - mean)
    error = math.sqrt(variance * inflation / max(1.0, design.effective - 1))
    reach = student(design.units, level) * error
    return mean - reach, mean + reach


def _log_sums(levels: Levels) -> tuple[float, float, float]:
    """The same of the logarithmic score."""
    first = second = 0.0
    for start in range(0, len(levels.prob), STRETCH):
        some = slice(start, start + STRETCH)
        true, false = levels.true[some], levels.weight[some] - levels.true[some]
        hit, miss = _event_scores(levels.prob[some], true, false, brier=False)
        first += float(np.sum(true * hit + false * miss))
        second += float(np.sum(true * hit**2 + false * miss**2))
    return first, second, float(levels.weight.sum())


def _event_scores(prob: Floats, true: Floats, false: Floats, brier: bool) -> tuple[Floats, Floats]:
    """What a probability scores where the event came true, and where not; 0 where neither happened."""
    if brier:
        return (1 - prob) ** 2, prob**2
    with np.errstate(divide="ignore"):
        return np.where(true > 0, -np.log(prob), 0.0), np.where(false > 0, -np.log1p(-prob), 0.0)


def residual_ends(bins: BinTotals, view: View | None, design: SamplingDesign, level: float) -> tuple[float, float]:
    """Mean of y - c; its variance from the bins, with what confidences vary inside a bin left out."""
    value = float((bins.true - bins.prob).sum().floats() / bins.n)  # type: ignore[operator]
    square = float(np.sum(bins.share * (bins.frequency * (1 - bins.frequency) + bins.gap**2)))
    inflation = 1.0
    if design.group is not None and view is not None:
        inflation = design.inflation(view.event.true - view.event.prob.astype(np.float64) - value)
    error = math.sqrt(max(square - value**2, 0.0) * inflation / design.effective)
    reach = student(design.units, level) * error
    return value - reach, value + reach
