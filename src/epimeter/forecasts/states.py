# SPDX-License-Identifier: Apache-2.0
"""Gaussian forecasts of a state of several numbers: means, and a covariance a row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from epimeter.checks import check_finite, numbers
from epimeter.errors import InputError
from epimeter.forecasts.row import Floats, Forecast, refuse_huge

SKEW = 1e-9
"""How far a covariance may be from symmetric, by its largest entry."""


@dataclass(frozen=True)
class States(Forecast):
    """Of each row the means and the lower Cholesky factor of the covariance."""

    mean: Floats = field(default_factory=lambda: np.empty((0, 0)))
    factor: Floats = field(default_factory=lambda: np.empty((0, 0, 0)))
    kind = "state"

    @property
    def dimension(self) -> int:
        return int(self.mean.shape[1])

    def squares(self) -> Floats:
        """r^T C^-1 r of every row, by forward substitution."""
        white = np.zeros_like(self.mean)
        residual = self.true - self.mean
        for row in range(self.dimension):
            known = np.zeros(self.n_rows)
            for column in range(row):
                known += self.factor[:, row, column] * white[:, column]
            white[:, row] = (residual[:, row] - known) / self.factor[:, row, row]
        total = np.zeros(self.n_rows)
        for column in range(self.dimension):
            total += white[:, column] ** 2
        return total

    def log_determinant(self) -> Floats:
        total = np.zeros(self.n_rows)
        for place in range(self.dimension):
            total += 2 * np.log(self.factor[:, place, place])
        return total

    def interval(self, level: float) -> tuple[Floats, Floats]:
        raise self.silent("intervals")


def read_states(y_true: Any, mean: Any, std: Any, variance: Any) -> dict[str, Any]:
    """Truths, means and Cholesky factors, doubted."""
    true, middle = (_matrix(values, name) for values, name in ((y_true, "y_true"), (mean, "mean")))
    if true.shape != middle.shape:
        raise InputError(f"y_true and mean must have the same shape; got {true.shape} and {middle.shape}", field="mean")
    if (std is None) == (variance is None):
        raise InputError("a state must have either a std or a variance beside its mean", field="std")
    name = "std" if variance is None else "variance"
    spread = numbers(std if variance is None else variance, name).astype(np.float64)
    check_finite(np.atleast_1d(spread), name)
    return {"true": true, "mean": middle, "factor": _factor(spread, name, *true.shape)}


def spread_of_states(spread: Floats, name: str, n: int, d: int) -> Floats:
    """Deviations, variances or covariances, one row a state: shape (n, d), or (n, d, d) of covariances."""
    if spread.shape in ((d, d), (n, d, d)) and spread.ndim > 1 and name == "variance":
        largest = np.abs(spread).max(axis=(-1, -2), keepdims=True)
        if (np.abs(spread - np.swapaxes(spread, -1, -2)) > SKEW * largest).any():
            raise InputError("variance must be symmetric where it holds covariances", field="variance")
        return np.broadcast_to(spread, (n, d, d))
    if spread.shape not in ((), (d,), (n, d)):
        shapes = f"a number or have shape ({d},) or ({n}, {d})" + (
            f", ({d}, {d}) or ({n}, {d}, {d})" if name == "variance" else ""
        )
        raise InputError(f"{name} must be {shapes}; got {spread.shape}", field=name)
    return np.broadcast_to(spread, (n, d))


def _factor(spread: Floats, name: str, n: int, d: int) -> Floats:
    """The Cholesky factor of every row, from deviations, variances or covariances."""
    rows = spread_of_states(spread, name, n, d)
    if rows.ndim == 3:
        return _cholesky(rows)
    bad = ~(rows > 0).all(axis=1)
    if bad.any():
        row, count = int(np.argmax(bad)), int(bad.sum())
        raise InputError(
            f"{name} must be above 0; {count} of {n} rows have one that is not, the first is row {row}: {rows[row].tolist()}",
            field=name,
            row=row,
            count=count,
        )
    deviation = rows if name == "std" else np.sqrt(rows)
    made = np.zeros((n, d, d))
    made[:, np.arange(d), np.arange(d)] = deviation
    return made


def _cholesky(covariance: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.cholesky(covariance), np.float64)
    except np.linalg.LinAlgError:
        for row, each in enumerate(covariance):
            try:
                np.linalg.cholesky(each)
            except np.linalg.LinAlgError:
                raise InputError(
                    f"variance must be positive definite where it holds covariances; that of row {row} is not: "
                    f"{each.tolist()!r:.80}",
                    field="variance",
                    row=row,
                ) from None
        raise


def _matrix(values: Any, name: str) -> Floats:
    array = numbers(values, name).astype(np.float64, copy=False)
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError(f"{name} must have one column a component of the state; got shape {array.shape}", field=name)
    check_finite(array, name)
    refuse_huge(array, name)
    return array
