# SPDX-License-Identifier: Apache-2.0
"""Critical values: how far a metric may lie before its test of perfect calibration rejects at a level by itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.calling import Metric
from epimeter.errors import InputError
from epimeter.metrics.bin.adaptive import pearson_quantile
from epimeter.metrics.bin.square import l2_ece_ci, null_law
from epimeter.metrics.cumulative.brownian import brownian_tail
from epimeter.metrics.cumulative.differences import ecce_mad
from epimeter.metrics.point.spiegelhalter import spiegelhalter_z
from epimeter.special import brentq
from epimeter.views import View

Floats = NDArray[np.float64]
Alternative = Literal["greater", "less", "two-sided"]


@dataclass(frozen=True)
class Bounds:
    """Values below `lower` and above `upper` are rejected; None where a side is open or no value would be."""

    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True)
class NullLaw:
    """A metric whose value under calibration has a law of its own, and its critical values by that law."""

    metric: Metric[Any]
    bounds: Callable[[Any, View, float], Bounds]


def drawn_bounds(sorted_null: Floats, alternative: Alternative, alpha: float) -> Bounds:
    """Critical values from drawn replicates, smallest first: the (m+1)-th from either end."""
    draws, side = len(sorted_null), alpha / 2 if alternative == "two-sided" else alpha
    m = math.floor(side * (draws + 1) - 1 + 1e-9)
    if m < 0:  # so few draws never reject at this level
        return Bounds()
    lower, upper = float(sorted_null[m]), float(sorted_null[draws - m - 1])
    return Bounds(None if alternative == "greater" else lower, None if alternative == "less" else upper)


def refuse_few_draws(side: float, draws: int) -> None:
    """Refuse a number of draws that can never reject at a level."""
    if side * (draws + 1) < 1 - 1e-9:
        needed = math.ceil(1 / side - 1 - 1e-9)
        raise InputError(f"draws must be at least {needed} to reject at this level; got {draws}", field="draws")


def _normal(made: Any, view: View, alpha: float) -> Bounds:
    z = NormalDist().inv_cdf(1 - alpha / 2)
    return Bounds(-z, z)


def _walk(made: Any, view: View, alpha: float) -> Bounds:
    if not made.sigma > 0:
        return Bounds()
    return Bounds(None, made.sigma * brentq(lambda x: brownian_tail.compute(x) - alpha, 1e-3, 40.0))


def _square(made: Any, view: View, alpha: float) -> Bounds:
    assert l2_ece_ci.reads is not None
    law = null_law(l2_ece_ci.reads.finish(l2_ece_ci.reads.summarise(view.read_as(l2_ece_ci.reads.reading))))
    return Bounds() if law is None else Bounds(None, pearson_quantile(alpha, *law))


LAWS = {
    law.metric.name: law
    for law in (NullLaw(ecce_mad, _walk), NullLaw(l2_ece_ci, _square), NullLaw(spiegelhalter_z, _normal))
}
"""Tests of perfect calibration with a law of their own."""
