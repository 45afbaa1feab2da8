# SPDX-License-Identifier: Apache-2.0
"""How confidences are cut into bins: equal width, equal mass, equal area.

Bins are [a, b) and the last one is closed. No cut goes through equal confidences: a run of them goes whole to the
equal-mass bin that holds its middle, so no value depends on the order of the rows.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.summaries.sorting import sorted_keys, unpacked

Cut = Literal["width", "mass", "area"]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

ROUNDING = 1e-12
"""A middle that misses a border by this share of all weights lies on it: sums of fractional weights are rounded."""


def width_index(prob: NDArray[Any], bins: int) -> Indices:
    """Index min(floor(p * bins), bins - 1): the last bin is closed, 0.3 of ten bins is the fourth."""
    index = (prob.astype(np.float64, copy=False) * bins).astype(np.intp)
    return np.asarray(np.minimum(index, bins - 1))


def mass_borders(n_rows: int, bins: int) -> Indices:
    """Where to cut n rows into groups whose sizes differ by at most one, the larger first."""
    size, larger = divmod(n_rows, bins)
    number = np.arange(bins + 1)
    return number * size + np.minimum(number, larger)


def whole_borders(ordered: NDArray[Any], border: Indices) -> Indices:
    """Borders among sorted values moved to the ends of runs of equal ones: before a run whose middle lies behind them."""
    inner = (border > 0) & (border < len(ordered))
    value = ordered[border[inner]]
    start, end = np.searchsorted(ordered, value), np.searchsorted(ordered, value, side="right")
    moved = border.copy()
    moved[inner] = np.where(border[inner] <= (start + end - 1) // 2, start, end)
    return moved


def mass_index(prob: NDArray[Any], bins: int, weight: Floats | None = None) -> Indices:
    """Equal-mass bin of every row; a weight counts as that many copies of the row."""
    if weight is None:
        order = np.argsort(prob)
        border = whole_borders(prob[order], mass_borders(len(prob), bins))
        index = np.empty(len(prob), np.intp)
        index[order] = np.repeat(np.arange(bins), np.diff(border))
        return index
    begin = mass_begins(*_by_weight_too(np.asarray(prob, np.float64), weight), bins)
    return np.asarray(np.searchsorted(begin, prob, side="right"), np.intp)


def mass_begins(ordered: Floats, weight: Floats, bins: int) -> Floats:
    """Where equal-mass bins begin, from the second on, among sorted values with weights; infinity where one holds none.

    Bins of runs never fall, so a row's bin is the number of bins that begin at its value or below.
    """
    last = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), len(ordered) - 1)
    border, middle = _run_middles(np.cumsum(weight)[last], bins, whole=bool((weight == np.floor(weight)).all()))
    return np.append(ordered[last], np.inf)[np.searchsorted(middle, border[1:bins], side="right")]


def _by_weight_too(values: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Values and weights in the order of both: sums of a run are then rounded alike in any order of the rows."""
    if (values[1:] > values[:-1]).all():
        return values, weight
    if not (values.min() >= 0 and values.max() <= 1):  # another column than confidences
        order = np.lexsort((weight, values))
        return values[order], weight[order]
    ordered, _, mass = unpacked(sorted_keys(values, np.zeros(len(values), np.uint8), weight))
    assert mass is not None
    return ordered, mass


def run_index(end: NDArray[Any], bins: int, whole: bool = True) -> Indices:
    """Equal-mass bin of each run of equal values, from the running weight at the end of each; whole weights are copies."""
    border, middle = _run_middles(end, bins, whole)
    return np.asarray(np.clip(np.searchsorted(border, middle) - 1, 0, bins - 1), np.intp)


def _run_middles(end: NDArray[Any], bins: int, whole: bool) -> tuple[NDArray[Any], Floats]:
    """Borders of the bins, and the middle of each run."""
    border = mass_borders(int(end[-1]), bins) if whole else end[-1] * np.arange(bins + 1) / bins
    # The middle copy of a run at s..e-1 is (s + e - 1) // 2: on a border the run goes to the bin below it.
    return border, (end + np.append(0.0, end[:-1])) / 2 - (0.0 if whole else ROUNDING * end[-1])


def area_index(prob: NDArray[Any], bins: int, weight: Floats | None = None) -> Indices:
    """Bins of equal area, width x count: equal steps of the cumulated square root (catalogue, ece_ea)."""
    if weight is not None and not weight.all():  # a row of weight zero must not widen the range
        index = np.zeros(len(prob), np.intp)
        index[weight > 0] = area_index(prob[weight > 0], bins, weight[weight > 0])
        return index
    level, place, count = np.unique(prob.astype(np.float64), return_inverse=True, return_counts=True)
    if weight is not None:
        count = np.bincount(place.ravel(), weights=weight)
    return _of_levels(level, count, bins)[place.ravel()]


def area_levels(prob: NDArray[Any], bins: int) -> tuple[Floats, Indices]:
    """The distinct confidences, and the bin of equal area of each."""
    level, count = np.unique(prob.astype(np.float64), return_counts=True)
    return level, _of_levels(level, count, bins)


def _of_levels(level: Floats, count: NDArray[Any], bins: int) -> Indices:
    if len(level) == 1:
        return np.zeros(1, np.intp)
    step = np.sqrt(np.diff(level) * (count[1:] + count[:-1]) / 2)
    grown = np.concatenate([[0.0], np.cumsum(step)])
    steps: Indices = np.floor(bins * grown / grown[-1] + 1e-9).astype(np.intp)
    return np.minimum(steps, bins - 1)


def bin_index(prob: NDArray[Any], weight: Floats | None, bins: int, binning: Cut) -> Indices:
    """The bin of every row."""
    if binning == "width":
        return width_index(prob, bins)
    if binning == "area":
        return area_index(prob, bins, weight)
    return mass_index(prob, bins, weight)
