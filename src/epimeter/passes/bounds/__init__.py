# SPDX-License-Identifier: Apache-2.0
"""Metrics read off the cells, each with the largest error that its rows could hide.

A cell tells, for each outcome, how many rows it holds and the sum of their confidences. What a metric could still be is
derived in the file of its kind, from these numbers alone: no assumption about the rows, and no probability.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from epimeter.card import Metric
from epimeter.schema import WITHIN_A_BOUND
from epimeter.summaries.bins import Bins
from epimeter.summaries.cell_totals import CellTotals
from epimeter.summaries.recipe import Recipe

Reading = Callable[[CellTotals], "tuple[Any, float]"]


def bounded(metric: Metric[Any], recipe: Recipe, choices: Mapping[str, Any]) -> Reading | None:
    """How the metric is read off the cells with these parameters: its answer and the bound; None if it is not."""
    name = metric.name
    if name not in WITHIN_A_BOUND:
        return None
    given = {name: p.default for name, p in metric.parameters.items()} | dict(choices)
    if isinstance(recipe, Bins):
        from epimeter.passes.bounds import cuts

        if recipe.binning != "mass" or type(recipe) is not Bins:
            return None
        norm = {"ece": 1.0, "mce": float("inf")}.get(name, given.get("norm"))
        return lambda cells: cuts.gap_norm(cells, int(recipe.bins), float(norm))  # type: ignore[arg-type]
    if name in ("ecce_mad", "ecce_r"):
        from epimeter.passes.bounds import walk

        return None if given["ties"] != "group" else lambda cells: walk.deviation(cells, name == "ecce_r")
    if name == "smece":
        from epimeter.passes.bounds import smooth

        return lambda cells: smooth.smooth_error(cells, given["bandwidth"])
    from epimeter.passes.bounds import forms

    width = 1.0 if name == "lkce" else given["bandwidth"]
    if not isinstance(width, int | float) or isinstance(width, bool):
        return None  # a rule that looks at the rows
    kernel = "laplace" if name == "lkce" else given["kernel"]
    return lambda cells: forms.norm(cells, float(width), kernel, given["squared"], name == "mmce_weighted")
