# SPDX-License-Identifier: Apache-2.0
"""The kernel calibration curve and the errors measured off it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.metrics.kernel.bandwidth import Bandwidth, chosen
from epimeter.metrics.kernel.regression import left_out, smoothed
from epimeter.metrics.kernel.sums import Kernel, kernel_sums, kernel_value, levels_of
from epimeter.summaries import Ordered, OrderedRows
from epimeter.summaries.rows import Levels

Floats = NDArray[np.float64]

KERNEL_HEIGHT = {"gaussian": (2 * np.pi) ** -0.5, "laplace": 0.5, "epanechnikov": 0.75, "triweight": 35 / 32}
CURVE_SYMBOLS = {
    "ŷ": "kernel_curve with the same bandwidth and kernel",
    "c_i": "confidence of sample i",
    "y_i": "1 if it came true, else 0",
}


@metric(
    title="Kernel calibration curve",
    family="kernel",
    reads=Ordered(),
    range=(0.0, 1.0),
    direction="none",
    equation=r"\hat y(c)=\frac{\sum_i y_i\,k(|c-c_i|/h)}{\sum_i k(|c-c_i|/h)}\qquad"
    r"(\text{normalise = false: } \frac1{Nh}\sum_i y_i\,k(|c-c_i|/h))",
    where={
        "k": "gaussian exp(-u^2/2)/sqrt(2 pi); laplace exp(-u)/2; epanechnikov 0.75(1-u^2) and triweight "
        "35/32 (1-u^2)^3 for u < 1",
        "h": "bandwidth; half-width of the two compact kernels",
        "c": "where the curve is evaluated",
    },
    source="Nadaraya 1964; Watson 1964; Abramson 1982, Annals of Statistics 10 (adaptive widths); Galbraith and van Norden 2011 "
    "IJF 27(4); Lane 2025 s5.1 eq 63 (corrected)",
    pitfalls="Eq 63 of the review lacks the sum of weights below the line: it estimates the frequency times the "
    "density of the confidences, and is to be had with normalise=false. A curve far from all data is a guess. Adaptive widths "
    "cost a pass over the levels for each point of the curve.",
    aliases=("nadaraya-watson calibration map", "smooth calibration curve"),
    headline_is="a curve",
)
def kernel_curve(
    rows: OrderedRows,
    *,
    at: Any = 0.5,
    bandwidth: Bandwidth = 0.08,
    kernel: Kernel = "gaussian",
    normalise: bool = True,
    widths: Literal["fixed", "adaptive"] = "fixed",
) -> float | Floats:
    """Frequency of the outcome as a smooth function of the confidence; a calibrated model gives the identity.

    Parameters
    ----------
    at
        Where to evaluate the curve: a number gives a number, an array an array.
    bandwidth
        A positive number, or a rule of `kernel_bandwidth`.
    kernel
        The weighting of neighbours.
    normalise
        False gives the density of positive outcomes, as eq 63 is printed.
    widths
        ``adaptive`` widens the kernel of a row where rows are few: the bandwidth times the root of the geometric mean density
        over the density at the row (Abramson 1982); ``fixed`` gives every row the same.
    """
    where = _places(at)
    levels = levels_of(rows)
    width = chosen(rows, bandwidth, kernel, "kernel_curve")
    flat = where.reshape(-1)
    if widths == "adaptive":
        curve = _adaptive(levels, flat, width, kernel, normalise)
    elif normalise:
        curve = smoothed(levels, flat, width, kernel)
    else:
        sums = kernel_sums(kernel, levels.prob, levels.true[None], flat, width)[0]
        curve = KERNEL_HEIGHT[kernel] / (levels.weight.sum() * width) * np.maximum(sums, 0.0)
    return float(curve[0]) if where.ndim == 0 else curve.reshape(where.shape)


def _adaptive(levels: Levels, at: Floats, width: float, kernel: Kernel, normalise: bool) -> Floats:
    """The curve with a width for every row; the rows nearest in their own widths where no kernel reaches."""
    pilot = kernel_sums(kernel, levels.prob, levels.weight[None], levels.prob, width)[0]
    share = levels.weight / levels.weight.sum()
    own = width * np.exp(0.5 * (float(share @ np.log(pilot)) - np.log(pilot)))
    curve = np.empty(len(at))
    for place, each in enumerate(at.tolist()):
        near = np.abs(each - levels.prob) / own
        value = kernel_value(kernel, near) / own
        mass = float(np.sum(value * levels.weight))
        if not normalise:
            curve[place] = KERNEL_HEIGHT[kernel] / levels.weight.sum() * float(np.sum(value * levels.true))
            continue
        if mass <= 0:  # nothing reaches so far
            value = (near <= near.min() * (1 + 1e-12)).astype(np.float64)
            mass = float(np.sum(value * levels.weight))
        curve[place] = float(np.sum(value * levels.true)) / mass
    return np.clip(curve, 0.0, 1.0) if normalise else curve


def _places(at: Any) -> Floats:
    try:
        where = np.asarray(at, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"at of kernel_curve must be a number or an array of numbers; got {at!r:.60}") from None
    if not np.isfinite(where).all():
        raise InputError("at of kernel_curve must be finite", field="at")
    return where


@metric(
    title="Mean squared calibration error",
    family="kernel",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"MSCE=\frac1N\sum_{i=1}^N(\hat y(c_i)-c_i)^2",
    where=CURVE_SYMBOLS,
    source="Galbraith and van Norden 2011, International Journal of Forecasting 27(4):1041-1057; Lane 2025 s5.2 eq 64",
    pitfalls="A squared error: its root compares with sece. Every sample pulls the curve towards its own label unless "
    "leave_one_out is set.",
)
def msce(
    rows: OrderedRows,
    *,
    bandwidth: Bandwidth = 0.08,
    kernel: Kernel = "gaussian",
    leave_one_out: bool = False,
) -> float:
    """Mean squared distance of the kernel calibration curve from the identity.

    Parameters
    ----------
    bandwidth
        A positive number, or a rule of `kernel_bandwidth`.
    kernel
        As `kernel_curve`.
    leave_one_out
        Whether the curve at a sample is drawn without that sample.
    """
    return _mean_error(rows, bandwidth, kernel, leave_one_out, np.square, "msce")


@metric(
    title="Smooth ECE (kernel regression)",
    family="kernel",
    reads=Ordered(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"SECE=\frac1N\sum_{i=1}^N|\hat y(c_i)-c_i|",
    where=CURVE_SYMBOLS,
    source="Wang and Golebiowski 2024 TMLR (Towards unbiased calibration using meta-regularization); "
    "Lane 2025 s5.2 eq 65",
    pitfalls="At the default bandwidth the curve all but follows single labels of a small sample and the error is far "
    "too large: leave the own label out or take a wider kernel. Not the smooth calibration error (smooth_ce) nor "
    "SmoothECE (smece).",
)
def sece(
    rows: OrderedRows,
    *,
    bandwidth: Bandwidth = 0.01,
    kernel: Kernel = "gaussian",
    leave_one_out: bool = False,
) -> float:
    """Mean distance of the kernel calibration curve from the identity.

    Parameters
    ----------
    bandwidth
        A positive number, or a rule of `kernel_bandwidth`.
    kernel
        As `kernel_curve`.
    leave_one_out
        Whether the curve at a sample is drawn without that sample.
    """
    return _mean_error(rows, bandwidth, kernel, leave_one_out, np.abs, "sece")


def _mean_error(
    rows: OrderedRows,
    bandwidth: float | str,
    kernel: Kernel,
    leave_one_out: bool,
    error: Callable[[Floats], Floats],
    asker: str,
) -> float:
    levels = levels_of(rows)
    n = levels.weight.sum()
    if leave_one_out and n <= 1:
        raise UndefinedMetricError(f"{asker} needs at least 2 rows to leave one out; got {n:g}")
    width = chosen(rows, bandwidth, kernel, asker)
    if not leave_one_out:
        curve = smoothed(levels, levels.prob, width, kernel)
        return float(np.sum(levels.weight * error(curve - levels.prob)) / n)
    without_zero, without_one = left_out(levels, width, kernel)
    missed = (levels.weight - levels.true) * error(without_zero - levels.prob)
    missed += levels.true * error(without_one - levels.prob)
    return float(np.sum(missed) / n)
