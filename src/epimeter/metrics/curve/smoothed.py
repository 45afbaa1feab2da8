# SPDX-License-Identifier: Apache-2.0
"""The smoothed calibration curve and its distances from the diagonal: mean, median, percentiles, maximum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import Above, Between
from epimeter.metrics.curve.levels import TOP_LABEL, as_copies, filled, points, quantiles, weighted_mean, weighty_rows
from epimeter.metrics.curve.loess import loess
from epimeter.summaries import Ordered, OrderedRows
from epimeter.summaries.rows import KeptRows

Floats = NDArray[np.float64]
Span = Annotated[float, Above(0)]
Degree = Annotated[int, Between(0, 2)]

CURVE = {
    "ŷ(c)": "loess_curve at c: a local polynomial of the given degree with tricube weights",
    "h(c)": "distance from c to its q-th nearest sample, q = floor(N span + 1e-5) kept within 1..N; times span above 1",
    "N": "number of rows (their weight)",
}
AUSTIN = "Austin and Steyerberg 2019, Statistics in Medicine 38(21):4051-4065; Lane 2025 s5.8 eq 85-86"
SMOOTHER = (
    "The value belongs to its smoother: fits here are exact at every confidence; R interpolates between a few of them, "
    "which moves it by up to 2 %. The curve is not clipped to [0, 1], so tiny samples can give values above 1."
)


@dataclass(frozen=True)
class CurveErrors:
    """Distance of the smoothed curve from the diagonal at each distinct confidence, the weight there, and as numbers of copies."""

    error: Floats
    weight: Floats
    copies: Floats

    def percentile(self, percentile: float) -> float:
        """The percentile over the rows."""
        return float(quantiles(self.error, self.copies, np.asarray(percentile / 100)))


@dataclass(frozen=True)
class Smoothed(Ordered):
    """Distances of the smoothed calibration curve from the diagonal: one fit for all metrics that read them.

    Parameters
    ----------
    span
        Share of the samples in each local fit.
    degree
        Degree of the local polynomial.
    """

    span: Span = 0.75
    degree: Degree = 2

    def choices(self) -> dict[str, Any]:
        return {"span": self.span, "degree": self.degree}

    def finish(self, summary: KeptRows) -> CurveErrors:  # type: ignore[override]
        rows = super().finish(summary)
        levels = filled(rows)
        error = np.abs(levels.prob - loess(levels, levels.prob, self.span, int(self.degree)))
        return CurveErrors(error, levels.weight, as_copies(levels.weight, weighty_rows(rows)))


@metric(
    title="LOESS calibration curve",
    family="curve",
    reads=Ordered(),
    direction="none",
    equation=r"\hat y(c)=\hat\beta_0,\qquad \hat\beta=\arg\min_\beta\sum_{i}w_i(c)\Big(y_i-\sum_{d=0}^{D}\beta_d"
    r"(c_i-c)^d\Big)^2,\qquad w_i(c)=\Big(1-\Big(\frac{|c_i-c|}{h(c)}\Big)^3\Big)_+^3",
    where=CURVE | {"D": "parameter degree"},
    source="Cleveland, Grosse and Shyu 1992; Austin and Steyerberg 2014, 2019; Lane 2025 s5.8",
    matrix=TOP_LABEL,
    pitfalls="The curve is not clipped to [0, 1]. Where a window has fewer distinct confidences than the polynomial has "
    "coefficients, the least-squares solution of least norm is taken. R interpolates between a few fits; here every "
    "point has its own.",
    aliases=("locally_estimated_scatterplot_smoothing", "loess_calibration_map"),
    headline_is="a curve",
)
def loess_curve(rows: OrderedRows, *, at: Any = 0.5, span: Span = 0.75, degree: Degree = 2) -> Any:
    """Frequency of the outcome at a confidence, smoothed over its neighbours; the identity when calibrated.

    Parameters
    ----------
    at
        Where to evaluate: a number gives a number, an array an array.
    span
        Share of the samples in each local fit.
    degree
        Degree of the local polynomial.
    """
    where, single = points(at, "loess_curve")
    fitted = loess(filled(rows), where.ravel(), span, int(degree)).reshape(where.shape)
    return float(fitted) if single else fitted


@metric(
    title="Integrated calibration index",
    family="curve",
    reads=Smoothed(),
    range=(0.0, None),
    ideal=0.0,
    direction="lower",
    equation=r"ICI=\frac1N\sum_{i=1}^N|c_i-\hat y(c_i)|",
    where=CURVE,
    source=AUSTIN,
    matrix=TOP_LABEL,
    pitfalls=SMOOTHER,
    aliases=("eavg",),
)
def ici(curve: CurveErrors) -> float:
    """Mean distance of the smoothed calibration curve from the diagonal."""
    return weighted_mean(curve.error, curve.weight)


@metric(
    title="Median absolute calibration error",
    family="curve",
    reads=Smoothed(),
    range=(0.0, None),
    ideal=0.0,
    direction="lower",
    equation=r"E50=\operatorname{median}_i|c_i-\hat y(c_i)|",
    where=CURVE,
    source=AUSTIN,
    matrix=TOP_LABEL,
    pitfalls=SMOOTHER,
)
def e50(curve: CurveErrors) -> float:
    """Half of the rows lie closer to the smoothed calibration curve than this."""
    return curve.percentile(50.0)


@metric(
    title="90th percentile of absolute calibration error",
    family="curve",
    reads=Smoothed(),
    range=(0.0, None),
    ideal=0.0,
    direction="lower",
    equation=r"E90=Q_{0.9}\big(|c_i-\hat y(c_i)|\big)",
    where=CURVE | {"Q_0.9": "quantile with linear interpolation (R type 7)"},
    source=AUSTIN,
    matrix=TOP_LABEL,
    pitfalls=SMOOTHER,
)
def e90(curve: CurveErrors) -> float:
    """Nine rows in ten lie closer to the smoothed calibration curve than this."""
    return curve.percentile(90.0)


@metric(
    title="Maximum absolute calibration error",
    family="curve",
    reads=Smoothed(),
    range=(0.0, None),
    ideal=0.0,
    direction="lower",
    equation=r"E_{max}=\max_i|c_i-\hat y(c_i)|",
    where=CURVE,
    source=AUSTIN + "; Harrell, rms",
    matrix=TOP_LABEL,
    pitfalls=SMOOTHER
    + " Taken over the samples; Harrell's val.prob takes it over a grid between the extreme predictions.",
    aliases=("harrell's_emax",),
)
def emax(curve: CurveErrors) -> float:
    """Largest distance of the smoothed calibration curve from the diagonal at any row."""
    return float(curve.error.max())


@metric(
    title="Error percentile",
    family="curve",
    reads=Smoothed(),
    range=(0.0, None),
    ideal=0.0,
    direction="lower",
    equation=r"EP_P=Q_{P/100}\big(|c_i-\hat y(c_i)|\big)",
    where=CURVE | {"P": "parameter percentile", "Q": "quantile with linear interpolation (R type 7)"},
    source="Austin and Steyerberg 2019; Hagopian et al. 2023; Lane 2025 s5.8",
    matrix=TOP_LABEL,
    pitfalls=SMOOTHER,
    aliases=("ep", "ex"),
)
def error_percentile(curve: CurveErrors, *, percentile: Annotated[float, Between(0, 100)] = 90) -> float:
    """A chosen percentile of the distance between the smoothed calibration curve and the diagonal.

    Parameters
    ----------
    percentile
        Share of the rows that lie closer, in percent.
    """
    return curve.percentile(percentile)
