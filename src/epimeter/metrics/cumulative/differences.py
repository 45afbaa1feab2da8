# SPDX-License-Identifier: Apache-2.0
"""The cumulative difference plot and its two summaries, the largest deviation and the range.

No bins and no bandwidth: the slope of a secant of the plot is the mean of outcome minus confidence between
its ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.metrics.cumulative.brownian import brownian_tail
from epimeter.metrics.cumulative.walk import (
    REDUCED,
    WALK_SYMBOLS,
    Reduction,
    Ties,
    Walk,
    event,
    ratio,
    span,
    steps_of,
)
from epimeter.results import Result
from epimeter.summaries import Rows
from epimeter.uncertainty import CumulativeWalk, WalkExtent
from epimeter.views import View

Floats = NDArray[np.float64]

ASYMPTOTIC = (
    "The p-value is asymptotic: do not trust it when the variances w^2 c(1-c), relative to the largest "
    "squared weight, add up to less than 30. Fewer than 30 distinct confidences make the walk coarse and the "
    "p-value too large. "
)
WEIGHTS = (
    "Weights are importances, not counts: a weight of 2 moves the walk like two rows but does not make sigma "
    "as small as two rows would."
)


@dataclass(frozen=True, kw_only=True)
class CumulativeDifferences(Result):
    """The plot (fraction, difference) with its end, its extremes and the size of its noise."""

    terminal: float
    maximum: float
    minimum: float
    sigma: float
    steps: int
    confidence: Floats
    fraction: Floats
    difference: Floats


@dataclass(frozen=True, kw_only=True)
class CumulativeError(Result):
    """A deviation of the walk, its noise, their ratio, and how likely a calibrated model exceeds it."""

    value: float
    sigma: float
    statistic: float
    p_value: float


@metric(
    title="Cumulative difference plot",
    family="cumulative",
    copies=False,
    reads=Rows("given"),
    range=(-1.0, 1.0),
    ideal=0.0,
    direction="signed",
    equation=r"C_0=0,\qquad C_j=\frac{\sum_{i\in G_1\cup\dots\cup G_j}w_i(y_i-c_i)}{\sum_i w_i},\qquad "
    r"\sigma^2=\frac{\sum_i w_i^2c_i(1-c_i)}{(\sum_i w_i)^2}",
    where=WALK_SYMBOLS,
    source="Arrieta-Ibarra, Gujral, Tannen, Tygert & Xu 2022, JMLR 23(351); Lane 2025 s6.1 eq 91",
    matrix=REDUCED,
    pitfalls="A falling stretch means over-confidence there, a rising one under-confidence. The line of a "
    "calibrated model is not flat but a random walk of size sigma. " + WEIGHTS,
    aliases=("cumulative_differences", "cumulative_calibration_plot"),
)
def cdp(view: View, *, reduction: Reduction = "top", k: int = 1, ties: Ties = "group") -> CumulativeDifferences:
    """Running mean of outcome minus confidence, from the least confident row to the most confident one.

    Parameters
    ----------
    reduction
        What a matrix is read as: ``top`` the k-th most likely class, ``within`` the k most likely classes
        together, ``class`` class number k against the rest. Ignored for a vector.
    k
        Rank from 1 for ``top``, number of classes from 1 for ``within``, class index from 0 for ``class``.
    ties
        ``group`` makes equal confidences one step; ``stable`` makes every row a step, ties in row order.
    """
    walk = Walk(steps_of(event(view, reduction, k, "cdp"), ties))
    return CumulativeDifferences(
        terminal=walk.terminal,
        maximum=walk.maximum,
        minimum=walk.minimum,
        sigma=walk.sigma,
        steps=len(walk.difference),
        confidence=walk.confidence,
        fraction=walk.fraction,
        difference=walk.difference,
    )


@metric(
    title="Empirical cumulative calibration error, maximum absolute deviation",
    family="cumulative",
    copies=False,
    reads=Rows("given"),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    test="asymptotic",
    equation=r"ECCE_{MAD}=\max_{1\le j\le J}|C_j|,\qquad \text{statistic}=\frac{ECCE_{MAD}}{\sigma},\qquad "
    r"p=P\big(\max_{0\le t\le1}|W(t)|\ge\text{statistic}\big)",
    where=WALK_SYMBOLS | {"W": "standard Brownian motion"},
    source="Arrieta-Ibarra et al. 2022, JMLR 23(351); Gupta et al. 2021 ICLR (KS error); Lane 2025 s6.1 eq 92 and 94",
    matrix=REDUCED,
    pitfalls=ASYMPTOTIC + "Under calibration the statistic is 1.2533 on average, not 0. Others break ties at random "
    "or by an unstable sort; here equal confidences are one step. " + WEIGHTS,
    aliases=(
        "ks_error",
        "kolmogorov_smirnov_calibration_error",
        "ks",
        "ks_calibration",
        "kolmogorov_smirnov",
    ),
    simulated="Nominal 95 % intervals cover 92 to 97 % for N from 500 to 10,000 (300 data sets a cell).",
    interval=WalkExtent(),
    bound=CumulativeWalk(span=False),
)
def ecce_mad(view: View, *, reduction: Reduction = "top", k: int = 1, ties: Ties = "group") -> CumulativeError:
    """Largest distance of the cumulative differences from 0: the Kolmogorov-Smirnov calibration error.

    Parameters
    ----------
    reduction, k, ties
        As in cdp.
    """
    walk = span(event(view, reduction, k, "ecce_mad"), ties)
    value = max(walk.maximum, -walk.minimum)
    statistic = ratio(value, walk.sigma)
    return CumulativeError(
        value=value,
        sigma=walk.sigma,
        statistic=statistic,
        p_value=brownian_tail.compute(statistic, kind="max_abs"),
    )


@metric(
    title="Empirical cumulative calibration error, range",
    family="cumulative",
    copies=False,
    reads=Rows("given"),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    test="asymptotic",
    equation=r"ECCE_R=\max_{0\le j\le J}C_j-\min_{0\le j\le J}C_j,\qquad "
    r"\text{statistic}=\frac{ECCE_R}{\sigma},\qquad p=P\big(\max W-\min W\ge\text{statistic}\big)",
    where=WALK_SYMBOLS | {"W": "standard Brownian motion on [0, 1]"},
    source="Arrieta-Ibarra et al. 2022, JMLR 23(351); Feller 1951, Annals of Mathematical Statistics 22; "
    "Lane 2025 s6.1 eq 93 and 94",
    matrix=REDUCED,
    pitfalls=ASYMPTOTIC + "Under calibration the statistic is 1.5958 on average, not 0. " + WEIGHTS,
    aliases=("kuiper_calibration_error", "ecce", "kuiper", "kuiper_calibration", "ecce_kuiper", "kuiper_statistic"),
    simulated="Nominal 95 % intervals cover 93 to 98 % for N from 500 to 10,000, but 90 % where the error is one to three "
    "standard errors, with N = 10,000 (300 data sets a cell).",
    interval=WalkExtent(span=True),
    bound=CumulativeWalk(span=True),
)
def ecce_r(view: View, *, reduction: Reduction = "top", k: int = 1, ties: Ties = "group") -> CumulativeError:
    """Largest excess or lack of outcomes over any interval of confidence: the Kuiper calibration error.

    Parameters
    ----------
    reduction, k, ties
        As in cdp.
    """
    walk = span(event(view, reduction, k, "ecce_r"), ties)
    value = walk.maximum - walk.minimum
    statistic = ratio(value, walk.sigma)
    return CumulativeError(
        value=value,
        sigma=walk.sigma,
        statistic=statistic,
        p_value=brownian_tail.compute(statistic, kind="range"),
    )
