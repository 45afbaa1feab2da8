# SPDX-License-Identifier: Apache-2.0
"""The elements of one long array in a JSON document, as bytes: found by `core/elements.c`, parsed by whoever wants them.

A document is one object; what stands before the array is small and parsed here, what follows it is a summary of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, BinaryIO, Protocol

import numpy as np

from epimeter.core import lib, read, write
from epimeter.errors import ReadError
from epimeter.readers.files import BOM
from epimeter.readers.logs.document import CHUNK, LARGEST, parsed
from epimeter.readers.wording import shown

SPACE = b" \t\n\r"
MOST = 4096
"""Elements that are looked for at a time."""


class Bytes(Protocol):
    """What gives bytes from front to back."""

    def read(self, size: int, /) -> bytes:
        """Up to so many bytes; empty at the end."""


class Range:
    """The bytes of a file from one place to another, read forwards."""

    def __init__(self, file: BinaryIO, start: int, size: int) -> None:
        file.seek(start)
        self.file, self.left = file, size

    def read(self, size: int) -> bytes:
        """Up to so many bytes; empty at the end."""
        found = self.file.read(min(size, self.left))
        self.left -= len(found)
        return found


class JsonDocument:
    """A JSON document in bytes, with a place in it."""

    def __init__(self, raw: Bytes, source: str, offset: int = 0) -> None:
        self.raw, self.source = raw, source
        self.text, self.at = b"", 0
        self.offset = offset
        """Where the text that is held begins in the file."""
        if offset == 0:
            self._more()
            if self.text.startswith(BOM):
                self.at = len(BOM)

    @property
    def place(self) -> int:
        """The place in the file."""
        return self.offset + self.at

    def _more(self) -> bool:
        """Hold more text from the place on; False at the end. A long element is fetched in growing pieces."""
        rest = len(self.text) - self.at
        if rest > LARGEST:
            raise ReadError(f"one element must be smaller than {LARGEST >> 20} MiB; {self.source} has a larger one")
        fresh = self.raw.read(max(CHUNK, rest))
        self.offset += self.at
        self.text, self.at = self.text[self.at :] + fresh, 0
        return bool(fresh)

    def _next(self) -> bytes:
        """The next byte that is no space; empty at the end."""
        while True:
            while self.at < len(self.text):
                if self.text[self.at] not in SPACE:
                    return self.text[self.at : self.at + 1]
                self.at += 1
            if not self._more():
                return b""

    def _need(self, wanted: bytes) -> None:
        if self._next() != wanted:
            raise self._cut_off(f"{shown(wanted.decode())} is missing")
        self.at += 1

    def _value(self) -> bytes:
        """The next value, as it is written."""
        self._next()
        while True:
            end = lib.epi_json_past(read(np.frombuffer(self.text, np.uint8)), len(self.text), self.at)
            if end > self.at:
                text, self.at = self.text[self.at : end], end
                return text
            if end == self.at or not self._more():
                raise self._cut_off("a value is missing")

    def _cut_off(self, why: str) -> ReadError:
        return ReadError(f"{self.source} must be JSON ({why}). Cut off?")

    def enter(self, key: str) -> dict[str, Any]:
        """Go to the first element of the array under a key; what comes before it is given. Without the array, to the end."""
        head: dict[str, Any] = {}
        self._need(b"{")
        while self._next() != b"}":
            name = parsed(self._value(), self.source)
            self._need(b":")
            if name == key and self._next() == b"[":
                self.at += 1
                return head
            head[str(name)] = parsed(self._value(), f"{shown(name)} of {self.source}")
            if self._next() == b",":
                self.at += 1
        return head

    def borders(self, whole: bool = True) -> Iterator[tuple[bytes, list[int]]]:
        """Some text, and where its elements begin and end, two numbers an element.

        `whole` is False for a part of an array that ends after an element's comma.
        """
        found, place, state = np.empty(2 * MOST, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)
        while True:
            text = memoryview(self.text)[self.at :]
            count = 0
            if len(text):
                count = lib.epi_json_elements(
                    read(np.frombuffer(text, np.uint8)), len(text), write(found), MOST, write(place), write(state)
                )
            if count:
                yield self.text, (found[: 2 * count] + self.at).tolist()
            self.at += int(place[0]) if len(text) else 0
            if len(text) and state[0] == 1:
                return
            if len(text) and state[0] == 2:
                raise self._cut_off("an element of its list is missing, or a comma")
            if count < MOST and not self._more():
                if whole or self.text[self.at :].strip():
                    raise self._cut_off("its list has no end")
                return


def elements(document: JsonDocument, whole: bool = True) -> Iterator[bytes]:
    """The elements of the array that a document stands in, as they are written."""
    for text, borders in document.borders(whole):
        for begin, end in zip(borders[::2], borders[1::2], strict=True):
            yield text[begin:end]


def cuts(document: JsonDocument, size: int, count: int) -> list[tuple[int, int, int]]:
    """Where to cut the array a document stands in, into so many parts of about equal size: begin, bytes, elements before."""
    begins, before = [document.place], [0]
    passed = 0
    step = (size - document.place) // count or 1
    for _, borders in document.borders():
        for begin in borders[::2]:
            if document.offset + begin >= begins[0] + step * len(begins) and len(begins) < count:
                begins.append(document.offset + begin)
                before.append(passed)
            passed += 1
    return [
        (begin, end - begin, left)
        for (begin, end), left in zip(pairwise([*begins, document.place]), before, strict=True)
    ]
