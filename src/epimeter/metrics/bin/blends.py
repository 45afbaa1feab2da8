# SPDX-License-Identifier: Apache-2.0
"""Calibration joined with accuracy into one score, higher is better."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np

from epimeter.card_index import metric
from epimeter.limits import AtLeast
from epimeter.metrics.point.brier import square_errors
from epimeter.summaries import Bins, BinTotals, Rows, fixed, paired
from epimeter.summaries.bins import Sums
from epimeter.summaries.fixed import Fixed
from epimeter.summaries.sums import SumsOf
from epimeter.views import Binary, Multiclass, Reading, View


@dataclass(frozen=True)
class JudgedTotals(BinTotals):
    """Bin totals with the weight of the rows that were predicted right."""

    right: Sums = field(kw_only=True)


@dataclass(frozen=True)
class JudgedBins(Bins):
    """Totals per bin and the accuracy. Parameters as `Bins`.

    A vector predicts 1 from 0.5 on; a matrix predicts its largest probability, the first on ties.
    """

    reading: ClassVar[Reading] = "given"

    def _totals(self, view: View) -> JudgedTotals:
        base = super()._totals(view.event)
        right = (view.prob >= 0.5) == view.true if isinstance(view, Binary) else view.event.true == 1
        judged: Sums
        if view.weight is None:
            judged = Fixed.of_counts(np.array([right.sum()]))
        else:
            judged = paired.binned(right.astype(np.float64), view.weight, np.zeros(len(right), np.intp), 1)
        return JudgedTotals(base.count, base.weight, base.true, base.prob, base.edges, right=judged)


@metric(
    title="Harmonic calibration score",
    family="bin",
    reads=JudgedBins(bins=10),
    range=(0.0, 1.0),
    direction="higher",
    equation=r"HCS=(1+\beta)\frac{A(1-ECE)}{\beta A+(1-ECE)}",
    where={"A": "accuracy", "ECE": "metric ece with the same bins", "β": "parameter beta"},
    source="Tao et al. 2024 ICLR; Lane 2025 s4.14 eq 58",
    matrix="reduced to its top label; a vector predicts 1 from 0.5 on",
    pitfalls="A good accuracy can hide a bad calibration and the other way round: report both beside it.",
)
def hcs(bins: JudgedTotals, *, beta: Annotated[float, AtLeast(0)] = 1.0) -> float:
    """Weighted harmonic mean of accuracy and of one minus the calibration error.

    Parameters
    ----------
    beta
        Larger weighs calibration more; 1 is the plain harmonic mean.
    """
    accuracy = float(bins.right.sum().floats() / bins.n)
    trust = 1.0 - float(bins.mean(np.abs(bins.gap)))
    if math.isinf(beta):
        return trust if accuracy > 0 else 0.0
    below = beta * accuracy + trust
    return (1 + beta) * accuracy * trust / below if below > 0 else 0.0


@metric(
    title="Well-calibration ratio",
    family="bin",
    reads=Rows("classes"),
    range=(0.0, 1.0),
    ideal=1.0,
    direction="higher",
    equation=r"WCR=1-\frac1{K^2}\sum_{k:|T_k|>0}\sum_{j=1}^{K}\Big|\frac1{|T_k|}\sum_{i\in T_k}(p_{ij}-1[y_i=j])\Big|",
    where={"T_k": "rows whose first largest probability is class k", "K": "number of classes"},
    source="Gebel 2009 (thesis); Lane 2025 s4.14 eqs 59-61",
    matrix="class probabilities; a vector p is read as 1 - p, p",
    pitfalls="Its least value is 1 - 2/K, so with many classes every model scores near 1. Classes that are never predicted "
    "count as calibrated.",
)
def wcr(view: Multiclass) -> float:
    """One minus the mean gap of all class probabilities, over the groups of rows with one predicted class."""
    n_classes, guess, weight = view.n_classes, view.guess, view.weight
    table = np.zeros((n_classes, n_classes))
    for j in range(n_classes):
        gap = view.prob[:, j].astype(np.float64) - (view.true == j)
        totals: Sums
        if weight is None:
            totals = fixed.binned(gap, guess, n_classes)
        else:
            totals = paired.binned(gap, weight, guess, n_classes)
        table[:, j] = totals.floats()
    size = np.bincount(guess, weights=weight, minlength=n_classes)
    some = size > 0
    return 1.0 - float(np.sum(np.abs(table[some]) / size[some, None])) / n_classes**2


@metric(
    title="Gebel's calibration measure",
    family="bin",
    reads=Rows("classes"),
    range=(0.0, 1.0),
    direction="higher",
    equation=r"Cal=\sqrt{(1-\sqrt{BS})\,WCR},\quad BS=\frac1{NK}\sum_i\sum_k(p_{ik}-1[y_i=k])^2",
    where={"WCR": "metric wcr", "BS": "Brier score divided by the number of classes", "K": "number of classes"},
    source="Gebel 2009 (thesis); Lane 2025 s4.14 eq 62",
    matrix="class probabilities; a vector p is read as 1 - p, p",
    pitfalls="The Brier score holds accuracy too, so a calibrated model that knows little scores low.",
    aliases=("Cal",),
    headline_is="a p-value",
)
def gebel_cal(view: Multiclass) -> float:
    """Geometric mean of the well-calibration ratio and of one minus the root of the Brier score."""
    # The root of a small mean needs its last digits, so the sum is the fine one.
    brier = float(SumsOf(square_errors, "classes").of(view).mean[0]) / view.n_classes
    return math.sqrt(max(0.0, 1 - math.sqrt(brier)) * max(0.0, wcr.compute(view)))
