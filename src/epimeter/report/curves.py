# SPDX-License-Identifier: Apache-2.0
"""The data behind a report's figures: bins with intervals, cumulative differences, histograms, risk against coverage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epimeter.summaries import Bins
from epimeter.views import Binary, View

Floats = NDArray[np.float64]
POINTS = 160
"""Points a curve is drawn with; the eye sees no more, and the file stays small."""


@dataclass(frozen=True)
class Reliability:
    """The bins of a reliability diagram; NaN where a bin is empty."""

    edges: Floats
    count: NDArray[np.int64]
    confidence: Floats
    frequency: Floats
    low: Floats
    high: Floats
    """Exact binomial interval of the frequency of each bin, 95 %."""

    @classmethod
    def of_bins(cls, count: NDArray[np.int64], confidence: Floats, frequency: Floats) -> Reliability:
        """The diagram of equal-width bins, from what a report remembers of them."""
        hits = np.rint(np.nan_to_num(frequency) * count).astype(np.int64)
        low, high = _binomial(hits, count)
        empty = count == 0
        edges = np.arange(len(count) + 1) / len(count)
        return Reliability(
            edges, count, confidence, frequency, np.where(empty, np.nan, low), np.where(empty, np.nan, high)
        )


@dataclass(frozen=True)
class Curves(Reliability):
    """What the figures of a report show."""

    right: NDArray[np.int64]
    wrong: NDArray[np.int64]
    """Rows of each of twenty bins of confidence that were right, and that were wrong."""
    share: Floats
    difference: Floats
    """Cumulative differences: share of the rows, from low to high confidence, and summed outcome minus confidence over N."""
    band: float
    """Two standard deviations of the last cumulative difference, were the system calibrated."""
    coverage: Floats
    risk: Floats
    """Share of rows answered, most confident first, and share of these that are wrong."""


def curves(view: View, bins: int = 10) -> Curves:
    """The curves of a view, read as confidence and whether it was right."""
    event = view.event
    totals = Bins(bins).of(Binary(event.true, event.prob))
    empty = totals.count == 0
    diagram = Reliability.of_bins(
        totals.count, np.where(empty, np.nan, totals.confidence), np.where(empty, np.nan, totals.frequency)
    )
    fine = Bins(20).of(Binary(event.true, event.prob))
    fine_right = np.rint(fine.true.floats()).astype(np.int64)
    order = np.lexsort((event.true, event.prob))
    prob, true = event.prob[order].astype(np.float64), event.true[order]
    n = len(prob)
    grown = np.concatenate([[0.0], np.cumsum(true - prob)]) / n
    place = np.unique(np.rint(np.linspace(0, n, min(POINTS, n) + 1)).astype(int))
    # Coverage takes whole ties only: rows of one confidence are answered together or not at all.
    descending = prob[::-1]
    whole = np.flatnonzero(np.concatenate([descending[1:] != descending[:-1], [True]])) + 1
    wrong = np.cumsum(1 - true[::-1].astype(np.int64))[whole - 1]
    thin = np.unique(np.rint(np.linspace(0, len(whole) - 1, min(POINTS, len(whole)))).astype(int))
    return Curves(
        edges=diagram.edges,
        count=diagram.count,
        confidence=diagram.confidence,
        frequency=diagram.frequency,
        low=diagram.low,
        high=diagram.high,
        right=fine_right,
        wrong=fine.count - fine_right,
        share=place / n,
        difference=grown[place],
        band=2 * float(np.sqrt((prob * (1 - prob)).sum())) / n,
        coverage=whole[thin] / n,
        risk=wrong[thin] / whole[thin],
    )


def _binomial(hits: NDArray[np.int64], size: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Clopper and Pearson's interval of every bin."""
    from scipy.special import betaincinv

    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), size - np.minimum(hits, size) + 1, 0.025), 0.0)
    room = np.maximum(size - hits, 1)
    high = np.where(hits < size, betaincinv(hits + 1, room, 0.975), 1.0)
    return np.asarray(low), np.asarray(high)
