# SPDX-License-Identifier: Apache-2.0
"""Several sums over the rows in one pass, for metrics that are a ratio of sums or the root of one.

A ratio or a root needs small totals to their last digits, so these sums are finer than those of `means` (see `fine`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError, MergeError
from epimeter.summaries import fine, fixed, paired
from epimeter.summaries.atoms import Atoms, halves, whole
from epimeter.summaries.fine import Fine, Totals, parts
from epimeter.summaries.fixed import Fixed
from epimeter.summaries.means import LARGE, MeanOf
from epimeter.summaries.paired import Paired
from epimeter.summaries.recipe import Loop
from epimeter.summaries.row_scores import RowScores
from epimeter.views import View, refuse_extreme

if TYPE_CHECKING:
    from epimeter.summaries.weighed_rows import WeighedTotals

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

BLOCK = 1 << 20
"""Numbers put into cells at a time."""

LEAST = 1e-290
"""Doubles far below this have fewer digits."""

MOST_COLUMNS = 8
"""Rows with more columns than this are not taken apart into atoms: resampling them would fill the memory."""


def weighed(values: Floats, weight: Floats, cell: Indices, n_cells: int) -> Paired:
    """Totals of weight * value by cell, for values of any size."""
    size = power_of_two(values)
    total = paired.binned(values / size, weight, cell, n_cells)
    return Paired(total.high * size, total.low * size)


@dataclass(frozen=True)
class Sums:
    """Totals of several columns, or of one column by label."""

    weight: Totals
    """Weight of the rows: one number, or one a label."""
    total: Totals
    """Sum of w x: one a column, or one a label."""
    square: Totals | None
    """Sum of w^2 x, which the variance of a weighted sum needs; only where the recipe asks for it."""
    plus: NDArray[np.int64]
    """Rows at +inf, left out of the totals."""
    n_rows: int
    n_classes: int

    def merge(self, other: Sums) -> Sums:
        if self.n_classes != other.n_classes:
            raise MergeError(f"cannot merge sums over {self.n_classes} and over {other.n_classes} classes")
        if type(self.weight) is not type(other.weight):
            raise MergeError("cannot merge weighted and unweighted sums; give both weights, or neither")
        return Sums(
            self.weight + other.weight,  # type: ignore[operator]
            self.total + other.total,  # type: ignore[operator]
            None if self.square is None else self.square + other.square,  # type: ignore[operator]
            self.plus + other.plus,
            self.n_rows + other.n_rows,
            self.n_classes,
        )

    @property
    def size(self) -> Floats:
        """Weight of the rows, their number when there are no weights."""
        return np.asarray(self.weight.floats())

    @property
    def totals(self) -> Floats:
        """Sum of w x, +inf where a row was."""
        totals = self.total.floats()
        return np.where(self.plus > 0, np.inf, totals) if self.plus.any() else np.asarray(totals)

    @property
    def mean(self) -> Floats:
        """Totals by weight; NaN for a label that no row has."""
        totals, size = self.totals, self.size
        if size.shape == (1,) and size[0] > 0:
            return np.asarray(totals / size)
        totals, size = np.broadcast_arrays(totals, size)
        return np.asarray(np.divide(totals, size, out=np.full(size.shape, np.nan), where=size > 0))

    @property
    def squares(self) -> Floats:
        """Sum of w^2 x."""
        assert self.square is not None
        return np.asarray(self.square.floats())

    def divisor(self, total: float) -> float:
        """A total to divide by, refused where it has lost its digits; without weights it never has."""
        if isinstance(self.total, Paired) and 0 < total < LEAST:
            raise InputError(
                f"sample_weight is too small beside these probabilities: a sum of their products is below {LEAST:g}. "
                "Multiply the weights by a power of ten",
                field="sample_weight",
            )
        return total


@dataclass(frozen=True)
class SumsOf(MeanOf):
    """Sums over the rows of the columns that a function of a view gives: shape (N,) or (N, columns).

    The function's keyword parameters are parameters of the recipe, as in `MeanOf`.
    """

    squared: bool = False
    by_label: bool = False
    """One column, summed for each label by itself."""

    def atoms(self, view: View) -> Atoms | None:
        if view.weight is not None or self.by_label:
            return None
        values = np.asarray(self.score(view, **dict(self.bound)), np.float64)
        rows = values if values.ndim == 2 else values[:, None]
        n_columns = rows.shape[1]
        if n_columns > MOST_COLUMNS or not (np.abs(rows) < LARGE).all():
            return None
        largest = np.abs(rows).max(axis=0)
        if ((largest > 0) & (largest < fine.TINY)).any():  # nothing but numbers too small for such sums
            return None
        columns: list[NDArray[Any]] = [np.ones(view.n_rows)]
        for values in rows.T:
            units, part, rest = parts(values)
            columns += [units, *halves(fixed.scaled(part)), *halves(fixed.scaled(rest))]

        def assemble(totals: NDArray[np.int64]) -> Sums:
            count = totals[0, :1]
            units, high, low, rest_high, rest_low = totals[0, 1:].reshape(n_columns, 5).T
            total = Fine(whole(high, low) + Fixed.of_counts(units), whole(rest_high, rest_low))
            mass = Fine(Fixed.of_counts(count), Fixed.zeros(1))
            none = np.zeros(n_columns, np.int64)
            return Sums(mass, total, total if self.squared else None, none, int(count[0]), view.n_classes)

        return Atoms.of(None, 1, columns, assemble, tuple(i for k in range(n_columns) for i in (2 + 5 * k, 4 + 5 * k)))

    @property
    def loop(self) -> Loop | None:
        loop = super().loop
        return None if loop is None or self.by_label else replace(loop, fine=True)

    def from_columns(self, columns: NDArray[np.int64], n_rows: int) -> Sums:  # type: ignore[override]
        mass, total = fine.of_tables([np.array([[n_rows, 0, 0, 0]]), columns])
        none = np.zeros(len(columns), np.int64)
        return Sums(mass, total, total if self.squared else None, none, n_rows, 2)

    def from_weighed(self, totals: WeighedTotals) -> Sums:  # type: ignore[override]
        refuse_extreme(totals.view.weight)
        names = self.loop_columns
        square = totals.of(names, squared=True) if self.squared else None
        return Sums(totals.at([0]), totals.of(names), square, np.zeros(len(names), np.int64), totals.n_rows, 2)

    def _added(self, view: View, known: RowScores) -> Sums:  # type: ignore[override]
        refuse_extreme(view.weight)
        values = known.of(view, self.score, self.how, self.bound)
        rows = values if values.ndim == 2 else values[:, None]
        label, weight = np.asarray(view.true, np.intp), view.weight
        if weight is not None and not weight.all():  # a row of weight zero is ignored, even at +inf
            rows, label, weight = rows[weight > 0], label[weight > 0], weight[weight > 0]
            known = RowScores()  # weights of all rows are of no use here
        group = label if self.by_label else np.zeros(len(rows), np.intp)
        n_groups = view.n_classes if self.by_label else 1
        plus = np.zeros(n_groups if self.by_label else rows.shape[1], np.int64)
        if not rows.max(initial=0.0) < np.inf:
            infinite = rows == np.inf
            rows = np.where(infinite, 0.0, rows)
            plus = np.bincount(group[infinite[:, 0]], minlength=n_groups) if self.by_label else infinite.sum(axis=0)
        total = _totals(rows, weight, group, n_groups)
        square, mass = total, self._mass(weight, group, n_groups, known)
        if weight is not None and self.squared:
            square = _totals(rows, known.weight(weight, 2)[0], group, n_groups)
        return Sums(mass, total, square if self.squared else None, plus, view.n_rows, view.n_classes)

    def _mass(self, weight: Floats | None, group: Indices, n_groups: int, known: RowScores) -> Totals:
        """The weight of the rows: one number, or one a label."""
        if weight is None or self.by_label or len(weight) > BLOCK:
            return _totals(np.ones((len(group), 1)), weight, group, n_groups)
        total = known.weight(weight)[1]
        return Paired(total.high[None], total.low[None])


def _totals(rows: Floats, weight: Floats | None, group: Indices, n_groups: int) -> Totals:
    """Totals of every column within every group, as many cells as there are groups times columns."""
    n_columns = rows.shape[1]
    n_cells = n_groups * n_columns
    empty = np.zeros(0, np.intp)
    total: Any = fine.exact(np.zeros(0), empty, n_cells)
    if weight is not None:
        total = weighed(np.zeros(0), np.zeros(0), empty, n_cells)
    step = max(1, BLOCK // n_columns)
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        if weight is not None and n_groups == 1:
            total = total + _columns_weighed(block, weight[start : start + step])
            continue
        cell = (group[start : start + step, None] * n_columns + np.arange(n_columns)).ravel()
        if weight is None:
            total = total + fine.exact(block.ravel(), cell, n_cells)
        else:
            total = total + weighed(block.ravel(), np.repeat(weight[start : start + step], n_columns), cell, n_cells)
    return total  # type: ignore[no-any-return]


def _columns_weighed(rows: Floats, weight: Floats) -> Paired:
    """Totals of weight * value of each column, all in steps of one size."""
    size = power_of_two(rows)
    made = [paired.binned(column / size, weight, None, 1) for column in rows.T]
    return Paired(np.concatenate([m.high for m in made]) * size, np.concatenate([m.low for m in made]) * size)


def power_of_two(values: Floats) -> float:
    """The least power of two, from 1 on, that no value exceeds in size: dividing by it is exact."""
    return float(2.0 ** np.ceil(np.log2(max(values.max(initial=1.0), -values.min(initial=-1.0)))))


def row_mean(values: Floats, weight: Floats | None) -> float:
    """The mean of kept rows, rounded once, whatever their order and size."""
    if weight is None:
        return math.fsum(values.tolist()) / len(values)
    values, weight = values[weight > 0], weight[weight > 0]
    return math.fsum((values * weight).tolist()) / math.fsum(weight.tolist())
