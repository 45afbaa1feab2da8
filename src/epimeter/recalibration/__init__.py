# SPDX-License-Identifier: Apache-2.0
"""Recalibration maps: fitted on held-out predictions, saved, applied to predictions; never to the model.

`Recalibrator` fits, applies, saves and loads a map, or chooses one by cross-validation. The functions beside it are called
like a metric and give back what was fitted: ``platt_scaling(y_fit, p_fit, at=p_new).mapped``.
"""

from epimeter.recalibration.estimator import Recalibrator
from epimeter.recalibration.scaling import beta_calibration, platt_scaling, temperature_scaling
from epimeter.recalibration.selection import compare_maps
from epimeter.recalibration.steps import histogram_binning, isotonic_regression

__all__ = [
    "Recalibrator",
    "beta_calibration",
    "compare_maps",
    "histogram_binning",
    "isotonic_regression",
    "platt_scaling",
    "temperature_scaling",
]
