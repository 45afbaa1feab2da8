# SPDX-License-Identifier: Apache-2.0
"""The recipe of the fine histogram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from epimeter.summaries.cell_totals import CellTotals
from epimeter.summaries.recipe import Loop, Recipe
from epimeter.summaries.row_totals import summary_of
from epimeter.views import Binary, Reading, View


@dataclass(frozen=True)
class Cells(Recipe):
    """Totals of 76,800 equal cells of the confidence, for rows without weights."""

    reading: ClassVar[Reading] = "event"

    streams = True

    @property
    def loop(self) -> Loop:
        return Loop("cells")

    def summarise(self, view: View) -> CellTotals:
        assert isinstance(view, Binary) and view.weight is None
        made: CellTotals = summary_of(self, view)
        return made
