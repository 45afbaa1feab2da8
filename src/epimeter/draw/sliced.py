# SPDX-License-Identifier: Apache-2.0
"""Slices as points with their intervals, one line each and a panel for every metric."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from epimeter.card_index import find
from epimeter.draw.canvas import BLUE, INK, LEFT, SMALL, SOFT, dressed, named, page, panel
from epimeter.draw.saving import require_matplotlib
from epimeter.errors import InputError

MOST = 40
"""Slices in one figure."""
METRICS = ("brier_score", "ece", "esce", "picp", "set_coverage", "crps", "set_size")
SIDE = LEFT + 1.4
LETTERS = 24
"""Letters of a slice's name beside its line."""


def slices(reports: Mapping[Any, Any], *, ax: Any = None, title: str = "Calibration by slice") -> Any:
    """The value of each slice with its interval; the dashed line is the ideal.

    Parameters
    ----------
    reports
        One report a slice.
    ax
        Axes to draw the first metric on, instead of a page of its own.
    """
    require_matplotlib()
    if not 1 <= len(reports) <= MOST:
        raise InputError(f"slices are drawn where there are 1 to {MOST}; got {len(reports):,}", field="reports")
    first = next(iter(reports.values()))
    metrics = [name for name in METRICS if name in first] or list(first)[:1]
    if ax is not None:
        _panel(dressed(ax, title), reports, metrics[0], labels=True)
        return ax.figure
    levels = {
        line.interval.level for report in reports.values() for line in report.values() if line.interval is not None
    }
    notes = [f"points: values; lines: {100 * level:g} % intervals" for level in sorted(levels)]
    tall = 0.28 * len(reports) + 0.4
    made, height = page(SIDE + 2.8 * len(metrics), tall + 0.9, title, notes)
    for place, metric in enumerate(metrics):
        axes = panel(made, SIDE + 2.8 * place, height - tall - 0.3, 2.4, tall)
        _panel(axes, reports, metric, labels=not place)
    return made


def _panel(axes: Any, reports: Mapping[Any, Any], metric: str, *, labels: bool) -> None:
    lines = [report[metric] for report in reports.values() if metric in report]
    for place, report in enumerate(reports.values()):
        line = report.get(metric)
        if line is None or line.value is None or not math.isfinite(line.value):
            axes.text(0.5, place, "no value", size=SMALL, color=SOFT, va="center", transform=axes.get_yaxis_transform())
            continue
        if line.interval is not None:
            axes.plot([line.interval.low, line.interval.high], [place, place], color=BLUE, linewidth=2.0)
        axes.plot([line.value], [place], marker="o", color=BLUE, markersize=4.5)
    card = find(metric).card
    ideal = next((line.parameters.get(card.aims_at) for line in lines), None) if card.aims_at else card.ideal
    if ideal is not None:
        axes.axvline(float(ideal), color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_ylim(len(reports) - 0.5, -0.5)
    names = [f"{_short(str(name))} ({report.n_rows:,})" if labels else "" for name, report in reports.items()]
    axes.set_yticks(range(len(reports)), names)
    axes.locator_params(axis="x", nbins=4)
    named(axes, metric)


def _short(name: str) -> str:
    return name if len(name) <= LETTERS else name[: LETTERS - 1] + "…"
