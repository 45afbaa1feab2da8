# SPDX-License-Identifier: Apache-2.0
"""The seven columns of a detection problem, doubted once for the whole family.

One row an annotated object: `truth_image`, `truth_class`, `truth_box`. One row a detection: `image`, `label`,
`box`, `score`. Ids are whole numbers, boxes are (x1, y1, x2, y2), scores lie in [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

GREATEST_ID = 2.0**63


@dataclass(frozen=True)
class Scene:
    """Validated objects and detections."""

    truth_image: Integers
    truth_class: Integers
    truth_box: Floats
    image: Integers
    label: Integers
    box: Floats
    score: Floats


def scene(truth_image: Any, truth_class: Any, truth_box: Any, image: Any, label: Any, box: Any, score: Any) -> Scene:
    """Doubt the seven columns; raise one sentence that names the row at fault."""
    made = Scene(
        _ids(truth_image, "truth_image"),
        _ids(truth_class, "truth_class"),
        _boxes(truth_box, "truth_box"),
        _ids(image, "image"),
        _ids(label, "label"),
        _boxes(box, "box"),
        _numbers(score, "score"),
    )
    _same_length(truth_image=made.truth_image, truth_class=made.truth_class, truth_box=made.truth_box)
    _same_length(image=made.image, label=made.label, box=made.box, score=made.score)
    if made.score.ndim != 1:
        raise InputError(f"score must be a vector; got shape {made.score.shape}", field="score")
    _refuse(~((made.score >= 0) & (made.score <= 1)), made.score, "score", "must lie in [0, 1]")
    area = areas(made.truth_box)
    _refuse(~((area > 0) & np.isfinite(area)), made.truth_box, "truth_box", "must have x1 < x2, y1 < y2 and an area")
    if len(made.truth_image) == 0 and len(made.image) == 0:
        raise InputError("there must be at least one object or one detection; got none")
    return made


def areas(box: Floats) -> Floats:
    """max(0, x2 - x1) * max(0, y2 - y1) of each box."""
    with np.errstate(over="ignore"):
        width, height = box[:, 2] - box[:, 0], box[:, 3] - box[:, 1]
        return np.multiply(width, height, out=np.zeros(len(box)), where=(width > 0) & (height > 0))


def _numbers(values: Any, name: str) -> Floats:
    array = _array(values, name)
    if array.size and array.dtype.kind not in "fiub":
        raise InputError(f"{name} must be numbers; got {array.ravel()[0]!r:.60}", field=name)
    return array.astype(np.float64, copy=False)


def _array(values: Any, name: str) -> NDArray[Any]:
    if hasattr(values, "to_numpy") and not isinstance(values, np.ndarray):
        values = values.to_numpy()
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    try:
        array = np.asarray(values)
        if array.dtype == object:  # a column of lists, as a data frame holds boxes
            array = np.array(array.tolist())
    except (ValueError, TypeError):
        raise InputError(f"{name} must have rows of one length; theirs differ", field=name) from None
    return array


def _ids(values: Any, name: str) -> Integers:
    """Whole numbers; 3.0 is 3, nothing else is translated."""
    array = _array(values, name)
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.ndim != 1:
        raise InputError(f"{name} must be a vector of ids; got shape {array.shape}", field=name)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} must hold whole numbers; {name}[0] = {array[0]!r:.60}", field=name, row=0)
    if array.dtype.kind == "f":
        _refuse(~np.isfinite(array), array, name, "must be finite")
        _refuse(array % 1 != 0, array, name, "must hold whole numbers")
    if array.dtype.kind in "fu":
        _refuse(np.abs(array.astype(np.float64)) >= GREATEST_ID, array, name, "must hold ids below 2^63")
    return array.astype(np.int64)


def _boxes(values: Any, name: str) -> Floats:
    array = _numbers(values, name)
    if array.size == 0:
        return np.zeros((0, 4))
    if array.ndim != 2 or array.shape[1] != 4:
        raise InputError(f"{name} must have four columns x1, y1, x2, y2; got shape {array.shape}", field=name)
    _refuse(np.asarray(~np.isfinite(array).all(axis=1), bool), array, name, "must be finite")
    return array


def _same_length(**columns: NDArray[Any]) -> None:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        names, sizes = ", ".join(lengths), ", ".join(map(str, lengths.values()))
        raise InputError(f"{names} must have the same length; got {sizes}")


def _refuse(bad: NDArray[np.bool_], values: NDArray[Any], name: str, rule: str) -> None:
    if not bad.any():
        return
    row, count = int(np.argmax(bad)), int(bad.sum())
    raise InputError(
        f"{name} {rule}; {count} of {len(bad)} {'does' if count == 1 else 'do'} not, "
        f"the first: {name}[{row}] = {values[row].tolist()}",
        field=name,
        row=row,
        count=count,
    )
