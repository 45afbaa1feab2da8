# SPDX-License-Identifier: Apache-2.0
"""Rows into slices: columns crossed, columns of many numbers cut at their quartiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError
from epimeter.readers.cells import number
from epimeter.report.segments import Coded

MANY = 20
"""Different numbers from which a column is cut into quantiles, and not sliced value by value."""


def slice_names(columns: NDArray[Any], names: Sequence[str], *, quantiles: int = 4) -> NDArray[Any]:
    """The slice of every row, in words: the value alone for one column, `a=x, b=y` for several.

    Parameters
    ----------
    columns
        Words, one column a name.
    names
        What the columns are called.
    quantiles
        Parts that a column of many numbers is cut into, equally many rows each.
    """
    import pyarrow as pa

    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise InputError(f"columns are crossed with each other, each named once; got {twice!r:.60} twice", field="by")
    parts = []
    for place, name in enumerate(names):
        words = [None if word is None else str(word) for word in columns[:, place]]
        found = coded(name, pa.chunked_array([pa.array(words, pa.string())]), quantiles=quantiles)
        parts.append(np.array(found.words, object)[found.codes])
    if len(parts) == 1:
        return parts[0]
    rows = zip(*parts, strict=True)
    return np.array([", ".join(f"{name}={part}" for name, part in zip(names, row, strict=True)) for row in rows])


def coded(name: str, column: Any, *, quantiles: int = 4) -> Coded:
    """An Arrow column as numbers of its words; one of many numbers as numbers of its quantiles."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_floating(column.type):
        values = np.concatenate([part.to_numpy(zero_copy_only=False) for part in column.chunks])
        if len(np.unique(values[:10_000])) > MANY:
            return _in_quantiles(name, values, quantiles)
    encoded = column.combine_chunks()
    encoded = encoded if pa.types.is_dictionary(encoded.type) else compute.dictionary_encode(encoded)
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    words = ["(none)" if word is None else str(word) for word in encoded.dictionary.to_pylist()]
    index = np.asarray(compute.fill_null(encoded.indices, len(words)).to_numpy(zero_copy_only=False), np.int64)
    if encoded.indices.null_count:
        words.append("(none)")
    numbers = [number(word) for word in words]
    if len(words) > MANY and all(
        isinstance(value, float) or word == "(none)" for value, word in zip(numbers, words, strict=True)
    ):
        known = np.array([value if isinstance(value, float) else np.nan for value in numbers])
        return _in_quantiles(name, known[index], quantiles)
    return Coded(name, index, tuple(words))


def _in_quantiles(name: str, values: NDArray[Any], quantiles: int) -> Coded:
    gone = np.isnan(values)
    edges = (
        np.unique(np.quantile(values[~gone], np.arange(quantiles + 1) / quantiles)) if not gone.all() else np.zeros(1)
    )
    last = max(0, len(edges) - 2)
    where = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, last)
    words = [f"[{edges[k]:g}, {edges[k + 1]:g}{']' if k == last else ')'}" for k in range(len(edges) - 1)] or [
        f"{edges[0]:g}"
    ]
    if gone.any():
        where[gone] = len(words)
        words.append("(none)")
    return Coded(name, where.astype(np.int64), tuple(words))
