# SPDX-License-Identifier: Apache-2.0
"""The catalogue of metrics, health, and the kinds of problems."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from epimeter.card_index import catalogue, find
from epimeter.errors import UnknownMetricError
from epimeter.schema import described
from epimeter.service.answers import answer
from epimeter.service.documents import documented
from epimeter.service.paging import Limit, links
from epimeter.service.problems import KINDS, Problem
from epimeter.service.schemas import Health, MetricPage
from epimeter.store import evaluations
from epimeter.store.migrations import revision

area = APIRouter(tags=["catalogue and health"])


@area.get(
    "/v1/metrics", summary="All metrics", **documented(gives=MetricPage, problems=("invalid",), headers=("Link",))
)
def metrics(
    request: Request,
    family: Annotated[str | None, Query(max_length=40, description="Only metrics of this family.")] = None,
    limit: Limit = 50,
    cursor: Annotated[str | None, Query(max_length=80, description="`next` of the page before.")] = None,
) -> Response:
    names = list(catalogue(family))
    start = names.index(cursor) + 1 if cursor in names else 0
    if cursor is not None and cursor not in names:
        raise Problem("invalid", "/query/cursor: a cursor must be the `next` of a page")
    shown = names[start : start + limit]
    next_ = shown[-1] if start + limit < len(names) else None
    page = MetricPage([described(find(name)) for name in shown], next_)
    return answer(page, headers=links("/v1/metrics", {"family": family, "limit": limit}, next_))


@area.get(
    "/v1/metrics/{name}", summary="The card of a metric", **documented(gives=dict, problems=("not-found", "invalid"))
)
def metric(request: Request, name: str) -> Response:
    try:
        return answer(described(find(name)))
    except UnknownMetricError as unknown:
        raise Problem("not-found", str(unknown)) from None


@area.get("/healthz", summary="The process is alive", **documented(gives=Health, unguarded=True))
async def alive(request: Request) -> Response:
    return answer(Health("ok", {"process": "ok"}))


@area.get(
    "/readyz", summary="Everything it needs is there", **documented(gives=Health, also={503: Health}, unguarded=True)
)
async def ready(request: Request) -> Response:
    return answer(*await request.app.state.readiness.look())


class Readiness:
    """Whether everything is there that requests need, looked at in a thread of its own.

    Requests wait for threads; whoever asks whether the service is ready must not wait behind them. Callers within a second
    get one answer, and a look that takes too long is an answer too.
    """

    PATIENCE = 3.0
    LIFE = 1.0

    def __init__(self, state: Any) -> None:
        self._state = state
        self._own = ThreadPoolExecutor(1, "readiness")
        self._looking: asyncio.Future[dict[str, str]] | None = None
        self._looked = 0.0
        self._checked: dict[str, str] = {}
        self._pending = "database"

    async def look(self) -> tuple[Health, int]:
        """What is there and what is not, and the HTTP status that says so."""
        loop = asyncio.get_running_loop()
        if self._looking is None or (self._looking.done() and loop.time() - self._looked > self.LIFE):
            self._looked = loop.time()
            self._looking = loop.run_in_executor(self._own, self._checks)
        try:
            checks = await asyncio.wait_for(asyncio.shield(self._looking), self.PATIENCE)
        except TimeoutError:
            # A process that was halted for a while finds both at once, the answer and that it is late.
            late = {self._pending: f"fault: no answer within {self.PATIENCE:g} s"}
            checks = self._looking.result() if self._looking.done() else self._checked | late
        words = [word.partition(":")[0] for word in checks.values()]
        status = next((word for word in ("fault", "warning") if word in words), "ok")
        return Health(status, checks), 503 if status == "fault" else 200

    def close(self) -> None:
        """Look no more."""
        self._own.shutdown(wait=False, cancel_futures=True)

    def _checks(self) -> dict[str, str]:
        ledger = self._state.ledger
        looks = {"database": self._database, "trust": ledger.check, "keys": ledger.key_warning}
        checks: dict[str, str] = {}
        for name, look in looks.items():
            self._checked, self._pending = dict(checks), name
            try:
                checks[name] = look() or "ok"
            except Exception as fault:
                checks[name] = f"fault: {type(fault).__name__}"
        return checks

    def _database(self) -> str:
        store = self._state.store
        with store.reading() as db:
            evaluations.active(db)
        return "ok" if revision(store) == self._state.revision else "fault: another revision"


@area.get("/problems/{kind}", summary="A kind of problem", **documented(gives=dict, problems=("not-found", "invalid")))
def problem(request: Request, kind: str) -> Response:
    if kind not in KINDS:
        raise Problem("not-found", f"the kinds of problems are {', '.join(KINDS)}")
    found = KINDS[kind]
    return answer({"type": f"/problems/{kind}", "status": found.status, "title": found.title, "advice": found.advice})
