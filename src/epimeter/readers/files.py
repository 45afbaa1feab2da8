# SPDX-License-Identifier: Apache-2.0
"""Opening a source and telling its format from its first bytes.

The name's suffix says what the file should be, the first bytes say what it is; when the two differ the file
is refused rather than believed. Nothing is written anywhere: what needs random access and cannot be sought
is held in memory.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, BinaryIO

from epimeter.errors import ReadError
from epimeter.readers.wording import clean, shown

HEAD = 1 << 16
BOM = b"\xef\xbb\xbf"

FORMATS = ("csv", "tsv", "json", "ndjson", "parquet", "arrow", "npz", "xlsx")
SAME = {
    "jsonl": "ndjson",
    "ipc": "arrow",
    "feather": "arrow",
    "arrows": "arrow",
    "pq": "parquet",
    "parq": "parquet",
    "xlsm": "xlsx",
}
HOLDS = {
    "csv": "text",
    "tsv": "text",
    "json": "JSON",
    "ndjson": "JSON",
    "parquet": "Parquet",
    "arrow": "Arrow",
    "npz": "a ZIP archive",
    "xlsx": "a ZIP archive",
}
"""What the first bytes of each format show."""
WRITTEN = {
    "csv": "CSV",
    "tsv": "TSV",
    "json": "JSON",
    "ndjson": "one JSON record a line",
    "parquet": "Parquet",
    "arrow": "Arrow IPC",
    "npz": "an npz archive",
    "xlsx": "an Excel workbook",
}
"""The formats as a sentence names them."""

WIDE = {b"\xff\xfe\x00\x00": "", b"\x00\x00\xfe\xff": "", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
"""Marks at the beginning of text in wide characters, the longer ones first; what has no codec is not read."""
MAGIC = (
    (b"\xff\xfe\x00\x00", "UTF-32 text"),
    (b"\x00\x00\xfe\xff", "UTF-32 text"),
    (b"PAR1", "Parquet"),
    (b"ARROW1", "Arrow"),
    (b"\xff\xff\xff\xff", "Arrow"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PK\x05\x06", "a ZIP archive"),
    (b"\x1f\x8b", "gzip-compressed data"),
    (b"\x28\xb5\x2f\xfd", "Zstandard-compressed data"),
    (b"BZh", "bzip2-compressed data"),
    (b"\xfd7zXZ", "xz-compressed data"),
    (b"\x93NUMPY", "a single numpy array"),
    (b"\xd0\xcf\x11\xe0", "an Office document of before 2007"),
    (b"FEA1", "Feather version 1"),
    (b"EPI1", "a summary written by epimeter"),
    (b"EPI2", "a summary written by epimeter"),
    (b"PARE", "encrypted Parquet"),
    (b"%PDF", "PDF"),
    (b"\x89HDF", "HDF5"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x80\x05", "a Python pickle"),
)
WAY_OUT = {
    "gzip-compressed data": "Unpack it first: gunzip, or call it .gz",
    "Zstandard-compressed data": "Unpack it first: unzstd, or call it .zst",
    "bzip2-compressed data": "Unpack it first: bunzip2",
    "xz-compressed data": "Unpack it first: unxz",
    "a single numpy array": "Save the columns by name: np.savez(path, confidence=…, correct=…)",
    "an Office document of before 2007": "Save the sheet as .xlsx or CSV",
    "Feather version 1": "Write it again as Arrow IPC",
    "a summary written by epimeter": "Its rows are not in it; epimeter report prints what it says",
    "UTF-32 text": "Save it as UTF-8",
    "UTF-16 text without its mark": "Save it as UTF-8",
    "a Python pickle": "A pickle can run code and is never opened; save it as Parquet",
}


PACKED = {".gz": (b"\x1f\x8b", "gzip"), ".zst": (b"\x28\xb5\x2f\xfd", "zstd")}
"""Suffixes of packed files that are unpacked while they are read, with how those begin."""


class Unpacked:
    """A packed file, unpacked piece by piece; one that stands for more bytes than the machine has is refused."""

    def __init__(self, raw: BinaryIO, how: str) -> None:
        import pyarrow as pa

        self.inner = pa.CompressedInputStream(pa.PythonFile(raw), how)
        self.read_so_far = 0

    def read(self, size: int = -1) -> bytes:
        parts: list[bytes] = []
        while size:
            part: bytes = self.inner.read(1 << 22 if size < 0 else size)
            self.read_so_far += len(part)
            refuse_beyond_memory(self.read_so_far)
            if not part:
                break
            parts.append(part)
            size = size if size < 0 else size - len(part)
        return b"".join(parts)


class Recoded:
    """Text in UTF-16 as UTF-8, piece by piece; `begun` was read from it already."""

    def __init__(self, raw: Any, begun: bytes, codec: str, source: str) -> None:
        self.raw, self.begun, self.source = raw, begun, source
        self.decoder = codecs.getincrementaldecoder(codec)()
        self.spare = b""

    def read(self, size: int = -1) -> bytes:
        while size < 0 or len(self.spare) < size:
            piece = self.begun or self.raw.read(1 << 20) or b""
            self.begun = b""
            try:
                self.spare += self.decoder.decode(piece, final=not piece).encode()
            except UnicodeError:
                raise ReadError(
                    f"{self.source} must be sound UTF-16, as its first bytes say; it is damaged or was cut off. Save it as UTF-8"
                ) from None
            if not piece:
                break
        end = len(self.spare) if size < 0 else size
        found, self.spare = self.spare[:end], self.spare[end:]
        return found


def unpacked(raw: BinaryIO, path: str) -> Any:
    """The file, or what it unpacks to when its name and its first bytes say that it is packed."""
    magic, how = PACKED.get(PurePath(path).suffix.lower(), (b"", ""))
    head = raw.read(4)
    raw.seek(0)
    return Unpacked(raw, how) if how and head.startswith(magic) else raw


@dataclass
class Stream:
    """An open source: its first bytes are looked at before any are consumed.

    `path` is that of a regular file; `named` is the name whose suffix says the format, without that of its packing. Text in
    UTF-16 with its mark is given as UTF-8, and `notes` says so.
    """

    source: str
    raw: Any
    path: str | None
    named: str = ""
    head: bytes = b""
    notes: tuple[str, ...] = ()
    _unread: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        self.head = self._unread = self.raw.read(HEAD) or b""
        codec = next((codec for mark, codec in WIDE.items() if self.head.startswith(mark)), "")
        if codec:
            self.raw, self.path = Recoded(self.raw, self.head[2:], codec, self.source), None
            self.notes = ("the text of the file is UTF-16",)
            self.head = self._unread = self.raw.read(HEAD)

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes, all of them when negative; empty at the end."""
        if size < 0:
            found, self._unread = self._unread + bytes(self.raw.read()), b""
            return found
        if self._unread:
            found, self._unread = self._unread[:size], self._unread[size:]
            if len(found) < size:
                found += self.raw.read(size - len(found)) or b""
            return found
        more: bytes = self.raw.read(size) or b""
        return more

    def seekable(self) -> Any:
        """What a reader that jumps about wants: the path of a regular file, else all bytes."""
        import io

        return self.path if self.path is not None else io.BytesIO(self.read())


@dataclass(frozen=True)
class KeptBytes(os.PathLike[str]):
    """The bytes of a source that can be read only once, for whoever must look at it twice."""

    path: str
    data: bytes = field(repr=False)
    name: str

    def __fspath__(self) -> str:
        return self.path


def kept(source: Any) -> Any:
    """A source that may be read again: standard input and pipes are kept in memory, all others stay what they are."""
    if not isinstance(source, str | os.PathLike) or isinstance(source, KeptBytes):
        return source
    path = os.fsdecode(source)
    if path != "-" and (os.path.isfile(path) or os.path.isdir(path) or not os.path.exists(path)):
        return source
    with opened(path) as stream, faults_of(stream.source):
        return KeptBytes(path, stream.read(), stream.source)


@contextmanager
def opened(source: str | os.PathLike[str]) -> Iterator[Stream]:
    """The source open for reading; whatever the system refuses becomes one sentence."""
    if isinstance(source, KeptBytes):
        import io

        yield Stream(source.name, io.BytesIO(source.data), None, "" if source.path == "-" else source.path)
        return
    path = os.fsdecode(source)
    if path == "-":
        buffer = getattr(sys.stdin, "buffer", None)
        if buffer is None:
            raise ReadError("standard input must give bytes; it is closed or replaced by text")
        with faults_of("standard input"):
            stream = Stream("standard input", buffer, None)
        yield stream
        return
    name = clean(PurePath(path).name or path)
    if "\0" in path:
        raise ReadError(f"no file can be called {shown(path)}; a name has no zero byte", field="source")
    with faults_of(name, path), open(path, "rb") as raw:
        if not os.path.isfile(path):
            yield Stream(name, raw, None, path)
            return
        plain = unpacked(raw, path)
        yield Stream(name, plain, path if plain is raw else None, path if plain is raw else path.rpartition(".")[0])


@contextmanager
def faults_of(name: str, path: str | None = None) -> Iterator[None]:
    """Faults of the system as sentences."""
    where = shown(path) if path is not None else name
    try:
        yield
    except FileNotFoundError:
        raise ReadError(f"no file is called {where}", field=path) from None
    except IsADirectoryError:
        raise ReadError(f"{where} is a directory; name one file in it", field=path) from None
    except PermissionError:
        if path is not None and os.path.isdir(path):  # so Windows says it
            raise ReadError(f"{where} is a directory; name one file in it", field=path) from None
        raise ReadError(f"{where} may not be read by this user; check its permissions", field=path) from None
    except OSError as fault:
        raise ReadError(f"{where} could not be read: {fault.strerror or fault}", field=path) from None
    except MemoryError:
        raise ReadError(f"{where} does not fit in memory; read it in batches", field=path) from None


COPIES = 4
"""Times that what a column unpacks to is held at once: unpacked, joined, as values, and what is made of them."""


def refuse_beyond_memory(size: int) -> None:
    """Refuse, before anything is unpacked, more bytes than the machine has: a small file can stand for many."""
    try:
        has = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # the system does not say
        return
    if size > has > 0:
        raise MemoryError


def content(head: bytes) -> str:
    """What the first bytes show, in words."""
    for magic, what in MAGIC:
        if head.startswith(magic):
            return what
    if b"\0" in head:
        halves = head[::2], head[1::2]
        wide = any(b"\0" not in one and other.count(0) > len(other) // 2 for one, other in (halves, halves[::-1]))
        return "UTF-16 text without its mark" if wide else "binary data"
    text = head.removeprefix(BOM).lstrip()
    return "nothing" if not text else "JSON" if text[:1] in (b"{", b"[") else "text"


def format_of(stream: Stream, said: str | None) -> str:
    """The format as said, else as the suffix says, else as the content shows; never against the content."""
    if said is not None:
        wanted = SAME.get(said.lower(), said.lower())
        if wanted not in FORMATS:
            raise ReadError(f"no format is called {shown(said)}; the formats are {', '.join(FORMATS)}", field="format")
    else:
        suffix = PurePath(stream.named).suffix.lower().lstrip(".")
        wanted = SAME.get(suffix, suffix)
    if not stream.head.removeprefix(BOM).strip():
        raise ReadError(f"{stream.source} is empty")
    found = content(stream.head)
    if wanted not in FORMATS:
        return _by_content(stream, found)
    if HOLDS[wanted] == found:
        return wanted
    if found in WAY_OUT:
        raise ReadError(f"{stream.source} holds {found}. {WAY_OUT[found]}")
    name = WRITTEN[wanted]
    why = "as asked" if said is not None else "as its name says"
    other = next((kind for kind, what in HOLDS.items() if what == found), None)
    way = f". Rename it or use --format {other}" if other else ""
    raise ReadError(f"{stream.source} must hold {name}, {why}; it holds {found}{way}")


def _by_content(stream: Stream, found: str) -> str:
    """The format of a source whose name says nothing."""
    if found == "JSON":
        return "ndjson" if _one_a_line(stream.head) else "json"
    for kind, what in HOLDS.items():
        if what == found:
            return kind
    way = f". {WAY_OUT[found]}" if found in WAY_OUT else f"; the formats are {', '.join(FORMATS)}"
    raise ReadError(f"{stream.source} holds {found}, which is no table{way}")


def _one_a_line(head: bytes) -> bool:
    """Whether the first line is a JSON object of its own and more lines follow."""
    import msgspec

    first, _, rest = head.removeprefix(BOM).lstrip().partition(b"\n")
    if not rest.strip() or not first.startswith(b"{"):
        return False
    try:
        msgspec.json.decode(first)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True
