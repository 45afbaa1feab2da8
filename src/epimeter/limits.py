# SPDX-License-Identifier: Apache-2.0
"""Bounds of a parameter, written in its annotation: ``norm: Annotated[float, AtLeast(1)]``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any


@dataclass(frozen=True)
class AtLeast:
    """The value must be this or more."""

    bound: float

    def holds(self, value: Any) -> bool:
        return bool(value >= self.bound)

    def __str__(self) -> str:
        return f"at least {self.bound:g}"


@dataclass(frozen=True)
class Above:
    """The value must be more than this."""

    bound: float

    def holds(self, value: Any) -> bool:
        return bool(value > self.bound)

    def __str__(self) -> str:
        return f"above {self.bound:g}"


@dataclass(frozen=True)
class Between:
    """The value must lie in [low, high]; `open_low` and `open_high` leave the ends out."""

    low: float
    high: float
    open_low: bool = False
    open_high: bool = False

    def holds(self, value: Any) -> bool:
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        return bool(above and below)

    def __str__(self) -> str:
        left, right = "(" if self.open_low else "[", ")" if self.open_high else "]"
        return f"in {left}{self.low:.12g}, {self.high:.12g}{right}"


Limit = AtLeast | Above | Between

MOST_BINS = 10**6
"""More bins than this fill the memory (0.1 to 0.9 GB at this number) and tell nothing: rows would be alone in them."""
BinCount = Annotated[int, Between(1, MOST_BINS)]
