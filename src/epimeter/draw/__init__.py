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

from collections.abc import Callable
from typing import Any

from epimeter.draw.bin_marks import reliability
from epimeter.draw.bins import ReliabilityCurve, reliability_curve
from epimeter.draw.classes import ClasswiseCurve, classwise, classwise_curve
from epimeter.draw.cost import BrierCurve, brier, brier_curve
from epimeter.draw.curve import Curve
from epimeter.draw.display import ReliabilityDisplay
from epimeter.draw.grouped import GroupingCurve, grouping, grouping_curve
from epimeter.draw.kernel import SmoothCurve, smooth, smooth_curve
from epimeter.draw.places import DetectionMap, detection_map, detections
from epimeter.draw.recalibrated import RecalibrationCurve, recalibration, recalibration_curve
from epimeter.draw.risk_coverage import (
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

CURVES: dict[str, tuple[Callable[..., Curve], Callable[..., Any]]] = {
    "reliability": (reliability_curve, reliability),
    "isotonic": (isotonic_curve, isotonic),
    "smooth": (smooth_curve, smooth),
    "roof": (roof_curve, roof),
    "cumulative": (cumulative_curve, cumulative),
    "brier": (brier_curve, brier),
    "classwise": (classwise_curve, classwise),
    "simplex": (simplex_curve, simplex),
    "histogram": (histogram_curve, histogram),
    "risk_coverage": (risk_coverage_curve, risk_coverage),
    "accuracy_coverage": (accuracy_coverage_curve, accuracy_coverage),
}
"""The curves of outcomes and probabilities by their noun: how each is computed, how it is drawn. `grouping`, `detections`
and `recalibration` take further columns."""

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
