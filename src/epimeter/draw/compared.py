# SPDX-License-Identifier: Apache-2.0
"""Models compared on one sheet: what they said against what came true, over each other, and their differences beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from epimeter.draw.bin_marks import reliability
from epimeter.draw.bins import ReliabilityCurve
from epimeter.draw.canvas import LEFT, page, panel
from epimeter.draw.forest import notes_of, panels, size_of
from epimeter.draw.saving import require_matplotlib
from epimeter.inference.tables import Difference

SQUARE = 4.2


def compared(
    differences: Sequence[Difference],
    curves: Mapping[str, ReliabilityCurve],
    *,
    title: str = "Models compared",
) -> Any:
    """The reliability of every model over each other, and each difference with its interval; in colour where it is established.

    Parameters
    ----------
    differences
        What a comparison found.
    curves
        The reliability curve of each model, at most seven.
    """
    require_matplotlib()
    width, height = size_of(differences)
    left = LEFT + SQUARE + 0.4
    made, top = page(left + width, max(height, SQUARE + 1.3), title, notes_of(differences))
    axes = panel(made, LEFT, top - SQUARE - 0.6, SQUARE, SQUARE)
    reliability(curves, ax=axes, title="Said against seen")
    panels(made, left, top, differences)
    return made
