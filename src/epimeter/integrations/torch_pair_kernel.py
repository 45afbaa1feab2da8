# SPDX-License-Identifier: Apache-2.0
"""The sum over pairs of rows of a kernel of their total-variation distance times the product of their residuals, on a CUDA device.

A program takes a square of pairs and goes through the classes: distance and product of all its pairs stay in registers, so the
N x N matrix is never written. Squares below the diagonal are left out, those above it count twice.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

ROWS, COLUMNS, WARPS = 128, 64, 4
"""Pairs of a program, and its warps; measured on one H200, where it is the arithmetic that is waited for."""
LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def _pair_sums(  # type: ignore[no-untyped-def]
    points, labels, sums, n, n_classes, scale, ROWS: tl.constexpr, COLUMNS: tl.constexpr, SQUARED: tl.constexpr
):
    tile_row, tile_column = tl.program_id(1), tl.program_id(0)
    place = tile_row.to(tl.int64) * tl.num_programs(0) + tile_column
    first_row, first_column = tile_row * ROWS, tile_column * COLUMNS
    if first_column + COLUMNS <= first_row:  # below the diagonal
        tl.store(sums + place, 0.0)
        return
    i, j = first_row + tl.arange(0, ROWS), first_column + tl.arange(0, COLUMNS)
    y, z = tl.load(labels + i, mask=i < n, other=-1), tl.load(labels + j, mask=j < n, other=-1)
    gap = tl.zeros([ROWS, COLUMNS], tl.float32)
    product = tl.zeros([ROWS, COLUMNS], tl.float32)
    for k in range(n_classes):
        a = tl.load(points + k * n + i, mask=i < n, other=0.0)
        b = tl.load(points + k * n + j, mask=j < n, other=0.0)
        gap += tl.abs(a[:, None] - b[None, :])
        e, f = tl.where(y == k, 1.0 - a, -a), tl.where(z == k, 1.0 - b, -b)
        product += e[:, None] * f[None, :]
    far = gap * scale
    power = 0.5 * far * far if SQUARED else far
    made = tl.exp2(power * -LOG2E) * product
    # Of a square on the diagonal the pairs above it; each stands for two.
    made = tl.where((i[:, None] < j[None, :]) & (j[None, :] < n), made, 0.0)
    tl.store(sums + place, 2.0 * tl.sum(tl.sum(made.to(tl.float64), axis=1), axis=0))


def pair_sum(points: Any, labels: Any, width: float, *, squared: bool) -> float:
    """Sum over pairs of different rows of k(x_i, x_j) e_i.e_j, e = onehot(y) - x; `squared` for the Gaussian kernel."""
    n, n_classes = points.shape
    grid = (triton.cdiv(n, COLUMNS), triton.cdiv(n, ROWS))
    sums = torch.empty(grid[0] * grid[1], dtype=torch.float64, device=points.device)
    with torch.cuda.device(points.device):
        _pair_sums[grid](
            points.T.contiguous(), labels.int(), sums, n, n_classes, 0.5 / width,
            ROWS=ROWS, COLUMNS=COLUMNS, SQUARED=squared, num_warps=WARPS,
        )  # fmt: skip
    return float(sums.sum())
