# SPDX-License-Identifier: Apache-2.0
"""The reliability curve: said against seen, bin by bin.

A bin stands at its mean confidence, the number its frequency is compared with, not at its middle. Its frequency has
an exact binomial interval (Clopper and Pearson 1934), with weights Wilson's at the effective number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.draw.bands import EXACT, WEIGHED, clopper_pearson, effective, redrawn_band, wilson
from epimeter.draw.curve import CELLS, Count, Diagram, Floats, Integers, Level, counted, curve, histogram_of, reading
from epimeter.errors import InputError
from epimeter.limits import AtLeast
from epimeter.metrics.bin.expected import ece
from epimeter.summaries import Bins, BinTotals, fixed, paired
from epimeter.summaries.cuts import Cut, Indices, bin_index
from epimeter.summaries.fixed import Fixed
from epimeter.views import Binary, View

Binned = Literal["width", "mass", "area", "level"]

CUTS = {
    "width": "{} of equal width [a, b), the last closed",
    "mass": "{} of equal mass, equal values together",
    "area": "{} of equal area, ties never cut",
    "level": "{}, one a distinct value",
    "edges": "{} [a, b) between given edges, the last closed",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class ReliabilityCurve(Diagram):
    """One entry a bin; NaN where a bin is empty."""

    kind: ClassVar[str] = "reliability"

    edges: Floats
    count: Integers
    """Rows in each bin."""
    weight: Floats
    """Their weight, n_b; the count again when there are no weights."""
    confidence: Floats
    frequency: Floats
    low: Floats
    high: Floats
    level: float
    interval: str
    """How low and high were found."""
    band_low: Floats | None = None
    band_high: Floats | None = None
    """Where the frequencies of a calibrated model would lie; None unless labels were redrawn."""
    draws: int = 0
    shown_at: Floats | None = None
    shown_true: Floats | None = None
    """Confidences and outcomes of some rows, evenly by rank; None unless asked for."""


@curve
def reliability_curve(
    view: View,
    *,
    bins: Count = 10,
    binning: Binned = "width",
    edges: Any = None,
    level: Level = 0.95,
    draws: Annotated[int, AtLeast(0)] = 0,
    seed: int = 0,
    shown: Annotated[int, AtLeast(0)] = 0,
) -> ReliabilityCurve:
    """Mean confidence and frequency of each bin, with intervals; summed up by ece.

    Parameters
    ----------
    bins
        Number of bins.
    binning
        How they are cut: ``width``, ``mass``, ``area`` as everywhere, or ``level``: one bin a distinct confidence.
    edges
        Borders of the bins, from the lowest to the highest; they replace `bins` and `binning`.
    level
        Level of the intervals, and of the band.
    draws
        How often labels are redrawn from the confidences for the consistency band (Broecker and Smith 2007); 0
        leaves it out.
    seed
        Seed of the redrawn labels.
    shown
        How many rows are kept to be drawn as dots at their outcome, evenly by rank of the confidence.
    """
    event = view.event
    totals, index, border = _binned(event, bins, binning, edges)
    count = len(totals.count)
    how: str = binning if edges is None else "edges"
    low, high, method = _intervals(totals, index, event.weight, level)
    band: dict[str, Any] = {}
    if draws:
        place = _places(event, count, binning, border) if index is None else index
        mass = np.ones(event.n_rows) if event.weight is None else event.weight
        size = np.where(totals.size > 0, totals.size, np.nan)

        def frequencies(label: Floats) -> Floats:
            return np.asarray(np.bincount(place, weights=mass * label, minlength=count) / size)

        below, above = redrawn_band(event.prob.astype(np.float64), draws, seed, level, frequencies)
        band = {"band_low": below, "band_high": above, "draws": draws}
    if shown:
        order = np.argsort(event.prob, kind="stable")
        some = order[np.unique(np.linspace(0, len(order) - 1, min(shown, len(order))).round().astype(np.intp))]
        band |= {"shown_at": event.prob[some].astype(np.float64), "shown_true": event.true[some].astype(np.float64)}
    return ReliabilityCurve(
        n_rows=view.n_rows,
        metric="ece",
        value=ece.compute(totals),
        convention=f"{CUTS[how].format(counted(count, 'bin'))}; {reading(view)}",
        edges=border,
        count=totals.count,
        weight=totals.size,
        confidence=np.where(totals.filled, totals.confidence, np.nan),
        frequency=np.where(totals.filled, totals.frequency, np.nan),
        low=low,
        high=high,
        level=level,
        interval=method,
        **_histogram(view, totals, how, border),
        **band,
    )


def _binned(event: Binary, bins: int, binning: Binned, edges: Any) -> tuple[BinTotals, Indices | None, Floats]:
    """Totals by bin, the bin of each row where weights make it needed, and the borders."""
    if edges is None and binning != "level":
        totals = Bins(bins, binning).of(event)
        index = None if event.weight is None else _places(event, bins, binning, np.empty(0))
        return totals, index, _borders(event, index, bins) if totals.edges is None else totals.edges
    border = _between_levels(event.prob) if edges is None else _given(edges, event.prob)
    count = len(border) - 1
    index = _places(event, count, "edges", border)
    rows = np.bincount(index, minlength=count)
    said = event.prob.astype(np.float64)
    if event.weight is None:
        seen = np.bincount(index[event.true == 1], minlength=count)
        sums = Fixed.of_counts(rows), Fixed.of_counts(seen), fixed.binned(said, index, count)
        return BinTotals(rows, *sums, border), index, border
    columns = (np.ones(len(said)), event.true.astype(np.float64), said)
    weight, true, prob = (paired.binned(column, event.weight, index, count) for column in columns)
    return BinTotals(rows, weight, true, prob, border), index, border


def _places(event: Binary, bins: int, binning: str, border: Floats) -> Indices:
    """The bin of every row."""
    if binning in ("width", "mass", "area"):
        cut: Cut = binning  # type: ignore[assignment]
        return bin_index(event.prob, event.weight, bins, cut)
    index = np.searchsorted(border, event.prob.astype(np.float64), side="right") - 1
    return np.clip(index, 0, bins - 1)


def _borders(event: Binary, index: Indices | None, bins: int) -> Floats:
    """The first confidence of each bin, from 0 to 1; an empty bin begins where the next filled one does."""
    assert index is not None
    border = np.full(bins + 1, np.inf)
    np.minimum.at(border, index, event.prob.astype(np.float64))
    border[0], border[-1] = 0.0, 1.0
    return np.minimum.accumulate(border[::-1])[::-1]


def _between_levels(prob: NDArray[Any]) -> Floats:
    """0, the middles between neighbouring confidences, 1; each bin holds one distinct confidence."""
    level = np.unique(prob.astype(np.float64))
    # Neighbouring doubles have no middle: the upper one is the border then, as bins are closed below.
    middle = level[:-1] + (level[1:] - level[:-1]) / 2
    return np.concatenate([[0.0], np.where(middle > level[:-1], middle, level[1:]), [1.0]])


def _given(edges: Any, prob: NDArray[Any]) -> Floats:
    try:
        border = np.asarray(edges, np.float64)
    except (TypeError, ValueError):
        border = np.empty(0)
    if border.ndim != 1 or len(border) < 2 or not (np.diff(border) > 0).all():
        raise InputError(f"edges must be at least two growing numbers; got {edges!r:.60}", field="edges")
    outside = (prob < border[0]) | (prob > border[-1])
    if outside.any():
        raise InputError(
            f"edges must cover every confidence; {int(outside.sum())} of {len(prob)} lie outside "
            f"[{border[0]:g}, {border[-1]:g}]",
            field="edges",
        )
    return border


def _intervals(
    totals: BinTotals, index: Indices | None, weight: Floats | None, level: float
) -> tuple[Floats, Floats, str]:
    if index is None or weight is None:
        return *clopper_pearson(totals.true.floats(), totals.size, level), EXACT
    squares = np.bincount(index, weights=weight**2, minlength=len(totals.count)).astype(np.float64)
    return *wilson(totals.frequency, effective(totals.size, squares), level), WEIGHED


def _histogram(view: View, totals: BinTotals, how: str, border: Floats) -> dict[str, Any]:
    """Where the rows are: the bins themselves when they are of fixed width, else cells of equal width."""
    shared = histogram_of(view, CELLS)
    if how in ("width", "edges") and len(totals.count) > 1:
        shared |= {"cell_edges": border, "cell_rows": totals.size}
    return shared
