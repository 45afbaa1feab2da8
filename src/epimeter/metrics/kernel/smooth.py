# SPDX-License-Identifier: Apache-2.0
"""SmoothECE: residuals smoothed by a Gaussian that is reflected at 0 and 1, at the scale that equals the error itself.

The reflected Gaussian is the heat kernel with reflecting ends, K(c, t) = 1 + 2 sum_m exp(-(pi m s)^2/2) cos(pi m c)
cos(pi m t), so the smoothed residual at any scale s is one cosine series,

    g(t) = a_0 + 2 sum_m exp(-(pi m s)^2/2) a_m cos(pi m t),   a_m = mean_i (y_i - c_i) cos(pi m c_i).

Its integral of |g| is taken exactly between the zeros of g, from its antiderivative. Where the a_m come from:

- few rows: from the definition;
- many rows: from the sums of (y - c) s^k, k = 0..3, over the cells of a fine grid, s the place in the cell, by two cosine
  and two sine transforms. With a cell of scale/64 or less this changes the value by less than 1e-9 (by at most
  0.0128 (cell/scale)^4 of the mean residual). Rows without weights are added as whole numbers, so that neither their
  order nor the number of threads changes a bit.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import InputError
from epimeter.limits import Above
from epimeter.metrics.kernel import recursions
from epimeter.metrics.kernel.sums import levels_of
from epimeter.summaries import Ordered, Rows
from epimeter.summaries.rows import Levels
from epimeter.uncertainty import SmoothedResidual
from epimeter.views import Binary

Floats = NDArray[np.float64]

MANY = 1 << 17
"""From here on rows without weights go straight to the grid, unsorted."""
GRIDS = (1 << 13, 1 << 17)
FINEST = 2.0**-18
"""Below this scale the integral is taken cluster by cluster instead of by a series."""
_STEPS = 64
"""Cells to a scale."""
_TERMS = 3.1
"""exp(-(pi m s)^2/2) < 1e-20 beyond m = 3.1/s."""


@metric(
    title="SmoothECE",
    family="kernel",
    reads=Rows("event"),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"smECE_\sigma=\int_0^1\Big|\frac1N\sum_{i=1}^N(y_i-c_i)\,\tilde K_\sigma(c_i,t)\Big|\,dt,\quad "
    r"\tilde K_\sigma(c,t)=\sum_{m\in\mathbb Z}\big[\varphi_\sigma(t-c-2m)+\varphi_\sigma(t+c-2m)\big];\qquad "
    r"smECE=\sigma^*,\ \text{the solution of } smECE_{\sigma}=\sigma",
    where={
        "φ_σ": "normal density with standard deviation σ",
        "K̃_σ": "Gaussian reflected at 0 and 1: a density in t for every c",
    },
    source="Błasiok and Nakkiran 2024 ICLR (Smooth ECE: principled reliability diagrams via kernel smoothing); "
    "Lane 2025 s5.2 eq 66",
    pitfalls="The authors' package loses half the mass of samples at exactly 0 or 1, which moved the value by 4 % where "
    "a tenth of the samples lie there; here they count in full. Not sece, which is a kernel regression.",
    aliases=("Smooth ECE (SmoothECE)",),
    bound=SmoothedResidual(),
)
def smece(view: Binary, *, bandwidth: Annotated[float, Above(0)] | None = None) -> float:
    """Calibration error smoothed at its own scale: free of bins and of a bandwidth to choose.

    Parameters
    ----------
    bandwidth
        None finds the scale at which error and scale agree; a number gives the error at that scale.
    """
    if bandwidth is not None and not math.isfinite(bandwidth):
        raise InputError(f"bandwidth of smece must be finite; got {bandwidth}", field="bandwidth")
    if view.n_rows >= MANY and view.weight is None:
        for cells in GRIDS:  # the finer one only when the scale asks for it
            gridded = SmoothedResiduals.of_rows(view, cells)
            if bandwidth is not None and bandwidth >= gridded.finest:
                return gridded.error(bandwidth)
            if bandwidth is None and (found := gridded.own_scale(gridded.finest)) is not None:
                return found
    smooth = SmoothedResiduals.of_levels(levels_of(Ordered().of(view)))
    if bandwidth is not None:
        return smooth.error(bandwidth)
    found = smooth.own_scale(0.0)
    assert found is not None
    return found


class SmoothedResiduals:
    """The residuals, ready to be smoothed at any scale."""

    def __init__(
        self, coefficients: Floats, finest: float, points: Floats | None = None, residual: Floats | None = None
    ):
        self.coefficients = coefficients
        """a_0, a_1, ... as far as they are known."""
        self.finest = finest
        self.points = points
        self.residual = residual
        """Distinct confidences and the residual at each, divided by N; None when only the grid is known."""

    @classmethod
    def of_rows(cls, view: Binary, cells: int) -> SmoothedResiduals:
        """From unsorted rows by way of a grid of whole numbers."""
        shift = min(44, 61 - view.n_rows.bit_length())
        moments = recursions.cell_moments(view.true, view.prob, cells, shift).T.astype(np.float64)
        return cls(cosine_means(moments, cells // 20) / (view.n_rows * 2.0**shift), _STEPS / cells)

    @classmethod
    def of_levels(cls, levels: Levels) -> SmoothedResiduals:
        """From sorted rows with ties joined; coefficients follow when they are asked for."""
        residual = levels.residual / levels.weight.sum()
        # A sum of n residuals that should vanish is off by some n ulps; what is left then is rounding, not error.
        residual[np.abs(residual) < 1e-15] = 0.0
        some = residual != 0
        return cls(np.array([residual.sum()]), 0.0, levels.prob[some], residual[some])

    def own_scale(self, finest: float) -> float | None:
        """The scale s with error(s) = s; None when it lies below `finest`."""
        from scipy.optimize import brentq

        low = abs(float(self.coefficients[0]))  # |sum r| <= error(s) <= sum |r| at every scale
        high = 1.0
        if self.residual is not None:
            high = float(np.sum(np.abs(self.residual)))
            if high - low <= 1e-13 or self._apart(high):
                return high
        top = high
        while True:
            bottom = max(top / 2, low, finest)
            if bottom >= top or self.error(bottom) >= bottom:
                break
            if bottom == finest and finest > 0:
                return None
            top = bottom
        if bottom >= top:
            return top
        return float(brentq(lambda s: self.error(s) - s, bottom, top, xtol=1e-15, rtol=1e-13))

    def error(self, scale: float) -> float:
        """The integral of the absolute smoothed residual."""
        if self.residual is not None and not len(self.residual):
            return 0.0
        if self.residual is not None and (self._apart(scale) or scale < FINEST):
            return self._narrow(scale)
        terms = math.ceil(_TERMS / scale) + 1
        self._extend(terms, scale)
        m = np.arange(min(terms, len(self.coefficients)))
        damped = np.exp(-0.5 * (math.pi * scale * m) ** 2) * self.coefficients[: len(m)]
        return absolute_integral(damped)

    def _extend(self, terms: int, scale: float) -> None:
        if terms <= len(self.coefficients) and (self.finest == 0.0 or scale >= self.finest):
            return
        if self.points is None or self.residual is None:
            return
        terms = 1 << (terms - 1).bit_length()
        if len(self.points) * terms <= 1 << 19:
            angle = math.pi * self.points
            step = max(1, (1 << 19) // len(self.points))
            known = [
                np.cos(np.arange(a, min(a + step, terms))[:, None] * angle) @ self.residual
                for a in range(0, terms, step)
            ]
            self.coefficients, self.finest = np.concatenate(known), 0.0
            return
        cells = 1 << max(12, math.ceil(math.log2(_STEPS / scale)) + 1)
        place = self.points * cells
        cell = np.minimum(place.astype(np.int64), cells - 1)
        inside = place - cell - 0.5
        moments, weight = [], self.residual
        for _ in range(4):  # weighted by the powers 0 to 3 of the place inside a cell
            moments.append(np.bincount(cell, weights=weight, minlength=cells))
            weight = weight * inside
        self.coefficients, self.finest = cosine_means(np.stack(moments), cells // 20), _STEPS / cells

    def _apart(self, scale: float) -> bool:
        """Whether residuals of opposite sign are too far apart to meet at this scale: then nothing cancels."""
        assert self.points is not None and self.residual is not None
        turn = np.flatnonzero(np.sign(self.residual[1:]) != np.sign(self.residual[:-1]))
        return not len(turn) or bool(np.min(self.points[turn + 1] - self.points[turn]) > 18 * scale)

    def _narrow(self, scale: float) -> float:
        """The integral at a small scale: clusters more than 18 scales apart do not see each other."""
        assert self.points is not None and self.residual is not None
        starts = np.flatnonzero(np.concatenate([[True], np.diff(self.points) > 18 * scale]))
        sums = np.add.reduceat(self.residual, starts)
        sizes = np.add.reduceat(np.abs(self.residual), starts)
        plain = np.abs(sums) >= sizes * (1 - 1e-15)  # one sign: nothing cancels
        total = float(np.sum(sizes[plain]))
        ends = np.append(starts[1:], len(self.points))
        for number in np.flatnonzero(~plain):
            part = slice(starts[number], ends[number])
            total += _cluster(self.points[part], self.residual[part], scale)
        return total


def _cluster(points: Floats, residual: Floats, scale: float) -> float:
    """The integral over one cluster and its mirror images, between the zeros of the smoothed residual."""
    from epimeter.special import ndtr

    near = [(points, residual)]
    near += [(-points, residual)] if points[0] < 18 * scale else []
    near += [(2 - points, residual)] if 1 - points[-1] < 18 * scale else []
    total = 0.0
    begin, end = max(0.0, points[0] - 9 * scale), min(1.0, points[-1] + 9 * scale)
    step = scale / 16
    count = math.ceil((end - begin) / step)
    for first in range(0, count, 1 << 16):
        t = begin + step * np.arange(first, min(first + (1 << 16), count) + 1)
        t[-1] = min(t[-1], end)
        value, area = np.zeros(len(t)), np.zeros(len(t))
        for x, r in near:
            for at, size in zip(x.tolist(), r.tolist(), strict=True):
                low, high = np.searchsorted(t, [at - 10 * scale, at + 10 * scale])
                u = (t[low:high] - at) / scale
                value[low:high] += size * np.exp(-0.5 * u * u)
                area[low:high] += size * ndtr(u)
                area[high:] += size
        turn = np.flatnonzero(value[1:] * value[:-1] < 0)
        share = value[turn] / (value[turn] - value[turn + 1])
        # The area up to a zero, by the trapezium from the nearer grid point: its error is third order in a step of s/16.
        at_zero = area[turn] + 0.5 * share * (t[turn + 1] - t[turn]) * value[turn] / (scale * math.sqrt(2 * math.pi))
        total += float(np.sum(np.abs(np.diff(np.concatenate([[area[0]], at_zero, [area[-1]]])))))
    return total


def cosine_means(moments: Floats, terms: int) -> Floats:
    """Sums of r cos(pi m c) from the moments of r in the cells, m = 0..terms - 1.

    cos(pi m c) about the middle of a cell is 1 - w^2 s^2/2 times the cosine there, less w s - w^3 s^3/6 times the
    sine, with w = pi m/cells.
    """
    from scipy.fft import dct, dst

    cells = moments.shape[1]
    w = math.pi / cells * np.arange(terms)
    even = [dct(moments[k], type=2)[:terms] / 2 for k in (0, 2)]
    odd = [np.concatenate([[0.0], dst(moments[k], type=2)[: terms - 1] / 2]) for k in (1, 3)]
    return np.asarray(even[0] - w**2 / 2 * even[1] - w * odd[0] + w**3 / 6 * odd[1])


def absolute_integral(a: Floats) -> float:
    """Integral over [0, 1] of |a_0 + 2 sum_m a_m cos(pi m t)|.

    Zeros are bracketed on a grid 16 times finer than the highest frequency and refined, and the antiderivative taken
    there, by Taylor series from the nearest grid point.
    """
    from scipy.fft import dct, dst, next_fast_len

    if len(a) == 1:
        return abs(float(a[0]))
    cells = next_fast_len(max(64, 16 * len(a)), real=True)
    m = math.pi * np.arange(len(a))

    def cosines(c: Floats) -> Floats:
        padded = np.zeros(cells + 1)
        padded[: len(c)] = c
        return np.asarray(dct(padded, type=1))

    def sines(c: Floats) -> Floats:
        padded = np.zeros(cells - 1)
        padded[: len(c) - 1] = c[1:]
        return np.concatenate([[0.0], dst(padded, type=1), [0.0]])

    t = np.arange(cells + 1) / cells
    value = cosines(a)
    quiet = np.abs(value) < 1e-15 * np.abs(value).max()  # rounding noise has no sign and no area
    sign = np.where(quiet, 0, np.sign(value)).astype(np.int64)
    shown = np.flatnonzero(sign)
    if not len(shown):
        return 0.0
    turn = np.flatnonzero(sign[shown[1:]] != sign[shown[:-1]])
    if not len(turn):
        return abs(float(a[0]))
    left, right = shown[turn], shown[turn + 1]
    near = np.where(np.abs(value[left]) <= np.abs(value[right]), left, right)
    inverse = np.concatenate([[0.0], 1 / m[1:]])
    area = a[0] * t[near] + sines(a * inverse)[near]
    first, second, third = -sines(a * m)[near], -cosines(a * m**2)[near], sines(a * m**3)[near]
    here = value[near]
    step = (t[right] - t[left]) * np.abs(here) / (np.abs(value[left]) + np.abs(value[right]))
    step = np.where(near == left, step, -step)
    for _ in range(2):  # Newton, inside the bracket
        slope = first + step * (second + step * third / 2)
        missed = here + step * (first + step * (second / 2 + step * third / 6))
        moved = step - np.divide(missed, slope, out=np.zeros_like(step), where=slope != 0)
        step = np.clip(moved, t[left] - t[near], t[right] - t[near])
    area += step * (here + step * (first / 2 + step * (second / 6 + step * third / 24)))
    return float(np.sum(np.abs(np.diff(np.concatenate([[0.0], area, [a[0]]])))))
