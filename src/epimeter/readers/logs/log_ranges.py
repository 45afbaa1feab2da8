# SPDX-License-Identifier: Apache-2.0
"""A large log read by several processes, each a range of it; the rows are those that one process reads, in the same order.

1. The log is cut into ranges: an archive between entries of its directory, a document between samples, JSON lines between lines.
2. Each process reads one range and sends its rows, a batch at a time, then what it learned of the run.
3. The ranges count only where they agree on what a reader takes from the first answers (the scorer, the filter). Where they
   do not, or where one finds a fault, the log is read again from its beginning by one process, whose word counts.

The processes are started by name and not forked, since threads may run here, nor by `multiprocessing`, which would run the
caller's script again.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from epimeter.core.threads import cores
from epimeter.errors import EpimeterError
from epimeter.readers.files import Stream, opened
from epimeter.readers.logs.answer import LogRange, Run
from epimeter.readers.logs.elements import JsonDocument, Range, cuts
from epimeter.readers.logs.rows import LogRows

if TYPE_CHECKING:
    from epimeter.readers.logs.formats import Format

A_PROCESS = 1 << 24
"""Bytes that are worth a process of their own: it takes half a second to start."""
MOST = 8
LENGTH = struct.Struct("<Q")
CHUNK = 1 << 20


@dataclass
class _PieceRead:
    """What one process made of its range."""

    tables: list[Any] = field(default_factory=list)
    run: Run | None = None
    total: int = 0
    statements: Counter[str] = field(default_factory=Counter)


def in_ranges(path: str, format: Format, rows: LogRows, number: int) -> Run | None:
    """Read a log into rows by several processes; None where it is not worth it or they do not agree, and nothing was read."""
    processes = min(MOST, cores(), os.path.getsize(path) // A_PROCESS) if os.path.isfile(path) else 0
    if processes < 2 or not sys.executable or getattr(sys, "frozen", False):
        return None
    with opened(path) as stream:
        source = stream.source
        if stream.path is None:  # packed as a whole
            return None
    try:
        cut = _cut(path, source, format, processes)
    except EpimeterError:
        return None
    if len(cut) < 2:
        return None
    read = _all_read([(path, format, rows.options, number, part) for part in cut])
    runs = [part.run for part in read if part.run is not None]
    if len(runs) < len(cut) or len({(run.scorer, run.filter, run.model, run.task) for run in runs}) > 1:
        return None
    first = runs[0]
    for part, run in zip(read, runs, strict=True):
        rows.take(part.tables, part.total, part.statements)
        if run is not first:
            for note in run.notes:
                first.note(note)
            first.counts.update(run.counts)
    first.part = None
    return first


def _cut(path: str, source: str, format: Format, count: int) -> list[LogRange]:
    """The ranges of a log; one where its format cannot be cut."""
    if format.name == "inspect":
        with open(path, "rb") as file:
            packed = file.read(2) == b"PK"
        return _cut_archive(path, source, count) if packed else _cut_document(path, source, count)
    return _cut_lines(path, count) if format.name == "lm_eval" else []


def _cut_document(path: str, source: str, count: int) -> list[LogRange]:
    with open(path, "rb") as file:
        document = JsonDocument(file, source)
        document.enter("samples")
        return [LogRange(*cut) for cut in cuts(document, os.path.getsize(path), count)]


def _cut_archive(path: str, source: str, count: int) -> list[LogRange]:
    from epimeter.readers.logs.archive import Archive
    from epimeter.readers.logs.inspect_ai import header_entry

    with open(path, "rb") as file:
        archive = Archive(file, source)
        borders = {archive.count * i // count for i in range(1, count)}
        header = header_entry(archive)
        places = [place for i, (place, _, _) in enumerate(archive.entries()) if i in borders]
        sizes = [after - before for before, after in pairwise([0, *sorted(borders), archive.count])]
        return [LogRange(place, size, header) for place, size in zip([archive.start, *places], sizes, strict=True)]


def _cut_lines(path: str, count: int) -> list[LogRange]:
    """Cut after lines, and count the lines before each range."""
    size = os.path.getsize(path)
    borders = [0]
    with open(path, "rb") as file:
        for i in range(1, count):
            file.seek(max(size * i // count, borders[-1]))
            file.readline()
            borders.append(file.tell())
        borders.append(size)
        ranges, before = [], 0
        file.seek(0)
        for start, stop in pairwise(borders):
            if stop > start:
                ranges.append(LogRange(start, stop - start, before))
            left = stop - start
            while left:
                some = file.read(min(CHUNK, left))
                if not some:
                    return []
                left -= len(some)
                before += some.count(b"\n")
    return ranges


def _all_read(errands: list[tuple[Any, ...]]) -> list[_PieceRead]:
    """Every range by its own process; when one fails the others are ended."""
    environment = dict(os.environ)
    package = str(Path(__file__).resolve().parents[3])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [package, environment.get("PYTHONPATH")]))
    children: list[subprocess.Popen[bytes]] = []

    def follow(child: subprocess.Popen[bytes], errand: tuple[Any, ...]) -> _PieceRead:
        assert child.stdin is not None and child.stdout is not None
        with contextlib.suppress(OSError):
            child.stdin.write(pickle.dumps(errand))
            child.stdin.close()
        read = _received(child.stdout)
        if read.run is None:
            _end(children)
        return read

    try:
        for _ in errands:
            children.append(
                subprocess.Popen(
                    [sys.executable, "-P", "-c", f"import {__name__} as log_ranges; log_ranges.main()"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=environment,
                )
            )
        with ThreadPoolExecutor(len(children)) as pool:
            try:
                return list(pool.map(follow, children, errands))
            except BaseException:
                _end(children)  # the threads wait for what a child says
                raise
    except OSError:  # no further process may be started
        return []
    finally:
        _end(children)
        for child in children:
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()


def _end(children: list[subprocess.Popen[bytes]]) -> None:
    for child in children:
        if child.poll() is None:
            child.kill()


def _received(pipe: IO[bytes]) -> _PieceRead:
    """The batches and the last word of a process; without a last word it failed."""
    import pyarrow as pa

    read = _PieceRead()
    for message in _messages(pipe):
        if message[:1] == b"T":
            read.tables.append(pa.ipc.open_stream(pa.py_buffer(message)[1:]).read_all())
        else:
            read.run, read.total, read.statements = pickle.loads(message[1:])
    return read


def _messages(pipe: IO[bytes]) -> Iterator[bytes]:
    while len(head := pipe.read(LENGTH.size)) == LENGTH.size:
        (size,) = LENGTH.unpack(head)
        message = pipe.read(size)
        if len(message) < size:
            return
        yield message


def _read_range(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """What a process does: read the errand, send the rows of its range, and what it learned."""
    import pyarrow as pa

    path, format, options, number, part = pickle.load(incoming)

    def send(message: Any) -> None:
        outgoing.write(LENGTH.pack(len(message)))
        outgoing.write(message)

    def send_tables() -> None:
        for table in rows.tables:
            sink = pa.BufferOutputStream()
            sink.write(b"T")
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            send(sink.getvalue())
        rows.tables.clear()

    rows = LogRows(options)
    with opened(path) as whole, open(path, "rb") as file:
        run = Run(source=whole.source, format=format.name, part=part)
        # A log of inspect-ai says first what was evaluated, wherever its range begins.
        stream: Any = (
            whole if format.name == "inspect" else Stream(whole.source, Range(file, part.start, part.size), path, path)
        )
        for answer in format.answers(stream, run, options):
            rows.add(answer, run, number)
            if rows.tables:
                send_tables()
    rows.flush()
    send_tables()
    send(b"R" + pickle.dumps((run, rows.total, rows.statements)))
    outgoing.flush()


def main() -> None:
    """Serve one errand, from standard input to standard output; a fault is worded by the process that reads everything."""
    with contextlib.suppress(EpimeterError, BrokenPipeError, KeyboardInterrupt):
        _read_range(sys.stdin.buffer, sys.stdout.buffer)
