# SPDX-License-Identifier: Apache-2.0
"""Every row, for metrics that cannot do with less."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from epimeter.core import accepted, lib, read, write
from epimeter.core.threads import shared
from epimeter.limits import BinCount
from epimeter.summaries.cuts import Cut, bin_index
from epimeter.summaries.recipe import Recipe
from epimeter.summaries.sorting import sorted_keys, unpacked
from epimeter.views import Reading, View

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class KeptRows:
    """The views that came, in their order; merged without copying, joined when they are read."""

    views: tuple[View, ...]

    def merge(self, other: KeptRows) -> KeptRows:
        return KeptRows(self.views + other.views)

    @cached_property
    def view(self) -> View:
        if len(self.views) == 1:
            return self.views[0]
        first = self.views[0]
        return replace(
            first,
            true=np.concatenate([view.true for view in self.views]),
            prob=np.concatenate([view.prob for view in self.views]),
            weight=None if first.weight is None else np.concatenate([view.weight for view in self.views]),
            columns={name: np.concatenate([view.columns[name] for view in self.views]) for name in first.columns},
        )

    @cached_property
    def ordered(self) -> OrderedRows:
        """The rows sorted, once for all recipes that read these rows so."""
        view = self.view
        return OrderedRows(*unpacked(sorted_keys(view.prob, view.true, view.weight)), view)


class RowRecipe(Recipe):
    """A recipe that keeps the rows to the end."""

    streams = False

    def summarise(self, view: View) -> KeptRows:
        return KeptRows((view,))


@dataclass(frozen=True)
class SharedRows(RowRecipe):
    """The rows as they are kept, for all recipes that read them alike: what is made of them is made once."""

    how: Reading = "given"

    @property
    def reading(self) -> Reading:  # type: ignore[override]
        return self.how


@dataclass(frozen=True)
class Rows(RowRecipe):
    """The rows in their order, as given; the metric reads the view itself."""

    how: Reading = "given"

    @property
    def reading(self) -> Reading:  # type: ignore[override]
        return self.how

    def choices(self) -> dict[str, Any]:
        return {}

    def finish(self, summary: KeptRows) -> View:
        return summary.view


def run_starts(ordered: Floats) -> NDArray[np.intp]:
    """Where each run of equal values begins."""
    return np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))


@dataclass(frozen=True)
class OrderedRows:
    """Rows of an event sorted by confidence, then outcome: the same for any order in which they came."""

    prob: Floats
    outcome: NDArray[np.uint8]
    weight: Floats | None
    given: View = field(repr=False, compare=False)
    """The same rows as they came, for sums that no order changes."""

    @property
    def n_rows(self) -> int:
        return len(self.prob)

    @cached_property
    def true(self) -> Floats:
        """The outcomes as numbers, for what calculates with them row by row."""
        return self.outcome.astype(np.float64)

    @cached_property
    def mass(self) -> Floats:
        """The weight of each row, 1 when there are no weights."""
        return np.ones(self.n_rows) if self.weight is None else self.weight

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """Where each run of equal confidence begins."""
        return run_starts(self.prob)

    @cached_property
    def distinct(self) -> bool:
        """Whether no two confidences are equal: then a row is a level, and nothing is joined."""
        return bool(lib.epi_distinct(read(self.prob), self.n_rows))

    def true_before(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many rows came true before each of these places, `n_rows` the last of them; rising places are read in one walk."""
        places, found = np.ascontiguousarray(places, np.int64), np.empty(len(places), np.int64)
        running, size = self._running, len(places)
        accepted(
            lib.epi_true_before(
                read(self.outcome), self.n_rows, read(running), len(running), read(places), size, write(found)
            )
        )
        return found

    @cached_property
    def _running(self) -> NDArray[np.int64]:
        """How many rows came true before each stretch of them; a total for every row would be as large as the rows."""
        total = np.empty(self.n_rows // STRETCH + 1, np.int64)
        accepted(lib.epi_running_outcomes(read(self.outcome), self.n_rows, write(total), len(total)))
        return total

    @cached_property
    def levels(self) -> Levels:
        """The rows with equal confidences joined."""
        if self.distinct:
            return Levels(self.prob, self.mass, self.true if self.weight is None else self.mass * self.true)
        if self.weight is None:
            # Rows are counted, so running totals are whole numbers and their differences exact.
            ends = np.append(self.starts, self.n_rows)
            true = np.diff(self.true_before(ends)).astype(np.float64)
            return Levels(self.prob[self.starts], np.diff(ends).astype(np.float64), true)
        return Levels(
            self.prob[self.starts],
            np.add.reduceat(self.mass, self.starts),
            np.add.reduceat(self.mass * self.true, self.starts),
        )


@dataclass(frozen=True)
class Levels:
    """Distinct confidences in increasing order, the weight at each and the weight that came true."""

    prob: Floats
    weight: Floats
    true: Floats

    @property
    def residual(self) -> Floats:
        """Sum of y - c at each level."""
        return self.true - self.weight * self.prob


STRETCH = 1 << 13
"""Levels whose scores, or outcomes, are added up together: as in the core, so that any number of threads gives the same sums."""
A_THREAD = 1 << 18
"""Levels from which a further thread pays."""


def square_sums(prob: Floats, weight: Floats | None, true: NDArray[Any]) -> tuple[float, float, float]:
    """Sums over levels of the squared error of a probability and of its square, and their weight.

    `weight` is None where every level is one row, and `true` then its outcome in a byte; else it is the weight that came true.
    """
    prob = np.ascontiguousarray(prob)
    stretches = -(-len(prob) // STRETCH)
    sums = np.empty((stretches, 3))

    def add(part: slice) -> int:
        some = slice(part.start * STRETCH, part.stop * STRETCH)
        size, into = len(prob[some]), (write(sums[part]), 3 * len(sums[part]))
        if weight is None:
            return accepted(lib.epi_row_squares(read(prob[some]), read(true[some]), size, *into))
        return accepted(lib.epi_event_squares(read(prob[some]), read(weight[some]), read(true[some]), size, *into))

    shared(add, stretches, A_THREAD // STRETCH)
    first, second, total = (math.fsum(column) for column in sums.T.tolist())
    return first, second, total


@dataclass(frozen=True)
class Ordered(RowRecipe):
    """Rows sorted by confidence, then outcome."""

    reading: ClassVar[Reading] = "event"

    def choices(self) -> dict[str, Any]:
        return {}

    def finish(self, summary: KeptRows) -> OrderedRows:
        return summary.ordered


@dataclass(frozen=True)
class OrderedAnswers(Ordered):
    """Answers sorted by the confidence in them, then by whether they are right."""

    reading: ClassVar[Reading] = "answer"


@dataclass(frozen=True)
class BinnedRows:
    """Rows with the bin of each."""

    prob: Floats
    true: Floats
    weight: Floats
    bin: NDArray[np.intp]
    bins: int

    def totals(self, values: Floats) -> Floats:
        """Weighted sum of a column by bin."""
        return np.asarray(np.bincount(self.bin, weights=self.weight * values, minlength=self.bins), np.float64)

    @cached_property
    def size(self) -> Floats:
        return self.totals(np.ones(len(self.prob)))

    def mean(self, values: Floats) -> Floats:
        """Weighted mean of a column by bin, 0 in an empty one."""
        return np.divide(self.totals(values), self.size, out=np.zeros(self.bins), where=self.size > 0)

    @cached_property
    def table_columns(self) -> tuple[None, NDArray[np.int64], Floats, Floats]:
        """Rows, confidence and frequency of each bin, these two NaN where it is empty; no edges."""
        said, seen = (np.where(self.size > 0, self.mean(column), np.nan) for column in (self.prob, self.true))
        return None, np.bincount(self.bin, minlength=self.bins), said, seen


@dataclass(frozen=True)
class Binning(RowRecipe):
    """Rows with their bins, for metrics that look at each row inside its bin.

    Parameters
    ----------
    bins
        Number of bins B.
    binning
        How they are cut: ``width``, ``mass`` or ``area``, as for `Bins`.
    """

    bins: BinCount = 10
    binning: Cut = "width"

    def finish(self, summary: KeptRows) -> BinnedRows:
        view = summary.view
        return BinnedRows(
            view.prob.astype(np.float64),
            view.true.astype(np.float64),
            np.ones(view.n_rows) if view.weight is None else view.weight,
            bin_index(view.prob, view.weight, self.bins, self.binning),
            self.bins,
        )
