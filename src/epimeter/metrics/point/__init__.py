# SPDX-License-Identifier: Apache-2.0
"""The point family: one score a row, and what the scores add up to."""

from epimeter.metrics.point.brier import brier_score, root_brier_score, stratified_brier_score
from epimeter.metrics.point.consistency import consistency_calibration, eice
from epimeter.metrics.point.decision import asymmetric_success_rate, hinge_loss, soft_f1, success_rate
from epimeter.metrics.point.decomposition import brier_decomposition, nll_decomposition
from epimeter.metrics.point.distance import huber_loss, l1eps, mae, pointwise_lp_error, silf
from epimeter.metrics.point.entropic import ecd, ecd_split, ecd_test
from epimeter.metrics.point.entropy import normalized_entropy
from epimeter.metrics.point.focal import dual_focal_loss, focal_calibration_loss, focal_loss
from epimeter.metrics.point.gaussian import ecd_gaussian
from epimeter.metrics.point.least_squares import asymmetric_least_squares, general_least_squares
from epimeter.metrics.point.likelihood import nll
from epimeter.metrics.point.ordinal import rps, sarps
from epimeter.metrics.point.power import (
    power_score,
    proper_linear_score,
    pseudo_spherical_score,
    spherical_score,
)
from epimeter.metrics.point.skill import brier_skill_score, skill_score
from epimeter.metrics.point.spiegelhalter import spiegelhalter_z
from epimeter.metrics.point.spread import dss, nses
from epimeter.metrics.point.totals import eo_ratio, gsb, mdca, oe_ratio

__all__ = [
    "asymmetric_least_squares",
    "asymmetric_success_rate",
    "brier_decomposition",
    "brier_score",
    "brier_skill_score",
    "consistency_calibration",
    "dss",
    "dual_focal_loss",
    "ecd",
    "ecd_gaussian",
    "ecd_split",
    "ecd_test",
    "eice",
    "eo_ratio",
    "focal_calibration_loss",
    "focal_loss",
    "general_least_squares",
    "gsb",
    "hinge_loss",
    "huber_loss",
    "l1eps",
    "mae",
    "mdca",
    "nll",
    "nll_decomposition",
    "normalized_entropy",
    "nses",
    "oe_ratio",
    "pointwise_lp_error",
    "power_score",
    "proper_linear_score",
    "pseudo_spherical_score",
    "root_brier_score",
    "rps",
    "sarps",
    "silf",
    "skill_score",
    "soft_f1",
    "spherical_score",
    "spiegelhalter_z",
    "stratified_brier_score",
    "success_rate",
]
