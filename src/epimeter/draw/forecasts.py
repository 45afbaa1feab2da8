# SPDX-License-Identifier: Apache-2.0
"""Forecasts of a number or of a set: the histogram of the transform, the calibration of quantiles, a fan, coverage by size."""

from __future__ import annotations

from typing import Any

import numpy as np

from epimeter.draw.canvas import (
    BLUE,
    FAINT,
    GREY,
    INK,
    SKY,
    SMALL,
    SOFT,
    VERMILION,
    dressed,
    named,
    page,
    panel,
    unit_square,
)
from epimeter.draw.saving import require_matplotlib
from epimeter.errors import InputError

WIDE, HIGH, LEFT, BETWEEN = 3.4, 2.7, 0.75, 0.85


def forecast_figure(report: Any, *, ax: Any = None) -> Any:
    """The figures of a report on forecasts on one page; on given axes the first of them.

    Parameters
    ----------
    report
        What `evaluate_forecasts` gave.
    ax
        Axes to draw on, instead of a page of its own.
    """
    require_matplotlib()
    curves = report.curves
    drawn = [
        (title, draw, part)
        for title, draw, part in (
            ("Probability integral transform", _ranks, curves.ranks),
            ("Calibration of the quantiles", _quantiles, curves.quantiles),
            ("Intervals and what came true", _fan, curves.fan),
            ("Coverage by size", _strata, curves.strata),
        )
        if part is not None
    ]
    if not drawn:
        raise InputError("these forecasts have nothing to draw: no ranks, no quantiles, no intervals", field="report")
    if ax is not None:
        title, draw, part = drawn[0]
        draw(dressed(ax, title), part, curves.level)
        return ax.figure
    rows = -(-len(drawn) // 2)
    across = 2 if len(drawn) > 1 else 1
    notes = [f"{report.n_rows:,} rows; intervals of level {curves.level:g}"]
    made, height = page(across * (WIDE + BETWEEN) + 0.1, rows * (HIGH + BETWEEN), "Forecasts", notes)
    for number, (title, draw, part) in enumerate(drawn):
        left = LEFT + (number % 2) * (WIDE + BETWEEN)
        axes = panel(made, left, height - (number // 2 + 1) * (HIGH + BETWEEN) + 0.5, WIDE, HIGH)
        axes.set_title(title, loc="left", size=SMALL + 1.5, color=INK)
        draw(axes, part, curves.level)
    return made


def _ranks(axes: Any, data: Any, level: float) -> None:
    chance = data.expected / data.expected.sum()
    reach = 1.96 * np.sqrt((1 - chance) / (data.expected.sum() * chance))
    wide = np.diff(data.edges)
    axes.bar(
        data.edges[:-1], data.count / data.expected, wide, align="edge", color=SKY, edgecolor="white", linewidth=0.8
    )
    axes.bar(data.edges[:-1], 2 * reach, wide, 1 - reach, align="edge", color=GREY, alpha=0.45, linewidth=0)
    axes.axhline(1.0, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    named(axes, "where the truth fell in the stated distribution", "rows / expected")


def _quantiles(axes: Any, data: Any, level: float) -> None:
    unit_square(axes)
    axes.set_aspect("auto")
    axes.vlines(data.level, data.low, data.high, color=BLUE, linewidth=1.6)
    axes.plot(data.level, data.observed, "o", color=BLUE, markersize=4)
    named(axes, "level of the quantile", "truths at or below it")


def _fan(axes: Any, data: Any, level: float) -> None:
    place = np.arange(len(data.true))
    axes.vlines(place, data.lower, data.upper, color=SKY, linewidth=3.2, alpha=0.55)
    if data.inner is not None:
        axes.vlines(place, *data.inner, color=BLUE, linewidth=3.2, alpha=0.55)
    out = (data.true < data.lower) | (data.true > data.upper)
    axes.plot(place[~out], data.true[~out], "o", color=INK, markersize=2.5)
    axes.plot(place[out], data.true[out], "o", color=VERMILION, markersize=3)
    axes.set_xticks([])
    named(axes, f"{len(place)} of {data.n_rows:,} rows, from low to high forecasts", "forecast and truth")


def _strata(axes: Any, data: Any, level: float) -> None:
    place = np.arange(len(data.names))
    axes.axhline(level, color=SOFT, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.vlines(place, data.low, data.high, color=BLUE, linewidth=2)
    axes.plot(place, data.coverage, "o", color=BLUE, markersize=5)
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_xlim(-0.6, len(place) - 0.4)
    axes.set_xticks(place, data.names if len(place) <= 5 else [""] * len(place), size=SMALL - 1)
    named(axes, "from the narrowest to the widest", "coverage")
