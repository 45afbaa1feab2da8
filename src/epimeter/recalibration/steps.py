# SPDX-License-Identifier: Apache-2.0
"""Maps without parameters: isotonic regression and histogram binning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import BinCount
from epimeter.metrics.curve.isotonic import isotonic, mean_score
from epimeter.metrics.curve.levels import TOP_LABEL, are_whole, as_copies, filled, weighty_rows
from epimeter.recalibration.scaling import mapped
from epimeter.results import Result
from epimeter.summaries import Ordered, OrderedRows
from epimeter.summaries.cuts import mass_borders, width_index

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class IsotonicFit(Result):
    """Number of steps, mean squared error after the map, and the map where it was asked for."""

    blocks: int
    brier: float
    mapped: Any = None


@metric(
    title="Isotonic regression map",
    family="recalibration",
    reads=Ordered(),
    range=(1.0, None),
    direction="none",
    equation=r"\hat y=\arg\min_{f\text{ non-decreasing}}\sum_i(y_i-f(c_i))^2",
    where={
        "blocks": "number of distinct fitted values",
        "brier": "mean (ŷ(c_i) - y_i)^2",
        "mapped": "at new points: linear between neighbouring distinct confidences, constant outside",
    },
    source="Zadrozny and Elkan 2002 KDD; Lane 2025 s5.10; ONTO 42001 Annex B.2.2",
    matrix=TOP_LABEL,
    pitfalls="The Brier score on the rows it was fitted to is optimistic. The map reaches 0 and 1 at the ends, where the "
    "log loss of a new row may be infinite.",
    aliases=("pav_map",),
)
def isotonic_regression(rows: OrderedRows, *, at: Any = None) -> IsotonicFit:
    """The non-decreasing map nearest to the outcomes.

    Parameters
    ----------
    at
        Where to evaluate the map: a number gives a number, an array an array. None: fit only.
    """
    levels = filled(rows)
    fit = isotonic(levels)
    return IsotonicFit(
        blocks=1 + int(np.count_nonzero(np.diff(fit))),
        brier=mean_score(levels, fit, "brier"),
        mapped=mapped(lambda where: np.interp(where, levels.prob, fit), at, "isotonic_regression"),
    )


@dataclass(frozen=True, kw_only=True)
class HistogramFit(Result):
    """Number of bins that hold rows, mean squared error after the map, and the map where it was asked for."""

    bins: int
    brier: float
    mapped: Any = None


@metric(
    title="Histogram binning map",
    family="recalibration",
    reads=Ordered(),
    range=(1.0, None),
    direction="none",
    equation=r"\hat y(c)=\bar y_b\ \text{ for } c\text{ in bin }b;\qquad \hat y(c)=c\ \text{ if bin }b"
    r"\text{ holds no sample}",
    where={
        "width": "bin min(floor(c bins), bins - 1)",
        "mass": "edges halfway between the last value of one group and the first of the next, groups of equal size in "
        "order of confidence; a value on an edge belongs to the upper bin, so ties are never cut",
        "bins": "number of bins that hold rows",
        "brier": "mean (ŷ(c_i) - y_i)^2",
    },
    source="Zadrozny and Elkan 2001 ICML; Guo et al. 2017 ICML; ONTO 42001 Annex B.2.2; beyond the review",
    matrix=TOP_LABEL,
    pitfalls="A bin without rows maps to the confidence itself. The Brier score on the rows it was fitted to is optimistic.",
    aliases=("quantile_binning",),
)
def histogram_binning(
    rows: OrderedRows,
    *,
    bins: BinCount = 15,
    binning: Literal["mass", "width"] = "mass",
    at: Any = None,
) -> HistogramFit:
    """Every confidence replaced by the frequency seen in its bin.

    Parameters
    ----------
    bins
        Number of bins.
    binning
        ``mass``: groups of equal size; ``width``: bins of equal width.
    at
        Where to evaluate the map: a number gives a number, an array an array. None: fit only.
    """
    bins = int(bins)
    levels = filled(rows)
    edges = group_edges(levels.prob, as_copies(levels.weight, weighty_rows(rows)), bins)

    def bin_of(prob: Floats) -> NDArray[np.intp]:
        return width_index(prob, bins) if binning == "width" else np.searchsorted(edges, prob, side="right")

    home = bin_of(levels.prob)
    size = np.bincount(home, weights=levels.weight, minlength=bins)
    frequency = np.divide(
        np.bincount(home, weights=levels.true, minlength=bins), size, out=np.zeros(len(size)), where=size > 0
    )

    def curve(prob: Floats) -> Floats:
        place = bin_of(prob)
        return np.where(size[place] > 0, frequency[place], prob)

    return HistogramFit(
        bins=int(np.count_nonzero(size)),
        brier=mean_score(levels, curve(levels.prob), "brier"),
        mapped=mapped(curve, at, "histogram_binning"),
    )


def group_edges(prob: Floats, copies: Floats, bins: int) -> Floats:
    """Where groups of equal size meet: halfway between the last value of one and the first of the next."""
    end = np.cumsum(copies)
    whole = are_whole(copies)
    border = mass_borders(int(end[-1]), bins)[1:-1] if whole else end[-1] * np.arange(1, bins) / bins
    border = border[(border > 0) & (border < end[-1])]
    last = prob[np.minimum(np.searchsorted(end, border, side="left"), len(prob) - 1)]
    first = prob[np.minimum(np.searchsorted(end, border, side="right"), len(prob) - 1)]
    return np.asarray((last + first) / 2)
