# SPDX-License-Identifier: Apache-2.0
"""The loops over rows, in C, and the thin border between them and numpy.

`lib` holds the functions declared in `include/`; each is called with the GIL released. A pointer never crosses the border
without the length behind it: `read` and `write` make both from an array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import EpimeterError

try:
    from epimeter.core._native import ffi, lib
except ImportError as error:  # a source tree that was never built
    raise EpimeterError(
        "the compiled core of epimeter is missing or was built for another machine; build it with: pip install -e ."
    ) from error

_NAMES = {
    "b1": "uint8_t[]",
    "i1": "int8_t[]",
    "u1": "uint8_t[]",
    "i2": "int16_t[]",
    "u2": "uint16_t[]",
    "i4": "int32_t[]",
    "u4": "uint32_t[]",
    "i8": "int64_t[]",
    "u8": "uint64_t[]",
    "f4": "float[]",
    "f8": "double[]",
}
# By numpy's letter, of which C's long and long long have one each: it is read in a fifth of the time that a name takes.
_TYPES = {code: ffi.typeof(_NAMES[np.dtype(code).str[1:]]) for code in "?bBhHiIlLqQfd"}
NULL = ffi.NULL
_from_buffer = ffi.from_buffer


def read(values: NDArray[Any]) -> Any:
    """A C-contiguous array as a pointer the core reads from."""
    return _from_buffer(_TYPES[values.dtype.char], values)


def write(values: NDArray[Any]) -> Any:
    """A C-contiguous array of one's own as a pointer the core writes to."""
    return _from_buffer(_TYPES[values.dtype.char], values, True)


def accepted(answer: int) -> int:
    """What a loop answers; one that was given lengths that do not fit answers -1, which is a fault of its caller."""
    if answer < 0:
        raise EpimeterError("a loop of the compiled core was given arrays that do not fit; this is a fault of epimeter")
    return answer


__all__ = ["NULL", "accepted", "ffi", "lib", "read", "write"]
