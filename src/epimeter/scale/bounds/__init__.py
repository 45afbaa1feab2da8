# SPDX-License-Identifier: Apache-2.0
"""Metrics read off the cells, each with the largest error that its rows could hide."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from epimeter.card import Metric
from epimeter.summaries.cells import CellTotals
from epimeter.summaries.recipe import Recipe

Reading = Callable[[CellTotals], "tuple[Any, float]"]


def bounded(metric: Metric[Any], recipe: Recipe, choices: Mapping[str, Any]) -> Reading | None:
    """How the metric is read off the cells with these parameters: its answer and the bound; None if it is not."""
    return None
