# SPDX-License-Identifier: Apache-2.0
"""Coverage in parts of the rows: by group, by the size of what was stated, by true class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import UndefinedMetricError
from epimeter.forecasts import COLUMNS, Forecast, Sets
from epimeter.limits import AtLeast, Between
from epimeter.metrics.distribution.coverage import Level, inside
from epimeter.results import Result
from epimeter.summaries.exact import WholeForecast

Floats = NDArray[np.float64]
EVERY = ("normal", "quantiles", "ensemble", "interval", "set")
FEW = "The least of several shares is biased downwards: of strata of 100 rows that all cover 90 %, the least of ten is about 85 %. "


@dataclass(frozen=True, kw_only=True)
class StrataCoverage(Result):
    """The least coverage of any stratum, the largest distance of one from the level, their mean distance, their number."""

    least: float
    largest_gap: float
    mean_gap: float
    strata: int


def covered_rows(view: Forecast, level: float) -> NDArray[np.bool_]:
    """Whether the truth was covered, by intervals and sets alike."""
    return view.covered if isinstance(view, Sets) else inside(view, level)


def by_stratum(view: Forecast, stratum: NDArray[np.intp], level: float, least_rows: int, name: str) -> StrataCoverage:
    """Coverage of strata that hold enough rows."""
    weight = np.ones(view.n_rows) if view.weight is None else view.weight
    count = np.bincount(stratum[weight > 0])
    mass = np.bincount(stratum, weights=weight)
    hits = np.bincount(stratum, weights=weight * covered_rows(view, level))
    if view.weight is not None:
        count = np.floor(mass + 1e-9).astype(np.int64)
    enough = (count >= least_rows) & (mass > 0)
    if not enough.any():
        raise UndefinedMetricError(
            f"{name} needs a stratum of at least {least_rows} rows; the largest has {count.max(initial=0)}"
        )
    share = hits[enough] / mass[enough]
    gap = np.abs(share - level)
    return StrataCoverage(
        least=float(share.min()), largest_gap=float(gap.max()), mean_gap=float(gap.mean()), strata=int(enough.sum())
    )


LeastRows = Annotated[int, AtLeast(1)]


@metric(
    title="Conditional coverage by group",
    family="distribution",
    reads=WholeForecast(),
    forecasts=EVERY,
    takes=COLUMNS,
    needs=("groups",),
    range=(0.0, 1.0),
    direction="higher",
    equation=r"\min_g\frac{1}{N_g}\sum_{i\in g}\mathbb 1\{y_i\in C_i\}",
    where={"g": "group", "C_i": "interval or set of row i"},
    source="Angelopoulos and Bates 2023, Foundations and Trends in Machine Learning 16 (feature-stratified coverage); Vovk 2012; "
    "beyond the review",
    pitfalls=FEW + "Groups with fewer than least_rows rows are left out.",
    aliases=("feature_stratified_coverage", "fsc", "group_conditional_coverage"),
)
def conditional_coverage(view: Forecast, *, level: Level = 0.9, least_rows: LeastRows = 10) -> StrataCoverage:
    """The least coverage of any group, and how far groups are from the level.

    Parameters
    ----------
    level
        Nominal coverage, as in picp.
    least_rows
        Rows that a group must have to count.
    """
    group = np.unique(view.columns["groups"], return_inverse=True)[1].ravel()
    return by_stratum(view, group, level, least_rows, "conditional_coverage")


@metric(
    title="Size-stratified coverage",
    family="distribution",
    reads=WholeForecast(),
    forecasts=EVERY,
    takes=COLUMNS,
    range=(0.0, 1.0),
    direction="higher",
    equation=r"\min_s\frac{1}{N_s}\sum_{i:\,|C_i|\in s}\mathbb 1\{y_i\in C_i\}",
    where={
        "|C_i|": "width of the interval, or number of labels of the set",
        "s": "stratum: equal numbers of rows by width, or one size",
    },
    source="Angelopoulos, Bates, Malik and Jordan 2021, ICLR (size-stratified coverage violation); Cauchois, Gupta and Duchi 2021, "
    "JMLR 22; beyond the review",
    pitfalls=FEW
    + "Intervals of equal width are one stratum; sizes of sets that fewer than least_rows rows have are left out. MAPIE "
    "cuts widths into bins by rank, so that equal widths can fall into two.",
    aliases=("ssc", "sscs", "size_stratified_coverage_score", "regression_ssc_score"),
)
def size_stratified_coverage(
    view: Forecast, *, level: Level = 0.9, strata: Annotated[int, Between(1, 1000)] = 5, least_rows: LeastRows = 10
) -> StrataCoverage:
    """The least coverage among rows whose intervals or sets are of similar size.

    Parameters
    ----------
    level
        Nominal coverage, as in picp.
    strata
        Number of strata by width; sets have one for each size.
    least_rows
        Rows that a stratum must have to count.
    """
    if isinstance(view, Sets):
        return by_stratum(view, view.size.astype(np.intp), level, least_rows, "size_stratified_coverage")
    lower, upper = view.interval(level)
    return by_stratum(
        view, width_strata(upper - lower, view.weight, strata), level, least_rows, "size_stratified_coverage"
    )


def width_strata(width: Floats, weight: Floats | None, strata: int) -> NDArray[np.intp]:
    """Strata of about equal numbers of rows by width; equal widths are never parted."""
    order = np.argsort(width, kind="stable")
    mass = np.ones(len(width)) if weight is None else weight
    running = np.cumsum(mass[order])
    wanted = running[-1] * np.arange(1, strata) / strata
    cuts = np.unique(width[order][np.searchsorted(running, wanted * (1 - 1e-12))])
    return np.searchsorted(cuts, width, side="left")


@metric(
    title="Class-conditional coverage of sets",
    family="distribution",
    reads=WholeForecast(),
    forecasts=("set",),
    takes=COLUMNS,
    range=(0.0, 1.0),
    direction="higher",
    equation=r"\min_k\frac{1}{N_k}\sum_{i:\,y_i=k}\mathbb 1\{k\in C_i\},\qquad"
    r"\text{mean\_gap}=\frac1K\sum_k\Big|\frac{1}{N_k}\sum_{i:\,y_i=k}\mathbb 1\{k\in C_i\}-level\Big|",
    where={"C_i": "set of row i", "N_k": "rows of true class k"},
    source="Vovk 2012, ACML; Ding, Angelopoulos, Bates, Jordan and Tibshirani 2023, NeurIPS (CovGap is 100 times mean_gap); beyond "
    "the review",
    pitfalls=FEW + "Classes with fewer than least_rows rows are left out.",
    aliases=("covgap", "class_coverage_gap"),
)
def class_conditional_coverage(view: Sets, *, level: Level = 0.9, least_rows: LeastRows = 10) -> StrataCoverage:
    """The least coverage of any true class, and how far classes are from the level.

    Parameters
    ----------
    level
        Nominal coverage of the sets.
    least_rows
        Rows that a class must have to count.
    """
    label = np.unique(np.array([str(value) for value in view.true.tolist()]), return_inverse=True)[1].ravel()
    return by_stratum(view, label, level, least_rows, "class_conditional_coverage")
