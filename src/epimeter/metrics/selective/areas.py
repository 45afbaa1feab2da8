# SPDX-License-Identifier: Apache-2.0
"""Areas under the risk-coverage and accuracy-rejection curves, and what they are beside the best and the blind order."""

from __future__ import annotations

from typing import Annotated

from epimeter.card_index import metric
from epimeter.errors import UndefinedMetricError
from epimeter.limits import Between
from epimeter.metrics.selective.coverage import CoverageCurve
from epimeter.summaries.rows import OrderedAnswers, OrderedRows
from epimeter.uncertainty import RankedInfluence

TIES = (
    "Equal confidences are kept or left out together; implementations that break ties by the order of the rows "
    "give another "
    "value where there are many, as with stated confidences. "
)
READ = "read as answers by its top label"
Rejected = Annotated[float, Between(0, 1, open_low=True)]


@metric(
    title="Area under the risk-coverage curve",
    family="selective",
    reads=OrderedAnswers(),
    range=(0.0, 1.0),
    direction="lower",
    equation=r"AURC=\frac1N\sum_i r(c_i),\qquad r(t)=\frac{\sum_j1[c_j\ge t](1-y_j)}{\sum_j1[c_j\ge t]}",
    where={
        "c_i": "confidence in answer i",
        "y_i": "1 where the answer is right",
        "r(t)": "share of wrong answers among those kept at threshold t",
    },
    source="Geifman, Uziel and El-Yaniv 2019 ICLR; Franc, Prusa and Voracek 2023 JMLR 24(11), population form; beyond the review",
    matrix=READ,
    pitfalls=TIES
    + "It mixes accuracy with ranking: a better model has a smaller area at equal ranking. e_aurc and auroc look at "
    "the ranking.",
    aliases=("area_under_risk_coverage",),
    interval=RankedInfluence(influence="aurc", when=(("max_rejection", 1.0),)),
)
def aurc(rows: OrderedRows) -> float:
    """Mean share of wrong answers over all thresholds: what is left wrong when the least confident answers are withheld."""
    return 1.0 - CoverageCurve.of(rows).mean_accuracy()


@metric(
    title="Excess area under the risk-coverage curve",
    family="selective",
    reads=OrderedAnswers(),
    range=(0.0, 1.0),
    direction="lower",
    equation=r"E\text{-}AURC=AURC-\frac1N\sum_{k=1}^{m}\frac{k}{N-m+k}",
    where={"m": "number of wrong answers"},
    source="Geifman, Uziel and El-Yaniv 2019 ICLR; beyond the review",
    matrix=READ,
    pitfalls=TIES
    + "In print the best area is the approximation r + (1-r) ln(1-r); here it is the exact sum, which it tends to.",
    aliases=("excess_aurc", "eaurc"),
    interval=RankedInfluence(influence="e_aurc", when=(("max_rejection", 1.0),)),
)
def e_aurc(rows: OrderedRows) -> float:
    """How far the risk-coverage area lies above that of confidences which put every wrong answer last."""
    curve = CoverageCurve.of(rows)
    return max(0.0, curve.best_mean_accuracy() - curve.mean_accuracy())


@metric(
    title="Area under the accuracy-rejection curve",
    family="selective",
    reads=OrderedAnswers(),
    range=(0.0, 1.0),
    direction="higher",
    equation=r"AUARC=\frac1N\sum_i\big(1-r(c_i)\big)=1-AURC",
    where={"r(t)": "as in aurc"},
    source="Nadeem, Zucker and Hanczar 2009 MLSB, PMLR 8; Lin, Trivedi and Sun 2024 TMLR; beyond the review",
    matrix=READ,
    pitfalls=TIES,
    aliases=("area_under_accuracy_rejection",),
    interval=RankedInfluence(influence="aurc", when=(("max_rejection", 1.0),)),
)
def auarc(rows: OrderedRows) -> float:
    """Mean accuracy of the answers kept, over all thresholds."""
    return CoverageCurve.of(rows).mean_accuracy()


@metric(
    title="Prediction rejection ratio",
    family="selective",
    reads=OrderedAnswers(),
    range=(None, 1.0),
    direction="higher",
    equation=r"PRR=\frac{AUARC-a}{AUARC^*-a}",
    where={
        "a": "accuracy, the area of a blind order",
        "AUARC^*": "the area where every wrong answer is rejected first",
    },
    source="Malinin and Gales 2021 ICLR; Fadeeva et al. 2023 EMNLP (LM-Polygraph), area of the accuracy of those kept; "
    "beyond the review",
    matrix=READ,
    pitfalls=TIES
    + "0 is what chance gives, 1 the best order; below 0 confidence points the wrong way. Malinin and Gales take "
    "the area of errors that remain by all answers, LM-Polygraph that of the accuracy of those kept, which is "
    "meant here. "
    "Undefined where all answers are right or all are wrong.",
    aliases=("prediction_rejection_ratio",),
    interval=RankedInfluence(influence="prr", when=(("max_rejection", 1.0),)),
)
def prr(rows: OrderedRows, *, max_rejection: Rejected = 1.0) -> float:
    """How much of the possible gain from rejecting doubtful answers the confidence brings.

    Parameters
    ----------
    max_rejection
        Largest share of the answers that is rejected.
    """
    curve = CoverageCurve.of(rows)
    blind = curve.correct / curve.total
    best = curve.best_mean_accuracy(max_rejection)
    if not 0 < blind < 1 or best <= blind:
        raise UndefinedMetricError("prr needs right and wrong answers; got only one of them")
    return (curve.mean_accuracy(max_rejection) - blind) / (best - blind)
