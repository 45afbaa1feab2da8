# SPDX-License-Identifier: Apache-2.0
"""ZIP archives read member by member, their directory too: a log may have a million members.

Python's zipfile holds an object a member (half a kilobyte) and does not know Zstandard before 3.14. Layout after PKWARE's
APPNOTE.TXT 6.3.10, sections 4.3.7 (local header), 4.3.12 (directory), 4.3.14 (zip64), 4.3.16 (end).
"""

from __future__ import annotations

import functools
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

from epimeter.errors import ReadError
from epimeter.readers.wording import brief, clean

STORED, DEFLATED, ZSTANDARD = 0, 8, 93
LARGEST = 1 << 28
"""Bytes that one member may unpack to: a sample has kilobytes."""
STEEPEST = 500
"""How many times its packed size a member above a megabyte may unpack to; text repeats itself some ten times, deflate
reaches 1,032."""

ENTRY = struct.Struct("<4s6H3I5H2I")
LOCAL = struct.Struct("<4s5H3I2H")
END = struct.Struct("<4s4H2IH")
END64 = struct.Struct("<4sQ2H2I4Q")
LOCATOR = struct.Struct("<4sIQI")
LENGTHS = struct.Struct("<2H")
"""Of the name and of the extra fields, at the end of a local header."""
ONE_WIDE = struct.Struct("<HHQ")
SLACK = 64
"""Bytes that extra fields before a member's data may take, to have header and data in one reading."""
PLAIN = 1 << 16
"""Packed bytes up to which a member is unpacked in one call, whatever it promises: deflate makes at most 66 MiB of them."""
SMALL, TOGETHER = 1 << 16, 32
"""Bytes up to which members are unpacked together, and how many at once."""
BUFFER = 1 << 20
"""Bytes that are read ahead: members stand one after another."""


class Member(NamedTuple):
    """One member of an archive, as the directory says."""

    name: str
    method: int
    encrypted: bool
    check: int
    packed: int
    size: int
    offset: int


class Archive:
    """An archive opened for reading from front to back."""

    def __init__(self, file: BinaryIO, source: str) -> None:
        self.file = file
        self.source = source
        self.size = file.seek(0, os.SEEK_END)
        self.start, self.length, self.count = self._directory()

    def damaged(self, why: str) -> ReadError:
        """The refusal of an archive that is not whole."""
        return ReadError(f"{self.source} must be a whole archive; it is damaged or was cut off ({why})")

    def _directory(self) -> tuple[int, int, int]:
        """Where the directory begins, its bytes, and its entries."""
        tail_at = max(0, self.size - 65_557)
        self.file.seek(tail_at)
        tail = self.file.read()
        found = tail.rfind(b"PK\x05\x06")
        if found < 0 or len(tail) - found < END.size:
            raise self.damaged("it has no directory")
        _, _, _, _, count, length, start, _ = END.unpack_from(tail, found)
        if 0xFFFFFFFF in (start, length) or count == 0xFFFF:
            place = tail_at + found - LOCATOR.size
            self.file.seek(max(0, place))
            locator = self.file.read(LOCATOR.size)
            if len(locator) == LOCATOR.size and locator[:4] == b"PK\x06\x07":
                self.file.seek(LOCATOR.unpack(locator)[2])
                end = self.file.read(END64.size)
                if len(end) < END64.size or end[:4] != b"PK\x06\x06":
                    raise self.damaged("its directory cannot be found")
                count, length, start = END64.unpack(end)[7:10]
        if start + length > self.size or count * ENTRY.size > length:
            raise self.damaged("its directory reaches beyond the file")
        return start, length, count

    def entries(
        self, start: int | None = None, count: int | None = None
    ) -> Iterator[tuple[int, tuple[Any, ...], bytes]]:
        """The entries of the directory, in the order they were written in: place, fixed part, and name with extra fields.

        Parameters
        ----------
        start
            The place of the entry to begin with; None for the first.
        count
            How many; None for all.
        """
        place = self.start if start is None else start
        left = self.count if count is None else count
        rest = b""
        while left:
            self.file.seek(place)
            piece = self.file.read(min(1 << 20, self.start + self.length - place))
            buffer, at = rest + piece, 0
            first = place - len(rest)
            place += len(piece)
            while left and len(buffer) - at >= ENTRY.size:
                entry = ENTRY.unpack_from(buffer, at)
                whole = ENTRY.size + entry[10] + entry[11] + entry[12]
                if entry[0] != b"PK\x01\x02":
                    raise self.damaged("its directory is broken")
                if len(buffer) - at < whole:
                    break
                yield first + at, entry, buffer[at + ENTRY.size : at + whole]
                at, left = at + whole, left - 1
            rest = buffer[at:]
            if not piece and left:
                raise self.damaged("its directory ends early")

    def members(self, start: int | None = None, count: int | None = None) -> Iterator[Member]:
        """The members of those entries."""
        for _, entry, tail in self.entries(start, count):
            yield self._member(entry, tail)

    def _member(self, entry: tuple[Any, ...], tail: bytes) -> Member:
        packed, size, offset, length = entry[8], entry[9], entry[16], entry[10]
        if packed == 0xFFFFFFFF or size == 0xFFFFFFFF or offset == 0xFFFFFFFF:
            packed, size, offset = _wide(packed, size, offset, tail[length : length + entry[11]])
        name = tail[:length].decode("utf-8", "replace")
        return Member(name, entry[4], bool(entry[3] & 1), entry[7], packed, size, offset)

    def read(self, member: Member) -> bytes:
        """The unpacked bytes of a member, checked against its size and checksum."""
        return self._checked(member, self._unpacked(member, self._packed(member)))

    def texts(self, members: Iterable[Member]) -> Iterator[tuple[Member, bytes]]:
        """Members with their unpacked bytes.

        Small ones under Zstandard are unpacked together: frames may follow each other, and a call for each takes three times as
        long.
        """
        waiting: list[tuple[Member, memoryview]] = []
        for member in members:
            if member.method == ZSTANDARD and member.size <= SMALL:
                waiting.append((member, self._packed(member)))
                if len(waiting) < TOGETHER:
                    continue
                yield from self._together(waiting)
                waiting = []
            else:
                yield from self._together(waiting)
                waiting = []
                yield member, self.read(member)
        yield from self._together(waiting)

    def _together(self, waiting: list[tuple[Member, memoryview]]) -> Iterator[tuple[Member, bytes]]:
        size = sum(member.size for member, _ in waiting)
        try:
            whole = (
                _zstandard().decompress(b"".join(packed for _, packed in waiting), size, asbytes=True) if size else b""
            )
        except (OSError, ValueError):
            whole = b""
        place = 0
        for member, packed in waiting:
            text = whole[place : place + member.size]
            place += member.size
            # One by one where any of them is damaged, so that its name is said.
            if len(text) != member.size or zlib.crc32(text) != member.check:
                text = self._checked(member, self._unpacked(member, packed))
            yield member, text

    def _packed(self, member: Member) -> memoryview:
        if member.size > 1 << 20 or member.packed > 1 << 20 or member.encrypted:
            self._refuse(member)
        self.file.seek(member.offset)
        block = self.file.read(LOCAL.size + len(member.name) + SLACK + member.packed)
        if len(block) < LOCAL.size or block[:4] != b"PK\x03\x04":
            raise self.damaged(f"{clean(member.name)} is not where the directory says")
        named, further = LENGTHS.unpack_from(block, 26)
        start = LOCAL.size + named + further
        stop = start + member.packed
        if len(block) < stop:
            self.file.seek(member.offset)
            block = self.file.read(stop)
        packed = memoryview(block)[start:stop]
        if len(packed) != member.packed:
            raise self.damaged(f"{clean(member.name)} is cut off")
        return packed

    def _checked(self, member: Member, text: bytes) -> bytes:
        if len(text) != member.size or zlib.crc32(text) != member.check:
            raise self.damaged(f"{clean(member.name)} has a wrong checksum")
        return text

    def _refuse(self, member: Member) -> None:
        """Refuse what would take the machine's memory, and what cannot be read."""
        what = f"{clean(member.name)} of {self.source}"
        if max(member.size, member.packed) > LARGEST:
            raise ReadError(f"a member must unpack to less than {LARGEST >> 20} MiB; {what} would unpack to more")
        if member.size > 1 << 20 and member.size > STEEPEST * max(1, member.packed):
            raise ReadError(
                f"{what} would unpack to {member.size // max(1, member.packed)} times its size; it is refused"
            )
        if member.encrypted:
            raise ReadError(f"the members of a log must not be encrypted; {what} is")

    def _unpacked(self, member: Member, packed: memoryview) -> bytes:
        try:
            if member.method == STORED:
                return bytes(packed)
            if member.method == DEFLATED:
                if member.packed <= PLAIN:
                    return zlib.decompress(packed, -15, min(member.size, PLAIN) + 1)
                # One byte more than promised is enough to know that the promise is broken.
                return zlib.decompressobj(-15).decompress(packed, member.size + 1)
            if member.method == ZSTANDARD:
                return bytes(_zstandard().decompress(packed, member.size, asbytes=True))
        except (zlib.error, OSError, ValueError) as fault:
            raise self.damaged(f"{clean(member.name)}: {brief(fault)}") from None
        raise ReadError(f"members must be stored, deflated or Zstandard; {clean(member.name)} of {self.source} is none")


@functools.cache
def _zstandard() -> Any:
    import pyarrow as pa

    return pa.Codec("zstd")


def _wide(packed: int, size: int, offset: int, extra: bytes) -> tuple[int, int, int]:
    """Sizes and place of a member where they do not fit the entry and stand in an extra field (zip64)."""
    if len(extra) == ONE_WIDE.size and packed != 0xFFFFFFFF != size:  # as most are: one field, of the place alone
        tag, length, place = ONE_WIDE.unpack(extra)
        if tag == 1 and length == 8:
            return packed, size, place
    while len(extra) >= 4:
        tag, length = struct.unpack_from("<HH", extra)
        if tag == 1:
            wide = [int.from_bytes(extra[i : i + 8], "little") for i in range(4, 4 + length, 8)]
            size = wide.pop(0) if size == 0xFFFFFFFF and wide else size
            packed = wide.pop(0) if packed == 0xFFFFFFFF and wide else packed
            offset = wide.pop(0) if offset == 0xFFFFFFFF and wide else offset
            break
        extra = extra[4 + length :]
    return packed, size, offset
