# SPDX-License-Identifier: Apache-2.0
"""Figures of the ECD experiments: measures against their thresholds, and reliability before and after each map."""

from __future__ import annotations

import statistics
from typing import Any

from epimeter.draw.canvas import BLUE, GREEN, ORANGE, PURPLE, SMALL, SOFT, TEXT, VERMILION, lined, page, panel
from epimeter.experiments.ecd import DATA, MAPS, MEASURES, TITLES, forecasts
from epimeter.experiments.ecd_tables import Results

COLOURS = dict(zip(MAPS, (VERMILION, BLUE, GREEN, ORANGE, PURPLE), strict=True))
MARKS = dict(zip(MAPS, "osD^v", strict=True))
FLOOR, REACH = 0.03, 400.0
"""Where the axis of multiples ends."""


def thresholds(results: Results) -> Any:
    """Each measure as a multiple of its threshold, mean over the seeds: right of the line calibration is refuted."""
    models = [
        (data, model) for data in DATA for model in DATA[data] if any(k.startswith(f"{data}/{model}/") for k in results)
    ]
    measures = {"ecd_clipped": "ECD (eps)", **{name: MEASURES[name] for name in ("ece", "mce")}}
    height = 0.34 * len(models) + 1.0
    made, _ = page(
        9.2,
        height,
        "What is measured, as a multiple of its threshold",
        [
            "Mean over the seeds; right of the line calibration is refuted at 5 %. A negative ECD stands at the left edge."
        ],
    )
    across = 2.3
    for number, (name, title) in enumerate(measures.items()):
        axes = panel(made, 1.95 + number * (across + 0.1), 0.72, across, height - 0.8)
        for place, (data, model) in enumerate(reversed(models)):
            for offset, map_name in enumerate(MAPS):
                ratios = [
                    result[name]["value"] / result[name]["threshold"]
                    for key, result in results.items()
                    if key.startswith(f"{data}/{model}/") and key.endswith(f"/{map_name}")
                ]
                ratio = min(max(FLOOR, statistics.mean(ratios)), REACH / 1.2)
                axes.plot(
                    ratio,
                    place + (2 - offset) * 0.13,
                    MARKS[map_name],
                    color=COLOURS[map_name],
                    markersize=4,
                    label=map_name,
                )
        axes.axvline(1, color=SOFT, linewidth=1)
        axes.set(xscale="log", ylim=(-0.6, len(models) - 0.4), yticks=range(len(models)))
        axes.set_yticklabels(
            [f"{TITLES[d]}, {TITLES[m]}" for d, m in reversed(models)] if number == 0 else [], size=SMALL
        )
        axes.set_title(title, size=TEXT, loc="left")
        if number == 1:
            handles, labels = axes.get_legend_handles_labels()
            axes.legend(
                handles[: len(MAPS)], labels[: len(MAPS)], loc="upper center", bbox_to_anchor=(0.5, -0.81 / len(models)),
                ncol=5, frameon=False, fontsize=SMALL, handletextpad=0.1, columnspacing=1.0,
            )  # fmt: skip
    return made


def reliability(data: str, seed: int = 0) -> Any:
    """Reliability diagrams of every model of a data set before and after each map, one panel a model."""
    from epimeter.draw import reliability_curve
    from epimeter.recalibration import Recalibrator

    models = DATA[data]
    side = 2.15 if len(models) > 1 else 3.2
    made, _ = page(
        0.75 + len(models) * (side + 0.12),
        side + 1.15,
        f"{TITLES[data]}: before and after each map",
        [f"Ten bins, seed {seed}."],
    )
    for number, model in enumerate(models):
        axes = lined(panel(made, 0.62 + number * (side + 0.12), 0.85, side, side))
        p_fit, y_fit, p_test, y_test = forecasts(data, model, seed)
        axes.plot([0, 1], [0, 1], color=SOFT, linewidth=0.8)
        for map_name in MAPS:
            mapped = p_test if map_name == "none" else Recalibrator(map_name).fit(p_fit, y_fit).predict(p_test)
            curve = reliability_curve(y_test, mapped, bins=10)
            axes.plot(
                curve.confidence,
                curve.frequency,
                MARKS[map_name] + "-",
                color=COLOURS[map_name],
                markersize=3,
                linewidth=1.1,
                label=map_name,
            )
        axes.set(xlim=(0, 1), ylim=(0, 1), xticks=(0, 0.5), yticks=(0, 0.5, 1))
        axes.set_title(TITLES[model], size=TEXT, loc="left")
        axes.set_xlabel("stated", size=SMALL)
        if number == 0:
            axes.set_ylabel("came true", size=SMALL)
            axes.legend(loc="upper left", frameon=False, fontsize=SMALL - 0.5, handlelength=1.2)
        else:
            axes.set_yticklabels([])
    return made
