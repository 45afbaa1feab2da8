# SPDX-License-Identifier: Apache-2.0
"""Binned errors less the part that is chance: a frequency of few rows misses its probability even when all is well."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import BinCount
from epimeter.metrics.bin.expected import BIN_SYMBOLS
from epimeter.summaries import Bins, BinTotals, ClassBins
from epimeter.summaries.cuts import Cut
from epimeter.uncertainty import GapNorm
from epimeter.views import Reading

Floats = NDArray[np.float64]


def outcome_variance(bins: BinTotals) -> Floats:
    """ȳ_b (1 - ȳ_b), never below 0 by rounding."""
    return np.maximum(bins.frequency * (1 - bins.frequency), 0.0)


def debiased_square(bins: BinTotals) -> Floats:
    """Sum over bins of share times squared gap, less the unbiased estimate of the variance of ȳ_b.

    The variance of a bin of one row is unknown: both of its terms are dropped.
    """
    known = bins.size >= 2
    chance = np.divide(outcome_variance(bins), bins.size - 1, out=np.zeros_like(bins.size), where=known)
    return np.asarray(np.sum(np.where(known, bins.share * (bins.gap**2 - chance), 0.0), axis=-1))


@metric(
    title="Debiased squared calibration error",
    family="bin",
    reads=Bins(bins=15, binning="mass"),
    range=(-0.25, 1.0),
    ideal=0.0,
    direction="lower",
    test="resampling",
    proper="unknown",
    equation=r"CE^2_{DB}=\sum_{b:\,n_b\ge2}p_b\Big[(\bar y_b-\bar c_b)^2-\frac{\bar y_b(1-\bar y_b)}{n_b-1}\Big]",
    where=BIN_SYMBOLS,
    source="Kumar et al. 2019 NeurIPS def 5.2; Ferro and Fricker 2012; Broecker 2012; Lane 2025 s4.10 eq 50",
    pitfalls="An estimate of a square, so it can be negative. Bins of one row add nothing. The review prints "
    "c̄_b(1 - c̄_b) in the correction; the unbiased variance is that of the outcomes, as in Kumar et al.",
    aliases=("ce2-db", "debiased_l2_calibration_error_squared"),
    interval=GapNorm(norm=2, power=2),
)
def ce2_db(bins: BinTotals) -> float:
    """Mean squared gap without the upward bias of few rows a bin."""
    return float(debiased_square(bins))


@dataclass(frozen=True)
class ModeBins(ClassBins):
    """Totals per class and bin, or of the top label alone.

    Parameters
    ----------
    mode
        What a matrix is reduced to: ``top_label``, or ``classwise`` for every class against the rest (a vector is
        then read as 1 - p, p).
    """

    bins: BinCount = 15
    binning: Cut = "mass"
    mode: Literal["top_label", "classwise"] = "top_label"

    @property
    def reading(self) -> Reading:  # type: ignore[override]
        return "event" if self.mode == "top_label" else "classes"


@metric(
    title="Debiased root mean square calibration error",
    family="bin",
    reads=ModeBins(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    test="resampling",
    equation=r"DRMSCE=\sqrt{\max(0,CE^2_{DB})},\qquad classwise:\ \sqrt{\tfrac1K\sum_k\max(0,CE^2_{DB,k})}",
    where=BIN_SYMBOLS | {"CE^2_DB": "ce2_db", "CE^2_DB,k": "ce2_db of class k against the rest", "K": "classes"},
    source="Kumar et al. 2019 NeurIPS; Petersen et al. 2023 FAccT; Lane, journal version, s4.12",
    matrix="reduced to its top label; with mode=classwise every class against the rest",
    pitfalls="A negative debiased square is reported as 0, so 0 means no error that the sample can show.",
    aliases=("debiased_rmsce",),
    simulated="Nominal 95 % intervals cover 94 to 97 % for N from 500 to 10,000, and up to 98 % where the error is one to "
    "three standard errors: conservative.",
    interval=GapNorm(norm=2),
)
def drmsce(bins: BinTotals) -> float:
    """Root mean square gap without the upward bias of few rows a bin."""
    return math.sqrt(np.mean(np.maximum(debiased_square(bins), 0.0)))


@metric(
    title="Debiased ECE",
    family="bin",
    reads=Bins(bins=15, binning="mass"),
    range=(-1 / math.sqrt(4 * math.pi), 1.0),
    ideal=0.0,
    direction="lower",
    test="resampling",
    equation=r"ECE_{DB}=2\,ECE-\sum_b p_b\,E|R_b-\bar c_b|,\quad "
    r"E|R_b-\bar c_b|=s_b\sqrt{2/\pi}\,e^{-\mu_b^2/2s_b^2}+\mu_b\,\mathrm{erf}\big(\mu_b/(s_b\sqrt2)\big)",
    where=BIN_SYMBOLS
    | {"R_b": "normal with mean ȳ_b and deviation s_b", "μ_b": "ȳ_b - c̄_b", "s_b": "sqrt(ȳ_b(1 - ȳ_b)/n_b)"},
    source="Kumar et al. 2019 NeurIPS; Lane 2025 s4.10 eq 51",
    pitfalls="Can be negative. Print estimates the expectation by random draws; here it is the exact mean of the folded "
    "normal, their limit. A bin whose outcomes are all equal is not corrected.",
    aliases=("ece-db", "ece-debias"),
    simulated="Nominal 95 % intervals cover 93 to 96 % for N from 500 to 10,000, but 91 to 93 % where the error is one to "
    "three standard errors, with N = 10,000; we know of no method that does better there.",
    interval=GapNorm(norm=1),
)
def ece_db(bins: BinTotals) -> float:
    """Expected calibration error less its bias, estimated as how much noise in the frequencies adds to it."""
    from epimeter.special import erf

    gap = np.abs(bins.gap)
    spread = np.sqrt(np.divide(outcome_variance(bins), bins.size, out=np.zeros_like(gap), where=bins.filled))
    with np.errstate(over="ignore"):  # a weight next to nothing can make the ratio infinite, which is its limit
        ratio = np.divide(gap, spread, out=np.full_like(gap, np.inf), where=spread > 0)
        folded = spread * math.sqrt(2 / math.pi) * np.exp(-(ratio**2) / 2) + gap * erf(ratio / math.sqrt(2))
    return float(np.sum(bins.share * (2 * gap - folded)))
