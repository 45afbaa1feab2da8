# SPDX-License-Identifier: Apache-2.0
"""The data behind a report's figures: bins with intervals, cumulative differences, histograms, risk against coverage."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.draw.bands import clopper_pearson
from epimeter.draw.bins import reliability_curve
from epimeter.draw.risk import risk_coverage_curve
from epimeter.kinds import Kind
from epimeter.results import BinTable
from epimeter.summaries import Bins
from epimeter.views import Binary, View

Floats = NDArray[np.float64]
LEVEL = 0.95
POINTS = 160
"""Points a curve is drawn with; the eye sees no more, and the file stays small."""
STORED = 80
"""Points that are kept for later."""


@dataclass(frozen=True, kw_only=True)
class Reliability:
    """The bins of a reliability diagram; NaN where a bin is empty."""

    edges: Floats
    count: NDArray[np.int64]
    confidence: Floats
    frequency: Floats
    low: Floats
    high: Floats
    """Interval of the frequency of each bin, 95 %; NaN where none can be known."""
    kind: Kind
    """What was stated."""
    interval: str
    """How the intervals were found, in words."""

    @classmethod
    def of_bins(cls, count: NDArray[np.int64], confidence: Floats, frequency: Floats, kind: Kind) -> Reliability:
        """The diagram of equal-width bins, from what a document remembers of them."""
        return cls.of_table(BinTable(None, count, confidence, frequency), kind)

    @classmethod
    def of_table(cls, table: BinTable, kind: Kind) -> Reliability:
        """The diagram of the bins that a report remembers."""
        count = table.count
        hits = np.nan_to_num(table.frequency) * count
        # Weighted frequencies are no share of whole rows, and the weights that would bound them are gone.
        whole = bool((np.abs(hits - np.rint(hits)) < 1e-6 * np.maximum(count, 1)).all())
        low, high = clopper_pearson(np.rint(hits), count.astype(np.float64), LEVEL)
        nothing = np.full(len(count), np.nan)
        return Reliability(
            edges=np.arange(len(count) + 1) / len(count) if table.edges is None else table.edges,
            count=count,
            confidence=table.confidence,
            frequency=table.frequency,
            low=low if whole else nothing,
            high=high if whole else nothing,
            kind=kind,
            interval="exact binomial, 95 %" if whole else "not known once weighted rows are gone",
        )


@dataclass(frozen=True, kw_only=True)
class Curves(Reliability):
    """What the figures of a report show: the forecast as it was stated, and the answers that follow from it."""

    right: Floats
    wrong: Floats
    """Answers of each of twenty bins of confidence that were right, and that were wrong."""
    share: Floats
    difference: Floats
    """Cumulative differences: share of the rows, from low to high confidence, and summed outcome minus confidence over N."""
    band: float
    """Two standard deviations of the last cumulative difference, were the system calibrated."""
    coverage: Floats
    risk: Floats
    risk_low: Floats
    risk_high: Floats
    """Share of rows answered, most confident first, share of these answers that are wrong, and its interval."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a page that is made once the rows are gone; five digits, which no eye tells apart."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Curves:
        """The curves back."""
        columns = {name: np.array(v, np.float64) for name, v in stored.items() if isinstance(v, list)}
        return cls(**{**stored, **columns, "count": columns["count"].astype(np.int64)})


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_plain(one) for one in value.tolist()]
    if isinstance(value, float):
        return None if math.isnan(value) else float(f"{value:.5g}")
    return value


def curves(view: View, diagram: Bins | None = None, points: int = POINTS) -> Curves:
    """The curves of a view; right and wrong are those of its answers. Every row counts by its weight.

    `diagram` says in which bins the reliability diagram is drawn: ten of equal width unless told; `points` how many a curve has.
    """
    shown = diagram or Bins(10)
    told = reliability_curve(view, bins=shown.bins, binning=shown.binning, level=LEVEL)
    event, answer = view.event, view.answer
    true, prob, weight = _sorted(event)
    total = float(weight.sum())
    fine = Bins(20).of(answer)
    right = fine.true.floats()
    grown = np.concatenate([[0.0], np.cumsum(weight * (true - prob))]) / total
    passed = np.concatenate([[0.0], np.cumsum(weight)]) / total
    place = np.unique(np.rint(np.linspace(0, len(prob), min(points, len(prob)) + 1)).astype(int))
    risk = risk_coverage_curve(view, level=LEVEL)
    thin = np.unique(np.rint(np.linspace(0, len(risk.share) - 1, min(points, len(risk.share)))).astype(int))
    return Curves(
        edges=told.edges,
        count=told.count,
        confidence=told.confidence,
        frequency=told.frequency,
        low=told.low,
        high=told.high,
        kind=view.kind,
        interval="exact binomial, 95 %" if view.weight is None else "Wilson's with effective rows, 95 %",
        right=right,
        wrong=np.maximum(fine.size - right, 0.0),
        share=passed[place],
        difference=grown[place],
        band=2 * float(np.sqrt((weight**2 * prob * (1 - prob)).sum())) / total,
        coverage=risk.coverage[thin],
        risk=risk.share[thin],
        risk_low=risk.low[thin],
        risk_high=risk.high[thin],
    )


def _sorted(event: Binary) -> tuple[Floats, Floats, Floats]:
    """Outcomes, confidences and weights, from the least confident row to the most confident."""
    order = np.lexsort((event.true, event.prob))
    weight = np.ones(len(order)) if event.weight is None else event.weight[order]
    return event.true[order].astype(np.float64), event.prob[order].astype(np.float64), weight
