# SPDX-License-Identifier: Apache-2.0
"""What is left when doubtful answers are withheld: risk against coverage, accuracy against coverage.

Answers are kept surest first, all of one confidence together (El-Yaniv and Wiener 2010; ties as in `aurc`). Beside the curve
stand the best order (every wrong answer last) and a blind one. The band is pointwise: Wilson's interval of the share of wrong
answers among those kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from epimeter.draw.bands import effective, wilson
from epimeter.draw.canvas import BLUE, GREEN, SOFT, legend, named, number, percent, rows_text, stage, summed, thinned
from epimeter.draw.curve import Curve, Floats, Level, curve
from epimeter.draw.overlay import Look, Strand, figure
from epimeter.metrics.selective.areas import auarc, aurc
from epimeter.metrics.selective.coverage import CoverageCurve
from epimeter.summaries.rows import OrderedAnswers, OrderedRows
from epimeter.views import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True, eq=False)
class SelectiveCurve(Curve):
    """The share kept and the share wrong (or right) among it at every threshold, the highest first."""

    coverage: Floats
    threshold: Floats
    """The lowest confidence that is kept."""
    share: Floats
    """Wrong answers among those kept; right ones, of an accuracy."""
    low: Floats
    high: Floats
    level: float
    best: Floats
    """The same with every wrong answer withheld first."""
    whole: float
    """The share among all answers, which a blind order keeps at every coverage."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RiskCurve(SelectiveCurve):
    """Share of wrong answers against coverage."""

    kind: ClassVar[str] = "risk_coverage"


@dataclass(frozen=True, kw_only=True, eq=False)
class AccuracyCurve(SelectiveCurve):
    """Share of right answers against coverage."""

    kind: ClassVar[str] = "accuracy_coverage"


def _arrays(rows: OrderedRows, level: float) -> dict[str, Any]:
    """The arrays of the risk: totals from the surest answer down."""
    found = CoverageCurve.of(rows)
    share, kept, coverage = 1 - found.accuracy, found.kept, found.coverage
    if rows.weight is not None:
        squares = np.add.reduceat(rows.weight**2, rows.starts)[::-1]
        kept = effective(kept, np.cumsum(squares[squares > 0]))
    low, high = wilson(share, kept, level)
    whole = float(share[-1])
    return {
        "coverage": coverage,
        "threshold": found.threshold,
        "share": share,
        "low": low,
        "high": high,
        "level": level,
        "best": np.maximum(0.0, 1 - (1 - whole) / coverage),
        "whole": whole,
    }


def _reading(view: View) -> str:
    how = "" if view.kind == "answer" else "; read as answers by the top label"
    return f"surest answers first, equal confidences together{how}"


@curve
def risk_coverage_curve(view: View, *, level: Level = 0.95) -> RiskCurve:
    """Share of wrong answers among the surest, for every share of answers kept; its mean is aurc.

    Parameters
    ----------
    level
        Nominal coverage of the band, point by point.
    """
    rows = OrderedAnswers().of(view)
    value = float(aurc.compute(rows))
    return RiskCurve(n_rows=view.n_rows, metric="aurc", value=value, convention=_reading(view), **_arrays(rows, level))


@curve
def accuracy_coverage_curve(view: View, *, level: Level = 0.95) -> AccuracyCurve:
    """Share of right answers among the surest, for every share of answers kept; its mean is auarc.

    Parameters
    ----------
    level
        Nominal coverage of the band, point by point.
    """
    rows = OrderedAnswers().of(view)
    made = _arrays(rows, level)
    made |= {name: 1 - made[name] for name in ("share", "best", "whole")}
    made["low"], made["high"] = 1 - made["high"], 1 - made["low"]
    value = float(auarc.compute(rows))
    return AccuracyCurve(n_rows=view.n_rows, metric="auarc", value=value, convention=_reading(view), **made)


ACROSS = "coverage: share of answers kept, surest first"
FEWEST = 0.02
"""Coverage below which the band of a few answers would fill the picture."""
WRONG, RIGHT = "share wrong among them", "share right among them"


def _strand(axes: Any, curve: SelectiveCurve, look: Look) -> None:
    """One of several models, with its band."""
    some = curve.coverage >= FEWEST
    axes.fill_between(
        curve.coverage[some], curve.low[some], curve.high[some], color=look.colour, alpha=0.15, linewidth=0
    )
    line = thinned(curve.coverage, curve.share)
    axes.plot(*line, color=look.colour, linestyle=look.dash, linewidth=1.6, label=look.name, zorder=3)
    axes.set_xlim(0, 1)


def _drawn(curve: SelectiveCurve, title: str, up: str, ax: Any) -> Figure:
    half = int(np.abs(curve.coverage - 0.5).argmin())
    notes = [
        f"{rows_text(curve)}; {curve.metric} = {number(curve.value)}; of all {number(curve.whole)}, of the surest "
        f"{curve.coverage[half]:.0%} {number(float(curve.share[half]))}; shaded: {percent(curve.level)} interval, point by point",
        curve.convention,
    ]
    made, axes = stage(ax, title, notes, summed(curve), height=4.2)
    low, high = thinned(curve.coverage, curve.low), thinned(curve.coverage, curve.high)
    place = np.unique(np.concatenate([low[0], high[0]]))
    axes.fill_between(
        place, np.interp(place, *low), np.interp(place, *high), color=BLUE, alpha=0.2, linewidth=0, zorder=1
    )
    axes.plot(*thinned(curve.coverage, curve.share), color=BLUE, linewidth=1.6, label="by confidence", zorder=3)
    axes.plot(
        *thinned(curve.coverage, curve.best), color=GREEN, linewidth=1.2, linestyle=(0, (5, 2)), label="best order"
    )
    axes.axhline(curve.whole, color=SOFT, linewidth=0.9, linestyle=(0, (1, 2)), label="blind order", zorder=1)
    axes.set_xlim(0, 1)
    named(axes, ACROSS, up)
    legend(axes, inside=ax is not None)
    return made


@figure(risk_coverage_curve, Strand(_strand, ACROSS, WRONG))
def risk_coverage(curve: RiskCurve, *, ax: Any = None, title: str = "Risk against coverage") -> Figure:
    """Share of wrong answers against the share of answers kept, with its band, the best order and a blind one.

    Parameters
    ----------
    ax
        Axes to draw on, instead of a page of its own.
    title
        What stands above.
    """
    made = _drawn(curve, title, WRONG, ax)
    top = max(0.02, 1.15 * float(np.max(curve.share[curve.coverage >= FEWEST], initial=curve.whole)))
    (ax or made.axes[0]).set_ylim(0, min(1.0, top))
    return made


@figure(accuracy_coverage_curve, Strand(_strand, ACROSS, RIGHT))
def accuracy_coverage(curve: AccuracyCurve, *, ax: Any = None, title: str = "Accuracy against coverage") -> Figure:
    """Share of right answers against the share of answers kept, with its band, the best order and a blind one.

    Parameters
    ----------
    ax
        Axes to draw on, instead of a page of its own.
    title
        What stands above.
    """
    made = _drawn(curve, title, RIGHT, ax)
    bottom = min(curve.whole, float(np.min(curve.share[curve.coverage >= FEWEST], initial=curve.whole)))
    (ax or made.axes[0]).set_ylim(max(0.0, bottom - 0.4 * (1 - bottom) - 0.01), 1.005)
    return made
