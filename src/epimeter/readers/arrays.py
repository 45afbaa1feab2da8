# SPDX-License-Identifier: Apache-2.0
"""Arrow arrays as numpy arrays over the same memory.

pyarrow's own conversion imports pandas where that is installed, which costs more than reading a small file.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = {
    "halffloat": "f2",
    "float": "f4",
    "double": "f8",
    **{f"{sign}int{bits}": f"{sign or 'i'}{bits // 8}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
"""Arrow types whose values lie side by side, with their numpy names."""


def is_arrow(column: Any) -> bool:
    """Whether a column is an Arrow array, without importing pyarrow."""
    return type(column).__module__.startswith("pyarrow")


def is_numeric(column: Any) -> bool:
    """Whether an Arrow array holds whole or floating numbers."""
    return str(column.type) in TYPES


def dense(column: Any) -> Any:
    """One Arrow array: chunks joined, dictionaries and extension types opened."""
    import pyarrow as pa

    column = one_chunk(column)
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_run_end_encoded(column.type):
        from pyarrow import compute

        column = compute.run_end_decode(column)
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


def one_chunk(column: Any) -> Any:
    """A chunked array as one array, dictionaries kept."""
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return column
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def valid(column: Any) -> NDArray[np.bool_] | None:
    """Where an Arrow array is not null; None when it is nowhere null."""
    if not column.null_count:
        return None
    return _bits(column.buffers()[0], column.offset, len(column))


def values(column: Any) -> NDArray[Any]:
    """The values of an array of numbers or booleans, whatever stands where it is null."""
    kind, size = str(column.type), len(column)
    data = column.buffers()[1]
    if kind == "bool":
        return _bits(data, column.offset, size)
    dtype = np.dtype(TYPES[kind])
    if not size:
        return np.empty(0, dtype)
    return np.frombuffer(data, dtype, size, column.offset * dtype.itemsize)


def numbers_or_nan(column: Any) -> NDArray[Any]:
    """The values, NaN where the array is null; whole numbers become floating ones then."""
    found, present = values(column), valid(column)
    if present is None:
        return found
    return np.where(present, found, np.nan) if found.dtype.kind != "f" else _holed(found, present)


def _holed(found: NDArray[Any], present: NDArray[np.bool_]) -> NDArray[Any]:
    made = found.copy()
    made[~present] = np.nan
    return made


def _bits(data: Any, start: int, size: int) -> NDArray[np.bool_]:
    if not size:
        return np.empty(0, bool)
    octets = np.frombuffer(data, np.uint8)[start // 8 : (start + size + 7) // 8]
    return np.unpackbits(octets, bitorder="little")[start % 8 : start % 8 + size].view(bool)


def codes(column: Any) -> tuple[NDArray[Any], list[Any]]:
    """Codes and distinct values of a dictionary array; -1 for null."""
    column = one_chunk(column)
    found, present = values(column.indices), valid(column.indices)
    if present is not None:
        found = np.where(present, found.astype(np.int64), -1)
    return found, column.dictionary.to_pylist()
