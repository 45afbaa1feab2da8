# SPDX-License-Identifier: Apache-2.0
"""Reliability maps: how much of what can be known about a sample its prediction carries (Kull and Flach 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.limits import Above, AtLeast
from epimeter.metrics.kernel.local import feature_matrix
from epimeter.metrics.kernel.squared import require_rows
from epimeter.metrics.kernel.sums import DIRECT, window_moments
from epimeter.results import Result
from epimeter.summaries import Rows
from epimeter.views import Binary, Multiclass, View

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

LEAST, MOST = 0.001, 0.999
"""Both maps are clipped to this."""
WidthAbove0 = Annotated[float, Above(0)]


@dataclass(frozen=True, kw_only=True)
class ReliabilityMap(Result):
    """Mean and least smoothed reliability at the samples, plain mean over the clusters, and how many those are."""

    value: float
    minimum: float
    raw: float
    clusters: int


@dataclass(frozen=True, kw_only=True)
class CombinedExperts(Result):
    """Brier scores of the reliability-weighted combination, of the plain one, and of the input."""

    value: float
    brier_unweighted: float
    brier_input: float


@metric(
    title="Reliability map",
    family="kernel",
    reads=Rows("event"),
    range=(LEAST, MOST),
    direction="higher",
    order="ties",
    weighted=False,
    takes=("features",),
    equation=r"R_g=1+\frac1{m-1}-\frac{\big(\sum_{i\in g}y_i-m\,\hat y(\bar c_g)\big)^2}{m(m-1)\,\hat y(\bar c_g)"
    r"(1-\hat y(\bar c_g))},\quad \hat r(c)=\text{local linear regression of } R_g \text{ on } \bar c_g,\quad "
    r"value=\frac1N\sum_i\hat r(c_i)",
    where={
        "m": "size of cluster g",
        "c̄_g": "mean confidence of the cluster",
        "ŷ": "local linear regression of y on c (Epanechnikov), clipped to [0.001, 0.999]",
        "r̂": "clipped to [0.001, 0.999] as well",
    },
    source="Kull and Flach 2014 ECML-PKDD (Reliability maps); Lane 2025 s5.5 eq 80-81",
    pitfalls="Without features the clusters share a confidence but not a true probability, and the map then estimates 1 "
    "whatever the data: pass features. The narrow default calibration_bandwidth suits large samples only. "
    "Takes no weights: clusters count rows.",
    aliases=(
        "local reliability",
        "r(c)",
    ),
)
def reliability_map(
    view: Binary,
    *,
    k: Annotated[int, AtLeast(1)] = 10,
    calibration_bandwidth: WidthAbove0 = 0.01,
    bandwidth: WidthAbove0 = 0.1,
) -> ReliabilityMap:
    """Share of the variance of outcomes among similar samples that their predictions explain.

    Parameters
    ----------
    k
        Rows of a cluster: neighbours in confidence, and in the features when the column `features` is given.
    calibration_bandwidth
        Half-width of the kernel of the calibration map.
    bandwidth
        Half-width for the reliability map.
    """
    require_rows(view.n_rows, "reliability_map")
    _require_finite(calibration_bandwidth, bandwidth, "reliability_map")
    prob, true = view.prob.astype(np.float64), view.true.astype(np.float64)
    groups = clusters(prob, _features(view), int(k))
    found = _Reliability(prob, true, groups, calibration_bandwidth, bandwidth)
    reliability = found.at(prob)
    return ReliabilityMap(
        value=float(reliability.mean()),
        minimum=float(reliability.min()),
        raw=float(found.raw.mean()),
        clusters=len(found.raw),
    )


@metric(
    title="Least-squares ECOC with reliability",
    family="kernel",
    nanoseconds=10_000,
    reads=Rows("classes"),
    range=(0.0, 2.0),
    direction="lower",
    order="ties",
    weighted=False,
    takes=("features",),
    equation=r"q_i=\arg\min_{q\ge0,\ \sum_kq_k=1}\ \sum_{k=1}^Kw_{ik}\,(q_k-\mu_{ik})^2,\quad "
    r"w_{ik}=\frac1{(1-r_{ik})\,\mu_{ik}(1-\mu_{ik})},\quad value=\frac1N\sum_i\lVert q_i-e_{y_i}\rVert^2",
    where={
        "μ_ik, r_ik": "calibration map and reliability map of class k against the rest, at c_ik",
        "e_y": "unit vector of class y",
    },
    source="Kull and Flach 2014 ECML-PKDD; Lane 2025 s5.5 and Table 2",
    matrix="its columns are the K experts of one class against the rest; a vector p is read as 1 - p, p",
    pitfalls="A rule for combining experts, scored by the Brier score on the same rows it was fitted to; not a "
    "calibration metric. The review prints no objective; this is the variance-weighted one its text describes.",
    aliases=("ls-ecoc-r",),
)
def ls_ecoc_r(
    view: Multiclass,
    *,
    k: Annotated[int, AtLeast(1)] = 10,
    calibration_bandwidth: WidthAbove0 = 0.01,
    bandwidth: WidthAbove0 = 0.1,
) -> CombinedExperts:
    """Brier score of class probabilities combined from one-against-rest experts by their reliability.

    Parameters
    ----------
    k, calibration_bandwidth, bandwidth
        As `reliability_map`.
    """
    require_rows(view.n_rows, "ls_ecoc_r")
    _require_finite(calibration_bandwidth, bandwidth, "ls_ecoc_r")
    prob, features = view.prob.astype(np.float64), _features(view)
    mean, certainty = np.empty_like(prob), np.empty_like(prob)
    for label in range(view.n_classes):
        column, true = prob[:, label], (view.true == label).astype(np.float64)
        found = _Reliability(column, true, clusters(column, features, int(k)), calibration_bandwidth, bandwidth)
        mean[:, label] = found.calibrated(column)
        certainty[:, label] = 1 / ((1 - found.at(column)) * mean[:, label] * (1 - mean[:, label]))
    return CombinedExperts(
        value=_brier(on_simplex(mean, certainty), view.true),
        brier_unweighted=_brier(on_simplex(mean, np.ones_like(mean)), view.true),
        brier_input=_brier(prob, view.true),
    )


def _require_finite(calibration_bandwidth: float, bandwidth: float, asker: str) -> None:
    for name, width in (("calibration_bandwidth", calibration_bandwidth), ("bandwidth", bandwidth)):
        if not np.isfinite(width):
            raise InputError(f"{name} of {asker} must be finite; got {width}", field=name)


def _features(view: View) -> Floats | None:
    return feature_matrix(view) if "features" in view.columns else None


def _brier(prob: Floats, true: Indices) -> float:
    picked = prob[np.arange(len(prob)), true]
    return float(np.mean(np.sum(prob**2, axis=1) - 2 * picked + 1))


class _Reliability:
    """The two maps of one problem: mean outcome and reliability as functions of the confidence."""

    def __init__(self, prob: Floats, true: Floats, groups: list[Indices], calibration_width: float, width: float):
        order = np.argsort(prob, kind="stable")
        self.prob, self.true = prob[order], true[order]
        self.calibration_width, self.width = calibration_width, width
        kept = [group for group in groups if len(group) > 1]
        if not kept:
            raise UndefinedMetricError("a reliability map needs a cluster of at least 2 rows; pass a larger k")
        starts = np.cumsum([0] + [len(group) for group in kept[:-1]])
        rows = np.concatenate(kept)
        m = np.array([len(group) for group in kept], np.float64)
        middle = np.add.reduceat(prob[rows], starts) / m
        y = self.calibrated(middle)
        missed = np.add.reduceat(true[rows], starts) - m * y
        self.raw = 1 + 1 / (m - 1) - missed**2 / (m * (m - 1) * y * (1 - y))
        place = np.argsort(middle, kind="stable")
        self.middle, self.ordered = middle[place], self.raw[place]

    def calibrated(self, at: Floats) -> Floats:
        return np.clip(local_linear(self.prob, self.true, at, self.calibration_width), LEAST, MOST)

    def at(self, at: Floats) -> Floats:
        return np.clip(local_linear(self.middle, self.ordered, at, self.width), LEAST, MOST)


def clusters(prob: Floats, features: Floats | None, k: int) -> list[Indices]:
    """Rows alike in confidence; with features, strips of like confidence halved along the feature that varies most."""
    n, order = len(prob), np.argsort(prob, kind="stable")
    if features is None:
        return np.array_split(order, max(1, n // k))
    done: list[Indices] = []
    waiting = np.array_split(order, max(1, round((n / k) ** 0.5)))[::-1]
    while waiting:
        group = waiting.pop()
        if len(group) < 2 * k or len(group) < 2:
            done.append(group)
            continue
        column = int(np.argmax(features[group].var(axis=0)))
        group = group[np.argsort(features[group, column], kind="stable")]
        half = (len(group) + 1) // 2
        waiting += [group[half:], group[:half]]
    return done


def local_linear(x: Floats, y: Floats, at: Floats, width: float) -> Floats:
    """Local linear regression with Epanechnikov weights, x sorted; the mean of the nearest where none is in reach."""
    if len(x) * len(at) <= DIRECT:
        return _fit_directly(x, y, at, width)
    one, weighted = window_moments(x, np.stack([np.ones_like(y), y]), at, width, 4)
    s0, s1, s2 = one[0] - one[2], one[1] - one[3], one[2] - one[4]
    t0, t1 = weighted[0] - weighted[2], weighted[1] - weighted[3]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = s2 - s1**2 / s0
        fit = t0 / s0 - (t1 - s1 * t0 / s0) / spread * s1 / s0
    # Few points, or points on top of each other: the moments have lost too many digits.
    weak = np.flatnonzero(~((s0 > 1e-4 * one[0]) & (one[0] > 0) & (spread > 1e-6 * s0)))
    fit[weak] = _fit_directly(x, y, at[weak], width)
    return np.asarray(fit)


def _fit_directly(x: Floats, y: Floats, at: Floats, width: float) -> Floats:
    fit = np.empty(len(at))
    low, high = np.searchsorted(x, at - width), np.searchsorted(x, at + width, side="right")
    longest = int(np.max(high - low, initial=0))
    step = max(1, DIRECT // max(1, longest))
    for start in range(0, len(at), step):
        rows = slice(start, start + step)
        place = low[rows, None] + np.arange(longest)
        inside = place < high[rows, None]
        place = np.minimum(place, len(x) - 1)
        where = at[rows, None]
        weight = np.where(inside, np.maximum(1 - ((x[place] - where) / width) ** 2, 0.0), 0.0)
        total = weight.sum(axis=1)
        reached = total > 0
        share = weight / np.where(reached, total, 1.0)[:, None]
        xm, ym = (share * x[place]).sum(axis=1), (share * y[place]).sum(axis=1)
        apart = x[place] - xm[:, None]
        spread = (share * apart**2).sum(axis=1)
        slope = np.divide(
            (share * apart * (y[place] - ym[:, None])).sum(axis=1),
            spread,
            out=np.zeros(len(total)),
            where=spread > 1e-12 * width**2,
        )
        fit[rows] = ym + slope * (at[rows] - xm)
        for lost in np.flatnonzero(~reached):
            fit[start + lost] = _nearest_mean(x, y, float(at[start + lost]))
    return fit


def _nearest_mean(x: Floats, y: Floats, at: float) -> float:
    """Mean of y over the points nearest to `at`."""
    place = int(np.searchsorted(x, at))
    gap = min(abs(float(x[i]) - at) for i in (place - 1, place) if 0 <= i < len(x))
    near = slice(int(np.searchsorted(x, at - gap - 1e-12)), int(np.searchsorted(x, at + gap + 1e-12, side="right")))
    return float(y[near].mean())


def on_simplex(target: Floats, weight: Floats) -> Floats:
    """Rows q >= 0 with sum 1 that minimise sum_k w_k (q_k - mu_k)^2: q_k = max(0, mu_k - t/w_k)."""
    enters = target * weight  # class k is above 0 for t below this
    order = np.argsort(-enters, axis=1, kind="stable")
    means = np.cumsum(np.take_along_axis(target, order, 1), axis=1)
    shares = np.cumsum(np.take_along_axis(1 / weight, order, 1), axis=1)
    t = (means - 1) / shares  # with the first 1, 2, ... classes above 0
    active = np.count_nonzero(np.take_along_axis(enters, order, 1) > t, axis=1)
    chosen = np.take_along_axis(t, np.maximum(active, 1)[:, None] - 1, 1)
    return np.maximum(0.0, target - chosen / weight)
