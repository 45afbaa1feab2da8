# SPDX-License-Identifier: Apache-2.0
"""The ONTO standards: ONTO-ERS 1.0.0, ONTO 42001:2025 and ONTO 42003:2025 as tables and functions."""

from epimeter.metrics import ers_ece, onto_ece
from epimeter.standards.bands import risk_index
from epimeter.standards.ers import (
    ers_dataset_check,
    ers_ece_band,
    ers_evaluate,
    ers_level,
    ers_next_evaluation,
    ers_raw,
    ers_score,
    ers_u_recall,
    ers_u_recall_band,
)
from epimeter.standards.onto42001 import igr, onto_evaluate, onto_level, onto_u_recall, ors
from epimeter.standards.onto42003 import comparison, exposure, failure_rate, liability, observed_failure_rate

__all__ = [
    "comparison",
    "ers_dataset_check",
    "ers_ece",
    "ers_ece_band",
    "ers_evaluate",
    "ers_level",
    "ers_next_evaluation",
    "ers_raw",
    "ers_score",
    "ers_u_recall",
    "ers_u_recall_band",
    "exposure",
    "failure_rate",
    "igr",
    "liability",
    "observed_failure_rate",
    "onto_ece",
    "onto_evaluate",
    "onto_level",
    "onto_u_recall",
    "ors",
    "risk_index",
]
