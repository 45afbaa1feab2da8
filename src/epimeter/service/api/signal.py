# SPDX-License-Identifier: Apache-2.0
"""The signal: its newest state, and a stream of server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from anyio import to_thread
from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from epimeter.service.access import Caller, Visitor
from epimeter.service.answers import answer
from epimeter.service.documents import documented
from epimeter.service.problems import Problem
from epimeter.service.schemas import Signal
from epimeter.service.seats import Seat
from epimeter.service.signal import shown
from epimeter.store import signals
from epimeter.store.moments import SECOND, now

area = APIRouter(tags=["signal"])
HEARTBEAT = 15.0
PAUSE = 0.5
CATCH_UP = 100
STREAMS = {"OPEN": 2, "STANDARD": 20, "CRITICAL": 100}
"""Streams that an organisation, or an address without a key, may hold open."""


def delay_of(request: Request, caller: Caller | None) -> float:
    """How late a caller gets signals; without a key as OPEN (ERS 8.1)."""
    late = caller is None or caller.tier == "OPEN"
    delay: float = request.app.state.settings.open_delay if late else 0.0
    return delay


@area.get(
    "/v1/signal/status",
    summary="The newest signal",
    description="OPEN, and callers without a key, get it an hour late (ERS 8.1).",
    **documented(gives=Signal, problems=("not-found", "unauthenticated")),
)
def status(request: Request, caller: Visitor) -> Response:
    delay = delay_of(request, caller)
    with request.app.state.store.reading() as db:
        row = signals.newest(db, now() - int(delay * SECOND))
    if row is None:
        raise Problem("not-found", f"there is no signal yet that is {delay:g} s old")
    return answer(shown(row, delay))


@area.get(
    "/v1/signal/stream",
    summary="Signals as they come",
    description="Server-sent events; `Last-Event-ID` (a signal_id) goes on where the last connection ended.",
    **documented(media=("text/event-stream",), problems=("unauthenticated", "invalid"), takes=("Last-Event-ID",)),
)
def stream(request: Request, caller: Visitor) -> Response:
    state = request.app.state
    delay = delay_of(request, caller)
    last = request.headers.get("last-event-id")
    with state.store.reading() as db:
        number = signals.last_number(db, now() - int(delay * SECOND)) - 1 if last is None else None
        if last is not None:
            number = signals.number_of(db, last[:80])
    if number is None:
        raise Problem("invalid", "Last-Event-ID must be the id of a signal", errors=[("/headers/last-event-id", "?")])
    who = f"address {request.client.host if request.client else ''}" if caller is None else caller.organization
    seat = state.seats.take(who, STREAMS["OPEN" if caller is None else caller.tier], "streams", wait=15)
    events = _events(state, max(0, number), delay, seat)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, headers=headers, media_type="text/event-stream")


async def _events(state: Any, number: int, delay: float, seat: Seat) -> AsyncIterator[bytes]:
    def news() -> list[Any]:
        with state.store.reading() as db:
            return signals.after(db, number, now() - int(delay * SECOND), CATCH_UP)

    silent = 0.0
    try:
        yield b"retry: 5000\n\n"
        while not state.stopping.is_set():
            rows = await to_thread.run_sync(news)
            for row in rows:
                number = row["number"]
                data = msgspec.json.encode(shown(row, delay))
                yield b"id: %b\nevent: signal\ndata: %b\n\n" % (row["id"].encode(), data)
            if rows:
                silent = 0.0
            elif silent >= HEARTBEAT:
                yield b": still here\n\n"
                silent = 0.0
            await asyncio.sleep(PAUSE)
            silent += PAUSE
    finally:
        seat.leave()
