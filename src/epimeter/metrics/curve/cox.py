# SPDX-License-Identifier: Apache-2.0
"""A line in the logit: Cox's intercept and slope with their tests, and the error that Platt's map finds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import Between
from epimeter.metrics.curve.levels import NORM_SYMBOLS, TOP_LABEL, filled, logit, weighted_mean
from epimeter.metrics.curve.logistic import (
    Space,
    best_intercept,
    coordinate,
    fitted_line,
    log_likelihood,
    refuse_one_class,
)
from epimeter.results import Result
from epimeter.summaries import Ordered, OrderedRows
from epimeter.summaries.rows import Levels
from epimeter.uncertainty import OwnError

Norm = Annotated[float, Between(0, math.inf, open_low=True, open_high=True)]

FIT_ON_TEST = (
    "Kängsepp, Valk and Kull 2022, 2025 (On the usefulness of the fit-on-the-test view); Lane 2025 s5.10, eq 40"
)


@dataclass(frozen=True, kw_only=True)
class CoxFit(Result):
    """The line, its standard errors, and the tests of intercept 0 and slope 1."""

    intercept: float
    slope: float
    intercept_se: float
    slope_se: float
    intercept_in_the_large: float
    lr: float
    lr_p_value: float
    wald: float
    wald_p_value: float
    in_the_large_p_value: float
    slope_p_value: float


@metric(
    title="Cox intercept and slope",
    family="curve",
    reads=Ordered(),
    ideal=0.0,
    direction="signed",
    test="asymptotic",
    equation=r"\operatorname{logit}P(y=1)=a+b\operatorname{logit}(c)\ \text{by maximum likelihood};\qquad a_L:\ "
    r"\text{the same with } b=1;\qquad LR=2\,[\ell(\hat a,\hat b)-\ell(0,1)]\sim\chi^2_2;\quad "
    r"W=(\hat a,\hat b-1)\,I(\hat a,\hat b)\,(\hat a,\hat b-1)^T\sim\chi^2_2;\quad "
    r"2[\ell(a_L,1)-\ell(0,1)]\sim\chi^2_1;\quad 2[\ell(\hat a,\hat b)-\ell(a_L,1)]\sim\chi^2_1",
    where={
        "a, b": "intercept, slope",
        "a_L": "intercept_in_the_large",
        "I": "Fisher information; standard errors are the roots of the diagonal of its inverse",
        "c": "confidence, clipped to [1e-12, 1 - 1e-12]",
    },
    source="Cox 1958; Van Calster et al. 2016; Huang et al. 2020 JAMIA; Lane 2025 s5.11 eq 88 (corrected)",
    matrix=TOP_LABEL,
    pitfalls="An intercept below 0 means predictions too high (print has it reversed); a slope below 1 predictions too "
    "extreme. The intercept beside a free slope is not calibration in the large: read intercept_in_the_large for that. "
    "Confidences of 0 and 1 take part at a logit of 27.6; R's val.prob drops them.",
    aliases=(
        "calibration_intercept_and_slope",
        "calibration_slope",
        "calibration_intercept",
        "cox",
        "cox_slope",
        "cox_intercept",
        "weak_calibration",
        "logistic_recalibration",
    ),
    interval=OwnError(value="intercept", error="intercept_se", method="likelihood"),
)
def cis(rows: OrderedRows) -> CoxFit:
    """Intercept and slope of the outcome's log odds against the stated ones: 0 and 1 when calibrated."""
    from epimeter.special import chdtrc

    levels = filled(rows)
    line, fit = fitted_line(levels, "logit", "cis")
    x = logit(levels.prob)
    at_identity = log_likelihood(x, levels.weight, levels.true)
    large = best_intercept(x, levels.weight, levels.true)
    at_large = log_likelihood(x + large, levels.weight, levels.true)
    away = np.array([line.intercept, line.slope - 1])
    error = np.sqrt(np.diag(np.linalg.inv(fit.information)))
    lr = max(0.0, 2 * (fit.log_likelihood - at_identity))
    wald = float(away @ fit.information @ away)
    return CoxFit(
        intercept=line.intercept,
        slope=line.slope,
        intercept_se=float(error[0]),
        slope_se=float(error[1]),
        intercept_in_the_large=large,
        lr=lr,
        lr_p_value=float(chdtrc(2, lr)),
        wald=wald,
        wald_p_value=float(chdtrc(2, wald)),
        in_the_large_p_value=float(chdtrc(1, max(0.0, 2 * (at_large - at_identity)))),
        slope_p_value=float(chdtrc(1, max(0.0, 2 * (fit.log_likelihood - at_large)))),
    )


@metric(
    title="Fit-on-the-test ECE, Platt scaling",
    family="curve",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"\frac1N\sum_i|\rho(a+b\,x_i)-c_i|^\alpha,\qquad (a,b)=\text{maximum likelihood}",
    where=NORM_SYMBOLS | {"x": "logit of c clipped to [1e-12, 1 - 1e-12], or c itself", "ρ": "logistic function"},
    source=FIT_ON_TEST + "; Platt 1999",
    matrix=TOP_LABEL,
    pitfalls="Sees only miscalibration that a line in the chosen space can follow. A line in the confidence itself "
    "(space=probability) cannot be the identity, so it is not 0 for a calibrated model.",
    aliases=("fott_platt_scaling", "ece-platt", "fott"),
)
def fott_platt(rows: OrderedRows, *, space: Space = "logit", norm: Norm = 1) -> float:
    """Mean distance between the confidences and Platt's map fitted to the same rows.

    Parameters
    ----------
    space
        What the line is in: ``logit`` of the confidence, or the ``probability`` itself.
    norm
        Exponent of the distance; no root is taken.
    """
    levels = filled(rows)
    if one_place(coordinate(levels.prob, space), levels, "fott_platt"):
        return mean_distance(levels, mean_outcome(levels), norm)
    line, _ = fitted_line(levels, space, "fott_platt")
    return mean_distance(levels, line(levels.prob), norm)


def one_place(x: NDArray[np.float64], levels: Levels, name: str) -> bool:
    """Whether all rows say the same, so that any fitted map gives their mean outcome."""
    refuse_one_class(levels, name)
    return bool(x[0] == x[-1])


def mean_outcome(levels: Levels) -> NDArray[np.float64]:
    """The mean outcome at every confidence."""
    return np.full(len(levels.prob), levels.true.sum() / levels.weight.sum())


def mean_distance(levels: Levels, mapped: NDArray[np.float64], norm: float) -> float:
    """Mean over the rows of |mapped - c|^norm."""
    return weighted_mean(np.abs(mapped - levels.prob) ** norm, levels.weight)
