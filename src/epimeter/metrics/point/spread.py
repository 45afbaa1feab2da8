# SPDX-License-Identifier: Apache-2.0
"""Squared errors in units of the variance that the forecast itself implies."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.summaries import Mean, MeanOf
from epimeter.summaries.logarithm import log
from epimeter.views import View

Floats = NDArray[np.float64]


def quadratic_forms(view: View) -> Floats:
    """(y - mu)^T Sigma^-1 (y - mu) = 1/c_y - 1, with Sigma the categorical covariance, one class dropped."""
    prob = view.picked
    with np.errstate(divide="ignore", over="ignore"):  # inf where the impossible happened
        return (1 - prob) / prob


def dawid_sebastiani(view: View) -> Floats:
    """Quadratic form plus log det Sigma, which is the sum of the log probabilities of all the classes."""
    logs = log(view.prob.astype(np.float64, copy=False)).sum(axis=1)
    # Where the impossible happened the score is +inf, although the log determinant is -inf.
    return quadratic_forms(view) + np.where(view.picked > 0, logs, 0.0)


@metric(
    title="Dawid-Sebastiani score",
    family="point",
    reads=MeanOf(dawid_sebastiani, "classes"),
    range=(None, None),
    direction="lower",
    proper="strictly",
    equation=r"DSS=\frac1N\sum_i\big[(y_i-\mu_i)^{T}\Sigma_i^{-1}(y_i-\mu_i)+\log\det\Sigma_i\big]"
    r"=\frac1N\sum_i\Big[\frac{1}{c_{i,y_i}}-1+\sum_{k=1}^{K}\log c_{ik}\Big]",
    where={
        "y_i": "indicators of the first K - 1 classes",
        "μ_i": "their probabilities",
        "Σ_i": "diag(μ) - μ μ^T, the categorical covariance; its determinant is the product of all K probabilities",
    },
    source="Dawid and Sebastiani 1999, Annals of Statistics 27; Wilks 2020, QJRMS 146; Lane 2025 s3.7 eq 14",
    matrix="full class probabilities",
    pitfalls="Unbounded on both sides: one forecast of 0 for a class that did not occur makes it -inf, one "
    "for a class that did makes it +inf, which outweighs. It can be negative, unlike the review says.",
    aliases=("dawid_sebastiani_score",),
)
def dss(mean: Mean) -> float:
    """Squared error in units of the stated variance, plus the logarithm of that variance."""
    return mean.value


@metric(
    title="Normalised squared error score",
    family="point",
    reads=MeanOf(quadratic_forms),
    range=(0.0, None),
    ideal=1.0,
    direction="signed",
    proper="no",
    equation=r"NSES=\frac1N\sum_i\frac{(y_i-\mu_i)^{T}\Sigma_i^{-1}(y_i-\mu_i)}{K-1}"
    r"=\frac1N\sum_i\frac{1/c_{i,y_i}-1}{K-1}",
    where={"c_i,y_i": "probability of the true class", "Σ_i": "categorical covariance, as in dss"},
    source="Moore et al. 2022, Phil. Trans. R. Soc. A 380; Carroll and Cressie 1996; Lane 2025 s3.7 eq 15",
    matrix="full class probabilities; the division by K - 1 keeps a calibrated model at 1",
    pitfalls="Very heavy-tailed: a few outcomes that were thought unlikely decide it, so means over small "
    "samples lie mostly below 1 even for a calibrated model. The form for a matrix is an extension of the "
    "published one.",
    aliases=("normalised_squared_error",),
)
def nses(mean: Mean) -> float:
    """Squared error by the variance the forecast implies: above 1 over-confident, below 1 under-confident."""
    return mean.value / (mean.n_classes - 1)
