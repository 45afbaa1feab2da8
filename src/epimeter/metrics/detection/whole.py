# SPDX-License-Identifier: Apache-2.0
"""Global errors, which count what was missed: every object without a detection is a point as well."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import UndefinedMetricError
from epimeter.limits import BinCount
from epimeter.metrics.detection.matching import DETECTED, Matched, Share, match
from epimeter.summaries import fixed
from epimeter.summaries.cuts import width_index

Floats = NDArray[np.float64]

POINTS = {"N": "points: correct, false and missed, #TP + #FP + #FN", "c_i": "score of detection i"} | DETECTED


def n_points(found: Matched, name: str) -> int:
    """#TP + #FP + #FN; without any there is nothing to measure."""
    points = len(found.kept) + len(found.missed)
    if points == 0:
        raise UndefinedMetricError(f"{name} needs an object, or a detection above score_threshold; got none")
    return points


@metric(
    title="Expected global calibration error",
    family="detection",
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    weighted=False,
    matrix="not used",
    equation=r"EGCE=\frac1N\sum_{b=1}^Bn_b|\bar y_b-\bar c_b|,\quad N=\#TP+\#FP+\#FN",
    where=POINTS
    | {
        "points": "the kept detections (c, y = correct), and (c = 1, y = 0) for each missed object",
        "n_b, ȳ_b, c̄_b": "points in bin b, their mean y and mean c",
    },
    source="Conde, Lopes & Premebida 2023, arXiv 2309.00464; Lane 2025 s7.6",
    pitfalls="An object whose only detections fall below score_threshold counts as missed. Missed objects share the "
    "last bin with sure detections, and the two can cancel. With average=False the range is [0, N].",
    aliases=("EGCE",),
)
def egce(
    truth_image: Any,
    truth_class: Any,
    truth_box: Any,
    image: Any,
    label: Any,
    box: Any,
    score: Any,
    *,
    bins: BinCount = 15,
    iou_threshold: Share = 0.5,
    score_threshold: float = 0.1,
    average: bool = True,
) -> float:
    """Expected gap between precision and score in score bins, missed objects counted as sure mistakes.

    Parameters
    ----------
    bins
        Number of equal-width bins of the score.
    iou_threshold, score_threshold
        As in match_detections.
    average
        Divide by the number of points; False gives the sum.
    """
    found = match((truth_image, truth_class, truth_box, image, label, box, score), iou_threshold, score_threshold)
    points = n_points(found, "egce")
    cell = width_index(found.score, int(bins))
    gap = fixed.binned(found.correct - found.score, cell, int(bins)).floats()
    gap[-1] -= len(found.missed)
    return float(np.sum(np.abs(gap))) / (points if average else 1)


@metric(
    title="Quadratic global calibration score",
    family="detection",
    range=(0.0, 1.0),
    direction="lower",
    proper="yes",
    weighted=False,
    matrix="not used",
    equation=r"QGC=\frac1N\Big(\sum_{i\in TP}(1-c_i)^2+\sum_{i\in FP}c_i^2+\#FN\Big)",
    where=POINTS,
    source="Conde, Lopes & Premebida 2023, arXiv 2309.00464; Lane 2025 s7.6 eq 99",
    pitfalls="A missed object has confidence 0 and adds 1. 0 needs score 1 for every correct detection, 0 for every "
    "false one, and nothing missed. With average=False the range is [0, N].",
    aliases=("QGC",),
)
def qgc(
    truth_image: Any,
    truth_class: Any,
    truth_box: Any,
    image: Any,
    label: Any,
    box: Any,
    score: Any,
    *,
    iou_threshold: Share = 0.5,
    score_threshold: float = 0.0,
    average: bool = True,
) -> float:
    """Brier score of a detector: squared distance of each score from the truth, 1 for each missed object.

    Parameters
    ----------
    iou_threshold, score_threshold, average
        As in egce.
    """
    found = match((truth_image, truth_class, truth_box, image, label, box, score), iou_threshold, score_threshold)
    points = n_points(found, "qgc")
    total = float(fixed.total((found.correct - found.score) ** 2).floats()) + len(found.missed)
    return total / (points if average else 1)


@metric(
    title="Spherical global calibration score",
    family="detection",
    range=(0.0, 1.0),
    direction="lower",
    proper="yes",
    weighted=False,
    matrix="not used",
    equation=r"SGC=\frac1N\Big(N-\sum_{i\in TP}\frac{c_i}{r_i}-\sum_{i\in FP}\frac{1-c_i}{r_i}\Big),\quad "
    r"r_i=\sqrt{c_i^2+(1-c_i)^2}",
    where=POINTS,
    source="Conde, Lopes & Premebida 2023, arXiv 2309.00464; Lane 2025 s7.6 eqs 100-101",
    pitfalls="The review adds the second sum, which would reward false detections of high score; both are "
    "subtracted, as in the authors' code. With average=False the range is [0, N].",
    aliases=("SGC",),
)
def sgc(
    truth_image: Any,
    truth_class: Any,
    truth_box: Any,
    image: Any,
    label: Any,
    box: Any,
    score: Any,
    *,
    iou_threshold: Share = 0.5,
    score_threshold: float = 0.0,
    average: bool = True,
) -> float:
    """Spherical score of a detector, turned so that 0 is best; 1 for each missed object.

    Parameters
    ----------
    iou_threshold, score_threshold, average
        As in egce.
    """
    found = match((truth_image, truth_class, truth_box, image, label, box, score), iou_threshold, score_threshold)
    points = n_points(found, "sgc")
    right = np.where(found.correct, found.score, 1 - found.score)
    gained = fixed.total(right / np.hypot(found.score, 1 - found.score))
    total = points - float(gained.floats())
    return total / (points if average else 1)
