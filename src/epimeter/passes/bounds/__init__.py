# SPDX-License-Identifier: Apache-2.0
"""Metrics read off the cells, each with the largest error that its rows could hide.

A cell tells, for each outcome, how many rows it holds and the sum of their confidences. What a metric could still be is
derived in the file of its kind, from these numbers alone: no assumption about the rows, and no probability.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from epimeter.calling import Metric
from epimeter.summaries.bins import Bins
from epimeter.summaries.cell_totals import CellTotals
from epimeter.summaries.recipe import Recipe
from epimeter.uncertainty import CumulativeWalk, KernelForm, MassGapNorm

Reading = Callable[[CellTotals], "tuple[Any, float]"]


def bounded(metric: Metric[Any], recipe: Recipe, choices: Mapping[str, Any]) -> Reading | None:
    """How the metric is read off the cells with these parameters: its answer and the bound; None if it is not."""
    bound = metric.card.bound
    if bound is None:
        return None
    given = {name: p.default for name, p in metric.parameters.items()} | dict(choices)
    if isinstance(bound, MassGapNorm):
        from epimeter.passes.bounds import cuts

        if type(recipe) is not Bins or recipe.binning != "mass":
            return None
        bins, norm = int(recipe.bins), float(given[bound.norm] if isinstance(bound.norm, str) else bound.norm)
        return lambda cells: cuts.gap_norm(cells, bins, norm)
    if isinstance(bound, CumulativeWalk):
        from epimeter.passes.bounds import walk

        span = bound.span
        return None if given["ties"] != "group" else lambda cells: walk.deviation(cells, span)
    if isinstance(bound, KernelForm):
        return _kernel_form(bound, given)
    from epimeter.passes.bounds import smooth

    return lambda cells: smooth.smooth_error(cells, given["bandwidth"])


def _kernel_form(bound: KernelForm, given: Mapping[str, Any]) -> Reading | None:
    from epimeter.passes.bounds import forms

    width = given["bandwidth"] if bound.width is None else bound.width
    if not isinstance(width, int | float) or isinstance(width, bool):
        return None  # a rule that looks at the rows
    kernel = given["kernel"] if bound.kernel is None else bound.kernel
    return lambda cells: forms.norm(cells, float(width), kernel, given["squared"], bound.weighted)
