# SPDX-License-Identifier: Apache-2.0
"""A request's body: received, unpacked, parsed, each within limits.

Bytes go to memory while they are few and to a file in the data folder when they are many, so a large body costs a worker
its rows and not its text. A body that comes too slowly, or is larger than allowed, packed or unpacked, is refused as
soon as that is known.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import tempfile
from typing import Any, BinaryIO, TypeVar

import msgspec
from fastapi import Request
from starlette.requests import ClientDisconnect

from epimeter.errors import VerificationError
from epimeter.service.problems import Problem
from epimeter.service.settings import MIB, Settings
from epimeter.trust.strict_json import load_json

IN_MEMORY = MIB
SMALL = MIB
PIECE = 256 * 1024
OF_KEY = "key` in `"
"""How msgspec says that not the value but the key is wrong."""
ENCODINGS = ("identity", "gzip", "zstd")
OTHERS = ". Probabilities of events or classes, and labels beside predictions, become answers by `epimeter submit` and on /upload"
"""What to do with columns that are no answers."""
T = TypeVar("T")


class Body:
    """Bytes that came, in memory or in a nameless file; close it to let go of them."""

    def __init__(self, folder: str) -> None:
        self.file: BinaryIO = tempfile.SpooledTemporaryFile(IN_MEMORY, dir=folder)  # type: ignore[assignment]  # noqa: SIM115
        self.size = 0
        self._hash = hashlib.sha256()

    @classmethod
    def on_disk(cls, folder: str) -> Body:
        """No bytes yet, in a file that another process can write."""
        return cls.of(tempfile.TemporaryFile(dir=folder))

    def chunks(self) -> Any:
        """The bytes from their beginning: the file itself where there is one, else part by part."""
        self.file.seek(0)
        if getattr(self.file, "_rolled", True):
            self.file.flush()
            return self.file
        return iter(lambda: self.file.read(PIECE), b"")

    @classmethod
    def of(cls, file: BinaryIO) -> Body:
        """Bytes that are in a file already."""
        made = cls.__new__(cls)
        made.file, made.size, made._hash = file, file.seek(0, 2), hashlib.sha256()
        file.seek(0)
        return made

    def add(self, piece: bytes) -> None:
        self.file.write(piece)
        self._hash.update(piece)
        self.size += len(piece)

    @property
    def fingerprint(self) -> bytes:
        return self._hash.digest()

    def whole(self) -> bytes:
        self.file.seek(0)
        return self.file.read()

    def close(self) -> None:
        self.file.close()


async def receive(request: Request, settings: Settings, limit: int) -> Body:
    """The body as it was sent, up to `limit` bytes, within the time allowed."""
    said = request.headers.get("content-length")
    if said is not None and said.isdigit() and int(said) > limit:
        raise _too_large(limit)
    body = Body(str(settings.folder))
    loop = asyncio.get_running_loop()
    end = loop.time() + settings.body_time
    pieces = request.stream()
    try:
        while True:
            pause = min(settings.body_pause, end - loop.time())
            try:
                piece = await asyncio.wait_for(anext(pieces), pause)
            except StopAsyncIteration:
                break
            if body.size + len(piece) > limit:
                raise _too_large(limit)
            body.add(piece)
    except TimeoutError:
        body.close()
        raise Problem(
            "too-slow",
            f"a body must come within {settings.body_time:g} s and without pauses over {settings.body_pause:g} s",
            headers={"Connection": "close"},
        ) from None
    except ClientDisconnect:
        body.close()
        raise Problem("bad-request", "the body ended early: the connection was closed") from None
    except BaseException:
        body.close()
        raise
    body.file.seek(0)
    return body


def _too_large(limit: int) -> Problem:
    return Problem(
        "too-large",
        f"a body must have at most {limit:,} bytes here; send NDJSON, Arrow or Parquet, or compress it with gzip or zstd",
        headers={"Connection": "close"},
    )


def encoding_of(request: Request) -> str:
    """How the body is packed."""
    said = request.headers.get("content-encoding", "identity").strip().lower()
    if said not in ENCODINGS:
        raise Problem("unsupported-media-type", f"Content-Encoding must be gzip or zstd; got {said!r:.40}")
    return said


def unpacked(body: Body, encoding: str, folder: str, limit: int) -> Body:
    """The body unpacked; it never grows beyond `limit`, whatever it would unpack to."""
    if encoding == "identity":
        if body.size > limit:
            raise _unpacks_to_more(limit)
        return body
    import pyarrow as pa

    made = Body(folder)
    try:
        with pa.CompressedInputStream(pa.PythonFile(body.file, "r"), encoding) as stream:
            while piece := stream.read(PIECE):
                if made.size + len(piece) > limit:
                    raise _unpacks_to_more(limit)
                made.file.write(piece)
                made.size += len(piece)
    except Problem:
        made.close()
        raise
    except (pa.ArrowException, OSError, ValueError) as fault:
        made.close()
        if isinstance(fault, OSError) and fault.errno is not None:
            raise
        raise Problem("bad-request", f"the body must be {encoding}, as Content-Encoding says; it is not") from None
    made.file.seek(0)
    return made


def _unpacks_to_more(limit: int) -> Problem:
    return Problem("too-large", f"a body must unpack to at most {limit:,} bytes here; send NDJSON, Arrow or Parquet")


async def small_body(request: Request) -> bytes:
    """The body of an ordinary request: JSON, at most a mebibyte, not packed."""
    kind = media_type(request)
    if kind != "application/json":
        raise Problem("unsupported-media-type", f"Content-Type must be application/json; got {kind!r:.60}")
    if encoding_of(request) != "identity":
        raise Problem("unsupported-media-type", "a small body must not be compressed")
    body = await receive(request, request.app.state.settings, SMALL)
    try:
        return body.whole()
    finally:
        body.close()


def media_type(request: Request) -> str:
    """The media type without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def read_as(kind: type[T], raw: bytes) -> T:
    """A small JSON document as a type: no unknown field, no key twice, no NaN, no deep nesting."""
    try:
        return msgspec.convert(load_json(raw, size_limit=SMALL, depth_limit=16), kind)
    except VerificationError as fault:
        raise Problem("invalid", str(fault), errors=[("", str(fault))]) from None
    except msgspec.ValidationError as fault:
        raise invalid(fault, kind) from None


def invalid(fault: msgspec.MsgspecError, kind: Any, where: str = "") -> Problem:
    """What msgspec says of a value that is no `kind`, as a problem with a pointer; enumerations and fields are listed."""
    said, _, path = str(fault).partition(" - at `")
    if path.startswith(OF_KEY):
        said, path = f"A key: {said[:1].lower()}{said[1:]}", path.removeprefix(OF_KEY)
    pointer = where + pointer_of(path.rstrip("`"))
    sentence = said[:1].lower() + said[1:]
    if said.startswith("Invalid enum value ") and (words := _words(kind, path.rstrip("`"))):
        sentence = f"must be one of {', '.join(words)}; got {said.removeprefix('Invalid enum value ')}"
    if (name := re.fullmatch(r"Object contains unknown field `(.*)`", said, re.DOTALL)) and (
        known := _fields(kind, path.rstrip("`"))
    ):
        sentence = (
            f"its fields are {', '.join(known)}; {name[1]!r:.60} is none of them{OTHERS if 'correct' in known else ''}"
        )
    return Problem("invalid", f"{pointer or 'the body'}: {sentence}", errors=[(pointer, sentence)])


def _words(kind: Any, path: str) -> list[str]:
    """The words that may stand at a path of a document."""
    found = _types_at(kind, path)
    return [str(word) for info in found if isinstance(info, msgspec.inspect.LiteralType) for word in info.values]


def _fields(kind: Any, path: str) -> list[str]:
    """The fields that an object at a path of a document may have."""
    found = _types_at(kind, path)
    return [
        field.encode_name for info in found if isinstance(info, msgspec.inspect.StructType) for field in info.fields
    ]


def _types_at(kind: Any, path: str) -> list[msgspec.inspect.Type]:
    found = [msgspec.inspect.type_info(kind)]
    for part in [*re.findall(r"\.(\w+)|\[", path), None]:
        found = [
            one for info in found for one in (info.types if isinstance(info, msgspec.inspect.UnionType) else (info,))
        ]
        if part is None:
            break
        found = [one for info in found for one in _inside(info, part)]
    return found


def _inside(info: msgspec.inspect.Type, part: str) -> list[msgspec.inspect.Type]:
    """The types of a named field, or of the items where no name is given."""
    if isinstance(info, msgspec.inspect.StructType):
        return [field.type for field in info.fields if field.encode_name == part]
    items = (getattr(info, name, None) for name in ("item_type", "value_type"))
    return [] if part else [one for one in items if one is not None]


def pointer_of(path: str) -> str:
    """`$.predictions[3].confidence` as /predictions/3/confidence."""
    return path.removeprefix("$").replace(".", "/").replace("[", "/").replace("]", "")


def refuse_repeated_keys(raw: bytes, limit: int) -> None:
    """Refuse a text with a key twice in one object; readers differ in which they keep."""
    try:
        load_json(raw, size_limit=limit, depth_limit=16)
    except VerificationError as fault:
        raise Problem("invalid", str(fault), errors=[("", str(fault))]) from None


def encoded(value: Any) -> bytes:
    """A value as JSON."""
    return msgspec.json.encode(value)
