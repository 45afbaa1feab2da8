# SPDX-License-Identifier: Apache-2.0
"""Two families of proper scores with an exponent: the pseudo-spherical and the power scores."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import Between
from epimeter.summaries import Mean, MeanOf
from epimeter.summaries.means import in_core
from epimeter.summaries.rowwise import row_dot
from epimeter.views import Binary, View

Floats = NDArray[np.float64]
Alpha = Annotated[float, Between(1, math.inf, open_low=True, open_high=True)]
CLASSES = {"c_ik": "probability of class k in row i", "c_i,y_i": "probability of the true class"}


def pseudo_spherical(view: View, *, alpha: Alpha = 2.0) -> Floats:
    """Pseudo-spherical score of each row.

    Parameters
    ----------
    alpha
        Exponent above 1; 2 is the spherical score.
    """
    prob = view.prob.astype(np.float64, copy=False)
    largest = prob.max(axis=1)
    # In units of the row's maximum, so that a large exponent does not underflow.
    length = ((prob / largest[:, None]) ** alpha).sum(axis=1) ** (1 / alpha)
    return np.asarray((view.picked / largest / length) ** (alpha - 1))


@metric(
    title="Pseudo-spherical score",
    family="point",
    reads=MeanOf(pseudo_spherical, "classes"),
    range=(0.0, 1.0),
    direction="higher",
    proper="strictly",
    equation=r"PSS=\frac1N\sum_i\Big(\frac{c_{i,y_i}}{\|c_i\|_\alpha}\Big)^{\alpha-1},\qquad"
    r"\|c\|_\alpha=\Big(\sum_k c_k^{\alpha}\Big)^{1/\alpha}",
    where=CLASSES,
    source="Good 1971; Gneiting and Raftery 2007, JASA 102; Broecker 2009, QJRMS 135; Lane 2025 s3.10 eq 22",
    matrix="full class probabilities",
    pitfalls="Higher is better, as printed. As alpha nears 1 every score nears 1; only (PSS - 1) / (alpha - "
    "1) tends to the log score.",
    aliases=("pss",),
)
def pseudo_spherical_score(mean: Mean) -> float:
    """Probability of what came true, in units of the length of the forecast."""
    return mean.value


@in_core("spherical")
def spherical(view: View) -> Floats:
    """Spherical score of each row."""
    if isinstance(view, Binary):
        prob = view.prob.astype(np.float64, copy=False)
        other = 1.0 - prob
        return np.asarray(view.picked / np.sqrt(other * other + prob * prob))
    prob = view.prob.astype(np.float64, copy=False)
    return np.asarray(view.picked / np.sqrt(row_dot(prob, prob)))


@metric(
    title="Spherical score",
    family="point",
    reads=MeanOf(spherical),
    range=(0.0, 1.0),
    direction="higher",
    proper="strictly",
    equation=r"SS=\frac1N\sum_i\frac{c_{i,y_i}}{\sqrt{\sum_k c_{ik}^2}}",
    where=CLASSES,
    source="Gneiting and Raftery 2007, JASA 102; Lane 2025 s3.10 eq 22 with alpha = 2",
    matrix="full class probabilities",
    pitfalls="Higher is better, unlike most scores of this family.",
    aliases=("ss",),
)
def spherical_score(mean: Mean) -> float:
    """Cosine of the angle between forecast and outcome."""
    return mean.value


def powers(view: View, *, alpha: Alpha = 2.0) -> Floats:
    """Power score of each row.

    Parameters
    ----------
    alpha
        Exponent above 1; 2 is the proper linear score.
    """
    prob = view.prob.astype(np.float64, copy=False)
    return np.asarray((alpha - 1) * (prob**alpha).sum(axis=1) - alpha * view.picked ** (alpha - 1))


@metric(
    title="Power score",
    family="point",
    reads=MeanOf(powers, "classes"),
    range=(-1.0, 1.0),
    direction="lower",
    proper="strictly",
    equation=r"PS=\frac1N\sum_i\Big[(\alpha-1)\sum_{k}c_{ik}^{\alpha}-\alpha\,c_{i,y_i}^{\alpha-1}\Big]",
    where=CLASSES,
    source="Selten 1998; Du 2021, Weather and Forecasting 36; Lane 2025 s3.10 eq 23",
    matrix="full class probabilities",
    pitfalls="The review prints alpha c where the family has alpha c^(alpha - 1), which is proper; the two "
    "agree for alpha = 2 only. The range is [-1, alpha - 1], not [0, 1].",
    aliases=("ps",),
)
def power_score(mean: Mean) -> float:
    """Brier-like score with another exponent than 2."""
    return mean.value


def proper_linear(view: View) -> Floats:
    """Proper linear score of each row."""
    prob = view.prob.astype(np.float64, copy=False)
    return np.asarray(row_dot(prob, prob) - 2 * view.picked)


@metric(
    title="Proper linear score",
    family="point",
    reads=MeanOf(proper_linear, "classes"),
    range=(-1.0, 1.0),
    direction="lower",
    proper="strictly",
    equation=r"PLS=\frac1N\sum_i\Big[\sum_k c_{ik}^2-2c_{i,y_i}\Big]",
    where=CLASSES,
    source="Broecker 2009, QJRMS 135; Lane 2025 s3.10 eq 23 with alpha = 2",
    matrix="full class probabilities",
    pitfalls="It is brier_score(scale=sum) - 1, so perfect forecasts score -1; the review's range [0, 1] is wrong.",
    aliases=("pls", "quadratic_score_broecker"),
)
def proper_linear_score(mean: Mean) -> float:
    """Brier score without the term that does not depend on the forecast."""
    return mean.value
