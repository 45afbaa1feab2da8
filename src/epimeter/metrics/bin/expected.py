# SPDX-License-Identifier: Apache-2.0
"""The expected calibration error and its nearest kin: gaps of bins, weighted by their share of the rows."""

from __future__ import annotations

import numpy as np

from epimeter.card import metric
from epimeter.summaries import Bins, BinTotals

BIN_SYMBOLS = {
    "N": "number of rows (their weight)",
    "n_b": "rows in bin b",
    "p_b": "n_b / N",
    "ȳ_b": "mean outcome in bin b",
    "c̄_b": "mean confidence in bin b",
}


@metric(
    title="Expected calibration error",
    family="bin",
    reads=Bins(bins=10),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"ECE=\sum_b p_b\,|\bar y_b-\bar c_b|",
    where=BIN_SYMBOLS,
    source="Naeini et al. 2015 AAAI; Guo et al. 2017 ICML eq 3; Lane 2025 s4.2 eq 28",
    order="ties",
    pitfalls="Biased upwards: a perfectly calibrated model scores above 0 on finite data (see ece_db). Gaps of "
    "opposite sign inside a bin cancel, and the value depends on the number of bins. Equal-mass cuts through equal "
    "confidences depend on the order of the rows. Peers that close bins on the right differ on confidences that "
    "lie exactly on an edge.",
    aliases=("ece-ew", "estimated_calibration_error", "empirical_calibration_error"),
)
def ece(bins: BinTotals) -> float:
    """Mean gap between the confidence stated and the frequency seen, weighted by the rows of each bin."""
    return float(np.sum(bins.share * np.abs(bins.gap)))
