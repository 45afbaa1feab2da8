# SPDX-License-Identifier: Apache-2.0
"""How stated confidences are distributed: a quantile function to draw them, nodes and weights to integrate over them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError
from epimeter.special import expit, logit, ndtr, ndtri

Floats = NDArray[np.float64]

REACH = 9.0
"""Standard deviations that are integrated over; beyond lie 2e-19 of the mass."""
PIECE = 0.05
"""Greatest length of a piece, in standard deviations, that one Gauss-Legendre rule of eight points covers."""


class Law(Protocol):
    """A distribution of confidences."""

    def quantile(self, uniform: Floats) -> Floats:
        """The confidences of uniform numbers in [0, 1)."""

    def nodes(self, cuts: Iterable[float] = ()) -> tuple[Floats, Floats]:
        """Ascending confidences and their weights, which sum to 1; no rule reaches across one of the cuts."""

    def below(self, confidence: Floats) -> Floats:
        """The share of confidences at or below each one."""


@dataclass(frozen=True)
class LogisticNormal:
    """``low + (high - low) * sigmoid(centre + spread * z)`` with a standard normal z."""

    centre: float = 0.5
    spread: float = 1.5
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.centre) and math.isfinite(self.spread) and self.spread > 0):
            raise InputError(
                f"a law needs a finite centre and a spread above 0; got centre {self.centre:g} and spread {self.spread:g}",
                field="spread",
            )
        if not 0 <= self.low < self.high <= 1:
            raise InputError(
                f"confidences must lie in [0, 1]; got the range {self.low:g} to {self.high:g}", field="low"
            )

    def quantile(self, uniform: Floats) -> Floats:
        return np.asarray(self._at(ndtri(uniform)))

    def nodes(self, cuts: Iterable[float] = ()) -> tuple[Floats, Floats]:
        inside = [cut for cut in cuts if self.low < cut < self.high]
        edges = np.unique(np.concatenate([[-REACH, REACH], np.clip(self._score(np.array(inside)), -REACH, REACH)]))
        parts = np.maximum(1, np.ceil(np.diff(edges) / PIECE).astype(int))
        fine = np.concatenate(
            [np.linspace(a, b, n, endpoint=False) for a, b, n in zip(edges[:-1], edges[1:], parts, strict=True)]
        )
        ends = np.append(fine, edges[-1])
        point, share = np.polynomial.legendre.leggauss(8)
        half = np.diff(ends)[:, None] / 2
        z = ((ends[:-1] + ends[1:])[:, None] / 2 + half * point).ravel()
        weight = (half * share).ravel() * np.exp(-(z**2) / 2)
        return np.asarray(self._at(z)), weight / weight.sum()

    def below(self, confidence: Floats) -> Floats:
        share = ndtr(self._score(np.clip(confidence, self.low, self.high)))
        return np.asarray(share)

    def _at(self, z: Floats) -> Floats:
        return np.asarray(self.low + (self.high - self.low) * expit(self.centre + self.spread * z))

    def _score(self, confidence: Floats) -> Floats:
        return np.asarray((logit((confidence - self.low) / (self.high - self.low)) - self.centre) / self.spread)


@dataclass(frozen=True)
class DiscreteLaw:
    """A few confidences that are said again and again, as language models say them."""

    values: tuple[float, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        wrong = [value for value in self.values if not 0 <= value <= 1]
        if wrong:
            raise InputError(f"levels must be probabilities in [0, 1]; got {wrong[0]:g}", field="values")
        if list(self.values) != sorted(set(self.values)):
            raise InputError("levels must ascend, each one once", field="values")
        if len(self.shares) != len(self.values) or not self.values:
            raise InputError(
                f"every level needs a share; got {len(self.values)} levels and {len(self.shares)} shares",
                field="shares",
            )
        if min(self.shares) < 0 or not math.isclose(sum(self.shares), 1, abs_tol=1e-9):
            raise InputError(
                f"shares must be at least 0 and sum to 1; they sum to {sum(self.shares):g}", field="shares"
            )

    def quantile(self, uniform: Floats) -> Floats:
        place = np.searchsorted(np.cumsum(self.shares), uniform, side="right")
        return np.asarray(np.array(self.values)[np.minimum(place, len(self.values) - 1)])

    def nodes(self, cuts: Iterable[float] = ()) -> tuple[Floats, Floats]:
        return np.array(self.values), np.array(self.shares)

    def below(self, confidence: Floats) -> Floats:
        reached = np.array(self.values)[None, :] <= np.atleast_1d(confidence)[:, None]
        return np.asarray(reached @ np.array(self.shares))
