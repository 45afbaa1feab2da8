# SPDX-License-Identifier: Apache-2.0
"""As many bins as the data bear: the number of bins grows while the frequencies still rise with the confidence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from epimeter.card_index import metric
from epimeter.limits import AtLeast
from epimeter.metrics.bin.debiased import debiased_square
from epimeter.metrics.bin.expected import BIN_SYMBOLS, Norm, power_mean
from epimeter.metrics.bin.staircase import Staircase, SweepCut
from epimeter.results import Result
from epimeter.summaries import BinTotals, Ordered, OrderedRows
from epimeter.summaries.rows import KeptRows, RowRecipe
from epimeter.summaries.segments import ordered_bins
from epimeter.uncertainty import GapNorm
from epimeter.views import Binary, Multiclass, Reading

Count = Annotated[int, AtLeast(1)]
MOST_COPIES = 8
"""Weights count as copies of a row, but the sweep never tries more bins than this many a row."""


@dataclass(frozen=True, kw_only=True)
class SweptError(Result):
    """The error, and the number of bins that was found for it."""

    value: float
    bins: int


@metric(
    title="Monotonic sweep calibration error",
    family="bin",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"ECE_{sweep}=CE_p(B^*),\quad "
    r"B^*=\max\{B\le N:\ \bar y_1\le\dots\le\bar y_{B'}\ \text{for every } B'=1..B\}",
    where=BIN_SYMBOLS | {"CE_p(B)": "lp_ce with B bins", "p": "parameter norm"},
    source="Roelofs et al. 2022 AISTATS; Lane 2025 s4.5",
    pitfalls="Assumes that the true frequency rises with the confidence. The number of bins depends on chance: one "
    "inversion early on leaves few bins. With weights it stops at eight bins a row.",
    aliases=("ece-sweep", "sweep"),
)
def ece_sweep(rows: OrderedRows, *, binning: SweepCut = "mass", norm: Norm = 1.0) -> SweptError:
    """Calibration error over the most bins before their frequencies first fail to rise.

    Parameters
    ----------
    binning
        How the bins are cut: ``mass`` or ``width``.
    norm
        Power p of the gaps; ``inf`` takes the largest.
    """
    stairs = Staircase.of(rows, binning)
    limit = max(1, min(math.floor(stairs.total), MOST_COPIES * rows.n_rows))
    bins = limit if stairs.rises else next(b for b in range(1, limit + 1) if b == limit or not stairs.monotone(b + 1))
    totals = ordered_bins(rows, bins, binning)
    return SweptError(value=float(power_mean(totals.gap, norm, totals.mean)), bins=bins)


SEARCH = (
    r"low=1,\ high=\max(1,\min(\lfloor N/m\rfloor,U,M)),\ t=s;\ \text{while low<high: }"
    r"t\leftarrow\mathrm{clip}(t,low+1,high);\ \text{if monotone}(t):\ low\leftarrow t,\ "
    r"t\leftarrow\min(2t,low+\lfloor(high-low)/2\rfloor);\ \text{else: }high\leftarrow t-1,\ "
    r"t\leftarrow low+\lfloor(high-low)/2\rfloor;\ \text{return low}"
)
SEARCH_SYMBOLS = {
    "N": "number of rows (their weight)",
    "U": "number of distinct confidences",
    "m, M, s": "parameters min_count, max_bins, start",
    "monotone(t)": "whether the frequencies of t bins, empty ones aside, never fall",
}


def searched_bins(rows: OrderedRows, binning: SweepCut, start: int, max_bins: int, min_count: int) -> int:
    """The search of Petersen et al., with floor for their rounding."""
    stairs = Staircase.of(rows, binning)
    low, high, trial = 1, max(1, min(int(stairs.total // min_count), stairs.distinct, max_bins)), start
    while low < high:
        trial = min(max(trial, low + 1), high)
        if stairs.monotone(trial):
            low = trial
            trial = min(2 * trial, low + (high - low) // 2)
        else:
            high = trial - 1
            trial = low + (high - low) // 2
    return low


@metric(
    title="Bin count search",
    family="bin",
    reads=Ordered(),
    range=(1.0, None),
    direction="none",
    equation=SEARCH,
    where=SEARCH_SYMBOLS,
    source="Petersen et al. 2023 FAccT, text and published code; Lane, journal version, s4.5, s4.12",
    pitfalls="No measure of calibration, but the number of bins for one. Not always the largest monotone number, as "
    "print has it: a number of bins can be monotone beyond one that is not.",
    headline_is="a number of bins",
)
def bcs(
    rows: OrderedRows, *, binning: SweepCut = "mass", start: Count = 10, max_bins: Count = 100, min_count: Count = 10
) -> float:
    """A number of bins whose frequencies rise with the confidence, found by doubling and halving.

    Parameters
    ----------
    binning
        How the bins are cut: ``mass`` or ``width``.
    start
        The first number tried.
    max_bins
        The largest number allowed.
    min_count
        Rows a bin shall hold on average at least: no more than N / min_count bins.
    """
    return float(searched_bins(rows, binning, start, max_bins, min_count))


@dataclass(frozen=True)
class Searched:
    """The bins that were found, one set a class; of an event one set."""

    classes: tuple[BinTotals, ...]


@dataclass(frozen=True)
class SearchedBins(RowRecipe):
    """Totals over as many bins as `bcs` finds.

    Parameters
    ----------
    binning
        How the bins are cut: ``mass`` or ``width``.
    start
        The first number tried.
    max_bins
        The largest number allowed.
    min_count
        Rows a bin shall hold on average at least: no more than N / min_count bins.
    mode
        What a matrix is reduced to: ``top_label``, or ``classwise`` for every class against the rest, each with bins of its
        own (a vector is then read as 1 - p, p).
    """

    binning: SweepCut = "mass"
    start: Count = 10
    max_bins: Count = 100
    min_count: Count = 10
    mode: Literal["top_label", "classwise"] = "top_label"

    @property
    def reading(self) -> Reading:  # type: ignore[override]
        return "event" if self.mode == "top_label" else "classes"

    def finish(self, summary: KeptRows) -> Searched:
        view = summary.view
        if isinstance(view, Multiclass):
            columns = (
                Binary((view.true == k).astype(np.uint8), view.prob[:, k], view.weight) for k in range(view.n_classes)
            )
            return Searched(tuple(self._totals(KeptRows((column,)).ordered) for column in columns))
        return Searched((self._totals(summary.ordered),))

    def _totals(self, rows: OrderedRows) -> BinTotals:
        bins = searched_bins(rows, self.binning, self.start, self.max_bins, self.min_count)
        return ordered_bins(rows, bins, self.binning)


@metric(
    title="Debiased RMSCE with bin count search",
    family="bin",
    reads=SearchedBins(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    test="resampling",
    equation=r"\text{DRMSCE-BCS}=DRMSCE(B),\quad B=BCS(y,c);\qquad classwise:\ \sqrt{\tfrac1K\sum_k\max(0,CE^2_{DB,k}(B_k))}",
    where={
        "BCS": "metric bcs with the same parameters",
        "DRMSCE(B)": "drmsce with B bins",
        "CE^2_DB,k(B_k)": "ce2_db of class k against the rest, with the bins found for it",
    },
    source="Petersen et al. 2023 FAccT; Lane, journal version, s4.12, s7.2",
    matrix="reduced to its top label; with mode=classwise every class against the rest",
    pitfalls="The bins are chosen on the rows they then measure, which the correction for chance does not know. "
    "A negative debiased square is reported as 0. Class-wise, `bins` is the largest number that a class got.",
    aliases=("drmsce-bcs",),
    interval=GapNorm(norm=2),
)
def drmsce_bcs(found: Searched) -> SweptError:
    """Debiased root mean square error over as many bins as `bcs` finds."""
    squares = [float(np.maximum(debiased_square(totals), 0.0)) for totals in found.classes]
    return SweptError(
        value=math.sqrt(math.fsum(squares) / len(squares)), bins=max(len(totals.count) for totals in found.classes)
    )
