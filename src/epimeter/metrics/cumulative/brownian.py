# SPDX-License-Identifier: Apache-2.0
"""Laws of Brownian motion: what a calibrated model's walk looks like in the limit.

Every law has two series. One is fast for small x and gives the lower tail, one is fast for large x and gives
the upper tail; the complement is taken only where the tail is not small, so p-values far below 1e-16 keep
their digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import InputError

Floats = NDArray[np.float64]
Kind = Literal["max_abs", "range", "bridge", "max_abs_given_end"]

TERMS = 12
"""Terms of each series; on its side of the switch ten are enough for a double."""
LEAST = 0.01
"""Below this every lower tail underflows to 0."""


def normal_tail(x: Floats) -> Floats:
    """Q(x), the upper tail of the standard normal."""
    from epimeter.special import ndtr

    return np.asarray(ndtr(-x))


def max_abs_lower(x: Floats) -> Floats:
    """P(max |W| <= x)."""
    odd = 2 * np.arange(TERMS)[:, None] + 1
    sign = np.where(odd % 4 == 1, 1.0, -1.0)
    return np.asarray(4 / np.pi * np.sum(sign / odd * np.exp(-((odd * np.pi / x) ** 2) / 8), axis=0))


def max_abs_upper(x: Floats) -> Floats:
    """P(max |W| >= x)."""
    odd = 2 * np.arange(TERMS)[:, None] + 1
    sign = np.where(odd % 4 == 1, 1.0, -1.0)
    return np.asarray(4 * np.sum(sign * normal_tail(odd * x), axis=0))


def range_lower(x: Floats) -> Floats:
    """P(max W - min W <= x)."""
    half = np.arange(TERMS)[:, None] + 0.5
    decay = np.exp(-2 * (half * np.pi / x) ** 2)
    return np.asarray(np.sum((8 / x**2 + 2 / (half * np.pi) ** 2) * decay, axis=0))


def range_upper(x: Floats) -> Floats:
    """P(max W - min W >= x): Feller's density 8 sum (-1)^(k-1) k^2 phi(kx), integrated term by term."""
    k = np.arange(1, TERMS + 1)[:, None]
    return np.asarray(8 * np.sum(np.where(k % 2, k, -k) * normal_tail(k * x), axis=0))


def bridge_lower(x: Floats) -> Floats:
    """P(max |B| <= x)."""
    odd = 2 * np.arange(TERMS)[:, None] + 1
    return np.asarray(np.sqrt(2 * np.pi) / x * np.sum(np.exp(-((odd * np.pi / x) ** 2) / 8), axis=0))


def bridge_upper(x: Floats) -> Floats:
    """P(max |B| >= x)."""
    k = np.arange(1, TERMS + 1)[:, None]
    return np.asarray(2 * np.sum(np.where(k % 2, 1.0, -1.0) * np.exp(-2 * (k * x) ** 2), axis=0))


def given_end_lower(x: Floats, end: float) -> Floats:
    """P(max |W| <= x) given where W ends, for small x."""
    # cos((2k-1) pi w / 2x) is (-1)^(k-1) sin((2k-1) pi (x - w) / 2x), which keeps its digits as x falls to w.
    w = abs(end)
    odd = 2 * np.arange(TERMS)[:, None] + 1
    sign = np.where(odd % 4 == 1, 1.0, -1.0)
    decay = np.exp(w**2 / 2 - ((odd * np.pi / x) ** 2) / 8)
    return np.asarray(np.sqrt(2 * np.pi) / x * np.sum(sign * decay * np.sin(odd * np.pi * (x - w) / (2 * x)), axis=0))


def given_end_lower_far(x: Floats, end: float) -> Floats:
    """The same for large x."""
    # The images of the reflection principle, n beside 1 - n, so that their small differences are not lost.
    w = abs(end)
    m = np.arange(1, TERMS)[:, None]
    later = np.exp(-2 * m * x * (m * x + w)) * -np.expm1(-2 * (2 * m + 1) * x * (x - w))
    return np.asarray(-np.expm1(-2 * x * (x - w)) - np.sum(np.where(m % 2, later, -later), axis=0))


def given_end_upper(x: Floats, end: float) -> Floats:
    """P(max |W| >= x) given where W ends."""
    w = abs(end)
    n = np.arange(1, TERMS + 1)[:, None]
    both = np.exp(-2 * n * x * (n * x - w)) + np.exp(-2 * n * x * (n * x + w))
    return np.asarray(np.sum(np.where(n % 2, 1.0, -1.0) * both, axis=0))


SERIES: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "max_abs": (max_abs_lower, max_abs_upper),
    "range": (range_lower, range_upper),
    "bridge": (bridge_lower, bridge_upper),
}
"""The lower tail's series for small x, the upper tail's for large x."""


@metric(
    title="Tail probabilities of Brownian motion functionals",
    family="cumulative",
    range=(0.0, 1.0),
    direction="higher",
    test="asymptotic",
    weighted=False,
    labels="ignored",
    matrix="not used",
    equation=r"\text{max\_abs: }F(x)=\frac4\pi\sum_{k\ge0}\frac{(-1)^k}{2k+1}e^{-(2k+1)^2\pi^2/(8x^2)},\quad"
    r"1-F(x)=4\sum_{k\ge0}(-1)^kQ((2k+1)x);\quad"
    r"\text{range: }F(x)=\sum_{k\ge0}\Big(\frac8{x^2}+\frac2{(k+\frac12)^2\pi^2}\Big)"
    r"e^{-2(k+\frac12)^2\pi^2/x^2},\quad1-F(x)=8\sum_{k\ge1}(-1)^{k-1}k\,Q(kx);\quad"
    r"\text{bridge: }F(x)=\frac{\sqrt{2\pi}}x\sum_{k\ge1}e^{-(2k-1)^2\pi^2/(8x^2)},\quad"
    r"1-F(x)=2\sum_{k\ge1}(-1)^{k-1}e^{-2k^2x^2};\quad"
    r"\text{given end }w,\ x>|w|:\ F(x)=\frac{\sqrt{2\pi}}xe^{w^2/2}\sum_{k\ge1}e^{-(2k-1)^2\pi^2/(8x^2)}"
    r"\cos\frac{(2k-1)\pi w}{2x},\quad"
    r"1-F(x)=\sum_{n\ge1}(-1)^{n-1}\big[e^{-2nx(nx-|w|)}+e^{-2nx(nx+|w|)}\big]",
    where={
        "Q": "upper tail of the standard normal",
        "F": "lower tail of the functional of W (or of the bridge B) on [0, 1]",
        "W, B": "standard Brownian motion; Brownian bridge",
        "w": "where W ends",
    },
    source="Feller 1951, Annals of Mathematical Statistics 22; Kolmogorov 1933; "
    "Tygert 2022, Calibration of P-values; Sadatsafavi & Petkau 2024, Statistics in Medicine; Lane 2025 s6.1",
    pitfalls="The laws hold in the limit of many rows. Code that sums only the lower tail and subtracts it "
    "from 1 loses every p-value below 1e-16; here both tails keep their digits.",
    aliases=("brownian_sf",),
    headline_is="the answer of a test or the parameter of a map",
)
def brownian_tail(
    statistic: Any,
    *,
    kind: Kind = "max_abs",
    end: float = 0.0,
    tail: Literal["upper", "lower"] = "upper",
) -> Any:
    """Probability that a functional of Brownian motion is at least (or at most) as large as a statistic.

    Parameters
    ----------
    statistic
        x, a number, or an array that is answered element by element.
    kind
        ``max_abs`` the largest absolute value of the motion on [0, 1], ``range`` its maximum minus its
        minimum, ``bridge`` the largest absolute value of the bridge, ``max_abs_given_end`` that of the motion
        that ends at `end`.
    end
        Where the motion ends, for ``max_abs_given_end``.
    tail
        ``upper`` P(functional >= x), ``lower`` P(functional <= x).
    """
    try:
        x = np.asarray(statistic, np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"statistic of brownian_tail must be numbers; got {statistic!r:.60}", field="statistic"
        ) from None
    lower, upper = _tails(np.atleast_1d(x), kind, float(end))
    answer = (upper if tail == "upper" else lower).reshape(x.shape)
    return float(answer) if x.ndim == 0 else answer


def _tails(x: Floats, kind: Kind, end: float) -> tuple[Floats, Floats]:
    """Both tails, each from the series that does not lose it."""
    lower, upper = np.zeros(x.shape), np.ones(x.shape)
    lower[np.isnan(x)] = upper[np.isnan(x)] = np.nan
    possible = x > (abs(end) if kind == "max_abs_given_end" else 0.0)
    switch = 1.5 if kind == "range" else 1.0
    near, far = possible & (x >= LEAST) & (x < switch), possible & (x >= switch)
    with np.errstate(over="ignore", under="ignore"):
        if kind == "max_abs_given_end":
            lower[near] = given_end_lower(x[near], end)
            lower[far], upper[far] = given_end_lower_far(x[far], end), given_end_upper(x[far], end)
        else:
            low, high = SERIES[kind]
            lower[near], upper[far] = low(x[near]), high(x[far])
            lower[far] = 1 - upper[far]
    upper[near] = 1 - lower[near]
    return lower.clip(0, 1), upper.clip(0, 1)
