# SPDX-License-Identifier: Apache-2.0
"""Sums over all pairs h_ij = k(x_i, x_j) e_i.e_j: residual vectors e compared through a kernel on points x.

Points on a line (two classes) are sorted once and every sum costs O(N). Otherwise the N x N matrix is made in blocks of
rows and never held when N is large.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError
from epimeter.metrics.kernel import spectrum
from epimeter.metrics.kernel.bandwidth import median_gap, middle_ranks
from epimeter.metrics.kernel.sums import kernel_sums
from epimeter.views import Binary, View

Floats = NDArray[np.float64]
Distance = Literal["variation", "euclid"]
PairKernel = Literal["laplace", "gaussian"]

WHOLE = 3000
"""Up to so many rows the matrix of pairs is held and all its eigenvalues are taken."""
LEADING = 200
"""How many eigenvalues are taken of larger ones; the rest counts as normal."""
HELD = 1 << 26
"""Most numbers held at a time beyond that: 512 MB."""
BLOCK = 1 << 22


@dataclass(frozen=True)
class Pairs:
    """Points and residuals; (N, 1) points are a line."""

    points: Floats
    residual: Floats
    distance: Distance
    kernel: PairKernel
    width: float

    @property
    def n(self) -> int:
        return len(self.points)

    @property
    def on_line(self) -> bool:
        return bool(self.points.shape[1] == 1 and self.residual.shape[1] == 1)

    @cached_property
    def diagonal(self) -> Floats:
        """h_ii."""
        return np.asarray(np.einsum("ij,ij->i", self.residual, self.residual))

    @cached_property
    def order(self) -> NDArray[np.intp]:
        return np.argsort(self.points[:, 0], kind="stable")

    def block(self, rows: slice) -> Floats:
        """Some rows of the matrix of pairs."""
        made = kernel_of(distances(self.points[rows], self.points, self.distance), self.kernel, self.width)
        made *= self.residual[rows] @ self.residual.T
        return made

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """The matrix of pairs, some rows at a time."""
        step = max(1, BLOCK // self.n)
        for start in range(0, self.n, step):
            rows = slice(start, min(self.n, start + step))
            yield rows, self.block(rows)

    def matrix(self) -> Floats:
        """The whole matrix of pairs."""
        return self.block(slice(0, self.n))

    def times(self, columns: Floats) -> Floats:
        """The matrix of pairs times some columns."""
        if self.on_line:
            return self._times_on_line(columns, self.residual[:, 0], self.width)
        made = np.empty_like(columns)
        for rows, block in self.blocks():
            made[rows] = block @ columns
        return made

    def _times_on_line(self, columns: Floats, residual: Floats, width: float) -> Floats:
        points = self.points[self.order, 0]
        scaled = residual[:, None]
        inside = np.ascontiguousarray((scaled * columns)[self.order].T)
        made = np.empty_like(columns)
        made[self.order] = kernel_sums(self.kernel, points, inside, points, width).T
        return scaled * made

    @cached_property
    def row_sums(self) -> Floats:
        """Sum over j of h_ij."""
        return self.times(np.ones((self.n, 1)))[:, 0]

    @cached_property
    def squares(self) -> float:
        """Sum over all pairs of h_ij^2."""
        if self.on_line:  # the square of a kernel is the same kernel, narrower
            narrow = self.width / (2 if self.kernel == "laplace" else math.sqrt(2))
            ones = np.ones((self.n, 1))
            return float(np.sum(self._times_on_line(ones, self.residual[:, 0] ** 2, narrow)))
        return float(sum(np.sum(block * block) for _, block in self.blocks()))

    @property
    def mean_apart(self) -> float:
        """Mean of h_ij over pairs of different rows."""
        return float((self.row_sums.sum() - self.diagonal.sum()) / (self.n * (self.n - 1)))


def kernel_of(distance: Floats, kernel: PairKernel, width: float) -> Floats:
    """k(d), in place of the distances."""
    distance /= width
    if kernel == "gaussian":
        np.square(distance, out=distance)
        distance *= 0.5
    np.negative(distance, out=distance)
    return np.exp(distance, out=distance)


def distances(left: Floats, right: Floats, distance: Distance) -> Floats:
    """Distances of every left point from every right one; total variation is half the L1 distance.

    On a line there is nothing to halve: |p - q| is the distance of (1 - p, p) from (1 - q, q).
    """
    if left.shape[1] == 1:
        return np.abs(left - right[:, 0])
    from scipy.spatial.distance import cdist

    if distance == "variation":
        made = cdist(left, right, "cityblock")
        made *= 0.5
        return np.asarray(made)
    return np.asarray(cdist(left, right, "euclidean"))


def median_distance(points: Floats, distance: Distance, weight: Floats | None = None) -> float:
    """Median distance of pairs of rows; a median of 0 gives way to that of the distances above 0, or to 1."""
    if points.shape[1] == 1:
        levels, place = np.unique(points[:, 0], return_inverse=True)
        return median_gap(levels, np.bincount(place, weights=weight).astype(np.float64))
    some = np.ones(len(points)) if weight is None else weight
    return _PairDistances(points, distance, some).median()


class _PairDistances:
    """The distances of all pairs, ranked without holding them all.

    A histogram finds the cell of the middle ranks, refined until the pairs inside it can be held and sorted.
    """

    def __init__(self, points: Floats, distance: Distance, weight: Floats) -> None:
        some = weight > 0
        self.points, self.distance, self.weight = points[some], distance, weight[some]
        self.equal = bool((self.weight == 1).all())
        self.own = float(np.sum(np.maximum(self.weight * (self.weight - 1), 0.0)) / 2)
        """Pairs of equal rows that one weight stands for."""

    def median(self) -> float:
        tied, least, most = self._range()
        total = (float(self.weight.sum()) ** 2 - float(np.sum(self.weight**2))) / 2 + self.own
        zero = tied + self.own
        if total - zero <= 0.25:
            return 1.0
        ranks = middle_ranks(round(total, 6))
        if ranks[-1] < zero:
            ranks = [rank + zero for rank in middle_ranks(round(total - zero, 6))]
        return float(np.mean([self._of_rank(rank - zero, least, most) if rank >= zero else 0.0 for rank in ranks]))

    def _pairs(self) -> Iterator[tuple[Floats, Floats | None]]:
        """Distances of pairs i < j, block by block, with the weight of each pair (None: all 1)."""
        n = len(self.points)
        step = max(1, BLOCK // n)
        for start in range(0, n, step):
            stop = min(n, start + step)
            block = distances(self.points[start:stop], self.points[start:], self.distance)
            above = np.triu(np.ones((stop - start, stop - start), bool), 1)
            keep = np.concatenate([above, np.ones((stop - start, n - stop), bool)], axis=1)
            pair = None if self.equal else np.outer(self.weight[start:stop], self.weight[start:])[keep]
            yield block[keep], pair

    def _range(self) -> tuple[float, float, float]:
        """Weight of the pairs at distance 0, and the least and greatest distance above 0."""
        tied, least, most = 0.0, math.inf, 0.0
        for gap, weight in self._pairs():
            here = gap == 0
            if here.any():
                tied += float(np.count_nonzero(here)) if weight is None else float(weight[here].sum())
                gap = gap[~here]
            if len(gap):
                least, most = min(least, float(gap.min())), max(most, float(gap.max()))
        return tied, least, most

    def _of_rank(self, rank: float, low: float, high: float) -> float:
        """The distance of that rank, from 0, among those above 0."""
        before = 0.0
        while True:
            edges = np.linspace(low, high, 4097)
            count, held = np.zeros(4096), np.zeros(4096)
            for gap, weight in self._pairs():
                inside = (gap >= low) & (gap <= high)
                counted, _ = np.histogram(gap[inside], edges)
                held += counted
                count += counted if weight is None else np.histogram(gap[inside], edges, weights=weight[inside])[0]
            cell = min(int(np.searchsorted(before + np.cumsum(count), rank, side="right")), 4095)
            before += float(np.sum(count[:cell]))
            closed = cell == 4095
            low, high = float(edges[cell]), float(edges[cell + 1])
            if held[cell] <= BLOCK or not high > low * (1 + 1e-14):
                break
        gaps, weights = [], []
        for gap, weight in self._pairs():
            inside = (gap >= low) & ((gap <= high) if closed else (gap < high))
            gaps.append(gap[inside])
            weights.append(np.ones(len(gaps[-1])) if weight is None else weight[inside])
        gap, pair = np.concatenate(gaps), np.concatenate(weights)
        order = np.argsort(gap, kind="stable")
        running = before + np.cumsum(pair[order])
        return float(gap[order][min(int(np.searchsorted(running, rank, side="right")), len(order) - 1)])


def calibration_pairs(view: View, distance: Distance, kernel: PairKernel, bandwidth: float | str, asker: str) -> Pairs:
    """Residuals onehot(y) - c compared through a kernel on the probabilities; two classes lie on a line."""
    points, residual = points_and_residuals(view)
    if points.shape[1] == 1 and distance == "euclid":
        points = points * math.sqrt(2)  # (1 - p, p) is sqrt(2) |p - q| from (1 - q, q)
    return Pairs(points, residual, distance, kernel, width_of(points, distance, bandwidth, asker, view.weight))


def points_and_residuals(view: View) -> tuple[Floats, Floats]:
    """Probabilities and residual vectors; for two classes p of class 1 and sqrt(2) (y - p), with equal products."""
    prob = view.prob.astype(np.float64)
    if isinstance(view, Binary) or view.n_classes == 2:
        line = prob if prob.ndim == 1 else prob[:, 1]
        return line[:, None], math.sqrt(2) * (view.true - line)[:, None]
    residual = -prob
    residual[np.arange(len(prob)), view.true] += 1
    return prob, residual


def width_of(
    points: Floats, distance: Distance, bandwidth: float | str, asker: str, weight: Floats | None = None
) -> float:
    """The bandwidth as a number: given, or the median distance."""
    if isinstance(bandwidth, str):
        return median_distance(points, distance, weight)
    if not math.isfinite(bandwidth):
        raise InputError(f"bandwidth of {asker} must be finite; got {bandwidth}", field="bandwidth")
    return float(bandwidth)


def spectral_tail(pairs: Pairs, statistic: float, centred: bool) -> float:
    """P(sum_l lambda_l (Z_l^2 - 1) > statistic) with the eigenvalues of the (centred) matrix of pairs over N."""
    if not pairs.diagonal.any():
        return 1.0
    if pairs.n <= WHOLE:
        matrix = pairs.matrix()
        if centred:
            matrix -= matrix.mean(axis=0)
            matrix -= matrix.mean(axis=1, keepdims=True)
        matrix /= pairs.n
        from scipy.linalg import eigvalsh

        return spectrum.tail(eigvalsh(matrix, overwrite_a=True, check_finite=False), statistic)
    eigenvalues, rest = leading(pairs, centred)
    return spectrum.tail(eigenvalues, statistic, 2 * rest)


def leading(pairs: Pairs, centred: bool) -> tuple[Floats, float]:
    """The eigenvalues of largest size by Lanczos, and the sum of squares of the others.

    The Gaussian of the total-variation distance is not positive definite, so some may be negative.
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    n = pairs.n
    squares = pairs.squares / n**2
    if centred:
        total = pairs.row_sums.sum() / n
        squares += -2 * float(np.sum(pairs.row_sums**2)) / n**3 + float(total**2) / n**2
    held = pairs.matrix() if not pairs.on_line and n * n <= HELD else None

    def times(column: Floats) -> Floats:
        column = column.reshape(-1, 1)
        if centred:
            column = column - column.mean()
        made = pairs.times(column) if held is None else held @ column
        if centred:
            made -= made.mean()
        return np.asarray(made[:, 0] / n)

    count = max(1, min(LEADING, HELD // (2 * n), n - 2))
    operator = LinearOperator((n, n), matvec=times, dtype=np.float64)
    start = pairs.residual[:, 0] + 1 / n
    found = eigsh(operator, k=count, which="LM", v0=start, return_eigenvectors=False, tol=1e-8)
    return found, max(0.0, squares - float(np.sum(found**2)))


def random_rows(draws: int, n: int, seed: int) -> Iterator[Floats]:
    """Uniform numbers of the replicates, some rows at a time; one row a replicate."""
    generator = np.random.Generator(np.random.PCG64(seed))
    step = max(1, (BLOCK // 4) // n)
    for start in range(0, draws, step):
        yield generator.random((min(step, draws - start), n))


def forms(pairs: Pairs, columns: Floats) -> Floats:
    """w'Hw for some columns w."""
    return np.asarray(np.einsum("ij,ij->j", columns, pairs.times(columns)))


def bootstrap_tail(pairs: Pairs, statistic: float, draws: int, seed: int) -> float:
    """Resampled rows: T* = (1/N) sum over a != b of the centred H at (i_a, i_b), one product for all replicates."""
    n, total = pairs.n, pairs.row_sums.sum()
    centred_diagonal = pairs.diagonal - 2 * pairs.row_sums / n + total / n**2
    drawn = []
    for uniform in random_rows(draws, n, seed):
        index = np.floor(uniform * n).astype(np.intp) + n * np.arange(len(uniform))[:, None]
        count = np.bincount(index.ravel(), minlength=n * len(uniform)).reshape(len(uniform), n).T.astype(np.float64)
        drawn.append((forms(pairs, count - 1) - centred_diagonal @ count) / n)
    return spectrum.share_beyond(np.concatenate(drawn), statistic)


def wild_tail(pairs: Pairs, statistic: float, draws: int, seed: int) -> float:
    """Random signs: T* = 1/(N-1) sum over i != j of s_i s_j h_ij."""
    drawn = []
    for uniform in random_rows(draws, pairs.n, seed):
        signs = np.where(uniform < 0.5, -1.0, 1.0).T
        drawn.append((forms(pairs, np.ascontiguousarray(signs)) - pairs.diagonal.sum()) / (pairs.n - 1))
    return spectrum.share_beyond(np.concatenate(drawn), statistic)
