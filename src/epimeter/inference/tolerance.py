# SPDX-License-Identifier: Apache-2.0
"""Tests of other claims than perfect calibration: an error of at most so much, and safety from over-confidence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from epimeter.card import find
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.inference.bootstrap import bootstrapped, scheme
from epimeter.inference.consistency import consistency_test, judged
from epimeter.inference.draws import at_least, at_most
from epimeter.inference.grouped import choices_of_one, has_repeats, mean_p_value
from epimeter.inference.intervals import (
    NORMS,
    OPTIONS,
    error_of,
    evidence_of,
    known_interval,
    refuse_without_value,
)
from epimeter.inference.statistic import Statistic
from epimeter.limits import Between
from epimeter.metrics.point.entropic import ecd, ecd_test
from epimeter.parameters import Parameter, check
from epimeter.results import Result

ALPHA = Parameter("alpha", 0.05, (float,), (), Between(0, 1, open_low=True, open_high=True))


@dataclass(frozen=True, kw_only=True)
class ToleranceTest(Result):
    """What the data say about "the error is at most tau".

    `p_value` is small where the error is shown to be larger than tau, `p_value_within` where it is shown to be
    smaller; `verdict` is ``above``, ``within`` or ``undecided`` at level alpha.
    """

    value: float
    tau: float
    p_value: float
    p_value_within: float
    reject: int
    verdict: str
    method: str


def tolerance_test(
    y_true: Any,
    y_prob: Any,
    *,
    tau: float,
    metric: Any = "ece",
    metric_params: Any = None,
    alpha: float = 0.05,
    groups: Any = None,
    draws: int = 1999,
    seed: int = 0,
) -> ToleranceTest:
    """Test whether a calibration error is at most tau.

    Where the metric has an interval by inversion, this is the very test that was inverted; for means their normal law;
    else the basic bootstrap turned round.

    Parameters
    ----------
    tau
        The tolerance.
    metric, metric_params
        A metric of the catalogue whose low values are good, and its parameters.
    alpha
        Level of either test.
    groups
        One label a row; rows of one label count as one piece of evidence.
    draws, seed
        For the bootstrap.
    """
    chosen = find(metric) if isinstance(metric, str) else metric
    options = {"alpha": alpha, "draws": draws, "seed": seed}
    check("tolerance_test", {"alpha": ALPHA, "draws": OPTIONS["draws"], "seed": OPTIONS["seed"]}, options)
    refuse_without_value(chosen)
    if chosen.reads is None or chosen.card.direction not in ("lower", "signed"):
        raise InputError(f"{chosen.name} is not an error with a tolerance; choose a metric whose low values are good")
    if not math.isfinite(tau):
        raise InputError(f"tau must be a finite number; got {tau!r}", field="tau")
    view, recipe, rest = chosen.prepare(y_true, y_prob, **dict(metric_params or {}))
    evidence = evidence_of(view, groups)
    if evidence.units < 2:
        raise UndefinedMetricError(f"tolerance_test needs at least 2 rows; got {evidence.units}")
    statistic = Statistic(chosen.name, chosen, recipe, rest, None)
    finished = recipe.finish(recipe.summarise(view))
    value = statistic.of_view(view)
    size = error_of(chosen, finished, view, rest, evidence)
    if size is not None:
        power = NORMS[chosen.name][1] if chosen.name in NORMS else 1
        below = float(size.below(np.array([max(tau, 0.0) ** (1 / power)]), size.seen)[0])
        above, within, method = 1 - below, below, "inversion"
    else:
        known = known_interval(chosen, recipe, finished, view, rest, evidence, 0.6826894921370859)
        if known is not None:
            from scipy.special import ndtr

            error = (known.high - known.low) / 2
            z = (value - tau) / error if error > 0 else math.copysign(math.inf, value - tau)
            above, within, method = float(ndtr(-z)), float(ndtr(z)), "normal"
        else:
            plan = scheme(view.n_rows, None, evidence.group)
            drawn = bootstrapped([view], [statistic], plan, draws, seed)[:, 0, 0]
            mirrored = 2 * value - tau
            above = (1 + int(at_least(drawn, mirrored).sum())) / (draws + 1)
            within = (1 + int(at_most(drawn, mirrored).sum())) / (draws + 1)
            method = "basic bootstrap"
    verdict = "above" if above <= alpha else "within" if within <= alpha else "undecided"
    return ToleranceTest(
        value=value,
        tau=float(tau),
        p_value=above,
        p_value_within=within,
        reject=int(above <= alpha),
        verdict=verdict,
        method=method,
    )


@dataclass(frozen=True, kw_only=True)
class SafetyTest(Result):
    """The entropic calibration difference, and the p-value against over-confidence."""

    value: float
    p_value: float
    reject: int
    method: str


def safe_calibration_test(
    y_true: Any,
    y_prob: Any,
    *,
    method: Literal["resampling", "asymptotic"] = "resampling",
    alpha: float = 0.05,
    draws: int = 999,
    seed: int = 0,
    null: Any = None,
    groups: Any = None,
) -> SafetyTest:
    """Test of safe calibration (Sumler et al. 2025): is the model more confident than it may be?

    Under-confidence is safe, so only a large entropic calibration difference speaks against the model.

    Parameters
    ----------
    method
        ``resampling`` draws labels from the forecasts, as the paper; ``asymptotic`` uses the exact null mean and variance.
    alpha
        Level of the test.
    draws, seed
        Of the resampling.
    null
        The values of ecd on drawn labels, where `drawn_null` was asked already.
    groups
        One label a row; the test is made on one row a group, as in `calibration_tests`.
    """
    if groups is not None and has_repeats(groups, len(y_true)):
        true, prob = np.asarray(y_true), np.asarray(y_prob)
        parts = [
            safe_calibration_test(true[rows], prob[rows], method=method, alpha=alpha, draws=draws, seed=seed + number)
            for number, rows in enumerate(choices_of_one(groups, seed))
        ]
        p_value = mean_p_value([part.p_value for part in parts])
        word = f"{method}, one row a group, {len(parts)} times"
        return SafetyTest(value=float(ecd(true, prob)), p_value=p_value, reject=int(p_value <= alpha), method=word)
    if method == "resampling":
        if null is None:
            drawn = consistency_test(y_true, y_prob, metric="ecd", alpha=alpha, draws=draws, seed=seed)
        else:
            drawn = judged(float(ecd(y_true, y_prob)), null, "greater", alpha)
        return SafetyTest(value=drawn.value, p_value=drawn.p_value, reject=drawn.reject, method=method)
    if method != "asymptotic":
        raise InputError(f"method must be resampling or asymptotic; got {method!r:.40}", field="method")
    check("safe_calibration_test", {"alpha": ALPHA}, {"alpha": alpha})
    made = ecd_test(y_true, y_prob)
    p_value = made.p_value_overconfident
    if math.isnan(p_value):
        raise UndefinedMetricError("safe_calibration_test needs forecasts other than 0 and 1; the null variance is 0")
    return SafetyTest(value=made.ecd, p_value=p_value, reject=int(p_value <= alpha), method=method)
