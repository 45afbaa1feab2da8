# SPDX-License-Identifier: Apache-2.0
"""Maximum likelihood of a logistic curve: Platt's line in the logit, and the beta map.

The likelihood depends on the rows only through the totals at distinct confidences, so a Newton step costs one pass over
those. Whether a finite maximum exists is decided before the fit, exactly: a line separates two classes when one of them
ends where the other begins; the beta map, which turns at most once, also when one class lies inside a gap of the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import UndefinedMetricError
from epimeter.metrics.curve.levels import clipped, logistic, logit
from epimeter.summaries.rows import Levels

Floats = NDArray[np.float64]
Space = Literal["logit", "probability"]

STEPS = 200
SETTLED = 1e-9
"""A Newton step that moves no log odds by more than this is the last: the error after it is its square."""


@dataclass(frozen=True)
class Fit:
    """Coefficients of the design's columns, their Fisher information, and the log-likelihood reached."""

    coefficients: Floats
    information: Floats
    log_likelihood: float


def log_likelihood(eta: Floats, weight: Floats, true: Floats) -> float:
    """Of `true` outcomes among `weight` trials with these log odds."""
    rest = np.log1p(np.exp(-np.abs(eta)))
    # Sums, and not products of vectors: for those a library starts its threads, which costs more than the sum.
    wrong = np.sum(true * np.maximum(-eta, 0.0)) + np.sum((weight - true) * np.maximum(eta, 0.0))
    return -float(np.sum(weight * rest) + wrong)


def maximum_likelihood(design: Floats, weight: Floats, true: Floats, name: str) -> Fit:
    """Newton's method, in columns made orthonormal under the weights.

    `true` may be smoothed targets. The caller has made sure that a finite maximum exists.
    """
    size = np.sqrt(weight @ design**2)
    size[size == 0] = 1.0
    root = np.sqrt(weight)[:, None]
    basis, triangle = np.linalg.qr(root * (design / size))
    if np.abs(np.diag(triangle)).min() < 1e-10:
        raise UndefinedMetricError(f"{name} has no unique fit: the confidences are too close to each other")
    basis /= root
    place = np.zeros(design.shape[1])

    def gain(eta: Floats) -> float:
        return log_likelihood(eta, weight, true)

    for _ in range(STEPS):
        eta = basis @ place
        chance = logistic(eta)
        curvature = basis.T @ (basis * (weight * chance * (1 - chance))[:, None])
        try:
            step = np.linalg.solve(curvature, basis.T @ (true - weight * chance))
        except np.linalg.LinAlgError:
            break
        move = basis @ step
        largest = float(np.abs(move).max())
        place = place + step * step_length(gain, eta, move, largest)
        if largest < SETTLED:
            inner = triangle * size
            reached = log_likelihood(basis @ place, weight, true)
            return Fit(np.linalg.solve(inner, place), inner.T @ curvature @ inner, reached)
    raise UndefinedMetricError(f"{name} found no finite maximum of the likelihood; the outcomes are all but separated")


def step_length(height: Callable[[Floats], float], place: Floats, step: Floats, largest: float) -> float:
    """How much of a Newton step to go: all, or halved until no height is lost.

    A step that moves no log odds by more than 0.1 never loses any and is not looked at.
    """
    length = 1.0
    if largest > 0.1:
        here = height(place)
        while length > 1e-10 and not height(place + length * step) >= here - 1e-12 * abs(here):
            length /= 2
    return length


def refuse_one_class(levels: Levels, name: str) -> None:
    """No logistic curve has a finite fit to one outcome."""
    total, true = levels.weight.sum(), levels.true.sum()
    if true == 0 or true == total:
        raise UndefinedMetricError(f"{name} needs both outcomes; all {total:g} rows have outcome {int(true > 0)}")


def refuse_few(x: Floats, least: int, name: str) -> None:
    """Fewer distinct confidences than coefficients leave some of them open."""
    distinct = len(np.unique(x))
    if distinct < least:
        raise UndefinedMetricError(f"{name} needs at least {least} distinct confidences; got {distinct}")


def refuse_separation(x: Floats, levels: Levels, name: str) -> None:
    """One class ends where the other begins: the slope would grow without end."""
    one, zero = x[levels.true > 0], x[levels.true < levels.weight]
    if zero.max() <= one.min() or one.max() <= zero.min():
        raise UndefinedMetricError(f"{name} has no finite fit: the confidences separate the two outcomes perfectly")


def best_intercept(x: Floats, weight: Floats, true: Floats) -> float:
    """The a of largest likelihood of log odds a + x: where as many outcomes are expected as came true.

    Certain rows are counted apart from the tiny rest of their probability, so that log odds of 27 lose nothing.
    """
    mean = float(true.sum() / weight.sum())
    base = math.log(mean) - math.log1p(-mean)
    low, high = base - float(x.max()), base - float(x.min())
    place = min(max(0.0, low), high)
    for _ in range(STEPS):
        eta = x + place
        sure, rest = eta > 0, logistic(-np.abs(eta))
        excess = (true - np.where(sure, weight, 0.0)).sum() + float((np.where(sure, weight, -weight) * rest).sum())
        low, high = (place, high) if excess > 0 else (low, place)
        step = excess / float((weight * rest * (1 - rest)).sum())
        new = place + step if low <= place + step <= high else (low + high) / 2
        if abs(new - place) <= 1e-13 * max(1.0, abs(place)):
            break
        place = new
    return float(place)


@dataclass(frozen=True)
class LogisticLine:
    """Log odds a + b x of the outcome, with x the logit of the confidence or the confidence itself."""

    intercept: float
    slope: float
    space: Space

    def __call__(self, prob: Floats) -> Floats:
        return logistic(self.eta(prob))

    def eta(self, prob: Floats) -> Floats:
        return self.intercept + self.slope * coordinate(prob, self.space)


def coordinate(prob: Floats, space: Space) -> Floats:
    """The x of the line."""
    return logit(prob) if space == "logit" else np.asarray(prob, np.float64)


def fitted_line(levels: Levels, space: Space, name: str, smoothing: bool = False) -> tuple[LogisticLine, Fit]:
    """Platt scaling: the line of largest likelihood, to outcomes or to Platt's smoothed targets."""
    refuse_one_class(levels, name)
    x = coordinate(levels.prob, space)
    refuse_few(x, 2, name)
    target = levels.true
    if smoothing:
        ones = float(levels.true.sum())
        zeros = float(levels.weight.sum()) - ones
        target = levels.true * (ones + 1) / (ones + 2) + (levels.weight - levels.true) / (zeros + 2)
    else:
        refuse_separation(x, levels, name)
    fit = maximum_likelihood(np.column_stack([np.ones(len(x)), x]), levels.weight, target, name)
    return LogisticLine(float(fit.coefficients[0]), float(fit.coefficients[1]), space), fit


@dataclass(frozen=True)
class BetaMap:
    """Log odds a log c - b log(1 - c) + m of the outcome."""

    a: float
    b: float
    m: float
    log_likelihood: float

    def __call__(self, prob: Floats) -> Floats:
        inner = clipped(prob)
        return logistic(self.a * np.log(inner) - self.b * np.log1p(-inner) + self.m)


def fitted_beta(levels: Levels, name: str, least: int = 3) -> BetaMap:
    """Beta calibration with a, b >= 0.

    The likelihood is concave, so a fit on the border (a = 0, b = 0 or both) is the answer as soon as it does not rise
    inwards; only when none is, the free fit has a, b > 0. Two distinct confidences fix the map there, but not its
    coefficients: `least` says which of the two is wanted.
    """
    refuse_one_class(levels, name)
    inner = clipped(levels.prob)
    refuse_few(inner, 2, name)
    refuse_separation(inner, levels, name)
    refuse_few(inner, least, name)
    columns = np.column_stack([np.log(inner), -np.log1p(-inner), np.ones(len(inner))])
    nothing = 1e-12 * (levels.weight @ np.abs(columns))
    rises = np.array([True, True])
    for kept in ([2], [1, 2], [0, 2], [0, 1, 2]):
        if len(kept) == 2 and not rises[kept[0]]:
            continue  # this coefficient would turn negative
        fit = maximum_likelihood(columns[:, kept], levels.weight, levels.true, name)
        full = np.zeros(3)
        full[kept] += fit.coefficients
        slope = columns.T @ (levels.true - levels.weight * logistic(columns @ full))
        inwards = [slope[i] > nothing[i] for i in (0, 1) if i not in kept]
        if not any(inwards):
            break
        if len(kept) == 1:
            rises = slope[:2] > nothing[:2]
    a, b, shift = (float(value) for value in full)
    return BetaMap(max(0.0, a), max(0.0, b), shift, fit.log_likelihood)
