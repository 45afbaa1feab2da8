# SPDX-License-Identifier: Apache-2.0
"""The app: the table of routes, and what surrounds every request."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import re
import secrets as randomness
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from epimeter import __version__
from epimeter.service import documents, problems
from epimeter.service.access import Door, Uses
from epimeter.service.api import (
    account,
    attestations,
    catalogue,
    collection,
    evaluations,
    keys,
    registry,
    signal,
    trust,
    webhooks,
)
from epimeter.service.api.catalogue import Readiness
from epimeter.service.children import Children
from epimeter.service.gauges import Gauges
from epimeter.service.issuer_folder import IssuerFolder
from epimeter.service.problems import Problem
from epimeter.service.published import Memory
from epimeter.service.rates import window
from epimeter.service.seats import Seats
from epimeter.service.settings import Secrets, Settings
from epimeter.service.slots import Slots
from epimeter.service.webhooks import Guard
from epimeter.service.workers import Crew
from epimeter.store import Store
from epimeter.store import evaluations as stored
from epimeter.store import jobs as work
from epimeter.store.migrations import revision

AREAS = (evaluations, collection, registry, attestations, signal, keys, account, webhooks, trust, catalogue)
PULSE = 0.05
"""Seconds between two looks at how late the event loop is."""
log = logging.getLogger("epimeter.service")


def create_app(
    settings: Settings, secrets: Secrets, store: Store, ledger: IssuerFolder, children: Children, memory: Memory
) -> FastAPI:
    """The service over an opened store and an opened ledger."""
    gauges = Gauges()
    uses = Uses()
    crew = Crew(settings, secrets, store, ledger, children, memory, gauges, uses)
    stopping = threading.Event()

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        crew.start()
        pulse = asyncio.create_task(_pulse(gauges))
        try:
            yield
        finally:
            stopping.set()
            pulse.cancel()
            app.state.readiness.close()
            await anyio.to_thread.run_sync(children.close)  # a job that is ended so waits for the next start
            await anyio.to_thread.run_sync(crew.stop)

    app = FastAPI(
        title="epimeter",
        version=__version__,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        # A redirect to a path with a slash would be made from the Host header, which anybody may write.
        redirect_slashes=False,
    )
    app.state.settings, app.state.secrets = settings, secrets
    app.state.store, app.state.ledger, app.state.gauges = store, ledger, gauges
    app.state.revision = revision(store)
    app.state.stopping = stopping
    app.state.seats, app.state.crowd = Seats(), Seats()
    app.state.guard = Guard.of(settings)
    app.state.readiness = Readiness(app.state)
    app.state.children = children
    cores = max(2, os.cpu_count() or 2)
    app.state.brief, app.state.measuring, app.state.issuing = (Slots(cores + 1) for _ in range(3))
    app.state.waiting = anyio.CapacityLimiter(math.inf)  # of threads that wait for a child; slots bound their number
    app.state.gate = Door(
        store,
        secrets.pepper,
        window(store, settings.redis),
        uses,
        public_per_minute=settings.public_per_minute,
        failures_per_minute=settings.failures_per_minute,
    )
    for area in AREAS:
        app.include_router(area.area)
    problems.install(app)
    documents.install(app)
    app.add_middleware(Surroundings, gauges=gauges, secure=ledger.registry.issuer.startswith("https://"))
    _watch(gauges, app, store)
    return app


async def _pulse(gauges: Gauges) -> None:
    """Measure how late the event loop is, again and again, and how much of it this process was busy itself.

    Where others use the machine too, the loop is late for their sake; what it can do about is only its own work.
    """
    loop = asyncio.get_running_loop()
    while True:
        due, busy = loop.time() + PULSE, time.process_time()
        await asyncio.sleep(PULSE)
        late = max(0.0, loop.time() - due)
        gauges.most("loop_lag_seconds", late)
        gauges.most("loop_lag_busy_seconds", min(late, time.process_time() - busy))


def _watch(gauges: Gauges, app: FastAPI, store: Store) -> None:
    def counted(count: Any) -> float:
        with store.reading() as db:
            return float(count(db))

    gauges.watch("jobs_waiting", lambda: counted(work.waiting))
    gauges.watch("evaluations_active", lambda: counted(stored.active))
    gauges.watch("streams_open", lambda: float(app.state.seats.count))
    gauges.watch("log_size", lambda: float(app.state.ledger.registry.log.size))
    for role in ("issuer", "status", "log", "root"):
        gauges.watch(f"{role}_key_days_left", lambda role=role: app.state.ledger.days_left(role))  # type: ignore[misc]


def create_admin(gauges: Gauges) -> FastAPI:
    """The app of the admin port: numbers for Prometheus and nothing else."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/metrics")
    def metrics() -> PlainTextResponse:
        return PlainTextResponse(gauges.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return app


class Surroundings:
    """What every request gets: a trace id, headers of safety and of limits, a count, a line in the log.

    A fault that nothing else caught becomes a problem here too.
    """

    _TRACE = re.compile(r"[A-Za-z0-9._-]{8,64}")
    SAFETY = (
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"x-frame-options", b"DENY"),
    )

    HSTS = (b"strict-transport-security", b"max-age=63072000; includeSubDomains")

    def __init__(self, app: ASGIApp, gauges: Gauges, *, secure: bool = False) -> None:
        self._app, self._gauges = app, gauges
        self._safety = (*self.SAFETY, self.HSTS) if secure else self.SAFETY

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        said = headers.get(b"x-request-id", b"").decode("latin-1")
        trace = said if self._TRACE.fullmatch(said) else randomness.token_hex(8)
        scope.setdefault("state", {})
        scope["state"]["trace"] = trace
        scope["state"].setdefault("headers", {})
        begun, status, started = time.perf_counter(), 500, False

        async def answered(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
                more = [(b"x-request-id", trace.encode("ascii")), *self._safety]
                more += [(name.lower().encode(), value.encode()) for name, value in scope["state"]["headers"].items()]
                present = {name for name, _ in message["headers"]}
                if b"cache-control" not in present:
                    more.append((b"cache-control", b"no-store"))
                if b"content-security-policy" not in present:
                    more.append((b"content-security-policy", _policy(message["headers"])))
                message["headers"] = [*message["headers"], *more]
            await send(message)

        try:
            _refuse_nul(scope)
            await self._app(scope, receive, answered)
        except Exception as fault:
            if started:
                raise
            answer = problems.answer(problems.as_problem(fault), scope["path"], trace)
            await answer(scope, receive, answered)
        finally:
            seat = scope["state"].get("seat")
            if seat is not None:
                seat.leave()
            seconds = time.perf_counter() - begun
            route = scope.get("route")
            pattern = getattr(route, "path", "unknown")
            self._gauges.request(scope["method"], pattern, status, seconds)
            if log.isEnabledFor(logging.INFO):
                caller = scope["state"].get("caller")
                facts = {
                    "trace": trace,
                    "method": scope["method"],
                    "route": pattern,
                    "status": status,
                    "ms": round(seconds * 1e3, 2),
                    "key": getattr(caller, "key_id", None),
                }
                log.info("request", extra={"facts": facts})


def _refuse_nul(scope: Scope) -> None:
    """Refuse what PostgreSQL cannot hold, on every database."""
    if "\0" in scope["path"] or b"%00" in scope["query_string"]:
        raise Problem("invalid", "path and query must have no NUL character")


def _policy(headers: list[tuple[bytes, bytes]]) -> bytes:
    """HTML reports carry their own policy; everything else may do nothing at all."""
    kind = next((value for name, value in headers if name == b"content-type"), b"")
    return b"frame-ancestors 'none'" if kind.startswith(b"text/html") else b"default-src 'none'; frame-ancestors 'none'"
