# SPDX-License-Identifier: Apache-2.0
"""Forecasts against what the model says when disturbed: its input perturbed, a training point left out.

No label is needed: what would have come true is replaced by an estimate that the caller brings.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.checks import check_finite, numbers, refuse
from epimeter.errors import InputError
from epimeter.limits import Between
from epimeter.metrics.point.distance import Norm, power_mean
from epimeter.summaries import Rows
from epimeter.summaries.sums import row_mean
from epimeter.views import Binary, Multiclass, View

Floats = NDArray[np.float64]


@metric(
    title="Consistency calibration error",
    family="point",
    reads=Rows("given"),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    proper="no",
    labels="ignored",
    equation=r"\tilde c_{ik}=\frac1M\sum_{m}I[\hat y(\tilde x_{i,m})=k],\qquad "
    r"CC_p=\Big(\frac{1}{NK_e}\sum_i\sum_{k}|\tilde c_{ik}-c_{ik}|^p\Big)^{1/p}",
    where={
        "c̃_ik": "share of the perturbed copies of row i that vote for class k",
        "K_e": "1 for a vector and for reduction=top, K for reduction=all",
        "p": "parameter norm",
    },
    source="Tao et al. 2024, arXiv 2410.12295; Lane 2025 s3.13 eq 25",
    matrix="full class probabilities",
    pitfalls="It compares the model with itself: a model that is consistently wrong scores well. The kind "
    "and size of the perturbation decide the value and must be reported with it.",
    aliases=("cc", "consistency"),
)
def consistency_calibration(
    view: View,
    *,
    perturbed: Any,
    norm: Norm = 1.0,
    reduction: Literal["all", "top"] = "all",
    threshold: float = 0.5,
) -> float:
    """Distance between the confidence stated and the share of perturbed copies that agree.

    Parameters
    ----------
    perturbed
        What the model says on M perturbed copies of each input. Beside a vector: (N, M) scores of class 1.
        Beside a matrix: (N, M) predicted classes, or (N, M, K) scores whose largest is the vote, the first on
        ties. (N,) is M = 1.
    norm
        Exponent p of the mean, at least 1; infinity (a float or the word ``inf``) for the maximum.
    reduction
        Beside a matrix: ``all`` averages over the classes, ``top`` takes the most likely class.
    threshold
        Beside a vector: a copy votes for class 1 when its score is this or more.
    """
    said = view.prob.astype(np.float64, copy=False)
    scores = _copies(perturbed, view)
    if isinstance(view, Multiclass):
        errors = np.abs(_vote_shares(scores, view) - said)
        if reduction == "top":
            errors = errors[np.arange(view.n_rows), view.guess][:, None]
    else:
        errors = np.abs((scores >= threshold).mean(axis=1) - said)[:, None]
    return power_mean(errors, view.weight, norm)


def _copies(perturbed: Any, view: View) -> Floats:
    """Scores or votes of shape (N, M) or (N, M, K), finite."""
    if perturbed is None:
        raise InputError(
            "consistency_calibration needs perturbed=…: what the model says on perturbed copies of each input",
            field="perturbed",
        )
    scores = numbers(perturbed, "perturbed").astype(np.float64, copy=False)
    if scores.ndim == 1:
        scores = scores[:, None]
    n_rows, n_classes = view.n_rows, view.n_classes
    flat = scores.ndim == 2 and len(scores) == n_rows
    deep = isinstance(view, Multiclass) and scores.ndim == 3 and scores.shape[::2] == (n_rows, n_classes)
    if not (flat or deep) or scores.shape[1] == 0:
        wanted = f"({n_rows}, M) or ({n_rows}, M, {n_classes})" if isinstance(view, Multiclass) else f"({n_rows}, M)"
        raise InputError(f"perturbed must have shape {wanted}; got {np.shape(perturbed)}", field="perturbed")
    check_finite(scores, "perturbed")
    return scores


def _vote_shares(scores: Floats, view: Multiclass) -> Floats:
    """Share of the copies that vote for each class."""
    n_rows, n_classes, n_copies = view.n_rows, view.n_classes, scores.shape[1]
    if scores.ndim == 3:
        vote = scores.argmax(axis=2)
    else:
        bad = (scores < 0) | (scores >= n_classes) | (scores != np.floor(scores))
        refuse(bad, scores, "perturbed", f"must hold class numbers from 0 to {n_classes - 1}")
        vote = scores.astype(np.intp)
    cell = np.arange(n_rows)[:, None] * n_classes + vote
    votes = np.bincount(cell.ravel(), minlength=n_rows * n_classes).reshape(n_rows, n_classes)
    return np.asarray(votes / n_copies)


@metric(
    title="Expected individual calibration error",
    family="point",
    reads=Rows("given"),
    range=(0.0, None),
    ideal=0.0,
    direction="lower",
    proper="unknown",
    labels="ignored",
    equation=r"EICE=\frac1N\sum_i|c_i-\hat y_i|,\quad\hat y_i=\tfrac12(L_i+U_i),\quad "
    r"U_i=Q_{1-(1-\beta)/2}\{f_{-m}(x_i)+r_m\}_m,\quad L_i=Q_{(1-\beta)/2}\{f_{-m}(x_i)-r_m\}_m",
    where={
        "β": "coverage",
        "Q": "empirical quantile with linear interpolation (Hyndman and Fan type 7)",
        "f_-m": "the model refitted without training point m",
        "r_m": "its absolute residual on that point",
    },
    source="Wu, Lei, Xu and Zhou 2023, KDD, and their released code; Lane 2025 s3.8",
    matrix="not accepted: pass the vector of one class or of the top label",
    pitfalls="No better than the estimates that stand in for the labels; they are used as given and may lie "
    "outside [0, 1]. Forecast and estimates must speak of the same event, which the authors' own code does "
    "not ensure.",
)
def eice(
    view: View,
    *,
    jackknife: Any = None,
    loo_predictions: Any = None,
    loo_residuals: Any = None,
    coverage: Annotated[float, Between(0, 1, open_low=True, open_high=True)] = 0.9,
) -> float:
    """Mean distance between each forecast and a jackknife estimate of its own probability.

    Parameters
    ----------
    jackknife
        (N,) estimates of the outcome probability.
    loo_predictions
        Without jackknife: (N, M) predictions of each row by the model refitted without training point m.
    loo_residuals
        (M,) absolute residuals of the M training points under those models.
    coverage
        Coverage of the jackknife interval, whose middle is the estimate.
    """
    if not isinstance(view, Binary):
        raise InputError(
            "eice takes a vector of probabilities; got a matrix. Pass the column of one class, or the top label",
            field="y_prob",
        )
    if jackknife is not None:
        estimate = _finite(jackknife, "jackknife", (view.n_rows,))
    elif loo_predictions is not None and loo_residuals is not None:
        estimate = _interval_middle(loo_predictions, loo_residuals, view.n_rows, coverage)
    else:
        raise InputError(
            "eice needs estimates in place of labels; pass jackknife=… (N,), or both loo_predictions=… (N, "
            "M) and loo_residuals=… (M,)",
            field="jackknife",
        )
    return row_mean(np.abs(view.prob.astype(np.float64, copy=False) - estimate), view.weight)


def _interval_middle(predictions: Any, residuals: Any, n_rows: int, coverage: float) -> Floats:
    """Middle of the jackknife+ interval of each row."""
    residual = _finite(residuals, "loo_residuals", None)
    if residual.ndim != 1 or len(residual) == 0:
        raise InputError(
            f"loo_residuals must be a vector with one residual per training point; got shape {residual.shape}",
            field="loo_residuals",
        )
    refuse(residual < 0, residual, "loo_residuals", "must be absolute values")
    prediction = _finite(predictions, "loo_predictions", (n_rows, len(residual)))
    upper = np.quantile(prediction + residual, 1 - (1 - coverage) / 2, axis=1)
    lower = np.quantile(prediction - residual, (1 - coverage) / 2, axis=1)
    return np.asarray((lower + upper) / 2)


def _finite(values: Any, name: str, shape: tuple[int, ...] | None) -> Floats:
    array = numbers(values, name).astype(np.float64, copy=False)
    if shape is not None and array.shape != shape:
        raise InputError(f"{name} must have shape {shape}; got {array.shape}", field=name)
    check_finite(np.atleast_1d(array), name)
    return array
