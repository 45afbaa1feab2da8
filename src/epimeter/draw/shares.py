# SPDX-License-Identifier: Apache-2.0
"""The histogram of confidences, by outcome, with what was said and what came true on average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from epimeter.draw.canvas import (
    BLUE,
    INK,
    ORANGE,
    SMALL,
    amount,
    legend,
    named,
    number,
    numbers_on,
    rows_text,
    stage,
    summed,
)
from epimeter.draw.curve import Count, Curve, Floats, confidence_axis, curve, outcome, reading
from epimeter.draw.overlay import figure
from epimeter.metrics.point.totals import eo_ratio
from epimeter.summaries import Bins
from epimeter.views import Multiclass, View

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True, eq=False)
class HistogramCurve(Curve):
    """Rows by cell of the confidence, or their weight."""

    kind: ClassVar[str] = "histogram"

    edges: Floats
    came: Floats
    failed: Floats
    """Rows that came true and rows that did not."""
    mean_confidence: float
    base_rate: float
    said: str
    outcome: str
    weighted: bool


@curve
def histogram_curve(view: View, *, bins: Count = 20) -> HistogramCurve:
    """How the confidences are spread; summed up by eo_ratio, all that was expected over all that came.

    Parameters
    ----------
    bins
        Number of cells of equal width.
    """
    totals = Bins(bins).of(view)
    came = totals.true.floats()
    expected, seen = float(totals.prob.sum().floats()), float(totals.true.sum().floats())
    return HistogramCurve(
        n_rows=view.n_rows,
        metric="eo_ratio",
        value=float(eo_ratio(view.event.true, view.event.prob, sample_weight=view.weight)),
        convention=f"{bins} cells of equal width [a, b), the last closed; {reading(view)}",
        edges=np.arange(bins + 1) / bins,
        came=came,
        failed=np.maximum(totals.size - came, 0.0),
        mean_confidence=expected / float(totals.n),
        base_rate=seen / float(totals.n),
        said=confidence_axis(view),
        outcome="right" if isinstance(view, Multiclass) else outcome(view),
        weighted=view.weight is not None,
    )


@figure(histogram_curve)
def histogram(curve: HistogramCurve, *, ax: Any = None, title: str = "Confidences") -> Figure:
    """Rows by confidence, those that came true below the others, and both means.

    Parameters
    ----------
    ax
        Axes to draw on, instead of a page of its own.
    title
        What stands above.
    """
    gap = 100 * (curve.mean_confidence - curve.base_rate)
    notes = [
        f"{rows_text(curve)}; said {100 * curve.mean_confidence:.2f} % on average, came true "
        f"{100 * curve.base_rate:.2f} %, a difference of {gap:+.2f} points; eo_ratio = {number(curve.value)}",
        curve.convention,
    ]
    made, axes = stage(ax, title, notes, summed(curve), height=3.6)
    left, width = curve.edges[:-1], np.diff(curve.edges)
    look: dict[str, Any] = {"align": "edge", "edgecolor": "white", "linewidth": 0.6}
    axes.bar(left, curve.came, width, color=BLUE, label="came true", **look)
    axes.bar(left, curve.failed, width, bottom=curve.came, color=ORANGE, hatch="////", label="did not", **look)
    both = curve.came + curve.failed
    axes.axvline(curve.mean_confidence, color=INK, linewidth=1.4, label="mean stated")
    axes.axvline(curve.base_rate, color=INK, linewidth=1.4, linestyle=(0, (3, 2)), label="share that came true")
    axes.set(xlim=(-0.02, 1.02), ylim=(0, 1.2 * (float(both.max()) or 1.0)))
    if len(both) <= 24:
        numbers_on(axes, curve.edges, both, SMALL - 1.5, turned=True)
    axes.set_xticks(np.arange(6) / 5)
    axes.locator_params(axis="y", integer=True)
    axes.yaxis.set_major_formatter(lambda rows, _: amount(rows))
    named(axes, curve.said, "weight" if curve.weighted else "rows")
    legend(axes, inside=ax is not None)
    return made
