# SPDX-License-Identifier: Apache-2.0
"""Distances of all pairs of points, and their median, without holding them all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.core import accepted, lib, read, write
from epimeter.errors import InputError
from epimeter.metrics.kernel.bandwidth import median_gap, middle_ranks
from epimeter.metrics.kernel.recursions import threads

Floats = NDArray[np.float64]
Distance = Literal["variation", "euclid"]

WHOLE = 3000
"""Up to so many rows all pairs are held at once."""
BLOCK = 1 << 22
"""Numbers held at a time beyond that."""
COLLECTED = 1 << 24
"""Distances around the median that are held to be ranked."""


def distances(left: Floats, right: Floats, distance: Distance) -> Floats:
    """Distances of every left point from every right one; total variation is half the L1 distance.

    On a line there is nothing to halve: |p - q| is the distance of (1 - p, p) from (1 - q, q).
    """
    if left.shape[1] == 1:
        return np.abs(left - right[:, 0])
    from scipy.spatial.distance import cdist

    if distance == "variation":
        return np.asarray(0.5 * cdist(left, right, "cityblock"))
    return np.asarray(cdist(left, right, "euclidean"))


def width_of(
    points: Floats, distance: Distance, bandwidth: float | str, asker: str, weight: Floats | None = None
) -> float:
    """The bandwidth as a number: given, or the median distance."""
    if isinstance(bandwidth, str):
        return median_distance(points, distance, weight)
    if not math.isfinite(bandwidth):
        raise InputError(f"bandwidth of {asker} must be finite; got {bandwidth}", field="bandwidth")
    return float(bandwidth)


def median_distance(points: Floats, distance: Distance, weight: Floats | None = None) -> float:
    """Median distance of pairs of rows; a median of 0 gives way to that of the distances above 0, or to 1."""
    if points.shape[1] == 1:
        levels, place = np.unique(points[:, 0], return_inverse=True)
        counted = np.bincount(place, weights=weight).astype(np.float64)
        return median_gap(levels[counted > 0], counted[counted > 0])
    if weight is not None:
        some = weight > 0
        points, weight = points[some], weight[some]
    if weight is None and len(points) > WHOLE:
        found = _median_of_many(points, distance)
        if found > 0:
            return found
    return _RankedDistances(points, distance, weight).median()


def _median_of_many(points: Floats, distance: Distance) -> float:
    """The median by compiled passes over all pairs: bracketed on a sample, then ranked inside the bracket.

    0 when no bracket will do (many pairs at one distance), so that the median is sought in another way.
    """
    n = len(points)
    ranks = [int(rank) for rank in middle_ranks(n * (n - 1) / 2)]
    some = points[np.linspace(0, n - 1, min(n, 2000)).astype(np.intp)]
    sample = np.sort(distances(some, some, distance)[np.triu_indices(len(some), 1)])
    low, high = 0.47, 0.53
    for _ in range(8):
        bracket = float(np.quantile(sample, low)), float(np.quantile(sample, high))
        below, inside, held = pair_tally(points, distance == "euclid", *bracket, COLLECTED)
        if inside > COLLECTED:  # aim again with what was counted
            middle = low + (high - low) * (ranks[0] - below) / inside
            reach = 0.4 * (high - low) * COLLECTED / inside
            low, high = middle - reach, middle + reach
        elif below <= ranks[0] and ranks[-1] < below + inside:
            held.sort()
            return float(np.mean([held[rank - below] for rank in ranks]))
        else:
            low, high = max(0.0, 2 * low - high), min(1.0, 2 * high - low)
    return 0.0


def gaps(left: Floats, right: Floats, squared: bool) -> Floats:
    """The sums over coordinates of (left_i - right_j)^2, or of |left_i - right_j|, always in the order of the coordinates."""
    left, turned = np.ascontiguousarray(left, np.float64), np.ascontiguousarray(right.T, np.float64)
    made = np.empty((len(left), len(right)))
    shape = len(right), left.shape[1], int(squared)
    accepted(lib.epi_distances(read(left), len(left), read(turned), *shape, write(made), made.size))
    return made


def pair_tally(points: Floats, euclid: bool, low: float, high: float, room: int) -> tuple[int, int, Floats]:
    """Number of pairs nearer than `low`, number in [low, high], and the distances of these unless they are too many."""
    n, step = len(points), 64
    scale = 1.0 if euclid else 2.0

    def tally(start: int) -> tuple[int, int, Floats]:
        block = gaps(points[start : start + step], points[start:], euclid)
        if euclid:
            np.sqrt(block, out=block)
        held, counted = np.empty(min(room, block.size)), np.zeros(2, np.int64)
        bracket = 1, scale * low, scale * high
        accepted(lib.epi_count_gaps(read(block), *block.shape, *bracket, write(held), len(held), write(counted), 2))
        below, inside = counted.tolist()
        return below, inside, held[: min(inside, len(held))] / scale

    with ThreadPoolExecutor(threads()) as pool:
        parts = list(pool.map(tally, range(0, n, step)))
    inside = sum(part[1] for part in parts)
    found = np.concatenate([part[2] for part in parts]) if inside <= room else np.empty(0)
    return sum(part[0] for part in parts), inside, found


class _RankedDistances:
    """The distances of all pairs, weighted or not, ranked by histograms that narrow until a cell can be held."""

    def __init__(self, points: Floats, distance: Distance, weight: Floats | None) -> None:
        self.points, self.distance, self.weight = points, distance, weight
        # Equal rows that one weight stands for are pairs at distance 0.
        self.own = 0.0 if weight is None else float(np.sum(np.maximum(weight * (weight - 1), 0.0)) / 2)

    def median(self) -> float:
        tied = apart = most = 0.0
        for gap, pair in self._pairs():
            here = gap == 0
            tied += float(np.count_nonzero(here)) if pair is None else float(pair[here].sum())
            apart += float(np.count_nonzero(~here)) if pair is None else float(pair[~here].sum())
            most = max(most, float(gap.max(initial=0.0)))
        if apart == 0:
            return 1.0
        zero = tied + self.own
        ranks = middle_ranks(zero + apart)
        if ranks[-1] < zero:
            ranks = [rank + zero for rank in middle_ranks(apart)]
        return float(np.mean([self._of_rank(rank - zero, most) if rank >= zero else 0.0 for rank in ranks]))

    def _pairs(self) -> Iterator[tuple[Floats, Floats | None]]:
        """Distances of pairs i < j, block by block, with the weight of each pair (None: all 1)."""
        n = len(self.points)
        step = max(1, BLOCK // n)
        for start in range(0, n, step):
            stop = min(n, start + step)
            block = distances(self.points[start:stop], self.points[start:], self.distance)
            keep = np.triu(np.ones(block.shape, bool), 1)
            pair = None if self.weight is None else np.outer(self.weight[start:stop], self.weight[start:])[keep]
            yield block[keep], pair

    def _of_rank(self, rank: float, high: float) -> float:
        """The distance of that rank, from 0, among those above 0."""
        low, before, cells = 0.0, 0.0, 1 << 12
        while True:
            count, held = np.zeros(cells), np.zeros(cells)
            for gap, pair in self._pairs():
                inside = (gap > low) & (gap <= high)
                cell = np.minimum((gap[inside] - low) * (cells / (high - low)), cells - 1).astype(np.intp)
                held += np.bincount(cell, minlength=cells)
                count += np.bincount(cell, None if pair is None else pair[inside], minlength=cells)
            if held.sum() <= BLOCK or high <= low * (1 + 1e-12):
                break
            cell_of_rank = min(int(np.searchsorted(before + np.cumsum(count), rank, side="right")), cells - 1)
            step = (high - low) / cells
            low, high = low + (cell_of_rank - 1) * step if cell_of_rank else low, low + (cell_of_rank + 2) * step
            before = self._weight_upto(low)
        gaps, pairs = [], []
        for gap, pair in self._pairs():
            inside = (gap > low) & (gap <= high)
            gaps.append(gap[inside])
            pairs.append(np.ones(len(gaps[-1])) if pair is None else pair[inside])
        gap, weight = np.concatenate(gaps), np.concatenate(pairs)
        order = np.argsort(gap, kind="stable")
        running = before + np.cumsum(weight[order])
        return float(gap[order][min(int(np.searchsorted(running, rank, side="right")), len(order) - 1)])

    def _weight_upto(self, low: float) -> float:
        """Weight of the pairs above 0 and up to `low`."""
        total = 0.0
        for gap, pair in self._pairs():
            inside = (gap > 0) & (gap <= low)
            total += float(np.count_nonzero(inside)) if pair is None else float(pair[inside].sum())
        return total
