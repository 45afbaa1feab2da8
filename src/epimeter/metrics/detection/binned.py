# SPDX-License-Identifier: Apache-2.0
"""Precision against score in bins: of the score, or of the score with place and shape of the box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.limits import AtLeast, BinCount
from epimeter.metrics.detection.matching import DETECTED, Matched, Share, match
from epimeter.results import Result
from epimeter.summaries import fixed
from epimeter.summaries.cuts import width_index

Floats = NDArray[np.float64]
Variant = Literal["confidence", "location", "shape", "full"]

BINS: dict[str, int] = {"confidence": 20, "location": 8, "shape": 8, "full": 5}
"""Bins per dimension when none are given."""
DIMENSIONS: dict[str, int] = {"confidence": 1, "location": 3, "shape": 3, "full": 5}


def needs_detections(found: Matched, name: str) -> None:
    """Refuse to measure nothing."""
    if len(found.kept) == 0:
        raise UndefinedMetricError(f"{name} needs at least one detection above score_threshold; got none")


@metric(
    title="Average calibration error (object detection)",
    family="detection",
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    weighted=False,
    matrix="not used",
    equation=r"ACE=\frac1{B^+}\sum_{b:\,n_b>0}|\bar y_b-\bar c_b|",
    where={
        "n_b": "kept detections in score bin b",
        "B^+": "bins with detections",
        "ȳ_b": "share of correct detections in bin b",
        "c̄_b": "mean score in bin b",
    }
    | DETECTED,
    source="Neumann, Zisserman & Vedaldi 2018, NeurIPS MLITS workshop; Lane 2025 s7.2 eq 95",
    pitfalls="Every filled bin counts the same, however few detections it holds. The review divides by all bins, "
    "which would count an empty one as perfect; we divide by the filled ones, as the original does. Not the "
    "adaptive error that is also called ACE.",
    aliases=(
        "D-ACE",
        "average_calibration_error_of_detections",
        "ACE",
        "average calibration error",
    ),
)
def detection_ace(
    truth_image: Any,
    truth_class: Any,
    truth_box: Any,
    image: Any,
    label: Any,
    box: Any,
    score: Any,
    *,
    bins: BinCount = 10,
    iou_threshold: Share = 0.5,
    score_threshold: float = 0.0,
) -> float:
    """Mean gap between precision and score over the score bins that hold detections.

    Parameters
    ----------
    bins
        Number of equal-width bins of the score.
    iou_threshold, score_threshold
        As in match_detections.
    """
    found = match((truth_image, truth_class, truth_box, image, label, box, score), iou_threshold, score_threshold)
    needs_detections(found, "detection_ace")
    count, gap = cell_gaps(found, width_index(found.score, int(bins)), int(bins))
    return float(np.mean(np.abs(gap[count > 0]) / count[count > 0]))


def cell_gaps(found: Matched, cell: NDArray[np.intp], n_cells: int) -> tuple[NDArray[np.int64], Floats]:
    """Detections in each cell, and their exact sum of y - c."""
    count = np.bincount(cell, minlength=n_cells)
    return count, fixed.binned(found.correct - found.score, cell, n_cells).floats()


@dataclass(frozen=True, kw_only=True)
class DetectionError(Result):
    """The error, the share of detections in the cells it uses, and how many cells these are."""

    value: float
    coverage: float
    cells: int


@metric(
    title="Detection expected calibration error",
    family="detection",
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    weighted=False,
    matrix="not used",
    equation=r"D\text{-}ECE=\sum_{b:\,n_b\ge n_{min}}\frac{n_b}N|\bar y_b-\bar c_b|",
    where={
        "b": "a cell: one equal-width bin in each dimension of the variant",
        "n_b": "kept detections in cell b",
        "n_min": "min_count",
        "N": "kept detections; with renormalise those in the cells used",
        "ȳ_b, c̄_b": "precision and mean score in cell b",
        "features": "cx=(x1+x2)/2W, cy=(y1+y2)/2H, w=(x2-x1)/W, h=(y2-y1)/H, clipped to [0, 1]",
    }
    | DETECTED,
    source="Küppers, Kronenberger, Shantia & Haselhoff 2020, CVPR workshops; Lane 2025 s7.3",
    pitfalls="Cells with fewer than min_count detections add nothing, yet the value is divided by all detections: it "
    "is pulled towards 0. Read coverage beside it, or set renormalise. Boxes in pixels need image_size.",
    aliases=("D-ECE", "detection-ECE", "location-based D-ECE", "shape-based D-ECE", "full D-ECE"),
)
def d_ece(
    truth_image: Any,
    truth_class: Any,
    truth_box: Any,
    image: Any,
    label: Any,
    box: Any,
    score: Any,
    *,
    variant: Variant = "confidence",
    bins: Any = None,
    min_count: Annotated[int, AtLeast(1)] = 8,
    renormalise: bool = False,
    iou_threshold: Share = 0.5,
    score_threshold: float = 0.0,
    image_size: Any = (1.0, 1.0),
) -> DetectionError:
    """Expected gap between precision and score over cells of score, place and shape.

    Parameters
    ----------
    variant
        ``confidence`` cuts the score, ``location`` also the centre of the box, ``shape`` its width and height,
        ``full`` all of them.
    bins
        Bins per dimension: one number, or one for each dimension in the order score, cx, cy, w, h. None means 20,
        8, 8 and 5 for the four variants.
    min_count
        Cells with fewer detections add nothing.
    renormalise
        Divide by the detections in the cells used instead of by all kept ones.
    iou_threshold, score_threshold
        As in match_detections.
    image_size
        Width and height of the image, by which coordinates are divided; or one such pair for each detection.
    """
    return located(
        (truth_image, truth_class, truth_box, image, label, box, score),
        variant=variant,
        bins=bins,
        min_count=min_count,
        renormalise=renormalise,
        iou_threshold=iou_threshold,
        score_threshold=score_threshold,
        image_size=image_size,
    ).error


@dataclass(frozen=True)
class Located:
    """The filled cells behind d_ece."""

    error: DetectionError
    count: NDArray[np.int64]
    gap: Floats
    """Sum of y - c in each cell."""
    used: NDArray[np.bool_]
    place: NDArray[np.intp]
    """Where the second and third dimension put each cell: rows of the third, columns of the second."""
    n: int
    min_count: int


def located(
    columns: tuple[Any, ...],
    *,
    variant: Variant = "confidence",
    bins: Any = None,
    min_count: int = 8,
    renormalise: bool = False,
    iou_threshold: float = 0.5,
    score_threshold: float = 0.0,
    image_size: Any = (1.0, 1.0),
) -> Located:
    """Match, cut into cells and add up; the parameters are those of d_ece."""
    sizes = _bins(bins, variant)
    found = match(columns, iou_threshold, score_threshold)
    size = _image_size(image_size, len(found.scene.score))[found.kept]
    needs_detections(found, "d_ece")
    index = [
        width_index(feature, number) for feature, number in zip(_features(found, variant, size), sizes, strict=True)
    ]
    key = np.zeros(len(found.kept), np.int64)
    for cells, number in zip(index, sizes, strict=True):
        _, key = np.unique(key * number + cells, return_inverse=True)  # small again: no overflow
    cell = key.ravel()
    count, gap = cell_gaps(found, cell, int(cell.max()) + 1)
    used = count >= min_count
    inside = int(count[used].sum())
    if not used.any():
        raise UndefinedMetricError(
            f"d_ece needs a cell with at least {min_count} detections; the fullest has {count.max()}. "
            "Use fewer bins, or a smaller min_count"
        )
    place = np.zeros(len(count), np.intp)
    if len(sizes) > 1:
        place[cell] = index[2] * sizes[1] + index[1]
    error = DetectionError(
        value=float(np.sum(np.abs(gap[used])) / (inside if renormalise else len(cell))),
        coverage=inside / len(cell),
        cells=int(used.sum()),
    )
    return Located(error, count, gap, used, place, len(cell), min_count)


def _features(found: Matched, variant: Variant, size: Floats) -> list[Floats]:
    """Score, and as the variant says centre, width and height of the box as shares of the image."""
    low, high = found.box[:, :2], found.box[:, 2:]
    centre = ((low + high) / (2 * size)).clip(0, 1)
    extent = ((high - low) / size).clip(0, 1)
    place, shape = list(centre.T), list(extent.T)
    more = {"confidence": [], "location": place, "shape": shape, "full": place + shape}
    return [found.score, *more[variant]]


def _bins(bins: Any, variant: Variant) -> list[int]:
    """Bins of every dimension."""
    wanted = DIMENSIONS[variant]
    given = np.asarray(BINS[variant] if bins is None else bins)
    numbers = np.full(wanted, given) if given.ndim == 0 else given
    if numbers.shape != (wanted,) or numbers.dtype.kind not in "iuf" or not ((numbers >= 1) & (numbers % 1 == 0)).all():
        raise InputError(
            f"bins of d_ece must be a whole number from 1 on, or {wanted} of them for the variant {variant}; got {bins!r}",
            field="bins",
        )
    return [int(number) for number in numbers.tolist()]


def _image_size(image_size: Any, n_rows: int) -> Floats:
    """Width and height beside every detection."""
    try:
        size = np.asarray(image_size, np.float64)
    except (TypeError, ValueError):
        size = np.zeros(0)
    if size.shape not in ((2,), (n_rows, 2)) or not ((size > 0) & np.isfinite(size)).all():
        raise InputError(
            "image_size of d_ece must be a positive width and height, or one such pair for each detection; "
            f"got {image_size!r:.60}",
            field="image_size",
        )
    return np.broadcast_to(size, (n_rows, 2))
