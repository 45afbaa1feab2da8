# SPDX-License-Identifier: Apache-2.0
"""Focal losses: the log loss with less say for rows that are already right."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import InputError
from epimeter.limits import AtLeast
from epimeter.metrics.point.brier import square_errors
from epimeter.metrics.point.likelihood import Clip, clipped
from epimeter.summaries import Mean, MeanOf
from epimeter.summaries.logarithm import log
from epimeter.views import View

Floats = NDArray[np.float64]
Exponent = Annotated[float, AtLeast(0)]
TRUE_CLASS = {"c_i,y_i": "probability given to the true class", "γ": "focusing exponent"}


def modulated(factor: Floats, prob: Floats) -> Floats:
    """-factor * log(prob), infinite at prob = 0 even where the factor vanishes."""
    surprise = -log(prob) + 0.0
    impossible = np.isinf(surprise)
    return np.where(impossible, np.inf, factor * np.where(impossible, 0.0, surprise))


def balance(alpha: Any, view: View) -> Floats:
    """Factor of each row by its true class: 1; a for class 1 and 1 - a for class 0; one a class."""
    if alpha is None:
        return np.ones(view.n_rows)
    n_classes = view.n_classes
    try:
        factors = np.asarray(alpha, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"alpha must be a number or one factor per class; got {alpha!r:.60}", field="alpha") from None
    if factors.ndim == 0:
        if n_classes != 2:
            raise InputError(
                f"alpha must hold one factor per class, {n_classes}; a single number is for two classes",
                field="alpha",
            )
        factors = np.array([1 - factors, factors])
    if factors.shape != (n_classes,):
        raise InputError(f"alpha must hold one factor per class, {n_classes}; got shape {factors.shape}", field="alpha")
    if not (np.isfinite(factors).all() and (factors >= 0).all()):
        raise InputError(f"alpha must give finite factors of 0 or more; got {factors.tolist()}", field="alpha")
    return np.asarray(factors[view.true])


def focal_losses(
    view: View, *, gamma: Exponent | Literal["flsd53"] = 2.0, alpha: Any = None, eps: Clip = 0.0
) -> Floats:
    """Focal loss of each row.

    Parameters
    ----------
    gamma
        Focusing exponent; 0 gives nll. ``flsd53`` is 5 where the probability of the true class is below 0.2,
        else 3.
    alpha
        Class balance: a number a (two classes) is a for class 1 and 1 - a for class 0; a sequence is one
        factor for each true class; None is 1.
    eps
        Clip the probability of the true class to [eps, 1 - eps]; 0 clips nothing.
    """
    prob = clipped(view.picked, eps)
    exponent = np.where(prob < 0.2, 5.0, 3.0) if isinstance(gamma, str) else float(gamma)
    return modulated(balance(alpha, view) * (1 - prob) ** exponent, prob)


@metric(
    title="Focal loss",
    family="point",
    reads=MeanOf(focal_losses),
    range=(0.0, None),
    direction="lower",
    proper="no",
    equation=r"FL=-\frac1N\sum_{i}\alpha_{y_i}(1-c_{i,y_i})^{\gamma}\log c_{i,y_i}",
    where=TRUE_CLASS | {"α_y": "class balance factor, 1 by default"},
    source="Lin et al. 2017, ICCV; schedule flsd53: Mukhoti et al. 2020, NeurIPS 33; Lane 2025 s3.4 eq 8",
    matrix="full class probabilities",
    pitfalls="Not proper for gamma > 0: its optimum is less confident than the truth. The review prints "
    "1/(NK), which is per_class=True.",
    aliases=("fl", "focal"),
)
def focal_loss(mean: Mean, *, per_class: bool = False) -> float:
    """Log loss in which rows that are already right count little.

    Parameters
    ----------
    per_class
        Divide by the number of classes too, as the review prints it.
    """
    return mean.value / (mean.n_classes if per_class else 1)


def dual_focal_losses(
    view: View, *, gamma: Exponent = 2.0, variant: Literal["paper", "top2"] = "paper", eps: Clip = 0.0
) -> Floats:
    """Dual focal loss of each row.

    Parameters
    ----------
    gamma
        Focusing exponent.
    variant
        ``paper``: the rival is the most likely class strictly below the true one, 0 if there is none;
        ``top2``: the two most likely classes, whatever the true one.
    eps
        Clip the probability of the true class to [eps, 1 - eps]; the rival is picked before.
    """
    matrix = view.prob.astype(np.float64, copy=False)
    prob = clipped(view.picked, eps)
    if variant == "paper":
        rival = np.where(matrix < view.picked[:, None], matrix, 0.0).max(axis=1)
        distance = 1 - prob + rival
    else:
        second, first = np.partition(matrix, matrix.shape[1] - 2, axis=1)[:, -2:].T
        distance = 1 - first + second
    return modulated(distance ** float(gamma), prob)


@metric(
    title="Dual focal loss",
    family="point",
    reads=MeanOf(dual_focal_losses, "classes"),
    range=(0.0, None),
    direction="lower",
    proper="no",
    equation=r"DFL=-\frac1N\sum_i(1-c_{i,y_i}+r_i)^{\gamma}\log c_{i,y_i},\quad "
    r"r_i=\max\{c_{ik}:c_{ik}<c_{i,y_i}\}\ (\max\emptyset=0);\qquad\text{top2: "
    r"}(1-c_{i(1)}+c_{i(2)})^{\gamma}",
    where=TRUE_CLASS
    | {
        "r_i": "probability of the rival class",
        "c_i(1), c_i(2)": "largest and second largest probability of the row",
    },
    source="Tao, Dong and Xu 2023, ICML, and their released code; Lane 2025 s3.4",
    matrix="full class probabilities",
    pitfalls="The review puts the most confident class in place of the true one (variant=top2); paper and "
    "code keep the true class, and the two differ wherever the prediction is wrong. A class tied with the "
    "true one is no rival.",
    aliases=("dfl",),
)
def dual_focal_loss(mean: Mean, *, per_class: bool = False) -> float:
    """Focal loss that also asks for a distance between the true class and its nearest rival below.

    Parameters
    ----------
    per_class
        Divide by the number of classes too.
    """
    return mean.value / (mean.n_classes if per_class else 1)


def focal_calibration_losses(
    view: View,
    *,
    gamma: Exponent | Literal["flsd53"] = 2.0,
    strength: Annotated[float, AtLeast(0)] = 1.0,
    alpha: Any = None,
    eps: Clip = 0.0,
) -> Floats:
    """Focal loss plus squared distance of each row.

    Parameters
    ----------
    gamma
        Focusing exponent, as in focal_loss.
    strength
        Factor lambda of the squared distance between forecast and outcome.
    alpha
        Class balance of the focal term, as in focal_loss.
    eps
        Clipping in the focal term.
    """
    return focal_losses(view, gamma=gamma, alpha=alpha, eps=eps) + strength * square_errors(view)


@metric(
    title="Focal calibration loss",
    family="point",
    reads=MeanOf(focal_calibration_losses),
    range=(0.0, None),
    direction="lower",
    proper="no",
    equation=r"FCL=\frac1N\sum_i\Big[-\alpha_{y_i}(1-c_{i,y_i})^{\gamma}\log c_{i,y_i}"
    r"+\lambda\sum_{k=1}^{K}(c_{ik}-y_{ik})^2\Big]",
    where=TRUE_CLASS | {"α_y": "class balance factor, 1 by default", "λ": "parameter strength"},
    source="Liang et al. 2024, arXiv 2410.18321; Lane 2025 s3.4",
    matrix="full class probabilities; a vector has two classes, so its distance is 2 (p - y)^2",
    pitfalls="Not proper, whatever paper and review say: with a true probability of 0.8 and gamma 2 the "
    "optimum is 0.70 for strength 1 and 0.76 for strength 5; it only nears the truth as strength grows.",
    aliases=("fcl",),
)
def focal_calibration_loss(mean: Mean) -> float:
    """Focal loss plus a multiple of the squared distance between forecast and outcome."""
    return mean.value
