# SPDX-License-Identifier: Apache-2.0
"""One number stands for all of a bin: its frequency for each row's truth, its mean or largest confidence for what was said."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import BinCount
from epimeter.metrics.bin.expected import BIN_SYMBOLS, Norm
from epimeter.summaries import BinnedRows, Binning, Bins, BinTotals, Rows
from epimeter.summaries.cuts import width_index
from epimeter.views import Binary

Floats = NDArray[np.float64]


@metric(
    title="Label-binned calibration error",
    family="bin",
    reads=Binning(bins=10),
    range=(0.0, 1.0),
    direction="lower",
    equation=r"ECE_{LB}=\Big(\frac1N\sum_b\sum_{i\in b}|\bar y_b-c_i|^p\Big)^{1/p}",
    where=BIN_SYMBOLS | {"c_i": "confidence of row i", "p": "parameter norm"},
    source="Roelofs et al. 2022 AISTATS; Torabian and Urner 2024; Lane 2025 s4.5 eq 37",
    pitfalls="Never below lp_ce of the same bins, and not 0 for a perfect model: confidences spread inside a bin.",
    aliases=("ece-lb", "probability_deviation_error"),
)
def ece_lb(rows: BinnedRows, *, norm: Norm = 1.0) -> float:
    """Mean distance of each single confidence from the frequency seen in its bin.

    Parameters
    ----------
    norm
        Power p of the distances; ``inf`` takes the largest.
    """
    distance = np.abs(rows.mean(rows.true)[rows.bin] - rows.prob)
    largest = float(np.max(distance[rows.weight > 0]))
    if largest == 0 or np.isinf(norm):
        return largest
    # Divided by the largest, no power underflows.
    mean = ordered_sum(rows.weight * (distance / largest) ** norm) / float(rows.size.sum())
    return float(largest * mean ** (1 / norm))


def ordered_sum(values: Floats) -> float:
    """The sum from the smallest number up: the same bits for any order of the rows."""
    return float(np.sum(np.sort(values)))


@metric(
    title="Sanders-modified Brier score",
    family="bin",
    reads=Bins(bins=10),
    range=(0.0, 1.0),
    direction="lower",
    proper="unknown",
    equation=r"SMBS=\frac1N\sum_b\sum_{i\in b}(y_i-\bar c_b)^2",
    where=BIN_SYMBOLS | {"y_i": "outcome of row i"},
    source="Sanders 1963; Murphy 1973; Hagopian et al. 2023; Lane, journal version, s4.6",
    pitfalls="Differs from the Brier score by what the confidences vary inside the bins, so it changes with the bins. "
    "Its best value is not 0: outcomes vary.",
    aliases=(
        "sanders-modified_brier_score",
        "Murphy's Brier score",
    ),
)
def smbs(bins: BinTotals) -> float:
    """Brier score with each confidence replaced by the mean of its bin."""
    # The mean of (y - c̄)^2 in a bin is the variance of its outcomes and the squared gap.
    return float(bins.mean(bins.frequency * (1 - bins.frequency) + bins.gap**2))


@metric(
    title="Binned bound on the distance from calibration",
    family="bin",
    reads=Rows("event"),
    range=(0.0, 2.0),
    direction="lower",
    equation=r"DCE=\frac1N\sum_b\Big|\sum_{i\in b}(y_i-v_b)\Big|+\frac1N\sum_b\sum_{i\in b}|c_i-v_b|",
    where={
        "y_i, c_i": "outcome and confidence of row i",
        "b": "equal-width bin",
        "v_b": "largest (or mean) confidence in bin b",
    },
    source="Blasiok et al. 2023 STOC; formula reconstructed from its description in the journal version of Lane 2025 s4.6",
    pitfalls="An upper bound, above 0 for a perfect model. Print omits the formula; this one is a proven bound, for "
    "rounding costs mean|c - v| and the rounded forecast is off by its own ECE. Without slack and with the mean it is "
    "ece.",
    aliases=(
        "distance_from_calibration_error",
        "Binned estimate of the distance from calibration",
    ),
)
def dce(
    view: Binary,
    *,
    bins: BinCount | None = None,
    aggregate: Literal["max", "mean"] = "max",
    slack: bool = True,
) -> float:
    """Upper bound on how far the forecasts are from the nearest perfectly calibrated ones.

    Parameters
    ----------
    bins
        Number of equal-width bins; by default the smallest B with B^3 at least N.
    aggregate
        Which confidence stands for a bin: the largest (``max``) or the ``mean``.
    slack
        Whether to add what rounding costs; without it the value is no bound.
    """
    count = cube_root(view.total_weight) if bins is None else bins
    totals: BinTotals = Bins(count).of(view)
    prob = view.prob.astype(np.float64, copy=False)
    index = width_index(prob, count)
    stands = totals.confidence if aggregate == "mean" else largest_in_bin(view, index, count)
    said, seen = totals.size * stands, totals.true.floats()
    value = np.sum(np.abs(seen - said))
    if slack and aggregate == "max":  # every c_i is at most v_b, so bin sums are enough
        value += np.sum(said - totals.prob.floats())
    elif slack:
        distance = np.abs(prob - stands[index])
        value += ordered_sum(distance if view.weight is None else view.weight * distance)
    return float(value / totals.n)


def cube_root(n: float) -> int:
    """The smallest whole B with B^3 >= n."""
    root: int = max(1, math.floor(n ** (1 / 3)) - 1)
    while root**3 < n:
        root += 1
    return root


def largest_in_bin(view: Binary, index: NDArray[np.intp], bins: int) -> Floats:
    """The largest confidence of each bin, 0 in an empty one; rows of weight zero do not count."""
    largest = np.zeros(bins)
    kept = slice(None) if view.weight is None else view.weight > 0
    np.maximum.at(largest, index[kept], view.prob[kept].astype(np.float64))
    return largest
