# SPDX-License-Identifier: Apache-2.0
"""Every class against the rest: errors of all the probabilities, not of the top label alone."""

from __future__ import annotations

import numpy as np

from epimeter.card import metric
from epimeter.summaries import BinTotals, ClassBins

CLASS_SYMBOLS = {
    "K": "number of classes",
    "p_bk": "share of the rows whose probability of class k is in bin b",
    "ȳ_bk": "share of them with label k",
    "c̄_bk": "mean probability of class k among them",
}
ONE_AGAINST_REST = "K problems of one class against the rest, each with its own bins; a vector p is read as 1 - p, p"


@metric(
    title="Class-wise ECE",
    family="bin",
    reads=ClassBins(bins=10),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"CWCE=\frac1K\sum_k\sum_b p_{bk}\,|\bar y_{bk}-\bar c_{bk}|",
    where=CLASS_SYMBOLS,
    source="Nixon et al. 2019 CVPR workshops; Kull et al. 2019 NeurIPS; Lane 2025 s4.4 eq 34",
    matrix=ONE_AGAINST_REST,
    order="ties",
    pitfalls="With many classes most probabilities are near 0, where gaps are small: the mean over classes hides "
    "errors of the likely ones. A class that never occurs still counts.",
    aliases=("cwce", "static_calibration_error", "sce", "macro_subset_ece", "msece"),
)
def classwise_ece(bins: BinTotals) -> float:
    """Expected calibration error of each class against the rest, averaged over the classes."""
    return float(np.mean(class_errors(bins)))


def class_errors(bins: BinTotals) -> np.ndarray:
    """The expected calibration error of each class."""
    return np.asarray(np.sum(bins.share * np.abs(bins.gap), axis=-1))
