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
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ALL = slice(None)
CERTAIN = 1e-150
"""In place of a deviation of 0, of a bin that said 0 or 1 alone and was right: nothing is divided by 0, and squares stay finite."""
GRID = 256
"""Candidates between which the ends are interpolated."""
PATHS, STEPS = 4000, 128
"""Random walks, and the steps of each, that stand for the noise of a cumulative error."""
DOUBLINGS = 60
"""How often the largest candidate is doubled before it is taken as it is."""
OVERSHOOT = 0.5826
"""How far, in units of one step, a Brownian path rises above its own grid on average: -zeta(1/2)/sqrt(2 pi)."""


def ends(level: float, theta: Floats, seen: Floats, raised: Floats) -> tuple[float, float]:
    """Low and high end from two chances for each theta, which fall as it grows.

    They are the chances of a size up to the one seen, and of a size up to the larger of the one seen and the median under
    no error.
    """
    alpha = 1 - level
    middle, one_sided, two_sided = (_crossing(theta, seen, q) for q in (0.5, 1 - alpha, 1 - alpha / 2))
    low = max(0.0, two_sided, min(one_sided, middle / 2))
    return low, _crossing(theta, raised, alpha / 2)


def _crossing(theta: Floats, chance: Floats, level: float) -> float:
    """Where a falling chance passes a level; 0 where it begins below it."""
    falling = np.minimum.accumulate(chance)
    if falling[0] <= level:
        return 0.0
    return float(np.interp(-level, -falling, theta))


@dataclass(frozen=True)
class BinnedError:
    """(sum_b share |gap|^norm)^(1/norm) of the bins that hold rows, the largest |gap| when norm is infinite.

    `rows` counts the independent rows behind them, all bins together; `together` says how many times larger the variance of
    the sum is than that of independent gaps.
    """

    share: Floats
    gap: Floats
    frequency: Floats
    rows: float
    norm: float
    together: float = 1.0
    expected: float | Floats = 0.5

    @cached_property
    def seen(self) -> float:
        """The size of the gaps seen."""
        return float(_size(self.share, self.gap, self.norm))

    @cached_property
    def spread(self) -> Floats:
        """Standard deviation of each gap.

        Two outcomes more, of the frequency `expected`, so that a bin whose outcomes are all equal is not taken for certain.
        """
        size = self.share * self.rows
        chance = (size * self.frequency + 2 * self.expected) / (size + 2)
        return np.asarray(np.sqrt(chance * (1 - chance) / size))

    @cached_property
    def shape(self) -> Floats:
        """The gaps seen, scaled to size 1."""
        shape = np.abs(self.gap) if self.gap.any() else self.spread
        return np.asarray(shape / _size(self.share, shape, self.norm))

    def below(self, theta: Floats, at: float | Floats) -> Floats:
        """Chance of a size up to `at` when the true one is theta; several of either."""
        return self._below(theta)(at, ALL)

    def _below(self, theta: Floats) -> Callable[[float | Floats, slice], Floats]:
        """The same as a function of `at` and of which thetas."""
        drift = theta[:, None] * self.shape
        if math.isinf(self.norm):
            return lambda at, some: _largest_below(drift[some], self.spread, at)
        mean, deviation, skew = _sum_law(self.share, drift, self.spread, self.rows, self.norm, self.together)
        return lambda at, some: _sum_below(mean[some], deviation[some], skew[some], at**self.norm)

    def quantile(self, theta: float, level: float) -> float:
        """The size that is not exceeded with this chance when the true one is theta."""
        low, width = 0.0, theta + 4 * float(_size(self.share, self.spread, self.norm))
        below = self._below(np.array([theta]))
        for _ in range(4):  # cut into 64, four times
            width /= 64
            inner = np.asarray(low + width * np.arange(1.0, 64.0), np.float64)
            low += width * int(np.count_nonzero(below(inner, ALL) < level))
        return low + width / 2

    def ends(self, level: float) -> tuple[float, float]:
        """The interval of its size."""
        noise = float(_size(self.share, self.spread, self.norm))
        if not noise:  # every bin was certain, and right
            return self.seen, self.seen
        top, at = self.seen + 4 * noise, None
        for _ in range(DOUBLINGS + 1):
            theta = np.linspace(0.0, top, GRID)
            below = self._below(theta)
            if at is None:
                # Most sizes are above the median under no error by more than that is searched to.
                least = self.seen - 8 * noise / 64**4
                above = least > 0 and bool(below(least, slice(1))[0] >= 0.5)
                at = self.seen if above else max(self.seen, self.quantile(0.0, 0.5))
            seen = below(self.seen, ALL)
            raised = seen if at == self.seen else below(at, ALL)
            if raised[-1] < (1 - level) / 4:
                break
            top *= 2
        return ends(level, theta, seen, raised)


def _size(share: Floats, gap: Floats, norm: float) -> Floats:
    if math.isinf(norm):
        return np.asarray(np.abs(gap).max(axis=-1))
    return np.asarray((share * np.abs(gap) ** norm).sum(axis=-1) ** (1 / norm))


def _largest_below(drift: Floats, spread: Floats, at: float | Floats) -> Floats:
    from epimeter.special import ndtr

    size, spread = np.asarray(at)[..., None], np.maximum(spread, CERTAIN)
    return np.asarray(np.prod(ndtr((size - drift) / spread) - ndtr((-size - drift) / spread), axis=1))


def _sum_law(
    share: Floats, drift: Floats, spread: Floats, rows: float, norm: float, together: float
) -> tuple[Floats, Floats, Floats]:
    """Mean, deviation and skewness of sum_b share |N(drift, spread)|^norm."""
    first, second, third = _cumulants(drift, spread, norm)
    mean = first @ share
    # The shares are random too: rows fall into bins of larger or smaller error.
    sized = drift**norm
    between = ((sized**2) @ share - (sized @ share) ** 2) / rows
    variance = together * (second @ share**2 + np.maximum(between, 0.0))
    return mean, np.sqrt(variance), together**2 * (third @ share**3) / variance**1.5


def _sum_below(mean: Floats, deviation: Floats, skew: Floats, at: float | Floats) -> Floats:
    """Chance that such a sum is at most `at`: Pearson III with its first three cumulants."""
    from epimeter.special import gammainc, ndtr

    z = (at - mean) / deviation
    a = 4 / np.maximum(skew, 1e-4) ** 2
    skewed, skewed_law = skew > 1e-3, gammainc(a, np.maximum(0.0, a + z * np.sqrt(a)))
    return np.asarray(skewed_law if skewed.all() else np.where(skewed, skewed_law, ndtr(z)))


def _cumulants(drift: Floats, spread: Floats, norm: float) -> tuple[Floats, Floats, Floats]:
    """Mean, variance and third cumulant of |X|^norm, X normal."""
    if norm == 2:
        v, d = spread**2, drift**2
        return d + v, 2 * v**2 + 4 * d * v, 8 * v**3 + 24 * d * v**2
    if norm == 1:
        from epimeter.special import erf

        ratio, square, variance = drift / np.maximum(spread, CERTAIN), drift**2, spread**2
        near = math.sqrt(2 / math.pi) * spread * np.exp(-(ratio**2) / 2)
        far = erf(ratio / math.sqrt(2))
        one = near + drift * far
        two = square + variance
        three = (square + 2 * variance) * near + (drift**3 + 3 * drift * variance) * far
    else:
        node, weight = np.polynomial.hermite_e.hermegauss(48)
        power = np.abs(drift[..., None] + spread[..., None] * node) ** norm
        weight = weight / weight.sum()
        one, two, three = power @ weight, power**2 @ weight, power**3 @ weight
    return one, two - one**2, three - 3 * one * two + 2 * one**3


@dataclass(frozen=True)
class WalkError:
    """The largest |C| of a walk, or with `spans` its range max C - min C.

    `residual` is w (y - c) of each row in the order of the walk, `total` the whole weight, `inflation` how many times
    larger the variance is than that of independent rows.
    """

    residual: Floats
    total: float
    inflation: float
    spans: bool

    @cached_property
    def walk(self) -> Floats:
        return np.asarray(np.cumsum(self.residual) / self.total)

    @cached_property
    def seen(self) -> float:
        """The size of the walk seen."""
        if self.spans:
            return float(max(0.0, self.walk.max()) - min(0.0, self.walk.min()))
        return float(np.abs(self.walk).max())

    @cached_property
    def sigma(self) -> float:
        """Standard deviation of the end of the walk."""
        return math.sqrt(float((self.residual**2).sum()) * self.inflation) / self.total

    @cached_property
    def shape(self) -> Floats:
        """Where the walk stands, scaled to size 1, at equal steps of its variance: time runs with the variance."""
        clock = np.cumsum(self.residual**2)
        at = np.searchsorted(clock / clock[-1], np.arange(1, STEPS + 1) / STEPS - 1e-12)
        stands = self.walk[np.minimum(at, len(self.walk) - 1)]
        return np.asarray(stands / self.seen if self.seen > 0 else 0 * stands)

    @cached_property
    def overshoot(self) -> float:
        """What a walk of so many rows rises above the coarser one that is simulated."""
        n_steps = max(1, int((self.residual != 0).sum()))
        return (2 if self.spans else 1) * OVERSHOOT * self.sigma * (math.sqrt(1 / STEPS) - math.sqrt(1 / n_steps))

    def sizes(self, theta: float) -> Floats:
        """Sizes of simulated walks whose true size is theta."""
        path = _paths() * self.sigma
        path += theta * self.shape
        high, low = np.maximum(path.max(axis=1), 0.0), np.minimum(path.min(axis=1), 0.0)
        return np.asarray((high - low if self.spans else np.maximum(high, -low)) + self.overshoot)

    def below(self, theta: Floats, at: float) -> Floats:
        """Chance of a size up to `at` when the true one is theta."""
        if self.sigma == 0:
            return np.where(theta <= at, 1.0, 0.0)
        return np.array([float((self.sizes(value) <= at).mean()) for value in theta.tolist()])

    def ends(self, level: float) -> tuple[float, float]:
        """The interval of its size."""
        if self.sigma == 0:
            return self.seen, self.seen
        raised = max(self.seen, float(np.median(self.sizes(0.0))))

        def chances(theta: Floats) -> tuple[Floats, Floats]:
            # Few candidates are simulated; what lies between them is interpolated.
            few = theta if len(theta) == 1 else np.linspace(theta[0], theta[-1], 25)
            drawn = [self.sizes(value) for value in few.tolist()]
            seen, above = ([float((sizes <= at).mean()) for sizes in drawn] for at in (self.seen, raised))
            return np.interp(theta, few, seen), np.interp(theta, few, above)

        top = self.seen + 2 * self.sigma
        for _ in range(DOUBLINGS):
            if chances(np.array([top]))[1][0] < (1 - level) / 4:
                break
            top *= 2
        theta = np.linspace(0.0, top, GRID)
        return ends(level, theta, *chances(theta))


@lru_cache(maxsize=1)
def _paths() -> Floats:
    """Standard Brownian paths at equal times: one set for all intervals, so that the same data have the same interval."""
    from epimeter.special import ndtri

    uniform = np.random.Generator(np.random.PCG64(0)).random((PATHS, STEPS))
    steps = ndtri(np.maximum(uniform, 2.0**-54))
    return np.asarray(np.cumsum(steps, axis=1) / math.sqrt(STEPS))
