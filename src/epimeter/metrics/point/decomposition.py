# SPDX-License-Identifier: Apache-2.0
"""Proper scores taken apart: how reliable, how resolved, how uncertain the matter itself.

Rows are grouped by equal forecast, where the three terms close exactly, or by bins, where what happens inside
a bin is returned beside them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import InputError
from epimeter.limits import AtLeast
from epimeter.metrics.point.brier import square_errors
from epimeter.metrics.point.entropic import positive_log
from epimeter.metrics.point.likelihood import log_losses
from epimeter.results import Result
from epimeter.summaries import Rows
from epimeter.summaries.cuts import bin_index
from epimeter.summaries.sums import row_mean
from epimeter.views import Binary, View

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Grouping = Literal["unique", "width", "mass"]
BinCount = Annotated[int, AtLeast(1)]


@dataclass(frozen=True)
class GroupedRows:
    """Rows with their groups."""

    row: Indices
    group: Indices
    weight: Floats
    count: int

    def totals(self, values: Floats) -> Floats:
        """Weighted sum of a column by group."""
        totals = np.bincount(self.group, weights=self.weight * values, minlength=self.count)
        return totals.astype(np.float64, copy=False)  # whole numbers where there are no rows

    @property
    def size(self) -> Floats:
        return self.totals(np.ones(len(self.row)))

    def mean(self, values: Floats) -> Floats:
        """Weighted mean of a column by group, 0 in an empty one."""
        size = self.size
        return np.divide(self.totals(values), size, out=np.zeros(self.count), where=size > 0)


def equal_rows(prob: NDArray[Any], weight: Floats) -> GroupedRows:
    """Rows with exactly the same forecast together."""
    order = np.lexsort(prob.T[::-1]) if prob.ndim == 2 else np.argsort(prob, kind="stable")
    ranked = prob[order].reshape(len(prob), -1)
    new = np.concatenate([[False], (ranked[1:] != ranked[:-1]).any(axis=1)])
    group = np.cumsum(new)
    return GroupedRows(order, group, weight[order], int(group[-1]) + 1)


def binned_rows(prob: NDArray[Any], weight: Floats | None, bins: int, binning: Literal["width", "mass"]) -> GroupedRows:
    """Rows by bins of one probability."""
    index = bin_index(prob, weight, bins, binning)
    return GroupedRows(np.arange(len(prob)), index, np.ones(len(prob)) if weight is None else weight, bins)


def weighty(view: View) -> View:
    """The rows whose weight is not zero."""
    return view if view.weight is None or view.weight.all() else view.take(view.weight > 0)


def columns_of(view: View, binning: Grouping, bins: int) -> Iterator[tuple[GroupedRows, Floats, Floats]]:
    """Groups, forecasts and outcomes of each problem: class 1 of a vector, every class of a matrix."""
    mass = np.ones(view.n_rows) if view.weight is None else view.weight
    whole = equal_rows(view.prob, mass) if binning == "unique" else None
    binary = isinstance(view, Binary)
    for k in (1,) if binary else range(view.n_classes):
        prob = view.prob if binary else view.prob[:, k]
        groups = whole or binned_rows(prob, view.weight, bins, "width" if binning == "width" else "mass")
        yield groups, prob[groups.row].astype(np.float64), (view.true[groups.row] == k).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class BrierTerms(Result):
    """score = reliability - resolution + uncertainty + within_bin_variance - within_bin_covariance."""

    score: float
    reliability: float
    resolution: float
    uncertainty: float
    within_bin_variance: float
    within_bin_covariance: float


def murphy_terms(groups: GroupedRows, prob: Floats, true: Floats) -> tuple[float, ...]:
    """REL, RES, UNC, WBV, WBC of one column of probabilities."""
    size = groups.size
    total = size.sum()
    said, seen = groups.mean(prob), groups.mean(true)
    rate = groups.totals(true).sum() / total
    # Centred values: raw second moments would cancel.
    prob_rest, true_rest = prob - said[groups.group], true - seen[groups.group]
    return (
        float(np.sum(size * (said - seen) ** 2) / total),
        float(np.sum(size * (seen - rate) ** 2) / total),
        float(rate * (1 - rate)),
        float(np.sum(groups.weight * prob_rest**2) / total),
        float(2 * np.sum(groups.weight * true_rest * prob_rest) / total),
    )


@metric(
    title="Murphy decomposition of the Brier score",
    family="point",
    reads=Rows("given"),
    range=(0.0, 1.0),
    direction="lower",
    proper="no",
    equation=r"REL=\frac1W\sum_gW_g(\bar c_g-\bar y_g)^2,\ RES=\frac1W\sum_gW_g(\bar y_g-\bar y)^2,\ "
    r"UNC=\bar y(1-\bar y),\ WBV=\frac1W\sum_g\sum_{i\in g}w_i(c_i-\bar c_g)^2,\ "
    r"WBC=\frac2W\sum_g\sum_{i\in g}w_i(y_i-\bar y_g)(c_i-\bar c_g),\ BS=REL-RES+UNC+WBV-WBC",
    where={
        "g": "a group of rows: equal forecast, or one bin",
        "W_g": "weight of the group; W of all rows (N when unweighted)",
        "c̄_g": "mean forecast of the group",
        "ȳ_g": "frequency of the outcome in the group; ȳ over all rows",
    },
    source="Murphy 1973, J. Applied Meteorology 12:595-600; Broecker 2009, QJRMS 135; within-bin terms: "
    "Stephenson, Coelho and Jolliffe 2008, Weather and Forecasting 23; Lane 2025 s3.2 eq 4",
    matrix="unique: rows are grouped by all their probabilities; width and mass: each class is binned by "
    "itself. The terms are averaged over the classes",
    pitfalls="The printed three terms close only where every group has one forecast; with bins the two "
    "within-bin terms close the sum. When all forecasts differ, unique says nothing: reliability is the "
    "whole score.",
    aliases=("reliability_resolution_uncertainty", "rel_res_unc"),
)
def brier_decomposition(view: View, *, binning: Grouping = "unique", bins: BinCount = 10) -> BrierTerms:
    """Brier score as reliability, resolution and uncertainty, plus what happens inside the bins.

    Parameters
    ----------
    binning
        ``unique`` groups rows of exactly equal forecast; ``width`` and ``mass`` group by bins of the
        probability.
    bins
        Number of bins for ``width`` and ``mass``.
    """
    view = weighty(view)
    columns = [murphy_terms(*column) for column in columns_of(view, binning, bins)]
    terms = [math.fsum(term) / len(columns) for term in zip(*columns, strict=True)]
    return BrierTerms(
        score=row_mean(square_errors(view), view.weight) / view.n_classes,
        reliability=terms[0],
        resolution=terms[1],
        uncertainty=terms[2],
        within_bin_variance=terms[3],
        within_bin_covariance=terms[4],
    )


@dataclass(frozen=True, kw_only=True)
class LogTerms(Result):
    """score = reliability - resolution + uncertainty + residual."""

    score: float
    reliability: float
    resolution: float
    uncertainty: float
    residual: float


def divergence(seen: Floats, said: Floats) -> Floats:
    """Kullback-Leibler divergence along the last axis; inf where something occurs that was ruled out."""
    possible = np.where(seen > 0, said, 1.0)
    terms = np.where(possible > 0, seen * (positive_log(seen) - positive_log(possible)), np.inf)
    return np.asarray(terms.sum(axis=-1))


@metric(
    title="Decomposition of the log score",
    family="point",
    reads=Rows("given"),
    range=(0.0, None),
    direction="lower",
    proper="no",
    equation=r"REL=\sum_g\frac{W_g}{W}\,\mathrm{KL}(\bar y_g\,\|\,\bar c_g),\quad "
    r"RES=\sum_g\frac{W_g}{W}\,\mathrm{KL}(\bar y_g\,\|\,\bar y),\quad UNC=H(\bar y),\quad "
    r"NLL=REL-RES+UNC+\text{residual}",
    where={
        "KL": "Kullback-Leibler divergence, sum of a log(a / b) with 0 log 0 = 0",
        "H": "Shannon entropy, natural logarithm",
        "g": "a group of rows: equal forecast, or one bin; W_g its weight",
        "c̄_g, ȳ_g": "mean forecast and class frequencies of the group",
    },
    source="Toedter and Ahrens 2012, Monthly Weather Review 140; Broecker 2009, QJRMS 135; Lane 2025 s3.2 eq 4",
    matrix="rows are grouped by all their probabilities; (N, 2) is read as its second column",
    pitfalls="Bins leave a residual, which is zero only for groups of one forecast; where something happened "
    "that was ruled out, score and reliability are infinite and the residual is NaN.",
    aliases=("ignorance_decomposition",),
)
def nll_decomposition(view: View, *, binning: Grouping = "unique", bins: BinCount = 10) -> LogTerms:
    """Log score as reliability, resolution and uncertainty.

    Parameters
    ----------
    binning
        ``unique`` groups rows of exactly equal forecast; ``width`` and ``mass`` group by bins of the
        probability of class 1, for two classes only.
    bins
        Number of bins for ``width`` and ``mass``.
    """
    view = weighty(view)
    if view.n_classes == 2 and not isinstance(view, Binary):
        view = Binary(view.true.astype(np.uint8), view.prob[:, 1], view.weight)
    size, said, seen = group_forecasts(view, binning, bins)
    share = size / size.sum()
    rate = share @ seen
    reliability = float(np.sum(share * divergence(seen, said)))
    resolution = float(np.sum(share * divergence(seen, rate)))
    uncertainty = float(-np.sum(rate * positive_log(rate)))
    score = row_mean(log_losses(view), view.weight)
    return LogTerms(
        score=score,
        reliability=reliability,
        resolution=resolution,
        uncertainty=uncertainty,
        residual=score - (reliability - resolution + uncertainty),
    )


def group_forecasts(view: View, binning: Grouping, bins: int) -> tuple[Floats, Floats, Floats]:
    """Weight, mean forecast and class frequencies of every group that holds rows."""
    if binning == "unique":
        groups = equal_rows(view.prob, np.ones(view.n_rows) if view.weight is None else view.weight)
    elif isinstance(view, Binary):
        groups = binned_rows(view.prob, view.weight, bins, binning)
    else:
        raise InputError(
            f"binning of nll_decomposition must be unique for more than two classes; got {binning!r}",
            field="binning",
        )
    prob, true = view.classes.prob.astype(np.float64, copy=False)[groups.row], view.true[groups.row]
    size = groups.size
    seen = np.column_stack([groups.mean((true == k).astype(np.float64)) for k in range(view.n_classes)])
    if binning == "unique":  # the common forecast itself: a mean could round a tiny probability to 0
        said = prob[np.flatnonzero(np.diff(groups.group, prepend=-1))]
    else:
        said = np.column_stack([groups.mean(column) for column in prob.T])
    filled = size > 0
    return size[filled], said[filled], seen[filled]
