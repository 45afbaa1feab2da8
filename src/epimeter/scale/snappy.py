# SPDX-License-Identifier: Apache-2.0
"""Snappy, unpacked in compiled code (https://github.com/google/snappy/blob/main/format_description.txt).

Every length that the data state is checked against what is there before anything is read or written.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from epimeter.scale.page_headers import varint

BLOCK = 1 << 16
"""Bytes that Snappy packs at a time, none of which refers to those before: the unit in which a page flows."""
PACKED_BLOCK = 32 + BLOCK + BLOCK // 6
"""The most that a block is packed to."""


@njit(nogil=True, cache=True)
def copy(source, target):  # type: ignore[no-untyped-def]
    """All of the source to the beginning of the target; a loop, which is compiled to wide moves, unlike a slice."""
    for i in range(len(source)):
        target[i] = source[i]


@njit(nogil=True, cache=True)
def snappy(data, out, size):  # type: ignore[no-untyped-def]
    """Unpack Snappy data into `out`; False unless it gives exactly `size` bytes."""
    length, at = varint(data, np.int64(0))
    return at >= 0 and length == size and elements(data, at, out, size) == len(data)


@njit(nogil=True, cache=True)
def elements(data, at, out, size):  # type: ignore[no-untyped-def]
    """Unpack elements from place `at` on until there are `size` bytes; the place after them, -1 when that is not possible."""
    done = np.int64(0)
    while done < size:
        if at >= len(data):
            return np.int64(-1)
        tag = np.int64(data[at])
        at += 1
        kind = tag & 3
        if kind == 0:  # a stretch as it stands
            count = (tag >> 2) + 1
            if count > 60:
                wide = count - 60
                if at + wide > len(data):
                    return np.int64(-1)
                count = np.int64(0)
                for i in range(wide):
                    count |= np.int64(data[at + i]) << (8 * i)
                count += 1
                at += wide
            if at + count > len(data) or done + count > size:
                return np.int64(-1)
            copy(data[at : at + count], out[done : done + count])
            at += count
        else:  # a copy of what came before
            wide = np.int64(1) if kind == 1 else np.int64(2) if kind == 2 else np.int64(4)
            if at + wide > len(data):
                return np.int64(-1)
            count = ((tag >> 2) & 7) + 4 if kind == 1 else (tag >> 2) + 1
            back = (tag >> 5) << 8 if kind == 1 else np.int64(0)
            for i in range(wide):
                back |= np.int64(data[at + i]) << (8 * i)
            at += wide
            if back <= 0 or back > done or done + count > size:
                return np.int64(-1)
            for i in range(count):  # byte by byte: a copy may overlap itself
                out[done + i] = out[done + i - back]
        done += count
    return at
