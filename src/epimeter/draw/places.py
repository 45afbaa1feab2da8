# SPDX-License-Identifier: Apache-2.0
"""The heat map of a detector: its calibration error by where in the image a box lies, or by its shape.

After Kueppers et al. 2020, CVPR workshops (Lane 2025, section 7.3): each cell of the map is its share of d_ece.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from epimeter.draw.canvas import FAINT, INK, SMALL, SOFT, amount, named, number, rows_text, stage, summed
from epimeter.draw.curve import Count, Curve, Floats, Integers
from epimeter.draw.saving import require_matplotlib
from epimeter.errors import InputError
from epimeter.metrics.detection.binned import d_ece, located
from epimeter.parameters import check

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AXES = {
    "location": ("centre of the box, share of the image's width", "centre of the box, share of the image's height"),
    "shape": ("width of the box, share of the image's width", "height of the box, share of the image's height"),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class DetectionMap(Curve):
    """One row a cell up and down, one column a cell across; NaN where too few detections are."""

    kind: ClassVar[str] = "detections"

    variant: str
    count: Integers
    """Detections in each cell, those of thin score bins included."""
    used: Integers
    """Detections in the score bins that are counted."""
    error: Floats
    """Mean gap between precision and score over the score bins of the cell."""
    gap: Floats
    """Mean score minus precision: above 0 the detector is over-confident there."""
    coverage: float
    min_count: int
    """Detections that a score bin of a cell must hold to be counted."""


def detection_map(
    *columns: Any, variant: Literal["location", "shape"] = "location", bins: Count = 8, **choices: Any
) -> DetectionMap:
    """The calibration error of detections in each cell of place or shape; summed up by d_ece.

    Parameters
    ----------
    columns
        The seven columns of a detection problem, as for d_ece.
    variant
        ``location`` maps the centre of the box, ``shape`` its width and height.
    bins
        Cells across and down, and bins of the score within each.
    choices
        ``min_count``, ``iou_threshold``, ``score_threshold``, ``image_size`` as for d_ece.
    """
    if variant not in AXES:
        raise InputError(f"variant must be location or shape; got {variant!r}", field="variant")
    if len(columns) != 7:
        raise InputError(f"detection_map takes the seven columns of a detection problem; got {len(columns)}")
    known = ("min_count", "iou_threshold", "score_threshold", "image_size")
    checked = check("detection_map", {name: d_ece.parameters[name] for name in known}, choices)
    found = located(columns, variant=variant, bins=bins, **checked)
    side = (bins, bins)
    over_cells = {
        name: np.bincount(found.place, weights=values, minlength=bins * bins).reshape(side)
        for name, values in (
            ("count", found.count),
            ("used", found.count * found.used),
            ("error", np.abs(found.gap) * found.used),
            ("gap", -found.gap * found.used),
        )
    }
    some = over_cells["used"] > 0
    total = np.where(some, over_cells["used"], np.nan)
    return DetectionMap(
        n_rows=found.n,
        metric="d_ece",
        value=found.error.value,
        convention=f"{bins} bins of the score and {bins} x {bins} cells of equal width; score bins of a cell with "
        f"fewer than {found.min_count} detections add nothing; coverage {found.error.coverage:.1%}",
        variant=variant,
        count=over_cells["count"].astype(np.int64),
        used=over_cells["used"].astype(np.int64),
        error=over_cells["error"] / total,
        gap=over_cells["gap"] / total,
        coverage=found.error.coverage,
        min_count=found.min_count,
    )


def detections(*data: Any, ax: Any = None, title: str = "Calibration error of detections", **choices: Any) -> Figure:
    """The heat map of a detector: dark where its scores say most wrong; numbers are detections.

    Parameters
    ----------
    data
        A `DetectionMap`, or the seven columns of a detection problem.
    ax
        Axes to draw on, instead of a page of its own.
    title
        What stands above.
    choices
        As for `detection_map`.
    """
    require_matplotlib()
    if len(data) == 1 and isinstance(data[0], DetectionMap) and not choices:
        curve = data[0]
    else:
        curve = detection_map(*data, **choices)
    notes = [
        f"{rows_text(curve)} detections; d_ece ({curve.variant}) = {number(curve.value)}: {curve.convention}",
        "colour: mean gap between precision and score in the cell; + says too much, - too little; small: detections; "
        f"grey: in no score bin {curve.min_count} of them; white: none",
    ]
    made, axes = stage(ax, title, notes, summed(curve), width=4.9, height=4.7, above=0.2)
    side = len(curve.error)
    highest = max(float(np.nanmax(curve.error, initial=0.0)), 1e-9)
    edges = np.arange(side + 1) / side
    thin = np.ma.masked_where(np.isfinite(curve.error) | (curve.count == 0), np.zeros((side, side)))
    axes.pcolormesh(edges, edges, thin, cmap=_one_colour(FAINT), edgecolors="white", linewidth=0.6)
    shown = axes.pcolormesh(
        edges, edges, np.ma.masked_invalid(curve.error), cmap="Blues", vmin=0, vmax=highest, edgecolors="white",
        linewidth=0.6,
    )  # fmt: skip
    for row, column in np.ndindex(side, side) if side <= 12 else ():
        error, at = curve.error[row, column], ((column + 0.5) / side, (row + 0.5) / side)
        ink = SOFT if np.isnan(error) else "white" if error > 0.6 * highest else INK
        look: dict[str, Any] = {"textcoords": "offset points", "color": ink, "ha": "center", "va": "center"}
        if np.isfinite(error):
            gap = round(float(curve.gap[row, column]), 2)
            axes.annotate(f"{gap:+.2f}" if gap else "0.00", at, (0, 3), size=SMALL - 1, **look)
        if curve.count[row, column]:
            axes.annotate(amount(int(curve.count[row, column])), at, (0, -5), size=SMALL - 2.5, **look)
    bar = made.colorbar(shown, ax=axes, shrink=0.8, pad=0.02, aspect=28)
    bar.ax.tick_params(labelsize=SMALL, colors=INK)
    bar.outline.set_visible(False)
    bar.set_label("|precision - score|, mean", size=SMALL, color=INK)
    # As in the image: the first row of pixels is on top.
    axes.set(xlim=(0, 1), ylim=(1, 0) if curve.variant == "location" else (0, 1), aspect="equal")
    named(axes, *AXES[curve.variant])
    return made


def _one_colour(colour: str) -> Any:
    from matplotlib.colors import ListedColormap

    return ListedColormap([colour])
