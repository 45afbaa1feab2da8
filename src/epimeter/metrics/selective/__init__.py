# SPDX-License-Identifier: Apache-2.0
"""The selective family: does confidence tell right answers from wrong ones, and what is kept when the doubtful are left out."""

from epimeter.metrics.selective.areas import auarc, aurc, e_aurc, prr
from epimeter.metrics.selective.hundreds import hle_ce
from epimeter.metrics.selective.points import accuracy, coverage_at_accuracy, selective_accuracy
from epimeter.metrics.selective.ranks import auroc

__all__ = [
    "accuracy",
    "auarc",
    "aurc",
    "auroc",
    "coverage_at_accuracy",
    "e_aurc",
    "hle_ce",
    "prr",
    "selective_accuracy",
]

OF_ORDER = ("auroc", "aurc", "e_aurc", "auarc", "prr", "selective_accuracy", "coverage_at_accuracy")
"""Metrics that look at the order of the confidences only: any increasing map of them leaves the value as it is."""
