# SPDX-License-Identifier: Apache-2.0
"""Calibration of a detector without bins: precision as a smooth function of the score, by a beta kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import UndefinedMetricError
from epimeter.limits import Above
from epimeter.metrics.detection.matching import DETECTED, Share, match

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

GRID = (1e-3, 10**-2.5, 1e-2, 10**-1.5, 1e-1, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Bandwidths that the leave-one-out search tries."""
NEGLIGIBLE = 41.5
"""A weight e^-41.5 (1e-18) below the largest does not change a double."""
ROWS = 256
"""Scores whose kernels are evaluated together."""


@dataclass(frozen=True)
class ScoreLevels:
    """Detections joined by equal score: distinct scores in increasing order, how many have each, sum of targets."""

    score: Floats
    count: Floats
    target: Floats
    level: Indices
    """The level of each detection."""
    targets: Floats
    """The target of each detection."""

    @classmethod
    def of(cls, score: Floats, target: Floats) -> ScoreLevels:
        distinct, level, count = np.unique(score, return_inverse=True, return_counts=True)
        total = np.bincount(level, weights=target, minlength=len(distinct))
        return cls(distinct, np.asarray(count, np.float64), np.asarray(total, np.float64), level, target)

    @property
    def n(self) -> int:
        return len(self.targets)

    @cached_property
    def inner(self) -> Indices:
        """Levels strictly between 0 and 1; at the ends the kernel is 0 or infinite in the limit."""
        return np.flatnonzero((self.score > 0) & (self.score < 1))


@dataclass(frozen=True)
class Kernel:
    """log k_h(c_v; c_u) = a_u + c_u s_v + b_v, concave in c_u."""

    levels: ScoreLevels
    h: float

    @cached_property
    def a(self) -> Floats:
        """The normalisation that goes with each centre."""
        from epimeter.special import gammaln

        c, h = self.levels.score, self.h
        return np.asarray(gammaln(1 / h + 2) - gammaln(c / h + 1) - gammaln((1 - c) / h + 1))

    @cached_property
    def s(self) -> Floats:
        c = self.levels.score[self.levels.inner]
        return np.asarray((np.log(c) - np.log1p(-c)) / self.h)

    @cached_property
    def b(self) -> Floats:
        return np.asarray(np.log1p(-self.levels.score[self.levels.inner]) / self.h)

    def log_weight(self, row: Indices, centre: Indices) -> Floats:
        """a_u + c_u s_v for inner level number `row` and centre u."""
        return np.asarray(self.a[centre] + self.levels.score[centre] * self.s[row])

    def windows(self) -> tuple[Indices, Indices]:
        """First and last centre whose weight matters to each inner level.

        In the order of the centres the log weights rise to one top and fall, so bisection finds the top and then
        where the weights become negligible on either side.
        """
        rows, last = np.arange(len(self.s)), len(self.a) - 1
        own = self.levels.inner

        def first_place(holds: Any, low: Indices, high: Indices) -> Indices:
            """The first place from low on where it holds; high if nowhere before."""
            low, high = low.copy(), high.copy()
            while (low < high).any():
                middle = (low + high) // 2
                yes = holds(middle)
                high = np.where(yes, middle, high)
                low = np.where(yes, low, np.minimum(middle + 1, high))
            return low

        start, end = np.zeros_like(rows), np.full_like(rows, last)
        top = first_place(
            lambda u: self.log_weight(rows, np.minimum(u + 1, last)) <= self.log_weight(rows, u), start, end
        )
        # A detection leaves itself out: when it alone is the top, the greatest weight is that of a neighbour.
        alone = (top == own) & (self.levels.count[own] == 1)
        left, right = np.maximum(top - 1, 0), np.minimum(top + 1, last)
        beside = np.maximum(
            np.where(top > 0, self.log_weight(rows, left), -np.inf),
            np.where(top < last, self.log_weight(rows, right), -np.inf),
        )
        least = np.where(alone, beside, self.log_weight(rows, top)) - NEGLIGIBLE
        low = first_place(lambda u: self.log_weight(rows, u) >= least, start, top)
        beyond = first_place(lambda u: self.log_weight(rows, np.minimum(u, last)) < least, top, end + 1)
        return low, beyond - 1

    def blocks(self) -> Iterator[tuple[slice, slice, Floats, Floats, Floats]]:
        """Some inner levels, the centres that matter to them, weights, own weight, and the log that was taken out.

        A level's own weight is apart from the others': a detection leaves itself out, and what is left must not be
        the difference of two large numbers.
        """
        low, high = self.windows()
        for start in range(0, len(self.s), ROWS):
            rows = slice(start, min(start + ROWS, len(self.s)))
            centres = slice(int(low[rows].min()), int(high[rows].max()) + 1)
            weight = np.multiply.outer(self.s[rows], self.levels.score[centres])
            weight += self.a[centres]
            own = self.levels.inner[rows]
            number = np.arange(len(own))
            # A level's own centre lies in the window unless its weight is negligible beside the others'.
            here = (own >= centres.start) & (own < centres.stop)
            alone = here & (self.levels.count[own] == 1)
            weight[number[alone], own[alone] - centres.start] = -np.inf
            top = weight.max(axis=1)
            weight -= top[:, None]
            np.exp(weight, out=weight)
            itself = np.zeros(len(own))
            itself[here] = weight[number[here], own[here] - centres.start]
            weight[number[here], own[here] - centres.start] = 0
            yield rows, centres, weight, itself, top

    def smoothed(self) -> Floats:
        """For every detection the kernel mean of the targets of the others."""
        levels = self.levels
        others, targets, itself = (np.zeros(len(levels.score)) for _ in range(3))
        for rows, centres, weight, own, _ in self.blocks():
            place = levels.inner[rows]
            others[place] = weight @ levels.count[centres]
            targets[place] = weight @ levels.target[centres]
            itself[place] = own
        at, own = levels.level, itself[levels.level]
        mass = others[at] + (levels.count[at] - 1) * own
        total = targets[at] + (levels.target[at] - levels.targets) * own
        mean = np.divide(total, mass, out=np.zeros(levels.n), where=mass > 0)
        for end, order in ((0.0, 1), (1.0, -1)):
            self._limit(mean, np.flatnonzero(levels.score[at] == end), order)
        return mean

    def _limit(self, mean: Floats, rows: Indices, order: int) -> None:
        """A score of exactly 0 (or 1): all weight goes to the others of smallest (largest) score."""
        levels = self.levels
        first, second = (0, 1) if order == 1 else (-1, -2)
        if len(rows) > 1:
            mean[rows] = (levels.target[first] - levels.targets[rows]) / (len(rows) - 1)
        elif len(rows) == 1:
            mean[rows] = levels.target[second] / levels.count[second]

    def log_likelihood(self) -> float:
        """Sum over the detections of the log density that the others give to its score."""
        levels = self.levels
        density = np.full(len(levels.score), -np.inf)
        for rows, centres, weight, own, top in self.blocks():
            place = levels.inner[rows]
            mass = weight @ levels.count[centres] + (levels.count[place] - 1) * own
            density[place] = np.log(mass) + top + self.b[rows]
        # Only equal scores reach 0 and 1: k_h(0; 0) = k_h(1; 1) = 1/h + 1.
        ends = ((levels.score == 0) | (levels.score == 1)) & (levels.count > 1)
        density[ends] = np.log((levels.count[ends] - 1) * (1 / self.h + 1))
        return float(np.sum(levels.count * (density - np.log(levels.n - 1))))


def chosen_bandwidth(levels: ScoreLevels) -> float:
    """The bandwidth of the grid with the largest leave-one-out likelihood, the smallest on ties."""
    return GRID[int(np.argmax([Kernel(levels, h).log_likelihood() for h in GRID]))]


def kernel_error(score: Floats, target: Floats, bandwidth: float | str) -> float:
    """Mean distance between each score and the smoothed target there."""
    order = np.lexsort((target, score))  # so that sums do not depend on the order of the rows
    levels = ScoreLevels.of(score[order], target[order])
    h = chosen_bandwidth(levels) if isinstance(bandwidth, str) else float(bandwidth)
    return float(np.mean(np.abs(Kernel(levels, h).smoothed() - score[order])))


@metric(
    title="Kernel estimator of the L1 calibration error of a detector",
    family="detection",
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    weighted=False,
    matrix="not used",
    equation=r"L1CBOD=\frac1V\sum_{v=1}^V\left|\frac{\sum_{u\ne v}k_h(c_v;c_u)\,t_u}{\sum_{u\ne v}k_h(c_v;c_u)}"
    r"-c_v\right|,\quad k_h(x;c)=\frac{\Gamma(1/h+2)}{\Gamma(c/h+1)\,\Gamma((1-c)/h+1)}\,x^{c/h}(1-x)^{(1-c)/h};"
    r"\quad h_{loo}=\arg\max_{h\in G}\sum_v\log\frac1{V-1}\sum_{u\ne v}k_h(c_v;c_u),\quad "
    r"G=\{10^{-3},10^{-2.5},10^{-2},10^{-1.5},10^{-1},0.2,0.4,0.6,0.8,1\}",
    where={
        "V": "kept detections",
        "c_v": "score of detection v",
        "t_u": "target of detection u: correct or not, or its IOU",
        "h": "bandwidth",
    }
    | DETECTED,
    source="Popordanoska, Tiulpin & Blaschko 2024 WACV; Lane 2025 s7.5 eq 98 with the kernel of eq 68",
    pitfalls="The review swaps the kernel's arguments: centres are the other scores. The authors' search divides "
    "the density by h once more and so picks the smallest bandwidth; we maximise the true likelihood. A single "
    "score of exactly 0 or 1 makes that likelihood 0 for every bandwidth, and the smallest is taken.",
    aliases=(
        "L1CBOD",
        "ECE-KDE for detection",
        "CE of a binary object detector",
    ),
)
def l1cbod(
    truth_image: Any,
    truth_class: Any,
    truth_box: Any,
    image: Any,
    label: Any,
    box: Any,
    score: Any,
    *,
    bandwidth: Annotated[float, Above(0)] | Literal["loo"] = "loo",
    link: Literal["threshold", "identity"] = "threshold",
    iou_threshold: Share = 0.5,
    score_threshold: float = 0.0,
    classwise: bool = False,
) -> float:
    """Mean distance between the score and the precision that detections of similar score have.

    Parameters
    ----------
    bandwidth
        Width of the kernel; ``loo`` takes the value of a grid with the largest leave-one-out likelihood.
    link
        ``threshold``: the target is 1 where the IOU reaches iou_threshold, else 0. ``identity``: it is the IOU,
        matched at threshold 0.
    iou_threshold, score_threshold
        As in match_detections; iou_threshold is not used with ``identity``.
    classwise
        Mean over the detected classes with at least two detections, each with its own bandwidth.
    """
    columns = (truth_image, truth_class, truth_box, image, label, box, score)
    found = match(columns, iou_threshold if link == "threshold" else 0.0, score_threshold)
    target = found.correct.astype(np.float64) if link == "threshold" else found.iou
    if len(target) < 2:
        raise UndefinedMetricError(f"l1cbod needs at least 2 detections above score_threshold; got {len(target)}")
    if not classwise:
        return kernel_error(found.score, target, bandwidth)
    labels, count = np.unique(found.label, return_counts=True)
    if count.max() < 2:
        raise UndefinedMetricError("l1cbod needs a class with at least 2 detections; each has one")
    errors = [
        kernel_error(found.score[found.label == each], target[found.label == each], bandwidth)
        for each in labels[count > 1]
    ]
    return float(np.mean(errors))
