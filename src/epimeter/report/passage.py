# SPDX-License-Identifier: Apache-2.0
"""One pass over the rows, many summaries: batch, stream and threads alike.

    totals = {recipe: recipe.summarise(first)}, then merged with the summary of every further chunk

Equal recipes are one key, so metrics that read the same summary share it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import Any

from epimeter.summaries import fast
from epimeter.summaries.recipe import Recipe
from epimeter.views import View

Totals = dict[Recipe, Any]
CHUNK = 1 << 19
"""Rows a thread works on at a time: few enough to share among cores, enough to forget the cost of a call."""


def summaries(view: View, recipes: Iterable[Recipe], tick: Callable[[int], None] | None = None) -> Totals:
    """The summary of a view under every recipe; `tick` is told the rows done."""
    wanted = list(dict.fromkeys(recipes))
    streaming = [recipe for recipe in wanted if recipe.streams]
    keeping = [recipe for recipe in wanted if not recipe.streams]
    totals: Totals = {recipe: recipe.summarise(view.read_as(recipe.reading)) for recipe in keeping}
    if not streaming:
        return totals
    if view.n_rows >= fast.WORTH_LOADING:
        fast.load()

    def of_chunk(chunk: View) -> Totals:
        done = {recipe: recipe.summarise(chunk.read_as(recipe.reading)) for recipe in streaming}
        if tick is not None:
            tick(chunk.n_rows)
        return done

    chunks = list(view.chunks(CHUNK))
    if len(chunks) == 1:
        return totals | of_chunk(chunks[0])
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return totals | reduce(merged, pool.map(of_chunk, chunks))


def merged(left: Totals, right: Totals) -> Totals:
    """The totals of both; the same bits in whatever order they are merged."""
    return {recipe: summary.merge(right[recipe]) for recipe, summary in left.items()}
