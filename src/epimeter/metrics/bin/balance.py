# SPDX-License-Identifier: Apache-2.0
"""Gaps of bins weighed otherwise: each bin alike, by a power of its share, or over-confidence apart from the rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import UndefinedMetricError
from epimeter.limits import AtLeast
from epimeter.metrics.bin.expected import BIN_SYMBOLS
from epimeter.results import Result
from epimeter.summaries import Bins, BinTotals, paired
from epimeter.summaries.bins import Sums
from epimeter.summaries.fixed import Fixed
from epimeter.uncertainty import GapNorm
from epimeter.views import Reading, View

Floats = NDArray[np.float64]


@metric(
    title="Region-balanced ECE",
    family="bin",
    reads=Bins(bins=10),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"RBECE=\frac1{|\Theta|}\sum_{b\in\Theta}|\bar y_b-\bar c_b|,\quad\Theta=\{b:n_b\ge m\}",
    where=BIN_SYMBOLS | {"Θ": "eligible bins", "m": "parameter min_count"},
    source="Dawkins and Nejadgholi 2022 ACL; Lane 2025 s4.5 eq 36",
    pitfalls="Bins below min_count are left out, so errors in thin regions go unseen; print gives no minimum, 10 is our "
    "choice. With min_count=1 it is what netcal calls ACE.",
)
def rbece(bins: BinTotals, *, min_count: Annotated[int, AtLeast(1)] = 10) -> float:
    """Plain mean of the gaps of all bins that hold enough rows: every region of confidence counts alike.

    Parameters
    ----------
    min_count
        Rows (their weight) a bin needs to be eligible.
    """
    eligible = bins.size >= min_count
    if not eligible.any():
        raise UndefinedMetricError(
            f"rbece needs a bin with at least {min_count} rows; the fullest has {bins.size.max():g}. "
            "Use fewer bins or a smaller min_count"
        )
    return float(np.mean(np.abs(bins.gap[eligible])))


@dataclass(frozen=True)
class LabelledTotals(BinTotals):
    """Bin totals of the event, and beside them how often each class was the true one."""

    labels: Sums = field(kw_only=True)

    @property
    def evenness(self) -> float:
        """Entropy of the class shares over that of equal shares: 1 for equal classes, 0 for a single one."""
        counts = self.labels.floats()
        share = counts[counts > 0] / counts.sum()
        return float(max(0.0, -np.sum(share * np.log(share))) / np.log(len(counts)))


@dataclass(frozen=True)
class LabelledBins(Bins):
    """Totals per bin of the event, with the number of rows of each true class. Parameters as `Bins`."""

    reading: ClassVar[Reading] = "given"

    def _totals(self, view: View) -> LabelledTotals:
        base = super()._totals(view.event)
        label, labels = view.true.astype(np.intp), view.n_classes
        counts: Any
        if view.weight is None:
            counts = Fixed.of_counts(np.bincount(label, minlength=labels))
        else:
            counts = paired.binned(np.ones(len(label)), view.weight, label, labels)
        return LabelledTotals(base.count, base.weight, base.true, base.prob, base.edges, labels=counts)


@metric(
    title="Imbalanced calibration error",
    family="bin",
    reads=LabelledBins(bins=10),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"ICE=\frac{\sum_b p_b^{\alpha}|\bar y_b-\bar c_b|}{\sum_b p_b^{\alpha}},\quad "
    r"\alpha=-\sum_k\gamma_k\log\gamma_k/\log K",
    where=BIN_SYMBOLS
    | {"γ_k": "share of the rows with label k (0 log 0 = 0)", "K": "2 for a vector, else the number of columns"},
    source="Guilbert et al. 2024 Ann. Math. Artif. Intell.; Lane 2025 s4.5 eq 35",
    matrix="reduced to its top label; the class shares are those of the K true labels",
    pitfalls="Equal classes make it ece, a single class the plain mean over the filled bins: two data sets with other "
    "class shares are weighed differently. Shares its short name with the interval calibration error.",
    aliases=("ICE (Guilbert)",),
)
def imbalanced_ce(bins: LabelledTotals) -> float:
    """Mean gap in which thin bins count the more, the less balanced the classes are."""
    filled = bins.filled
    weight = bins.share[filled] ** bins.evenness
    return float(np.sum(weight * np.abs(bins.gap[filled])) / np.sum(weight))


@dataclass(frozen=True, kw_only=True)
class Areas(Result):
    """Area of under-confidence (above the diagonal), of over-confidence (below it), and both."""

    total: float
    above: float
    below: float


@metric(
    title="Area between curves",
    family="bin",
    reads=Bins(bins=10),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"above=\sum_b p_b\max(0,\bar y_b-\bar c_b),\ below=\sum_b p_b\max(0,\bar c_b-\bar y_b);\quad "
    r"line:\ above=\int\max(0,r(x)-x)\,dx,\ below=\int\max(0,x-r(x))\,dx;\quad total=above+below",
    where=BIN_SYMBOLS | {"r(x)": "polygon through (c̄_b, ȳ_b) of the filled bins, from the first c̄_b to the last"},
    source="Hagopian et al. 2023; Lane, journal version, s4.5",
    pitfalls="The total is ece only when bars are weighted by their rows (measure=mass); the area one sees in a "
    "reliability diagram (measure=line) weighs by width, and is 0 when a single bin is filled.",
    aliases=(
        "area_between_curves",
        "above/below_ece",
        "integrated calibration error (Hagopian)",
    ),
    interval=GapNorm(norm=1, when=(("measure", "mass"),)),
)
def abc(bins: BinTotals, *, measure: Literal["mass", "line"] = "mass") -> Areas:
    """Under-confidence and over-confidence apart: area above and below the diagonal of a reliability diagram.

    Parameters
    ----------
    measure
        ``mass`` weighs the bars by their rows; ``line`` measures the area between the drawn line and the diagonal.
    """
    if measure == "mass":
        above = float(bins.mean(np.maximum(bins.gap, 0.0)))
        below = float(bins.mean(np.maximum(-bins.gap, 0.0)))
    else:
        x, gap = bins.confidence[bins.filled], bins.gap[bins.filled]
        above, below = area_above(x, gap), area_above(x, -gap)
    return Areas(total=above + below, above=above, below=below)


def area_above(x: Floats, height: Floats) -> float:
    """Area between the axis and the positive part of the polygon through (x, height)."""
    # Rounding of neighbouring means must not make the step between them negative.
    step = np.maximum(np.diff(x), 0.0)
    left, right = height[:-1], height[1:]
    trapezoid = (np.maximum(left, 0.0) + np.maximum(right, 0.0)) / 2
    # Where the line crosses the axis a triangle is left: base top/(top - bottom) of the step, height top.
    top, bottom = np.maximum(left, right), np.minimum(left, right)
    crosses = (bottom < 0) & (top > 0)
    triangle = np.divide(top**2 / 2, top - bottom, out=trapezoid.copy(), where=crosses)
    return float(np.sum(step * triangle))
