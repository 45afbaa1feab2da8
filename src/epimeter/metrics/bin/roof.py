# SPDX-License-Identifier: Apache-2.0
"""A calibration map fitted on the rows it measures: a piece of roof over each bin, as many as cross-validation wants."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import AtLeast, Between
from epimeter.metrics.bin.staircase import SweepCut, running, width_edges
from epimeter.results import Result
from epimeter.summaries import Rows, fixed
from epimeter.summaries.cuts import mass_borders
from epimeter.summaries.fixed import Fixed
from epimeter.views import Binary

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Count = Annotated[int, AtLeast(1)]

TIE = 1e-12
"""Losses this close are equal: the fewer bins win."""


@dataclass(frozen=True, kw_only=True)
class FittedError(Result):
    """The error, and the number of bins of the map."""

    value: float
    bins: int


@dataclass(frozen=True)
class BinSums:
    """Sums over each bin: rows, outcomes, confidences, and both squared residuals."""

    size: Floats
    true: Floats
    prob: Floats
    tilted: Floats
    """Sum of (s c - y)^2."""
    plain: Floats
    """Sum of (c - y)^2: the loss of the identity."""


@dataclass(frozen=True)
class OrderedColumn:
    """Rows in order of confidence, with exact running totals: the sums of any bins are differences."""

    prob: Floats
    true: Integers
    stated: Fixed
    tilted: Fixed
    plain: Fixed

    @classmethod
    def of(cls, prob: Floats, true: Integers, slope: float) -> OrderedColumn:
        return cls(
            prob,
            running(true),
            running_sums(prob),
            running_sums((slope * prob - true) ** 2),
            running_sums((prob - true) ** 2),
        )

    def edges(self, bins: int, binning: SweepCut) -> Floats:
        """Where bins 2, 3, ... begin; equal-mass bins begin with the first confidence of each group, so they cut no tie."""
        if binning == "width":
            return width_edges(np.arange(1, bins), bins)
        groups = max(1, min(bins, len(self.prob)))
        return self.prob[mass_borders(len(self.prob), groups)[1:-1]]

    def cut(self, edges: Floats) -> BinSums:
        """The sums of the bins between these edges."""
        at = np.concatenate([[0], np.searchsorted(self.prob, edges), [len(self.prob)]])
        sums = ((run[at[1:]] - run[at[:-1]]).floats() for run in (self.stated, self.tilted, self.plain))
        return BinSums(np.diff(at).astype(np.float64), np.diff(self.true[at]).astype(np.float64), *sums)


def running_sums(values: Floats) -> Fixed:
    """Exact running totals, from 0."""
    return Fixed(*fixed.split(np.concatenate([[0.0], values]))).cumulate()


def lift(piece: BinSums, slope: float) -> Floats:
    """ȳ_b - s c̄_b: the map is this and s c; 0 in an empty bin."""
    return np.divide(piece.true - slope * piece.prob, piece.size, out=np.zeros_like(piece.size), where=piece.size > 0)


def loss(train: OrderedColumn, test: OrderedColumn, bins: int, binning: SweepCut, slope: float) -> float:
    """Mean squared error on the test rows of the map fitted on the training rows.

    The square of s c - y + lift is opened up, so that sums by bin are enough; a bin without training rows keeps c.
    """
    edges = train.edges(bins, binning)
    fitted, seen = train.cut(edges), test.cut(edges)
    up = lift(fitted, slope)
    squares = seen.tilted + up * (2 * (slope * seen.prob - seen.true) + up * seen.size)
    return float(np.sum(np.where(fitted.size > 0, squares, seen.plain)) / len(test.prob))


def chosen_bins(
    prob: Floats, true: Integers, fold: Integers, *, folds: int, max_bins: int, binning: SweepCut, slope: float
) -> int:
    """The number of bins with the least cross-validated loss, the smallest on ties."""
    if binning == "mass":  # more groups than rows are not made
        max_bins = min(max_bins, len(prob))
    losses = np.zeros(max_bins)
    for number in range(folds):
        held = fold == number
        train, test = (OrderedColumn.of(prob[rows], true[rows], slope) for rows in (~held, held))
        losses += [loss(train, test, bins, binning, slope) for bins in range(1, max_bins + 1)]
    losses /= folds
    return 1 + int(np.argmax(losses <= losses.min() + TIE))


@metric(
    title="Fit-on-the-test ECE with bins",
    family="bin",
    reads=Rows("event"),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"\frac1N\sum_i|\hat y(c_i)-c_i|^{\alpha},\quad \hat y(c)=\bar y_b+s\,(c-\bar c_b)\ \text{for } c "
    r"\text{ in bin } b,\quad B=\arg\min_{B'}\frac1F\sum_f\frac1{N_f}\sum_{i\in f}(\hat y_{-f,B'}(c_i)-y_i)^2",
    where={
        "ȳ_b, c̄_b": "mean outcome and confidence in bin b",
        "s, α": "parameters slope and norm",
        "F": "min(folds, N)",
        "f": "fold: the rows i with the same i mod F, in the order given",
        "ŷ_{-f,B'}": "map fitted on all folds but f with B' bins; the identity in a bin without rows to fit",
    },
    source="Kaengsepp et al. 2022 and its code; Lane 2025 s4.6 eq 40",
    order="rows",
    weighted=False,
    pitfalls="The folds follow the order of the rows: shuffle rows that are sorted. No root is taken, so norm=2 is a "
    "square. Equal-mass bins begin where a cut falls; those of ece go by the middle of a tie. Takes no weights: folds "
    "of weighted rows are not defined.",
    aliases=("ece-fott", "tilted-roof_ece", "fott"),
)
def ece_fott(
    view: Binary,
    *,
    bins: Count | Literal["cv"] = "cv",
    binning: SweepCut = "mass",
    slope: Annotated[float, Between(0, 1)] = 1.0,
    norm: Annotated[float, Between(1, math.inf, open_high=True)] = 1.0,
    folds: Count = 10,
    max_bins: Count = 40,
) -> FittedError:
    """Mean distance of the confidences from a map fitted to the outcomes bin by bin.

    Parameters
    ----------
    bins
        Number of bins, or ``cv`` to choose it by cross-validation.
    binning
        How the bins are cut: ``mass`` or ``width``.
    slope
        Slope of the map inside a bin: 1 is a tilted roof, 0 a flat one.
    norm
        Power of the distances; no root is taken.
    folds
        Number of folds of the cross-validation.
    max_bins
        The largest number of bins tried.
    """
    order = np.argsort(view.prob, kind="stable")
    prob, true = view.prob[order].astype(np.float64), view.true[order].astype(np.int64)
    if bins == "cv":
        n_folds = min(folds, len(prob))
        count = chosen_bins(prob, true, order % n_folds, folds=n_folds, max_bins=max_bins, binning=binning, slope=slope)
    else:
        count = int(bins)
    column = OrderedColumn.of(prob, true, slope)
    piece = column.cut(column.edges(count, binning))
    up = lift(piece, slope)
    if slope == 1:  # the distance is the same all over a bin
        return FittedError(value=float(piece.size @ np.abs(up) ** norm / len(prob)), bins=count)
    distance = np.repeat(up, piece.size.astype(np.intp)) + (slope - 1) * prob
    return FittedError(value=float(np.mean(np.abs(distance) ** norm)), bins=count)
