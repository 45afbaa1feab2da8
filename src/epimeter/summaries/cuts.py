# SPDX-License-Identifier: Apache-2.0
"""How confidences are cut into bins: equal width, equal mass, equal area.

Bins are [a, b) and the last one is closed. Equal mass follows the stable order of the rows, so a cut through equal
confidences depends on the order of the rows; `cut_through_ties` says when that happened.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Cut = Literal["width", "mass", "area"]
Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Pieces(NamedTuple):
    """Rows put into bins. With weights an equal-mass cut can go through a row: it then appears once on either side."""

    row: Indices
    bin: Indices
    weight: Floats | None


def width_index(prob: NDArray[Any], bins: int) -> Indices:
    """Index min(floor(p * bins), bins - 1): the last bin is closed, 0.3 of ten bins is the fourth."""
    index = (prob.astype(np.float64, copy=False) * bins).astype(np.intp)
    return np.asarray(np.minimum(index, bins - 1))


def mass_borders(n_rows: int, bins: int) -> Indices:
    """Where to cut n rows into groups whose sizes differ by at most one, the larger first."""
    size, larger = divmod(n_rows, bins)
    number = np.arange(bins + 1)
    return number * size + np.minimum(number, larger)


def mass_index(prob: NDArray[Any], bins: int) -> Indices:
    """Equal-mass bin of every row, by the stable order of the confidences."""
    order = np.argsort(prob, kind="stable")
    index = np.empty(len(prob), np.intp)
    index[order] = np.repeat(np.arange(bins), np.diff(mass_borders(len(prob), bins)))
    return index


def area_index(prob: NDArray[Any], bins: int, weight: Floats | None = None) -> Indices:
    """Bins of equal area, width x count: equal steps of the cumulated square root (catalogue, ece_ea)."""
    if weight is not None and not weight.all():  # a row of weight zero must not widen the range
        index = np.zeros(len(prob), np.intp)
        index[weight > 0] = area_index(prob[weight > 0], bins, weight[weight > 0])
        return index
    level, place, count = np.unique(prob.astype(np.float64), return_inverse=True, return_counts=True)
    if weight is not None:
        count = np.bincount(place.ravel(), weights=weight)
    if len(level) == 1:
        return np.zeros(len(prob), np.intp)
    step = np.sqrt(np.diff(level) * (count[1:] + count[:-1]) / 2)
    grown = np.concatenate([[0.0], np.cumsum(step)])
    steps: Indices = np.floor(bins * grown / grown[-1] + 1e-9).astype(np.intp)
    return np.minimum(steps, bins - 1)[place.ravel()]


def pieces(prob: NDArray[Any], weight: Floats | None, bins: int, binning: Cut) -> Pieces:
    """Every row with its bin; weights count as repetitions of the row."""
    everything = np.arange(len(prob))
    if binning == "width":
        return Pieces(everything, width_index(prob, bins), weight)
    if binning == "area":
        return Pieces(everything, area_index(prob, bins, weight), weight)
    if weight is None:
        return Pieces(everything, mass_index(prob, bins), None)
    return _weighted_mass(prob, weight, bins)


def _weighted_mass(prob: NDArray[Any], weight: Floats, bins: int) -> Pieces:
    """Equal-mass groups of weighted rows, as if each row stood there `weight` times."""
    order = np.argsort(prob, kind="stable")
    end = np.cumsum(weight[order])
    whole = bool((weight == np.floor(weight)).all())
    border = mass_borders(int(end[-1]), bins) if whole else end[-1] * np.arange(bins + 1) / bins
    ends = np.union1d(end, border[1:].astype(np.float64))
    ends = ends[(ends > 0) & (ends <= end[-1])]
    middle = ends - np.diff(ends, prepend=0.0) / 2
    return Pieces(
        order[np.searchsorted(end, middle)],
        np.clip(np.searchsorted(border, middle) - 1, 0, bins - 1),
        np.diff(ends, prepend=0.0),
    )


def cut_through_ties(prob: NDArray[Any], bins: int) -> bool:
    """Whether an equal-mass cut separates equal confidences, so that the value depends on the order of the rows."""
    ordered = np.sort(prob)
    border = mass_borders(len(prob), bins)[1:-1]
    border = border[(border > 0) & (border < len(prob))]
    return bool((ordered[border - 1] == ordered[border]).any())
