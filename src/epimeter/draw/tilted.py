# SPDX-License-Identifier: Apache-2.0
"""The tilted roof: the calibration map that ece_fott fits, a straight piece over each bin.

After Kaengsepp et al. 2022: in a bin the map is y_b + s (c - c_b), so with slope 1 it runs beside the diagonal, and the
distance to it is the error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from epimeter.draw.bands import EXACT, clopper_pearson
from epimeter.draw.bin_marks import marked
from epimeter.draw.canvas import SKY, VERMILION, diagram, legend, number, percent, rows_text
from epimeter.draw.curve import Count, Diagram, Floats, Level, counted, curve, histogram_of, reading
from epimeter.draw.overlay import Look, Strand, figure
from epimeter.errors import InputError
from epimeter.limits import Between
from epimeter.metrics.bin.roof import OrderedColumn, ece_fott, lift
from epimeter.metrics.bin.staircase import SweepCut
from epimeter.views import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True, eq=False)
class RoofCurve(Diagram):
    """One entry a piece of the map that rests on rows."""

    kind: ClassVar[str] = "roof"

    begin: Floats
    end: Floats
    """Where a piece begins and ends: the edges of its bin."""
    left: Floats
    right: Floats
    """The map at both; it may leave [0, 1]."""
    confidence: Floats
    frequency: Floats
    low: Floats
    high: Floats
    """Means of the bin, and the interval of its frequency."""
    first: Floats
    last: Floats
    """The smallest and the largest confidence of the bin."""
    count: Floats
    level: float
    interval: str
    slope: float


@curve
def roof_curve(
    view: View,
    *,
    bins: Count | Literal["cv"] = "cv",
    binning: SweepCut = "mass",
    slope: Annotated[float, Between(0, 1)] = 1.0,
    folds: Count = 10,
    max_bins: Count = 40,
    level: Level = 0.95,
) -> RoofCurve:
    """The map behind ece_fott, piece by piece.

    Parameters
    ----------
    bins, binning, slope, folds, max_bins
        As for ece_fott.
    level
        Level of the intervals.
    """
    if view.weight is not None:
        raise InputError("roof_curve takes no sample weights: folds of weighted rows are not defined", field="weight")
    event = view.event
    fitted = ece_fott.compute(event, bins=bins, binning=binning, slope=slope, folds=folds, max_bins=max_bins)
    order = np.argsort(event.prob, kind="stable")
    column = OrderedColumn.of(event.prob[order].astype(np.float64), event.true[order].astype(np.int64), slope)
    edges = column.edges(fitted.bins, binning)
    piece = column.cut(edges)
    some = piece.size > 0
    last = np.cumsum(piece.size).astype(np.intp)[some] - 1
    first = last - piece.size[some].astype(np.intp) + 1
    begin, end = np.concatenate([[0.0], edges])[some], np.concatenate([edges, [1.0]])[some]
    up = lift(piece, slope)[some]
    low, high = clopper_pearson(piece.true[some], piece.size[some], level)
    how = "equal width" if binning == "width" else "equal mass, no tie cut"
    chosen = "chosen by cross-validation" if bins == "cv" else "given"
    return RoofCurve(
        n_rows=view.n_rows,
        metric="ece_fott",
        value=fitted.value,
        convention=f"{counted(fitted.bins, 'bin')} of {how}, their number {chosen}; slope {slope:g}; {reading(view)}",
        begin=begin,
        end=end,
        left=up + slope * begin,
        right=up + slope * end,
        confidence=piece.prob[some] / piece.size[some],
        frequency=piece.true[some] / piece.size[some],
        low=low,
        high=high,
        first=column.prob[first],
        last=column.prob[last],
        count=piece.size[some],
        level=level,
        interval=EXACT,
        slope=slope,
        **histogram_of(view),
    )


def _strand(axes: Any, curve: RoofCurve, look: Look) -> None:
    """One of several models: the pieces of its roof."""
    line = _segments(curve, curve.first, curve.last)
    axes.plot(*line, color=look.colour, linestyle=look.dash, linewidth=2.2, label=look.name, zorder=3)


@figure(roof_curve, Strand(_strand))
def roof(curve: RoofCurve, *, ax: Any = None, title: str = "Tilted-roof reliability diagram") -> Figure:
    """Bars under the pieces of the roof, the means they rest on with intervals, and under them where the rows are.

    Parameters
    ----------
    ax
        Axes to draw on, instead of a page of its own.
    title
        What stands above.
    """
    notes = [
        f"{rows_text(curve)}; ece_fott = {number(curve.value)}: {curve.convention}",
        f"bars: {percent(curve.level)} intervals ({curve.interval})",
    ]
    made, axes = diagram(curve, title, notes, ax)
    for place, (left, right, low, high) in enumerate(zip(curve.begin, curve.end, curve.left, curve.right, strict=True)):
        # The roof may leave [0, 1] where no rows are; a bar does not.
        at = np.linspace(left, right, 33)
        top = np.clip(np.linspace(low, high, 33), 0.0, 1.0)
        axes.fill_between(at, 0.0, top, color=SKY, alpha=0.28, linewidth=0, label=None if place else "bars")
        axes.vlines([left, right], 0.0, [top[0], top[-1]], "white", linewidth=1.0, zorder=1.1)
    for begin, end, width, style in ((curve.begin, curve.end, 0.9, (0, (1, 1.5))), (curve.first, curve.last, 2.2, "-")):
        name = "fitted map" if style == "-" else "no rows there"
        line = _segments(curve, begin, end)
        axes.plot(*line, color=VERMILION, linewidth=width, linestyle=style, label=name, zorder=2)
    marked(axes, curve.confidence, curve.frequency, curve.low, curve.high, size=4.0)
    legend(axes, 5, inside=ax is not None)
    return made


def _segments(curve: RoofCurve, begin: Floats, end: Floats) -> Floats:
    """The map over [begin, end] of each bin as one line with breaks: its x and its y."""
    across = np.stack([begin, end], axis=1)
    up = curve.frequency[:, None] + curve.slope * (across - curve.confidence[:, None])
    broken = [np.append(np.column_stack([x, y]), [[np.nan, np.nan]], axis=0) for x, y in zip(across, up, strict=True)]
    return np.concatenate(broken).T
