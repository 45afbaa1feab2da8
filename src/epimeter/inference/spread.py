# SPDX-License-Identifier: Apache-2.0
"""Intervals of means and of what is made of means: the spread of the rows says how sure the mean is.

Every metric here is a smooth function of means over the rows. Its influence, one number a row, has the variance that
the interval needs; rows of one group are added up first, since repeats of one question are not new evidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError, UndefinedMetricError
from epimeter.forecasts import Forecast
from epimeter.summaries.means import Mean
from epimeter.summaries.paired import Paired
from epimeter.summaries.row_scores import weight_total
from epimeter.summaries.sums import Sums
from epimeter.views import Multiclass, View

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SamplingDesign:
    """How the rows were sampled, which says what they are worth: weights, and the groups that count as one."""

    weight: Floats | None
    group: NDArray[np.int64] | None
    """Number of the group of each row; None where rows are independent."""
    n_rows: int
    kish: float | None = None
    """Rows of weight one that would say as much, where that is known already."""

    @cached_property
    def units(self) -> int:
        """Independent units."""
        return self.n_rows if self.group is None else int(self.group.max()) + 1

    @cached_property
    def effective(self) -> float:
        """Rows of weight one that would say as much, groups aside (Kish)."""
        if self.kish is not None or self.weight is None:
            return float(self.n_rows) if self.kish is None else self.kish
        share = self.weight / math.ldexp(1.0, math.frexp(float(self.weight.max()))[1] - 1)  # squares stay doubles
        mass, squares = (float(weight_total(column).floats()) for column in (share, share**2))
        return mass**2 / squares

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.weight is not None or self.kish is not None

    def deviation(self, influence: Floats) -> float:
        """Standard error of the mean of an influence of mean zero."""
        if self.weight is not None:
            influence = influence * self.weight / self.weight.mean()
        if self.group is not None:
            influence = np.asarray(np.bincount(self.group, weights=influence), np.float64)
        units = len(influence)
        size = float(np.abs(influence).max(initial=0.0))
        if size == 0 or not math.isfinite(size):
            return size
        # In units of the largest, so that no square leaves the doubles.
        return size * math.sqrt(math.fsum(((influence / size) ** 2).tolist()) * units / (units - 1)) / self.n_rows

    def inflation(self, influence: Floats) -> float:
        """How many times larger the variance is than if every row were independent."""
        if self.group is None:
            return 1.0
        alone = replace(self, group=None).deviation(influence)
        return (self.deviation(influence) / alone) ** 2 if alone > 0 else 1.0


def design_of(view: View | Forecast, groups: Any) -> SamplingDesign:
    """What the rows are worth."""
    if groups is None:
        return SamplingDesign(view.weight, None, view.n_rows)
    labels = np.asarray(groups)
    if labels.shape != (view.n_rows,):
        raise InputError(f"groups must have one label per row, {view.n_rows}; got shape {labels.shape}", field="groups")
    number = np.unique(labels, return_inverse=True)[1].ravel().astype(np.int64)
    if number.max() < 1:
        raise UndefinedMetricError("an interval by groups needs at least 2 of them; got 1")
    return SamplingDesign(view.weight, number, view.n_rows)


@lru_cache(maxsize=256)
def student(units: int, level: float) -> float:
    """Quantile of Student's law for so many units."""
    from epimeter.special import stdtrit

    return float(stdtrit(max(1, units - 1), (1 + level) / 2))


@dataclass(frozen=True)
class RowSpread:
    """The spread of scores row by row, for rows of one group that must be added up first."""

    scores: Floats
    """One column a score."""
    design: SamplingDesign

    def error(self, means: Floats, slopes: Floats) -> tuple[float, float | None]:
        """Standard error of the combination `slopes` of the means; no third moment."""
        rows = self.scores
        if self.design.weight is not None:  # a row without weight says nothing, also at infinity
            rows = np.where(self.design.weight[:, None] > 0, rows, 0.0)
        influence = rows @ slopes
        return self.design.deviation(influence - _centre(influence, self.design)), None


class Spread(Protocol):
    """How sure combinations of means are: from the moments of a pass, or from rows."""

    def error(self, means: Floats, slopes: Floats) -> tuple[float, float | None]:
        """Standard error and, if known, third standardised moment."""
        ...


def score_ends(
    mean: Mean, compute: Callable[[Any], float], spread: Spread, design: SamplingDesign, level: float
) -> tuple[float, float, str] | None:
    """Interval of a metric that is a function of one mean score: that of the mean, its ends mapped."""
    if mean.plus or mean.minus or design.units < 2:
        return None
    centre = mean.value
    plain = not design.weighted and design.group is None
    if plain and getattr(spread, "zero_or_one", False):
        low, high = wilson(centre, design.units, level)
        method = "Wilson"
    else:
        error, third = spread.error(np.array([centre]), np.ones(1))
        low, high = skewed_ends(centre, error, third, design, level)
        method = "normal, skewness removed" if plain else "normal"
        method += ", by groups" if design.group is not None else ""
    found = sorted(compute(_mean_at(mean, end)) for end in (low, high))
    return found[0], found[1], method


def skewed_ends(
    centre: float, error: float, third: float | None, design: SamplingDesign, level: float
) -> tuple[float, float]:
    """Student's interval of a mean; for independent rows with Hall's transformation, which removes skewness.

    `third` is the third standardised moment of the rows.
    """
    reach = student(design.units, level)
    if third is None or error == 0 or not math.isfinite(third):
        return centre - reach * error, centre + reach * error
    # Hall 1992, JRSS B 54: t is mapped to g(t) = t + a t^2/3 + a^2 t^3/27 + a/6 with a = skewness / sqrt(n).
    a = third / math.sqrt(design.n_rows)
    if abs(a) < 1e-9:
        return centre - reach * error, centre + reach * error

    def back(t: float) -> float:
        return 3 / a * (math.cbrt(1 + a * (t - a / 6)) - 1)

    return centre - error * back(reach), centre - error * back(-reach)


def third_moment(influence: Floats, error: float) -> float:
    """The third standardised moment of rows of mean zero, where the mean of all has this standard error."""
    spread = error * math.sqrt(len(influence))
    with np.errstate(over="ignore"):
        return math.fsum(((influence / spread) ** 3).tolist()) / len(influence)


def _centre(scores: Floats, worth: SamplingDesign) -> float:
    if worth.weight is None:
        return math.fsum(scores.tolist()) / len(scores)
    heavy = worth.weight > 0
    return math.fsum((scores[heavy] * worth.weight[heavy]).tolist()) / math.fsum(worth.weight.tolist())


_ONE, _NONE = np.asarray(1.0), np.asarray(0.0)


def _mean_at(mean: Mean, value: float) -> Mean:
    """The same mean with another value."""
    return Mean(Paired(_ONE, _NONE), Paired(np.asarray(value), _NONE), 0, 0, 0, mean.n_rows, mean.n_classes)


def wilson(rate: float, n: float, level: float) -> tuple[float, float]:
    """Wilson's interval of a share."""
    from epimeter.special import ndtri

    z2 = float(ndtri((1 + level) / 2)) ** 2
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    reach = math.sqrt(z2 * rate * (1 - rate) / n + z2**2 / (4 * n**2)) / (1 + z2 / n)
    return max(0.0, centre - reach), min(1.0, centre + reach)


def clopper_pearson(hits: float, n: float, level: float) -> tuple[float, float]:
    """The exact interval of a share: it covers at least as often as it says, at every N."""
    from epimeter.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return low, high


def sums_ends(
    sums: Sums,
    compute: Callable[[Any], float],
    spread: Spread,
    design: SamplingDesign,
    level: float,
    ratio: bool,
) -> tuple[float, float] | None:
    """Interval of a smooth function of several means, by the delta method; of a ratio on the logarithmic scale."""
    means = np.asarray(sums.total.floats() / float(sums.size[0]))
    if sums.plus.any() or design.units < 2:
        return None
    value, slopes = compute(_sums_at(sums, means)), []
    for column in range(len(means)):
        step = 1e-6 * max(abs(float(means[column])), 1e-3)
        moved = [means + sign * step * (np.arange(len(means)) == column) for sign in (-1, 1)]
        down, up = (compute(_sums_at(sums, at)) for at in moved)
        slopes.append((up - down) / (2 * step))
    if not math.isfinite(value) or not np.isfinite(slopes).all():
        return None
    error, third = spread.error(means, np.array(slopes))
    if ratio and value > 0:
        factor = math.exp(min(student(design.units, level) * error / value, 700.0))
        return value / factor, value * factor
    return skewed_ends(value, error, third, design, level)


def _sums_at(sums: Sums, means: Floats) -> Sums:
    total = Paired(means, np.zeros(len(means)))
    weight, square = Paired(_ONE[None], _NONE[None]), None if sums.square is None else total
    return Sums(weight, total, square, sums.plus, sums.n_rows, sums.n_classes)


def skill_ends(view: Multiclass, value: float, design: SamplingDesign, level: float) -> tuple[float, float] | None:
    """Interval of 1 - BS/BS_ref against the class frequencies.

    The frequencies minimise the score of a constant forecast, so how they vary does not matter to first order.
    """
    weight = np.ones(view.n_rows) if view.weight is None else view.weight
    shares = np.bincount(view.true, weights=weight, minlength=view.n_classes) / weight.sum()
    constant = 1 - 2 * shares[view.true] + float(shares @ shares)
    prob = view.prob.astype(np.float64)
    scored = np.einsum("ij,ij->i", prob, prob) - 2 * view.picked + 1
    reference = float(np.sum(weight * constant) / weight.sum())
    if reference <= 0 or design.units < 2:
        return None
    influence = -(scored - (1 - value) * constant) / reference
    influence = influence - _centre(influence, design)
    error = design.deviation(influence)
    plain = error > 0 and design.weight is None and design.group is None
    return skewed_ends(value, error, third_moment(influence, error) if plain else None, design, level)


__all__ = [
    "RowSpread",
    "SamplingDesign",
    "Spread",
    "clopper_pearson",
    "design_of",
    "score_ends",
    "skill_ends",
    "student",
    "sums_ends",
    "wilson",
]
