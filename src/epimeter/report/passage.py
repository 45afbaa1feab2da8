# SPDX-License-Identifier: Apache-2.0
"""One pass over the rows, many summaries: batch, stream and threads alike.

    totals = {recipe: recipe.summarise(first)}, then merged with the summary of every further chunk

Equal recipes are one key, so metrics that read the same summary share it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

import numpy as np

from epimeter.core.threads import shared
from epimeter.summaries.recipe import Recipe
from epimeter.summaries.row_totals import RowTotals
from epimeter.views import Binary, View

Totals = dict[Recipe, Any]
CHUNK = 1 << 18
"""Rows that are added at a time, so that a bar can show how far the pass is."""


def summaries(view: View, recipes: Iterable[Recipe], tick: Callable[[int], None] | None = None) -> Totals:
    """The summary of a view under every recipe; `tick` is told the rows done."""
    wanted = list(dict.fromkeys(recipes))
    streaming = [recipe for recipe in wanted if recipe.streams]
    totals: Totals = {recipe: recipe.summarise(view.read_as(recipe.reading)) for recipe in wanted if not recipe.streams}
    looped = [recipe for recipe in streaming if recipe.loop is not None and view.weight is None]
    looped = [recipe for recipe in looped if isinstance(view.read_as(recipe.reading), Binary)]
    if looped:
        totals |= _looped(view.event, looped, tick)
    rest = [recipe for recipe in streaming if recipe not in totals]
    if rest:

        def of_chunk(part: View) -> Totals:
            made = {recipe: recipe.summarise(part.read_as(recipe.reading)) for recipe in rest}
            if tick is not None and not looped:
                tick(part.n_rows)
            return made

        def of_part(rows: slice) -> Totals:
            chunks: list[Totals] = [of_chunk(chunk) for chunk in view.take(rows).chunks(CHUNK)]
            return reduce(merged, chunks)

        parts: list[Totals] = shared(of_part, view.n_rows, CHUNK)
        together: Totals = reduce(merged, parts)
        totals |= together
    return totals


def _looped(view: Binary, recipes: list[Recipe], tick: Callable[[int], None] | None) -> Totals:
    """The summaries of recipes that have a loop, from one pass of the core."""

    def of_part(rows: slice) -> RowTotals:
        totals = RowTotals(recipes)
        for start in range(rows.start, rows.stop, CHUNK):
            some = slice(start, min(start + CHUNK, rows.stop))
            if not totals.add_all(view.true[some], view.prob[some]):
                raise ValueError("a view that is not sound")
            if tick is not None:
                tick(some.stop - some.start)
        return totals

    first, *others = shared(of_part, view.n_rows)
    for other in others:
        first.absorb(other, np.zeros(1, np.int64))
    return {recipe: first.summary(recipe) for recipe in recipes}


def merged(left: Totals, right: Totals) -> Totals:
    """The totals of both; the same bits in whatever order they are merged."""
    return {recipe: summary.merge(right[recipe]) for recipe, summary in left.items()}
