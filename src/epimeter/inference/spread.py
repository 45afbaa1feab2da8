# SPDX-License-Identifier: Apache-2.0
"""Intervals of means and of what is made of means: the spread of the rows says how sure the mean is.

Every metric here is a smooth function of means over the rows. Its influence, one number a row, has the variance that
the interval needs; rows of one group are added up first, since repeats of one question are not new evidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.summaries.means import Mean, MeanOf
from epimeter.summaries.paired import Paired
from epimeter.summaries.sums import Sums, SumsOf
from epimeter.views import Multiclass, View

Floats = NDArray[np.float64]

ENOUGH = 1 << 20
"""Rows that say how much a score varies; of more, every k-th is looked at: the deviation is then known to 0.1 %."""


@dataclass(frozen=True)
class Evidence:
    """What the rows are worth: weights, and the groups that count as one."""

    weight: Floats | None
    group: NDArray[np.int64] | None
    """Number of the group of each row; None where rows are independent."""
    n_rows: int
    enough: int = ENOUGH
    looked_at: tuple[View, Evidence] | None = None
    """The rows that were looked at before, and what they are worth."""

    @property
    def units(self) -> int:
        """Independent units."""
        return self.n_rows if self.group is None else int(self.group.max()) + 1

    @property
    def effective(self) -> float:
        """Rows of weight one that would say as much, groups aside (Kish)."""
        if self.weight is None:
            return float(self.n_rows)
        return float(self.weight.sum() ** 2 / (self.weight**2).sum())

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

    def sample(self, view: View) -> tuple[View, Evidence]:
        """Enough rows to know a deviation, and what they are worth; all of them where there are groups."""
        if self.looked_at is not None:
            return self.looked_at
        step = -(-self.n_rows // self.enough)
        if step == 1 or self.group is not None:
            return view, self
        some = view.take(slice(None, None, step))
        return some, Evidence(some.weight, None, some.n_rows)


def student(units: int, level: float) -> float:
    """Quantile of Student's law for so many units."""
    from scipy.special import stdtrit

    return float(stdtrit(max(1, units - 1), (1 + level) / 2))


def score_ends(
    recipe: MeanOf, mean: Mean, compute: Callable[[Any], float], view: View, evidence: Evidence, level: float
) -> tuple[float, float, str] | None:
    """Interval of a metric that is a function of one mean score: that of the mean, its ends mapped."""
    if mean.plus or mean.minus or evidence.units < 2:
        return None
    some, worth = evidence.sample(view)
    some = some.read_as(recipe.reading)
    scores = np.asarray(recipe.score(some, **dict(recipe.bound)), np.float64)
    if worth.weight is not None:
        scores = np.where(worth.weight > 0, scores, 0.0)  # a row without weight says nothing, also at infinity
    plain = worth.weight is None and worth.group is None
    if plain and bool(((scores == 0) | (scores == 1)).all()):
        low, high = wilson(mean.value, evidence.units, level)
        method = "Wilson"
    else:
        low, high = skewed_ends(scores, mean.value, worth, evidence, level)
        method = "normal, skewness removed" if plain else "normal"
        method += ", by groups" if evidence.group is not None else ""
    found = sorted(compute(_mean_at(mean, end)) for end in (low, high))
    return found[0], found[1], method


def skewed_ends(
    scores: Floats, centre: float, worth: Evidence, evidence: Evidence, level: float
) -> tuple[float, float]:
    """Student's interval of a mean; for independent rows with Hall's transformation, which removes skewness.

    `worth` describes the rows that were looked at, `evidence` all of them.
    """
    own = centre if worth is evidence else _centre(scores, worth)
    reach = student(evidence.units, level)
    error = worth.deviation(scores - own) * math.sqrt(worth.effective / evidence.effective)
    if worth.group is not None or worth.weight is not None or error == 0:
        return centre - reach * error, centre + reach * error
    # Hall 1992, JRSS B 54: t is mapped to g(t) = t + a t^2/3 + a^2 t^3/27 + a/6 with a = skewness / sqrt(n).
    n = evidence.n_rows
    spread = error * math.sqrt(n)
    with np.errstate(over="ignore"):
        third = math.fsum((((scores - own) / spread) ** 3).tolist()) / len(scores)
    a = third / math.sqrt(n)
    if abs(a) < 1e-9:
        return centre - reach * error, centre + reach * error

    def back(t: float) -> float:
        return 3 / a * (float(np.cbrt(1 + a * (t - a / 6))) - 1)

    return centre - error * back(reach), centre - error * back(-reach)


def _centre(scores: Floats, worth: Evidence) -> float:
    if worth.weight is None:
        return math.fsum(scores.tolist()) / len(scores)
    heavy = worth.weight > 0
    return math.fsum((scores[heavy] * worth.weight[heavy]).tolist()) / math.fsum(worth.weight.tolist())


def _mean_at(mean: Mean, value: float) -> Mean:
    """The same mean with another value."""
    one = np.asarray(1.0)
    return replace(
        mean, weight=Paired(one, 0 * one), total=Paired(np.asarray(value), 0 * one), large=0, plus=0, minus=0
    )


def wilson(rate: float, n: float, level: float) -> tuple[float, float]:
    """Wilson's interval of a share."""
    from scipy.special import ndtri

    z2 = float(ndtri((1 + level) / 2)) ** 2
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    reach = math.sqrt(z2 * rate * (1 - rate) / n + z2**2 / (4 * n**2)) / (1 + z2 / n)
    return max(0.0, centre - reach), min(1.0, centre + reach)


def clopper_pearson(hits: float, n: int, level: float) -> tuple[float, float]:
    """The exact interval of a share: it covers at least as often as it says, at every N."""
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(hits, n - hits + 1, tail)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - tail)) if hits < n else 1.0
    return low, high


def sums_ends(
    recipe: SumsOf,
    sums: Sums,
    compute: Callable[[Any], float],
    view: View,
    evidence: Evidence,
    level: float,
    ratio: bool,
) -> tuple[float, float] | None:
    """Interval of a smooth function of several means, by the delta method; of a ratio on the logarithmic scale."""
    means = np.asarray(sums.total.floats() / float(sums.size[0]))
    if sums.plus.any() or evidence.units < 2:
        return None
    some, worth = evidence.sample(view)
    some = some.read_as(recipe.reading)
    rows = np.asarray(recipe.score(some, **dict(recipe.bound)), np.float64).reshape(some.n_rows, -1)
    if worth.weight is not None:
        rows = np.where(worth.weight[:, None] > 0, rows, 0.0)
    value, slopes = compute(_sums_at(sums, means)), []
    for column in range(len(means)):
        step = 1e-6 * max(abs(float(means[column])), 1e-3)
        moved = [means + sign * step * (np.arange(len(means)) == column) for sign in (-1, 1)]
        down, up = (compute(_sums_at(sums, at)) for at in moved)
        slopes.append((up - down) / (2 * step))
    influence = rows @ np.array(slopes)
    influence = influence - _centre(influence, worth)
    if not math.isfinite(value) or not np.isfinite(influence).all():
        return None
    if ratio and value > 0:
        error = worth.deviation(influence) * math.sqrt(worth.effective / evidence.effective)
        factor = math.exp(min(student(evidence.units, level) * error / value, 700.0))
        return value / factor, value * factor
    return skewed_ends(influence + value, value, worth, evidence, level)


def _sums_at(sums: Sums, means: Floats) -> Sums:
    one = Paired(np.ones(1), np.zeros(1))
    total = Paired(means, np.zeros_like(means))
    return replace(sums, weight=one, total=total, square=None if sums.square is None else total)


def skill_ends(view: Multiclass, value: float, evidence: Evidence, level: float) -> tuple[float, float] | None:
    """Interval of 1 - BS/BS_ref against the class frequencies.

    The frequencies minimise the score of a constant forecast, so how they vary does not matter to first order.
    """
    weight = np.ones(view.n_rows) if view.weight is None else view.weight
    shares = np.bincount(view.true, weights=weight, minlength=view.n_classes) / weight.sum()
    constant = 1 - 2 * shares[view.true] + float(shares @ shares)
    prob = view.prob.astype(np.float64)
    scored = np.einsum("ij,ij->i", prob, prob) - 2 * view.picked + 1
    reference = float(weight @ constant / weight.sum())
    if reference <= 0 or evidence.units < 2:
        return None
    influence = -(scored - (1 - value) * constant) / reference
    influence = influence - _centre(influence, evidence)
    return skewed_ends(influence + value, value, evidence, evidence, level)


__all__ = ["Evidence", "clopper_pearson", "score_ends", "skill_ends", "student", "sums_ends", "wilson"]
