# SPDX-License-Identifier: Apache-2.0
"""The test of safe calibration: is the model more confident than it may be?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Annotated, Any, Literal

import numpy as np

from epimeter.card_index import metric as card
from epimeter.errors import UndefinedMetricError
from epimeter.inference.consistency import Alpha, consistency_test, judged
from epimeter.inference.grouped import choices_of_one, has_repeats, mean_p_value
from epimeter.limits import AtLeast
from epimeter.metrics.point.entropic import Clip, Variant, clipped, ecd, ecd_test
from epimeter.results import Result
from epimeter.views import view


@dataclass(frozen=True, kw_only=True)
class SafetyTest(Result):
    """The entropic calibration difference, the p-value against over-confidence, and the value above which it is rejected.

    `threshold` is NaN where rows come in groups: there many tests are made, each with a threshold of its own.
    """

    value: float
    p_value: float
    threshold: float
    reject: bool
    method: str


@card(
    title="Test of safe calibration",
    family="test",
    equation=r"\text{reject if }ECD>t_\alpha;\quad\text{resampling: }t_\alpha=ECD^*_{(R-m)},\ m=\lfloor\alpha(R+1)\rfloor-1,"
    r"\ y^*_i\sim P(\cdot\mid p_i);\quad\text{asymptotic: }t_\alpha=\text{expected}+z_{1-\alpha}\,\text{standard\_error}",
    where={
        "ECD": "entropic calibration difference, above 0 for over-confident models",
        "R": "draws",
        "expected, standard_error": "exact mean and deviation of ECD under calibration, as in ecd_test",
    },
    source="Sumler, Devlin, Maskell and Lane 2025 s5; +1 as Phipson and Smyth 2010",
    direction="higher",
    test="resampling",
    weighted=False,
    pitfalls="Under-confidence is safe here by definition, and a forecast that never varies passes. One outcome that was given "
    "probability 0 makes the value infinite and the test reject; eps clips the forecasts, and those are tested then. The "
    "published test draws the predictions with replacement too, which rejects calibrated models; here they are kept.",
    aliases=("safe calibration", "safety_test"),
    simulated="Level 5.2 % at nominal 5 %, 2,000 data sets.",
)
def safe_calibration_test(
    y_true: Any,
    y_prob: Any,
    *,
    method: Literal["resampling", "asymptotic"] = "resampling",
    variant: Variant = "general",
    eps: Clip = 0.0,
    alpha: Alpha = 0.05,
    draws: Annotated[int, AtLeast(1)] = 999,
    seed: int = 0,
    null: Any = None,
    groups: Any = None,
) -> SafetyTest:
    """Test of safe calibration: only a large entropic calibration difference, over-confidence, speaks against the model.

    Parameters
    ----------
    method
        ``resampling`` draws labels from the forecasts, as the paper; ``asymptotic`` uses the exact null mean and variance.
    variant
        The difference that is tested, as in ecd.
    eps
        Clip the forecasts to [eps, 1 - eps] first, as in ecd; labels are drawn from the clipped ones.
    alpha
        Level of the test.
    draws, seed
        Of the resampling.
    null
        The values of ecd on drawn labels, where `drawn_null` was asked already.
    groups
        One label a row; the test is made on one row a group, as in `calibration_tests`.
    """
    given = view(y_true, y_prob)
    true, prob = given.true, clipped(given, eps).prob
    if groups is not None and has_repeats(groups, given.n_rows):
        parts = [
            _tested(true[rows], prob[rows], method, variant, alpha, draws, seed + number, None)
            for number, rows in enumerate(choices_of_one(groups, seed))
        ]
        p_value = mean_p_value([part.p_value for part in parts])
        return SafetyTest(
            value=float(ecd(true, prob, variant=variant)),
            p_value=p_value,
            threshold=math.nan,
            reject=p_value <= alpha,
            method=f"{method}, one row a group, {len(parts)} times",
        )
    return _tested(true, prob, method, variant, alpha, draws, seed, null)


def _tested(
    true: Any, prob: Any, method: str, variant: Variant, alpha: float, draws: int, seed: int, null: Any
) -> SafetyTest:
    """The test on rows that are independent."""
    if method == "resampling":
        if null is None:
            choices = {"variant": variant}
            drawn = consistency_test(
                true, prob, metric="ecd", metric_params=choices, alpha=alpha, draws=draws, seed=seed
            )
        else:
            drawn = judged(float(ecd(true, prob, variant=variant)), np.asarray(null), "greater", alpha)
        return SafetyTest(
            value=drawn.value, p_value=drawn.p_value, threshold=drawn.threshold, reject=drawn.reject, method=method
        )
    made = ecd_test(true, prob, variant=variant)
    p_value = made.p_value_overconfident
    if math.isnan(p_value):
        raise UndefinedMetricError("safe_calibration_test needs forecasts other than 0 and 1; the null variance is 0")
    threshold = made.expected + NormalDist().inv_cdf(1 - alpha) * made.standard_error
    return SafetyTest(
        value=made.ecd, p_value=p_value, threshold=threshold, reject=bool(p_value <= alpha), method=method
    )
