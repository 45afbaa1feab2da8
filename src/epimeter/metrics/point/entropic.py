# SPDX-License-Identifier: Apache-2.0
"""The entropic calibration difference: surprise at what came true, less the surprise announced."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import InputError
from epimeter.limits import Between
from epimeter.metrics.point.spiegelhalter import from_centre, two_sided
from epimeter.results import Result
from epimeter.summaries import Mean, MeanOf
from epimeter.summaries.logarithm import log
from epimeter.summaries.means import in_core
from epimeter.summaries.rowwise import row_dot, row_sum
from epimeter.summaries.sums import Sums, SumsOf
from epimeter.uncertainty import SmoothSums
from epimeter.views import Binary, Multiclass, View

Floats = NDArray[np.float64]
Variant = Literal["general", "true_vs_rest"]
Clip = Annotated[float, Between(0, 0.5, open_high=True)]
"""How near to 0 and 1 a probability may come; 0 leaves every one as it was stated."""


def positive_log(prob: Floats) -> Floats:
    """The logarithm, 0 at 0: for terms c log c, whose limit is 0."""
    return log(np.where(prob > 0, prob, 1.0))


def clipped(view: View, eps: float) -> View:
    """The forecasts moved to [eps, 1 - eps], those of a matrix divided by their new sum; unchanged at eps = 0."""
    if eps == 0:
        return view
    if isinstance(view, Multiclass):
        if eps * view.n_classes >= 1:
            raise InputError(
                f"eps must be below 1 / {view.n_classes}, the share of each of {view.n_classes} classes; got {eps:g}",
                field="eps",
            )
        prob = np.clip(view.prob.astype(np.float64, copy=False), eps, 1 - eps)
        return Multiclass(view.true, prob / row_sum(prob)[:, None], view.weight, view.columns)
    return replace(view, prob=np.clip(view.prob.astype(np.float64, copy=False), eps, 1 - eps))


def columns(view: View) -> Floats:
    """One probability a class; those of a vector without remembering them."""
    if isinstance(view, Binary):
        prob = view.prob.astype(np.float64, copy=False)
        return np.stack([1.0 - prob, prob]).T
    return view.prob.astype(np.float64, copy=False)


def true_against_rest(prob: Floats) -> Floats:
    """(c - 1) log(c / (1 - c)): +inf at 0, 0 at 1."""
    inside = (prob > 0) & (prob < 1)
    safe = np.where(inside, prob, 0.5)
    return np.where(inside, (safe - 1) * (log(safe) - log(1 - safe)), np.where(prob > 0, 0.0, np.inf))


@in_core("entropic")
def entropic_differences(view: View, *, variant: Variant = "general", eps: Clip = 0.0) -> Floats:
    """Contribution of each row.

    Parameters
    ----------
    variant
        ``general``: expected minus actual log likelihood; ``true_vs_rest``: the two-class formula on the
        probability of the true class. For two classes they agree.
    eps
        Clip the forecasts to [eps, 1 - eps] first, the columns of a matrix divided by their new sum. At 0 nothing is
        clipped, and an outcome that was given probability 0 makes the value infinite.
    """
    view = clipped(view, eps)
    if variant == "true_vs_rest":
        return true_against_rest(view.picked)
    prob = columns(view)
    return _differences(view, prob, positive_log(prob))


def _differences(view: View, prob: Floats, logs: Floats) -> Floats:
    """Expected less actual log likelihood of each row."""
    return row_dot(prob, logs) - log(view.picked)


VARIANTS = (
    r"\text{general: }ECD=\frac1N\sum_i\Big[\sum_{k}c_{ik}\log c_{ik}-\log c_{i,y_i}\Big];\qquad"
    r"\text{true\_vs\_rest: }\frac1N\sum_i(c_{i,y_i}-1)\log\frac{c_{i,y_i}}{1-c_{i,y_i}}"
)


@metric(
    title="Entropic calibration difference",
    family="point",
    reads=MeanOf(entropic_differences),
    range=(None, None),
    ideal=0.0,
    direction="signed",
    proper="no",
    test="asymptotic",
    equation=VARIANTS,
    where={
        "c_ik": "probability of class k; natural logarithm, 0 log 0 = 0",
        "c_i,y_i": "probability of the true class",
    },
    source="Sumler, Devlin, Maskell and Lane 2025 eq 11, 14, 15; Lane 2025 s3.4 eq 9",
    matrix="full class probabilities",
    pitfalls="Zero does not prove calibration: every uniform forecast scores 0 too, and its absolute value "
    "is not a proper score. With more than two classes true_vs_rest is not zero for a calibrated model "
    "(+0.46 for a uniform one with K = 3); use general, or ecd_test. One row whose outcome was given probability 0 makes it "
    "infinite, which isotonic maps bring about; eps clips, and the value then depends on eps (ecd_split says how many rows).",
    aliases=("entropic_calibration_difference",),
    simulated="Nominal 95 % intervals cover 94 to 96 % for N from 500 to 10,000.",
)
def ecd(mean: Mean) -> float:
    """Surprise at what came true minus the surprise the forecast announced: above 0 over-confident."""
    return mean.value


@dataclass(frozen=True, kw_only=True)
class EntropicSplit(Result):
    """The two surprises whose difference is the entropic calibration difference, and the share of rows that eps moved."""

    ecd: float
    log_loss: float
    entropy: float
    clipped: float


def entropic_parts(view: View, *, eps: Clip = 0.0) -> Floats:
    """The difference, the surprise at what came true and the surprise announced, of each row; 1 where eps moved it.

    Parameters
    ----------
    eps
        Clip the forecasts to [eps, 1 - eps] first, as in ecd; 0 clips nothing.
    """
    stated, view = columns(view), clipped(view, eps)
    prob = columns(view)
    loss, entropy = -log(view.picked), -row_dot(prob, positive_log(prob))
    moved = (stated < eps) | (stated > 1 - eps)
    return np.column_stack([loss - entropy, loss, entropy, moved.any(axis=1)])


@metric(
    title="Entropic calibration difference, split into log loss and entropy",
    family="point",
    reads=SumsOf(entropic_parts),
    range=(None, None),
    ideal=0.0,
    direction="signed",
    proper="no",
    equation=r"ECD=L-H,\qquad L=-\frac1N\sum_i\log c_{i,y_i},\qquad H=-\frac1N\sum_i\sum_kc_{ik}\log c_{ik}",
    where={
        "L": "log loss: the surprise at what came true",
        "H": "entropy of the forecasts: the surprise they announce",
        "c_ik": "probability of class k; natural logarithm, 0 log 0 = 0",
    },
    source="Sumler, Devlin, Maskell and Lane 2025 eq 11",
    matrix="full class probabilities",
    pitfalls="A small difference of two large numbers and a small difference of two small ones are different models: the first "
    "knows little and says so. clipped counts the rows that eps moved; where it is not 0, the value depends on eps.",
    aliases=("ecd_decomposition",),
)
def ecd_split(sums: Sums) -> EntropicSplit:
    """The surprise at what came true, the surprise the forecasts announced, and their difference, the ECD."""
    difference, loss, entropy, moved = (float(value) for value in sums.mean)
    return EntropicSplit(ecd=difference, log_loss=loss, entropy=entropy, clipped=moved)


@dataclass(frozen=True, kw_only=True)
class EntropicTest(Result):
    """The difference, its exact mean and standard error under calibration, and the normal test of the two."""

    ecd: float
    expected: float
    standard_error: float
    z: float
    p_value: float
    p_value_overconfident: float


@in_core("entropic", "none", "entropic_variance")
def entropic_moments(view: View, *, variant: Variant = "general", eps: Clip = 0.0) -> Floats:
    """Contribution of each row, its mean and its variance if the label were drawn from the forecast.

    Parameters
    ----------
    variant
        As in ecd.
    eps
        As in ecd; the forecasts tested are then the clipped ones.
    """
    view = clipped(view, eps)
    prob = columns(view)
    if variant == "general":
        # Labels c_k = 0 have no share in the moments; they get the score 0 instead of inf.
        logs = positive_log(prob)
        score, difference = -logs, _differences(view, prob, logs)
        expected = np.zeros(view.n_rows)  # sum c log c - sum c log c
    else:
        score = np.where(prob > 0, true_against_rest(np.where(prob > 0, prob, 1.0)), 0.0)
        expected, difference = row_dot(prob, score), true_against_rest(view.picked)
    # Centred at the mean by the row's own sum, so that uniform rows that miss 1 by a rounding have no
    # variance.
    centre = row_dot(prob, score) / row_sum(prob)
    distance = score - centre[:, None] if isinstance(view, Binary) else from_centre(score, centre)
    variance = row_dot(prob, distance**2)
    return np.stack([difference, expected, variance]).T  # each column in one piece


@metric(
    title="Test of calibration with the entropic calibration difference",
    family="point",
    reads=SumsOf(entropic_moments, squared=True),
    range=(None, None),
    ideal=0.0,
    direction="signed",
    proper="no",
    test="asymptotic",
    equation=r"\mu_i=\sum_kc_{ik}s_{ik},\ v_i=\sum_kc_{ik}(s_{ik}-\mu_i)^2,\ "
    r"\text{expected}=\frac{\sum_iw_i\mu_i}{\sum_iw_i},\ "
    r"\text{standard\_error}=\frac{\sqrt{\sum_iw_i^2v_i}}{\sum_iw_i},\ "
    r"z=\frac{ECD-\text{expected}}{\text{standard\_error}},\ p=2\,\Phi(-|z|),\ p_{over}=\Phi(-z)",
    where={
        "s_ik": "contribution of row i to ecd if its label were k",
        "Φ": "standard normal distribution function",
        "expected": "0 for variant general",
    },
    source="Sumler, Devlin, Maskell and Lane 2025 s5, with the exact null mean and variance in place of resampling",
    matrix="full class probabilities",
    pitfalls="A normal limit: not to be trusted when a single row holds more than a tenth of the null "
    "variance. Weights are not repetitions here: the variance goes with their squares. The paper's test is "
    "the one-sided p_value_overconfident.",
    copies=False,
    aliases=("ecd_z",),
    interval=SmoothSums(),
)
def ecd_test(sums: Sums) -> EntropicTest:
    """Entropic calibration difference against its null mean and variance: z above 0 is over-confident."""
    difference, expected, _ = (float(value) for value in sums.mean)
    error = math.sqrt(sums.divisor(max(0.0, sums.squares[2]))) / float(sums.size[0])
    if math.isinf(difference):
        z = math.inf
    else:
        z = (difference - expected) / error if error > 0 else math.nan
    return EntropicTest(
        ecd=difference,
        expected=expected,
        standard_error=error,
        z=z,
        p_value=two_sided(z),
        p_value_overconfident=math.erfc(z / math.sqrt(2)) / 2,
    )
