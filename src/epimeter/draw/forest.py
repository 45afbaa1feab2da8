# SPDX-License-Identifier: Apache-2.0
"""Differences of models as points with their intervals, one line each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from epimeter.draw.canvas import BLUE, INK, LEFT, SMALL, SOFT, VERMILION, dressed, named, p_text, page, panel
from epimeter.draw.saving import require_matplotlib
from epimeter.errors import InputError
from epimeter.inference.tables import Difference

SIDE = LEFT + 1.2
"""Room for the names of the pairs."""


def forest(differences: Sequence[Difference], *, ax: Any = None, title: str = "Differences between models") -> Any:
    """Each difference with its interval; in colour where it is established.

    Metrics have scales of their own, so every metric has a panel; `ax` holds those of one metric.
    """
    require_matplotlib()
    if not differences:
        raise InputError("forest draws at least one difference; got none", field="differences")
    if ax is not None:
        metrics = list(dict.fromkeys(d.metric for d in differences))
        if len(metrics) > 1:
            raise InputError(f"ax holds the differences of one metric; got {', '.join(metrics)}", field="ax")
        _panel(dressed(ax, title), list(differences))
        return ax.figure
    made, height = page(*size_of(differences), title, notes_of(differences))
    panels(made, 0.0, height, differences)
    return made


def notes_of(differences: Sequence[Difference]) -> list[str]:
    """What must be said of points and lines."""
    level = 100 * differences[0].interval.level
    return [f"points: differences; lines: {level:g} % intervals; coloured: established after adjustment"]


def size_of(differences: Sequence[Difference]) -> tuple[float, float]:
    """Width and height of the panels of all metrics, in inches."""
    metrics = dict.fromkeys(d.metric for d in differences)
    return SIDE + 4.2 + 1.3, (_height(differences) + 0.55) * len(metrics)


def panels(made: Any, left: float, top: float, differences: Sequence[Difference]) -> None:
    """A panel for every metric, one under the other, from a place of the page on."""
    each = _height(differences)
    for number, metric in enumerate(dict.fromkeys(d.metric for d in differences)):
        axes = panel(made, left + SIDE, top - (each + 0.55) * (number + 1) + 0.5, 4.2, each)
        _panel(axes, [d for d in differences if d.metric == metric])


def _height(differences: Sequence[Difference]) -> float:
    return 0.35 * len(dict.fromkeys((d.first, d.second) for d in differences)) + 0.35


def _panel(axes: Any, some: list[Difference]) -> None:
    """The differences of one metric."""
    for place, difference in enumerate(some):
        ends = difference.interval.low, difference.interval.high
        if not np.isfinite([*ends, difference.value]).all():
            axes.text(0.0, place, "not finite", size=SMALL, color=SOFT, va="center")
            continue
        colour = SOFT if not difference.better else VERMILION if difference.value > 0 else BLUE
        axes.plot(ends, [place, place], color=colour, linewidth=2.0, solid_capstyle="butt")
        axes.plot([difference.value], [place], marker="o", color=colour, markersize=5)
        axes.annotate(
            p_text(difference.adjusted), (1.02, place), xycoords=("axes fraction", "data"), size=SMALL,
            color=INK, va="center", annotation_clip=False,
        )  # fmt: skip
    axes.axvline(0.0, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_ylim(len(some) - 0.5, -0.5)
    axes.set_yticks(range(len(some)), [f"{d.first} - {d.second}" for d in some])
    named(axes, some[0].metric)
