# SPDX-License-Identifier: Apache-2.0
"""Soft bins: every row belongs to several bins a little, or its confidence is a soft maximum."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import Above, AtLeast, BinCount
from epimeter.metrics.bin.expected import BIN_SYMBOLS
from epimeter.summaries import Ordered, OrderedRows, Rows, fixed, paired
from epimeter.summaries.cuts import width_index
from epimeter.summaries.rows import Levels
from epimeter.views import Multiclass

Floats = NDArray[np.float64]

SOFT_ERROR = (
    r"\Big(\sum_b\frac{s_b}{N}|a_b-c_b|^p\Big)^{1/p},\ s_b=\sum_iu_b(c_i),\ a_b=\frac1{s_b}\sum_iu_b(c_i)y_i,\ "
    r"c_b=\frac1{s_b}\sum_iu_b(c_i)c_i,\quad "
)
SOFT_SYMBOLS = {
    "u_b(c)": "share of a row with confidence c that belongs to bin b",
    "s_b": "sum of these shares",
    "a_b, c_b": "soft accuracy and soft confidence",
    "τ": "parameter temperature",
    "p": "parameter norm",
    "B": "number of bins",
}


@metric(
    title="Soft-binning ECE",
    family="bin",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=SOFT_ERROR + r"u(c)=\mathrm{softmax}_b\big(-(c-\xi_b)^2/\tau\big),\ \xi_b=(b-\tfrac12)/B",
    where=SOFT_SYMBOLS | {"ξ_b": "centre of equal-width bin b = 1..B"},
    source="Karandikar et al. 2021 NeurIPS; Lane 2025 s4.9 eqs 44-48",
    pitfalls="Made to be trained with; as a measure it lies below the ECE, because soft bins let neighbouring errors of "
    "opposite sign cancel. The temperature matters as much as the number of bins.",
)
def sbece(
    rows: OrderedRows,
    *,
    bins: BinCount = 15,
    temperature: Annotated[float, Above(0)] = 0.01,
    norm: Annotated[float, AtLeast(1)] = 1.0,
) -> float:
    """Expected calibration error with memberships that fall with the squared distance from the bin's centre.

    Parameters
    ----------
    bins
        Number of bins.
    temperature
        Softness; towards 0 the bins become the hard ones of equal width.
    norm
        Power of the gap; infinity gives the largest gap.
    """
    centre = (np.arange(bins) + 0.5) / bins
    return soft_error(rows.levels, lambda prob: -((prob - centre) ** 2), temperature, norm)


@metric(
    title="Differentiable ECE",
    family="bin",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=SOFT_ERROR
    + r"u(c)=\mathrm{softmax}_b\big((b\,c+w_{0b})/\tau\big),\ w_{0b}=-\sum_{j=1}^{b-1}\beta_j,\ \beta_j=j/B",
    where=SOFT_SYMBOLS | {"β_j": "upper edge of equal-width bin j"},
    source="Bohdal et al. 2023 TMLR; Lane 2025 s4.9 eq 49",
    pitfalls="Made to be trained with. The authors' training code also softens accuracy by rank and adds 1e-6 to the "
    "memberships; the metric does neither.",
)
def dece(
    rows: OrderedRows,
    *,
    bins: BinCount = 15,
    temperature: Annotated[float, Above(0)] = 0.01,
    norm: Annotated[float, AtLeast(1)] = 1.0,
) -> float:
    """Expected calibration error with the soft bins of a one-dimensional linear classifier.

    Parameters
    ----------
    bins
        Number of bins.
    temperature
        Softness; towards 0 the bins become the hard ones of equal width.
    norm
        Power of the gap; infinity gives the largest gap.
    """
    slope = np.arange(1, bins + 1)
    bias = -slope * (slope - 1) / (2 * bins)
    return soft_error(rows.levels, lambda prob: slope * prob + bias, temperature, norm)


def soft_error(levels: Levels, scores: Callable[[Floats], Floats], temperature: float, norm: float) -> float:
    """Norm of the soft gaps, where `scores` gives a column of confidences its softmax scores, one column a bin."""
    size, residual = np.zeros(1), np.zeros(1)
    with np.errstate(under="ignore", over="ignore"):
        for start in range(0, len(levels.prob), 8192):
            some = slice(start, start + 8192)
            score = scores(levels.prob[some, None])
            share = np.exp((score - score.max(axis=1, keepdims=True)) / temperature)
            share /= share.sum(axis=1, keepdims=True)
            size = size + levels.weight[some] @ share
            residual = residual + levels.residual[some] @ share
        reached = size > 0  # a bin can be so far from every row that its share underflows
        gap = np.abs(residual[reached] / size[reached])
        if math.isinf(norm):
            return float(gap.max())
        return float((size[reached] / levels.weight.sum() @ gap**norm) ** (1 / norm))


@metric(
    title="Fuzzy calibration error",
    family="bin",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"FCE=\frac{\sum_b s_b|a_b-c_b|}{\sum_b s_b},\quad "
    r"\mu_b(c)=\max\Big(0,\min\Big(1,\frac{c-(l_b-w/4)}{w/2},\frac{(h_b+w/4)-c}{w/2}\Big)\Big)",
    where={
        "w": "1 / B, the width of a bin",
        "l_b, h_b": "edges b/B and (b+1)/B of bin b = 0..B-1",
        "μ_b(c)": "membership of confidence c in bin b",
        "s_b": "sum of memberships",
        "a_b, c_b": "mean outcome and mean confidence, weighted by membership",
    },
    source="Bihani and Rayz 2023 NAFIPS; Lane, journal version, s4.10",
    pitfalls="Memberships fall to one half within a quarter bin of 0 and 1, so certain rows count half. The published code "
    "adds up confidence over correct rows only, which is not the paper's formula.",
)
def fce(rows: OrderedRows, *, bins: BinCount = 10) -> float:
    """Expected calibration error with trapezoidal bins that overlap by half their width.

    Parameters
    ----------
    bins
        Number of fuzzy bins.
    """
    levels, bins = rows.levels, int(bins)
    home = width_index(levels.prob, bins)
    place = levels.prob * bins - home  # in units of the width, from the lower edge
    size, residual = np.zeros(bins), np.zeros(bins)
    memberships = (
        (home, np.minimum(1.0, np.minimum(2 * place + 0.5, 2.5 - 2 * place))),
        (home - 1, 0.5 - 2 * place),
        (home + 1, 2 * place - 1.5),
    )
    for bin_, member in memberships:
        inside = (member > 0) & (bin_ >= 0) & (bin_ < bins)
        share = member[inside]
        size += np.bincount(bin_[inside], weights=levels.weight[inside] * share, minlength=bins)
        residual += np.bincount(bin_[inside], weights=levels.residual[inside] * share, minlength=bins)
    return float(np.abs(residual).sum() / size.sum())


@metric(
    title="ECE with a log-sum-exp confidence",
    family="bin",
    reads=Rows("classes"),
    range=(0.0, None),
    ideal=0.0,
    direction="lower",
    equation=r"c_i=\tau\log\sum_k e^{p_{ik}/\tau},\quad ECE=\sum_bp_b|\bar y_b-\bar c_b|",
    where=BIN_SYMBOLS
    | {"τ": "parameter temperature", "y_i": "1 when the first largest p_ik belongs to the true class"},
    source="Wang et al. 2023 ACM MM; Lane 2025 s4.9",
    matrix="class probabilities, joined into one confidence; a vector p is read as 1 - p, p",
    pitfalls="The confidence exceeds the largest probability by up to tau log K, so a high temperature measures that and "
    "not calibration. With the default it is the top-label ECE.",
    aliases=("logsumexp_ece", "lse"),
)
def ece_lse(view: Multiclass, *, bins: BinCount = 10, temperature: Annotated[float, Above(0)] = 1e-5) -> float:
    """Top-label calibration error with the maximum made smooth.

    Parameters
    ----------
    bins
        Number of equal-width bins.
    temperature
        Softness of the maximum.
    """
    top, bins = view.event, int(bins)
    highest = top.prob.astype(np.float64)
    with np.errstate(under="ignore", over="ignore"):
        excess = np.log(np.exp((view.prob - highest[:, None]) / temperature).sum(axis=1))  # in [0, log K]
        index = np.minimum(np.floor((highest + temperature * excess) * bins), bins - 1).astype(np.intp)
    gap = top.true - highest

    def totals(values: Floats) -> Floats:
        if view.weight is None:
            return fixed.binned(values, index, bins).floats()
        return paired.binned(values, view.weight, index, bins).floats()

    return float(np.abs(totals(gap) - temperature * totals(excess)).sum() / view.total_weight)
