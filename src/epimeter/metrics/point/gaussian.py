# SPDX-License-Identifier: Apache-2.0
"""Gaussian forecasts of a state: errors in units of the covariance that was stated."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.checks import check_finite, numbers
from epimeter.errors import InputError
from epimeter.results import Result
from epimeter.summaries.rowwise import row_dot

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class GaussianDifference(Result):
    """Normalised estimation error squared, the entropic difference it implies, the dimension."""

    nees: float
    ecd: float
    dimension: int


@metric(
    title="Gaussian ECD and normalised estimation error squared",
    family="point",
    range=(0.0, None),
    ideal=1.0,
    direction="signed",
    proper="no",
    weighted=False,
    equation=r"NEES=\frac1N\sum_i(y_i-\mu_i)^{T}C_i^{-1}(y_i-\mu_i),\qquad ECD=\frac{NEES-d}{2}",
    where={"y_i": "true state", "μ_i": "predicted mean", "C_i": "predicted covariance", "d": "dimension"},
    source="Sumler, Devlin, Maskell and Lane 2025 eq 6, 9, 10; Li, Zhao and Jilkov 2002, IFAC; beyond the review",
    matrix="not a probability matrix: columns are components of the state",
    pitfalls="The ideal 1 is that of one dimension: a calibrated model has nees = d, and an ecd of 0. A (d, d) variance is one "
    "covariance for all rows, even when there are d rows.",
    aliases=("nees", "anees"),
)
def ecd_gaussian(y_true: Any, y_prob: Any, *, variance: Any = 1.0) -> GaussianDifference:
    """Squared errors of a Gaussian forecast in units of its variance: ecd above 0 is over-confident.

    Parameters
    ----------
    variance
        Predicted variance: a number, a (d,) diagonal, a (d, d) covariance, (N, d) diagonals or (N, d, d)
        covariances; (N,) variances when the state is a single number.
    """
    squares, dimension = _state_squares(y_true, y_prob, variance)
    nees = math.fsum(squares.tolist()) / len(squares)
    return GaussianDifference(nees=nees, ecd=(nees - dimension) / 2, dimension=dimension)


def _state_squares(y_true: Any, y_prob: Any, variance: Any) -> tuple[Floats, int]:
    """The normalised square of each row, and the dimension."""
    true, mean = _state(y_true, "y_true"), _state(y_prob, "y_prob")
    if np.shape(true) != np.shape(mean):
        raise InputError(f"y_true and y_prob must have the same shape; got {true.shape} and {mean.shape}")
    residual = (true - mean).reshape(len(true), -1)
    return _normalised_squares(residual, _state(variance, "variance")), residual.shape[1]


def _state(values: Any, name: str) -> Floats:
    """Finite numbers of any shape that hold at least one."""
    array = numbers(values, name).astype(np.float64, copy=False)
    if name != "variance" and array.ndim not in (1, 2):
        raise InputError(f"{name} must have one or two dimensions; got {array.ndim}", field=name)
    if array.size == 0:
        raise InputError(f"{name} must have at least one row and one component; got shape {array.shape}", field=name)
    check_finite(np.atleast_1d(array), name)
    return array


def _normalised_squares(residual: Floats, variance: Floats) -> Floats:
    """r^T C^-1 r of each row."""
    n, d = residual.shape
    if variance.shape in ((d, d), (n, d, d)) and variance.ndim > 1:
        return _whitened_squares(residual, variance)
    if variance.shape == (n,) and d == 1:
        variance = variance[:, None]
    if variance.shape not in ((), (d,), (n, d)):
        raise InputError(
            f"variance must be a number or have shape ({d},), ({d}, {d}), ({n}, {d}) or ({n}, {d}, {d}); "
            f"got {variance.shape}",
            field="variance",
        )
    if not (variance > 0).all():
        raise InputError(f"variance must be above 0; the least is {variance.min():g}", field="variance")
    return np.asarray((residual**2 / variance).sum(axis=1))


def _whitened_squares(residual: Floats, covariance: Floats) -> Floats:
    """|L^-1 r|^2 with the Cholesky factor L of the covariance, one for all rows or one a row."""
    from scipy.linalg import solve_triangular

    largest = np.abs(covariance).max(axis=(-1, -2), keepdims=True)
    skew = np.abs(covariance - np.swapaxes(covariance, -1, -2))
    if (skew > 1e-9 * largest).any():
        raise InputError("variance must be symmetric where it holds covariances", field="variance")
    try:
        factor = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        raise InputError("variance must be positive definite where it holds covariances", field="variance") from None
    if covariance.ndim == 2:
        white = solve_triangular(factor, residual.T, lower=True).T
    else:
        white = np.linalg.solve(factor, residual[:, :, None])[:, :, 0]
    return row_dot(white, white)
