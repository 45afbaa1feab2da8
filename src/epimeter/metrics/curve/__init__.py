# SPDX-License-Identifier: Apache-2.0
"""The curve family: calibration curves fitted to the rows, what they find, and tests on them."""

from epimeter.metrics.curve.beta import fott_beta, sbct
from epimeter.metrics.curve.cox import cis, fott_platt
from epimeter.metrics.curve.isotonic import corp, fott_isotonic
from epimeter.metrics.curve.multinomial import eci
from epimeter.metrics.curve.neighbours import knn_chi2, knn_chi2_power
from epimeter.metrics.curve.parabola import pws
from epimeter.metrics.curve.piecewise import ece_pl, ece_pl3
from epimeter.metrics.curve.smoothed import e50, e90, emax, error_percentile, ici, loess_curve
from epimeter.metrics.curve.spline import fott_spline

__all__ = [
    "cis",
    "corp",
    "e50",
    "e90",
    "ece_pl",
    "ece_pl3",
    "eci",
    "emax",
    "error_percentile",
    "fott_beta",
    "fott_isotonic",
    "fott_platt",
    "fott_spline",
    "ici",
    "knn_chi2",
    "knn_chi2_power",
    "loess_curve",
    "pws",
    "sbct",
]
