# SPDX-License-Identifier: Apache-2.0
"""Curves, as data first, and the figures that show them.

Every curve is a frozen dataclass of arrays, computed from columns or from a view without any drawing library;
`to_dict` makes it JSON. Every figure is a function of a curve (or of the columns it comes from) that returns a
matplotlib `Figure`, which a notebook shows and `save` writes as png, svg or pdf, the same bytes for the same data.
Every figure takes `ax=`, and several models by name: ``draw.reliability(y_true, {"a": p_a, "b": p_b})``.

>>> from epimeter import draw
>>> curve = draw.reliability_curve([0, 1, 1, 1], [0.2, 0.4, 0.7, 0.9], bins=2)
>>> curve.frequency.tolist(), curve.count.tolist()
([0.5, 1.0], [2, 2])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "AccuracyCurve": "risk",
    "BrierCurve": "cost",
    "CURVES": "catalogue",
    "ClasswiseCurve": "classes",
    "CumulativeCurve": "walk",
    "Curve": "curve",
    "DetectionMap": "places",
    "GroupingCurve": "grouped",
    "HistogramCurve": "shares",
    "IsotonicCurve": "steps",
    "RecalibrationCurve": "recalibrated",
    "ReliabilityCurve": "bins",
    "ReliabilityDisplay": "display",
    "RiskCurve": "risk",
    "RoofCurve": "tilted",
    "SimplexCurve": "triangle",
    "SmoothCurve": "kernel",
    "accuracy_coverage": "risk",
    "accuracy_coverage_curve": "risk",
    "brier": "cost",
    "brier_curve": "cost",
    "classwise": "classes",
    "classwise_curve": "classes",
    "cumulative": "walk",
    "cumulative_curve": "walk",
    "detection_map": "places",
    "detections": "places",
    "grouping": "grouped",
    "grouping_curve": "grouped",
    "histogram": "shares",
    "histogram_curve": "shares",
    "isotonic": "catalogue",
    "isotonic_curve": "steps",
    "recalibration": "recalibrated",
    "recalibration_curve": "recalibrated",
    "reliability": "bin_marks",
    "reliability_curve": "bins",
    "rendered": "saving",
    "risk_coverage": "risk",
    "risk_coverage_curve": "risk",
    "roof": "tilted",
    "roof_curve": "tilted",
    "save": "saving",
    "simplex": "triangle",
    "simplex_curve": "triangle",
    "smooth": "kernel",
    "smooth_curve": "kernel",
}
"""The public names, with the module of each: it is loaded when its name is first asked for."""

__all__ = [
    "CURVES",
    "AccuracyCurve",
    "BrierCurve",
    "ClasswiseCurve",
    "CumulativeCurve",
    "Curve",
    "DetectionMap",
    "GroupingCurve",
    "HistogramCurve",
    "IsotonicCurve",
    "RecalibrationCurve",
    "ReliabilityCurve",
    "ReliabilityDisplay",
    "RiskCurve",
    "RoofCurve",
    "SimplexCurve",
    "SmoothCurve",
    "accuracy_coverage",
    "accuracy_coverage_curve",
    "brier",
    "brier_curve",
    "classwise",
    "classwise_curve",
    "cumulative",
    "cumulative_curve",
    "detection_map",
    "detections",
    "grouping",
    "grouping_curve",
    "histogram",
    "histogram_curve",
    "isotonic",
    "isotonic_curve",
    "recalibration",
    "recalibration_curve",
    "reliability",
    "reliability_curve",
    "rendered",
    "risk_coverage",
    "risk_coverage_curve",
    "roof",
    "roof_curve",
    "save",
    "simplex",
    "simplex_curve",
    "smooth",
    "smooth_curve",
]

if TYPE_CHECKING:
    from epimeter.draw.bin_marks import reliability
    from epimeter.draw.bins import ReliabilityCurve, reliability_curve
    from epimeter.draw.catalogue import CURVES
    from epimeter.draw.classes import ClasswiseCurve, classwise, classwise_curve
    from epimeter.draw.cost import BrierCurve, brier, brier_curve
    from epimeter.draw.curve import Curve
    from epimeter.draw.display import ReliabilityDisplay
    from epimeter.draw.grouped import GroupingCurve, grouping, grouping_curve
    from epimeter.draw.kernel import SmoothCurve, smooth, smooth_curve
    from epimeter.draw.places import DetectionMap, detection_map, detections
    from epimeter.draw.recalibrated import RecalibrationCurve, recalibration, recalibration_curve
    from epimeter.draw.risk import (
        AccuracyCurve,
        RiskCurve,
        accuracy_coverage,
        accuracy_coverage_curve,
        risk_coverage,
        risk_coverage_curve,
    )
    from epimeter.draw.saving import rendered, save
    from epimeter.draw.shares import HistogramCurve, histogram, histogram_curve
    from epimeter.draw.steps import IsotonicCurve, isotonic_curve
    from epimeter.draw.steps import isotonic_diagram as isotonic
    from epimeter.draw.tilted import RoofCurve, roof, roof_curve
    from epimeter.draw.triangle import SimplexCurve, simplex, simplex_curve
    from epimeter.draw.walk import CumulativeCurve, cumulative, cumulative_curve


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"epimeter.draw.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'epimeter.draw' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
