# SPDX-License-Identifier: Apache-2.0
"""The header of a Parquet page, by Thrift's compact protocol, in compiled code.

Every length that a file states is checked against what is there; what makes no sense ends with -1.
"""

from __future__ import annotations

import numpy as np
from numba import njit

KIND, SIZE, COMPRESSED_SIZE, CRC, HAS_CRC, VALUES, ENCODING, NULLS, DEFINITION, REPETITION, COMPRESSED = range(11)
"""What a page header says."""
FIELDS = 11
_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)

_FIELDS = np.full((9, 9), -1, np.int64)
"""Which number of which struct goes where."""
_FIELDS[0, 1:5] = KIND, SIZE, COMPRESSED_SIZE, CRC
_FIELDS[5, 1:3] = _FIELDS[7, 1:3] = VALUES, ENCODING
_FIELDS[8, 1:3] = VALUES, NULLS
_FIELDS[8, 4:7] = ENCODING, DEFINITION, REPETITION


@njit(nogil=True, cache=True)
def varint(data, at):  # type: ignore[no-untyped-def]
    """An unsigned number and the place after it; -1 for the place when the data end."""
    value, shift = np.int64(0), np.int64(0)
    while at >= 0 and at < len(data) and shift < 63:
        byte = np.int64(data[at])
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 128:
            return value, at
        shift += 7
    return value, np.int64(-1)


@njit(nogil=True, cache=True)
def _field(data, at, number):  # type: ignore[no-untyped-def]
    """The kind of the next field, its number, and the place after that; kind 0 ends a struct."""
    byte = np.int64(data[at])
    at += 1
    if byte == _STOP or byte >> 4:
        return byte & 15, number + (byte >> 4), at
    raw, at = varint(data, at)
    return byte & 15, _signed(raw), at


@njit(nogil=True, cache=True)
def _signed(raw):  # type: ignore[no-untyped-def]
    return (raw >> 1) ^ -(raw & 1)


@njit(nogil=True, cache=True)
def _skipped(data, at, kind):  # type: ignore[no-untyped-def]
    """The place after a value of that kind; -1 when the data end or make no sense."""
    depth = np.int64(0)
    number = np.int64(0)
    while at >= 0:
        if kind == _STRUCT:
            depth += 1
        elif kind == _STOP:
            depth -= 1
        elif kind == _BYTE:
            at += 1
        elif kind == _DOUBLE:
            at += 8
        elif _I16 <= kind <= _I64:
            _, at = varint(data, at)
        elif kind == _BINARY:
            size, at = varint(data, at)
            at = at + size if at >= 0 else at
        elif kind != _TRUE and kind != _FALSE:
            return np.int64(-1)  # lists and maps do not occur in page headers
        if depth == 0:
            return at
        if at < 0 or at >= len(data):
            return np.int64(-1)
        kind, number, at = _field(data, at, number)
    return at


@njit(nogil=True, cache=True)
def page_header(data, out):  # type: ignore[no-untyped-def]
    """Read the header of a page into `out`; gives back its length, or -1 when it makes no sense."""
    out[:] = 0
    out[COMPRESSED] = 1
    at, number, outer = np.int64(0), np.int64(0), np.int64(0)
    while at >= 0 and at < len(data):
        kind, number, at = _field(data, at, number)
        if kind == _STOP:
            if outer == 0:
                return at
            number, outer = (
                outer,
                np.int64(0),
            )  # back from a data page (5), a dictionary page (7), a newer data page (8)
        elif kind == _STRUCT and outer == 0 and (number == 5 or number == 7 or number == 8):
            outer, number = number, np.int64(0)
        elif kind == _I32 and at >= 0:
            raw, at = varint(data, at)
            field = _FIELDS[outer, number] if 0 <= number < 9 else np.int64(-1)
            if field >= 0:
                out[field] = _signed(raw)
            if field == CRC:
                out[HAS_CRC] = 1
        elif kind in (_TRUE, _FALSE):
            if outer == 8 and number == 7:
                out[COMPRESSED] = 1 if kind == _TRUE else 0
        else:
            at = _skipped(data, at, kind)
    return np.int64(-1)
