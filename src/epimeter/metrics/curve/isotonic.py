# SPDX-License-Identifier: Apache-2.0
"""Isotonic regression: the non-decreasing map nearest to the outcomes, the error it finds, the scores it splits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.core import accepted, lib, read, write
from epimeter.core.threads import beside
from epimeter.metrics.curve.cox import FIT_ON_TEST, Norm, mean_distance, mean_outcome
from epimeter.metrics.curve.levels import NORM_SYMBOLS, TOP_LABEL, are_whole, filled
from epimeter.metrics.point.brier import square_errors
from epimeter.results import Result
from epimeter.summaries import Ordered, OrderedRows
from epimeter.summaries.rows import Levels, square_sums
from epimeter.summaries.sums import Sums, SumsOf
from epimeter.uncertainty import MeanOfLevels

Floats = NDArray[np.float64]
Score = Literal["brier", "log"]


@dataclass(frozen=True)
class IsotonicBlocks:
    """Neighbouring levels that have one fitted value: their weight, the weight that came true, and how many they are."""

    weight: Floats
    true: Floats
    levels: NDArray[np.int64]


def blocks(levels: Levels | OrderedRows) -> IsotonicBlocks:
    """The blocks of the non-decreasing fit to levels, or to rows that are one each, by pooling adjacent violators.

    Whole weights are added and compared as integers.
    """
    n = len(levels.prob)
    whole = levels.weight is None or (are_whole(levels.weight) and are_whole(levels.true))
    weight, true = (np.empty(n, np.int64 if whole else np.float64) for _ in range(2))
    size = np.empty(n, np.int64)
    into = write(weight), write(true), write(size), n
    if isinstance(levels, OrderedRows):
        number = accepted(lib.epi_isotonic_rows(read(levels.outcome), n, *into))
    else:
        pool = lib.epi_isotonic_blocks if whole else lib.epi_isotonic_weighed
        number = accepted(
            pool(read(np.ascontiguousarray(levels.weight)), read(np.ascontiguousarray(levels.true)), n, *into)
        )
    return IsotonicBlocks(weight[:number].astype(np.float64), true[:number].astype(np.float64), size[:number].copy())


def isotonic(levels: Levels) -> Floats:
    """The non-decreasing fit at each distinct confidence; neighbours with means out of order, or equal, belong to one block."""
    pooled = blocks(levels)
    return np.repeat(pooled.true / pooled.weight, pooled.levels)


@metric(
    title="Fit-on-the-test ECE, isotonic regression",
    family="curve",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"\frac1N\sum_i|\hat y(c_i)-c_i|^\alpha,\qquad \hat y=\arg\min_{f\text{ non-decreasing}}"
    r"\sum_i(y_i-f(c_i))^2",
    where=NORM_SYMBOLS,
    source=FIT_ON_TEST + "; Zadrozny and Elkan 2002 KDD",
    matrix=TOP_LABEL,
    pitfalls="Biased upwards: the map follows the noise of the rows it is measured on, more so in small samples.",
    aliases=("ece-isotonic", "fott"),
)
def fott_isotonic(rows: OrderedRows, *, norm: Norm = 1) -> float:
    """Mean distance between the confidences and their isotonic regression on the same rows.

    Parameters
    ----------
    norm
        Exponent of the distance; no root is taken.
    """
    levels = filled(rows)
    return mean_distance(levels, isotonic(levels), norm)


@dataclass(frozen=True, kw_only=True)
class ScoreParts(Result):
    """score = mcb - dsc + unc: miscalibration, discrimination, uncertainty."""

    score: float
    mcb: float
    dsc: float
    unc: float


@metric(
    title="CORP score decomposition",
    family="curve",
    reads=Ordered(),
    range=(0.0, None),
    direction="lower",
    equation=r"score=\bar S(c)=mcb-dsc+unc,\qquad mcb=\bar S(c)-\bar S(\hat y),\quad dsc=\bar S(\bar y)-\bar S(\hat y),"
    r"\quad unc=\bar S(\bar y)",
    where={
        "S̄": "mean score over the rows: (f - y)^2, or -log of the probability of the outcome",
        "ŷ": "isotonic regression of y on c at the rows",
        "ȳ": "mean outcome",
    },
    source="Dimitriadis, Gneiting and Jordan 2021, PNAS 118(8) (Stable reliability diagrams); beyond the review",
    matrix=TOP_LABEL,
    pitfalls="The part to make small is mcb; unc is a property of the data. mcb is biased upwards in small samples, as "
    "the isotonic fit follows noise. brier_decomposition splits the score by bins instead and gives other parts.",
    aliases=("isotonic_decomposition", "mcb-dsc-unc", "mcb", "dsc"),
    interval=MeanOfLevels(score="score"),
)
def corp(rows: OrderedRows, *, score: Score = "brier") -> ScoreParts:
    """The mean score split into miscalibration, discrimination and uncertainty by isotonic regression.

    Parameters
    ----------
    score
        ``brier``: squared error of the event's probability; ``log``: minus log of the outcome's probability.
    """
    if rows.weight is None and score == "brier":
        whole, best, flat = _of_counts(rows)
        return ScoreParts(score=whole, mcb=max(0.0, whole - best), dsc=max(0.0, flat - best), unc=flat)
    levels = filled(rows)
    whole = mean_score(levels, levels.prob, score)
    best = mean_score(levels, isotonic(levels), score)
    flat = mean_score(levels, mean_outcome(levels), score)
    return ScoreParts(score=whole, mcb=max(0.0, whole - best), dsc=max(0.0, flat - best), unc=flat)


def _of_counts(rows: OrderedRows) -> tuple[float, float, float]:
    """Brier score of the rows, of their isotonic fit and of their mean outcome, from sums that are the same on every machine.

    The squared errors of a mean t / n, n rows of which t came true, add up to t (n - t) / n.
    """
    n_rows, levels = rows.n_rows, rows if rows.distinct else rows.levels
    pooled, sums = beside(
        lambda: blocks(levels),
        lambda: cast(Sums, SumsOf(square_errors).summarise(rows.given)),
        n_rows,
    )
    came = float(pooled.true.sum())
    within = pooled.true * (pooled.weight - pooled.true) / pooled.weight
    # The scores of both columns of an event, hence the half.
    return float(sums.totals[0]) / 2 / n_rows, math.fsum(within.tolist()) / n_rows, came * (n_rows - came) / n_rows**2


def mean_score(levels: Levels, said: Floats, score: Score) -> float:
    """Mean score of a forecast that depends on the confidence; infinite where the impossible came true."""
    if score == "brier":
        first, _, total = square_sums(np.broadcast_to(said, levels.prob.shape), levels.weight, levels.true)
        return first / total
    false = levels.weight - levels.true
    if ((said == 0) & (levels.true > 0)).any() or ((said == 1) & (false > 0)).any():
        return math.inf
    # 0 log 0 = 0: certain and right costs nothing
    hit = np.log(np.where(levels.true > 0, said, 1.0))
    miss = np.log1p(-np.where(false > 0, said, 0.0))
    # Rounded once, so that no bit depends on the threads of a library for products of vectors.
    return -math.fsum((levels.true * hit + false * miss).tolist()) / math.fsum(levels.weight.tolist()) + 0.0
