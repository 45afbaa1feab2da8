# SPDX-License-Identifier: Apache-2.0
"""The chance that a right answer has the higher confidence."""

from __future__ import annotations

import numpy as np

from epimeter.card_index import metric
from epimeter.errors import UndefinedMetricError
from epimeter.metrics.selective.areas import READ
from epimeter.summaries.rows import OrderedAnswers, OrderedRows
from epimeter.uncertainty import RankedInfluence


@metric(
    title="Area under the ROC curve of confidence for right answers",
    family="selective",
    reads=OrderedAnswers(),
    range=(0.0, 1.0),
    direction="higher",
    equation=r"AUROC=\frac{\sum_{i:y_i=1}\sum_{j:y_j=0}\big(1[c_i>c_j]+\tfrac12 1[c_i=c_j]\big)}{N_1N_0}",
    where={"N_1, N_0": "number of right and of wrong answers"},
    source="Hanley and McNeil 1982, Radiology 143; for confidence Hendrycks and Gimpel 2017 ICLR; beyond the review",
    matrix=READ,
    pitfalls="Of an event (the probability of outcome 1) it is the confidence in the top label that is ranked, not the "
    "probability: scikit-learn's roc_auc_score of y_true and y_prob is another number. Undefined where all answers "
    "are right or "
    "all are wrong. It looks at ranks only: any increasing map of the confidences leaves it as it is.",
    aliases=("auc", "roc_auc", "C statistic (AUC)"),
    interval=RankedInfluence(influence="auroc", logit=True, when=(("max_rejection", 1.0),)),
)
def auroc(rows: OrderedRows) -> float:
    """Chance that a right answer has a higher confidence than a wrong one; equal ones count half."""
    levels = rows.levels
    right, wrong = levels.true, levels.weight - levels.true
    all_right, all_wrong = float(right.sum()), float(wrong.sum())
    if all_right <= 0 or all_wrong <= 0:
        raise UndefinedMetricError("auroc needs right and wrong answers; got only one of them")
    below = np.cumsum(wrong) - wrong
    return float(np.sum(right * (below + wrong / 2)) / (all_right * all_wrong))
