# SPDX-License-Identifier: Apache-2.0
"""Which detection found which object: greedy by score, each object once, as the COCO benchmark does."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import metric
from epimeter.limits import Between
from epimeter.metrics.detection.columns import Scene, areas, scene
from epimeter.results import Result

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Indices = NDArray[np.intp]
Share = Annotated[float, Between(0, 1)]

AT_ONCE = 1 << 20
"""Pairs of boxes compared in one go; bounds the memory of crowded images."""


@dataclass(frozen=True)
class Matched:
    """The kept detections of a scene, and what each found."""

    scene: Scene
    kept: Indices
    truth: Indices
    """Row of the object found, -1 for a false positive."""
    iou: Floats

    @property
    def score(self) -> Floats:
        return self.scene.score[self.kept]

    @property
    def label(self) -> Integers:
        return self.scene.label[self.kept]

    @property
    def box(self) -> Floats:
        return self.scene.box[self.kept]

    @property
    def correct(self) -> NDArray[np.bool_]:
        return self.truth >= 0

    @property
    def missed(self) -> Indices:
        """Rows of the objects that no detection took."""
        alone = np.ones(len(self.scene.truth_image), bool)
        alone[self.truth[self.correct]] = False
        return np.flatnonzero(alone)


def match(columns: tuple[Any, ...], iou_threshold: float, score_threshold: float) -> Matched:
    """Validate the seven columns and match them."""
    given = scene(*columns)
    kept = np.flatnonzero(given.score >= score_threshold)
    found, truth, overlap = _pairs(given, kept, iou_threshold)
    best = _greedy(found, truth, overlap, len(given.truth_image))
    match_of, iou = np.full(len(given.score), -1, np.intp), np.zeros(len(given.score))
    match_of[found[best]], iou[found[best]] = truth[best], overlap[best]
    return Matched(given, kept, match_of[kept], iou[kept])


def _pairs(given: Scene, kept: Indices, threshold: float) -> tuple[Indices, Indices, Floats]:
    """Detection, object and IOU of every pair of one image and class that may match, in the order of visiting."""
    ids = np.concatenate(
        [
            np.column_stack([given.image[kept], given.label[kept]]),
            np.column_stack([given.truth_image, given.truth_class]),
        ]
    )
    _, group = np.unique(ids, axis=0, return_inverse=True)
    group = group.ravel()
    of_found, of_truth = group[: len(kept)], group[len(kept) :]
    # Visiting order: decreasing score inside a group, ties by row (lexsort is stable).
    order = np.lexsort((-given.score[kept], of_found))
    visited, of_found = kept[order], of_found[order]
    objects = np.argsort(of_truth, kind="stable")
    size = np.bincount(of_truth, minlength=len(group))
    begin = np.concatenate([[0], np.cumsum(size)])
    parts = [
        _block(given, visited[rows], objects, begin[of_found[rows]], size[of_found[rows]], threshold)
        for rows in _blocks(size[of_found])
    ]
    empty = np.zeros(0, np.intp)
    if not parts:
        return empty, empty, np.zeros(0)
    found, truth, iou = (np.concatenate(column) for column in zip(*parts, strict=True))
    return found, truth, iou


def _blocks(pairs: Integers) -> Iterator[slice]:
    """Slices of detections with about AT_ONCE pairs each."""
    end = np.cumsum(pairs)
    start = 0
    while start < len(pairs):
        before = end[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(end, before + AT_ONCE, side="right")))
        yield slice(start, stop)
        start = stop


def _block(
    given: Scene, visited: Indices, objects: Indices, begin: Indices, size: Indices, threshold: float
) -> tuple[Indices, Indices, Floats]:
    """The pairs of some detections: each with the objects of its group, those from `begin` on."""
    found = np.repeat(visited, size)
    inside = np.arange(len(found)) - np.repeat(np.cumsum(size) - size, size)
    truth = objects[np.repeat(begin, size) + inside]
    overlap = iou(given.box[found], given.truth_box[truth])
    some = (overlap > 0) & (overlap >= threshold)
    return found[some], truth[some], overlap[some]


def iou(left: Floats, right: Floats) -> Floats:
    """Area of the intersection over area of the union, row by row; 0 where a box has no area."""
    low, high = np.maximum(left[:, :2], right[:, :2]), np.minimum(left[:, 2:], right[:, 2:])
    shared = areas(np.column_stack([low, high]))
    first, second = areas(left), areas(right)
    shared[(first == 0) | (second == 0)] = 0
    return np.divide(shared, first + second - shared, out=np.zeros(len(left)), where=shared > 0)


def _greedy(found: Indices, truth: Indices, overlap: Floats, n_truth: int) -> Indices:
    """The pairs that greedy visiting makes, by rounds.

    Pairs come in the order of visiting. In a round every detection chooses whose objects are wanted by no earlier
    detection that is still waiting: nothing can take them first, so all these choices are final at once. The first
    waiting detection of every group always chooses, so a group of n detections needs at most n rounds, and usually
    very few.
    """
    number = np.concatenate([[0], np.cumsum(found[1:] != found[:-1])]) if len(found) else found
    waiting = np.arange(len(found))
    made: list[Indices] = []
    first = np.empty(n_truth, np.intp)
    while len(waiting):
        who, what = number[waiting], truth[waiting]
        first[what[::-1]] = who[::-1]  # assigned from the back: the first to want it stays
        starts = np.flatnonzero(np.concatenate([[True], who[1:] != who[:-1]]))
        size = np.diff(starts, append=len(who))
        free = ~np.logical_or.reduceat(first[what] < who, starts)
        best = np.repeat(np.maximum.reduceat(overlap[waiting], starts), size) == overlap[waiting]
        # The earliest object row on an exact tie: pairs of one detection come in the order of the object rows.
        place = np.flatnonzero(best & np.repeat(free, size))
        chosen = waiting[place[np.concatenate([[True], who[place[1:]] != who[place[:-1]]])]]
        made.append(chosen)
        taken = np.zeros(n_truth, bool)
        taken[truth[chosen]] = True
        waiting = waiting[~np.repeat(free, size) & ~taken[what]]
    return np.concatenate(made) if made else np.zeros(0, np.intp)


@dataclass(frozen=True, kw_only=True)
class Matching(Result):
    """Counts and shares, then the kept detections one by one, in the order in which they came."""

    precision: float
    recall: float
    tp: int
    fp: int
    fn: int
    iou_sum: float
    score_sum_tp: float
    correct: NDArray[np.int64]
    iou: Floats
    truth_index: Indices
    kept: Indices
    missed: Indices


DETECTED = {
    "truth_image, truth_class, truth_box": "one row an object: ids and (x1, y1, x2, y2)",
    "image, label, box, score": "one row a detection: ids, (x1, y1, x2, y2), score in [0, 1]",
}


@metric(
    title="Detection to ground-truth matching",
    family="detection",
    range=(0.0, 1.0),
    direction="higher",
    weighted=False,
    order="ties",
    matrix="not used",
    equation=r"IOU(a,b)=\frac{|a\cap b|}{|a|+|b|-|a\cap b|},\qquad m(v)=\arg\max_{t\in F_v}IOU(b_v,b^*_t)"
    r"\ \text{ if }\max_{t\in F_v}IOU(b_v,b^*_t)>0\text{ and }\ge\tau,\text{ else none}",
    where={
        "b_v, b*_t": "detected box v, object box t",
        "F_v": "objects of the same image and class that no detection visited earlier has taken",
        "τ": "iou_threshold",
    }
    | DETECTED,
    source="Lin et al. 2014 ECCV (COCO); Lane 2025 s7.1",
    pitfalls="Detections are visited by decreasing score, equal scores in row order. pycocotools gives an exact IOU "
    "tie to the last object, we to the first, and lets a box without overlap match at threshold 0, which we "
    "never do. The headline is the precision.",
    aliases=("greedy matching", "COCO matching"),
)
def match_detections(
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
) -> Matching:
    """Which detections are correct: each takes the free object it overlaps most, best scores first.

    Parameters
    ----------
    iou_threshold
        Least IOU for a match, inclusive; 0 means any positive overlap.
    score_threshold
        Detections with a smaller score are dropped first.
    """
    found = match((truth_image, truth_class, truth_box, image, label, box, score), iou_threshold, score_threshold)
    tp, missed = int(found.correct.sum()), found.missed
    n_kept, n_truth = len(found.kept), len(found.scene.truth_image)
    return Matching(
        precision=tp / n_kept if n_kept else 0.0,
        recall=tp / n_truth if n_truth else 0.0,
        tp=tp,
        fp=n_kept - tp,
        fn=len(missed),
        iou_sum=math.fsum(found.iou),
        score_sum_tp=math.fsum(found.score[found.correct]),
        correct=found.correct.astype(np.int64),
        iou=found.iou,
        truth_index=found.truth,
        kept=found.kept,
        missed=missed,
    )
