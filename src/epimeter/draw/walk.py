# SPDX-License-Identifier: Apache-2.0
"""Cumulative differences: outcome minus confidence, added up from the least confident row to the most confident.

After Arrieta-Ibarra et al. 2022, JMLR 23(351). No bins: the slope of the line is the error there. The line of a
calibrated model is a random walk; how far it may stray is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from epimeter.draw.canvas import (
    BLUE,
    FAINT,
    INK,
    LEFT,
    SMALL,
    SOFT,
    VERMILION,
    legend,
    named,
    number,
    p_text,
    percent,
    rows_text,
    stage,
    summed,
    thinned,
)
from epimeter.draw.curve import Curve, Floats, Level, curve, reading
from epimeter.draw.overlay import Look, Strand, figure
from epimeter.metrics.cumulative.brownian import brownian_tail
from epimeter.metrics.cumulative.differences import ecce_mad
from epimeter.metrics.cumulative.walk import Walk, steps_of
from epimeter.special import brentq, ndtri
from epimeter.views import View

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True, eq=False)
class CumulativeCurve(Curve):
    """One entry a distinct confidence, in increasing order; the line begins at (0, 0)."""

    kind: ClassVar[str] = "cumulative"

    fraction: Floats
    """Share of the rows (of the weight) up to here."""
    confidence: Floats
    difference: Floats
    band: Floats
    """Half the width of the band that holds a calibrated model's line at this place with probability `level`."""
    limit: float
    """What the whole line of a calibrated model stays within, with probability `level`."""
    sigma: float
    """Standard deviation of the end of a calibrated model's line."""
    statistic: float
    p_value: float
    level: float


@curve
def cumulative_curve(view: View, *, level: Level = 0.95) -> CumulativeCurve:
    """Running mean of outcome minus confidence; summed up by ecce_mad, its largest distance from 0.

    Parameters
    ----------
    level
        Level of the band (at one place) and of the limit (everywhere).
    """
    event = view.event
    walk = Walk(steps_of(event, "group"))
    error = ecce_mad.compute(event)
    passed = np.sqrt(walk.elapsed) if walk.sigma > 0 else np.zeros(len(walk.difference))
    return CumulativeCurve(
        n_rows=view.n_rows,
        metric="ecce_mad",
        value=error.value,
        convention=f"equal values are one step; {reading(view)}",
        fraction=walk.fraction,
        confidence=walk.confidence,
        difference=walk.difference,
        band=float(ndtri((1 + level) / 2)) * walk.sigma * passed,
        limit=largest_excursion(level) * walk.sigma,
        sigma=walk.sigma,
        statistic=error.statistic,
        p_value=error.p_value,
        level=level,
    )


def largest_excursion(level: float) -> float:
    """What the largest absolute value of Brownian motion on [0, 1] stays below with this probability."""
    return brentq(lambda x: brownian_tail.compute(x, kind="max_abs", tail="lower") - level, 0.05, 40.0)


ACROSS, UP = "share of the rows, least stated first", "outcome minus what was stated, added up"


def _strand(axes: Any, curve: CumulativeCurve, look: Look) -> None:
    """One of several models: its line, and what a calibrated model's whole line would stay within, at the right rim."""
    fraction, difference = np.append(0.0, curve.fraction), np.append(0.0, curve.difference)
    line = thinned(fraction, difference)
    axes.axhline(0, color=SOFT, linewidth=0.8, zorder=1)
    axes.plot(*line, color=look.colour, linestyle=look.dash, linewidth=1.5, label=look.name, zorder=3)
    axes.vlines([1.0], [-curve.limit], [curve.limit], look.colour, linewidth=5, alpha=0.35, zorder=2)
    axes.set_xlim(0, 1.01)


@figure(
    cumulative_curve,
    Strand(_strand, ACROSS, UP, "bars at the right: what the whole line of a calibrated model would stay within"),
)
def cumulative(curve: CumulativeCurve, *, ax: Any = None, title: str = "Cumulative differences") -> Figure:
    """The line of cumulative differences, the band of a calibrated model, and the confidence along the top.

    Parameters
    ----------
    ax
        Axes to draw on, instead of a page of its own.
    title
        What stands above.
    """
    notes = [
        f"{rows_text(curve)}; ecce_mad = {number(curve.value)}{_sigmas(curve)}, {p_text(curve.p_value)}: "
        f"{curve.convention}",
        "where the line falls too much was stated, where it rises too little, by as much as its slope",
    ]
    made, axes = stage(ax, title, notes, summed(curve), height=4.5, left=LEFT + 0.1, above=0.65)
    fraction, difference = np.append(0.0, curve.fraction), np.append(0.0, curve.difference)
    x, band = thinned(fraction, np.append(0.0, curve.band))
    axes.fill_between(
        x, -band, band, color=FAINT, linewidth=0, label=f"if calibrated, {percent(curve.level)}, each place", zorder=1
    )
    for sign in (1, -1):
        axes.axhline(
            sign * curve.limit,
            color=VERMILION,
            linewidth=1.0,
            linestyle=(0, (4, 3)),
            label=f"if calibrated, {percent(curve.level)}, whole line" if sign == 1 else None,
        )
    axes.axhline(0, color=SOFT, linewidth=0.8)
    axes.plot(*thinned(fraction, difference), color=BLUE, linewidth=1.4, label="cumulative difference", zorder=3)
    least = max(curve.limit, 0.01)
    axes.set(xlim=(0, 1), ylim=(1.12 * min(difference.min(), -least), 1.12 * max(difference.max(), least)))
    axes.set_xticks(np.arange(6) / 5)
    named(axes, ACROSS, UP)
    if ax is None:
        _confidences(axes, curve)
    else:
        legend(axes, inside=True)
    return made


def _confidences(axes: Axes, curve: CumulativeCurve) -> None:
    """Ticks along the top: the confidence reached at each tenth of the rows; and the legend between."""
    above = axes.secondary_xaxis("top")
    tenths = np.arange(6) / 5
    there = curve.confidence[np.minimum(np.searchsorted(curve.fraction, tenths - 1e-12), len(curve.fraction) - 1)]
    above.set_xticks(tenths, [f"{c:.3f}" for c in there])
    above.tick_params(labelsize=SMALL, colors=INK, length=2.5, width=0.8, color=SOFT, pad=1.5)
    above.spines["top"].set(color=SOFT, linewidth=0.8)
    above.set_xlabel("stated there", size=SMALL, color=INK, labelpad=2)
    legend(axes, 3)
    key = axes.get_legend()
    assert key is not None
    key.set_bbox_to_anchor((-0.16, 1.1))


def _sigmas(curve: CumulativeCurve) -> str:
    """The largest difference in standard deviations; confidences that are all 0 or 1 have none."""
    return f" = {curve.statistic:.3g} sigma" if curve.sigma > 0 else " (sigma is 0: every row states 0 or 1)"
