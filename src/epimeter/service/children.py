# SPDX-License-Identifier: Apache-2.0
"""Processes that do errands, each within a time and a memory, and ended when it takes more.

A thread cannot be ended, a process can. So whatever a caller's bytes decide the cost of is done in a child: reading formats that
unpack, measuring, assessing, drawing up a PDF. One process is started with the service and loads everything once; it only forks
when it is told to, so that a new child is there in milliseconds and shares its memory. Parent and child speak msgpack over a
socket; files travel as descriptors. A child that dies, whatever killed it, is a refusal of that one request.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from typing import Any, BinaryIO, TypeVar

import msgspec

from epimeter.errors import EpimeterError
from epimeter.service.problems import Problem

T = TypeVar("T")
PR_SET_PDEATHSIG = 1
"""Number of an option of prctl(2)."""
MOST = 1 << 28
"""Bytes of the longest message."""
USES = 200
"""Errands after which a child makes room for a fresh one: what a library leaks is given back."""
SOON = 0.25
"""Seconds after which an errand gives way to shorter ones, and to the server that answers everybody."""
PATIENCE = 6
"""Times the seconds of an errand after which it is ended by the clock, however little of the processor it had."""
BEHIND = 10
"""Niceness of an errand that gives way."""
HIDDEN = "EPIMETER_"
"""Variables of the environment with this beginning hold secrets and settings; children get none of them."""


class Children:
    """Processes for errands.

    Parameters
    ----------
    folder
        Where large files may be put.
    memory
        Bytes that an errand may take beside what every child has.
    idle
        How many children wait for the next errand; others end after theirs.
    """

    def __init__(self, folder: str, memory: int, *, idle: int = 4) -> None:
        self._folder, self._memory, self._keep = folder, memory, idle
        self._lock = threading.Lock()
        self._idle: list[_Child] = []
        self._closed = False
        self._nursery, ends = socket.socketpair()
        environment = {name: text for name, text in os.environ.items() if not name.startswith(HIDDEN)}
        environment["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # others reserve more than they use
        words = [sys.executable, "-m", "epimeter.service.children", str(ends.fileno()), str(memory)]
        self._process = subprocess.Popen(words, pass_fds=[ends.fileno()], env=environment, stdin=subprocess.DEVNULL)
        ends.close()

    def wait(self) -> None:
        """Return when the first child is there: everything is loaded then."""
        self._give_back(self._take())

    def do(self, errand: Any, kind: type[T], rows: BinaryIO | Iterable[bytes] | None = None, *, seconds: float,
           kept: BinaryIO | None = None) -> T:  # fmt: skip
        """Have an errand done; its outcome, or the refusal as a `Problem`.

        Parameters
        ----------
        kind
            What the outcome must be.
        rows
            What is read: a file with a descriptor, or bytes part by part.
        seconds
            Of processor time, after which the child is ended; by the clock, it is ended after six times that.
        kept
            A file with a descriptor that is written.
        """
        from epimeter.service.errands import Outcome, Refused

        with contextlib.ExitStack() as held:
            source, target = (
                self._file(held, rows),
                kept or held.enter_context(tempfile.TemporaryFile(dir=self._folder)),
            )
            child = self._take()
            try:
                answer = child.call(msgspec.msgpack.encode(errand), (source.fileno(), target.fileno()), seconds)
                outcome = msgspec.msgpack.decode(answer, type=Outcome)
            except BaseException as fault:
                child.end()
                if self._closed:
                    raise _stopping() from None
                if isinstance(fault, TimeoutError):
                    raise Problem("too-costly", f"this took longer than {seconds:g} s and was ended") from None
                if isinstance(fault, OSError | EOFError | msgspec.MsgspecError):
                    raise Problem("too-costly", _ended(self._memory)) from None
                raise
            self._give_back(child)
        if isinstance(outcome, Refused):
            raise Problem(outcome.kind, outcome.detail, errors=outcome.errors)
        assert isinstance(outcome, kind)
        return outcome

    def close(self) -> None:
        """End every child, whatever it does."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            idle, self._idle = self._idle, []
        for child in idle:
            child.end()
        self._nursery.close()  # and the first process ends by itself, its children with it
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
            return
        self._process.kill()
        self._process.wait()

    def _file(self, held: contextlib.ExitStack, rows: Any) -> BinaryIO:
        if rows is not None and hasattr(rows, "fileno"):
            return rows  # type: ignore[no-any-return]
        made: BinaryIO = held.enter_context(tempfile.TemporaryFile(dir=self._folder))  # noqa: SIM115
        for piece in rows or ():
            made.write(piece)
        made.flush()
        made.seek(0)
        return made

    def _take(self) -> _Child:
        with self._lock:
            if self._idle:
                return self._idle.pop()
            if self._closed or self._process.poll() is not None:
                raise _stopping()
            mine, theirs = socket.socketpair()
            with theirs:
                socket.send_fds(self._nursery, [b"+"], [theirs.fileno()])
        return _Child(mine)

    def _give_back(self, child: _Child) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < self._keep and child.uses < USES and not child.behind:
                self._idle.append(child)
                return
        child.end()


def _stopping() -> Problem:
    return Problem("unavailable", "the service is stopping", headers={"Retry-After": "5"})


def _ended(memory: int) -> str:
    return f"the process that read or measured these rows came to its end; at most {memory >> 20:,} MiB are given to one request"


class _Child:
    """A child, seen from the server."""

    START = 60.0

    def __init__(self, line: socket.socket) -> None:
        self._line, self.uses, self.behind = line, 0, False
        self._pid: int | None = None

    def call(self, errand: bytes, files: tuple[int, int], seconds: float) -> bytes:
        if self._pid is None:
            self._line.settimeout(self.START)
            self._pid = int.from_bytes(_received(self._line), "big")
        self.uses += 1
        begun, used = time.monotonic(), self._used()
        self._line.settimeout(seconds)
        socket.send_fds(self._line, [struct.pack(">Q", len(errand))], list(files))
        self._line.sendall(errand)
        if not self._answers(min(SOON, seconds)):
            self._give_way()
            wait = seconds - (time.monotonic() - begun)
            while not self._answers(max(0.001, wait)):
                # It gave way: on a busy machine it has had less of the processor than the clock says.
                wait = min(seconds - (self._used() - used), PATIENCE * seconds - (time.monotonic() - begun))
                if wait <= 0:
                    raise TimeoutError
        self._line.settimeout(seconds)
        return _received(self._line)

    def _answers(self, seconds: float) -> bool:
        """Whether an answer begins, or the line ends, within this time."""
        self._line.settimeout(seconds)
        try:
            self._line.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return False
        return True

    def _used(self) -> float:
        """Seconds of processor time that the child has had; where that is not told, those of the clock."""
        try:
            with open(f"/proc/{self._pid}/stat") as file:
                facts = (
                    file.read().rpartition(")")[2].split()
                )  # its name may hold anything; utime and stime are fields 14, 15
            return (int(facts[11]) + int(facts[12])) / os.sysconf("SC_CLK_TCK")
        except OSError:
            return time.monotonic()

    def _give_way(self) -> None:
        """Put a long errand behind short ones; nothing puts it before them again, so that it ends with this errand."""
        self.behind = True
        with contextlib.suppress(OSError):  # it may have ended
            # Linux keeps the niceness of each thread.
            for thread in os.listdir(f"/proc/{self._pid}/task"):
                os.setpriority(os.PRIO_PROCESS, int(thread), BEHIND)

    def end(self) -> None:
        """End the process at once, whatever it does."""
        if self._pid is not None:
            # It lives while its end of the line is open, so that its number is nobody else's.
            with contextlib.suppress(OSError):
                self._line.setblocking(False)
                alive = True
                with contextlib.suppress(BlockingIOError):
                    alive = self._line.recv(1, socket.MSG_PEEK) != b""
                if alive:
                    os.kill(self._pid, signal.SIGKILL)
        self._line.close()


def _received(line: socket.socket) -> bytes:
    (size,) = struct.unpack(">Q", _exactly(line, 8))
    if size > MOST:
        raise EOFError
    return _exactly(line, size)


def _exactly(line: socket.socket, size: int) -> bytes:
    made = bytearray()
    while len(made) < size:
        piece = line.recv(min(size - len(made), 1 << 20))
        if not piece:
            raise EOFError
        made += piece
    return bytes(made)


def _sent(line: socket.socket, data: bytes) -> None:
    line.sendall(struct.pack(">Q", len(data)) + data)


def nursery(line: socket.socket, memory: int) -> None:
    """Load everything, then fork a child for every descriptor that comes; end when the line does."""
    from epimeter.service import errands

    errands.warm()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children that end leave nothing behind
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the server says when it is over
    while True:
        told, files, _, _ = socket.recv_fds(line, 1, 1)
        if not told or not files:
            return
        child = os.fork()
        if child == 0:
            line.close()
            try:
                _live(socket.socket(fileno=files[0]), memory)
            finally:
                os._exit(0)
        os.close(files[0])


def _live(line: socket.socket, memory: int) -> None:
    """Do errands until the line ends."""
    from epimeter.service import errands

    _bound(memory)
    _sent(line, os.getpid().to_bytes(8, "big"))
    kind = errands.Errand
    while True:
        head, files, _, _ = socket.recv_fds(line, 8, 2)
        if not head:
            return
        (size,) = struct.unpack(">Q", head if len(head) == 8 else head + _exactly(line, 8 - len(head)))
        errand = msgspec.msgpack.decode(_exactly(line, size), type=kind)
        with os.fdopen(files[0], "rb") as rows, os.fdopen(files[1], "wb") as kept:
            rows.seek(0)
            outcome: Any = errands.done(errand, rows, kept)
        _sent(line, msgspec.msgpack.encode(outcome))


def _bound(memory: int) -> None:
    """Set the limits of this process: its memory, no core file, and an end with the process that forked it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + memory, now + memory))
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    with contextlib.suppress(EpimeterError, KeyboardInterrupt):
        nursery(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
