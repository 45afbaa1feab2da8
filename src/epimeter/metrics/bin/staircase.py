# SPDX-License-Identifier: Apache-2.0
"""Frequencies of any number of bins from running totals of the sorted rows, and whether they rise."""

from __future__ import annotations

import bisect
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.summaries.cuts import ROUNDING, width_index
from epimeter.summaries.rows import OrderedRows, run_starts

Floats = NDArray[np.float64]
Numbers = NDArray[Any]
SweepCut = Literal["mass", "width"]
AT_ONCE = 1 << 12
"""Steps that are compared at a time."""


def width_edges(number: NDArray[np.int64], bins: int) -> Floats:
    """The smallest double that falls into each of these equal-width bins.

    Bin and edge must agree to the last bit, and floor(p * bins) rounds: i / bins can lie a unit beside the edge.
    """
    edge = number / bins
    for _ in range(3):
        lower = np.nextafter(edge, 0.0)
        edge = np.where((lower * bins >= number) & (lower < edge), lower, edge)
    return np.where(edge * bins < number, np.nextafter(edge, 2.0), edge)


@dataclass(frozen=True)
class Staircase(ABC):
    """Rows in order of confidence with running totals, from which the heights of any bins are read.

    A step is what the bins never cut: all rows of one confidence.
    """

    prob: Floats
    """The confidence of each step."""
    binning: SweepCut

    @staticmethod
    def of(rows: OrderedRows, binning: SweepCut) -> Staircase:
        if rows.weight is None and rows.distinct:
            return RowStaircase(rows.prob, binning, rows)
        return LevelStaircase.of_levels(rows, binning)

    @property
    @abstractmethod
    def total(self) -> float:
        """N."""

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Whether weights are whole: then heights are compared as fractions of integers."""

    @property
    def distinct(self) -> int:
        """How many different confidences there are."""
        return len(self.prob)

    @property
    @abstractmethod
    def rises(self) -> bool:
        """Whether the steps themselves never fall: then no bins made of them can."""

    @property
    @abstractmethod
    def mixed(self) -> tuple[int, int]:
        """First step with an outcome 1 and last with an outcome 0: outside of them heights are 0 and 1."""

    @abstractmethod
    def before(self, steps: NDArray[Any]) -> tuple[Numbers, Numbers]:
        """The weight before each of these rising steps, and how much of it came true; behind the last step is the end of all."""

    @abstractmethod
    def nearest(self, cut: Numbers) -> NDArray[np.int64]:
        """The step whose beginning is nearest to each cut of the weight; half-way is the later one."""

    def monotone(self, bins: int) -> bool:
        """Whether the frequencies of this many bins never fall, empty bins aside."""
        if self.rises:
            return True
        return self._never_falls(*(self._mass_cuts(bins) if self.binning == "mass" else self._width_cuts(bins)))

    def _never_falls(self, mass: Numbers, true: Numbers) -> bool:
        size, seen = np.diff(mass), np.diff(true)
        size, seen = size[size > 0], seen[size > 0]
        # Heights are compared crosswise, as fractions of integers. Fractional weights have no exact sums: they may
        # miss equality by rounding.
        slack = 0 if self.exact else 1e-9 * size[1:] * size[:-1]
        return bool((seen[:-1] * size[1:] <= seen[1:] * size[:-1] + slack).all())

    def _mass_cuts(self, bins: int) -> tuple[Numbers, Numbers]:
        """Running totals at the borders of the equal-mass bins that are neither all 0 nor all 1."""
        low, high = self.mixed
        (lowest, highest), _ = self.before(np.array([low, high + 1]))
        cut: Numbers
        if self.exact:
            size, larger = divmod(int(self.total), bins)
            first, last = (place(position, size, larger) for position in (int(lowest), int(highest) - 1))
            number = np.arange(first, last + 2)
            cut = number * size + np.minimum(number, larger)
        else:
            first, last = (int(at * bins / self.total) for at in (lowest, highest))
            cut = self.total * np.arange(max(first - 1, 0), min(last + 2, bins) + 1) / bins
            cut[cut > 0] += ROUNDING * self.total
        return self.before(self.nearest(cut))

    def _width_cuts(self, bins: int) -> tuple[Numbers, Numbers]:
        """Running totals at the borders of the equal-width bins that are neither all 0 nor all 1."""
        low, high = self.mixed
        first, last = width_index(self.prob[[low, high]], bins)
        number = np.arange(first, last + 2)
        if high - low < last - first:  # fewer steps than bins: the borders are where the bin of a step changes
            index = width_index(self.prob[low : high + 1], bins)
            inner = low + 1 + np.flatnonzero(np.diff(index))
            number = number[[0, -1]]
        else:
            inner = np.searchsorted(self.prob, width_edges(number[1:-1], bins))
        outer = np.searchsorted(self.prob, width_edges(number[[0, -1]], bins))
        end = len(self.prob) if last == bins - 1 else outer[1]
        return self.before(np.concatenate([outer[:1], inner, [end]]))


@dataclass(frozen=True)
class RowStaircase(Staircase):
    """Rows without weights that all differ: a step is a row, so that nothing need be kept but how many came true."""

    rows: OrderedRows

    @property
    def total(self) -> float:
        return float(self.rows.n_rows)

    @property
    def exact(self) -> bool:
        return True

    @cached_property
    def rises(self) -> bool:
        first, last = self.mixed
        return first > last or bool(self.rows.outcome[first] == self.rows.outcome[last])

    @cached_property
    def mixed(self) -> tuple[int, int]:
        outcome, n_rows = self.rows.outcome, self.rows.n_rows
        for end in range(n_rows, 0, -AT_ONCE):
            zeros = np.flatnonzero(outcome[max(0, end - AT_ONCE) : end] == 0)
            if len(zeros):
                return int(np.argmax(outcome)), max(0, end - AT_ONCE) + int(zeros[-1])
        return 0, n_rows - 1

    def before(self, steps: NDArray[Any]) -> tuple[Numbers, Numbers]:
        return steps, self.rows.true_before(steps)

    def nearest(self, cut: Numbers) -> NDArray[np.int64]:
        return cut


@dataclass(frozen=True)
class LevelStaircase(Staircase):
    """Levels of any weight. Whole weights are kept as integers, so heights are compared as exact fractions."""

    mass: Numbers
    """Weight before each step, and at the end of all."""
    true: Numbers
    """Weight that came true before each step, and at the end of all."""

    @classmethod
    def of_levels(cls, rows: OrderedRows, binning: SweepCut) -> LevelStaircase:
        """The steps of rows with weights or with equal confidences."""
        if rows.weight is None:
            before = np.append(rows.starts, rows.n_rows)
            return cls(rows.prob[rows.starts], binning, before, rows.true_before(before))
        weight: Numbers = rows.weight
        true: Numbers
        prob, true = rows.prob, rows.true
        if not rows.weight.all():  # a row of weight zero is no step
            kept = rows.weight > 0
            weight, prob, true = rows.weight[kept], rows.prob[kept], rows.true[kept]
        fractions = not (weight == np.floor(weight)).all()
        if not fractions:
            weight, true = whole(weight), whole(true)
        if rows.distinct:
            return cls(prob, binning, running(weight), running(weight * true))
        starts = run_starts(prob)
        if fractions and len(starts) < len(prob):
            # Equal confidences by weight, then outcome: sums of a step are then rounded alike in any order of the rows.
            order = np.lexsort((true, weight, prob))
            weight, true = weight[order], true[order]
        sums = (running(np.add.reduceat(column, starts)) for column in (weight, weight * true))
        return cls(prob[starts], binning, *sums)

    @property
    def total(self) -> float:
        return float(self.mass[-1])

    @property
    def exact(self) -> bool:
        return bool(self.mass.dtype.kind == "i")

    @cached_property
    def rises(self) -> bool:
        # Most fall soon, so a few are looked at before the next: the last two borders of a part begin the next one.
        parts = (slice(first, first + AT_ONCE + 2) for first in range(0, len(self.prob), AT_ONCE))
        return all(self._never_falls(self.mass[part], self.true[part]) for part in parts)

    @cached_property
    def mixed(self) -> tuple[int, int]:
        if self.exact:
            steps, ones, zeros = len(self.prob), int(self.true[-1]), int(self.mass[-1] - self.true[-1])
            first = int(np.searchsorted(self.true, 0, side="right")) - 1 if ones else 0
            none_left = bisect.bisect_left(range(steps), zeros, key=lambda step: self.mass[step] - self.true[step])
            return first, none_left - 1 if zeros else steps - 1
        size, seen = np.diff(self.mass), np.diff(self.true)
        return int(np.argmax(seen > 0)), len(seen) - 1 - int(np.argmax((seen < size)[::-1]))

    def before(self, steps: NDArray[Any]) -> tuple[Numbers, Numbers]:
        return self.mass[steps], self.true[steps]

    def nearest(self, cut: Numbers) -> NDArray[np.int64]:
        # A cut inside a step goes to its beginning when the middle of the step lies behind it, else to its end.
        step = np.minimum(np.searchsorted(self.mass, cut, side="right") - 1, len(self.prob) - 1)
        step += 2 * cut >= self.mass[step] + self.mass[step + 1]
        return np.asarray(step)


def whole(values: Floats) -> Numbers:
    """Whole numbers as integers."""
    return values.astype(np.int64)


def running(values: Numbers) -> Numbers:
    """Running totals, from 0."""
    totals = np.zeros(len(values) + 1, values.dtype)
    np.cumsum(values, out=totals[1:])
    return totals


def place(position: int, size: int, larger: int) -> int:
    """The group of a position, when the first `larger` groups hold one more than `size`."""
    border = larger * (size + 1)
    return position // (size + 1) if position < border else larger + (position - border) // size
