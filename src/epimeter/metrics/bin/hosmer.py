# SPDX-License-Identifier: Apache-2.0
"""The test of Hosmer and Lemeshow: squared gaps in units of their binomial variance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import AtLeast
from epimeter.metrics.bin.expected import BIN_SYMBOLS
from epimeter.results import Result
from epimeter.summaries import BinTotals, ClassBins, FineBins

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


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
    aliases=("hosmer_lemeshow", "hl_test", "C statistic (mass)", "H statistic (width)"),
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
    from epimeter.special import gammaincc

    statistic, filled = _squares(bins.filled, bins.size, bins.gap, bins.confidence * bins.doubt)
    dof = filled - int(ddof)
    p_value = float(gammaincc(dof / 2, statistic / 2)) if dof >= 1 else math.nan
    return ChiSquareTest(statistic=statistic, p_value=p_value, dof=dof)


def _squares(some: Flags, sizes: Floats, gaps: Floats, variances: Floats) -> tuple[float, int]:
    """The statistic of one row of bins, and how many of them are filled."""
    size, gap, variance = sizes[some], gaps[some], variances[some]
    # A bin that was certain adds nothing when it was right, and infinity when it was not.
    terms = np.where(gap == 0, 0.0, math.inf)
    with np.errstate(over="ignore"):
        ratio = np.divide(gap, variance, out=np.zeros_like(gap), where=variance > 0)  # gap^2 might vanish
        terms[variance > 0] = (size * gap * ratio)[variance > 0]
    return float(terms.sum()), int(some.sum())


@dataclass(frozen=True, kw_only=True)
class ClassTests(Result):
    """The largest statistic of any class, the smallest p-value times the number of classes, and those of each class."""

    statistic: float
    p_value: float
    worst: int
    statistics: Floats
    p_values: Floats


@metric(
    title="Class-wise Hosmer-Lemeshow test",
    family="bin",
    reads=ClassBins(bins=10, binning="mass"),
    range=(0.0, None),
    direction="lower",
    test="asymptotic",
    equation=r"HL_k=\sum_b\frac{n_{bk}(\bar y_{bk}-\bar c_{bk})^2}{\bar c_{bk}(1-\bar c_{bk})},\quad p_k=P(\chi^2_{\nu_k}\ge HL_k),"
    r"\quad p=\min(1,K\min_kp_k)",
    where=BIN_SYMBOLS | {"k": "class, held against the rest", "ν_k": "filled bins of class k less ddof"},
    source="Hosmer and Lemeshow 1980; Fagerland, Hosmer and Bofin 2008, Statistics in Medicine 27 (classes); Lane 2025 s4.12",
    matrix="K problems of one class against the rest, each with its own bins; a vector p is read as 1 - p, p",
    pitfalls="Bonferroni over the classes, which depend on each other: conservative with many. Of two classes both say the "
    "same, and p is twice that of one. Bins of small probabilities expect few outcomes; the chi-square law is rough there.",
    aliases=("classwise_hosmer_lemeshow",),
    headline_is="a test statistic",
)
def classwise_hl(bins: BinTotals, *, ddof: Annotated[int, AtLeast(0)] = 0) -> ClassTests:
    """Chi-square test of calibration of each class against the rest, adjusted for their number.

    Parameters
    ----------
    ddof
        Degrees of freedom taken off the number of non-empty bins of each class; 2 for a model tested on the rows it was fitted on.
    """
    from epimeter.special import gammaincc

    filled, variance = bins.filled, bins.confidence * bins.doubt
    made = [_squares(filled[k], bins.size[k], bins.gap[k], variance[k]) for k in range(len(bins.size))]
    p_values = np.array([gammaincc((n - ddof) / 2, value / 2) if n > ddof else math.nan for value, n in made])
    known = ~np.isnan(p_values)
    worst = int(np.nanargmin(p_values)) if known.any() else 0
    return ClassTests(
        statistic=max(value for value, _ in made),
        p_value=min(1.0, float(known.sum()) * float(p_values[worst])) if known.any() else math.nan,
        worst=worst,
        statistics=np.array([value for value, _ in made]),
        p_values=p_values,
    )
