# SPDX-License-Identifier: Apache-2.0
"""How many rows make a verdict firm.

A verdict is firm where the whole interval lies on one side of every limit. These functions ask how many rows make
that happen with a given probability, if the truth is what is expected. Limits are handed in; the standards know them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from epimeter.errors import InputError
from epimeter.inference.inversion import BinnedError
from epimeter.inference.spread import clopper_pearson
from epimeter.limits import Between
from epimeter.results import plain

MOST_ROWS = 10**9
EXACT_SHARES = 20_000
"""Shares of up to so many rows are planned by the exact binomial law, of more by the normal one."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A number that will be held against limits.

    `kind`: ``error`` is a binned calibration error, ``share`` a share of rows, ``score`` any sum with a known
    deviation.
    """

    name: str
    kind: Literal["error", "share", "score"]
    expected: float
    limits: tuple[float, ...]
    bins: int = 10
    variance: float = 0.25
    """Variance of outcome minus confidence, for an error; 0.25 is the worst."""
    portion: float = 1.0
    """Share of the rows that count: the wrong answers, for a U-Recall."""
    deviation: float = 0.0
    """Standard deviation of a score from one row."""


@dataclass(frozen=True, kw_only=True)
class Need:
    """Rows that one number needs; None where it lies on a limit itself."""

    name: str
    expected: float
    nearest: float | None
    rows: int | None

    def to_dict(self) -> dict[str, Any]:
        return {name: plain(getattr(self, name)) for name in self.__dataclass_fields__}


@dataclass(frozen=True, kw_only=True)
class SampleSizes:
    """Rows that make the whole verdict firm, and what each number asks for."""

    rows: int | None
    power: float
    level: float
    needs: tuple[Need, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "power": self.power,
            "level": self.level,
            "needs": [need.to_dict() for need in self.needs],
        }


def plan(targets: Iterable[Target], *, power: float = 0.9, level: float = 0.95) -> SampleSizes:
    """The rows with which all intervals lie clear of their limits, together with probability `power`.

    Parameters
    ----------
    targets
        What will be measured, what is expected of it, and its limits.
    power
        Probability that the verdict is firm. It is shared out: with k numbers each gets 1 - (1 - power)/k.
    level
        Level of the intervals.
    """
    wanted = list(targets)
    if not wanted:
        raise InputError("a plan needs at least one number with its limits; got none", field="targets")
    for name, value in (("power", power), ("level", level)):
        if not Between(0, 1, open_low=True, open_high=True).holds(value):
            raise InputError(f"{name} of plan must be in (0, 1); got {value!r}", field=name)
    each = 1 - (1 - power) / len(wanted)
    needs = tuple(_need(target, each, level) for target in wanted)
    rows = None if any(need.rows is None for need in needs) else max(need.rows or 0 for need in needs)
    return SampleSizes(rows=rows, power=power, level=level, needs=needs)


def _need(target: Target, power: float, level: float) -> Need:
    limits = tuple(limit for limit in target.limits if math.isfinite(limit))
    nearest = min(limits, key=lambda limit: abs(limit - target.expected), default=None)
    rows = None
    if nearest is None:
        rows = 1
    elif nearest != target.expected:
        chance = {"error": _error_chance, "share": _share_chance, "score": _score_chance}[target.kind]
        rows = fewest(lambda n: chance(target, limits, n, level), power)
    if rows is not None:
        rows = math.ceil(rows / target.portion)
    return Need(name=target.name, expected=target.expected, nearest=nearest, rows=rows)


def fewest(chance: Callable[[int], float], power: float) -> int | None:
    """The least number of rows, to 1 %, from which on the chance is at least `power`; None beyond a thousand million."""
    high = 2
    while chance(high) < power:
        high *= 2
        if high > MOST_ROWS:
            return None
    low = high // 2
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) >= power else (middle, high)
    return high


def _error_chance(target: Target, limits: tuple[float, ...], rows: int, level: float) -> float:
    """Chance that the interval of a binned error lies between the limits next to the error expected.

    The error is taken to be spread evenly over bins of equal share.
    """
    rows = max(rows, target.bins)
    share = np.full(target.bins, 1 / target.bins)
    # A frequency with the variance asked for: f (1 - f) = variance.
    frequency = 0.5 + math.sqrt(max(0.0, 0.25 - target.variance))
    bins = BinnedError(share, np.ones(target.bins), np.full(target.bins, frequency), rows, 1)
    alpha = 1 - level

    def chance_below(at: float) -> float:
        return float(bins.below(np.array([target.expected]), at)[0])

    above = [limit for limit in limits if limit > target.expected]
    under = [limit for limit in limits if limit < target.expected]
    inside = chance_below(bins.quantile(min(above), alpha / 2)) if above else 1.0
    if above and bins.quantile(0.0, 0.5) >= bins.quantile(min(above), alpha / 2):
        return 0.0
    return max(0.0, inside - (chance_below(bins.quantile(max(under), 1 - alpha / 2)) if under else 0.0))


def _share_chance(target: Target, limits: tuple[float, ...], rows: int, level: float) -> float:
    """Chance that the exact interval of a share lies between the limits next to the share expected."""
    share = target.expected
    above = min((limit for limit in limits if limit > share), default=math.inf)
    under = max((limit for limit in limits if limit < share), default=-math.inf)
    if rows > EXACT_SHARES:
        deviation = math.sqrt(max(share * (1 - share), 1 / rows))
        return _score_chance(_score(target, deviation), limits, rows, level)
    from epimeter.special import bdtr

    # Both ends grow with the hits: the hits that keep the interval inside form a run, found by halving.
    most = _last(lambda hits: clopper_pearson(hits, rows, level)[1] < above, rows)
    least = _last(lambda hits: clopper_pearson(hits, rows, level)[0] <= under, rows) + 1
    if most < least:
        return 0.0
    return float(bdtr(most, rows, share) - (bdtr(least - 1, rows, share) if least > 0 else 0.0))


def _last(holds: Callable[[int], bool], rows: int) -> int:
    """The largest number of hits for which something holds that holds for all smaller ones; -1 if for none."""
    low, high = -1, rows + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _score(target: Target, deviation: float) -> Target:
    return Target(name=target.name, kind="score", expected=target.expected, limits=target.limits, deviation=deviation)


def _score_chance(target: Target, limits: tuple[float, ...], rows: int, level: float) -> float:
    """Chance that a normal interval lies between the limits next to the score expected."""
    from epimeter.special import ndtr, ndtri

    error = target.deviation / math.sqrt(rows)
    if error == 0:
        return 1.0
    reach = float(ndtri((1 + level) / 2))
    above = [(limit - target.expected) / error - reach for limit in limits if limit > target.expected]
    under = [(limit - target.expected) / error + reach for limit in limits if limit < target.expected]
    return max(0.0, float(ndtr(min(above)) if above else 1.0) - float(ndtr(max(under)) if under else 0.0))
