# SPDX-License-Identifier: Apache-2.0
"""Piecewise-linear functions as sums of hat functions, whose normal equations are tridiagonal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import UndefinedMetricError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Hats:
    """Sorted places between knots: the piece of each, and how far it lies along it."""

    knots: Floats
    starts: NDArray[np.intp]
    """Where each piece begins among the places, and their number at the end."""
    part: Floats

    @classmethod
    def at(cls, places: Floats, knots: Floats) -> Hats:
        starts = np.concatenate([[0], np.searchsorted(places, knots[1:-1]), [len(places)]])
        width = np.repeat(np.diff(knots), np.diff(starts))
        return cls(knots, starts, (places - np.repeat(knots[:-1], np.diff(starts))) / width)

    def values(self, height: Floats) -> Floats:
        """The function with these heights at the knots, at the places."""
        count = np.diff(self.starts)
        return np.asarray(np.repeat(height[:-1], count) + np.repeat(np.diff(height), count) * self.part)

    def gathered(self, values: Floats) -> Floats:
        """Sum over the places of each hat times the values."""
        rise = self._by_segment(values * self.part)
        return np.asarray(np.append(self._by_segment(values) - rise, 0.0) + np.append(0.0, rise))

    def gram(self, weight: Floats) -> tuple[Floats, Floats]:
        """Sums over the places of weighted products of hats: the diagonal, and the products of neighbours."""
        rise = weight * self.part
        one, two, three = self._by_segment(weight), self._by_segment(rise), self._by_segment(rise * self.part)
        return np.append(one - 2 * two + three, 0.0) + np.append(0.0, three), two - three

    def _by_segment(self, values: Floats) -> Floats:
        sums = np.zeros(len(self.starts) - 1)
        some = np.flatnonzero(np.diff(self.starts))
        sums[some] = np.add.reduceat(values, self.starts[some])
        return sums


def solved(diagonal: Floats, beside: Floats, right: Floats, name: str) -> Floats:
    """The solution of symmetric tridiagonal equations."""
    from scipy.linalg import solveh_banded

    try:
        found = solveh_banded(np.stack([diagonal, np.append(beside, 0.0)]), right, lower=True, check_finite=False)
    except np.linalg.LinAlgError:
        raise UndefinedMetricError(f"{name} has no unique fit here without its ridge; pass a ridge above 0") from None
    return np.asarray(found)


def boxed(diagonal: Floats, beside: Floats, right: Floats, name: str) -> Floats:
    """The least of v'Av/2 - b'v with 0 <= v <= 1, A tridiagonal: active sets from the clipped free solution.

    1. Solve for the free heights. 2. If some leave the box, go there as far as it allows and fix those that hit it.
    3. Else free the fixed height that pulls inwards most; when none does, this is the least.
    """
    free = solved(diagonal, beside, right, name)
    height = np.clip(free, 0.0, 1.0)
    fixed = height != free
    if not fixed.any():
        return free
    tolerance = 1e-13 * (diagonal + np.abs(right))
    for _ in range(100 * len(diagonal)):
        held = np.where(fixed, height, 0.0)
        target = solved(
            np.where(fixed, 1.0, diagonal),
            np.where(fixed[1:] | fixed[:-1], 0.0, beside),
            np.where(fixed, height, right - times_beside(beside, held)),
            name,
        )
        out = ~fixed & ((target < 0) | (target > 1))
        if out.any():
            wall = (target > 1).astype(np.float64)
            room = np.where(out, (wall - height) / np.where(out, target - height, 1.0), np.inf)
            hit = room <= room.min()
            height = np.where(fixed, height, np.clip(height + room.min() * (target - height), 0.0, 1.0))
            height[hit] = wall[hit]
            fixed = fixed | hit
            continue
        height = target
        slope = diagonal * height + times_beside(beside, height) - right
        inwards = np.where(fixed, np.where(height > 0.5, slope, -slope) - tolerance, 0.0)
        worst = int(inwards.argmax())
        if inwards[worst] <= 0:
            return height
        fixed[worst] = False
    raise UndefinedMetricError(f"{name} could not settle which heights lie at 0 or 1")


def times_beside(beside: Floats, height: Floats) -> Floats:
    """What the neighbours of each height add to a product with the matrix."""
    return np.asarray(np.append(beside * height[1:], 0.0) + np.append(0.0, beside * height[:-1]))
