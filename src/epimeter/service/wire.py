# SPDX-License-Identifier: Apache-2.0
"""HTTP that is broken, too large or too slow, before any route sees it: answered as a problem too."""

from __future__ import annotations

import asyncio
import secrets
import sys
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from epimeter.service.problems import Problem, answer

HEADERS_SIZE = 64 * 1024
"""Bytes that the headers of a request may have."""


class Wire(H11Protocol):
    """A connection whose headers are bounded in size and in time."""

    patience = 15.0
    """Seconds within which the headers of a request must come."""
    _deadline: asyncio.TimerHandle | None = None

    @classmethod
    def within(cls, seconds: float) -> type[Wire]:
        """Connections of this patience."""
        return type("Wire", (cls,), {"patience": seconds})

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
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
            self._refuse(Problem("bad-request", "the request must be HTTP/1.1; it is not"))

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
