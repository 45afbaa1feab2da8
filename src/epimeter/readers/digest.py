# SPDX-License-Identifier: Apache-2.0
"""A data set as one digest over its parsed columns, whatever the file format it came in (C-15).

`epi-col-v1` is SHA-256 over `epi-col-v1`, a zero byte, and for each column its name, a zero byte, its kind, its
number of dimensions (one byte), its lengths (8 bytes each, little-endian) and its values in the order of the rows:
`f8` doubles, little-endian, -0 written as 0; `u1` labels and flags, a byte each; `u8` class numbers, 8 bytes each,
where one is above 255. One data set has one digest, whatever the file format it came in.

`epi-col-v2` is the same over every column that a verdict uses: first the kind of forecast, one word, and after the columns
above also times, classes, sources of truth and categories, the flags of records without ground truth, what belongs together,
and, one word each where they are so: an id that stands twice, a sentence on predictions that contradict the classes, and by what
map the confidences were changed. `i8` are times, microseconds since 1970; `t4` are words: the number
of different ones, each with its length in bytes (4 bytes each), then for each row the number of its word in the order of
their first appearance, -1 where there is none (4 bytes). A certificate states `epi-col-v1` and, over whole records,
`epi-rec-v1`; an evaluation and a passport state `epi-col-v2`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

SCHEME = "epi-col-v1"
COLUMNS = ("confidence", "label", "unknown", "detected")
"""Columns in the order they are digested; one that is absent is left out."""
WHOLE_SCHEME = "epi-col-v2"
WHOLE_COLUMNS = (
    "kind", *COLUMNS, "timestamp", "class", "ground_truth_source", "category", "unlabelled_unknown", "unlabelled_detected", "group",
    "repeated_id", "contrary", "recalibrated_by",
)  # fmt: skip
"""Those of the second scheme: all that a verdict uses."""
PIECE = 1 << 17
"""Values that are written at a time."""


def dataset_digest(columns: Mapping[str, Any], *, scheme: str = SCHEME) -> str:
    """The digest of the columns of a scheme, those that are there, in hex."""
    made = hashlib.sha256(scheme.encode() + b"\0")
    for name in COLUMNS if scheme == SCHEME else WHOLE_COLUMNS:
        if columns.get(name) is not None:
            values = np.asarray(columns[name])
            words: list[bytes] = []
            kind = _kind(values)
            if kind == "t4":
                words, values = _worded(values)
            made.update(name.encode() + b"\0" + kind.encode() + bytes([values.ndim]))
            made.update(np.array(values.shape, "<u8").tobytes())
            if kind == "t4":
                made.update(np.array([len(words), *map(len, words)], "<u4").tobytes() + b"".join(words))
            for piece in _chunks(values):
                made.update(_written(piece, kind).data)
    return made.hexdigest()


def _worded(values: NDArray[Any]) -> tuple[list[bytes], NDArray[np.int32]]:
    """Different words in the order of their first appearance, and the number of each row's word."""
    words = [None if value is None or value != value else str(value) for value in values.tolist()]
    places: dict[str, int] = {}
    codes = np.array([-1 if word is None else places.setdefault(word, len(places)) for word in words], np.int32)
    return [word.encode("utf-8", "surrogatepass") for word in places], codes


def _kind(values: NDArray[Any]) -> str:
    """Doubles, or single bytes where they are flags or small class numbers."""
    if values.dtype.kind == "f":
        return "f8"
    if values.dtype.kind == "M":
        return "i8"
    if values.dtype.kind in "OUS":
        return "t4"
    return "u8" if values.size and int(values.max()) > 255 else "u1"


def _chunks(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Rows, some at a time: a digest needs no second copy of the data."""
    step = max(1, PIECE // max(1, values.size // max(1, len(values))))
    return (values[at : at + step] for at in range(0, len(values), step))


def _written(values: NDArray[Any], kind: str) -> NDArray[Any]:
    """Values as they are digested."""
    if kind == "i8":
        values = values.astype("datetime64[us]").view(np.int64)
    made = np.ascontiguousarray(values, {"u1": "u1", "t4": "<i4"}.get(kind, f"<{kind}"))
    return made + 0.0 if kind == "f8" else made  # -0.0 + 0.0 is 0.0
