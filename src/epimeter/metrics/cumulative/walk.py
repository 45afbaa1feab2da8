# SPDX-License-Identifier: Apache-2.0
"""The walk that every cumulative metric reads: sort by confidence, accumulate outcome minus confidence.

C_j is the weighted sum of y - c over the rows up to the j-th step, divided by the whole weight. A step is one
distinct confidence (``ties="group"``, the same for any order of the rows) or one row (``ties="stable"``).

All sums are sums of integers: a number of size up to 1 is rounded once to a multiple of 2^-60, finer than a
double resolves anything above 2^-8. So the walk does not drift, however long it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.core import accepted, lib, read, write
from epimeter.errors import InputError
from epimeter.summaries.sorting import sorted_keys, unpacked
from epimeter.views import Binary, Multiclass, View

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Reduction = Literal["top", "within", "class"]
Ties = Literal["group", "stable"]

STEP = 2.0**-60
_HALF = 30
_MASK = (1 << _HALF) - 1
SMALL_VARIANCE = 2.0**-10
"""Below this largest c(1 - c) the variances are scaled up before they are added: none is lost to rounding."""

LARGE_SCALE = 0.25
"""The scale otherwise: no c(1 - c) is larger."""

WALK_SYMBOLS = {
    "C_j": "cumulative difference after step j, C_0 = 0",
    "G_j": "rows of the j-th smallest distinct confidence (ties=group), or the j-th row of the stable sort",
    "w_i": "weight of row i, 1 without weights",
    "y_i": "1 if the event came true, else 0",
    "c_i": "its confidence",
    "σ": "standard deviation of the end of the walk under calibration",
}
REDUCED = "reduced to one event a row, as reduction and k say: by default the top label"


def event(view: View, reduction: Reduction, k: int, metric: str) -> Binary:
    """One event a row: the vector, or what `reduction` makes of a matrix; rows of weight zero are dropped."""
    reduced = view.event if isinstance(view, Binary) else _reduced(view.classes, reduction, int(k), metric)
    if reduced.weight is None or reduced.weight.all():
        return reduced
    kept = reduced.take(reduced.weight > 0)
    assert isinstance(kept, Binary)
    return kept


def _reduced(view: Multiclass, reduction: Reduction, k: int, metric: str) -> Binary:
    first, last = (0, view.n_classes - 1) if reduction == "class" else (1, view.n_classes)
    if not first <= k <= last:
        raise InputError(
            f"k of {metric} must be from {first} to {last} when reduction is {reduction} and the matrix has "
            f"{view.n_classes} columns; got {k}",
            field="k",
        )
    if reduction == "top" and k == 1:
        return view.event
    prob = view.prob.astype(np.float64, copy=False)
    if reduction == "class":
        return Binary((view.true == k).astype(np.uint8), prob[:, k], view.weight, view.columns)
    # A stable sort ranks the lower class first among equal probabilities.
    ranked = np.argsort(-prob, axis=1, kind="stable")[:, :k]
    chosen = np.take_along_axis(prob, ranked, axis=1)
    right = ranked == view.true[:, None]
    if reduction == "top":
        return Binary(right[:, -1].astype(np.uint8), chosen[:, -1], view.weight, view.columns)
    together = np.minimum(chosen.sum(axis=1), 1.0)
    return Binary(right.any(axis=1).astype(np.uint8), together, view.weight, view.columns)


@dataclass(frozen=True)
class Steps:
    """Rows in the order of the walk; each array has one entry a row, `ends` the last row of each step.

    `starts` is where each of several walks begins; one walk, from 0, unless subpopulations were joined.
    """

    prob: Floats
    true: NDArray[Any]
    weight: Floats | None
    ends: NDArray[np.intp]
    starts: NDArray[np.intp]

    @cached_property
    def share(self) -> Floats | None:
        """The weights, divided by the power of two that brings the largest of each walk to at most 1."""
        if self.weight is None:
            return None
        return self.weight / self._spread(power_of_two(np.maximum.reduceat(self.weight, self.starts)))

    def _spread(self, values: Floats) -> Floats:
        """One value a walk, repeated for each of its rows."""
        return np.repeat(values, np.diff(self.starts, append=len(self.prob)))

    @property
    def total(self) -> Floats:
        """The whole share of each walk; its number of rows without weights."""
        if self.share is None:
            return np.diff(self.starts, append=len(self.prob)).astype(np.float64)
        return self.at_walk_ends(scaled(self.share))

    def at_walk_ends(self, steps: Integers) -> Floats:
        """The sum of a column over each walk."""
        coarse = np.add.reduceat(steps >> _HALF, self.starts)
        return joined(coarse, np.add.reduceat(steps & _MASK, self.starts))

    def at_step_ends(self, steps: Integers) -> Floats:
        """Running sums of a column after every step, each walk from 0."""
        coarse, fine = np.cumsum(steps >> _HALF), np.cumsum(steps & _MASK)
        coarse_end, fine_end = coarse[self.ends], fine[self.ends]
        if len(self.starts) > 1:
            # What had come together before a walk began is taken off again: exact, since these are integers.
            before = self.starts[self.walk_of_step] - 1
            coarse_end -= np.where(before < 0, 0, coarse[before])
            fine_end -= np.where(before < 0, 0, fine[before])
        return joined(coarse_end, fine_end)

    @cached_property
    def walk_of_step(self) -> NDArray[np.intp]:
        """The number of the walk each step belongs to."""
        return np.searchsorted(self.starts, self.ends, side="right") - 1

    @property
    def residual(self) -> Integers:
        """w(y - c) of each row, in multiples of 2^-60."""
        if self.share is None:
            return (self.true.astype(np.int64) << 2 * _HALF) - scaled(self.prob)
        return scaled(self.share * (self.true - self.prob))

    @cached_property
    def variance(self) -> tuple[Integers, Floats]:
        """w^2 c(1-c) of each row in multiples of 2^-60 of a power of two, and that power for each walk."""
        values = self.prob * (1 - self.prob)
        if self.share is not None:
            values *= self.share**2
        largest = np.maximum.reduceat(values, self.starts)
        scale = np.where(largest >= SMALL_VARIANCE, LARGE_SCALE, power_of_two(largest))
        return scaled(values / (scale[0] if len(scale) == 1 else self._spread(scale))), scale

    @cached_property
    def sigma(self) -> Floats:
        """Standard deviation of the end of each walk under calibration."""
        steps, scale = self.variance
        return np.asarray(np.sqrt(self.at_walk_ends(steps) * scale) / self.total)


def scaled(values: Floats) -> Integers:
    """Numbers of size up to 1 in multiples of 2^-60, rounded half to even."""
    return np.rint(values * (1.0 / STEP)).astype(np.int64)


def joined(coarse: Integers, fine: Integers) -> Floats:
    """Sums kept in multiples of 2^-30 and 2^-60 as doubles, rounded once."""
    return (coarse + (fine >> _HALF)).astype(np.float64) * 2.0**-_HALF + (fine & _MASK) * STEP


def power_of_two(values: Floats) -> Floats:
    """The least power of two that is greater than each value; 1 for 0."""
    return np.asarray(np.ldexp(1.0, np.where(values > 0, np.frexp(values)[1], 0)))


def steps_of(rows: Binary, ties: Ties) -> Steps:
    """The rows of an event in the order of the walk."""
    prob = rows.prob.astype(np.float64, copy=False)
    start = np.zeros(1, np.intp)
    if ties == "stable":
        order = np.argsort(prob, kind="stable")
        weight = None if rows.weight is None else rows.weight[order]
        return Steps(prob[order], rows.true[order], weight, np.arange(len(prob)), start)
    if rows.weight is None:
        prob, true, _ = unpacked(sorted_keys(prob, rows.true))
        return Steps(prob, true, None, run_ends(prob), start)
    order = np.argsort(prob, kind="stable")
    return Steps(prob[order], rows.true[order], rows.weight[order], run_ends(prob[order]), start)


def run_ends(prob: Floats) -> NDArray[np.intp]:
    """The last place of every run of equal confidence."""
    return np.flatnonzero(np.append(prob[1:] != prob[:-1], True))


@dataclass(frozen=True)
class Walk:
    """C_1..C_J, where they stand, and the standard deviation of the last under calibration."""

    steps: Steps

    @cached_property
    def difference(self) -> Floats:
        return np.asarray(self.steps.at_step_ends(self.steps.residual) / self.steps.total[0])

    @property
    def confidence(self) -> Floats:
        return self.steps.prob[self.steps.ends]

    @property
    def fraction(self) -> Floats:
        """Share of the weight up to each step."""
        share = self.steps.share
        if share is None:
            return np.asarray((self.steps.ends + 1) / self.steps.total[0])
        return np.asarray(self.steps.at_step_ends(scaled(share)) / self.steps.total[0])

    @property
    def elapsed(self) -> Floats:
        """t_j: share of the variance up to each step, the time of the Brownian motion."""
        variance, _ = self.steps.variance
        return np.asarray(self.steps.at_step_ends(variance) / self.steps.at_walk_ends(variance)[0])

    @property
    def sigma(self) -> float:
        return float(self.steps.sigma[0])

    @property
    def terminal(self) -> float:
        return float(self.difference[-1])

    @property
    def maximum(self) -> float:
        """The highest point, C_0 = 0 included."""
        return max(0.0, float(self.difference.max()))

    @property
    def minimum(self) -> float:
        """The lowest point, C_0 = 0 included."""
        return min(0.0, float(self.difference.min()))


@dataclass(frozen=True)
class Span:
    """How far a walk goes up and down, and the standard deviation of its end."""

    maximum: float
    minimum: float
    sigma: float


def extremes(keys: NDArray[np.int64], scale: float) -> tuple[Any, Any, Any, float]:
    """Highest and lowest point of the walk over sorted keys, C_0 = 0 included, its variance, the largest c(1 - c).

    The points are in multiples of 2^-30 and 2^-60, the variance in those of `scale`.
    """
    points, largest = np.zeros((3, 2), np.int64), np.zeros(1)
    parts = [write(point) for point in points]
    accepted(lib.epi_walk_extremes(read(keys), len(keys), scale, *parts, 2, write(largest)))
    return points[0], points[1], points[2], float(largest[0])


def span(rows: Binary, ties: Ties) -> Span:
    """The extremes of the walk; without weights one loop walks the sorted rows, to the integers of `Walk`."""
    if ties == "group" and rows.weight is None:
        keys, scale = sorted_keys(rows.prob, rows.true), LARGE_SCALE
        high, low, variance, largest = extremes(keys, scale)
        if largest < SMALL_VARIANCE:
            scale = float(power_of_two(np.asarray(largest)))
            high, low, variance, _ = extremes(keys, scale)
        sigma = np.sqrt(joined(*variance) * scale) / rows.n_rows
        return Span(float(joined(*high)) / rows.n_rows, float(joined(*low)) / rows.n_rows, float(sigma))
    walk = Walk(steps_of(rows, ties))
    return Span(walk.maximum, walk.minimum, walk.sigma)


def ratio(value: float, sigma: float) -> float:
    """A deviation in standard deviations; certainty (sigma 0) leaves 0 or infinity."""
    if sigma == 0:
        return 0.0 if value == 0 else float("inf")
    return value / sigma
