# SPDX-License-Identifier: Apache-2.0
"""Are quantiles calibrated: how many truths lie at or below each."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.forecasts import COLUMNS, Forecast
from epimeter.limits import AtLeast, Between
from epimeter.summaries.exact import RowMeans, RowSums

Floats = NDArray[np.float64]
RANKED = ("normal", "quantiles", "ensemble")
WHERE = {
    "p_k": "levels: those that are stated, of a normal law and an ensemble evenly spread",
    "o_k": "share of truths at or below the quantile of level p_k",
}


def below(view: Forecast, *, count: Annotated[int, Between(2, 999)] = 19) -> Floats:
    """For each level its value, and 1 where the truth lies at or below the quantile.

    Parameters
    ----------
    count
        Number of levels k / (count + 1) that are read off a normal law or an ensemble; quantiles are read at their own levels.
    """
    levels = view.stated_levels if view.kind == "quantiles" else np.arange(1, count + 1) / (count + 1)
    hit = [view.true <= view.quantile(float(level)) for level in levels]
    # The levels travel beside the flags: a summary that came from elsewhere knows them then.
    return np.column_stack([np.broadcast_to(levels, (view.n_rows, len(levels))), *hit])


def _shares(sums: RowSums) -> tuple[Floats, Floats]:
    means = sums.means
    half = len(means) // 2
    return means[:half], means[half:]


@metric(
    title="Quantile calibration error",
    family="distribution",
    reads=RowMeans(below),
    forecasts=RANKED,
    takes=COLUMNS,
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"\Big(\frac1K\sum_k|o_k-p_k|^{norm}\Big)^{1/norm}",
    where=WHERE,
    source="Kuleshov, Fenner and Ermon 2018, ICML, eq 9 (its sum of squares is K times the square of norm 2); Chung, Char, Guo, "
    "Schneider and Neiswanger 2021 (uncertainty toolbox); beyond the review",
    pitfalls="Biased upwards: of N rows of a calibrated forecast it is about 0.3 / sqrt(N), not 0. Calibration on average over all "
    "rows can hide opposite errors in parts of them.",
    aliases=("qce", "mean_absolute_calibration_error", "root_mean_squared_calibration_error"),
)
def quantile_calibration_error(sums: RowSums, *, norm: Annotated[float, AtLeast(1)] = 1.0) -> float:
    """Mean gap between the level of a quantile and the share of truths at or below it.

    Parameters
    ----------
    norm
        1 the mean gap, 2 the root of the mean square, inf the largest.
    """
    levels, shares = _shares(sums)
    gap = np.abs(shares - levels)
    if np.isinf(norm):
        return float(gap.max())
    return float(np.mean(gap**norm) ** (1 / norm))


@metric(
    title="Miscalibration area",
    family="distribution",
    reads=RowMeans(below).choosing(count=99),
    forecasts=RANKED,
    takes=COLUMNS,
    range=(0.0, 0.5),
    ideal=0.0,
    direction="lower",
    equation=r"\int_0^1|o(p)-p|\,dp",
    where=WHERE | {"o(p)": "the line through (0, 0), the points (p_k, o_k) and (1, 1)"},
    source="Tran et al. 2020, Machine Learning: Science and Technology 1; Chung et al. 2021 (uncertainty toolbox); beyond the "
    "review",
    pitfalls="Biased upwards as quantile_calibration_error is. The uncertainty toolbox draws central intervals unless told "
    "prop_type='quantile', where this draws quantiles: a bias of the means shows here and hardly there.",
    aliases=("calibration area", "area_under_calibration_curve"),
)
def miscalibration_area(sums: RowSums) -> float:
    """Area between the curve of the quantiles and the diagonal."""
    levels, shares = _shares(sums)
    across = np.concatenate([[0.0], levels, [1.0]])
    gap = np.concatenate([[0.0], shares - levels, [0.0]])
    wide, left, right = np.diff(across), gap[:-1], gap[1:]
    # Where the line crosses the diagonal, the two triangles are added.
    crossing = left * right < 0
    total = np.abs(left) + np.abs(right)
    both = np.divide(left**2 + right**2, total, out=np.zeros_like(total), where=total > 0)
    return float(np.sum(wide * np.where(crossing, both, total) / 2))
