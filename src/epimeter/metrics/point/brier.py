# SPDX-License-Identifier: Apache-2.0
"""The Brier score and what is made of it."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card import metric
from epimeter.summaries import Mean, MeanOf
from epimeter.views import Binary, View

Scale = Literal["class", "half", "sum"]


def square_errors(view: View) -> NDArray[np.float64]:
    """Squared distance of the forecast from what came true, summed over the classes."""
    if isinstance(view, Binary):
        return 2 * (view.prob.astype(np.float64, copy=False) - view.true) ** 2
    prob = view.prob.astype(np.float64)
    prob[np.arange(len(prob)), view.true] -= 1
    return np.einsum("ij,ij->i", prob, prob)


@metric(
    title="Brier score",
    family="point",
    reads=MeanOf(square_errors),
    range=(0.0, 1.0),
    direction="lower",
    proper="strictly",
    equation=r"BS=\frac1N\sum_i\frac1D\sum_k(c_{ik}-y_{ik})^2,\quad D=K\ (class),\ 2\ (half),\ 1\ (sum)",
    where={"c_ik": "predicted probability of class k for sample i", "y_ik": "1 if sample i is of class k, else 0"},
    source="Brier 1950, Monthly Weather Review 78:1-3; Lane 2025 s3.3 eq 5; 1/K scaling as Silva Filho et al. 2023",
    matrix="full class probabilities",
    pitfalls="With scale=class the largest value is 2/K, so values for different K are not comparable. "
    "scikit-learn's multiclass default is scale=sum.",
    aliases=("bs", "mse", "mean_square_error", "quadratic_score"),
)
def brier_score(mean: Mean, *, scale: Scale = "class") -> float:
    """Mean squared distance between forecast and outcome: calibration and sharpness in one proper score.

    Parameters
    ----------
    scale
        What the sum over classes is divided by: ``class`` the number of classes, ``half`` two, ``sum`` nothing
        (Brier's original). A vector has two classes, so ``class`` and ``half`` give mean((p - y)^2).
    """
    return mean.value / divisor(scale, mean.n_classes)


def divisor(scale: Scale, n_classes: int) -> int:
    """D of the equation."""
    return {"class": n_classes, "half": 2, "sum": 1}[scale]
