# SPDX-License-Identifier: Apache-2.0
"""The digest of a data set, over its parsed columns: `epi-col-v1` (C-15).

It is SHA-256 over `epi-col-v1`, a zero byte, and for each column its name, a zero byte, its kind, its number of
dimensions (one byte), its lengths (8 bytes each, little-endian) and its values in the order of the rows: `f8` doubles,
little-endian, -0 written as 0; `u1` labels and flags, a byte each; `u8` class numbers, 8 bytes each, where one is above
255. One data set has one digest, whatever the file format it came in.
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
PIECE = 1 << 17
"""Values that are written at a time."""


def dataset_digest(columns: Mapping[str, Any]) -> str:
    """The digest of the columns `confidence`, `label`, `unknown`, `detected`, those that are there, in hex."""
    made = hashlib.sha256(SCHEME.encode() + b"\0")
    for name in COLUMNS:
        if columns.get(name) is not None:
            values = np.asarray(columns[name])
            kind = _kind(values)
            made.update(name.encode() + b"\0" + kind.encode() + bytes([values.ndim]))
            made.update(np.array(values.shape, "<u8").tobytes())
            for piece in _pieces(values):
                made.update(_written(piece, kind).data)
    return made.hexdigest()


def _kind(values: NDArray[Any]) -> str:
    """Doubles, or single bytes where they are flags or small class numbers."""
    if values.dtype.kind == "f":
        return "f8"
    return "u8" if values.size and int(values.max()) > 255 else "u1"


def _pieces(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Rows, some at a time: a digest needs no second copy of the data."""
    step = max(1, PIECE // max(1, values.size // max(1, len(values))))
    return (values[at : at + step] for at in range(0, len(values), step))


def _written(values: NDArray[Any], kind: str) -> NDArray[Any]:
    """Values as they are digested."""
    made = np.ascontiguousarray(values, f"<{kind}" if kind != "u1" else kind)
    return made + 0.0 if kind == "f8" else made  # -0.0 + 0.0 is 0.0
