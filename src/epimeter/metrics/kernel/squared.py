# SPDX-License-Identifier: Apache-2.0
"""The squared kernel calibration error of whole probability vectors: biased, unbiased, and in linear time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import UndefinedMetricError
from epimeter.limits import Above, AtLeast
from epimeter.metrics.kernel.distances import width_of
from epimeter.metrics.kernel.limiting import bootstrap_test, spectral_test
from epimeter.metrics.kernel.pairs import PairKernel, Pairs, calibration_pairs, points_and_residuals
from epimeter.results import Result
from epimeter.summaries import Rows
from epimeter.views import View

Floats = NDArray[np.float64]
MedianBandwidth = Annotated[float, Above(0)] | Literal["median"]

CANONICAL = "used whole (canonical calibration); a vector p is read as 1 - p, p"
PAIR_SYMBOLS = {
    "d_ij": "total-variation distance, half the L1 norm of c_i - c_j",
    "h": "bandwidth",
    "e_i": "onehot(y_i) - c_i",
}


@dataclass(frozen=True, kw_only=True)
class KernelTest(Result):
    """An unbiased estimate of a squared kernel error and the p-value of calibration."""

    value: float
    p_value: float


@dataclass(frozen=True, kw_only=True)
class LinearKernelTest(Result):
    """The estimate from disjoint pairs, standardised, and its one-sided p-value."""

    value: float
    z: float
    p_value: float


@metric(
    title="Squared kernel calibration error, biased",
    family="kernel",
    cost="quadratic",
    nanoseconds=20,
    reads=Rows("given"),
    range=(0.0, 2.0),
    ideal=0.0,
    direction="lower",
    equation=r"SKCE_b=\frac1{N^2}\sum_{i,j=1}^Nh_{ij},\qquad h_{ij}=e^{-d_{ij}/h}\,e_i^Te_j",
    where=PAIR_SYMBOLS,
    source="Widmann, Lindsten and Zachariah 2019 NeurIPS (Calibration tests in multi-class classification); "
    "Lane 2025 s5.3 eq 73-74",
    matrix=CANONICAL,
    pitfalls="Positive even for a calibrated model, since every residual is paired with itself. Zero for calibrated "
    "models only, but not a proper score: predicting the base rates also gives 0. The largest value is 2, not 1.",
    aliases=("skce-b", "kce (biased)", "skce (biased)", "kernel calibration error (biased)"),
)
def skce_b(view: View, *, bandwidth: MedianBandwidth = "median", kernel: PairKernel = "laplace") -> float:
    """Squared norm of the residual vectors in the kernel's Hilbert space.

    Parameters
    ----------
    bandwidth
        A positive number, or the median distance of pairs.
    kernel
        ``laplace`` exp(-d/h) or ``gaussian`` exp(-d^2/2h^2), d the total-variation distance.
    """
    pairs = calibration_pairs(view, "variation", kernel, bandwidth, "skce_b")
    weight = np.ones((pairs.n, 1)) if view.weight is None else view.weight[:, None]
    return max(0.0, float(np.sum(weight * pairs.times(weight))) / float(weight.sum()) ** 2)


@metric(
    title="Squared kernel calibration error, unbiased, with test",
    family="kernel",
    cost="quadratic",
    nanoseconds=6_000,
    reads=Rows("given"),
    range=(-2.0, 2.0),
    ideal=0.0,
    direction="lower",
    test="asymptotic",
    weighted=False,
    equation=r"SKCE_{uq}=\frac2{N(N-1)}\sum_{i<j}h_{ij};\quad \text{spectral: } p=P\Big(\sum_l\lambda_l(Z_l^2-1)>"
    r"N\,SKCE_{uq}\Big),\ \lambda_l \text{ eigenvalues of } \tfrac1N CHC,\ C=I-\tfrac1N\mathbf 1\mathbf 1^T;\quad "
    r"\text{bootstrap: } T^*=\frac1N\sum_{a\ne b}(CHC)_{i_ai_b},\ p=\frac{1+\#\{T^*\ge N\,SKCE_{uq}\}}{1+draws}",
    where=PAIR_SYMBOLS
    | {
        "H": "matrix of h_ij = exp(-d_ij/h) e_i.e_j, with its diagonal",
        "Z_l": "independent standard normal",
        "i_a": "resampled rows, floor(u N)",
    },
    source="Widmann, Lindsten and Zachariah 2019 NeurIPS; Arcones and Giné 1992 (bootstrap of degenerate U-statistics); "
    "Lane 2025 s5.3 eq 75",
    matrix=CANONICAL,
    pitfalls="May be negative: it is unbiased. Beyond 3,000 rows the p-value rests on the leading eigenvalues and treats "
    "the others as normal. Takes no weights: the law of the statistic needs independent rows.",
    aliases=(
        "skce-uq",
        "Squared kernel calibration error, unbiased quadratic, with test",
        "kce (unbiased)",
        "skce (unbiased)",
        "kernel calibration error (unbiased)",
    ),
)
def skce_uq(
    view: View,
    *,
    bandwidth: MedianBandwidth = "median",
    kernel: PairKernel = "laplace",
    method: Literal["spectral", "bootstrap"] = "spectral",
    draws: Annotated[int, AtLeast(1)] = 1000,
    seed: Annotated[int, AtLeast(0)] = 0,
) -> KernelTest:
    """Unbiased squared kernel calibration error, and a test of calibration by its limiting law.

    Parameters
    ----------
    bandwidth
        A positive number, or the median distance of pairs.
    kernel
        As `skce_b`.
    method
        ``spectral`` is the exact tail of the limiting law, ``bootstrap`` resamples rows as the paper does.
    draws, seed
        For ``bootstrap``.
    """
    require_rows(view.n_rows, "skce_uq")
    return kernel_test(calibration_pairs(view, "variation", kernel, bandwidth, "skce_uq"), method, draws, seed)


def require_rows(n_rows: int, asker: str) -> None:
    """No pair, no value."""
    if n_rows < 2:
        raise UndefinedMetricError(f"{asker} needs at least 2 rows; got {n_rows}")


def kernel_test(pairs: Pairs, method: str, draws: int, seed: int) -> KernelTest:
    """Mean over pairs of different rows, tested against its limiting law under calibration."""
    if method == "bootstrap":
        value, p_value = bootstrap_test(pairs, draws, seed)
    else:
        value, p_value = spectral_test(pairs, centred=True)
    return KernelTest(value=value, p_value=p_value)


@metric(
    title="Squared kernel calibration error, unbiased in linear time, with test",
    family="kernel",
    cost="quadratic",
    nanoseconds=20,
    reads=Rows("given"),
    range=(-2.0, 2.0),
    ideal=0.0,
    direction="lower",
    test="asymptotic",
    order="rows",
    weighted=False,
    equation=r"SKCE_{ul}=\frac1n\sum_{i=1}^{n}h_{2i-1,2i},\quad n=\lfloor N/2\rfloor,\qquad "
    r"z=\frac{\sqrt n\,SKCE_{ul}}{\hat\sigma},\qquad p=1-\Phi(z)",
    where=PAIR_SYMBOLS | {"σ̂": "sample standard deviation (divisor n - 1) of the n terms"},
    source="Widmann, Lindsten and Zachariah 2019 NeurIPS; Lane 2025 s5.3 eq 76-77 (77 corrected)",
    matrix=CANONICAL,
    pitfalls="Pairs rows 0 and 1, 2 and 3, ...: the value depends on the order of the rows and sorted rows give nonsense. "
    "Prefer skce_uq, which uses every pair. Print has the root of n on the wrong side of the fraction.",
    aliases=(
        "skce-ul",
        "Squared kernel calibration error, unbiased linear, with test",
        "kce (linear)",
        "skce (linear)",
        "kernel calibration error (linear)",
    ),
)
def skce_ul(view: View, *, bandwidth: MedianBandwidth = "median", kernel: PairKernel = "laplace") -> LinearKernelTest:
    """Unbiased squared kernel calibration error from disjoint pairs of consecutive rows.

    Parameters
    ----------
    bandwidth
        A positive number, or the median distance of all pairs.
    kernel
        As `skce_b`.
    """
    from epimeter.special import ndtr

    require_rows(view.n_rows, "skce_ul")
    points, residual = points_and_residuals(view)
    width = width_of(points, "variation", bandwidth, "skce_ul")
    n = view.n_rows // 2
    first, second = slice(0, 2 * n, 2), slice(1, 2 * n, 2)
    gap = np.abs(points[first] - points[second]).sum(axis=1) / (1 if points.shape[1] == 1 else 2) / width
    share = np.exp(-gap) if kernel == "laplace" else np.exp(-0.5 * gap**2)
    terms = share * np.einsum("ij,ij->i", residual[first], residual[second])
    value = float(terms.mean())
    deviation = float(terms.std(ddof=1)) if n > 1 else 0.0
    if deviation == 0 or bool((terms == terms[0]).all()):
        return LinearKernelTest(value=value, z=math.nan, p_value=math.nan)
    z = math.sqrt(n) * value / deviation
    return LinearKernelTest(value=value, z=z, p_value=float(ndtr(-z)))
