# SPDX-License-Identifier: Apache-2.0
"""The reliability curve of every class against the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from epimeter.draw.bands import EXACT, WEIGHED, clopper_pearson, effective, wilson
from epimeter.draw.bin_marks import marked
from epimeter.draw.bins import CUTS
from epimeter.draw.canvas import (
    INK,
    SMALL,
    VERMILION,
    amount,
    dressed,
    histogram_bars,
    named,
    number,
    page,
    panel,
    percent,
    rows_text,
    unit_square,
)
from epimeter.draw.curve import CELLS, Count, Curve, Floats, Integers, Level, counted, curve
from epimeter.draw.overlay import figure
from epimeter.errors import InputError
from epimeter.metrics.bin.classwise import class_errors, classwise_ece
from epimeter.summaries import ClassBins
from epimeter.summaries.cuts import Cut, bin_index
from epimeter.views import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True, eq=False)
class ClasswiseCurve(Curve):
    """One row a class, one column a bin; NaN where a bin is empty."""

    kind: ClassVar[str] = "classwise"

    errors: Floats
    """Expected calibration error of each class; their mean is the value."""
    count: Integers
    weight: Floats
    confidence: Floats
    frequency: Floats
    low: Floats
    high: Floats
    level: float
    interval: str
    cell_edges: Floats
    cell_rows: Floats
    """Where the probabilities of each class are, in cells of equal width."""


@curve
def classwise_curve(view: View, *, bins: Count = 10, binning: Cut = "width", level: Level = 0.95) -> ClasswiseCurve:
    """The reliability curve of every class against the rest; summed up by classwise_ece.

    Parameters
    ----------
    bins, binning
        As for `reliability_curve`; every class has its own bins.
    level
        Level of the intervals.
    """
    classes = view.classes
    totals = ClassBins(bins, binning).of(classes)
    if classes.weight is None:
        low, high = clopper_pearson(totals.true.floats(), totals.size, level)
    else:
        squares = []
        for k in range(classes.n_classes):
            index = bin_index(classes.prob[:, k], classes.weight, bins, binning)
            squares.append(np.bincount(index, weights=classes.weight**2, minlength=bins))
        low, high = wilson(totals.frequency, effective(totals.size, np.stack(squares)), level)
    cells = totals if binning == "width" and bins > 1 else ClassBins(CELLS).of(classes)
    return ClasswiseCurve(
        n_rows=view.n_rows,
        metric="classwise_ece",
        value=classwise_ece.compute(totals),
        convention=f"{CUTS[binning].format(counted(bins, 'bin'))}; every class against the rest",
        errors=class_errors(totals),
        count=totals.count,
        weight=totals.size,
        confidence=np.where(totals.filled, totals.confidence, np.nan),
        frequency=np.where(totals.filled, totals.frequency, np.nan),
        low=low,
        high=high,
        level=level,
        interval=EXACT if classes.weight is None else WEIGHED,
        cell_edges=np.arange(cells.count.shape[-1] + 1) / cells.count.shape[-1],
        cell_rows=cells.size,
    )


PANELS = 12
"""Panels drawn unless classes are named: those of the largest errors."""


@figure(classwise_curve)
def classwise(
    curve: ClasswiseCurve,
    *,
    classes: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    ax: Any = None,
    title: str = "Reliability of every class against the rest",
) -> Figure:
    """A small reliability diagram for each class, with where its probabilities are.

    Parameters
    ----------
    classes
        Which classes are drawn; None: all up to twelve, else the twelve of the largest errors.
    names
        Names of all classes.
    ax
        Axes to draw on, instead of a page of its own; they hold one class, chosen with ``classes=[k]``.
    title
        What stands above.
    """
    count = len(curve.errors)
    shown = _shown(curve, classes)
    if names is not None and len(names) != count:
        raise InputError(f"names must be one a class, {count}; got {len(names)}", field="names")
    notes = [
        f"{rows_text(curve)}; classwise_ece = {number(curve.value)}: {curve.convention}",
        f"bars: {percent(curve.level)} intervals ({curve.interval})",
    ]
    if len(shown) < count:
        which = "of the largest errors" if classes is None else "chosen"
        notes[-1] += f"; {len(shown)} of {count} classes, those {which}"
    if ax is not None:
        if len(shown) != 1:
            raise InputError(f"ax holds one class, as classes=[0]; got {len(shown)}", field="classes")
        name = f"class {shown[0]}" if names is None else str(names[shown[0]])
        _panel(dressed(ax, f"{name}: ece {number(curve.errors[shown[0]])}"), curve, shown[0], 0.025)
        named(ax, "stated probability of the class", "share with the class")
        holder: Figure = ax.figure
        return holder
    across = min(4, len(shown))
    down = -(-len(shown) // across)
    side, strip, gap = 1.55, 0.32, 0.3
    width = max(0.62 + across * (side + gap), 4.6)
    made, top = page(width, 0.24 + down * (side + strip + 0.5), title, notes)
    for place, k in enumerate(shown):
        left = 0.62 + (place % across) * (side + gap)
        bottom = top - (place // across + 1) * (side + strip + 0.5) + 0.26
        axes = panel(made, left, bottom + strip + 0.08, side, side)
        _panel(axes, curve, k, 0.04)
        name = f"class {k}" if names is None else str(names[k])
        axes.set_title(f"{name}: ece {number(curve.errors[k])}", size=SMALL + 0.5, color=INK, loc="left", pad=3)
        under = panel(made, left, bottom, side, strip)
        histogram_bars(under, curve.cell_edges, curve.cell_rows[k], numbered=False)
        under.set(xlim=axes.get_xlim())
        under.set_xticks([0, 0.5, 1])
        axes.set_xticks([0, 0.5, 1], [])
        axes.set_yticks([0, 0.5, 1])
        if place % across == 0:
            named(axes, up="share with the class")
        else:
            axes.tick_params(labelleft=False)
        largest = float(curve.cell_rows[k].max())
        under.set_yticks([largest], [amount(largest)], size=SMALL - 1.5)
        if place + across >= len(shown):
            named(under, "stated probability")
        else:
            under.tick_params(labelbottom=False)
    return made


def _panel(axes: Any, curve: ClasswiseCurve, k: int, room: float) -> None:
    """The bins of one class."""
    unit_square(axes, room)
    some = curve.count[k] > 0
    x, y = curve.confidence[k][some], curve.frequency[k][some]
    axes.vlines(x, x, y, VERMILION, linewidth=2.5, alpha=0.55, zorder=2)
    marked(axes, x, y, curve.low[k][some], curve.high[k][some], size=3.0)


def _shown(curve: ClasswiseCurve, classes: Sequence[int] | None) -> list[int]:
    count = len(curve.errors)
    if classes is None:
        if count <= PANELS:
            return list(range(count))
        return sorted(np.argsort(-curve.errors, kind="stable")[:PANELS].tolist())
    wrong = [k for k in classes if not 0 <= k < count]
    if wrong or not len(classes):
        raise InputError(f"classes must be some of 0 to {count - 1}; got {list(classes)!r:.60}", field="classes")
    return [int(k) for k in classes]
