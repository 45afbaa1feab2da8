# SPDX-License-Identifier: Apache-2.0
"""Errors among the most confident rows, where a ranking is acted upon (Guilbert et al. 2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import UndefinedMetricError
from epimeter.limits import AtLeast
from epimeter.metrics.bin.expected import BIN_SYMBOLS
from epimeter.summaries import Bins, BinTotals, Rows
from epimeter.summaries.cuts import ROUNDING, Cut
from epimeter.views import Binary

Floats = NDArray[np.float64]
Count = Annotated[int, AtLeast(1)]


@dataclass(frozen=True)
class Ranking:
    """The most confident rows first."""

    view: Binary
    prob: Floats
    """Their confidences, falling."""
    weight: Floats
    """Weight of the rows down to each place."""

    @classmethod
    def of(cls, view: Binary, limit: int) -> Ranking:
        """The rows that can be among the first `limit` and those as sure as the last of them, ranked."""
        if view.weight is not None:
            view = view.take(view.weight > 0)
            assert view.weight is not None
            order = np.lexsort((view.weight, -view.prob.astype(np.float64)))
            return cls(view, view.prob[order].astype(np.float64), np.cumsum(view.weight[order]))
        n = view.n_rows
        if limit < n:  # no need to rank the rows below the last place
            view = view.take(view.prob >= np.partition(view.prob, n - limit)[n - limit])
        return cls(view, -np.sort(-view.prob.astype(np.float64)), np.arange(1.0, view.n_rows + 1))

    def first(self, k: float) -> Binary:
        """The first k rows and all that are as sure as the k-th, in their original order."""
        last = self.prob[np.searchsorted(self.weight, k * (1 - ROUNDING))]
        return self.view.take(self.view.prob >= last)

    def error(self, k: float, bins: int | None, binning: Cut) -> float:
        """ECE@k."""
        count = max(1, decimal_log(k)) if bins is None else bins
        totals: BinTotals = Bins(count, binning).of(self.first(k))
        return float(totals.mean(np.abs(totals.gap)))


def total(view: Binary) -> float:
    """N: the rows, or their weight."""
    return float(view.n_rows if view.weight is None else np.sum(view.weight))


def decimal_log(k: float) -> int:
    """floor(log10 k) for k >= 1, exactly; 0 below."""
    return len(str(math.floor(k))) - 1


TOP_SYMBOLS = BIN_SYMBOLS | {
    "k": "rows used, those of largest confidence; at most N, and all that are as sure as the last of them"
}


@metric(
    title="ECE at k",
    family="bin",
    reads=Rows("event"),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"ECE@k=\sum_b\frac{n_b}{k}|\bar y_b-\bar c_b|\ \text{over the } k \text{ rows of largest } c_i",
    where=TOP_SYMBOLS,
    source="Guilbert et al. 2024 Ann. Math. Artif. Intell.; Lane 2025 s4.5",
    pitfalls="Rows as sure as the k-th come along, so more than k can be used. Few bins by default: print says log10 k "
    "without rounding, here its floor, at least 1, so up to k = 99 it is the gap of one bin.",
    aliases=("ece@k",),
)
def ece_at_k(view: Binary, *, k: Count = 100, bins: Count | None = None, binning: Cut = "mass") -> float:
    """Expected calibration error of the k most confident rows.

    Parameters
    ----------
    k
        Number of rows used, those of highest confidence; all of them when there are fewer.
    bins
        Number of bins; by default floor(log10 k), at least 1.
    binning
        How they are cut: ``mass``, ``width`` or ``area``.
    """
    return Ranking.of(view, k).error(min(k, total(view)), bins, binning)


@metric(
    title="Average ECE at l",
    family="bin",
    reads=Rows("event"),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"\text{Avg-ECE}@l=\frac1{|S|}\sum_{k\in S}ECE@k,\quad S=\{\lfloor jl/s\rfloor:j=1..s\}\setminus\{0\}",
    where=TOP_SYMBOLS | {"l": "parameter limit, at most N", "s": "parameter steps", "S": "distinct values only"},
    source="Guilbert et al. 2024 Ann. Math. Artif. Intell.; Lane 2025 s4.5",
    pitfalls="The most confident rows enter every term, so they count most. Print does not say how k is spaced; evenly "
    "here.",
    aliases=("avg-ece@l",),
)
def avg_ece_at_l(
    view: Binary, *, limit: Count = 100, steps: Count = 10, bins: Count | None = None, binning: Cut = "mass"
) -> float:
    """Mean of the errors among the k most confident rows, for k evenly spaced up to a limit.

    Parameters
    ----------
    limit
        The largest k; all rows when there are fewer.
    steps
        How many values of k, evenly spaced.
    bins
        Number of bins; by default floor(log10 k), at least 1, for each k.
    binning
        How they are cut: ``mass``, ``width`` or ``area``.
    """
    ranking = Ranking.of(view, limit)
    last = min(limit, total(view))
    places = sorted({math.floor(j * last / steps) for j in range(1, steps + 1)} - {0})
    if not places:
        raise UndefinedMetricError(f"avg_ece_at_l needs a total weight of at least 1; got {last:g}")
    return float(np.mean([ranking.error(k, bins, binning) for k in places]))
