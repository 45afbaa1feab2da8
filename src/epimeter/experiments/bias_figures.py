# SPDX-License-Identifier: Apache-2.0
"""Figures of the bias study."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from epimeter.draw.canvas import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, SMALL, SOFT, VERMILION, page, panel
from epimeter.experiments.bias_tables import Results

NAMED = {"ece": VERMILION, "ece_db": BLUE, "smece": GREEN, "ece_sweep": ORANGE, "ece_knn": PURPLE, "fott_isotonic": INK}
"""The errors that are named in the figures; the others are grey."""


def distances(table: Sequence[Mapping[str, Any]]) -> Any:
    """How far each calibration error is from the true one, against the number of rows."""
    made, _ = page(
        7.2,
        4.3,
        "Distance from the true l1 error",
        ["Root mean square over all truths and samples; grey: the other calibration errors."],
    )
    axes = panel(made, 0.75, 0.6, 5.0, 3.5)
    listed = [row for row in table if row["distance"] is not None]
    for name in sorted({row["metric"] for row in listed}, key=lambda name: name in NAMED):
        line = sorted((row["rows"], row["distance"]) for row in listed if row["metric"] == name)
        colour, width = NAMED.get(name, GREY), 1.8 if name in NAMED else 0.8
        axes.plot(
            *zip(*line, strict=True),
            "o-",
            color=colour,
            linewidth=width,
            markersize=3,
            label=name if name in NAMED else None,
        )
    axes.set(xscale="log", yscale="log")
    axes.set_xlabel("rows", size=SMALL)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=SMALL)
    return made


def biases(results: Results) -> Any:
    """The bias of the named errors against the true error, truth by truth, at a thousand rows or the nearest to it."""
    sizes = sorted({cell["n_rows"] for cell in results.values()})
    n = min(sizes, key=lambda each: abs(each - 1000))
    of_size = {key: cell for key, cell in results.items() if cell["n_rows"] == n}
    truths = [key.rpartition("/")[0] for key, cell in of_size.items() if any(name in cell["metrics"] for name in NAMED)]
    made, _ = page(
        7.2,
        0.33 * len(truths) + 1.1,
        f"Mean minus true l1 error, {n:,} rows",
        ["Right of the line a metric says too much."],
    )
    axes = panel(made, 1.3, 0.6, 4.4, 0.33 * len(truths) + 0.3)
    for place, name in enumerate(reversed(truths)):
        cell = results[f"{name}/{n}"]
        for metric, colour in NAMED.items():
            values = cell["metrics"].get(metric, {}).get("values", [])
            if values:
                axes.plot(
                    statistics.fmean(values) - cell["true_error"],
                    place,
                    "o",
                    color=colour,
                    markersize=5,
                    label=metric if place == 0 else None,
                )
    axes.axvline(0, color=SOFT, linewidth=1)
    axes.set(ylim=(-0.6, len(truths) - 0.4))
    axes.set_yticks(range(len(truths)), list(reversed(truths)), size=SMALL)
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=SMALL)
    return made
