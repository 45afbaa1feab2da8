# SPDX-License-Identifier: Apache-2.0
"""COCO-style JSON into the columns of a detection problem.

The ground truth is an object with `images`, `annotations` and `categories`; the results are a list of
`{image_id, category_id, bbox, score}`. Both state a box as [x, y, width, height]; the columns hold its corners
(x1, y1, x2, y2). Whatever is missing, of another type, or refers to nothing is refused in one sentence.

A crowd annotation (`iscrowd` 1) outlines many objects at once and cannot be matched one to one. Crowds are left out
and counted. Note that pycocotools instead ignores detections that fall on a crowd; here they are false positives.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError, ReadError
from epimeter.readers.records import refuse_repeated_keys

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Id = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Flag = Annotated[int, msgspec.Meta(ge=0, le=1)]
Box = tuple[float, float, float, float]
T = TypeVar("T")


class _Image(msgspec.Struct):
    id: Id
    width: float | None = None
    height: float | None = None


class _Annotation(msgspec.Struct):
    image_id: Id
    category_id: Id
    bbox: Box
    iscrowd: Flag | bool = 0
    id: Id | None = None


class _Category(msgspec.Struct):
    id: Id
    name: str = ""


class _Truth(msgspec.Struct):
    images: list[_Image]
    annotations: list[_Annotation]
    categories: list[_Category]


class _Found(msgspec.Struct):
    image_id: Id
    category_id: Id
    bbox: Box
    score: float


@dataclass(frozen=True)
class Detections:
    """The seven columns of a detection metric, and what else the files say.

    ``metrics.d_ece(*detections.columns, image_size=detections.image_size)``
    """

    truth_image: Integers
    truth_class: Integers
    truth_box: Floats
    image: Integers
    label: Integers
    box: Floats
    score: Floats
    sizes: Mapping[int, tuple[float, float]]
    """Width and height by image id, of the images that state both."""
    classes: Mapping[int, str]
    """Names by class id."""
    n_images: int
    crowds: int
    """Crowd annotations that were left out."""

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """The seven columns in the order in which metrics take them."""
        return (self.truth_image, self.truth_class, self.truth_box, self.image, self.label, self.box, self.score)

    @property
    def image_size(self) -> Floats:
        """Width and height of the image of each detection."""
        for row, image in enumerate(self.image.tolist()):
            if image not in self.sizes:
                raise InputError(
                    f"every image must state its width and height; image {image} of detection {row} does not",
                    field="image_size",
                    row=row,
                )
        return np.array([self.sizes[image] for image in self.image.tolist()]).reshape(-1, 2)


def read_coco(truth_path: str | os.PathLike[str], results_path: str | os.PathLike[str]) -> Detections:
    """Read a ground-truth file and a results file.

    Parameters
    ----------
    truth_path
        JSON object with `images`, `annotations` and `categories`.
    results_path
        JSON list of `{image_id, category_id, bbox, score}`.
    """
    truth = _decoded(truth_path, _Truth, "COCO ground truth")
    results = _decoded(results_path, list[_Found], "a list of COCO results")
    images = _once((image.id for image in truth.images), "images", truth_path)
    categories = _once((category.id for category in truth.categories), "categories", truth_path)
    _once((a.id for a in truth.annotations if a.id is not None), "annotations", truth_path)
    _refuse_strangers(truth.annotations, images, categories, "annotations", truth_path)
    _refuse_strangers(results, images, categories, "", results_path)
    sizes = _sizes(truth.images, truth_path)
    # Rows keep their number in the file until they are checked, so that a refusal can name it.
    objects = [row for row, annotation in enumerate(truth.annotations) if not annotation.iscrowd]
    truth_box = _corners([truth.annotations[row].bbox for row in objects])
    _refuse_empty_boxes(truth_box, objects, truth_path)
    score = np.array([found.score for found in results], np.float64)
    _refuse_scores(score, results_path)
    return Detections(
        np.array([truth.annotations[row].image_id for row in objects], np.int64),
        np.array([truth.annotations[row].category_id for row in objects], np.int64),
        truth_box,
        np.array([found.image_id for found in results], np.int64),
        np.array([found.category_id for found in results], np.int64),
        _corners([found.bbox for found in results]),
        score,
        sizes,
        {category.id: category.name for category in truth.categories},
        len(truth.images),
        len(truth.annotations) - len(objects),
    )


def _decoded(path: str | os.PathLike[str], kind: type[T], what: str) -> T:
    """The content of a file as that type; every fault in one sentence that names the place."""
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise ReadError(f"no file is called {path}", field=str(path)) from None
    except IsADirectoryError:
        raise ReadError(f"{path} is a directory; name one file in it", field=str(path)) from None
    except OSError as fault:
        raise ReadError(f"{path} could not be read: {fault.strerror or fault}", field=str(path)) from None
    try:
        found = msgspec.json.decode(content, type=kind)
        refuse_repeated_keys(content, msgspec.json.decode(content), str(path), 1)
        return found
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at ")
        place = place.strip("`").removeprefix("$").lstrip(".")
        number = re.search(r"\[(\d+)\]", place)
        raise ReadError(
            f"{path} must be {what}; {place or 'the whole file'} is not: {reason[:1].lower()}{reason[1:]}",
            row=int(number.group(1)) if number else None,
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        reason = str(error).removeprefix("JSON is malformed: ")
        raise ReadError(f"{path} must be JSON; it is not: {reason[:1].lower()}{reason[1:]}") from None
    except RecursionError:
        raise ReadError(f"{path} must not nest so deep; its JSON has hundreds of levels") from None


def _once(ids: Iterable[int], name: str, path: Any) -> set[int]:
    """The ids as a set; each may occur once."""
    counted = Counter(ids)
    for each, count in counted.items():
        if count > 1:
            raise ReadError(f"{name} of {path} must have an id of their own; {each} occurs {count} times", field=name)
    return set(counted)


def _refuse_strangers(rows: list[Any], images: set[int], categories: set[int], name: str, path: Any) -> None:
    """Every row must speak of an image and a category of the ground truth."""
    for row, each in enumerate(rows):
        for field, value, known in (
            ("image_id", each.image_id, images),
            ("category_id", each.category_id, categories),
        ):
            if value not in known:
                raise ReadError(
                    f"{field} must name one of the ground truth; {name}[{row}] of {path} has {field} {value}",
                    field=field,
                    row=row,
                )


def _sizes(images: list[_Image], path: Any) -> dict[int, tuple[float, float]]:
    sizes: dict[int, tuple[float, float]] = {}
    for row, image in enumerate(images):
        if image.width is None or image.height is None:
            continue
        if not (image.width > 0 and image.height > 0):
            raise ReadError(
                f"an image must have a width and a height above 0; images[{row}] of {path} is "
                f"{image.width:g} by {image.height:g}",
                field="images",
                row=row,
            )
        sizes[image.id] = (image.width, image.height)
    return sizes


def _corners(boxes: list[Box]) -> Floats:
    """[x, y, width, height] as (x1, y1, x2, y2)."""
    box = np.array(boxes, np.float64).reshape(-1, 4)
    return np.column_stack([box[:, :2], box[:, :2] + box[:, 2:]])


def _refuse_empty_boxes(box: Floats, rows: list[int], path: Any) -> None:
    flat = ~((box[:, 2] > box[:, 0]) & (box[:, 3] > box[:, 1]))
    if flat.any():
        row = rows[int(np.argmax(flat))]
        raise ReadError(
            f"an object must have a box of positive width and height; {int(flat.sum())} of {len(box)} do not, "
            f"the first: annotations[{row}] of {path}",
            field="annotations",
            row=row,
            count=int(flat.sum()),
        )


def _refuse_scores(score: Floats, path: Any) -> None:
    outside = ~((score >= 0) & (score <= 1))
    if outside.any():
        row = int(np.argmax(outside))
        raise ReadError(
            f"score must lie in [0, 1]; {int(outside.sum())} of {len(score)} do not, "
            f"the first: [{row}] of {path} has score {score[row]}",
            field="score",
            row=row,
            count=int(outside.sum()),
        )


__all__ = ["Detections", "read_coco"]
