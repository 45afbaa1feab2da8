# SPDX-License-Identifier: Apache-2.0
"""What an Arrow stream or file would unpack to, read off its headers before anything is unpacked.

The buffers of a record batch may be compressed: a few kilobytes may stand for terabytes, and the reader allocates what
the sender claims. So the headers (flatbuffers, RecordBatch and DictionaryBatch of the Arrow format) are read here first,
just far enough to add up rows and bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from epimeter.errors import ReadError

_DICTIONARY, _BATCH = 2, 3


def claims(messages: Iterator[Any]) -> Iterator[tuple[int, int]]:
    """Rows and unpacked bytes that each batch of a stream of messages claims, dictionaries too."""
    for message in messages:
        try:
            found = _claims(bytes(message.metadata), message.body)
        except (struct.error, IndexError, ValueError, TypeError):
            raise ReadError("an Arrow stream must have sound headers; this one has not") from None
        if found is not None:
            yield found


def _claims(header: bytes, body: Any) -> tuple[int, int] | None:
    """Rows and unpacked bytes of a batch; None for other messages."""
    message = _Fields(header, struct.unpack_from("<I", header, 0)[0])
    kind = message.number(1, "<B")
    if kind not in (_DICTIONARY, _BATCH):
        return None
    batch = message.table(2)
    if kind == _DICTIONARY:
        batch = batch.table(1)
    rows = batch.number(0, "<q")
    packed = batch.place(3) is not None
    total = 0
    for offset, length in batch.pairs(2):
        claimed = length
        if packed and length >= 8:
            claimed = max(length, struct.unpack_from("<q", body, offset)[0])  # -1: this buffer is not packed
        total += claimed
    return rows, total


class _Fields:
    """A flatbuffers table, as much of it as is needed."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at
        self._names = at - struct.unpack_from("<i", data, at)[0]
        self._size = struct.unpack_from("<H", data, self._names)[0]

    def place(self, field: int) -> int | None:
        slot = 4 + 2 * field
        if slot >= self._size:
            return None
        offset: int = struct.unpack_from("<H", self._data, self._names + slot)[0]
        return self._at + offset if offset else None

    def number(self, field: int, form: str) -> int:
        at = self.place(field)
        return 0 if at is None else int(struct.unpack_from(form, self._data, at)[0])

    def table(self, field: int) -> _Fields:
        at = self.place(field)
        if at is None:
            raise ValueError
        return _Fields(self._data, at + struct.unpack_from("<I", self._data, at)[0])

    def pairs(self, field: int) -> list[tuple[int, int]]:
        at = self.place(field)
        if at is None:
            return []
        start = at + struct.unpack_from("<I", self._data, at)[0]
        count = struct.unpack_from("<I", self._data, start)[0]
        flat = struct.unpack_from(f"<{2 * count}q", self._data, start + 4)
        return list(zip(flat[::2], flat[1::2], strict=True))
