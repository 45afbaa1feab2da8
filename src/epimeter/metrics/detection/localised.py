# SPDX-License-Identifier: Apache-2.0
"""Localisation-aware errors: the score should say how likely the object is and how well the box fits it."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.limits import BinCount
from epimeter.metrics.detection.binned import needs_detections
from epimeter.metrics.detection.matching import DETECTED, Matched, Share, match
from epimeter.summaries import fixed
from epimeter.summaries.cuts import width_index

Floats = NDArray[np.float64]
EmptyClasses = Literal["zero", "skip"]

CLASS_SYMBOLS = {
    "K": "number of classes averaged over",
    "n_bk": "kept detections of class k in score bin b",
    "N_k": "kept detections of class k",
    "c̄_bk": "mean score of class k in bin b",
} | DETECTED


def class_mean(found: Matched, name: str, bins: int | None, classes: Any, empty_classes: EmptyClasses) -> float:
    """Mean over classes of (1/N_k) sum |sum of IOU - c|, the inner sum over a bin, or over one detection (no bins).

    The IOU is 0 where nothing was matched, so that the mean over a bin is precision times the mean IOU of the
    correct detections.
    """
    needs_detections(found, name)
    known = _classes(found, name, classes)
    listed = np.isin(found.label, known)
    place = np.searchsorted(known, found.label[listed])
    score, gap = found.score[listed], (found.iou - found.score)[listed]
    size = np.bincount(place, minlength=len(known))
    if bins is None:
        error = fixed.binned(np.abs(gap), place, len(known)).floats()
    else:
        cell = place * bins + width_index(score, bins)
        error = np.abs(fixed.binned(gap, cell, len(known) * bins).floats()).reshape(-1, bins).sum(axis=1)
    by_class = np.divide(error, size, out=np.zeros(len(known)), where=size > 0)
    if empty_classes == "skip":
        by_class = by_class[size > 0]
        if len(by_class) == 0:
            raise UndefinedMetricError(f"{name} needs a detection of the classes listed; none was kept")
    return float(by_class.mean())


def _classes(found: Matched, name: str, classes: Any) -> NDArray[np.int64]:
    """The classes to average over, sorted; all among objects and detections unless they are listed."""
    if classes is None:
        return np.union1d(found.scene.truth_class, found.scene.label)
    listed = np.atleast_1d(np.asarray(classes))
    whole = listed.dtype.kind in "iu" or (listed.dtype.kind == "f" and bool((listed == np.floor(listed)).all()))
    known = np.unique(listed)
    if not whole or listed.ndim != 1 or len(listed) == 0 or len(known) < len(listed):
        raise InputError(
            f"classes of {name} must be class ids, at least one and none twice; got {classes!r:.60}", field="classes"
        )
    return known.astype(np.int64)


@metric(
    title="Localisation-aware expected calibration error",
    family="detection",
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    weighted=False,
    matrix="not used",
    equation=r"LAECE=\frac1K\sum_{k=1}^K\sum_{b=1}^B\frac{n_{bk}}{N_k}"
    r"\Big|\bar y_{bk}\,\overline{IOU}_{bk}-\bar c_{bk}\Big|",
    where=CLASS_SYMBOLS
    | {"ȳ_bk": "share of correct ones among them", "IOU_bk": "mean IOU of the correct ones, 0 if there are none"},
    source="Oksuz, Joy & Dokania 2023 CVPR; Lane 2025 s7.4 eq 96",
    pitfalls="A class without detections counts as 0, as if it were perfect; empty_classes=skip leaves it out. The "
    "IOU is averaged over correct detections only: over all of them the misses would count twice.",
    aliases=("LaECE",),
)
def laece(
    truth_image: Any,
    truth_class: Any,
    truth_box: Any,
    image: Any,
    label: Any,
    box: Any,
    score: Any,
    *,
    bins: BinCount = 25,
    iou_threshold: Share = 0.1,
    score_threshold: float = 0.0,
    classes: Any = None,
    empty_classes: EmptyClasses = "zero",
) -> float:
    """Gap between the score and precision times fit of the box, by class and score bin.

    Parameters
    ----------
    bins
        Number of equal-width bins of the score.
    iou_threshold, score_threshold
        As in match_detections.
    classes
        Class ids to average over; None means all among objects and detections.
    empty_classes
        ``zero`` counts a class without kept detections as 0, ``skip`` leaves it out of the mean.
    """
    found = match((truth_image, truth_class, truth_box, image, label, box, score), iou_threshold, score_threshold)
    return class_mean(found, "laece", int(bins), classes, empty_classes)


@metric(
    title="Localisation-aware expected calibration error with IOU threshold 0",
    family="detection",
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    weighted=False,
    matrix="not used",
    equation=r"LAECE_0=\frac1K\sum_{k=1}^K\sum_{b=1}^B\frac{n_{bk}}{N_k}"
    r"\Big|\overline{IOU}^{all}_{bk}-\bar c_{bk}\Big|",
    where=CLASS_SYMBOLS | {"IOU^all_bk": "mean IOU of all of them with what they matched, 0 where nothing was matched"},
    source="Kuzucu, Oksuz, Sadeghi & Dokania 2024 ECCV; Lane 2025 s7.4",
    pitfalls="A class without detections counts as 0; empty_classes=skip leaves it out. The authors' code lets a box "
    "that overlaps nothing take an object away; we require an overlap.",
    aliases=("LaECE0",),
)
def laece0(
    truth_image: Any,
    truth_class: Any,
    truth_box: Any,
    image: Any,
    label: Any,
    box: Any,
    score: Any,
    *,
    bins: BinCount = 25,
    score_threshold: float = 0.0,
    classes: Any = None,
    empty_classes: EmptyClasses = "zero",
) -> float:
    """Gap between the score and the fit of the box to whatever it overlaps, by class and score bin.

    Parameters
    ----------
    bins, score_threshold, classes, empty_classes
        As in laece.
    """
    found = match((truth_image, truth_class, truth_box, image, label, box, score), 0.0, score_threshold)
    return class_mean(found, "laece0", int(bins), classes, empty_classes)


@metric(
    title="Localisation-aware adaptive calibration error",
    family="detection",
    range=(0.0, 1.0),
    direction="lower",
    weighted=False,
    matrix="not used",
    equation=r"LAACE_0=\frac1K\sum_{k=1}^K\frac1{V_k}\sum_{v=1}^{V_k}|IOU_{vk}-c_{vk}|",
    where=CLASS_SYMBOLS
    | {"V_k": "kept detections of class k", "IOU_vk": "IOU with the object matched, 0 if none", "c_vk": "score"},
    source="Kuzucu, Oksuz, Sadeghi & Dokania 2024 ECCV; Lane 2025 s7.4 eq 97",
    pitfalls="0 only if every score equals its IOU: a merely calibrated detector does not reach it. A class without "
    "detections counts as 0; empty_classes=skip leaves it out.",
    aliases=("LaACE0", "LAACE"),
)
def laace0(
    truth_image: Any,
    truth_class: Any,
    truth_box: Any,
    image: Any,
    label: Any,
    box: Any,
    score: Any,
    *,
    score_threshold: float = 0.0,
    classes: Any = None,
    empty_classes: EmptyClasses = "zero",
) -> float:
    """Mean distance between score and IOU, detection by detection, averaged over classes.

    Parameters
    ----------
    score_threshold, classes, empty_classes
        As in laece.
    """
    found = match((truth_image, truth_class, truth_box, image, label, box, score), 0.0, score_threshold)
    return class_mean(found, "laace0", None, classes, empty_classes)
