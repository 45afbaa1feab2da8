# SPDX-License-Identifier: Apache-2.0
"""Tests of another claim than perfect calibration: that an error is at most so much."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from epimeter.card_index import find
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.inference.bootstrap import bootstrapped
from epimeter.inference.draws import at_least, at_most
from epimeter.inference.error_sizes import error_of
from epimeter.inference.intervals import OPTIONS
from epimeter.inference.known import known_interval, refuse_without_value
from epimeter.inference.scheme import scheme
from epimeter.inference.spread import design_of
from epimeter.inference.statistic import Statistic
from epimeter.limits import Between
from epimeter.parameters import Parameter, check
from epimeter.results import Result
from epimeter.uncertainty import GapNorm

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
    reject: bool
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
    if not chosen.of_probabilities or chosen.card.direction not in ("lower", "signed"):
        raise InputError(f"{chosen.name} is not an error with a tolerance; choose a metric whose low values are good")
    if not math.isfinite(tau):
        raise InputError(f"tau must be a finite number; got {tau!r}", field="tau")
    view, recipe, rest = chosen.prepare(y_true, y_prob, **dict(metric_params or {}))
    design = design_of(view, groups)
    if design.units < 2:
        raise UndefinedMetricError(f"tolerance_test needs at least 2 rows; got {design.units}")
    statistic = Statistic(chosen.name, chosen, recipe, rest, None)
    finished = recipe.finish(recipe.summarise(view))
    value = statistic.of_view(view)
    size = error_of(chosen, finished, view, rest, design)
    if size is not None:
        fact = chosen.card.interval
        power = fact.power if isinstance(fact, GapNorm) else 1
        below = float(size.below(np.array([max(tau, 0.0) ** (1 / power)]), size.seen)[0])
        above, within, method = 1 - below, below, "inversion"
    else:
        known = known_interval(chosen, recipe, finished, view, rest, design, 0.6826894921370859)
        if known is not None:
            from epimeter.special import ndtr

            error = (known.high - known.low) / 2
            z = (value - tau) / error if error > 0 else math.copysign(math.inf, value - tau)
            above, within, method = float(ndtr(-z)), float(ndtr(z)), "normal"
        else:
            plan = scheme(view.n_rows, None, design.group)
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
        reject=bool(above <= alpha),
        verdict=verdict,
        method=method,
    )
