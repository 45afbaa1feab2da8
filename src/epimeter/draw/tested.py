# SPDX-License-Identifier: Apache-2.0
"""Tests of calibration as points, one line each: how unlikely the data are where the model is calibrated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from epimeter.draw.canvas import INK, LEFT, SMALL, SOFT, VERMILION, dressed, named, p_text, page, panel
from epimeter.draw.saving import require_matplotlib
from epimeter.errors import InputError
from epimeter.inference.tables import Finding

SIDE = LEFT + 1.2
"""Room for the names of the metrics."""
LEAST = 1e-6
"""p-values below it are drawn on the border, and their number beside it."""


def tested(findings: Sequence[Finding], *, ax: Any = None, title: str = "Is it calibrated?") -> Any:
    """The adjusted p-value of each test on a logarithmic scale; in colour where it refutes calibration.

    Parameters
    ----------
    findings
        The tests.
    ax
        Axes to draw on, instead of a page of its own.
    """
    require_matplotlib()
    if not findings:
        raise InputError("tested draws at least one test; got none", field="findings")
    alpha = float(getattr(findings, "facts", {}).get("alpha", 0.05))
    if ax is not None:
        _panel(dressed(ax, title), findings, alpha)
        return ax.figure
    height = 0.35 * len(findings) + 0.35
    note = f"points: p-values adjusted for the number of tests; dashed: {alpha:g}; coloured: calibration is refuted"
    made, top = page(SIDE + 4.2 + 1.3, height + 0.55, title, [note])
    _panel(panel(made, SIDE, top - height - 0.05, 4.2, height), findings, alpha)
    return made


def _panel(axes: Any, findings: Sequence[Finding], alpha: float) -> None:
    for place, finding in enumerate(findings):
        colour = VERMILION if finding.reject else SOFT
        axes.plot([max(finding.adjusted, LEAST)], [place], marker="o", color=colour, markersize=5, clip_on=False)
        axes.annotate(
            p_text(finding.adjusted), (1.02, place), xycoords=("axes fraction", "data"), size=SMALL,
            color=INK, va="center", annotation_clip=False,
        )  # fmt: skip
    axes.axvline(alpha, color=INK, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_xscale("log")
    axes.set_xlim(LEAST, 1.0)
    axes.set_ylim(len(findings) - 0.5, -0.5)
    axes.set_yticks(range(len(findings)), [finding.metric for finding in findings])
    named(axes, "adjusted p-value")
