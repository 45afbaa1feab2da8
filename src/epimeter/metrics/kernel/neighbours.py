# SPDX-License-Identifier: Apache-2.0
"""Residuals compared with those of the nearest neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.core import accepted, lib, read, write
from epimeter.errors import UndefinedMetricError
from epimeter.limits import AtLeast
from epimeter.metrics.kernel.local import feature_matrix
from epimeter.results import Result
from epimeter.summaries import Rows
from epimeter.views import Binary, View

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

DECIMALS = 12
"""Distances are rounded to so many decimals, so that ties are ties on every machine."""
BLOCK = 1 << 21


@dataclass(frozen=True, kw_only=True)
class NeighbourTest(Result):
    """Mean product of neighbouring residuals, standardised, and its two-sided p-value."""

    value: float
    z: float
    p_value: float


@metric(
    title="ECMMD calibration statistic and test",
    family="kernel",
    nanoseconds=10_000,
    reads=Rows("given"),
    range=(-2.0, 2.0),
    ideal=0.0,
    direction="lower",
    test="asymptotic",
    order="ties",
    weighted=False,
    takes=("features",),
    equation=r"ECMMD=\frac1{Nk}\sum_{i=1}^N\sum_{j\in\mathcal N_k(i)}e_i^Te_j,\quad z=\frac{Nk\,ECMMD}{\sqrt V},\quad "
    r"V=\sum_{i<j}(a_{ij}+a_{ji})^2\,v_{ij},\ a_{ij}=[j\in\mathcal N_k(i)],\quad p=2\,(1-\Phi(|z|)),\quad "
    r"v_{ij}=\operatorname{tr}(\Sigma_i\Sigma_j)\ (\text{null})\ \text{or}\ (e_i^Te_j)^2\ (\text{empirical}),\ "
    r"\Sigma_i=\operatorname{diag}(c_i)-c_ic_i^T",
    where={
        "N_k(i)": "the k samples nearest to i (Euclidean, rounded to 12 decimals), ties to the lower row number",
        "e_i": "vector p: y_i - p_i; matrix: onehot(y_i) - c_i",
    },
    source="Chatterjee, Niu and Bhattacharya 2024 (A kernel-based conditional two-sample test using nearest neighbors, "
    "with applications to calibration); Lane, journal version, s7.2",
    matrix="used whole",
    pitfalls="The paper draws artificial labels and is random by construction; this is its exact mean, with the exact "
    "null variance. With tied predictions the neighbours depend on the order of the rows. Takes no weights.",
    aliases=("expected conditional mean MMD",),
)
def ecmmd(
    view: View,
    *,
    k: Annotated[int, AtLeast(1)] = 25,
    variance: Literal["null", "empirical"] = "null",
) -> NeighbourTest:
    """Do residuals of nearest neighbours agree: 0 when calibrated, positive when errors cluster.

    Parameters
    ----------
    k
        Number of neighbours. With the column `features`, neighbours are near in the standardised features, else in the
        predictions.
    variance
        ``null`` is exact under calibration, ``empirical`` uses the observed products.
    """
    from epimeter.special import ndtr

    n, k = view.n_rows, int(k)
    if k >= n:
        raise UndefinedMetricError(f"ecmmd needs more rows than neighbours: k = {k}, rows = {n}. Pass a smaller k")
    prob = view.prob.astype(np.float64)
    if isinstance(view, Binary):
        prob = prob[:, None]
        residual = view.true[:, None] - prob
    else:
        residual = -prob
        residual[np.arange(n), view.true] += 1
    near = nearest(feature_matrix(view) if "features" in view.columns else prob, k)
    total, spread = _edge_sums(near, residual, prob, variance)
    value = total / (n * k)
    if spread <= 0:
        return NeighbourTest(value=value, z=math.nan, p_value=math.nan)
    z = total / math.sqrt(spread)
    return NeighbourTest(value=value, z=z, p_value=2 * float(ndtr(-abs(z))))


def _edge_sums(near: Indices, residual: Floats, prob: Floats, variance: str) -> tuple[float, float]:
    """Sum of e_i.e_j over the edges i -> j, and V: an edge that is answered counts twice, as (1 + 1)^2 = 2 + 2."""
    n, k = near.shape
    answered = np.empty((n, k), np.uint8)
    accepted(lib.epi_answered(read(np.ascontiguousarray(near, np.int64)), n, k, write(answered)))
    total = spread = 0.0
    step = max(1, BLOCK // (k * prob.shape[1]))
    for start in range(0, n, step):
        rows = slice(start, start + step)
        product = np.einsum("ic,ijc->ij", residual[rows], residual[near[rows]])
        total += float(product.sum())
        v = product**2 if variance == "empirical" else _null_variance(prob[rows], prob[near[rows]])
        spread += float(np.sum(v * (1 + answered[rows])))
    return total, spread


def _null_variance(own: Floats, other: Floats) -> Floats:
    """tr(Sigma_i Sigma_j); for a vector the product of the two variances p (1 - p)."""
    if own.shape[1] == 1:
        return np.asarray(own * (1 - own) * (other * (1 - other))[:, :, 0])
    dot = np.einsum("ic,ijc->ij", own, other)
    crossed = np.einsum("ic,ijc->ij", own, other**2) + np.einsum("ic,ijc->ij", own**2, other)
    return np.asarray(np.maximum(dot - crossed + dot**2, 0.0))


def nearest(points: Floats, k: int) -> Indices:
    """The k nearest other rows of every row, ties to the lower row number."""
    if len(points) * k <= 1 << 16 and len(points) <= 4096:
        return _by_all_pairs(points, np.arange(len(points)), k)
    if points.shape[1] == 1:
        return _on_line(points[:, 0], k)
    return _by_tree(points, k) if points.shape[1] <= 12 else _by_all_pairs(points, np.arange(len(points)), k)


def _by_all_pairs(points: Floats, rows: Indices, k: int) -> Indices:
    """Brute force, in blocks of rows."""
    from scipy.spatial.distance import cdist

    near = np.empty((len(rows), k), np.intp)
    step = max(1, BLOCK // len(points))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        gap = np.round(cdist(points[part], points), DECIMALS)
        gap[np.arange(len(part)), part] = np.inf
        reach = np.partition(gap, k - 1, axis=1)[:, k - 1 : k]
        inside, tied = gap < reach, gap == reach
        room = k - inside.sum(axis=1, keepdims=True)
        inside |= tied & (np.cumsum(tied, axis=1) <= room)
        near[start : start + step] = np.nonzero(inside)[1].reshape(-1, k)
    return near


def _by_tree(points: Floats, k: int) -> Indices:
    """k-d tree with neighbours to spare; rows whose ties reach beyond them are settled by brute force."""
    from scipy.spatial import cKDTree

    n = len(points)
    asked = min(n, k + 9)
    gap, index = cKDTree(points).query(points, asked)
    gap = np.round(gap, DECIMALS)
    gap[index == np.arange(n)[:, None]] = np.inf
    order = np.lexsort((index, gap), axis=1)
    gap, index = np.take_along_axis(gap, order, 1), np.take_along_axis(index, order, 1)
    near = index[:, :k].astype(np.intp)
    if asked == n:
        return near
    # Beyond the farthest asked for there may be a tie, or (many copies of a row) the row itself was not among them.
    finite = np.where(np.isfinite(gap), gap, -np.inf).max(axis=1)
    open_rows = np.flatnonzero((gap[:, k - 1] >= finite) | np.isfinite(gap[:, -1]))
    near[open_rows] = _by_all_pairs(points, open_rows, k)
    return near


def _on_line(points: Floats, k: int) -> Indices:
    """Sort once: candidates are the rows near in the order, and of equal points only the k + 1 of lowest number."""
    n = len(points)
    order = np.argsort(points, kind="stable")
    ordered = points[order]
    start = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    level = np.repeat(np.arange(len(start)), np.diff(start, append=n))
    kept = np.arange(n) - start[level] <= k
    row, at, home = order[kept], ordered[kept], level[kept]
    first = np.searchsorted(home, np.arange(len(start)))
    # k places on either side hold the k nearest; another k + 1 complete a group of equal points cut by them.
    near, gap = np.empty((n, k), np.int64), np.empty(k)
    candidates = read(np.ascontiguousarray(at)), read(np.ascontiguousarray(row, np.int64)), len(row)
    points_in_order = read(ordered), read(order.astype(np.int64, copy=False)), read(first[level].astype(np.int64)), n
    to = write(gap), write(near), near.size
    accepted(lib.epi_nearest_on_line(*points_in_order, *candidates, k, 10.0**DECIMALS, *to))
    return near
