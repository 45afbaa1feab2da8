# SPDX-License-Identifier: Apache-2.0
"""The bin family: confidences cut into bins, what was said against what was seen."""

from epimeter.metrics.bin.adaptive import t_cal
from epimeter.metrics.bin.balance import abc, imbalanced_ce, rbece
from epimeter.metrics.bin.binomial import test_based_ce
from epimeter.metrics.bin.blends import gebel_cal, hcs, wcr
from epimeter.metrics.bin.classwise import ace, cece, classwise_ece, marginal_ce, tace, wsece
from epimeter.metrics.bin.debiased import ce2_db, drmsce, ece_db
from epimeter.metrics.bin.expected import ece, ece_ea, lp_ce, mce, top_label_ce
from epimeter.metrics.bin.gain import calibration_gain
from epimeter.metrics.bin.groups import fece, mvce, pce, piece, vece
from epimeter.metrics.bin.hosmer import classwise_hl, hl
from epimeter.metrics.bin.intervals import cutoff_ce, ece_avg, interval_ce, rice, sice
from epimeter.metrics.bin.neighbours import calbin, ece_knn
from epimeter.metrics.bin.onto import ers_ece, onto_ece
from epimeter.metrics.bin.partition import mvms_ece
from epimeter.metrics.bin.representative import dce, ece_lb, smbs
from epimeter.metrics.bin.roof import ece_fott
from epimeter.metrics.bin.signed import esce, wsmcs
from epimeter.metrics.bin.simplex import dpe_simplex
from epimeter.metrics.bin.soft import dece, ece_lse, fce, sbece
from epimeter.metrics.bin.square import dpe, l2_ece_ci
from epimeter.metrics.bin.sweep import bcs, drmsce_bcs, ece_sweep
from epimeter.metrics.bin.top import avg_ece_at_l, ece_at_k

__all__ = [
    "abc",
    "ace",
    "avg_ece_at_l",
    "bcs",
    "calbin",
    "calibration_gain",
    "ce2_db",
    "cece",
    "classwise_ece",
    "classwise_hl",
    "cutoff_ce",
    "dce",
    "dece",
    "dpe",
    "dpe_simplex",
    "drmsce",
    "drmsce_bcs",
    "ece",
    "ece_at_k",
    "ece_avg",
    "ece_db",
    "ece_ea",
    "ece_fott",
    "ece_knn",
    "ece_lb",
    "ece_lse",
    "ece_sweep",
    "ers_ece",
    "esce",
    "fce",
    "fece",
    "gebel_cal",
    "hcs",
    "hl",
    "imbalanced_ce",
    "interval_ce",
    "l2_ece_ci",
    "lp_ce",
    "marginal_ce",
    "mce",
    "mvce",
    "mvms_ece",
    "onto_ece",
    "pce",
    "piece",
    "rbece",
    "rice",
    "sbece",
    "sice",
    "smbs",
    "t_cal",
    "tace",
    "test_based_ce",
    "top_label_ce",
    "vece",
    "wcr",
    "wsece",
    "wsmcs",
]
