# SPDX-License-Identifier: Apache-2.0
"""Scores for classes in an order: a forecast one step off is better than one ten steps off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.summaries import Mean, MeanOf
from epimeter.summaries.rowwise import row_dot
from epimeter.views import View

Floats = NDArray[np.float64]
IN_ORDER = "probabilities of the classes in their order 0 < 1 < ... < K - 1; a vector gives the Brier score"
CUMULATED = {"y_ij": "1 if row i is of class j, else 0", "c_ij": "probability of class j"}


def cumulated_errors(view: View) -> Floats:
    """Probability of a class up to k, minus whether it came true, for the K - 1 thresholds k."""
    prob = view.prob.astype(np.float64, copy=False)
    said = np.cumsum(prob[:, :-1], axis=1)
    return said - (view.true[:, None] <= np.arange(prob.shape[1] - 1))


def ranked_squares(view: View) -> Floats:
    """Mean squared cumulated error of each row."""
    errors = cumulated_errors(view)
    return np.asarray(row_dot(errors, errors) / errors.shape[1])


@metric(
    title="Ranked probability score",
    family="point",
    reads=MeanOf(ranked_squares, "classes"),
    range=(0.0, 1.0),
    direction="lower",
    proper="strictly",
    equation=r"RPS=\frac{1}{N(K-1)}\sum_i\sum_{k=1}^{K-1}\Big[\sum_{j\le k}(y_{ij}-c_{ij})\Big]^2",
    where=CUMULATED,
    source="Epstein 1969, J. Applied Meteorology 8; Galdran 2023, MICCAI; Lane 2025 s3.14 eq 26",
    matrix=IN_ORDER,
    pitfalls="Only meaningful where the classes have an order. Peers such as scoringrules leave out the 1/(K - 1).",
    aliases=("ranked_probability_score",),
)
def rps(mean: Mean) -> float:
    """Brier score of all the questions "is the class at most k?", averaged over k."""
    return mean.value


def ranked_distances(view: View) -> Floats:
    """Square of the summed absolute cumulated errors of each row."""
    return np.asarray(np.abs(cumulated_errors(view)).sum(axis=1) ** 2)


@metric(
    title="Squared absolute ranked probability score",
    family="point",
    reads=MeanOf(ranked_distances, "classes"),
    range=(0.0, None),
    direction="lower",
    proper="no",
    equation=r"SARPS=\frac{1}{N(K-1)}\sum_i\Big[\sum_{k=1}^{K-1}\Big|\sum_{j\le "
    r"k}(y_{ij}-c_{ij})\Big|\Big]^2",
    where=CUMULATED,
    source="Galdran 2023, MICCAI; Lane 2025 s3.14 eq 27",
    matrix=IN_ORDER,
    pitfalls="Not proper: for the truth (0.2, 0.3, 0.5) the best forecast is (0, 0.7, 0.3). As printed it "
    "reaches K - 1, not 1; normalize=True bounds it by 1.",
    aliases=("sa_rps",),
)
def sarps(mean: Mean, *, normalize: bool = False) -> float:
    """Squared distance between forecast and outcome, measured in steps of the order.

    Parameters
    ----------
    normalize
        Divide by (K - 1)^2, which bounds the score by 1, in place of K - 1 as printed.
    """
    steps = mean.n_classes - 1
    return mean.value / (steps**2 if normalize else steps)
