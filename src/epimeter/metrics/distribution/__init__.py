# SPDX-License-Identifier: Apache-2.0
"""The distribution family: forecasts of a number or of a set, with the uncertainty they state."""

from epimeter.metrics.distribution.conformal import set_coverage, set_size
from epimeter.metrics.distribution.counts import rps_counts
from epimeter.metrics.distribution.coverage import mean_interval_width, picp
from epimeter.metrics.distribution.crps import crps
from epimeter.metrics.distribution.density import log_score, moment_score, normalised_squared_error
from epimeter.metrics.distribution.pinball import interval_score, pinball_loss, weighted_interval_score
from epimeter.metrics.distribution.quantiles import miscalibration_area, quantile_calibration_error
from epimeter.metrics.distribution.states import nees_test
from epimeter.metrics.distribution.strata import (
    class_conditional_coverage,
    conditional_coverage,
    size_stratified_coverage,
)
from epimeter.metrics.distribution.transform import pit, pit_test

__all__ = [
    "class_conditional_coverage",
    "conditional_coverage",
    "crps",
    "interval_score",
    "log_score",
    "mean_interval_width",
    "miscalibration_area",
    "moment_score",
    "nees_test",
    "normalised_squared_error",
    "picp",
    "pinball_loss",
    "pit",
    "pit_test",
    "quantile_calibration_error",
    "rps_counts",
    "set_coverage",
    "set_size",
    "size_stratified_coverage",
    "weighted_interval_score",
]
