# SPDX-License-Identifier: Apache-2.0
"""Intervals of areas under curves of ranked answers, by their influence functions.

What one answer contributes to an area is known: for the ROC curve from DeLong et al. 1988, for the risk-coverage curve by
differentiating its population form, ``E r(C)`` with ``r(t) = E[(1 - Y) 1(C >= t)] / P(C >= t)``. Rows of one group are added up
first, as for means.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from epimeter.inference.spread import SamplingDesign, student
from epimeter.views import View

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Ranked:
    """Answers with the share of weight at, above and below each distinct confidence."""

    true: Floats
    level: NDArray[np.intp]
    size: Floats
    right: Floats

    @classmethod
    def of(cls, view: View) -> _Ranked:
        weight = np.ones(view.n_rows) if view.weight is None else view.weight
        level = np.unique(view.prob, return_inverse=True)[1].ravel()
        true = np.asarray(view.true, np.float64)
        total = weight.sum()
        return cls(
            true, level, np.bincount(level, weights=weight) / total, np.bincount(level, weights=weight * true) / total
        )

    @cached_property
    def coverage(self) -> Floats:
        """Share of the answers at a level or above it."""
        return np.asarray(np.cumsum(self.size[::-1])[::-1])

    @cached_property
    def risk(self) -> Floats:
        """Share of wrong answers among them."""
        wrong = np.cumsum((self.size - self.right)[::-1])[::-1]
        return np.asarray(np.divide(wrong, self.coverage, out=np.zeros_like(wrong), where=self.coverage > 0))

    @property
    def error(self) -> float:
        """Share of wrong answers."""
        return 1.0 - float(self.right.sum())

    @property
    def centred_error(self) -> Floats:
        return 1.0 - self.true - self.error


def _auroc(ranked: _Ranked, _: float) -> Floats | None:
    right, wrong = ranked.right, ranked.size - ranked.right
    share_right, share_wrong = float(right.sum()), float(wrong.sum())
    if share_right <= 0 or share_wrong <= 0:
        return None
    beats = (np.cumsum(wrong) - wrong / 2) / share_wrong
    beaten = 1.0 - (np.cumsum(right) - right / 2) / share_right
    area = float(np.sum(right * beats)) / share_right
    return np.where(
        ranked.true == 1, (beats[ranked.level] - area) / share_right, (beaten[ranked.level] - area) / share_wrong
    )


def _aurc(ranked: _Ranked, value: float) -> Floats:
    """As a threshold the answer gives its own risk; as one kept it moves the risk at every threshold below it."""
    area = float(np.sum(ranked.size * ranked.risk))
    share = np.divide(ranked.size, ranked.coverage, out=np.zeros_like(ranked.size), where=ranked.coverage > 0)
    gain, loss = np.cumsum(share), np.cumsum(share * ranked.risk)
    return np.asarray(ranked.risk[ranked.level] - area + (1.0 - ranked.true) * gain[ranked.level] - loss[ranked.level])


def _best(ranked: _Ranked) -> Floats | None:
    """Influence of the best area under the risk-coverage curve, r + (1 - r) ln(1 - r)."""
    return None if ranked.error >= 1 else -math.log1p(-ranked.error) * ranked.centred_error


def _e_aurc(ranked: _Ranked, value: float) -> Floats | None:
    best = _best(ranked)
    return None if best is None else _aurc(ranked, value) - best


def _prr(ranked: _Ranked, value: float) -> Floats | None:
    best, error = _best(ranked), ranked.error
    if best is None or error <= 0:
        return None
    room = error - (error + (1 - error) * math.log1p(-error))
    gained = ranked.centred_error - _aurc(ranked, value)
    return np.asarray((gained - value * (ranked.centred_error - best)) / room)


INFLUENCES: Mapping[str, Callable[[_Ranked, float], Floats | None]] = {
    "auroc": _auroc,
    "aurc": _aurc,
    "e_aurc": _e_aurc,
    "prr": _prr,
}


def ranked_ends(
    influence_of: str, value: float, view: View, design: SamplingDesign, level: float, logit: bool = False
) -> tuple[float, float] | None:
    """The ends of an interval; None where the influence is not known on these answers."""
    influence = INFLUENCES[influence_of](_Ranked.of(view), value)
    if influence is None or not np.isfinite(influence).all():
        return None
    error = design.deviation(influence)
    if error == 0:
        return None
    reach = student(design.units, level) * error
    if logit and 0 < value < 1:
        centre, spread = math.log(value / (1 - value)), reach / (value * (1 - value))
        return 1 / (1 + math.exp(min(700.0, spread - centre))), 1 / (1 + math.exp(min(700.0, -spread - centre)))
    return value - reach, value + reach
