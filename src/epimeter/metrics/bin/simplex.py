# SPDX-License-Identifier: Apache-2.0
"""T-Cal's statistic for whole vectors of probabilities: the simplex cut into cells, gaps of vectors in each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import Between
from epimeter.results import Result
from epimeter.summaries import Rows
from epimeter.summaries.rowwise import row_dot, row_sum
from epimeter.views import Multiclass

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class SimplexError(Result):
    """The debiased squared error, its deviation under calibration, their ratio, and how many cells hold two rows or more."""

    value: float
    standard_error: float
    z: float
    cells: int


@metric(
    title="Debiased plug-in error over cells of the simplex",
    family="bin",
    reads=Rows("classes"),
    range=(-2.0, 2.0),
    ideal=0.0,
    direction="lower",
    weighted=False,
    test="resampling",
    equation=r"T=\frac1N\sum_b\frac1{n_b}\sum_{i\ne j\in b}u_i\cdot u_j,\ u_i=y_i-c_i;\qquad"
    r"V=\frac{2}{N^2}\sum_b\frac{1}{n_b^2}\sum_{i\ne j\in b}\mathrm{tr}(\Sigma_i\Sigma_j),\ \Sigma_i=diag(c_i)-c_ic_i^T",
    where={
        "b": "cell: vectors whose probabilities, times the parameter cuts, have the same whole parts",
        "y_i": "indicators of the classes",
        "V": "variance of T when every label is drawn from its vector; z is T by its root",
    },
    source="Lee, Huang, Hassani and Dobriban 2023, JMLR 24 (T-Cal, s3); Lane 2025 s4.12 eq 56",
    matrix="full class probabilities; a vector p is read as 1 - p, p",
    pitfalls="Unbiased under calibration, so half of all calibrated models score below 0. Cells grow like cuts to the power K - 1: "
    "with many classes most hold one row and say nothing (cells counts the others). z is skewed where cells are few; for a test "
    "that holds its level use consistency_test(metric='dpe_simplex').",
    aliases=("t_cal_simplex", "simplex T-Cal"),
)
def dpe_simplex(rows: Multiclass, *, cuts: Annotated[int, Between(1, 1000)] = 5) -> SimplexError:
    """Squared distance between vectors of probabilities and what came true, over cells of the simplex, without its bias.

    Parameters
    ----------
    cuts
        Into how many parts each probability is cut; 1 takes all rows together.
    """
    prob = rows.prob.astype(np.float64, copy=False)
    place = np.minimum(np.floor(prob * int(cuts)), int(cuts) - 1).astype(np.int32)
    cell = np.unique(place, axis=0, return_inverse=True)[1].ravel()
    order = np.lexsort((*prob.T[::-1], rows.true, cell))  # sums in an order of the rows' own, whatever theirs was
    prob, true, cell = prob[order], rows.true[order], cell[order]
    residual = -prob
    residual[np.arange(len(prob)), true] += 1.0
    start = np.flatnonzero(np.concatenate([[True], cell[1:] != cell[:-1]]))
    size = np.diff(np.append(start, len(prob))).astype(np.float64)
    gap = np.add.reduceat(residual, start, axis=0)
    own = np.add.reduceat(row_dot(residual, residual), start)
    n = len(prob)
    several = size > 1
    value = math.fsum(((row_dot(gap, gap) - own) / size)[several].tolist()) / n
    variance = math.fsum((_pair_traces(prob, start) / size**2)[several].tolist()) * 2 / n**2
    error = math.sqrt(max(variance, 0.0))
    return SimplexError(
        value=value, standard_error=error, z=value / error if error > 0 else math.nan, cells=int(several.sum())
    )


def _pair_traces(prob: Floats, start: NDArray[np.intp]) -> Floats:
    """Sum over pairs of different rows of a cell of tr(Sigma_i Sigma_j), without a matrix for each row.

    tr(Sigma_i Sigma_j) = sum_k c_ik c_jk - sum_k c_ik^2 c_jk - sum_k c_ik c_jk^2 + (c_i . c_j)^2; the last term needs the sums of
    c_ik c_il over the cell.
    """
    square = prob**2
    first = np.add.reduceat(prob, start, axis=0)
    second = np.add.reduceat(square, start, axis=0)
    ends = np.append(start, len(prob))
    inner = np.array(
        [
            float(np.sum((prob[a:b].T @ prob[a:b]) ** 2))
            for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        ]
    )
    own = row_sum(square) - 2 * row_dot(square, prob) + row_sum(square) ** 2
    pairs: Floats = row_dot(first, first) - 2 * row_dot(first, second) + inner - np.add.reduceat(own, start)
    return pairs
