# SPDX-License-Identifier: Apache-2.0
"""Recalibration maps: fitted to measure what recalibration would gain, never applied to the model that is measured.

Each is called like a metric, with outcomes and probabilities to fit to, and gives back what was fitted. `at` evaluates
the map elsewhere, on held-out rows for instance: ``platt_scaling(y_fit, p_fit, at=p_new).mapped``.
"""

from epimeter.recalibration.scaling import beta_calibration, platt_scaling, temperature_scaling
from epimeter.recalibration.steps import histogram_binning, isotonic_regression

__all__ = [
    "beta_calibration",
    "histogram_binning",
    "isotonic_regression",
    "platt_scaling",
    "temperature_scaling",
]
