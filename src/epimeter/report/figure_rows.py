# SPDX-License-Identifier: Apache-2.0
"""The rows behind a report, kept for figures that are drawn later, and the diagram that was asked for.

Nothing is computed until a figure is wanted. What is kept are the caller's own columns, not a copy of them; they do
not travel with a report that is pickled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from epimeter.kinds import WORDING
from epimeter.summaries import Bins
from epimeter.summaries.cuts import Cut
from epimeter.views import View

if TYPE_CHECKING:
    from epimeter.draw.bins import ReliabilityCurve
    from epimeter.report.curves import Curves, Reliability
    from epimeter.report.measurement import Report
    from epimeter.results import BinTable


class FigureRows:
    """A view, and the bins in which its diagram is drawn."""

    __slots__ = ("diagram", "view")

    def __init__(self, view: View | None, diagram: Bins) -> None:
        self.view = view
        self.diagram = diagram

    def __reduce__(self) -> Any:
        return FigureRows, (None, self.diagram)

    def __repr__(self) -> str:
        return f"<{0 if self.view is None else self.view.n_rows:,} rows>"


def diagram_of(choices: Mapping[str, Any]) -> Bins:
    """The bins of the diagram: those that the metrics were told to use, else ten of equal width."""
    bins: Any = choices.get("bins")
    binning: Any = choices.get("binning")
    whole = isinstance(bins, int | np.integer) and not isinstance(bins, bool)
    cut: Cut = binning if binning in get_args(Cut) else "width"
    return Bins(int(bins) if whole and bins is not None else 10, cut)


def curves_of(report: Report) -> Curves | Reliability:
    """The data of the figures: of the rows where they are at hand, else of the bins that the report remembers."""
    from epimeter.report.curves import Reliability, curves

    if report.rows is not None and report.rows.view is not None:
        return curves(report.rows.view, report.rows.diagram)
    return Reliability.of_table(report.bins, report.kind)


def reliability_of(report: Report, ax: Any = None) -> Any:
    """The reliability diagram of a report."""
    from epimeter.draw import reliability, reliability_curve

    if report.rows is not None and report.rows.view is not None:
        diagram = report.rows.diagram
        curve = reliability_curve(report.rows.view, bins=diagram.bins, binning=diagram.binning)
    else:
        curve = _remembered(report.bins, report)
    return reliability(curve, ax=ax)


def _remembered(table: BinTable, report: Report) -> ReliabilityCurve:
    """The curve of bins whose rows are gone."""
    from epimeter.draw.bins import ReliabilityCurve
    from epimeter.report.curves import Reliability

    known = Reliability.of_table(table, report.kind)
    # The error of these bins, if the report measured it: weights that it had are gone from the table.
    told = report.get("ece")
    value = told.value if told is not None and told.parameters.get("bins") == len(table.count) else None
    return ReliabilityCurve(
        n_rows=report.n_rows,
        metric="ece",
        value=np.nan if value is None else float(value),
        convention=f"{len(table.count)} bins that the report remembers",
        edges=known.edges,
        count=table.count,
        weight=table.count.astype(np.float64),
        confidence=table.confidence,
        frequency=table.frequency,
        low=known.low,
        high=known.high,
        level=0.95,
        interval=known.interval,
        cell_edges=known.edges,
        cell_rows=table.count.astype(np.float64),
        said=WORDING[report.kind].said,
        outcome=f"share of rows: {WORDING[report.kind].seen}",
        weighted=False,
    )
