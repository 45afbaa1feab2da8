# SPDX-License-Identifier: Apache-2.0
"""The kernel family: errors from smoothing confidences, or from comparing residuals pair by pair."""

from epimeter.metrics.kernel.bandwidth import kernel_bandwidth
from epimeter.metrics.kernel.beta import bkde, dkde
from epimeter.metrics.kernel.curve import kernel_curve, msce, sece
from epimeter.metrics.kernel.density import skde
from epimeter.metrics.kernel.laplace import lkce, mmce, mmce_weighted
from epimeter.metrics.kernel.lipschitz import smooth_ce
from epimeter.metrics.kernel.local import klce
from epimeter.metrics.kernel.logit import lsece
from epimeter.metrics.kernel.neighbours import ecmmd
from epimeter.metrics.kernel.reliability import ls_ecoc_r, reliability_map
from epimeter.metrics.kernel.smooth import smece
from epimeter.metrics.kernel.squared import skce_b, skce_ul, skce_uq
from epimeter.metrics.kernel.stein import kccsd

__all__ = [
    "bkde",
    "dkde",
    "ecmmd",
    "kccsd",
    "kernel_bandwidth",
    "kernel_curve",
    "klce",
    "lkce",
    "ls_ecoc_r",
    "lsece",
    "mmce",
    "mmce_weighted",
    "msce",
    "reliability_map",
    "sece",
    "skce_b",
    "skce_ul",
    "skce_uq",
    "skde",
    "smece",
    "smooth_ce",
]
