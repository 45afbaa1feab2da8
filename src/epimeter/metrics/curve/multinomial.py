# SPDX-License-Identifier: Apache-2.0
"""The estimated calibration index: all class probabilities against a multinomial logit with splines."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card import metric
from epimeter.errors import UndefinedMetricError
from epimeter.limits import Between
from epimeter.metrics.curve.levels import as_copies, clipped, quantiles
from epimeter.metrics.curve.logistic import step_length
from epimeter.summaries import Rows
from epimeter.views import Multiclass

Floats = NDArray[np.float64]

KNOTS = {3: (0.10, 0.50, 0.90), 4: (0.05, 0.35, 0.65, 0.95), 5: (0.05, 0.275, 0.5, 0.725, 0.95)}
"""Harrell's quantiles for the knots of a restricted cubic spline."""


@metric(
    title="Estimated calibration index",
    family="curve",
    reads=Rows("classes"),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"ECI=\frac1{NK}\sum_{k=1}^K\sum_{i=1}^N(c_{ik}-\hat y_{ik})^2,\qquad \hat y_i=\operatorname{softmax}"
    r"\big(0,\ f_1(z_i),\dots,f_{K-1}(z_i)\big),\quad f_k(z)=a_k+\sum_{l=1}^{K-1}s_{kl}(z_l),\quad "
    r"z_{il}=\log\frac{c_{il}}{c_{i0}}",
    where={
        "s_kl": "natural cubic spline without constant, knots at quantiles of z_l (3: .10 .50 .90; 4: .05 .35 .65 .95; "
        "5: .05 .275 .5 .725 .95), equal ones merged; a line where fewer than 3 are left",
        "fit": "maximum likelihood of the multinomial logit, no penalty",
        "c": "clipped to [1e-12, 1 - 1e-12] before the logarithm; class 0 is the reference",
    },
    source="Van Hoorde et al. 2015, Journal of Biomedical Informatics 54:283-293; Lane 2025 s5.9 eq 87",
    matrix="used whole; a vector p is read as 1 - p, p",
    pitfalls="The published index is multiplied by 100 K/2 (scale=percent), a factor that print drops. The original uses "
    "other splines, so values differ a little. With more than two classes the value depends slightly on which is "
    "class 0. Needs many more rows than coefficients, (K-1)(1+(K-1)(knots-1)).",
    aliases=("expected_calibration_index",),
)
def eci(
    rows: Multiclass, *, knots: Annotated[int, Between(3, 5)] = 4, scale: Literal["mean", "percent"] = "mean"
) -> float:
    """Mean squared distance between the probabilities and a smooth recalibration of them.

    Parameters
    ----------
    knots
        Knots of each natural cubic spline: 3, 4 or 5.
    scale
        ``mean`` of the squares; ``percent``: times 100 K/2, the original's 0 to 100.
    """
    prob, true, weight = in_order(rows)
    n_classes = prob.shape[1]
    missing = np.flatnonzero(np.bincount(true, weights=weight, minlength=n_classes) == 0)
    if len(missing):
        raise UndefinedMetricError(f"eci needs every class to occur; class {missing[0]} never does")
    inner = clipped(prob)
    ratio = np.log(inner[:, 1:]) - np.log(inner[:, :1])
    copies = as_copies(weight, len(weight))
    columns = [np.ones((len(prob), 1))]
    for column in ratio.T:
        columns.append(spline_columns(column, np.unique(quantiles(column, copies, np.array(KNOTS[int(knots)])))))
    fitted = multinomial_fit(orthonormal(np.concatenate(columns, axis=1), weight), true, weight, n_classes)
    value = float(weight @ np.sum((prob - fitted) ** 2, axis=1) / (weight.sum() * n_classes))
    return value * (50 * n_classes if scale == "percent" else 1)


def in_order(rows: Multiclass) -> tuple[Floats, NDArray[np.intp], Floats]:
    """Probabilities, outcomes and weights of the rows that have weight, in an order that is always the same."""
    prob = rows.prob.astype(np.float64)
    weight = np.ones(len(prob)) if rows.weight is None else rows.weight
    order = np.lexsort((weight, rows.true, *prob.T))
    order = order[weight[order] > 0]
    return prob[order], rows.true[order], weight[order]


def spline_columns(x: Floats, knots: Floats) -> Floats:
    """A basis, without constant, of the cubic splines that are straight beyond the outer knots."""
    if len(knots) < 3:
        return x[:, None]
    width = knots[-1] - knots[0]
    u, t = (x - knots[0]) / width, (knots - knots[0]) / width
    cubes = np.maximum(u[:, None] - t, 0.0) ** 3
    columns = [u]
    for j in range(len(t) - 2):
        share = (t[-1] - t[j]) / (t[-1] - t[-2])
        columns.append(cubes[:, j] - share * cubes[:, -2] + (share - 1) * cubes[:, -1])
    return np.stack(columns, axis=1)


def orthonormal(columns: Floats, weight: Floats) -> Floats:
    """An orthonormal basis, under the weights, of the space the columns span; constant columns beside 1 drop out."""
    from scipy.linalg import qr

    root = np.sqrt(weight)[:, None]
    columns = columns.copy()
    columns[:, 1:] -= weight @ columns[:, 1:] / weight.sum()
    columns *= root
    size = np.sqrt(np.sum(columns**2, axis=0))
    basis, triangle, _ = qr(columns / np.where(size > 0, size, 1.0), mode="economic", pivoting=True)
    rank = int(np.count_nonzero(np.abs(np.diag(triangle)) > 1e-10))
    return np.asarray(basis[:, :rank] / root)


def multinomial_fit(basis: Floats, true: NDArray[np.intp], weight: Floats, n_classes: int) -> Floats:
    """Class probabilities of largest likelihood, by Newton's method.

    Where the classes are separated the log odds grow by about 1 a step for ever and the curvature fades away; a fit
    that exists settles in ten steps or so.
    """
    n_columns, n_free = basis.shape[1], n_classes - 1
    place = np.zeros((n_free, n_columns))
    came = np.zeros((len(true), n_classes))
    came[np.arange(len(true)), true] = 1.0

    def gain(free: Floats) -> float:
        return reached(free, true, weight)

    for _ in range(100):
        eta = basis @ place.T
        chance = softmax(eta)
        slope = ((came - chance)[:, 1:] * weight[:, None]).T @ basis
        curvature = np.empty((n_free, n_columns, n_free, n_columns))
        for k in range(n_free):
            for l in range(k, n_free):
                shared = weight * chance[:, k + 1] * ((k == l) - chance[:, l + 1])
                curvature[k, :, l] = curvature[l, :, k] = basis.T @ (basis * shared[:, None])
        square = curvature.reshape(n_free * n_columns, -1)
        size = np.linalg.eigvalsh(square)
        if size[0] <= 1e-13 * size[-1]:
            break
        step = np.linalg.solve(square, slope.ravel()).reshape(place.shape)
        move = basis @ step.T
        largest = float(np.abs(move).max())
        place = place + step * step_length(gain, eta, move, largest)
        if largest < 1e-8:
            return softmax(basis @ place.T)
    raise UndefinedMetricError("eci has no finite fit: the probabilities separate some classes perfectly")


def reached(free: Floats, true: NDArray[np.intp], weight: Floats) -> float:
    """Log-likelihood of the log odds against class 0."""
    whole = np.concatenate([np.zeros((len(free), 1)), free], axis=1)
    top = whole.max(axis=1)
    log_sum = top + np.log(np.sum(np.exp(whole - top[:, None]), axis=1))
    return float(weight @ (whole[np.arange(len(true)), true] - log_sum))


def softmax(free: Floats) -> Floats:
    """Class probabilities from the log odds against class 0."""
    whole = np.concatenate([np.zeros((len(free), 1)), free], axis=1)
    whole = np.exp(whole - whole.max(axis=1, keepdims=True))
    return np.asarray(whole / whole.sum(axis=1, keepdims=True))
