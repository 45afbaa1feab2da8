# SPDX-License-Identifier: Apache-2.0
"""The expected calibration error and its nearest kin: means of the gaps of bins, weighted by their rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import AtLeast
from epimeter.summaries import Bins, BinTotals
from epimeter.summaries.cuts import Cut
from epimeter.uncertainty import GapNorm, MassGapNorm
from epimeter.views import Reading, View

Floats = NDArray[np.float64]
Norm = Annotated[float, AtLeast(1)]

BIN_SYMBOLS = {
    "N": "number of rows (their weight)",
    "n_b": "rows in bin b",
    "p_b": "n_b / N",
    "ȳ_b": "mean outcome in bin b",
    "c̄_b": "mean confidence in bin b",
}


def power_mean(gap: Floats, norm: float, mean: Callable[[Floats], Floats]) -> Floats:
    """Mean of |gap|^norm and its root, along the last axis; the largest gap when the norm is infinite.

    Gaps are divided by the largest first, so that a high power does not underflow.
    """
    size = np.abs(gap)
    if norm == 1:
        return mean(size)
    largest = np.max(size, axis=-1, keepdims=True)
    if np.isinf(norm):
        return np.asarray(largest[..., 0])
    part = np.divide(size, largest, out=np.zeros_like(size), where=largest > 0)
    return np.asarray(largest[..., 0] * mean(part**norm) ** (1 / norm))


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
    pitfalls="Biased upwards: a perfectly calibrated model scores above 0 on finite data (see ece_db). Gaps of "
    "opposite sign inside a bin cancel, and the value depends on the number of bins. Equal confidences "
    "are never cut. Peers that close bins on the right differ on confidences that "
    "lie exactly on an edge.",
    aliases=(
        "ece-ew",
        "estimated_calibration_error",
        "empirical_calibration_error",
        "mean absolute calibration error",
        "calibration_error",
    ),
    simulated="Nominal 95 % intervals cover 93 to 96 % for N from 500 to 10,000. They are for the error of the population, "
    "to which chance adds nothing, so that the value itself can lie above them.",
    interval=GapNorm(norm=1),
    bound=MassGapNorm(1),
)
def ece(bins: BinTotals) -> float:
    """Mean gap between the confidence stated and the frequency seen, weighted by the rows of each bin."""
    return float(bins.mean(np.abs(bins.gap)))


@metric(
    title="l_p calibration error",
    family="bin",
    reads=Bins(bins=10),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"CE_p=\Big(\sum_b p_b\,|\bar y_b-\bar c_b|^p\Big)^{1/p}",
    where=BIN_SYMBOLS | {"p": "parameter norm"},
    source="Kumar et al. 2019 NeurIPS; Hendrycks et al. 2019 ICLR (norm 2); Lane 2025 s4.3 eq 29",
    pitfalls="Biased upwards on finite data, the more the higher the norm (see drmsce). norm=1 is ece, norm=inf is mce.",
    aliases=(
        "l_p-ece",
        "l_p",
        "mean_calibration_error",
        "rmsce",
        "root_mean_square_calibration_error",
        "RMSCE (norm=2)",
        "rms_calibration_error",
        "root_mean_squared_calibration_error",
    ),
    simulated="Nominal 95 % intervals with norm=2 cover 94 to 98 % for N from 500 to 10,000.",
    interval=GapNorm(norm="norm"),
    bound=MassGapNorm("norm"),
)
def lp_ce(bins: BinTotals, *, norm: Norm = 2.0) -> float:
    """Gaps of the bins raised to a power, averaged by their rows, and the root taken.

    Parameters
    ----------
    norm
        Power p of the gaps: 1 weighs all alike, 2 is the root mean square, ``inf`` the largest gap.
    """
    return float(power_mean(bins.gap, norm, bins.mean))


@metric(
    title="Maximum calibration error",
    family="bin",
    reads=Bins(bins=10),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"MCE=\max_{b:\,n_b>0}|\bar y_b-\bar c_b|",
    where=BIN_SYMBOLS,
    source="Naeini et al. 2015 AAAI; Lane 2025 s4.5 eq 39; ONTO 42001 A.2",
    pitfalls="A bin of one row can decide it: with confidence 0.05 and outcome 1 its gap is 0.95. More bins make it "
    "larger, so compare only values of the same number of bins and of similar samples.",
    aliases=("maximum_calibration_error", "max_calibration_error", "l_inf_calibration_error", "max_ce"),
    simulated="Nominal 95 % intervals cover 92 to 96 % for N from 500 to 10,000.",
    interval=GapNorm(norm=math.inf),
    bound=MassGapNorm(math.inf),
)
def mce(bins: BinTotals) -> float:
    """The largest gap of any bin that holds rows."""
    return float(np.max(np.abs(bins.gap)))


@dataclass(frozen=True)
class AreaBins(Bins):
    """Totals per bin of equal area.

    Parameters
    ----------
    bins
        Number of bins B.
    """

    binning: Cut = field(default="area", init=False)


@metric(
    title="Equal-area ECE",
    family="bin",
    reads=AreaBins(bins=10),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"ECE_{EA}=\sum_b p_b\,|\bar y_b-\bar c_b|,\quad "
    r"b(i)=\min\big(\lfloor B\,g_{j(i)}/g_m+10^{-9}\rfloor,\,B-1\big),\quad "
    r"g_1=0,\ g_{j+1}=g_j+\sqrt{(u_{j+1}-u_j)\,\tfrac{k_j+k_{j+1}}{2}}",
    where=BIN_SYMBOLS
    | {
        "B": "number of bins",
        "u_1 < ... < u_m": "distinct confidences",
        "k_j": "rows at u_j",
        "j(i)": "the index with u_j = c_i",
        "g": "cumulated square root of width times count",
    },
    source="Roechner et al. 2024 Data Min. Knowl. Disc. (rule reconstructed from its description); Lane 2025 s4.5",
    pitfalls="Print gives no formula; width times count is held constant here, by its continuous limit. Ties are "
    "never cut, so the order of the rows does not matter.",
    aliases=("ece-ea", "equiareal_ece"),
    interval=GapNorm(norm=1),
)
def ece_ea(bins: BinTotals) -> float:
    """Expected calibration error over bins whose width times count is about equal: between equal width and equal mass."""
    return float(bins.mean(np.abs(bins.gap)))


@dataclass(frozen=True)
class TopBins(Bins):
    """Totals per bin of the largest class probability; a vector p is read as 1 - p, p. Parameters as `Bins`."""

    reading: ClassVar[Reading] = "classes"

    def _totals(self, view: View) -> BinTotals:
        return super()._totals(view.event)


@metric(
    title="Top-label calibration error",
    family="bin",
    reads=TopBins(bins=10),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"TCE=\Big(\sum_b p_b\,|\bar y^{max}_b-\bar c^{max}_b|^p\Big)^{1/p}",
    where={
        "c^max_i": "largest class probability of row i, the first on ties",
        "y^max_i": "1 if that class is the true one, else 0",
        "p_b": "share of the rows whose c^max is in bin b",
        "p": "parameter norm",
    },
    source="Kumar et al. 2019 NeurIPS; Silva Filho et al. 2023; Lane 2025 s4.4 eqs 30-31",
    matrix="reduced to its top label; a vector p is read as 1 - p, p, so its confidence is max(p, 1 - p)",
    pitfalls="Says nothing about the probabilities of the other classes (see classwise_ece). Of a vector it differs "
    "from ece, which takes p as it is. Not the test-based calibration error, also called TCE.",
    aliases=(
        "confidence-ece",
        "top-label_ece",
        "TCE",
    ),
    interval=GapNorm(norm="norm"),
)
def top_label_ce(bins: BinTotals, *, norm: Norm = 1.0) -> float:
    """How far the confidence in the predicted class is from how often that class is right.

    Parameters
    ----------
    norm
        Power p of the gaps; ``inf`` takes the largest.
    """
    return float(power_mean(bins.gap, norm, bins.mean))
