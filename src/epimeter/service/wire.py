# SPDX-License-Identifier: Apache-2.0
"""HTTP that is broken, too large or too slow, before any route sees it: answered as a problem too."""

from __future__ import annotations

import asyncio
import secrets
import sys
from collections import Counter
from typing import Any

import h11
from h11._receivebuffer import ReceiveBuffer, blank_line_regex
from uvicorn.protocols.http.h11_impl import H11Protocol

from epimeter.service.problems import Problem, answer
from epimeter.service.settings import Settings

HEADERS_SIZE = 64 * 1024
"""Bytes that the headers of a request may have."""


class StrictBuffer(ReceiveBuffer):
    """Headers that can be read in one way only.

    h11 takes a bare LF for the end of a line, and of a length that is said twice it drops one. A proxy before us may decide
    otherwise, and would see another request than we do.
    """

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """Header lines, once they are whole."""
        end = blank_line_regex.search(self._data)
        head = self._data if end is None else self._data[: end.end()]
        if b"\n" in head.replace(b"\r\n", b""):
            raise h11.RemoteProtocolError("lines must end in CR LF")
        found: list[bytearray] | None = super().maybe_extract_lines()
        names = {bytes(line.partition(b":")[0]).strip().lower() for line in found or ()}
        if {b"content-length", b"transfer-encoding"} <= names:
            raise h11.RemoteProtocolError("a length must be said once")
        return found


class Wire(H11Protocol):
    """A connection whose headers are bounded in size and in time, and whose lines end in CR LF."""

    patience = 15.0
    """Seconds within which the headers of a request must come."""
    most, most_of_one = 1000, 250
    """Connections at a time, in all and of one address."""
    proxies: tuple[str, ...] = ()
    """Addresses that may hold as many as all."""
    _open: Counter[str]
    _deadline: asyncio.TimerHandle | None = None
    _counted: str | None = None

    @classmethod
    def of(cls, settings: Settings) -> type[Wire]:
        """Connections within the limits of the settings."""
        limits = {"patience": settings.headers_time, "most": settings.connections, "proxies": settings.trusted_proxies}
        return type("Wire", (cls,), limits | {"most_of_one": settings.connections_per_address, "_open": Counter()})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.conn._receive_buffer = StrictBuffer()
        address = str((transport.get_extra_info("peername") or ("",))[0])
        most = self.most if address in self.proxies else self.most_of_one
        if self._open.total() >= self.most or self._open[address] >= most:
            headers = {"Retry-After": "5"}
            self._refuse(Problem("unavailable", f"at most {most} connections at a time", headers=headers))
            return
        self._open[address] += 1
        self._counted = address
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        if self._counted is not None:
            self._open[self._counted] -= 1
            if not self._open[self._counted]:
                del self._open[self._counted]
            self._counted = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self._arm()  # a request has begun and its headers are not whole
        else:
            self._disarm()

    def send_400_response(self, msg: str) -> None:
        """Called where the parser refuses; what it refuses tells which problem it is."""
        fault = sys.exc_info()[1]
        if getattr(fault, "error_status_hint", 400) == 431:
            self._refuse(Problem("headers-too-large", f"headers must have at most {HEADERS_SIZE:,} bytes"))
        else:
            rule = "lines that end in CR LF and either Content-Length or Transfer-Encoding"
            self._refuse(Problem("bad-request", f"the request must be HTTP/1.1, with {rule}; it is not"))

    def _too_slow(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self._refuse(Problem("too-slow", f"headers must come within {self.patience:g} s"))

    def _refuse(self, problem: Problem) -> None:
        """Answer, if no answer has begun, and hang up."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            made = answer(problem, "", secrets.token_hex(8))
            headers: list[tuple[Any, Any]] = [*made.raw_headers, (b"connection", b"close")]
            for event in (
                h11.Response(status_code=made.status_code, headers=headers),
                h11.Data(data=bytes(made.body)),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _arm(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(self.patience, self._too_slow)

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
