# SPDX-License-Identifier: Apache-2.0
"""How often intervals hold the truth, how wide they are, and both in one score."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.forecasts import COLUMNS, Forecast
from epimeter.limits import Between
from epimeter.summaries.exact import RowMeans, RowSums

Floats = NDArray[np.float64]
Level = Annotated[float, Between(0, 1, open_low=True, open_high=True)]

NUMERIC = ("normal", "quantiles", "ensemble", "interval")
STATED = (
    "Intervals given by lower and upper are taken to be of this level; off a distribution the central interval of this level "
    "is read, and quantiles must state both of its ends. "
)
ENDS = {
    "l_i, u_i": "ends of the interval of row i, both belonging to it",
    "y_i": "what came true",
    "level": "the coverage that is claimed",
}


def inside(view: Forecast, level: float) -> NDArray[np.bool_]:
    """Whether the interval of a level holds the truth, row by row."""
    lower, upper = view.interval(level)
    return np.asarray((lower <= view.true) & (view.true <= upper))


def covered(view: Forecast, *, level: Level = 0.9) -> Floats:
    """1 where the interval holds the truth.

    Parameters
    ----------
    level
        Nominal coverage: intervals given by lower and upper are taken to be of this level, off other forecasts the central
        interval of this level is read.
    """
    return inside(view, level).astype(np.float64)


@metric(
    title="Prediction interval coverage probability",
    family="distribution",
    reads=RowMeans(covered),
    forecasts=NUMERIC,
    takes=COLUMNS,
    range=(0.0, 1.0),
    direction="none",
    aims_at="level",
    test="exact",
    equation=r"PICP=\frac1N\sum_i\mathbb 1\{l_i\le y_i\le u_i\}",
    where=ENDS,
    source="Khosravi, Nahavandi, Creighton and Atiya 2011, IEEE Transactions on Neural Networks 22; beyond the review",
    pitfalls=STATED
    + "The ideal is the level, not 1. Coverage on average can hide intervals that are too wide for easy rows and "
    "too narrow for hard ones: see size_stratified_coverage and conditional_coverage. An interval over the whole range of "
    "outcomes covers always, so it is read beside the width.",
    aliases=("interval coverage", "empirical coverage", "regression_coverage_score"),
)
def picp(sums: RowSums) -> float:
    """How often the interval holds the truth; a calibrated forecast covers as often as its level says."""
    return sums.mean


def widths(view: Forecast, *, level: Level = 0.9) -> Floats:
    """Upper less lower end.

    Parameters
    ----------
    level
        Nominal coverage, as in picp.
    """
    lower, upper = view.interval(level)
    return np.asarray(upper - lower)


@metric(
    title="Mean width of the prediction intervals",
    family="distribution",
    reads=RowMeans(widths),
    forecasts=NUMERIC,
    takes=COLUMNS,
    range=(0.0, None),
    direction="lower",
    equation=r"MPIW=\frac1N\sum_i(u_i-l_i)",
    where=ENDS,
    source="Khosravi, Nahavandi, Creighton and Atiya 2011, IEEE Transactions on Neural Networks 22; beyond the review",
    pitfalls=STATED + "Narrow intervals are worth nothing if they do not cover; in the unit of what is forecast.",
    aliases=("mpiw", "sharpness", "regression_mean_width_score"),
)
def mean_interval_width(sums: RowSums) -> float:
    """How wide the intervals are, in the unit of what is forecast."""
    return sums.mean
