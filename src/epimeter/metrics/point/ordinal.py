# SPDX-License-Identifier: Apache-2.0
"""Scores for classes in an order: a forecast one step off is better than one ten steps off."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.checks import check_finite, numbers, refuse
from epimeter.errors import InputError
from epimeter.limits import AtLeast
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


@metric(
    title="Ranked probability score of counts",
    family="point",
    range=(0.0, None),
    direction="lower",
    proper="strictly",
    weighted=False,
    equation=r"RPS=\frac1N\sum_i\sum_{k=0}^{\infty}\big[P_i(Y\le k)-I[y_i\le k]\big]^2",
    where={
        "P_i": "Poisson law with the stated mean, or the negative binomial law of variance mean + dispersion mean^2",
        "y_i": "count that came true",
    },
    source="Epstein 1969, J. Applied Meteorology 8; Czado, Gneiting and Held 2009, Biometrics 65; Lane 2025 s3.14",
    matrix="not a probability matrix: y_prob holds the mean count of each row",
    pitfalls="In units of counts, not divided by a number of classes, which is infinite: not comparable with rps. The sum ends "
    "where less than 1e-15 of the mass is left on either side.",
    aliases=("crps_poisson", "rps_poisson", "count_rps"),
)
def rps_counts(y_true: Any, y_prob: Any, *, dispersion: Annotated[float, AtLeast(0)] = 0.0) -> float:
    """Ranked probability score of forecasts of a count, whose classes have no end.

    Parameters
    ----------
    dispersion
        0: the count is Poisson with the stated mean; above 0: negative binomial, of variance mean + dispersion mean^2.
    """
    from scipy import stats

    count, mean = (
        numbers(values, name).astype(np.float64) for values, name in ((y_true, "y_true"), (y_prob, "y_prob"))
    )
    if count.ndim != 1 or count.shape != mean.shape:
        raise InputError(f"y_true and y_prob must be vectors of one length; got {count.shape} and {mean.shape}")
    if not len(count):
        raise InputError("y_true and y_prob must have at least one row; got none")
    check_finite(count, "y_true")
    check_finite(mean, "y_prob")
    refuse((count < 0) | (count != np.floor(count)), count, "y_true", "must hold counts")
    refuse(mean < 0, mean, "y_prob", "must hold mean counts, none negative")
    scores = np.empty(len(count))
    for place, (seen, middle) in enumerate(zip(count.tolist(), mean.tolist(), strict=True)):
        if middle == 0:
            scores[place] = seen
            continue
        size = 1 / dispersion if dispersion > 0 else 0.0
        law = stats.nbinom(size, size / (size + middle)) if dispersion > 0 else stats.poisson(middle)
        last = int(max(seen, law.isf(1e-15))) + 1
        below = law.cdf(np.arange(last + 1))
        scores[place] = math.fsum(((below - (seen <= np.arange(last + 1))) ** 2).tolist())
    return math.fsum(scores.tolist()) / len(scores)


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
