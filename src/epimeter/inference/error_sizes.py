# SPDX-License-Identifier: Apache-2.0
"""Errors that cannot be negative, as the size of a noisy vector: a norm of the gaps of bins, the extent of a walk."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.calling import Metric
from epimeter.inference.inversion import BinnedError, WalkError
from epimeter.inference.spread import SamplingDesign
from epimeter.metrics.bin.sweep import Searched
from epimeter.metrics.cumulative.walk import event as walk_event
from epimeter.metrics.cumulative.walk import steps_of
from epimeter.summaries.bins import BinTotals
from epimeter.summaries.rows import OrderedRows
from epimeter.uncertainty import GapNorm, WalkExtent
from epimeter.views import Binary, View

Floats = NDArray[np.float64]

CLASSES_TOGETHER = 2.0
"""How many times larger the variance of the gaps of all classes, added up, can be than if the classes were independent.

With the signs of the gaps, the part of the classes that err to one side has the chance P, and the variance 4 P (1 - P); that of
independent classes is 1 - sum p_k^2, which is never less than 2 P (1 - P). Two classes reach the bound: they mirror each other.
"""


def error_of(
    metric: Metric[Any], finished: Any, view: View | None, choices: Mapping[str, Any], design: SamplingDesign
) -> BinnedError | WalkError | None:
    """A metric as the size of a noisy vector, where it is one: a norm of gaps, or the extent of a walk."""
    fact = metric.card.interval
    if isinstance(fact, WalkExtent):
        return _walk(metric.name, fact.span, finished, choices, design)
    if not isinstance(fact, GapNorm) or not fact.holds(choices):
        return None
    norm = fact.norm
    if isinstance(norm, str):
        norm = float(choices.get(norm, metric.parameters[norm].default))
    classes = _classes_of(finished)
    if not classes or (len(classes) > 1 and math.isinf(norm)):
        return None
    size, gap, frequency = (np.concatenate([c[i] for c in classes]) for i in range(3))
    rows = design.effective / (_repeats if len(classes) == 1 else _repeats_of_classes)(view, finished, design)
    if rows < 2:
        return None
    share = size / size.sum()
    if len(classes) == 1:
        return BinnedError(share, gap, frequency, rows, float(norm))
    # Of many classes most bins hold few rows of a class that never comes true: half a chance would be far too much.
    return BinnedError(share, gap, frequency, len(classes) * rows, float(norm), CLASSES_TOGETHER, frequency - gap)


def _classes_of(finished: Any) -> list[tuple[Floats, Floats, Floats]]:
    """Size, gap and frequency of the bins that hold rows, class by class."""
    several = finished.classes if isinstance(finished, Searched) else (finished,)
    found = []
    for totals in several:
        if not isinstance(totals, BinTotals):
            return []
        for size, gap, frequency in zip(
            *(column.reshape(-1, column.shape[-1]) for column in (totals.size, totals.gap, totals.frequency)),
            strict=True,
        ):
            filled = size > 0
            found.append((size[filled], gap[filled], frequency[filled]))
    return found


def _repeats(view: View | None, bins: Any, design: SamplingDesign) -> float:
    """How much groups inflate the variance of a binned error: that of its residuals, signed as their bin is."""
    if design.group is None or view is None:
        return 1.0
    if isinstance(bins, Searched):
        bins = bins.classes[0]
    residual = _signed(view.event.true, view.event.prob, bins.gap.ravel(), bins.edges)
    return design.inflation(residual - residual.mean())


def _repeats_of_classes(view: View | None, finished: Any, design: SamplingDesign) -> float:
    """The same for the gaps of all classes: of a row's residuals added up over the classes, or of each class, whichever is more.

    Signed by their bins they are the influence of the row on the sum of all gaps; where gaps are near 0 their signs are chance, and
    the classes by themselves say how alike the rows of a group are.
    """
    if design.group is None or view is None:
        return 1.0
    several = (
        finished.classes if isinstance(finished, Searched) else [finished.of_class(k) for k in range(len(finished.gap))]
    )
    rows = view.classes
    together, grouped, alone = np.zeros(rows.n_rows), 0.0, 0.0
    for number, bins in enumerate(several):
        residual = _signed(rows.true == number, rows.prob[:, number], bins.gap.ravel(), bins.edges)
        together += residual
        variance = float(residual.var())
        grouped, alone = grouped + variance * design.inflation(residual - residual.mean()), alone + variance
    return max(design.inflation(together - together.mean()), grouped / alone if alone > 0 else 1.0)


def _signed(true: NDArray[Any], prob: NDArray[Any], gaps: Floats, edges: Floats | None) -> Floats:
    """Residuals, with the sign that the gap of their bin has where the bins are known by their edges."""
    residual = true - prob.astype(np.float64)
    if edges is None or len(gaps) != len(edges) - 1:
        return residual
    place = np.clip(np.searchsorted(edges[1:-1], prob, side="right"), 0, len(gaps) - 1)
    return np.asarray(residual * np.where(gaps[place] < 0, -1.0, 1.0))


def _walk(name: str, span: bool, finished: Any, choices: Mapping[str, Any], design: SamplingDesign) -> WalkError | None:
    if isinstance(finished, OrderedRows):
        rows = Binary(finished.outcome, finished.prob, finished.weight)
    else:
        rows = walk_event(finished, choices.get("reduction", "top"), choices.get("k", 1), name)
    if rows.n_rows < 2:
        return None
    inflation = 1.0
    if design.group is not None:
        if rows.n_rows != design.n_rows or isinstance(finished, OrderedRows):  # the groups are not in this order
            return None
        residual = rows.true - rows.prob.astype(np.float64)
        inflation = design.inflation(residual - residual.mean())
    steps = steps_of(rows, choices.get("ties", "group"))
    weight = np.ones(rows.n_rows) if steps.weight is None else steps.weight
    return WalkError(weight * (steps.true - steps.prob), float(weight.sum()), inflation, span)
