# SPDX-License-Identifier: Apache-2.0
"""Distances between forecast and outcome: absolute, to a power, smoothed, bent.

All average over the entries of a row: one for a vector, K for a matrix.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import AtLeast, Between
from epimeter.summaries import Mean, MeanOf, Rows
from epimeter.summaries.sums import row_mean
from epimeter.views import Binary, View

Floats = NDArray[np.float64]
Positive = Annotated[float, Between(0, math.inf, open_low=True, open_high=True)]
Norm = Annotated[float, AtLeast(1)] | Literal["inf"]

ENTRIES = {
    "y_ik, c_ik": "outcome (0 or 1) and probability of class k in row i",
    "K_e": "entries of a row: 1 for a vector, K for a matrix",
}
OVER_ENTRIES = "mean over all N K entries"


def absolute_errors(view: View) -> Floats:
    """|y - c| of every entry: (N, 1) for a vector, (N, K) for a matrix."""
    errors: Floats = view.prob.astype(np.float64)
    if isinstance(view, Binary):
        return np.asarray(np.abs(errors - view.true)[:, None])
    errors[np.arange(view.n_rows), view.true] -= 1
    return np.abs(errors, out=errors)


def row_absolute_errors(view: View) -> Floats:
    """Mean |y - c| of each row."""
    return np.asarray(absolute_errors(view).mean(axis=1))


@metric(
    title="Mean absolute error",
    family="point",
    reads=MeanOf(row_absolute_errors),
    range=(0.0, 1.0),
    direction="lower",
    proper="no",
    equation=r"MAE=\frac{1}{NK_e}\sum_i\sum_{k}|y_{ik}-c_{ik}|",
    where=ENTRIES,
    source="Flach 2019, AAAI 33; Lane 2025 s3.8 eq 16",
    matrix=OVER_ENTRIES,
    pitfalls="Not proper: the best forecast is 0 or 1, whatever the truth. It is the total variation "
    "distance for two classes only; for K classes that is K/2 times as large.",
    aliases=(
        "mean_absolute_error",
        "l1_error",
        "mad",
    ),
)
def mae(mean: Mean) -> float:
    """Mean distance between forecast and outcome."""
    return mean.value


def power_mean(errors: Floats, weight: Floats | None, norm: Norm) -> float:
    """(mean e^p)^(1/p) of errors of shape (N, K_e), their maximum for p = inf."""
    if weight is not None:  # a row of weight zero must not be the largest
        errors, weight = errors[weight > 0], weight[weight > 0]
    power, largest = float(norm), float(errors.max())
    if largest == 0 or math.isinf(power):
        return largest
    # The largest error is taken out before the power, so that nothing underflows.
    mean = row_mean(((errors / largest) ** power).mean(axis=1), weight)
    return largest * math.pow(mean, 1 / power)


@metric(
    title="Pointwise l_p error",
    family="point",
    reads=Rows("given"),
    range=(0.0, 1.0),
    direction="lower",
    proper="no",
    equation=r"PWE_p=\Big(\frac{1}{NK_e}\sum_i\sum_k|y_{ik}-c_{ik}|^{p}\Big)^{1/p},\qquad "
    r"PWE_\infty=\max_{i,k}|y_{ik}-c_{ik}|",
    where=ENTRIES | {"p": "parameter norm"},
    source="de Leeuw, Hornik and Mair 2009, J. Statistical Software 32(5); Lane 2025 s3.8 eq 17",
    matrix=OVER_ENTRIES,
    pitfalls="With norm 2 it is the root Brier score; with a growing norm the worst row alone decides.",
    aliases=("pwe",),
)
def pointwise_lp_error(view: View, *, norm: Norm = 2.0) -> float:
    """Power mean of the distances between forecast and outcome.

    Parameters
    ----------
    norm
        Exponent p, at least 1; infinity (a float or the word ``inf``) for the largest error.
    """
    return power_mean(absolute_errors(view), view.weight, norm)


def smoothed_errors(view: View, *, epsilon: Positive = 0.0001) -> Floats:
    """Mean sqrt((y - c)^2 + epsilon) of each row.

    Parameters
    ----------
    epsilon
        Smoothing constant inside the root, not squared.
    """
    return np.asarray(np.sqrt(absolute_errors(view) ** 2 + epsilon).mean(axis=1))


@metric(
    title="L1eps error",
    family="point",
    reads=MeanOf(smoothed_errors),
    range=(0.01, 1.00005),
    direction="lower",
    proper="no",
    equation=r"L1eps=\frac{1}{NK_e}\sum_i\sum_k\sqrt{(y_{ik}-c_{ik})^2+\varepsilon}",
    where=ENTRIES | {"ε": "smoothing constant"},
    source="de Leeuw, Hornik and Mair 2009 (solver L1eps); Lane 2025 s3.8 eq 18",
    matrix=OVER_ENTRIES,
    pitfalls="Perfect forecasts score sqrt(epsilon), not 0. With delta = sqrt(epsilon), delta (L1eps - "
    "delta) is the pseudo-Huber loss.",
    aliases=("smoothed_absolute_error",),
)
def l1eps(mean: Mean) -> float:
    """Mean absolute error, rounded off near zero."""
    return mean.value


def huber_losses(view: View, *, threshold: Positive = 0.5, unit_slope: bool = False) -> Floats:
    """Mean Huber loss of each row.

    Parameters
    ----------
    threshold
        delta: quadratic for errors up to it, linear beyond.
    unit_slope
        Divide by delta, so that the linear part has slope 1.
    """
    error = absolute_errors(view)
    if unit_slope:
        bent = np.where(error <= threshold, error * (error / threshold) / 2, error - threshold / 2)
    else:
        bent = np.where(error <= threshold, error**2 / 2, threshold * (error - threshold / 2))
    return np.asarray(bent.mean(axis=1))


@metric(
    title="Huber loss",
    family="point",
    reads=MeanOf(huber_losses),
    range=(0.0, 0.375),
    direction="lower",
    proper="no",
    equation=r"h_\delta(r)=\begin{cases}\tfrac12 r^2&|r|\le\delta\\ "
    r"\delta(|r|-\tfrac12\delta)&|r|>\delta\end{cases},\qquad HUB=\frac{1}{NK_e}\sum_i\sum_k "
    r"h_\delta(y_{ik}-c_{ik})",
    where=ENTRIES | {"δ": "parameter threshold"},
    source="Huber 1964, Annals of Math. Statistics 35; de Leeuw, Hornik and Mair 2009; Lane 2025 s3.12",
    matrix=OVER_ENTRIES,
    pitfalls="Proper only for threshold 1 or more, where it is half the mean squared error. The isotone "
    "article prints its two branches interchanged; its code is unit_slope=True with epsilon = delta / 2.",
    aliases=("huber",),
)
def huber_loss(mean: Mean) -> float:
    """Squared error for small distances, absolute error for large ones."""
    return mean.value


def insensitive_losses(
    view: View, *, epsilon: Positive = 0.2, beta: Annotated[float, Between(0, 1, open_low=True)] = 0.8
) -> Floats:
    """Mean soft insensitive loss of each row.

    Parameters
    ----------
    epsilon
        Half-width of the zone in which errors do not count.
    beta
        Softness: the border is rounded between (1 - beta) epsilon and (1 + beta) epsilon.
    """
    error = absolute_errors(view)
    low, high = (1 - beta) * epsilon, (1 + beta) * epsilon
    rounded = (np.maximum(error - low, 0) ** 2) / (4 * beta * epsilon)
    return np.asarray(np.where(error > high, error - epsilon, rounded).mean(axis=1))


@metric(
    title="Soft insensitive loss function",
    family="point",
    reads=MeanOf(insensitive_losses),
    range=(0.0, 0.8),
    direction="lower",
    proper="no",
    equation=r"s(d)=\begin{cases}0&d<(1-\beta)\varepsilon\\ "
    r"\dfrac{(d-(1-\beta)\varepsilon)^2}{4\beta\varepsilon}&(1-\beta)\varepsilon\le "
    r"d\le(1+\beta)\varepsilon\\ d-\varepsilon&d>(1+\beta)\varepsilon\end{cases},\qquad "
    r"SILF=\frac{1}{NK_e}\sum_i\sum_k s(|y_{ik}-c_{ik}|)",
    where=ENTRIES | {"d": "absolute error", "ε": "half-width of the zone that does not count", "β": "softness"},
    source="Chu, Keerthi and Ong 2004, IEEE Trans. Neural Networks 15; de Leeuw, Hornik and Mair 2009; Lane 2025 s3.12",
    matrix=OVER_ENTRIES,
    pitfalls="Zero, then quadratic, then linear; the review has the last two the other way round. Forecasts "
    "within the zone are not told apart.",
    aliases=("soft_insensitive_loss",),
)
def silf(mean: Mean) -> float:
    """Absolute error that forgives small distances, with a rounded border."""
    return mean.value
