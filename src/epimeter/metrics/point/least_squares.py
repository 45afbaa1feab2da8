# SPDX-License-Identifier: Apache-2.0
"""Least squares with weights of its own: by row, by pair of rows, by side."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.checks import check_finite, numbers
from epimeter.errors import InputError
from epimeter.limits import Between
from epimeter.summaries import Mean, MeanOf, Rows
from epimeter.views import View

Floats = NDArray[np.float64]
Factor = Annotated[float, Between(0, math.inf, open_high=True)]
TOP_LABEL = "reduced to its top label; an (N, 2) matrix is therefore not the same as the class-1 vector"


@metric(
    title="General least squares",
    family="point",
    reads=Rows("event"),
    range=(0.0, None),
    direction="lower",
    proper="yes",
    weighted=False,
    equation=r"GLS=(y-c)^{T}W(y-c)",
    where={"y": "outcomes", "c": "confidences", "W": "weight matrix, I / N by default"},
    source="de Leeuw, Hornik and Mair 2009 (solver lfSolver); Lane 2025 s3.12",
    matrix=TOP_LABEL,
    pitfalls="The weights are those of the quadratic form, used as given and not normalised: they are no "
    "sample weights. Proper only where the symmetric part of W is positive semi-definite; otherwise it can "
    "be negative. With an (N, N) matrix the rows must stand in its order.",
    aliases=("gls",),
)
def general_least_squares(view: View, *, weights: Any = None) -> float:
    """Squared errors under a weight matrix of the caller's.

    Parameters
    ----------
    weights
        W: None is I / N, which gives the Brier score of the vector; (N,) is its diagonal; (N, N), dense or
        scipy.sparse, is W itself.
    """
    residual = view.true - view.prob.astype(np.float64, copy=False)
    if weights is None:
        return math.fsum((residual**2).tolist()) / len(residual)
    form = _quadratic_form(weights, len(residual))
    if form.ndim == 1:
        return math.fsum((form * residual**2).tolist())
    return math.fsum((residual * (form @ residual)).tolist())


def _quadratic_form(weights: Any, n_rows: int) -> Any:
    """W, with its shape and its numbers checked; a scipy.sparse matrix stays sparse."""
    if hasattr(weights, "tocsr"):
        form = weights.tocsr()
        entries = numbers(form.data, "weights")
    else:
        form = entries = numbers(weights, "weights").astype(np.float64, copy=False)
    if form.shape not in ((n_rows,), (n_rows, n_rows)):
        raise InputError(
            f"weights must have shape ({n_rows},) or ({n_rows}, {n_rows}); got {form.shape}", field="weights"
        )
    check_finite(entries, "weights")
    return form


def lopsided_squares(view: View, *, under: Factor = 1.0, over: Factor = 1.0) -> Floats:
    """Squared error of each row times the factor of its side.

    Parameters
    ----------
    under
        Factor where the outcome lies above the forecast: the model said too little.
    over
        Factor where it does not: the model said too much.
    """
    residual = view.true - view.prob.astype(np.float64, copy=False)
    return np.asarray(np.where(residual > 0, under, over) * residual**2)


@metric(
    title="Asymmetric least squares",
    family="point",
    reads=MeanOf(lopsided_squares, "event"),
    range=(0.0, 1.0),
    direction="lower",
    proper="no",
    equation=r"ALS=\frac1N\sum_i a_i\,(y_i-c_i)^2,\quad "
    r"a_i=\begin{cases}\text{under}&y_i>c_i\\ \text{over}&y_i\le c_i\end{cases}",
    where={"y_i": "outcome", "c_i": "confidence"},
    source="Efron 1991, Statistica Sinica 1; de Leeuw, Hornik and Mair 2009 (solver asyLS); Lane 2025 s3.12",
    matrix=TOP_LABEL,
    pitfalls="Proper only for under = over: the optimum is the expectile under q / (under q + over (1 - q)) "
    "of the true probability q. Choose over > under to punish over-confidence.",
    aliases=("als", "expectile_loss"),
)
def asymmetric_least_squares(mean: Mean) -> float:
    """Squared error with one price for saying too much and another for saying too little."""
    return mean.value
