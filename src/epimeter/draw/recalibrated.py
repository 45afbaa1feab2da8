# SPDX-License-Identifier: Apache-2.0
"""Before and after a recalibration: both reliability curves, and what each confidence became."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from epimeter.draw.bin_marks import reliability
from epimeter.draw.bins import ReliabilityCurve, reliability_curve
from epimeter.draw.canvas import (
    GREEN,
    LEFT,
    RIGHT,
    SOFT,
    legend,
    lined,
    named,
    number,
    page,
    panel,
    percent,
    rows_text,
    thinned,
)
from epimeter.draw.curve import Curve, Floats
from epimeter.draw.saving import require_matplotlib
from epimeter.errors import InputError
from epimeter.views import view

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True, eq=False)
class RecalibrationCurve(Curve):
    """Two reliability curves of the same rows, and the map between their confidences."""

    kind: ClassVar[str] = "recalibration"

    before: ReliabilityCurve
    after: ReliabilityCurve
    map_from: Floats
    map_to: Floats
    """Distinct confidences in growing order, and what they became on average."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, both curves included."""
        return super().to_dict() | {"before": self.before.to_dict(), "after": self.after.to_dict()}


def recalibration_curve(
    y_true: Any, before: Any, after: Any, *, sample_weight: Any = None, **choices: Any
) -> RecalibrationCurve:
    """The reliability curves before and after; summed up by the ece that is left.

    Parameters
    ----------
    y_true
        Outcomes.
    before, after
        Probabilities as the model gave them and as they were mapped; `after` may be the answer of a recalibration
        map that holds them, as ``platt_scaling(y_fit, p_fit, at=before)``.
    sample_weight
        Weights of the rows.
    choices
        Parameters of `reliability_curve`.
    """
    mapped = getattr(after, "mapped", after)
    if mapped is None:
        raise InputError("after must hold mapped probabilities; call the map with at=before", field="after")
    views = [view(y_true, prob, sample_weight=sample_weight) for prob in (before, mapped)]
    curves = [reliability_curve(each, **choices) for each in views]
    first, place = np.unique(views[0].event.prob.astype(np.float64), return_inverse=True)
    became = np.bincount(place.ravel(), weights=views[1].event.prob.astype(np.float64)) / np.bincount(place.ravel())
    return RecalibrationCurve(
        n_rows=views[0].n_rows,
        metric="ece",
        value=curves[1].value,
        convention=f"before {number(curves[0].value)}; {curves[1].convention}",
        before=curves[0],
        after=curves[1],
        map_from=first,
        map_to=became,
    )


def recalibration(*data: Any, title: str = "Before and after recalibration", **choices: Any) -> Figure:
    """Both reliability curves over each other, and beside them the map.

    Parameters
    ----------
    data
        A `RecalibrationCurve`, or outcomes, probabilities before and probabilities after.
    title
        What stands above.
    choices
        As for `recalibration_curve`.
    """
    require_matplotlib()
    if len(data) == 1 and isinstance(data[0], RecalibrationCurve) and not choices:
        curve = data[0]
    elif len(data) == 3:
        curve = recalibration_curve(*data, **choices)
    else:
        raise InputError(f"recalibration takes y_true, before and after, or their curve; got {len(data)} columns")
    notes = [
        f"{rows_text(curve)}; ece: {number(curve.before.value)} before, {number(curve.after.value)} after; "
        f"{curve.after.convention}",
        f"shaded: {percent(curve.after.level)} intervals ({curve.after.interval}); right: what was stated before and after",
    ]
    side, beside = 3.6, 3.0
    made, _ = page(LEFT + side + 0.85 + beside + RIGHT, 0.55 + side + 0.35, title, notes)
    axes = panel(made, LEFT, 0.55, side, side)
    both: Mapping[str, Curve] = {"before": curve.before, "after": curve.after}
    reliability(both, style="line", ax=axes, title="")
    axes.set_title("")
    legend(axes, 3)
    right = lined(panel(made, LEFT + side + 0.85, 0.55 + (side - beside) / 2, beside, beside))
    right.plot([0, 1], [0, 1], color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), label="unchanged")
    line = thinned(curve.map_from, curve.map_to)
    right.plot(*line, color=GREEN, linewidth=1.6, marker="." if len(line[0]) < 40 else "",
               label="map")  # fmt: skip
    right.set(xlim=(-0.025, 1.025), ylim=(-0.025, 1.025), aspect="equal")
    named(right, "stated before", "stated after")
    legend(right, 2)
    return made
