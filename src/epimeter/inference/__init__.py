# SPDX-License-Identifier: Apache-2.0
"""Every number with its uncertainty: intervals, tests, comparisons, sequential monitoring."""

from epimeter.inference.bootstrap import bootstrap_difference, bootstrap_interval
from epimeter.inference.calibration import calibration_tests, drawn_null
from epimeter.inference.comparison import compare, compare_samples
from epimeter.inference.consistency import consistency_test
from epimeter.inference.intervals import interval
from epimeter.inference.judge import judged_accuracy
from epimeter.inference.multiplicity import adjust_p_values
from epimeter.inference.permutation import paired_permutation_test
from epimeter.inference.planning import Target, plan
from epimeter.inference.safety import safe_calibration_test
from epimeter.inference.scales import adaptive_bins_test
from epimeter.inference.sequential import CalibrationMonitor, confidence_sequence, sequential_calibration_test
from epimeter.inference.tolerance import tolerance_test

__all__ = [
    "CalibrationMonitor",
    "Target",
    "adaptive_bins_test",
    "adjust_p_values",
    "bootstrap_difference",
    "bootstrap_interval",
    "calibration_tests",
    "compare",
    "compare_samples",
    "confidence_sequence",
    "consistency_test",
    "drawn_null",
    "interval",
    "judged_accuracy",
    "paired_permutation_test",
    "plan",
    "safe_calibration_test",
    "sequential_calibration_test",
    "tolerance_test",
]
