# SPDX-License-Identifier: Apache-2.0
"""JSON text read piece by piece: the elements of one long array, and the records of JSON lines.

NaN and infinities are read, since tools write them for «not scored». One element is held at a time; one that is larger than
`LARGEST` is refused, so that a file cannot take the machine's memory.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from json.decoder import JSONDecodeError
from typing import Any

import msgspec

from epimeter.errors import ReadError
from epimeter.readers.files import BOM, Stream
from epimeter.readers.wording import brief, clean, shown

LARGEST = 1 << 28
CHUNK = 1 << 20
SPACE = " \t\n\r"
DECODER = json.JSONDecoder()


class JsonText:
    """A JSON document with a place in it; text is fetched as it is needed."""

    def __init__(self, stream: Stream) -> None:
        self.source = stream.source
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._place = 0
        self._ended = False

    def more(self) -> bool:
        """Fetch more text; False at the end."""
        if self._ended:
            return False
        if len(self._text) - self._place > LARGEST:
            raise ReadError(f"one element must be smaller than {LARGEST >> 20} MiB; {self.source} has a larger one")
        # A long element is fetched in growing pieces, so that it is not decoded again and again.
        piece = self._stream.read(max(CHUNK, len(self._text) - self._place))
        try:
            fresh = self._decoder.decode(piece, not piece)
        except UnicodeDecodeError:
            raise ReadError(f"{self.source} must be UTF-8. Save it as UTF-8") from None
        self._text, self._place = self._text[self._place :] + fresh, 0
        self._ended = not piece
        return bool(piece)

    def peek(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            while self._place < len(self._text):
                if self._text[self._place] not in SPACE:
                    return self._text[self._place]
                self._place += 1
            if not self.more():
                return ""

    def take(self, wanted: str) -> bool:
        """Step over a character, if it comes next."""
        if self.peek() != wanted:
            return False
        self._place += 1
        return True

    def need(self, wanted: str) -> None:
        """Step over a character that must come next."""
        if not self.take(wanted):
            raise self.cut_off(f"{shown(wanted)} is missing")

    def value(self) -> Any:
        """The next value, whole."""
        self.peek()
        while True:
            try:
                value, end = DECODER.raw_decode(self._text, self._place)
            except JSONDecodeError as fault:
                if self.more():
                    continue
                raise self.cut_off(brief(fault)) from None
            except RecursionError:
                raise ReadError(f"{self.source} must not nest so deep") from None
            if end == len(self._text) and not self._ended and self.more():
                continue  # a number may go on
            self._place = end
            return value

    def cut_off(self, why: str) -> ReadError:
        """The refusal of text that is no whole JSON."""
        return ReadError(f"{self.source} must be JSON ({why}). Cut off?")


def elements(text: JsonText, path: tuple[str, ...], head: dict[str, Any]) -> Iterator[Any]:
    """The elements of the array at a path of keys; keys that come before it go into `head`."""
    if not path:
        text.need("[")
        if text.take("]"):
            return
        while True:
            yield text.value()
            if not text.take(","):
                text.need("]")
                return
    text.need("{")
    while not text.take("}"):
        key = text.value()
        text.need(":")
        if key == path[0] and text.peek() in "[{":
            yield from elements(text, path[1:], head)
            return  # what follows the answers is a summary of them
        head[key] = text.value()
        text.take(",")


def values(stream: Stream) -> Iterator[Any]:
    """The values of a source, whether it is one array, one object, or one object a line."""
    text = JsonText(stream)
    if text.peek() == "[":
        yield from elements(text, (), {})
        return
    while text.peek():
        yield text.value()


def lines(stream: Stream, before: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of JSON lines with the number of their line, where so many came before."""
    rest, line = b"", before
    first = True
    while True:
        piece = stream.read(CHUNK)
        if first:
            piece, first = piece.removeprefix(BOM), False
        if not piece:
            break
        parts = (rest + piece).split(b"\n")
        rest = parts.pop()
        if len(rest) > LARGEST:
            raise ReadError(f"one line must be shorter than {LARGEST >> 20} MiB; {stream.source} has a longer one")
        for part in parts:
            line += 1
            if part.strip():
                yield line, record(part, f"line {line} of {stream.source}")
    if rest.strip():
        yield line + 1, record(rest, f"line {line + 1} of {stream.source}")


def record(text: bytes, where: str) -> dict[str, Any]:
    """One JSON object."""
    value = parsed(text, where)
    if not isinstance(value, dict):
        raise ReadError(f"every record must be a JSON object; {where} is {shown(value)}")
    return value


def parsed(text: bytes, where: str) -> Any:
    """JSON, NaN included; faults as one sentence."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass  # NaN, or a fault that the slower parser words
    try:
        return json.loads(text)
    except UnicodeDecodeError:
        raise ReadError(f"{clean(where)} must be UTF-8. Save it as UTF-8") from None
    except ValueError as fault:
        raise ReadError(f"{clean(where)} must be JSON ({brief(fault)}). Cut off?") from None
    except RecursionError:
        raise ReadError(f"{clean(where)} must not nest so deep") from None
