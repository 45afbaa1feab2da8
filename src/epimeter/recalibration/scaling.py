# SPDX-License-Identifier: Apache-2.0
"""Maps with a few parameters: temperature, Platt and beta scaling."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.core.class_loops import softmax_moments
from epimeter.core.threads import SHARE, shared
from epimeter.errors import InputError
from epimeter.metrics.curve.levels import TOP_LABEL, clipped, filled, logistic, logit, points
from epimeter.metrics.curve.logistic import Space, fitted_beta, fitted_line, log_likelihood
from epimeter.results import Result
from epimeter.summaries import Ordered, OrderedRows, Rows, fixed
from epimeter.summaries.logarithm import log
from epimeter.views import Binary, View

Floats = NDArray[np.float64]

LIMITS = 0.01, 100.0
"""Between these the temperature is sought."""
Derivatives = tuple[float, float, float]
"""Mean log loss and its first two derivatives."""


@dataclass(frozen=True, kw_only=True)
class TemperatureFit(Result):
    """The temperature, the mean log loss with and without it, and the map where it was asked for."""

    temperature: float
    nll: float
    nll_before: float
    mapped: Any = None


@metric(
    title="Temperature scaling",
    family="recalibration",
    reads=Rows("given"),
    range=LIMITS,
    direction="none",
    equation=r"T=\arg\min_{T>0}\ -\frac1N\sum_i\log\operatorname{softmax}\big(\log(c_i)/T\big)_{y_i};\qquad"
    r"\text{vector: }\ \hat y(c)=\rho(\operatorname{logit}(c)/T)",
    where={"c": "clipped to [1e-12, 1 - 1e-12] before the logarithm", "nll, nll_before": "mean log loss at T and at 1"},
    source="Guo et al. 2017 ICML; Lane 2025 s5.10; ONTO 42001 Annex B.2.2",
    matrix="used whole",
    pitfalls="T is sought in [0.01, 100]; an optimum at an end (all right, or worse than chance) gives that end. It cannot "
    "mend confidences that are too high in one part and too low in another.",
    aliases=("ts",),
)
def temperature_scaling(rows: View, *, at: Any = None) -> TemperatureFit:
    """The one temperature that makes the probabilities most likely.

    Parameters
    ----------
    at
        Where to evaluate the map: probabilities of the event beside a vector (a number gives a number), rows of class
        probabilities beside a matrix. None: fit only.
    """
    binary = isinstance(rows, Binary)
    score = log_scores(rows)
    score -= score[np.arange(len(score)), rows.true.astype(np.intp)][:, None]  # against what came true
    before = derivatives(score, rows.weight, 1.0)
    cold, (nll, _, _) = best_inverse(score, rows.weight, before)
    return TemperatureFit(
        temperature=1 / cold,
        nll=nll,
        nll_before=before[0],
        mapped=None if at is None else cooled(at, cold, 1 if binary else rows.n_classes),
    )


def log_scores(rows: View) -> Floats:
    """One score a class, in memory of its own."""
    if isinstance(rows, Binary):
        odds = logit(rows.prob)
        return np.stack([np.zeros(len(odds)), odds], axis=1)
    score = np.ascontiguousarray(clipped(rows.prob))
    shared(lambda part: log(score[part], out=score[part]), len(score), max(1, SHARE // score.shape[1]))
    return score


def best_inverse(score: Floats, weight: Floats | None, start: Derivatives) -> tuple[float, Derivatives]:
    """The 1/T of least loss and what `derivatives` says there: Newton's method on a convex function.

    Every look at the function is a pass over all scores, so none is made that is not needed: the ends of the range are
    looked at only when a step leads there, or when steps no longer help. Where the loss falls like an exponential (certain
    forecasts that are right) every step of Newton is as long as the one before, and would never arrive.
    """
    low, high = 1 / LIMITS[1], 1 / LIMITS[0]
    cold, here, former = 1.0, start, math.inf
    for _ in range(100):
        _, slope, curvature = here
        if slope == 0:
            # The best, or temperature changes nothing; or the loss is flat from here to the end of the range.
            if cold != 1.0:
                end = 1 / LIMITS[0] if cold > 1 else 1 / LIMITS[1]
                there = derivatives(score, weight, end)
                if there[1] * (end - cold) <= 0:
                    return end, there
            break
        step = -slope / curvature if curvature > 0 else math.copysign(math.inf, -slope)
        new = cold + step
        slow = abs(slope) > former / 4 and abs(step) > 1e-8 * cold
        former = abs(slope)
        if slow or not low < new < high:
            end = high if step > 0 else low
            there = derivatives(score, weight, end)
            if there[1] * step <= 0:
                return end, there
            # The best lies between: the geometric middle halves the distance in the logarithm.
            low, high = (cold, end) if step > 0 else (end, cold)
            new = math.sqrt(low * high)
        elif step > 0:
            low = cold
        else:
            high = cold
        moved, cold = abs(new - cold), new
        here = derivatives(score, weight, cold)
        # Newton's error after a step is about the square of the step.
        if moved <= 1e-8 * cold:
            break
    return cold, here


def derivatives(score: Floats, weight: Floats | None, cold: float) -> Derivatives:
    """Mean log loss at 1/T = cold and its first two derivatives; exact sums, so that no order of rows matters."""
    top, total, mean, variance = softmax_moments(score, cold)
    columns = log(total) + top, mean, variance
    if weight is None:
        return tuple(float(fixed.total(column).floats()) / len(score) for column in columns)  # type: ignore[return-value]
    mass = math.fsum(weight)
    return tuple(math.fsum(column * weight) / mass for column in columns)  # type: ignore[return-value]


def cooled(at: Any, cold: float, n_columns: int) -> Any:
    """The map at new probabilities."""
    where, single = points(at, "temperature_scaling")
    if n_columns == 1:
        mapped = logistic(cold * logit(where))
        return float(mapped) if single else mapped
    if single or where.shape[-1] != n_columns:
        raise InputError(
            f"at of temperature_scaling must have one probability per class, {n_columns}; got shape {where.shape}",
            field="at",
        )
    score = cold * np.log(clipped(where))
    chance = np.exp(score - score.max(axis=-1, keepdims=True))
    return chance / chance.sum(axis=-1, keepdims=True)


@dataclass(frozen=True, kw_only=True)
class PlattFit(Result):
    """Slope and intercept, the mean log loss, and the map where it was asked for."""

    slope: float
    intercept: float
    nll: float
    mapped: Any = None


@metric(
    title="Platt scaling",
    family="recalibration",
    reads=Ordered(),
    direction="none",
    equation=r"(a,b)=\arg\max\sum_it_i\log\rho(a+bx_i)+(1-t_i)\log(1-\rho(a+bx_i)),\qquad\hat y(c)=\rho(a+b\,x(c))",
    where={
        "t": "outcome, or smoothed target",
        "a, b": "intercept, slope",
        "x": "logit of c clipped to [1e-12, 1 - 1e-12], or c itself",
        "nll": "mean log loss of the outcomes (not of the smoothed targets)",
    },
    source="Platt 1999; Lane 2025 s5.10; ONTO 42001 Annex B.2.2",
    matrix=TOP_LABEL,
    pitfalls="A line in the probability itself cannot be the identity. scikit-learn's sigmoid calibration is "
    "space=probability with smoothing, and has the opposite signs.",
    aliases=("sigmoid_calibration", "logistic_calibration"),
)
def platt_scaling(rows: OrderedRows, *, space: Space = "logit", smoothing: bool = False, at: Any = None) -> PlattFit:
    """The line in the log odds of largest likelihood.

    Parameters
    ----------
    space
        What the line is in: ``logit`` of the confidence, or the ``probability`` itself.
    smoothing
        True fits to Platt's targets (n1+1)/(n1+2) and 1/(n0+2) instead of 1 and 0.
    at
        Where to evaluate the map: a number gives a number, an array an array. None: fit only.
    """
    levels = filled(rows)
    line, _ = fitted_line(levels, space, "platt_scaling", smoothing)
    reached = log_likelihood(line.eta(levels.prob), levels.weight, levels.true)
    return PlattFit(
        slope=line.slope,
        intercept=line.intercept,
        nll=-reached / float(levels.weight.sum()),
        mapped=mapped(line, at, "platt_scaling"),
    )


@dataclass(frozen=True, kw_only=True)
class BetaFit(Result):
    """The three coefficients, the mean log loss, and the map where it was asked for."""

    a: float
    b: float
    m: float
    nll: float
    mapped: Any = None


@metric(
    title="Beta calibration map",
    family="recalibration",
    reads=Ordered(),
    range=(0.0, None),
    direction="none",
    equation=r"\hat y(c)=\rho\big(a\log c-b\log(1-c)+m\big),\qquad (a,b,m)=\arg\max_{a,b\ge0}\text{likelihood}",
    where={"m": "intercept of the log odds", "c": "clipped to [1e-12, 1 - 1e-12]", "nll": "mean log loss"},
    source="Kull, Silva Filho and Flach 2017, AISTATS and Electronic Journal of Statistics 11(2); Lane 2025 s5.10, s5.12",
    matrix=TOP_LABEL,
    pitfalls="betacal reports the confidence at which the map is 1/2 as m, stops its optimiser early (a and b agree to "
    "about 1e-3), and clips at machine epsilon.",
    aliases=("beta_scaling", "abm"),
)
def beta_calibration(rows: OrderedRows, *, at: Any = None) -> BetaFit:
    """The beta map of largest likelihood: three parameters, the identity among them.

    Parameters
    ----------
    at
        Where to evaluate the map: a number gives a number, an array an array. None: fit only.
    """
    levels = filled(rows)
    fit = fitted_beta(levels, "beta_calibration")
    return BetaFit(
        a=fit.a,
        b=fit.b,
        m=fit.m,
        nll=-fit.log_likelihood / float(levels.weight.sum()),
        mapped=mapped(fit, at, "beta_calibration"),
    )


def mapped(curve: Any, at: Any, name: str) -> Any:
    """A fitted curve at the points asked for, if any."""
    if at is None:
        return None
    where, single = points(at, name)
    return float(curve(where)) if single else curve(where)
