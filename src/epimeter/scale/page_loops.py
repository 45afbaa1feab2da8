# SPDX-License-Identifier: Apache-2.0
"""The compiled part of reading Parquet: page headers, Snappy, levels and values, many pages in one call.

Formats: Thrift's compact protocol for the headers, https://github.com/google/snappy/blob/main/format_description.txt,
https://parquet.apache.org/docs/file-format/data-pages/encodings/. Every length that a file states is checked against
what is there before anything is read or written; what makes no sense ends the call with BROKEN, what is not plain with
NOT_PLAIN.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from epimeter.scale.page_headers import (
    COMPRESSED,
    COMPRESSED_SIZE,
    DEFINITION,
    ENCODING,
    HAS_CRC,
    KIND,
    NULLS,
    REPETITION,
    SIZE,
    VALUES,
    page_header,
    varint,
)
from epimeter.scale.snappy import BLOCK, PACKED_BLOCK, copy, elements, snappy

DONE, MORE, GROW_PAGE, GROW_CODES, GROW_DICTIONARY, NOT_PLAIN, BROKEN = range(7)
"""How a call ended: all that was wanted; a longer window is needed; a buffer is too small; left to pyarrow; damaged."""
AT, END, WHOLE, LEFT, PAGE, CURSOR, CODED, START, NEED, ENTRIES, FILLED, OCTETS, FLOWS, PACKED, UNREAD, PART = range(16)
"""The state of a column between calls: see `fill`."""
STATES = 16
LONGEST_HEADER = 1 << 16
LARGEST_PAGE = 1 << 30
_DATA, _INDEX, _DICTIONARY, _DATA_2 = range(4)
_PLAIN, _PLAIN_DICTIONARY, _RLE, _RLE_DICTIONARY = 0, 2, 3, 8


@njit(nogil=True, cache=True)
def _unpack(data, first, out):  # type: ignore[no-untyped-def]
    """Bits from bit `first` on, one a byte."""
    n, i = len(out), 0
    while i < n and (first + i) & 7:
        out[i] = (data[(first + i) >> 3] >> ((first + i) & 7)) & 1
        i += 1
    octets, whole = data[(first + i) >> 3 :], (n - i) // 8
    rest = out[i:]
    for j in range(whole):
        byte = octets[j]
        for k in range(8):
            rest[8 * j + k] = (byte >> k) & 1
    for k in range(8 * whole, len(rest)):
        rest[k] = (octets[k >> 3] >> (k & 7)) & 1


@njit(nogil=True, cache=True)
def _quickly(data, width, out):  # type: ignore[no-untyped-def]
    """Bit-packed integers of at most 25 bits, each from four bytes that are all there."""
    mask, one, two, three = (np.uint32(1) << np.uint32(width)) - np.uint32(1), np.uint64(1), np.uint64(2), np.uint64(3)
    for i in range(len(out)):
        bit = np.uint64(i * width)
        at = bit >> three
        word = (
            np.uint32(data[at])
            | np.uint32(data[at + one]) << np.uint32(8)
            | np.uint32(data[at + two]) << np.uint32(16)
            | np.uint32(data[at + three]) << np.uint32(24)
        )
        out[i] = np.int32((word >> np.uint32(bit & np.uint64(7))) & mask)


@njit(nogil=True, cache=True)
def hybrid(data, width, n, out):  # type: ignore[no-untyped-def]
    """Runs and bit-packed groups of integers of `width` bits; gives back how many of n there were."""
    at, done = np.int64(0), np.int64(0)
    wide = (width + 7) // 8
    mask = (np.int64(1) << width) - 1
    if width == 0:
        out[:n] = 0
        return n
    while done < n:
        head, at = varint(data, at)
        if at < 0:
            return done
        if head & 1:  # groups of eight, bit-packed
            if head >> 1 > len(data):
                return done
            count = min((head >> 1) * 8, n - done)
            if at + (count * width + 7) // 8 > len(data):
                return done
            quick = min(count, (len(data) - at - 4) * 8 // width) if width <= 25 else np.int64(0)
            quick = max(np.int64(0), quick) // 8 * 8  # a whole number of bytes
            _quickly(data[at:], width, out[done : done + quick])
            held, bits, place = np.uint64(0), 0, at + quick * width // 8
            for i in range(quick, count):
                while bits < width:
                    held |= np.uint64(data[place]) << np.uint64(bits)
                    place += 1
                    bits += 8
                out[done + i] = np.int64(held) & mask
                held >>= np.uint64(width)
                bits -= width
            at += (head >> 1) * width
        else:
            count = min(head >> 1, n - done)
            if count <= 0 or at + wide > len(data):
                return done
            value = np.int64(0)
            for i in range(wide):
                value |= np.int64(data[at + i]) << (8 * i)
            out[done : done + count] = value
            at += wide
        done += count
    return done


@njit(nogil=True, cache=True)
def all_ones(data, n):  # type: ignore[no-untyped-def]
    """Whether n levels of one bit are all 1, so that nothing is missing: 1, 0, or -1 when the data end."""
    at, done = np.int64(0), np.int64(0)
    while done < n:
        head, at = varint(data, at)
        if at < 0:
            return -1
        if head & 1:
            if head >> 1 > len(data):
                return -1
            count = min((head >> 1) * 8, n - done)
            if at + (count + 7) // 8 > len(data):
                return -1
            for i in range(count):
                if not (data[at + (i >> 3)] >> (i & 7)) & 1:
                    return 0
            at += head >> 1
        else:
            count = min(head >> 1, n - done)
            if count <= 0 or at >= len(data):
                return -1
            if data[at] != 1:
                return 0
            at += 1
        done += count
    return 1


@njit(nogil=True, cache=True)
def fill(window, page, codes, dictionary, entries, out, octets, want, state, header, packed, nullable, boolean, words):  # type: ignore[no-untyped-def]
    """Fill `out` up to `want` values from the pages in `window`; gives back how it ended.

    `page` holds the present page unpacked, `codes` its values where they are coded, `dictionary` what codes stand for;
    `octets` and `entries` are `out` and `dictionary` as bytes. In `state`: AT and END of what is unread in the window,
    WHOLE if it reaches the end of the column, LEFT values in pages not begun, PAGE values and CURSOR in the present one.
    Of `words` the codes are given, and the dictionary is left as OCTETS of its page.

    A page of plain numbers FLOWS (1, or 2 where it is packed) block by block, so that it never leaves the cache: PACKED bytes
    are still in the file, UNREAD ones not yet unpacked; START to CURSOR are the bytes of the present block, and PART are the bytes
    of a number whose rest comes with the next.
    """
    width = np.int64(out.itemsize)
    while state[FILLED] < want:
        if state[PAGE] == 0:
            if state[LEFT] <= 0:
                return DONE
            ended = _open(window, page, codes, entries, width, state, header, packed, nullable, boolean, words)
            if ended != DONE:
                return ended
            continue
        if state[FLOWS]:
            ended = _flow(window, page, octets, width, want, state)
            if ended != DONE:
                return ended
            continue
        done, cursor = state[FILLED], state[CURSOR]
        count = min(want - done, state[PAGE])
        some = codes[cursor : cursor + count]
        if state[CODED] and boolean:
            copy(some, octets[done : done + count])
        elif words:
            copy(some, out[done : done + count])
        elif state[CODED]:
            _looked_up(some, dictionary, out[done : done + count])
        else:
            _unpack(page[state[START] :], cursor, octets[done : done + count])
        state[FILLED] += count
        state[CURSOR] += count
        state[PAGE] -= count
    return DONE


@njit(nogil=True, cache=True)
def _looked_up(codes, dictionary, out):  # type: ignore[no-untyped-def]
    for i in range(len(codes)):
        out[i] = dictionary[np.uint32(codes[i])]


@njit(nogil=True, cache=True)
def _flow(window, page, octets, width, want, state):  # type: ignore[no-untyped-def]
    """Values of the present block, and the next block when it is used up."""
    begin = state[FILLED] * width + state[PART]
    room = min(want * width - begin, state[PAGE] * width - state[PART])
    if state[START] < state[CURSOR]:
        at = state[START]
        count = min(state[CURSOR] - at, room)
        source = page if state[FLOWS] == 2 else window
        copy(source[at : at + count], octets[begin : begin + count])
        state[START] += count
    else:
        count = min(state[UNREAD], np.int64(BLOCK))
        if state[FLOWS] == 1 or count > room:
            return _block(window, page, state)
        ended = _unpacked_block(window, octets[begin:], count, state)  # straight to where it belongs
        if ended != DONE:
            return ended
    part = state[PART] + count
    state[FILLED] += part // width
    state[PAGE] -= part // width
    state[PART] = part % width
    if state[PAGE] == 0:  # what a page has beyond its values is passed over
        state[AT] += state[PACKED]
        state[FLOWS] = 0
    return DONE


@njit(nogil=True, cache=True)
def _block(window, page, state):  # type: ignore[no-untyped-def]
    """The next block of a page that flows: unpacked to `page`, or where it lies in the window."""
    at = state[AT]
    if state[FLOWS] == 1:
        used = min(state[END] - at, state[PACKED])
        if used <= 0:
            state[NEED] = 1
            return BROKEN if state[WHOLE] or state[PACKED] <= 0 else MORE
        state[START], state[CURSOR] = at, at + used
        state[AT] += used
        state[PACKED] -= used
        return DONE
    size = min(state[UNREAD], np.int64(BLOCK))
    ended = _unpacked_block(window, page, size, state)
    if ended == DONE:
        state[START], state[CURSOR] = 0, size
    return ended


@njit(nogil=True, cache=True)
def _unpacked_block(window, into, size, state):  # type: ignore[no-untyped-def]
    wanted = min(state[PACKED], np.int64(PACKED_BLOCK))
    if state[END] - state[AT] < wanted:
        state[NEED] = wanted
        return BROKEN if state[WHOLE] else MORE
    used = elements(window[state[AT] : state[AT] + wanted], np.int64(0), into, size)
    if used < 0 or size == 0:
        return NOT_PLAIN  # damaged, or packed in another way than in blocks
    state[UNREAD] -= size
    state[AT] += used
    state[PACKED] -= used
    return DONE


@njit(nogil=True, cache=True)
def _open(window, page, codes, entries, width, state, header, packed, nullable, boolean, words):  # type: ignore[no-untyped-def]
    """Unpack the next page; nothing is consumed unless it ends with DONE."""
    at, end = state[AT], state[END]
    used = page_header(window[at : min(end, at + LONGEST_HEADER)], header)
    if used <= 0:
        state[NEED] = min(2 * (end - at) + 64, LONGEST_HEADER)
        return BROKEN if state[WHOLE] or end - at >= LONGEST_HEADER else MORE
    size, length, kind = header[SIZE], header[COMPRESSED_SIZE], header[KIND]
    if not (0 <= size <= LARGEST_PAGE and 0 <= length <= LARGEST_PAGE and 0 <= header[VALUES] <= LARGEST_PAGE):
        return BROKEN
    flows = kind in (_DATA, _DATA_2) and header[ENCODING] == _PLAIN and not (boolean or words)
    wanted = min(length, np.int64(2 * PACKED_BLOCK)) if flows else length
    if at + used + wanted > end:
        state[NEED] = used + wanted
        return BROKEN if state[WHOLE] else MORE
    if header[HAS_CRC] or kind < 0 or kind > _DATA_2 or header[NULLS] or header[REPETITION]:
        return NOT_PLAIN
    if flows:
        return _begin(window, page, width, used, state, header, packed, nullable)
    raw = window[at + used : at + used + length]
    if kind == _INDEX:
        state[AT] = at + used + length
        return DONE
    if size > len(page):
        state[NEED] = size
        return GROW_PAGE
    before = header[DEFINITION] if kind == _DATA_2 else np.int64(0)
    if before < 0 or before > length or before > size:
        return BROKEN
    unpack = packed and (kind != _DATA_2 or header[COMPRESSED])
    if unpack and size > before:
        if not snappy(raw[before:], page, size - before):
            return BROKEN
    elif not unpack:
        if length != size:
            return BROKEN
        copy(raw[before:], page)
    size -= before
    n, encoding = header[VALUES], header[ENCODING]
    if kind == _DICTIONARY:
        if boolean or encoding not in (_PLAIN, _PLAIN_DICTIONARY):
            return NOT_PLAIN
        octets = size if words else n * width
        if n < 0 or n > size or octets > size:
            return BROKEN
        if octets > len(entries):
            state[NEED] = octets if words else n
            return GROW_DICTIONARY
        copy(page[:octets], entries)
        state[ENTRIES], state[OCTETS] = n, octets
        state[AT] = at + used + length
        return DONE
    if n <= 0 or n > state[LEFT]:
        return BROKEN
    start = np.int64(0)
    if kind == _DATA and nullable:
        start = _after_levels(page[:size], n)
        if start < 0:
            return NOT_PLAIN
    coded = np.int64(0)
    if encoding == _PLAIN and boolean:
        if start + (n + 7) // 8 > size:
            return BROKEN
    elif (encoding == _RLE and boolean) or (encoding in (_PLAIN_DICTIONARY, _RLE_DICTIONARY) and state[ENTRIES] >= 0):
        if n > len(codes):
            state[NEED] = n
            return GROW_CODES
        skip = np.int64(4) if boolean else np.int64(1)  # the length of the runs, or the width of a code
        if start + skip > size:
            return BROKEN
        bits = np.int64(1) if boolean else np.int64(page[start])
        if bits > 31 or hybrid(page[start + skip : size], bits, n, codes) != n:
            return BROKEN
        if not boolean:
            low, high = np.int32(0), np.int32(-1)
            for i in range(n):  # without a way out, so that many are looked at at once
                low, high = min(low, codes[i]), max(high, codes[i])
            if low < 0 or high >= state[ENTRIES]:
                return BROKEN
        coded = np.int64(1)
    else:
        return NOT_PLAIN
    state[PAGE], state[CURSOR], state[CODED], state[START] = n, 0, coded, start
    state[LEFT] -= n
    state[AT] = at + used + length
    return DONE


@njit(nogil=True, cache=True)
def _after_levels(page, n):  # type: ignore[no-untyped-def]
    """Where the values begin behind levels that say that nothing is missing; -1 if something is, or they make no sense."""
    if len(page) < 4:
        return np.int64(-1)
    levels = np.int64(page[0]) | np.int64(page[1]) << 8 | np.int64(page[2]) << 16 | np.int64(page[3]) << 24
    if levels > len(page) - 4 or all_ones(page[4 : 4 + levels], n) < 1:
        return np.int64(-1)
    return 4 + levels


@njit(nogil=True, cache=True)
def _begin(window, page, width, used, state, header, packed, nullable):  # type: ignore[no-untyped-def]
    """Begin a page of plain numbers: its first block is unpacked, its levels are passed over."""
    n, size, length = header[VALUES], header[SIZE], header[COMPRESSED_SIZE]
    before = header[DEFINITION] if header[KIND] == _DATA_2 else np.int64(0)
    if before < 0 or before > length or before > size or n <= 0 or n > state[LEFT]:
        return BROKEN
    unpack = packed and (header[KIND] != _DATA_2 or header[COMPRESSED])
    if not unpack and length != size:
        return BROKEN
    at = state[AT]
    begin = at + used + before
    if unpack:
        stated, after = varint(window[begin : min(state[END], at + used + length)], np.int64(0))
        if after < 0 or stated != size - before:
            return BROKEN if state[WHOLE] or begin < state[END] else NOT_PLAIN
        begin += after
    state[AT] = begin
    state[PACKED], state[UNREAD] = length - (begin - at - used), size - before
    state[FLOWS], state[START], state[CURSOR], state[PART] = 2 if unpack else 1, 0, 0, 0
    ended = _block(window, page, state)
    skip = np.int64(0)
    if ended == DONE and header[KIND] == _DATA and nullable:
        source = page if unpack else window
        skip = _after_levels(source[state[START] : state[CURSOR]], n)
        ended = DONE if skip >= 0 else NOT_PLAIN
    if ended != DONE or skip + n * width > size - before:
        return ended if ended != DONE and ended != MORE else NOT_PLAIN
    state[START] += skip
    state[PAGE], state[CODED] = n, 0
    state[LEFT] -= n
    return DONE
