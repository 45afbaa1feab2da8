# SPDX-License-Identifier: Apache-2.0
"""Intervals of errors that cannot be negative, by inverting a test.

A binned error or the largest deviation of a walk is the size of a noisy vector: chance alone makes it positive, so it
is biased upwards, and near 0 it is not normal. Drawing rows again repeats that bias. Instead ask, for every candidate
error theta: were the deviations those seen, scaled to size theta, plus the noise of this sample, how likely would a
size up to the one seen be? The interval holds the thetas for which that is neither too unlikely nor too likely.

At theta = 0 the noise is all there is, whatever the shape, so the test of calibration is right. Ends near 0 follow Sun
et al. 2024: a theta below the one-sided end is never left out on the other side, so there only one side counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

GRID = 256
"""Candidates between which the ends are interpolated."""
PATHS, STEPS = 4000, 128
"""Random walks, and the steps of each, that stand for the noise of a cumulative error."""
OVERSHOOT = 0.5826
"""How far, in units of one step, a Brownian path rises above its own grid on average: -zeta(1/2)/sqrt(2 pi)."""


def ends(level: float, below: Callable[[Floats], tuple[Floats, Floats]], widest: float) -> tuple[float, float]:
    """Low and high end from `below(theta)`.

    It gives two chances for each theta: of a size up to the one seen, and of a size up to the larger of the one seen
    and the median under no error. Both fall as theta grows.
    """
    alpha = 1 - level
    top = widest
    for _ in range(60):
        if below(np.array([top]))[1][0] < alpha / 4:
            break
        top *= 2
    theta = np.linspace(0.0, top, GRID)
    seen, raised = below(theta)
    middle, one_sided, two_sided = (_crossing(theta, seen, q) for q in (0.5, 1 - alpha, 1 - alpha / 2))
    low = max(0.0, two_sided, min(one_sided, middle / 2))
    return low, _crossing(theta, raised, alpha / 2)


def _crossing(theta: Floats, chance: Floats, level: float) -> float:
    """Where a falling chance passes a level; 0 where it begins below it."""
    falling = np.minimum.accumulate(chance)
    if falling[0] <= level:
        return 0.0
    return float(np.interp(-level, -falling, theta))


def binned_ends(
    share: Floats, gap: Floats, frequency: Floats, rows: float, norm: float, level: float
) -> tuple[float, float]:
    """Interval of (sum_b share |gap|^norm)^(1/norm), of the largest |gap| when norm is infinite.

    Parameters
    ----------
    share, gap, frequency
        Of the bins that hold rows.
    rows
        Independent rows behind them, all bins together.
    """
    size = share * rows
    # One success and one failure more, so that a bin whose outcomes are all equal is not taken for certain.
    chance = (size * frequency + 1) / (size + 2)
    spread = np.sqrt(chance * (1 - chance) / size)
    shape = np.abs(gap) if gap.any() else spread
    shape = shape / _size(share, shape, norm)
    seen = float(_size(share, gap, norm))

    def law(theta: Floats, at: float) -> Floats:
        drift = theta[:, None] * shape
        if math.isinf(norm):
            return _largest_below(drift, spread, at)
        return _sum_below(share, drift, spread, rows, norm, at**norm)

    raised = max(seen, _median_of_noise(lambda at: float(law(np.zeros(1), at)[0]), float(_size(share, spread, norm))))
    widest = seen + 4 * float(_size(share, spread, norm))
    return ends(level, lambda theta: (law(theta, seen), law(theta, raised)), widest)


def _size(share: Floats, gap: Floats, norm: float) -> Floats:
    if math.isinf(norm):
        return np.asarray(np.abs(gap).max(axis=-1))
    return np.asarray((share * np.abs(gap) ** norm).sum(axis=-1) ** (1 / norm))


def _median_of_noise(below: Callable[[float], float], unit: float) -> float:
    low, high = 0.0, 4 * unit
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < 0.5 else (low, middle)
    return (low + high) / 2


def _largest_below(drift: Floats, spread: Floats, at: float) -> Floats:
    from scipy.special import ndtr

    return np.asarray(np.prod(ndtr((at - drift) / spread) - ndtr((-at - drift) / spread), axis=1))


def _sum_below(share: Floats, drift: Floats, spread: Floats, rows: float, norm: float, at: float) -> Floats:
    """Chance that sum_b share |N(drift, spread)|^norm is at most `at`: Pearson III with its first three cumulants."""
    from scipy.special import gammainc, ndtr

    first, second, third = _cumulants(drift, spread, norm)
    mean = first @ share
    # The shares are random too: rows fall into bins of larger or smaller error.
    sized = drift**norm
    between = ((sized**2) @ share - (sized @ share) ** 2) / rows
    variance = second @ share**2 + np.maximum(between, 0.0)
    skew = (third @ share**3) / variance**1.5
    z = (at - mean) / np.sqrt(variance)
    a = 4 / np.maximum(skew, 1e-4) ** 2
    return np.asarray(np.where(skew > 1e-3, gammainc(a, np.maximum(0.0, a + z * np.sqrt(a))), ndtr(z)))


def _cumulants(drift: Floats, spread: Floats, norm: float) -> tuple[Floats, Floats, Floats]:
    """Mean, variance and third cumulant of |X|^norm, X normal."""
    if norm == 2:
        v, d = spread**2, drift**2
        return d + v, 2 * v**2 + 4 * d * v, 8 * v**3 + 24 * d * v**2
    if norm == 1:
        from scipy.special import erf

        ratio = drift / spread
        near = math.sqrt(2 / math.pi) * spread * np.exp(-(ratio**2) / 2)
        far = erf(ratio / math.sqrt(2))
        one = near + drift * far
        two = drift**2 + spread**2
        three = (drift**2 + 2 * spread**2) * near + (drift**3 + 3 * drift * spread**2) * far
    else:
        node, weight = np.polynomial.hermite_e.hermegauss(48)
        power = np.abs(drift[..., None] + spread[..., None] * node) ** norm
        weight = weight / weight.sum()
        one, two, three = power @ weight, power**2 @ weight, power**3 @ weight
    return one, two - one**2, three - 3 * one * two + 2 * one**3


def walk_ends(residual: Floats, total: float, inflation: float, spans: bool, level: float) -> tuple[float, float]:
    """Interval of the largest |C| of a walk, or with `spans` of its range max C - min C.

    Parameters
    ----------
    residual
        w (y - c) of each row, in the order of the walk.
    total
        The whole weight.
    inflation
        How many times larger the variance is than that of independent rows.
    """
    noise = residual**2
    whole = float(noise.sum())
    walk = np.cumsum(residual) / total
    seen = float(max(0.0, walk.max()) - min(0.0, walk.min()) if spans else np.abs(walk).max())
    if whole == 0:
        return 0.0, 0.0
    sigma = math.sqrt(whole * inflation) / total
    # Time runs with the variance: at STEPS equal steps of it, where does the walk stand?
    clock = np.cumsum(noise) / whole
    at = np.minimum(np.searchsorted(clock, np.arange(1, STEPS + 1) / STEPS - 1e-12), len(walk) - 1)
    drift = walk[at] / seen if seen > 0 else np.zeros(STEPS)
    paths = _paths() * sigma
    n_steps = max(1, int((noise > 0).sum()))
    overshoot = (2 if spans else 1) * OVERSHOOT * sigma * (math.sqrt(1 / STEPS) - math.sqrt(1 / n_steps))

    def sizes(theta: float) -> Floats:
        path = paths + theta * drift
        if not spans:
            return np.asarray(np.abs(path).max(axis=1)) + overshoot
        return np.asarray(np.maximum(path.max(axis=1), 0) - np.minimum(path.min(axis=1), 0)) + overshoot

    raised = max(seen, float(np.median(sizes(0.0))))
    known: dict[float, tuple[float, float]] = {}

    def below(theta: Floats) -> tuple[Floats, Floats]:
        # Few candidates are simulated; what lies between them is interpolated.
        few = theta if len(theta) == 1 else np.linspace(theta[0], theta[-1], 33)
        for candidate in few.tolist():
            if candidate not in known:
                drawn = sizes(candidate)
                known[candidate] = float((drawn <= seen).mean()), float((drawn <= raised).mean())
        made = np.array([known[candidate] for candidate in few.tolist()])
        return np.interp(theta, few, made[:, 0]), np.interp(theta, few, made[:, 1])

    return ends(level, below, seen + 2 * sigma)


@lru_cache(maxsize=1)
def _paths() -> Floats:
    """Standard Brownian paths at equal times: one set for all intervals, so that the same data have the same interval."""
    from scipy.special import ndtri

    uniform = np.random.Generator(np.random.PCG64(0)).random((PATHS, STEPS))
    steps = ndtri(np.maximum(uniform, 2.0**-54))
    return np.asarray(np.cumsum(steps, axis=1) / math.sqrt(STEPS))
