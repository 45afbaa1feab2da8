# SPDX-License-Identifier: Apache-2.0
"""The loops over rows, in C, and the thin border between them and numpy.

`lib` holds the functions declared in `include/`; each is called with the GIL released. A pointer never crosses the border
without the length behind it: `read` and `write` make both from an array.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from epimeter.errors import EpimeterError

try:
    from epimeter.core._native import ffi, lib
except ImportError as error:  # a source tree that was never built
    raise EpimeterError(
        "the compiled core of epimeter is missing or was built for another machine; build it with: pip install -e ."
    ) from error

_TYPES = {
    "b1": ffi.typeof("uint8_t[]"),
    "i1": ffi.typeof("int8_t[]"),
    "u1": ffi.typeof("uint8_t[]"),
    "i2": ffi.typeof("int16_t[]"),
    "u2": ffi.typeof("uint16_t[]"),
    "i4": ffi.typeof("int32_t[]"),
    "u4": ffi.typeof("uint32_t[]"),
    "i8": ffi.typeof("int64_t[]"),
    "u8": ffi.typeof("uint64_t[]"),
    "f4": ffi.typeof("float[]"),
    "f8": ffi.typeof("double[]"),
}
NULL = ffi.NULL
_from_buffer = ffi.from_buffer


def read(values: NDArray[Any]) -> Any:
    """A C-contiguous array as a pointer the core reads from."""
    return _from_buffer(_TYPES[values.dtype.str[1:]], values)


def write(values: NDArray[Any]) -> Any:
    """A C-contiguous array of one's own as a pointer the core writes to."""
    return _from_buffer(_TYPES[values.dtype.str[1:]], values, True)


def accepted(answer: int) -> int:
    """What a loop answers; one that was given lengths that do not fit answers -1, which is a fault of its caller."""
    if answer < 0:
        raise EpimeterError("a loop of the compiled core was given arrays that do not fit; this is a fault of epimeter")
    return answer


__all__ = ["NULL", "accepted", "ffi", "lib", "read", "write"]
