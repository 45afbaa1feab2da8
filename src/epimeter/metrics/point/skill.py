# SPDX-License-Identifier: Apache-2.0
"""Skill: how much of the way from a reference forecast to a perfect one a forecast has come."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.checks import check_finite, numbers, refuse
from epimeter.errors import InputError
from epimeter.metrics.point.distance import row_absolute_errors
from epimeter.metrics.point.likelihood import log_losses
from epimeter.metrics.point.ordinal import ranked_squares
from epimeter.metrics.point.power import spherical
from epimeter.summaries import Rows
from epimeter.summaries.rowwise import row_dot
from epimeter.summaries.sums import row_mean
from epimeter.uncertainty import SkillScore
from epimeter.views import Binary, Multiclass, View, refuse_extreme

Floats = NDArray[np.float64]


class ScoreRule(NamedTuple):
    """A score of each row, and what a perfect forecast scores."""

    score: Callable[[View], Floats]
    perfect: float


RULES = {
    "nll": ScoreRule(log_losses, 0.0),
    "rps": ScoreRule(ranked_squares, 0.0),
    "mae": ScoreRule(row_absolute_errors, 0.0),
    "spherical_score": ScoreRule(spherical, 1.0),
}


def skill(forecast: View, reference: Any, rule: ScoreRule) -> float:
    """(S(r) - S(c)) / (S(r) - S*)."""
    other = reference_forecast(forecast, reference).classes
    reached = row_mean(rule.score(forecast), forecast.weight) - rule.perfect
    start = row_mean(rule.score(other), forecast.weight) - rule.perfect
    if math.isinf(reached):
        return -math.inf
    if start == 0:
        return math.nan if reached == 0 else -math.inf
    return 1 - reached / start


def brier_skill(forecast: View, reference: Any) -> float:
    """1 - BS(c) / BS(r); the divisor of the Brier score cancels, and tiny scores are compared to their last digits."""
    refuse_extreme(forecast.weight)
    reached = mean_square(_deviations(forecast), forecast.weight)
    if reference is None:
        share = class_frequencies(forecast)
        others, top = 1 - share, int(share.argmax())
        others[top] = math.fsum(np.delete(share, top))  # the others may be too few for 1 - f
        start = Scaled(math.fsum(share * others), 1.0)  # sum f_k (1 - f_k)
    else:
        start = mean_square(_deviations(reference_forecast(forecast, reference)), forecast.weight)
    if start.mean == 0:
        return math.nan if reached.mean == 0 else -math.inf
    sizes = reached.size / start.size
    return 1 - reached.mean / start.mean * sizes * sizes


class Scaled(NamedTuple):
    """A mean square: `mean` times the square of `size`."""

    mean: float
    size: float


def mean_square(deviations: Floats, weight: Floats | None) -> Scaled:
    """Mean over the rows of the sum of squares, in units of the largest, whose square might be no number."""
    if weight is not None:
        deviations, weight = deviations[weight > 0], weight[weight > 0]
    largest = float(np.abs(deviations).max())
    if largest == 0:
        return Scaled(0.0, 1.0)
    size = 2.0 ** math.floor(math.log2(largest))  # a power of two: exact
    parts = deviations / size
    return Scaled(row_mean(row_dot(parts, parts), weight), size)


def _deviations(forecast: View) -> Floats:
    """Forecast minus outcome of each class; those of a vector without forming 1 - p."""
    if isinstance(forecast, Binary):
        excess = forecast.prob.astype(np.float64) - forecast.true
        return np.column_stack([-excess, excess])
    excess = forecast.prob.astype(np.float64)
    excess[np.arange(len(excess)), forecast.true] -= 1
    return excess


def reference_forecast(forecast: View, reference: Any) -> View:
    """The reference as a forecast for the same rows.

    None is the class frequencies themselves, a number the probability of class 1, K numbers the same
    probabilities for every row, N numbers or an (N, K) matrix a forecast of its own for each row.
    """
    n_rows, n_classes = forecast.n_rows, forecast.n_classes
    if reference is None:
        return _constant(forecast, class_frequencies(forecast))
    given = numbers(reference, "reference").astype(np.float64, copy=False)
    check_finite(np.atleast_1d(given), "reference")
    if ((given < 0) | (given > 1)).any():
        worst = given[(given < 0) | (given > 1)].flat[0]
        raise InputError(f"reference must lie in [0, 1]; got {worst:g}", field="reference")
    if given.shape in ((), (n_rows,)):  # before (K,): with as many rows as classes it is a forecast per row
        if n_classes == 2:
            return Binary(forecast.true.astype(np.uint8), np.broadcast_to(given, n_rows), forecast.weight)
        shape_fits = False
    else:
        shape_fits = given.shape in ((n_classes,), (n_rows, n_classes))
    if not shape_fits:
        per_row = f"({n_rows},) or ({n_rows}, 2)" if n_classes == 2 else f"({n_rows}, {n_classes})"
        raise InputError(
            f"reference must be {'a number, ' * (n_classes == 2)}{n_classes} class probabilities, or a "
            f"forecast for each row of shape {per_row}; got shape {np.shape(reference)}",
            field="reference",
        )
    sums = np.atleast_1d(given.sum(axis=-1))
    refuse(np.abs(sums - 1) > 1e-6, sums, "reference", "must sum to 1 within 1e-6 over the classes")
    if given.ndim == 1:
        return _constant(forecast, given)
    return Multiclass(forecast.true.astype(np.intp), given, forecast.weight)


def _constant(forecast: View, prob: Floats) -> Multiclass:
    """The same probabilities for every row."""
    shape = (forecast.n_rows, len(prob))
    return Multiclass(forecast.true.astype(np.intp), np.broadcast_to(prob, shape), forecast.weight)


def class_frequencies(forecast: View) -> Floats:
    """Share of the weight that each class has."""
    mass = np.bincount(forecast.true, weights=forecast.weight, minlength=forecast.n_classes)
    return np.asarray(mass / mass.sum())


REFERENCES = {"r": "reference forecast, the class frequencies of the data by default", "c": "forecast"}


@metric(
    title="Brier skill score",
    family="point",
    reads=Rows("given"),
    range=(None, 1.0),
    direction="higher",
    proper="no",
    equation=r"BSS=1-\frac{BS(c,y)}{BS(r,y)}",
    where=REFERENCES | {"BS": "brier_score; its scale cancels"},
    source="Murphy 1973, J. Applied Meteorology 12; Wilks, Statistical Methods in the Atmospheric Sciences;"
    " Lane, journal version, appendix B.1",
    matrix="full class probabilities",
    pitfalls="The default reference knows the class frequencies of these very rows, which no real forecast "
    "does, so small samples score too low. Not proper, and -inf or NaN where the reference is perfect (one "
    "class only).",
    aliases=("bss", "d2_brier_score"),
    interval=SkillScore(when=(("reference", None),)),
)
def brier_skill_score(view: View, *, reference: Any = None) -> float:
    """Share of a reference forecast's Brier score that the forecast does away with.

    Parameters
    ----------
    reference
        None: the class frequencies of y_true. A number: constant probability of class 1. K numbers: constant
        class probabilities. An (N,) or (N, K) array: a forecast per row; N numbers are read so even when K =
        N.
    """
    return brier_skill(view, reference)


@metric(
    title="Skill score of a scoring rule",
    family="point",
    reads=Rows("given"),
    range=(None, 1.0),
    direction="higher",
    proper="no",
    equation=r"SS=\frac{S(r,y)-S(c,y)}{S(r,y)-S^{*}}",
    where=REFERENCES | {"S": "the score", "S*": "the score of a perfect forecast: 1 for spherical_score, 0 otherwise"},
    source="Gneiting and Raftery 2007, JASA 102, s2.3; Lane, journal version, appendix B.1",
    matrix="as the chosen score reads it; a vector is read as the columns 1 - p, p",
    pitfalls="The default reference knows the class frequencies of these very rows. With nll one certain but "
    "wrong forecast makes it -inf.",
    aliases=("relative_score", "d2_score"),
)
def skill_score(
    view: View,
    *,
    metric: Literal["brier_score", "nll", "rps", "mae", "spherical_score"] = "brier_score",
    reference: Any = None,
) -> float:
    """Share of the way from a reference forecast to a perfect one.

    Parameters
    ----------
    metric
        The score to compare, with its default parameters.
    reference
        As in brier_skill_score.
    """
    return brier_skill(view, reference) if metric == "brier_score" else skill(view.classes, reference, RULES[metric])
