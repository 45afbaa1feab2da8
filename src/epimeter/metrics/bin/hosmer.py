# SPDX-License-Identifier: Apache-2.0
"""The test of Hosmer and Lemeshow: squared gaps in units of their binomial variance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from epimeter.card import metric
from epimeter.limits import AtLeast
from epimeter.metrics.bin.expected import BIN_SYMBOLS
from epimeter.results import Result
from epimeter.summaries import BinTotals, FineBins


@dataclass(frozen=True, kw_only=True)
class ChiSquareTest(Result):
    """A statistic with its upper tail; p_value is NaN when no degree of freedom is left."""

    statistic: float
    p_value: float
    dof: int


@metric(
    title="Hosmer-Lemeshow test",
    family="bin",
    reads=FineBins(bins=10, binning="mass"),
    range=(0.0, None),
    direction="lower",
    test="asymptotic",
    equation=r"HL=\sum_b\frac{n_b(\bar y_b-\bar c_b)^2}{\bar c_b(1-\bar c_b)},\quad "
    r"p=P(\chi^2_\nu\ge HL),\ \nu=\#\{b:n_b>0\}-\mathrm{ddof}",
    where=BIN_SYMBOLS | {"ν": "degrees of freedom"},
    source="Hosmer and Lemeshow 1980; Lane 2025 s4.12 eqs 54-55",
    pitfalls="Two degrees of freedom are taken off for a logistic model tested on the data it was fitted on; on held-out "
    "data use ddof=0. Peers cut at quantiles, which differ from equal counts when confidences are tied. The chi-square "
    "law needs several expected outcomes in every bin.",
    aliases=("hosmer_lemeshow", "c_statistic_mass", "h_statistic_width"),
    simulated="At 5 % and N = 1,000 it rejected 10.4 % of 2,000 calibrated data sets with ddof=2, which is too eager for "
    "forecasts that were not fitted to the data, and 4.0 % with ddof=0.",
    headline_is="a test statistic",
)
def hl(bins: BinTotals, *, ddof: Annotated[int, AtLeast(0)] = 2) -> ChiSquareTest:
    """Chi-square test of calibration over bins.

    Parameters
    ----------
    ddof
        Degrees of freedom taken off the number of non-empty bins.
    """
    from scipy.special import gammaincc

    some = bins.filled
    size, gap = bins.size[some], bins.gap[some]
    variance = bins.confidence[some] * bins.doubt[some]
    # A bin that was certain adds nothing when it was right, and infinity when it was not.
    terms = np.where(gap == 0, 0.0, math.inf)
    with np.errstate(over="ignore"):
        ratio = np.divide(gap, variance, out=np.zeros_like(gap), where=variance > 0)  # gap^2 might vanish
        terms[variance > 0] = (size * gap * ratio)[variance > 0]
    statistic = float(terms.sum())
    dof = int(some.sum()) - int(ddof)
    p_value = float(gammaincc(dof / 2, statistic / 2)) if dof >= 1 else math.nan
    return ChiSquareTest(statistic=statistic, p_value=p_value, dof=dof)
