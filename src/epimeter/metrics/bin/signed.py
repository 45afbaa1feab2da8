# SPDX-License-Identifier: Apache-2.0
"""Errors with a sign: negative when more was promised than came true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.metrics.bin.expected import BIN_SYMBOLS
from epimeter.results import Result
from epimeter.summaries import Bins, BinTotals, Rows
from epimeter.uncertainty import MeanResidual
from epimeter.views import Multiclass

Floats = NDArray[np.float64]

NOTHING = 1e-12
"""A class whose mean residual is below this is calibrated; the rest is rounding."""


@dataclass(frozen=True, kw_only=True)
class SubsetScore(Result):
    """The score, and the mean residual of over-confident and of under-confident classes."""

    value: float
    over: float
    under: float


@metric(
    title="Expected signed calibration error",
    family="bin",
    reads=Bins(bins=10),
    range=(-1.0, 1.0),
    ideal=0.0,
    direction="signed",
    equation=r"ESCE=\sum_b p_b(\bar y_b-\bar c_b)=\bar y-\bar c",
    where=BIN_SYMBOLS | {"ȳ, c̄": "means over all rows"},
    source="Verhaeghe et al. 2023; Ao et al. 2023 UAI; Lane 2025 s4.8 eq 43",
    pitfalls="Negative means over-confident. For every choice of bins the sum is the mean outcome minus the mean confidence: "
    "bins only change the table. Ao et al. use the opposite sign.",
    aliases=("mcs", "miscalibration_score"),
    interval=MeanResidual(),
)
def esce(bins: BinTotals) -> float:
    """Mean outcome minus mean confidence: how much, on the whole, was promised too little or too much."""
    return float((bins.true - bins.prob).sum().floats() / bins.n)  # type: ignore[operator]


@metric(
    title="Weighted subset miscalibration score",
    family="bin",
    reads=Rows("classes"),
    range=(-1.0, 1.0),
    ideal=0.0,
    direction="signed",
    equation=r"WSMCS=\frac{K_O}{K'}M_O+\frac{K_U}{K'}M_U,\quad M_G=\frac{\sum_{k\in G}n_kM_k}{\sum_{k\in G}n_k},\quad "
    r"M_k=\overline{y-c}\ \text{in class } k",
    where={
        "O, U": "classes with M_k <= 0 and M_k > 0",
        "K_O, K_U": "their numbers",
        "K'": "K_O + K_U; classes without rows are left out",
        "n_k": "rows of class k (subset=rest: with label k)",
    },
    source="Ao et al. 2023 UAI; Lane 2025 s4.8",
    matrix="rows grouped by true or predicted class and scored by their top label, or each class against the rest; "
    "a vector p is read as 1 - p, p",
    pitfalls="Negative means over-confident; Ao et al. use the opposite sign, and their code weights groups by class counts "
    "inside as well. With subset=rest the scores of all classes add up to 0, so it says almost nothing.",
)
def wsmcs(view: Multiclass, *, subset: Literal["true", "predicted", "rest"] = "true") -> SubsetScore:
    """Signed error of over-confident and under-confident classes, each group weighted by its number of classes.

    Parameters
    ----------
    subset
        What makes a class: rows of that ``true`` or ``predicted`` label, or one class against the ``rest``.
    """
    size, residual = class_residuals(view, subset)
    some = size > 0
    size, residual = size[some], residual[some]
    over = residual <= NOTHING
    means = [_mean(residual[group], size[group]) for group in (over, ~over)]
    share = float(over.mean())
    return SubsetScore(value=share * means[0] + (1 - share) * means[1], over=means[0], under=means[1])


def class_residuals(view: Multiclass, subset: str) -> tuple[Floats, Floats]:
    """n_k and M_k of each class; M_k is 0 where n_k is."""
    classes, weight = view.n_classes, view.weight
    labelled = np.bincount(view.true, weights=weight, minlength=classes).astype(np.float64)
    if subset == "rest":
        prob = view.prob.astype(np.float64, copy=False)
        said = prob.sum(axis=0) if weight is None else weight @ prob
        return labelled, (labelled - said) / view.total_weight
    top = view.event
    group = view.true if subset == "true" else view.guess
    gap = top.true - top.prob.astype(np.float64)
    size = np.bincount(group, weights=weight, minlength=classes).astype(np.float64)
    total = np.bincount(group, weights=gap if weight is None else gap * weight, minlength=classes)
    return size, np.divide(total, size, out=np.zeros(classes), where=size > 0)


def _mean(residual: Floats, size: Floats) -> float:
    """Mean over the rows of some classes; 0 when there is none."""
    return float(residual @ size / size.sum()) if len(size) else 0.0
