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


def forest(differences: Sequence[Difference], *, ax: Any = None, title: str = "Differences between models") -> Any:
    """Each difference with its interval; in colour where it is established.

    Metrics have scales of their own, so every metric has a panel; `ax` holds those of one metric.
    """
    require_matplotlib()
    if not differences:
        raise InputError("forest draws at least one difference; got none", field="differences")
    metrics = list(dict.fromkeys(d.metric for d in differences))
    pairs = list(dict.fromkeys(f"{d.first} - {d.second}" for d in differences))
    level = differences[0].interval.level
    if ax is not None:
        if len(metrics) > 1:
            raise InputError(f"ax holds the differences of one metric; got {', '.join(metrics)}", field="ax")
        _panel(dressed(ax, title), list(differences))
        return ax.figure
    each = 0.35 * len(pairs) + 0.35
    side = LEFT + 1.2
    notes = [f"points: differences; lines: {100 * level:g} % intervals; coloured: established after adjustment"]
    made, height = page(side + 4.2 + 1.3, (each + 0.55) * len(metrics), title, notes)
    for number, metric in enumerate(metrics):
        axes = panel(made, side, height - (each + 0.55) * (number + 1) + 0.5, 4.2, each)
        _panel(axes, [d for d in differences if d.metric == metric])
    return made


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
