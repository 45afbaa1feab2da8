# SPDX-License-Identifier: Apache-2.0
"""Totals of rows with weights: one call of the core for all recipes that declare a loop.

Products are added up as integers, to 2^-132 of the largest weight, so a chunk has the same totals in any order of its rows. Rows
that would add a tiny or an infinite number are handed back by the loop and go through the recipe itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.core import NULL, accepted, ffi, lib, read, write
from epimeter.core.row_loops import LoopRows, fine_pairs
from epimeter.summaries.cuts import width_index
from epimeter.summaries.paired import Paired, two_sum
from epimeter.summaries.recipe import Loop, Recipe
from epimeter.summaries.row_scores import RowScores
from epimeter.views import Binary

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

COLUMNS = ("square", "log_loss", "entropic", "excess", "null_variance", "entropic_variance")
"""Scores of a row, in the order of the core; their sums with weights begin at 2, with squared weights at 8."""
NOTHING = ("impossible", "none")
"""Columns that are 0 in every row that the loop takes."""
PRODUCTS: dict[tuple[str, ...], tuple[tuple[int, float], ...]] = {
    ("square",): ((14, 1.0),),
    ("log_loss",): ((15, 32.0),),
    ("entropic",): ((16, 32.0),),
    ("entropic", "none", "entropic_variance"): ((16, 32.0), (-1, 1.0), (17, 1.0), (-1, 1.0), (-1, 1.0), (18, 1.0)),
}
"""Scores, by their columns, whose products in pairs the core adds up: where (-1: they are 0), and what it divides them by."""
MOST_BINS, MOST_SETS = 256, 8
"""Bins of all recipes together that one call of the core holds, and in how many sets."""
SCORES, MOMENTS = 19, 9
USUAL = 2.0**400
"""Weights between its inverse and this have squares that are doubles."""


@dataclass(frozen=True)
class WeighedTotals:
    """What the loop has added up.

    Attributes
    ----------
    view
        The rows it was given, those that it handed back among them.
    n_rows
        Rows that it took.
    scores
        Totals of the scores; the core's header says which.
    bins
        By the number of bins: rows of each, and totals of w, w y, w p, w u^2, w v, w v^2, w v^3, w t, w t^2.
    """

    view: Binary
    n_rows: int
    scores: Paired | None
    bins: dict[int, tuple[Integers, Paired]]

    def of(self, names: Iterable[str], squared: bool = False) -> Paired:
        """Sums of columns times the weight, or its square."""
        first = 8 if squared else 2
        return self.at([-1 if name in NOTHING else first + COLUMNS.index(name) for name in names])

    def at(self, places: list[int], size: Any = 1.0) -> Paired:
        """Totals of scores by their places, times a power of two; 0 at -1."""
        assert self.scores is not None
        there = np.array(places) >= 0
        high, low = (np.where(there, column[places], 0.0) for column in (self.scores.high, self.scores.low))
        return Paired(high * size, low * size)


def weighed_summaries(view: Binary, recipes: Iterable[Recipe]) -> dict[Recipe, Any]:
    """The summaries of rows with weights, of those recipes that the loop serves."""
    weight = np.ascontiguousarray(view.weight, np.float64)
    largest = float(weight.max(initial=0.0))
    scale = float(2.0 ** np.ceil(np.log2(largest))) if largest > 0 else 0.0
    served = _served(recipes) if 1 / USUAL < scale < USUAL else {}
    if not served:
        return {}
    sizes = sorted({loop.bins for loop in served.values() if loop.bins})
    tables = {bins: np.zeros((bins, 1 + 6 * MOMENTS), np.int64) for bins in sizes}
    scores = np.zeros((SCORES, 6), np.int64) if any(loop.columns for loop in served.values()) else None
    aside = np.empty(view.n_rows, np.int64)
    rows, sets, kept = LoopRows(view.true, view.prob), ffi.new("epi_weighed_bin_set[]", len(sizes)), []
    for place, bins in enumerate(sizes):
        kept.append(write(tables[bins]))
        sets[place].bins, sets[place].totals = bins, kept[-1]
    into = NULL if scores is None else write(scores), write(aside)
    number = accepted(lib.epi_weigh_rows(rows.struct, read(weight), scale, len(sizes), sets, *into))
    left = view.take(aside[:number]) if number else None
    counts = {bins: table[:, 0].copy() for bins, table in tables.items()}
    if left is not None:
        for bins, count in counts.items():
            count -= np.bincount(width_index(left.prob, bins), minlength=bins)
    power = np.array([1.0, 2.0, *[1.0] * 6, *[2.0] * 11])
    totals = WeighedTotals(
        view,
        view.n_rows - number,
        None if scores is None else _pairs(scores, scale**power),
        {bins: (counts[bins], _pairs(table[:, 1:].reshape(bins, MOMENTS, 6), scale)) for bins, table in tables.items()},
    )
    made = {recipe: recipe.from_weighed(totals) for recipe in served}
    if left is not None:
        known = RowScores()
        made = {recipe: made[recipe].merge(recipe.summarise_beside(left, known)) for recipe in served}
    return made


def _served(recipes: Iterable[Recipe]) -> dict[Recipe, Loop]:
    """The recipes that the loop serves, with theirs."""
    served: dict[Recipe, Loop] = {}
    sizes: set[int] = set()
    for recipe in recipes:
        loop = recipe.loop
        if loop is None or loop.kind == "cells":
            continue
        if loop.kind in ("bins", "moments"):
            if sum(sizes | {loop.bins}) > MOST_BINS or len(sizes | {loop.bins}) > MOST_SETS:
                continue
            sizes.add(loop.bins)
        elif not set(loop.columns) <= {*COLUMNS, *NOTHING} or (loop.kind == "powers" and loop.columns not in PRODUCTS):
            continue
        served[recipe] = loop
    return served


def _pairs(table: Integers, size: Any) -> Paired:
    """Totals of six integers as pairs of doubles, times a power of two."""
    high, low = fine_pairs(*(table[..., k] for k in range(4)))
    rest = table[..., 4].astype(np.float64) * 2.0**-88 + table[..., 5].astype(np.float64) * 2.0**-132
    high, low = two_sum(high, low + rest)
    return Paired(high * size, low * size)
