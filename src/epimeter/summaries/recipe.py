# SPDX-License-Identifier: Apache-2.0
"""What every recipe and every summary can do."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, Self

from epimeter.summaries.atoms import Atoms
from epimeter.summaries.row_scores import RowScores
from epimeter.views import Reading, View


class Summary(Protocol):
    """What a recipe keeps of a view."""

    def merge(self, other: Self) -> Self:
        """The summary of both."""
        ...


@dataclass(frozen=True)
class Loop:
    """Which loop of the core adds up the rows of a recipe, where they have one confidence each and no weight.

    Attributes
    ----------
    kind
        ``bins`` and ``moments``: equal-width bins, the latter with the moments of the residual; ``scores``: sums of columns;
        ``powers``: sums of their products; ``cells``: the fine histogram.
    bins
        Number of bins.
    columns, fine
        Names of the columns (`row_totals`), and whether what steps of 2^-44 leave of them is read.
    """

    kind: Literal["bins", "moments", "scores", "powers", "cells"]
    bins: int = 0
    columns: tuple[str, ...] = ()
    fine: bool = False


class Recipe:
    """How a view is condensed. Subclasses are frozen dataclasses; their fields are parameters a caller may choose."""

    reading: ClassVar[Reading] = "event"
    streams: bool
    """Whether the summary has bounded size and its metrics are exact from it."""

    @property
    def loop(self) -> Loop | None:
        """The loop of the core that adds up its rows; None where the recipe does so itself."""
        return None

    @property
    def checks_rows(self) -> bool:
        """Whether its loop refuses rows that are not sound, so that none need be looked at before."""
        return self.reading in ("event", "given") and self.loop is not None

    def from_table(self, table: Any) -> Any:
        """The summary from the table of a loop of kind ``bins`` or ``moments``."""
        raise TypeError(f"{type(self).__name__} declares no loop of bins")

    def from_weighed(self, totals: Any) -> Any:
        """The summary from the totals of rows with weights (`weighed_rows.WeighedTotals`)."""
        raise TypeError(f"{type(self).__name__} declares no loop")

    def summarise(self, view: View) -> Any:
        """The summary of one view, already read as `reading` says."""
        raise TypeError(f"{type(self).__name__} says no way to summarise")

    def summarise_beside(self, view: View, scores: RowScores) -> Any:
        """The same beside other recipes, which share the scores of the rows with it."""
        return self.summarise(view)

    def finish(self, summary: Any) -> Any:
        """What the metric reads; the summary itself unless the rows had to be kept to the end."""
        return summary

    def of(self, view: View) -> Any:
        """The finished summary of a view, in one step."""
        return self.finish(self.summarise(view.read_as(self.reading)))

    def atoms(self, view: View) -> Atoms | None:
        """What each row adds, where the summary is a sum of whole numbers; None where it is not."""
        return None

    def choices(self) -> dict[str, Any]:
        """The parameters this recipe takes, with their present values."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.init}  # type: ignore[arg-type]

    def choosing(self, **choices: Any) -> Recipe:
        """The same recipe with other parameters."""
        return dataclasses.replace(self, **choices) if choices else self  # type: ignore[type-var]


Order = Literal["free", "ties", "rows"]
"""Whether a value depends on the order of the rows: never, only where a cut goes through ties, or by definition."""
