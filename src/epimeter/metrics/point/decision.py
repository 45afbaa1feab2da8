# SPDX-License-Identifier: Apache-2.0
"""What forecasts are worth when only the decision, its margin, or its mistakes count."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import Between
from epimeter.summaries import Mean, MeanOf
from epimeter.summaries.means import in_core
from epimeter.summaries.sums import Sums, SumsOf
from epimeter.uncertainty import SmoothSums
from epimeter.views import Binary, View, view

Floats = NDArray[np.float64]


@in_core("halves")
def shared_hits(view: View) -> Floats:
    """1 where the true class is the most likely one, shared among the classes tied with it."""
    if isinstance(view, Binary):  # p against 0.5, not p against 1 - p, which is rounded
        return np.where(view.prob == 0.5, 0.5, (view.prob > 0.5) == view.true)
    top = view.prob == view.prob.max(axis=1, keepdims=True)
    return np.asarray(top[np.arange(view.n_rows), view.true] / top.sum(axis=1))


@metric(
    title="Success rate",
    family="point",
    reads=MeanOf(shared_hits),
    range=(0.0, 1.0),
    direction="higher",
    proper="yes",
    equation=r"SR=\frac1N\sum_i\frac{I[c_{i,y_i}=\max_k c_{ik}]}{\#\{k:c_{ik}=\max_l c_{il}\}}",
    where={"c_i,y_i": "probability of the true class", "I": "1 if true, else 0"},
    source="Gneiting and Raftery 2007, JASA 102; Lane 2025 s3.6 eq 13",
    matrix="full class probabilities",
    pitfalls="A reward, although the review also calls it a loss. Proper but far from strictly: it says "
    "nothing about how confident the decisions are. Accuracy by argmax differs on ties.",
    aliases=("sr", "zero_one_score", "accuracy_with_ties"),
)
def success_rate(mean: Mean) -> float:
    """Share of rows whose most likely class came true; ties share the credit."""
    return mean.value


def worthy_hits(
    view: View, *, threshold: Annotated[float, Between(0, 1, open_low=True, open_high=True)] = 0.5
) -> Floats:
    """What a right decision is worth, 0 for a wrong one, half of what it may be worth where p is the threshold.

    Parameters
    ----------
    threshold
        The probability from which on 1 is decided: the cost of a false alarm over that of a false alarm and a miss together.
        A right 1 is worth 2 (1 - threshold), a right 0 is worth 2 threshold.
    """
    prob = view.prob.astype(np.float64, copy=False)
    worth = np.where(view.true == 1, 2 * (1 - threshold), 2 * threshold)
    return np.asarray(worth * np.where(prob == threshold, 0.5, (prob > threshold) == (view.true == 1)))


@metric(
    title="Asymmetric success rate",
    family="point",
    reads=MeanOf(worthy_hits, "event"),
    range=(0.0, 2.0),
    direction="higher",
    proper="yes",
    equation=r"SR_c=\frac2N\sum_i\big[(1-c)\,y_i\,I[p_i>c]+c\,(1-y_i)\,I[p_i<c]+\tfrac12 I[p_i=c]\,((1-c)y_i+c(1-y_i))\big]",
    where={
        "c": "parameter threshold: cost of a false alarm by the cost of a false alarm and a miss",
        "p_i": "probability of outcome 1",
    },
    source="Gneiting and Raftery 2007, JASA 102, s3.3 (cost-weighted misclassification); Lane 2025 s3.6",
    pitfalls="Proper but far from strictly: only the side of the threshold counts. With threshold 0.5 it is the success rate. Its "
    "largest value depends on how often outcome 1 occurs, so it compares models on the same rows only.",
    aliases=("cost_weighted_success_rate", "asymmetric-cost success rate"),
)
def asymmetric_success_rate(mean: Mean) -> float:
    """What decisions are worth where a miss and a false alarm cost differently."""
    return mean.value


def _margins_or_probabilities(
    y_true: Any, y_prob: Any, weight: Any, extra: Mapping[str, Any], choices: Mapping[str, Any]
) -> View:
    margin = choices.get("score") == "margin"
    return view(y_true, y_prob, sample_weight=weight, probabilities=not margin, **extra)


def hinge_losses(view: View, *, score: Literal["probability", "margin"] = "probability") -> Floats:
    """Hinge loss of each row.

    Parameters
    ----------
    score
        ``probability``: the margin is 2 c - 1, so that 0.5 is the border; ``margin``: y_prob is the margin
        itself, any real number.
    """
    given = view.prob.astype(np.float64, copy=False)
    margin = given if score == "margin" else 2 * given - 1
    side = 2.0 * view.true - 1
    return np.maximum(0.0, 1 - side * margin)


@metric(
    title="Mean hinge loss",
    family="point",
    reads=MeanOf(hinge_losses, "event"),
    prepare=_margins_or_probabilities,
    range=(0.0, 2.0),
    direction="lower",
    proper="no",
    equation=r"HL=\frac1N\sum_i\max\big(0,\;1-(2y_i-1)s_i\big)",
    where={"s_i": "signed margin: 2 c_i - 1, or what was given", "y_i": "outcome"},
    source="Menon et al. 2012, ICML; Lane 2025 s3.8 eq 19, 20",
    matrix="reduced to its top label; an (N, 2) matrix is therefore not the same as the class-1 vector",
    pitfalls="With score=probability it is exactly twice the mean absolute error. The review's form on raw "
    "probabilities (score=margin) is not the l1 loss it is said to be: it adds the share of negative "
    "outcomes.",
    aliases=("hl", "hinge"),
)
def hinge_loss(mean: Mean) -> float:
    """How far rows lie on the wrong side of a margin of 1."""
    return mean.value


def soft_mistakes(view: View) -> Floats:
    """Mistakes that were doubted, and doubts plus mistakes."""
    doubt = 1 - view.prob.astype(np.float64, copy=False)
    mistake = 1.0 - view.true
    return np.column_stack([doubt * mistake, doubt + mistake])


@metric(
    title="Soft F1 score",
    family="point",
    reads=SumsOf(soft_mistakes, "event"),
    range=(0.0, 1.0),
    direction="higher",
    proper="no",
    equation=r"SF1=\frac{2\sum_i w_i(1-c_i)(1-y_i)}{\sum_i w_i(2-c_i-y_i)}",
    where={"c_i": "confidence in the model's own prediction", "y_i": "1 if that prediction is right"},
    source="Hendrycks, Mazeika and Dietterich 2019, ICLR; Lane 2025 s3.11 eq 24",
    matrix="reduced to its top label; an (N, 2) matrix is therefore not the same as the class-1 vector",
    pitfalls="Rewards confidence 0 on mistakes and 1 elsewhere, which is sharpness and not calibration. A "
    "mistake is the positive class, so swapping 0 and 1 changes the value. NaN when every prediction is "
    "right and certain.",
    aliases=("sf1",),
    interval=SmoothSums(),
)
def soft_f1(sums: Sums) -> float:
    """F1 score of doubt as a detector of mistakes."""
    doubted, both = (float(total) for total in sums.totals)
    return 2 * doubted / both if both > 0 else math.nan
