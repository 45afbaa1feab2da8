# SPDX-License-Identifier: Apache-2.0
"""Kernel errors that compare all pairs of rows, on the device where the predictions are.

Each has the value of the metric of its name; p-values need the spectrum of the pairs and stay with that. The N x N matrix is
made in square tiles of its upper triangle, in 32 bits, and only sums of tiles leave a step; those are added in 64 bits. Steps
on a CUDA device are compiled, so that a tile is written and read as few times as a product of matrices writes it.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import torch

from epimeter.errors import InputError, UndefinedMetricError

TILE = 8_192
"""Rows and columns of a tile: 256 MB."""
LEAST = 1e-12
"""Probabilities are clipped to this inside a power, as in `dkde`."""


def skce_uq(probs: torch.Tensor, targets: torch.Tensor, *, bandwidth: float, kernel: str = "laplace") -> float:
    """Unbiased squared kernel calibration error of whole probability vectors, the value of `metrics.skce_uq`.

    Parameters
    ----------
    probs
        (N, K) probabilities.
    targets
        N classes.
    bandwidth
        Width of the kernel; `metrics.kernel_bandwidth` on some of the rows, or the median distance of some pairs.
    kernel
        ``laplace`` or ``gaussian``, of the total-variation distance.
    """
    points, labels = _checked(probs, targets, bandwidth)
    squared, n = _named(kernel) == "gaussian", len(points)
    if points.device.type == "cuda" and (fused := _kernel()) is not None:
        return float(fused.pair_sum(points, labels, bandwidth, squared=squared)) / (n * (n - 1))
    return _mean_of_pairs(points, _residuals(points, labels), "variation", kernel, bandwidth)


def klce(
    probs: torch.Tensor,
    targets: torch.Tensor,
    features: torch.Tensor,
    *,
    bandwidth: float,
    kernel: str = "gaussian",
    standardise: bool = True,
) -> float:
    """Kernel local calibration error over features, the value of `metrics.klce`.

    Parameters
    ----------
    probs, targets, bandwidth
        As in skce_uq; the width is one of the Euclidean distance of features.
    features
        (N, d) numbers.
    kernel
        ``gaussian`` or ``laplace``.
    standardise
        Whether every feature is centred and divided by its standard deviation first.
    """
    points, labels = _checked(probs, targets, bandwidth)
    if features.shape[:1] != points.shape[:1] or features.device != points.device:
        raise InputError("features must have one row for each of the predictions, on their device", field="features")
    x = features.reshape(len(points), -1).double()
    if standardise:
        spread = x.std(dim=0, correction=0)
        x = (x - x.mean(dim=0)) / torch.where(spread > 0, spread, 1.0)
    return _mean_of_pairs(x.float(), _residuals(points, labels), "euclid", _named(kernel), bandwidth)


def dkde(probs: torch.Tensor, targets: torch.Tensor, *, bandwidth: float, norm: float = 1.0) -> float:
    """Canonical calibration error by Dirichlet kernels, the value of `metrics.dkde`.

    Parameters
    ----------
    probs, targets
        As in skce_uq.
    bandwidth
        Width of the kernel, as `metrics.dkde` takes it.
    norm
        The p of the p-norm; its p-th power is averaged.
    """
    points, labels = _checked(probs, targets, bandwidth)
    hot = torch.nn.functional.one_hot(labels, points.shape[1]).to(points.dtype)
    shape = points.double() / bandwidth + 1
    fixed = torch.lgamma(shape.sum(dim=1)) - torch.lgamma(shape).sum(dim=1)
    # Products are of 64 bits where logarithms of kernels are large numbers whose differences count.
    logs, scaled = points.double().clamp(LEAST, 1.0).log(), (points.double() / bandwidth).T
    step, total, n = _step(_densities, points.device.type), 0.0, len(points)
    places = torch.arange(n, device=points.device)
    for start in range(0, n, TILE // 4):
        rows = slice(start, min(n, start + TILE // 4))
        frequency = step(logs[rows] @ scaled, fixed, hot, places[rows], places)
        total += float(((frequency - points[rows]).abs() ** norm).sum(dtype=torch.float64))
    return total / n


def _densities(
    exponent: torch.Tensor, fixed: torch.Tensor, hot: torch.Tensor, rows: torch.Tensor, places: torch.Tensor
) -> torch.Tensor:
    """The class frequencies that the other rows show around some rows."""
    log_kernel = torch.where(places == rows[:, None], -math.inf, exponent + fixed)
    kernel = (log_kernel - log_kernel.amax(dim=1, keepdim=True)).float().exp()
    if kernel.device.type != "cuda":
        return (kernel @ hot) / kernel.sum(dim=1, keepdim=True)
    # Three parts of 8 bits each are the 24 bits of a number, and a product with 0 or 1 is exact in any of them.
    first = kernel.bfloat16()
    rest = kernel - first.float()
    second = rest.bfloat16()
    flags = hot.bfloat16()
    parts = (first, second, (rest - second.float()).bfloat16())
    seen = [torch.mm(part, flags, out_dtype=torch.float32) for part in parts]
    return (seen[0] + (seen[1] + seen[2])) / kernel.sum(dim=1, keepdim=True)


def _mean_of_pairs(points: torch.Tensor, residual: torch.Tensor, distance: str, kernel: str, width: float) -> float:
    """Mean of k(x_i, x_j) e_i.e_j over pairs of different rows."""
    step, n, total = _step(_tile_sum, points.device.type), len(points), 0.0
    for rows, columns in _tiles(n):
        made = step(points[rows], points[columns], residual[rows], residual[columns], distance, kernel, width)
        total += float(made) * (1 if rows == columns else 2)
    own = float((residual.double() ** 2).sum())
    return (total - own) / (n * (n - 1))


def _tile_sum(
    left: torch.Tensor, right: torch.Tensor, e: torch.Tensor, f: torch.Tensor, distance: str, kernel: str, width: float
) -> torch.Tensor:
    """The sum of one tile, in 64 bits."""
    if distance == "variation":
        gap = torch.cdist(left, right, p=1.0) * (0.5 / width)
        power = gap if kernel == "laplace" else 0.5 * gap * gap
    else:
        square = (left * left).sum(1)[:, None] + (right * right).sum(1) - 2 * (left @ right.T)
        square = square.clamp_min(0.0) / width**2
        power = 0.5 * square if kernel == "gaussian" else square.sqrt()
    return (torch.exp(-power) * (e @ f.T)).sum(dtype=torch.float64)


def _tiles(n: int) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of the tiles on and above the diagonal."""
    cuts = [slice(start, min(n, start + TILE)) for start in range(0, n, TILE)]
    for number, rows in enumerate(cuts):
        for columns in cuts[number:]:
            yield rows, columns


@cache
def _kernel() -> Any:
    """The kernel that writes no tile; None where there is no Triton."""
    try:
        return importlib.import_module("epimeter.integrations.torch_pair_kernel")
    except ImportError:
        return None


@cache
def _step(function: Callable[..., torch.Tensor], device: str) -> Callable[..., torch.Tensor]:
    """The function itself; compiled where the device gains by it."""
    # A number that was rounded to 16 bits stays so: what rounding left is counted apart.
    options: dict[str, Any] = {"emulate_precision_casts": True}
    return torch.compile(function, dynamic=False, options=options) if device == "cuda" else function


def _named(kernel: str) -> str:
    if kernel not in ("laplace", "gaussian"):
        raise InputError(f"kernel must be laplace or gaussian; got {kernel!r:.40}", field="kernel")
    return kernel


def _residuals(points: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """onehot(y) - c."""
    made = -points
    made[torch.arange(len(points), device=points.device), labels] += 1
    return made


def _checked(probs: Any, targets: Any, bandwidth: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Probabilities in 32 bits and classes, both doubted."""
    if probs.ndim != 2 or probs.shape[1] < 2 or targets.shape != probs.shape[:1]:
        raise InputError(
            f"probs must be (N, K) with at least 2 classes and targets N classes; got {tuple(probs.shape)} and "
            f"{tuple(targets.shape)}",
            field="probs",
        )
    if probs.device != targets.device:
        raise InputError(f"probs and targets must be on one device; got {probs.device} and {targets.device}")
    if len(probs) < 2:
        raise UndefinedMetricError(f"pairs need at least 2 rows; got {len(probs)}")
    if not (math.isfinite(bandwidth) and bandwidth > 0):
        raise InputError(f"bandwidth must be a finite number above 0; got {bandwidth}", field="bandwidth")
    off = ~((probs >= 0) & (probs <= 1)).all(dim=1) | ((probs.double().sum(dim=1) - 1).abs() > 1e-3)
    if bool(off.any()):
        row = int(off.nonzero()[0, 0])
        raise InputError(
            f"probs must be probabilities that add up to 1; row {row} does not ({int(off.sum()):,} rows in all)",
            row=row,
        )
    labels = targets.long()
    strange = (labels < 0) | (labels >= probs.shape[1])
    if bool(strange.any()):
        row = int(strange.nonzero()[0, 0])
        raise InputError(
            f"targets must be classes 0 to {probs.shape[1] - 1}; row {row} has {int(labels[row])}. Leave out rows that are "
            "ignored",
            row=row,
        )
    return probs.float(), labels
