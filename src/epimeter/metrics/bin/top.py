# SPDX-License-Identifier: Apache-2.0
"""Errors among the most confident rows, where a ranking is acted upon (Guilbert et al. 2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card import metric
from epimeter.errors import UndefinedMetricError
from epimeter.limits import AtLeast
from epimeter.metrics.bin.expected import BIN_SYMBOLS
from epimeter.summaries import Bins, BinTotals, Rows
from epimeter.summaries.cuts import Cut
from epimeter.views import Binary

Floats = NDArray[np.float64]
Count = Annotated[int, AtLeast(1)]


@dataclass(frozen=True)
class Ranking:
    """The most confident rows first, earlier rows before later ones of the same confidence."""

    view: Binary
    row: NDArray[np.intp]

    @classmethod
    def of(cls, view: Binary, limit: int) -> Ranking:
        """The rows that can be among the first `limit`, ranked."""
        prob, rows = view.prob, np.arange(view.n_rows)
        if view.weight is not None:
            rows = rows[view.weight > 0]
        elif limit < len(prob):  # no need to rank the rows below the last place
            rows = np.flatnonzero(prob >= np.partition(prob, len(prob) - limit)[len(prob) - limit])
        return cls(view, rows[np.argsort(-prob[rows], kind="stable")])

    @cached_property
    def weight(self) -> Floats:
        """Weight of the rows down to each place."""
        assert self.view.weight is not None
        return np.cumsum(self.view.weight[self.row])

    @property
    def total(self) -> float:
        """N: the rows of the whole view, or their weight."""
        return float(self.view.n_rows if self.view.weight is None else self.weight[-1])

    def first(self, k: float) -> Binary:
        """The view of the first k rows, in their original order; with weights the last one may count in part."""
        if self.view.weight is None:
            return self.view.take(np.sort(self.row[: int(k)]))  # type: ignore[return-value]
        last = int(np.searchsorted(self.weight, k))
        share = self.view.weight[self.row[: last + 1]]
        share[-1] -= max(0.0, self.weight[last] - k)
        back = np.argsort(self.row[: last + 1])
        rows = self.row[: last + 1][back]
        return Binary(self.view.true[rows], self.view.prob[rows], share[back])

    def error(self, k: float, bins: int | None, binning: Cut) -> float:
        """ECE@k."""
        count = max(1, decimal_log(k)) if bins is None else bins
        totals: BinTotals = Bins(count, binning).of(self.first(k))
        return float(totals.mean(np.abs(totals.gap)))


def decimal_log(k: float) -> int:
    """floor(log10 k) for k >= 1, exactly; 0 below."""
    return len(str(math.floor(k))) - 1


TOP_SYMBOLS = BIN_SYMBOLS | {"k": "rows used, those of largest confidence; at most N"}


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
    order="ties",
    pitfalls="Equal confidences at the k-th place are broken by row order. Few bins by default: print says log10 k "
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
    ranking = Ranking.of(view, k)
    return ranking.error(min(k, ranking.total), bins, binning)


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
    order="ties",
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
    last = min(limit, ranking.total)
    places = sorted({math.floor(j * last / steps) for j in range(1, steps + 1)} - {0})
    if not places:
        raise UndefinedMetricError(f"avg_ece_at_l needs a total weight of at least 1; got {last:g}")
    return float(np.mean([ranking.error(k, bins, binning) for k in places]))
