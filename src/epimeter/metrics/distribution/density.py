# SPDX-License-Identifier: Apache-2.0
"""Scores of a stated density, or of a mean and a variance whatever the law."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.forecasts import COLUMNS, Forecast
from epimeter.summaries.exact import RowMeans, RowSums

Floats = NDArray[np.float64]
MOMENTS = ("normal", "ensemble", "state", "count")


def log_scores(view: Forecast) -> Floats:
    """Minus the logarithm of the normal density at the truth."""
    return np.asarray(0.5 * (view.squares() + view.log_determinant() + view.dimension * math.log(2 * math.pi)))


@metric(
    title="Logarithmic score of a normal forecast",
    family="distribution",
    reads=RowMeans(log_scores),
    forecasts=("normal", "state"),
    takes=COLUMNS,
    range=(None, None),
    direction="lower",
    proper="strictly",
    equation=r"S=-\frac1N\sum_i\log f_i(y_i)=\frac1N"
    r"\sum_i\Big[\frac{(y_i-\mu_i)^2}{2\sigma_i^2}+\log\sigma_i+\tfrac12\log2\pi\Big]",
    where={"f_i": "stated density", "μ_i, σ_i": "stated mean and deviation"},
    source="Good 1952, JRSS B 14; Gneiting and Raftery 2007, JASA 102; beyond the review",
    pitfalls="A density has a unit: the score shifts by log c when everything is measured in units c times smaller, so it compares "
    "models on the same rows only. One truth far out in the tail can decide it.",
    aliases=("logarithmic_score", "gaussian_nll", "ignorance"),
)
def log_score(sums: RowSums) -> float:
    """Surprise at what came true under the stated normal law."""
    return sums.mean


def moment_scores(view: Forecast) -> Floats:
    """Squared error by the variance, plus the logarithm of the variance; infinite where that is 0."""
    spread = view.log_determinant()
    return np.asarray(np.where(np.isinf(spread), np.inf, view.squares() + np.where(np.isinf(spread), 0.0, spread)))


@metric(
    title="Dawid-Sebastiani score of a mean and a variance",
    family="distribution",
    reads=RowMeans(moment_scores),
    forecasts=MOMENTS,
    takes=COLUMNS,
    range=(None, None),
    direction="lower",
    proper="yes",
    equation=r"S=\frac1N\sum_i\Big[\frac{(y_i-\mu_i)^2}{\sigma_i^2}+\log\sigma_i^2\Big];\quad"
    r"\text{states: }(y_i-\mu_i)^TC_i^{-1}(y_i-\mu_i)+\log\det C_i",
    where={
        "μ_i, σ_i^2": "mean and variance that are stated, of the stated law of a count, or of the members (divided by M - 1)"
    },
    source="Dawid and Sebastiani 1999, Annals of Statistics 27; Gneiting and Raftery 2007, JASA 102; Lane 2025 s3.7 eq 14 has "
    "its form for classes (dss)",
    pitfalls="Sees the first two moments alone: forecasts of equal mean and variance score the same. Of an ensemble it is noisy "
    "below some twenty members, and infinite where all members agree.",
    aliases=("dawid_sebastiani_moments", "dss_moments"),
)
def moment_score(sums: RowSums) -> float:
    """Squared error in units of the stated variance, plus the logarithm of that variance; for any law."""
    return sums.mean


def normalised_squares(view: Forecast) -> Floats:
    """Squared error by the stated variance and the dimension."""
    return view.squares() / view.dimension


@metric(
    title="Normalised squared error of a mean and a variance",
    family="distribution",
    reads=RowMeans(normalised_squares),
    forecasts=MOMENTS,
    takes=COLUMNS,
    range=(0.0, None),
    ideal=1.0,
    direction="signed",
    equation=r"\frac1N\sum_i\frac{(y_i-\mu_i)^2}{\sigma_i^2};\quad\text{states: }"
    r"\frac{1}{Nd}\sum_i(y_i-\mu_i)^TC_i^{-1}(y_i-\mu_i)",
    where={"μ_i, σ_i^2": "mean and variance that are stated, or of the members (divided by M - 1)"},
    source="Carroll and Cressie 1996; Moore et al. 2022, Phil. Trans. R. Soc. A 380; Lane 2025 s3.7 eq 15 has its form for "
    "classes (nses)",
    pitfalls="1 on average does not prove calibration: large errors with large variances can make up for small ones. Of an "
    "ensemble of M members drawn from the truth's own law it is (M + 1) / M times (M - 1) / (M - 3), not 1.",
    aliases=("normalised_squared_error_moments", "reduced_chi_squared"),
)
def normalised_squared_error(sums: RowSums) -> float:
    """Squared error by the stated variance: above 1 over-confident, below 1 under-confident."""
    return sums.mean
