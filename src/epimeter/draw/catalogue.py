# SPDX-License-Identifier: Apache-2.0
"""The curves by their noun."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from epimeter.draw.bin_marks import reliability
from epimeter.draw.bins import reliability_curve
from epimeter.draw.classes import classwise, classwise_curve
from epimeter.draw.cost import brier, brier_curve
from epimeter.draw.curve import Curve
from epimeter.draw.kernel import smooth, smooth_curve
from epimeter.draw.risk import accuracy_coverage, accuracy_coverage_curve, risk_coverage, risk_coverage_curve
from epimeter.draw.shares import histogram, histogram_curve
from epimeter.draw.steps import isotonic_curve
from epimeter.draw.steps import isotonic_diagram as isotonic
from epimeter.draw.tilted import roof, roof_curve
from epimeter.draw.triangle import simplex, simplex_curve
from epimeter.draw.walk import cumulative, cumulative_curve

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
