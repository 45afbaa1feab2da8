# SPDX-License-Identifier: Apache-2.0
"""Sums over all pairs h_ij = k(x_i, x_j) e_i.e_j: residual vectors e compared through a kernel on points x.

Points on a line (two classes) are sorted once and every sum costs O(N). Otherwise the N x N matrix is made in blocks of
rows, upper triangle only, and never held beyond 3,000 rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.metrics.kernel.distances import WHOLE, Distance, distances, gaps, width_of
from epimeter.metrics.kernel.recursions import threads
from epimeter.metrics.kernel.sums import kernel_sums
from epimeter.views import Binary, View

Floats = NDArray[np.float64]
PairKernel = Literal["laplace", "gaussian"]

BLOCK = 1 << 21
"""Numbers of the matrix held at a time."""


@dataclass(frozen=True)
class PairSums:
    """What one pass over the matrix of pairs gives."""

    rows: Floats
    """Sum over j of h_ij."""
    squares: float
    """Sum over all pairs of h_ij^2."""
    products: Floats
    """The matrix times the columns asked for."""


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

    @property
    def positive(self) -> bool:
        """Whether the kernel is positive definite; the Gaussian of the total-variation distance is not."""
        return self.kernel == "laplace" or self.distance == "euclid" or self.points.shape[1] == 1

    @cached_property
    def diagonal(self) -> Floats:
        """h_ii."""
        return np.asarray(np.einsum("ij,ij->i", self.residual, self.residual))

    @cached_property
    def matrix(self) -> Floats:
        """The whole matrix of pairs."""
        gap = distances(self.points, self.points, self.distance) / self.width
        power = gap if self.kernel == "laplace" else 0.5 * gap**2
        return np.asarray(np.exp(-power) * (self.residual @ self.residual.T))

    def mean_apart(self, row_sums: Floats) -> float:
        """Mean of h_ij over pairs of different rows."""
        return float((row_sums.sum() - self.diagonal.sum()) / (self.n * (self.n - 1)))

    def times(self, columns: Floats) -> Floats:
        """The matrix of pairs times some columns."""
        if self.on_line:
            return self._times_on_line(columns, self.residual[:, 0], self.width)
        if self.n <= WHOLE:
            return np.asarray(self.matrix @ columns)
        made = np.zeros_like(columns)
        for rows, block in self._upper_blocks():
            _add_products(made, rows, block, columns)
        return made

    def sums(self, columns: Floats | None = None) -> PairSums:
        """Row sums, squares and the product with some columns, in one pass."""
        ones = np.ones((self.n, 1))
        wanted = ones if columns is None else np.concatenate([ones, columns], axis=1)
        if self.on_line:
            made = self.times(wanted)
            # The square of a kernel is the same kernel, narrower.
            narrow = self.width / (2 if self.kernel == "laplace" else math.sqrt(2))
            squares = float(self._times_on_line(ones, self.residual[:, 0] ** 2, narrow).sum())
        elif self.n <= WHOLE:
            made, squares = self.matrix @ wanted, float(np.sum(self.matrix**2))
        else:
            made, squares = np.zeros_like(wanted), 0.0
            for rows, block in self._upper_blocks():
                _add_products(made, rows, block, wanted)
                corner = block[:, : len(block)]  # whole, with both triangles
                squares += 2 * float(np.vdot(block, block)) - float(np.sum(corner**2))
        return PairSums(made[:, 0], squares, made[:, 1:])

    def _times_on_line(self, columns: Floats, residual: Floats, width: float) -> Floats:
        order = self._order
        scaled = residual[:, None]
        inside = np.ascontiguousarray((scaled * columns)[order].T)
        points = self.points[order, 0]
        made = np.empty_like(columns)
        made[order] = kernel_sums(self.kernel, points, inside, points, width).T
        return scaled * made

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return np.argsort(self.points[:, 0], kind="stable")

    def _upper_blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Blocks of rows of the matrix, each from its first row's diagonal entry to the right end."""
        start = 0
        while start < self.n:
            rows = slice(start, min(self.n, start + max(1, BLOCK // (self.n - start))))
            block = self.residual[rows] @ self.residual[start:].T
            times_kernel(
                self.points[rows],
                self.points[start:],
                self.distance == "euclid",
                self.kernel == "gaussian",
                self.width,
                block,
            )
            yield rows, block
            start = rows.stop


def times_kernel(left: Floats, right: Floats, euclid: bool, gaussian: bool, width: float, block: Floats) -> None:
    """Multiply block[i, j] by the kernel of left[i] and right[j]; threads share the rows."""
    parts = threads()
    cuts = [len(left) * part // parts for part in range(parts + 1)]

    def fill(start: int, stop: int) -> None:
        part = gaps(left[start:stop], right, euclid)
        if euclid and not gaussian:
            np.sqrt(part, out=part)
        elif gaussian and not euclid:
            np.square(part, out=part)
        # Gaps hold the sum of sizes (twice the distance) or of squares (its square), or the root of that.
        size = 1.0 if euclid else 0.5
        part *= -0.5 * size**2 / width**2 if gaussian else -size / width
        np.exp(part, out=part)
        block[start:stop] *= part

    with ThreadPoolExecutor(parts) as pool:
        list(pool.map(fill, cuts[:-1], cuts[1:]))


def _add_products(made: Floats, rows: slice, block: Floats, columns: Floats) -> None:
    """Add the product of a block of the upper triangle, and of its mirror image below the diagonal."""
    made[rows] += block @ columns[rows.start :]
    made[rows.stop :] += block[:, len(block) :].T @ columns[rows]


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
