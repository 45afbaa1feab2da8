# SPDX-License-Identifier: Apache-2.0
"""The Brier curve: what decisions by this model cost, for every balance of the two errors.

After Hernandez-Orallo, Flach and Ferri 2011 ICML. Let the outcome be predicted where the confidence is above c; a
false alarm costs c, a miss 1 - c, both times 2. With the share of outcomes q, the loss expected is

    Q(c) = 2 [c (1 - q) P(confidence > c | 0) + (1 - c) q P(confidence <= c | 1)]

and its area over c in [0, 1] is the Brier score. The least loss that any threshold reaches at each c is the Brier
curve of the isotonically recalibrated model; the area between the two is the miscalibration of corp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from epimeter.draw.canvas import (
    BLUE,
    ORANGE,
    SOFT,
    VERMILION,
    legend,
    named,
    number,
    rows_text,
    stage,
    summed,
    thinned,
)
from epimeter.draw.curve import Curve, Floats, curve, reading
from epimeter.draw.overlay import Look, Strand, figure
from epimeter.metrics.curve.isotonic import isotonic, mean_score
from epimeter.summaries import Ordered
from epimeter.summaries.rows import Levels
from epimeter.views import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True, eq=False)
class BrierCurve(Curve):
    """Corners of two piecewise straight lines; where a line jumps, its cost appears twice."""

    kind: ClassVar[str] = "brier"

    cost: Floats
    loss: Floats
    least_cost: Floats
    least_loss: Floats
    """The loss when the threshold is chosen best, which recalibration would reach."""
    least: float
    """Area under the least loss."""
    base_rate: float


@curve
def brier_curve(view: View) -> BrierCurve:
    """Expected loss against cost proportion; its area is the brier_score of the event."""
    levels = Ordered().of(view).levels
    fitted = isotonic(levels)
    cost, loss = corners(levels, levels.prob)
    least_cost, least_loss = corners(levels, fitted)
    return BrierCurve(
        n_rows=view.n_rows,
        metric="brier_score",
        value=mean_score(levels, levels.prob, "brier"),
        convention=f"threshold at the cost proportion, costs 2c and 2(1 - c); {reading(view)}",
        cost=cost,
        loss=loss,
        least_cost=least_cost,
        least_loss=least_loss,
        least=mean_score(levels, fitted, "brier"),
        base_rate=float(levels.true.sum() / levels.weight.sum()),
    )


def corners(levels: Levels, said: Floats) -> tuple[Floats, Floats]:
    """Both ends of every piece of Q, for confidences `said` that grow with the levels.

    Between two confidences nobody changes sides, so Q is straight there.
    """
    starts = np.flatnonzero(np.concatenate([[True], said[1:] != said[:-1]]))
    total = levels.weight.sum()
    true = np.add.reduceat(levels.true, starts) / total
    false = np.add.reduceat(levels.weight - levels.true, starts) / total
    missed = np.concatenate([[0.0], np.cumsum(true)])
    alarms = np.concatenate([np.cumsum(false[::-1])[::-1], [0.0]])
    left, right = np.concatenate([[0.0], said[starts]]), np.concatenate([said[starts], [1.0]])
    cost = np.stack([left, right], axis=1)
    loss = 2 * (cost * alarms[:, None] + (1 - cost) * missed[:, None])
    some = right > left  # a confidence of 0 or 1 leaves a piece without length
    return cost[some].ravel(), loss[some].ravel()


ACROSS, UP = "cost proportion c: a false alarm costs c, a miss 1 - c", "expected loss"


def _strand(axes: Any, curve: BrierCurve, look: Look) -> None:
    """One of several models: its expected loss."""
    line = thinned(curve.cost, curve.loss)
    axes.plot(*line, color=look.colour, linestyle=look.dash, linewidth=1.6, label=look.name, zorder=3)
    axes.set_xlim(0, 1)
    axes.set_ylim(bottom=0)


@figure(brier_curve, Strand(_strand, ACROSS, UP))
def brier(curve: BrierCurve, *, ax: Any = None, title: str = "Brier curve") -> Figure:
    """Expected loss against cost proportion, what recalibration would leave of it, and decisions without a model.

    Parameters
    ----------
    ax
        Axes to draw on, instead of a page of its own.
    title
        What stands above.
    """
    notes = [
        f"{rows_text(curve)}; area = brier_score = {number(curve.value)}; after isotonic recalibration "
        f"{number(curve.least)}; shaded: {number(curve.value - curve.least)}, lost to miscalibration",
        curve.convention,
    ]
    made, axes = stage(ax, title, notes, summed(curve), height=4.2)
    x, y = thinned(curve.cost, curve.loss)
    least_x, least_y = thinned(curve.least_cost, curve.least_loss)
    place = np.linspace(0, 1, 1601)
    axes.fill_between(
        place, np.interp(place, least_x, least_y), np.interp(place, x, y), color=VERMILION, alpha=0.25, linewidth=0
    )
    axes.plot(x, y, color=BLUE, linewidth=1.6, label="the model", zorder=3)
    axes.plot(
        least_x,
        least_y,
        color=ORANGE,
        linewidth=1.6,
        linestyle=(0, (5, 2)),
        label="recalibrated (isotonic)",
        zorder=2.5,
    )
    for share, name in ((1 - curve.base_rate, "always yes, always no"), (curve.base_rate, None)):
        ends = (0, 2 * share) if name else (2 * share, 0)
        axes.plot((0, 1), ends, color=SOFT, linewidth=0.9, linestyle=(0, (1, 2)), label=name, zorder=1)
    highest = max(float(curve.loss.max()), 2 * curve.base_rate * (1 - curve.base_rate), 0.01)
    axes.set(xlim=(0, 1), ylim=(0, 1.12 * highest))
    axes.set_xticks(np.arange(6) / 5)
    named(axes, ACROSS, UP)
    legend(axes, inside=ax is not None)
    return made
