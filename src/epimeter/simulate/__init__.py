# SPDX-License-Identifier: Apache-2.0
"""Forecasts whose true calibration function is known: rows with a seed, and the true value of metrics by quadrature.

    truth = simulate.truth("over", strength=0.6)
    rows = truth.sample(1_000, seed=1)          # rows.y_true, rows.y_prob, rows.true_prob
    truth.value("ece", bins=15)                 # what ece tends to when rows never end
    truth.calibration_error()                   # E |g(p) - p|, whatever the metric

`gaussian` does the same for forecasts of a number that state a mean and a deviation.
"""

from epimeter.simulate.catalogue import TRUTHS, truth
from epimeter.simulate.gaussian import GaussianSample, GaussianTruth, gaussian
from epimeter.simulate.laws import DiscreteLaw, LogisticNormal
from epimeter.simulate.truth import Sample, Truth

__all__ = [
    "TRUTHS",
    "DiscreteLaw",
    "GaussianSample",
    "GaussianTruth",
    "LogisticNormal",
    "Sample",
    "Truth",
    "gaussian",
    "truth",
]
