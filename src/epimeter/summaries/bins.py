# SPDX-License-Identifier: Apache-2.0
"""Totals per bin: how many rows, how much was said, how much came true."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from epimeter.core.class_loops import class_bins
from epimeter.core.row_loops import read_bins, width_bins
from epimeter.errors import InputError, MergeError
from epimeter.limits import BinCount
from epimeter.summaries import fine, fixed, paired
from epimeter.summaries.atoms import Atoms, halves, whole
from epimeter.summaries.cut_totals import cut_totals
from epimeter.summaries.cuts import Cut, bin_index, width_index
from epimeter.summaries.fine import Fine
from epimeter.summaries.fixed import Fixed
from epimeter.summaries.paired import Paired
from epimeter.summaries.recipe import Loop, Recipe
from epimeter.summaries.row_totals import summary_of
from epimeter.summaries.rows import KeptRows
from epimeter.summaries.weighed_rows import WeighedTotals
from epimeter.views import Binary, Multiclass, Reading, View, refuse_extreme

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Sums = Fixed | Fine | Paired

MOST_CELLS = 10**7
"""Classes times bins at most: about a gigabyte."""


@dataclass(frozen=True)
class BinTotals:
    """Rows, weight, outcomes and confidence in each bin; arrays of shape (bins,), or (classes, bins).

    `share`, `gap`, `confidence` and `frequency` are 0 in an empty bin, so that it drops out of every weighted sum;
    `filled` says which bins hold rows.
    """

    count: NDArray[np.int64]
    weight: Sums
    true: Sums
    prob: Sums
    edges: Floats | None = field(default=None, compare=False)

    def merge(self, other: BinTotals) -> BinTotals:
        if self.count.shape != other.count.shape:
            raise MergeError(
                f"cannot merge totals of {self.count.shape[-1]} and of {other.count.shape[-1]} bins; "
                "summarise both with one recipe"
            )
        if type(self.weight) is not type(other.weight):
            raise MergeError("cannot merge weighted and unweighted totals; give both weights, or neither")
        sums = {
            name: getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__ if name != "edges"
        }
        return type(self)(**sums, edges=self.edges)

    @cached_property
    def filled(self) -> NDArray[np.bool_]:
        return self.size > 0

    @cached_property
    def size(self) -> Floats:
        """n_b: the weight of each bin, its number of rows when there are no weights."""
        return self.count.astype(np.float64) if isinstance(self.weight, Fixed) else self.weight.floats()

    @cached_property
    def n(self) -> Floats:
        """N: the total weight (one number, or one a class)."""
        if isinstance(self.weight, Fixed):
            return np.asarray(np.add.reduce(self.size, axis=-1))  # whole numbers: exact
        return self.weight.sum(axis=-1).floats()

    @property
    def share(self) -> Floats:
        """p_b = n_b / N."""
        return self.size / self.n[..., None]

    @cached_property
    def confidence(self) -> Floats:
        """Mean confidence of each bin."""
        return self._mean(self.prob)

    @property
    def doubt(self) -> Floats:
        """1 minus the mean confidence of each bin, from the exact difference of the sums."""
        return self._mean(self.weight - self.prob)  # type: ignore[operator]

    @cached_property
    def frequency(self) -> Floats:
        """Mean outcome of each bin."""
        return self._mean(self.true)

    @cached_property
    def table_columns(self) -> tuple[Floats | None, NDArray[Any], Floats, Floats]:
        """Edges, rows, confidence and frequency, these two NaN where a bin is empty: once for all metrics that show them."""
        said, seen = (np.where(self.filled, mean, np.nan) for mean in (self.confidence, self.frequency))
        return self.edges, self.count, said, seen

    @cached_property
    def gap(self) -> Floats:
        """Mean outcome minus mean confidence, from the exact difference of their sums."""
        return self._mean(self.true - self.prob)  # type: ignore[operator]

    def mean(self, values: Floats) -> Floats:
        """Mean over the bins of one value each, by their rows: never beyond the largest, as sums of rounded shares can be."""
        return np.asarray(np.add.reduce(self.size * values, axis=-1) / self.n)

    def _mean(self, sums: Sums) -> Floats:
        size = self.size
        if isinstance(self.weight, Fixed):  # the sums of an empty bin are 0
            return np.asarray(sums.floats() / np.maximum(size, 1.0))
        return np.divide(sums.floats(), size, out=np.zeros_like(size), where=size > 0)

    def of_class(self, number: int) -> BinTotals:
        """The totals of one class."""
        return BinTotals(self.count[number], self.weight[number], self.true[number], self.prob[number], self.edges)


@dataclass(frozen=True)
class MomentTotals(BinTotals):
    """Bin totals with what the exact null law of a binned residual needs, as finer sums: they are subtracted.

    u = y - c is the residual; under calibration its variance is v = c(1 - c) and its third moment t = v(1 - 2c).
    """

    square: fine.Totals = field(kw_only=True)
    """Sum of u^2."""
    variance1: fine.Totals = field(kw_only=True)
    variance2: fine.Totals = field(kw_only=True)
    variance3: fine.Totals = field(kw_only=True)
    """Sums of v, v^2, v^3."""
    skew1: fine.Totals = field(kw_only=True)
    skew2: fine.Totals = field(kw_only=True)
    """Sums of t, t^2."""

    @cached_property
    def residual(self) -> fine.Totals:
        """Sum of u."""
        return self.true - self.prob  # type: ignore[operator,return-value]

    def merge(self, other: BinTotals) -> MomentTotals:
        merged = super().merge(other)
        assert isinstance(merged, MomentTotals)
        return merged


@dataclass(frozen=True)
class Bins(Recipe):
    """Totals per bin of the confidence.

    Parameters
    ----------
    bins
        Number of bins B.
    binning
        How they are cut: ``width`` ([a, b), the last closed), ``mass`` (equal counts, the larger first; equal
        confidences stay together, in the bin that holds their middle), ``area`` (width x count constant, see ece_ea).
    """

    bins: BinCount = 10
    binning: Cut = "width"
    totals: ClassVar[type[BinTotals]] = BinTotals

    @property
    def streams(self) -> bool:  # type: ignore[override]
        return self.binning == "width"

    @property
    def loop(self) -> Loop | None:
        return Loop("bins", self.bins) if self.binning == "width" and self.reading == "event" else None

    def from_table(self, table: Integers) -> BinTotals:
        count, true, units, steps = table.T.copy()
        whole = np.zeros(len(table), np.int64)
        sums = Fixed(count, whole), Fixed(true, whole), Fixed(units, steps)
        made = BinTotals(count, *sums, _width_edges(self.bins))
        # What the cached properties would compute: in the core it costs a few rows nothing beside their pass.
        made.__dict__["size"], made.__dict__["gap"], made.__dict__["n"] = read_bins(table)
        return made

    def from_weighed(self, totals: WeighedTotals) -> BinTotals:
        count, sums = totals.bins[self.bins]
        return BinTotals(count, sums[:, 0], sums[:, 1], sums[:, 2], _width_edges(self.bins))

    def summarise(self, view: View) -> Any:
        if not self.streams:
            return KeptRows((view,))
        return self._totals(view)

    def finish(self, summary: Any) -> Any:
        return summary if self.streams else self._totals(summary.view)

    def atoms(self, view: View) -> Atoms | None:
        if type(self) is not Bins or self.binning != "width" or view.weight is not None:
            return None
        index = width_index(view.prob, self.bins)
        high, low = halves(fixed.scaled(view.prob))
        return Atoms.of(index, self.bins, [np.ones_like(high), view.true, high, low], self._assembled, (2,))

    def _assembled(self, totals: NDArray[np.int64]) -> BinTotals:
        count, true, high, low = totals.T
        edges = _width_edges(self.bins)
        return BinTotals(count, Fixed.of_counts(count), Fixed.of_counts(true), whole(high, low), edges)

    def _totals(self, view: View) -> BinTotals:
        assert isinstance(view, Binary)
        if view.weight is None:
            if self.binning == "width":
                return Bins.from_table(self, width_bins(view.true, view.prob, self.bins))
            counts, true, prob, cuts = cut_totals(view.true, view.prob, self.bins, self.binning)
            return BinTotals(counts, Fixed.of_counts(counts), Fixed.of_counts(true), prob.coarse, cuts)
        edges = _width_edges(self.bins) if self.binning == "width" else None
        index = bin_index(view.prob, view.weight, self.bins, self.binning)
        return weighed_bins(view.true, view.prob, view.weight, index, self.bins, edges)


def weighed_bins(
    true: NDArray[Any],
    prob: NDArray[Any],
    weight: Floats,
    index: NDArray[np.intp],
    bins: int,
    edges: Floats | None = None,
) -> BinTotals:
    """Totals of rows with weights whose bins are known."""
    columns = (np.ones(len(prob)), true.astype(np.float64, copy=False), prob.astype(np.float64, copy=False))
    mass, came, said = (paired.binned(column, weight, index, bins) for column in columns)
    return BinTotals(np.bincount(index, minlength=bins), mass, came, said, edges)


@dataclass(frozen=True)
class FineBins(Bins):
    """Totals per bin with finer sums of the confidence, for what is divided by it. Parameters as `Bins`."""

    @property
    def loop(self) -> Loop | None:
        return None  # the loop of moments keeps no numbers so small that finer steps lose digits of them

    def _totals(self, view: View) -> BinTotals:
        assert isinstance(view, Binary)
        if view.weight is not None:
            return super()._totals(view)
        if self.binning != "width":
            count, true, prob, edges = cut_totals(view.true, view.prob, self.bins, self.binning)
            return BinTotals(count, Fixed.of_counts(count), Fixed.of_counts(true), prob, edges)
        moments: MomentTotals = summary_of(MomentBins(self.bins), view)
        tiny = view.prob[(view.prob < fine.TINY) & (view.prob > 0)].astype(np.float64)
        deep = fine.depth(tiny, width_index(tiny, self.bins), self.bins)
        assert isinstance(moments.prob, Fine)
        prob = replace(moments.prob, deep=deep)
        return BinTotals(moments.count, moments.weight, moments.true, prob, _width_edges(self.bins))


MOMENTS = ("square", "variance1", "variance2", "variance3", "skew1", "skew2")


@dataclass(frozen=True)
class MomentBins(Bins):
    """Totals per bin with the squares and null moments of the residual. Parameters as `Bins`."""

    @property
    def loop(self) -> Loop | None:
        return Loop("moments", self.bins) if self.binning == "width" and self.reading == "event" else None

    def from_table(self, table: Integers) -> MomentTotals:
        count, true = table[:, 0].copy(), Fixed.of_counts(table[:, 1].copy())
        prob, *moments = fine.of_tables([table[:, first : first + 4] for first in range(2, table.shape[1], 4)])
        sums = dict(zip(MOMENTS, moments, strict=True))
        return MomentTotals(count, Fixed.of_counts(count), true, prob, _width_edges(self.bins), **sums)

    def from_weighed(self, totals: WeighedTotals) -> MomentTotals:
        refuse_extreme(totals.view.weight)
        count, sums = totals.bins[self.bins]
        moments: dict[str, Any] = {name: sums[:, place] for place, name in enumerate(MOMENTS, start=3)}
        return MomentTotals(count, sums[:, 0], sums[:, 1], sums[:, 2], _width_edges(self.bins), **moments)

    def _totals(self, view: View) -> MomentTotals:
        assert isinstance(view, Binary)
        if view.weight is None and self.binning == "width":
            by_loop: MomentTotals = summary_of(MomentBins(self.bins), view)
            return by_loop
        refuse_extreme(view.weight)
        base = super()._totals(view)
        index = bin_index(view.prob, view.weight, self.bins, self.binning)
        prob, true = view.prob.astype(np.float64), view.true.astype(np.float64)
        residual = true - prob
        lost = (true - residual) - prob  # what the residual was rounded by
        variance = prob * (1 - prob)
        skew = variance * (1 - 2 * prob)
        columns = {
            "variance1": variance,
            "variance2": variance**2,
            "variance3": variance * variance**2,
            "skew1": skew,
            "skew2": skew**2,
        }
        made: dict[str, Any]
        if view.weight is None:
            made = {name: fine.binned(values, index, self.bins) for name, values in columns.items()}
            made["square"] = fine.squares(residual, lost, index, self.bins)
            base = replace(base, prob=fine.binned(prob, index, self.bins))
        else:
            columns["square"] = residual**2
            made = {name: paired.binned(values, view.weight, index, self.bins) for name, values in columns.items()}
            error = paired.square_error(residual, residual**2) + 2 * residual * lost
            made["square"] = made["square"] + paired.binned(error, view.weight, index, self.bins)
        return MomentTotals(base.count, base.weight, base.true, base.prob, base.edges, **made)


@lru_cache(maxsize=64)
def _width_edges(bins: int) -> Floats:
    edges = np.asarray(np.arange(bins + 1) / bins)
    edges.flags.writeable = False
    return edges


@dataclass(frozen=True)
class ClassBins(Bins):
    """Totals per class and bin: K problems of one class against the rest, each with its own bins.

    Parameters as `Bins`. A vector p is read as the two columns 1 - p, p.
    """

    reading: ClassVar[Reading] = "classes"

    @property
    def loop(self) -> Loop | None:
        return None

    def _totals(self, view: View) -> BinTotals:
        if isinstance(view, Binary):
            return _stacked([super()._totals(view)])
        assert isinstance(view, Multiclass)
        if view.n_classes * self.bins > MOST_CELLS:
            raise InputError(
                f"bins times classes must be at most {MOST_CELLS:,}; got {self.bins:,} bins of {view.n_classes:,} classes",
                field="bins",
            )
        if view.weight is None and self.binning == "width":
            table = class_bins(view.true, view.prob, self.bins)
            counts, prob = table[..., 0].copy(), Fixed(table[..., 2].copy(), table[..., 3].copy())
            edges = _width_edges(self.bins)
            return BinTotals(counts, Fixed.of_counts(counts), Fixed.of_counts(table[..., 1].copy()), prob, edges)
        return _stacked(
            [
                super(ClassBins, self)._totals(Binary((view.true == k).astype(np.uint8), view.prob[:, k], view.weight))
                for k in range(view.n_classes)
            ]
        )


@dataclass(frozen=True)
class GivenBins(ClassBins):
    """Totals per class and bin, where a vector is one problem and is not expanded. Parameters as `Bins`."""

    reading: ClassVar[Reading] = "given"


def _stacked(classes: list[BinTotals]) -> BinTotals:
    """The totals of several classes as one."""

    def stack(name: str) -> Sums:
        sums = [getattr(totals, name) for totals in classes]
        if isinstance(sums[0], Fixed):
            return Fixed(np.stack([s.units for s in sums]), np.stack([s.steps for s in sums]))
        return Paired(np.stack([s.high for s in sums]), np.stack([s.low for s in sums]))

    return BinTotals(np.stack([t.count for t in classes]), stack("weight"), stack("true"), stack("prob"))


__all__ = ["BinTotals", "Bins", "ClassBins", "FineBins", "GivenBins", "MomentBins", "MomentTotals", "width_index"]
