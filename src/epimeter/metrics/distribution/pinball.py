# SPDX-License-Identifier: Apache-2.0
"""The pinball loss of quantiles, and the scores of intervals that are made of it."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import UndefinedMetricError
from epimeter.forecasts import COLUMNS, Forecast
from epimeter.limits import Between
from epimeter.metrics.distribution.coverage import ENDS, NUMERIC, STATED, Level
from epimeter.summaries.exact import RowMeans, RowSums

Floats = NDArray[np.float64]
NEAR = 1e-9


def pinball(true: Floats, quantile: Floats, level: Floats | float) -> Floats:
    """(y - q) tau above the quantile, (q - y) (1 - tau) below it."""
    off = true - quantile
    return np.asarray(np.where(off >= 0, level * off, (level - 1) * off))


def pinball_losses(
    view: Forecast, *, quantile: Annotated[float | None, Between(0, 1, open_low=True, open_high=True)] = None
) -> Floats:
    """The loss of every row.

    Parameters
    ----------
    quantile
        The level of the quantile that is scored; None takes the mean over all levels that are stated (of a normal law and of
        an ensemble 0.05, 0.1 … 0.95).
    """
    levels = view.stated_levels if quantile is None else [quantile]
    losses = [pinball(view.true, view.quantile(float(level)), float(level)) for level in levels]
    return np.asarray(np.mean(losses, axis=0))


@metric(
    title="Pinball loss",
    family="distribution",
    reads=RowMeans(pinball_losses),
    forecasts=("normal", "quantiles", "ensemble"),
    takes=COLUMNS,
    range=(0.0, None),
    direction="lower",
    proper="yes",
    equation=r"\rho_\tau(y-q)=\begin{cases}\tau\,(y-q)&y\ge q\\(1-\tau)\,(q-y)&y<q\end{cases},\qquad"
    r"\frac1N\sum_i\frac1K\sum_k\rho_{\tau_k}(y_i-q_{ik})",
    where={"q_ik": "quantile of level τ_k that row i states", "K": "number of levels"},
    source="Koenker and Bassett 1978, Econometrica 46; Gneiting and Raftery 2007, JASA 102; beyond the review",
    pitfalls="In the unit of what is forecast. The mean over levels depends on which are stated.",
    aliases=("quantile loss", "quantile_score", "check_loss", "mean_pinball_loss", "pinball"),
)
def pinball_loss(sums: RowSums) -> float:
    """How far quantiles are from what came true, each side weighed by its chance."""
    return sums.mean


def interval_scores(view: Forecast, *, level: Level = 0.9) -> Floats:
    """Width of the interval, and what it misses the truth by, times 2 / (1 - level).

    Parameters
    ----------
    level
        Nominal coverage, as in picp.
    """
    lower, upper = view.interval(level)
    return interval_score_of(view.true, lower, upper, level)


def interval_score_of(true: Floats, lower: Floats, upper: Floats, level: float) -> Floats:
    """The score of given ends."""
    below, above = np.maximum(lower - true, 0.0), np.maximum(true - upper, 0.0)
    return np.asarray((upper - lower) + 2 / (1 - level) * (below + above))


@metric(
    title="Interval score (Winkler)",
    family="distribution",
    reads=RowMeans(interval_scores),
    forecasts=NUMERIC,
    takes=COLUMNS,
    range=(0.0, None),
    direction="lower",
    proper="yes",
    equation=r"S=\frac1N\sum_i\Big[(u_i-l_i)+\frac{2}{1-level}\big((l_i-y_i)_++(y_i-u_i)_+\big)\Big]",
    where=ENDS,
    source="Winkler 1972, JASA 67; Gneiting and Raftery 2007, JASA 102, eq 43; beyond the review",
    pitfalls=STATED
    + "Proper for the central interval of the level, whose ends are the quantiles (1 - level) / 2 and (1 + level) / 2; "
    "other intervals of the same coverage are not rewarded. In the unit of what is forecast.",
    aliases=("winkler_score", "winkler", "mean_winkler_interval_score", "regression_mwi_score"),
)
def interval_score(sums: RowSums) -> float:
    """Width of the intervals, and a fine for every truth outside."""
    return sums.mean


WIDE_LEVELS = (0.5, 0.8, 0.9, 0.95)
"""Levels of the intervals read off a distribution."""


def weighted_scores(view: Forecast) -> Floats:
    """Half the error of the median, and the interval score of each level times half its rest, over their number and a half."""
    levels = np.array(WIDE_LEVELS)
    if view.kind == "quantiles":
        stated = view.stated_levels
        levels = np.array([2 * up - 1 for up in stated if up > 0.5 + NEAR and np.abs(stated - (1 - up)).min() < NEAR])
        if not len(levels):
            raise UndefinedMetricError("weighted_interval_score needs two quantiles whose levels add up to 1; none do")
    total = 0.5 * np.abs(view.true - view.quantile(0.5))
    for level in levels.tolist():
        lower, upper = view.interval(level)
        total = total + (1 - level) / 2 * interval_score_of(view.true, lower, upper, level)
    return np.asarray(total / (len(levels) + 0.5))


@metric(
    title="Weighted interval score",
    family="distribution",
    reads=RowMeans(weighted_scores),
    forecasts=("normal", "quantiles", "ensemble"),
    takes=COLUMNS,
    range=(0.0, None),
    direction="lower",
    proper="yes",
    equation=r"WIS=\frac1N\sum_i\frac{1}{K+\frac12}\Big[\tfrac12|y_i-m_i|+\sum_k\frac{\alpha_k}{2}S_{1-\alpha_k,i}\Big]",
    where={
        "m_i": "median",
        "S": "interval score of level 1 - α_k",
        "K": "central intervals: those whose both ends are stated; of a normal law and an ensemble levels 0.5, 0.8, 0.9, 0.95",
    },
    source="Bracher, Ray, Gneiting and Reich 2021, PLOS Computational Biology 17; beyond the review",
    pitfalls="Depends on which levels are stated, so forecasts of different levels are not comparable. With many levels it tends "
    "to the CRPS. Quantiles must hold the median.",
    aliases=("wis",),
)
def weighted_interval_score(sums: RowSums) -> float:
    """Interval scores of several levels and the error of the median in one number, near the CRPS."""
    return sums.mean
