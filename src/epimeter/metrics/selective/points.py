# SPDX-License-Identifier: Apache-2.0
"""Accuracy, of all answers and of those kept; and how many can be kept at a wanted accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import Between
from epimeter.metrics.selective.areas import READ
from epimeter.metrics.selective.coverage import CoverageCurve
from epimeter.results import Result
from epimeter.summaries import Mean, MeanOf
from epimeter.summaries.rows import OrderedAnswers, OrderedRows
from epimeter.views import View

ROUNDING = 1e-12
"""A coverage or accuracy is reached when it is missed by no more than the rounding of a division."""


def rightness(view: View) -> NDArray[np.float64]:
    """1 for a right answer, 0 for a wrong one."""
    return np.asarray(view.true, np.float64)


@metric(
    title="Accuracy",
    family="selective",
    reads=MeanOf(rightness, "answer"),
    range=(0.0, 1.0),
    direction="higher",
    equation=r"a=\frac1N\sum_iy_i",
    where={"y_i": "1 where the answer is right"},
    source="the share of right answers; of a forecast, of its top label; beyond the review",
    matrix=READ,
    pitfalls="Says nothing about confidence. success_rate, of the catalogue of forecasts, expects what the forecast itself says.",
    aliases=("acc",),
)
def accuracy(mean: Mean) -> float:
    """Share of right answers."""
    return mean.value


@dataclass(frozen=True, kw_only=True)
class SelectiveAccuracy(Result):
    """Accuracy of the answers kept, the share that is kept, and the confidence from which an answer is kept."""

    value: float
    coverage: float
    threshold: float


@metric(
    title="Accuracy at a coverage",
    family="selective",
    reads=OrderedAnswers(),
    range=(0.0, 1.0),
    direction="higher",
    equation=r"a(\kappa)=\frac{\sum_i1[c_i\ge t]\,y_i}{\sum_i1[c_i\ge t]},\qquad t=\max\{t:\tfrac1N\sum_i1[c_i\ge t]\ge\kappa\}",
    where={"kappa": "the coverage asked for"},
    source="El-Yaniv and Wiener 2010 JMLR 11; Geifman and El-Yaniv 2017 NeurIPS; beyond the review",
    matrix=READ,
    pitfalls="Equal confidences are kept together, so more may be kept than asked for: `coverage` says how many.",
)
def selective_accuracy(
    rows: OrderedRows, *, coverage: Annotated[float, Between(0, 1, open_low=True)] = 0.8
) -> SelectiveAccuracy:
    """Accuracy of the most confident answers, as many as the coverage asks for.

    Parameters
    ----------
    coverage
        Share of the answers that is kept, at least.
    """
    curve = CoverageCurve.of(rows)
    place = min(int(np.searchsorted(curve.coverage, coverage - ROUNDING)), len(curve.kept) - 1)
    return SelectiveAccuracy(
        value=float(curve.accuracy[place]),
        coverage=float(curve.coverage[place]),
        threshold=float(curve.threshold[place]),
    )


@dataclass(frozen=True, kw_only=True)
class CoverageAtAccuracy(Result):
    """Share of the answers that can be kept, their accuracy, and the confidence from which they are; NaN where none can."""

    value: float
    accuracy: float
    threshold: float


@metric(
    title="Coverage at an accuracy",
    family="selective",
    reads=OrderedAnswers(),
    range=(0.0, 1.0),
    direction="higher",
    equation=r"\kappa(a)=\max_t\Big\{\tfrac1N\sum_i1[c_i\ge t]:\ a_t\ge a\Big\}",
    where={"a_t": "accuracy of the answers with confidence at least t", "a": "the accuracy asked for"},
    source="Geifman and El-Yaniv 2017 NeurIPS; C@Acc in Kamath, Jia and Liang 2020 ACL; beyond the review",
    matrix=READ,
    pitfalls="The best threshold on these answers is chosen after the fact: on new ones the accuracy falls a little short. 0 where "
    "no threshold reaches the accuracy.",
)
def coverage_at_accuracy(rows: OrderedRows, *, accuracy: Annotated[float, Between(0, 1)] = 0.9) -> CoverageAtAccuracy:
    """The largest share of the answers that can be kept at an accuracy.

    Parameters
    ----------
    accuracy
        Accuracy that the answers kept must have.
    """
    curve = CoverageCurve.of(rows)
    reached = np.flatnonzero(curve.accuracy >= accuracy - ROUNDING)
    if not len(reached):
        return CoverageAtAccuracy(value=0.0, accuracy=float("nan"), threshold=float("nan"))
    place = int(reached[-1])
    return CoverageAtAccuracy(
        value=float(curve.coverage[place]),
        accuracy=float(curve.accuracy[place]),
        threshold=float(curve.threshold[place]),
    )
