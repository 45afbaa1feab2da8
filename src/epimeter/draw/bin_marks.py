# SPDX-License-Identifier: Apache-2.0
"""The reliability diagram: bins as points with gaps, as a line with its band, or as bars.

Lane 2025, section 2.2: the line of Figure 3, with outcomes scattered at 0 and 1, and the bars of Figure 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from epimeter.draw.bins import ReliabilityCurve, reliability_curve
from epimeter.draw.canvas import BLUE, FAINT, INK, SKY, SOFT, VERMILION, diagram, legend, number, percent, rows_text
from epimeter.draw.curve import Floats
from epimeter.draw.overlay import Look, Strand, figure
from epimeter.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Style = Literal["points", "line", "bars"]
STYLES = ("points", "line", "bars")
MANY = 40
"""Bins above which their marks are drawn small, and gaps not at all."""


def _strand(axes: Any, curve: ReliabilityCurve, look: Look, style: Style = "line") -> None:
    """One of several models: a line with marks over its faint band."""
    if style == "bars":
        raise InputError("bars show one model; several are drawn with style='line' or 'points'", field="style")
    some = curve.count > 0
    x, y = curve.confidence[some], curve.frequency[some]
    axes.fill_between(x, curve.low[some], curve.high[some], color=look.colour, alpha=0.14, linewidth=0, zorder=1)
    mark = {"marker": look.mark, "markersize": 4.5 if len(x) <= MANY else 0}
    axes.plot(x, y, color=look.colour, linestyle=look.dash, linewidth=1.5, label=look.name, zorder=3, **mark)


@figure(reliability_curve, Strand(_strand))
def reliability(
    curve: ReliabilityCurve, *, style: Style = "points", ax: Any = None, title: str = "Reliability diagram"
) -> Figure:
    """The reliability diagram: each bin at its mean confidence, with its interval; under it, where the rows are.

    Parameters
    ----------
    style
        ``points`` with intervals and gaps, a ``line`` with its band, or ``bars`` as high as the frequency.
    ax
        Axes to draw on, instead of a page of its own.
    title
        What stands above.
    """
    if style not in STYLES:
        raise InputError(f"style must be one of {', '.join(STYLES)}; got {style!r}", field="style")
    shaded = "shaded" if style == "line" else "bars" if style == "points" else "whiskers"
    notes = [
        f"{rows_text(curve)}; ece = {number(curve.value)}: {curve.convention}",
        f"{shaded}: {percent(curve.level)} intervals ({curve.interval})",
    ]
    if curve.band_low is not None:
        notes[-1] += f"; grey: {percent(curve.level)} of calibrated models, {curve.draws:,} draws"
    if curve.shown_at is not None:
        notes[-1] += f"; dots: outcomes of {len(curve.shown_at):,} rows, spread around 0 and 1"
    made, axes = diagram(curve, title, notes, ax)
    some = curve.count > 0
    x = curve.confidence[some]
    if curve.band_low is not None and curve.band_high is not None:
        axes.vlines(x, curve.band_low[some], curve.band_high[some], FAINT, linewidth=9, label="if calibrated", zorder=1)
    {"points": _points, "line": _line, "bars": _bars}[style](axes, curve)
    _outcomes(axes, curve)
    legend(axes, inside=ax is not None)
    return made


def _points(axes: Any, curve: ReliabilityCurve) -> None:
    some = curve.count > 0
    x, y = curve.confidence[some], curve.frequency[some]
    if len(x) <= MANY:
        axes.vlines(x, x, y, VERMILION, linewidth=4.5, alpha=0.55, label="gap", zorder=2)
    marked(axes, x, y, curve.low[some], curve.high[some])


def _line(axes: Any, curve: ReliabilityCurve) -> None:
    some = curve.count > 0
    x, y, low, high = curve.confidence[some], curve.frequency[some], curve.low[some], curve.high[some]
    if len(x) == 1:
        axes.vlines(x, low, high, SKY, linewidth=9, alpha=0.4)
    axes.fill_between(x, low, high, color=SKY, alpha=0.35, linewidth=0, label="interval", zorder=1)
    size = 5.0 if len(x) <= MANY else 0.0
    axes.plot(x, y, color=BLUE, linewidth=1.6, marker="o", markersize=size, label="bins", zorder=3)


def _bars(axes: Any, curve: ReliabilityCurve) -> None:
    """Bars from 0 to the frequency, hatched from there to the mean confidence; whiskers in the middle."""
    some = curve.count > 0
    left, wide = curve.edges[:-1][some], np.diff(curve.edges)[some]
    said, seen = curve.confidence[some], curve.frequency[some]
    look: dict[str, Any] = {"align": "edge", "linewidth": 0.7}
    axes.bar(left, seen, wide, color=BLUE, alpha=0.45, edgecolor="white", label="frequency", zorder=1, **look)
    axes.bar(
        left, said - seen, wide, bottom=seen, facecolor=(0.835, 0.369, 0.0, 0.16), edgecolor=VERMILION, hatch="////",
        label="gap to the mean stated", zorder=1.2, **look,
    )  # fmt: skip
    reach = [np.maximum(seen - curve.low[some], 0), np.maximum(curve.high[some] - seen, 0)]
    axes.errorbar(left + wide / 2, seen, reach, fmt="none", ecolor=INK, elinewidth=1.1, capsize=2.2, zorder=3)


def _outcomes(axes: Any, curve: ReliabilityCurve) -> None:
    """Rows as dots at their outcome, spread a little so that they do not hide each other; always the same way."""
    if curve.shown_at is None or curve.shown_true is None:
        return
    # Multiples of the golden ratio fill an interval evenly, without chance.
    spread = (np.arange(len(curve.shown_at)) * 0.6180339887498949 % 1.0) * 0.05
    height = np.where(curve.shown_true == 1, 1.0 - spread, spread)
    axes.scatter(curve.shown_at, height, s=3, color=SOFT, alpha=0.5, linewidth=0, zorder=1.1, label="outcomes")


def marked(
    axes: Any, x: Floats, y: Floats, low: Floats, high: Floats, size: float = 5.0, name: str = "bin, with interval"
) -> None:
    """Points with their intervals."""
    many = len(x) > MANY
    axes.errorbar(
        x,
        y,
        [np.maximum(y - low, 0.0), np.maximum(high - y, 0.0)],
        fmt="o",
        markersize=size / 2 if many else size,
        color=BLUE,
        markeredgecolor=INK,
        markeredgewidth=0 if many or size < 4 else 0.6,
        elinewidth=0.6 if many else 1.3,
        capsize=0 if many else size / 2,
        label=name,
        zorder=3,
    )
