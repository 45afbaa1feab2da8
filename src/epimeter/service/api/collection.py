# SPDX-License-Identifier: Apache-2.0
"""Collection and watching: predictions now, outcomes later, the state of a system, its alarms."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

import anyio
from anyio import to_thread
from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response

from epimeter.errors import InputError
from epimeter.monitor.document import page
from epimeter.monitor.settings import MonitorSettings, rate_of
from epimeter.monitor.watch import look
from epimeter.service import webhooks
from epimeter.service.access import Known
from epimeter.service.alarm_feed import atom
from epimeter.service.answers import answer
from epimeter.service.bodies import encoding_of, media_type, read_as, receive, small_body
from epimeter.service.collected import taken
from epimeter.service.collected_rows import MEDIA_TYPES, Half
from epimeter.service.documents import BINARY, content_of, documented
from epimeter.service.paging import Cursor, Limit, counted, links
from epimeter.service.paging import cursor as ended
from epimeter.service.predictions import ARROW, JSON, NDJSON, PARQUET, is_light
from epimeter.service.problems import Problem
from epimeter.service.renderings import chosen
from epimeter.service.schemas import (
    Acknowledgement,
    Collected,
    CollectedOutcome,
    CollectedPrediction,
    Correction,
    CorrectionList,
    OutcomeBatch,
    PredictionBatch,
    WatchRequest,
)
from epimeter.service.watching import settled
from epimeter.store import collecting, journal
from epimeter.store.moments import written

area = APIRouter(tags=["monitoring"])
System = Annotated[str, Path(max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@+ -]*$")]
Raw = Annotated[bytes, Depends(small_body)]
PROBLEMS = ("too-large", "unsupported-media-type", "invalid", "conflict", "too-slow")


def _bodies(whole: type, row: type, line: str) -> dict[str, Any]:
    return {
        JSON: content_of(whole),
        NDJSON: content_of(row) | {"example": line},
        ARROW: {"schema": BINARY},
        PARQUET: {"schema": BINARY},
    }


async def _take(request: Request, caller: Known, system: str, half: Half) -> Response:
    state = request.app.state
    kind, packing = media_type(request), encoding_of(request)
    if kind not in MEDIA_TYPES:
        raise Problem(
            "unsupported-media-type", f"Content-Type must be one of {', '.join(MEDIA_TYPES)}; got {kind!r:.60}"
        )
    settings = state.settings
    limit = settings.max_json if kind == JSON else settings.max_unpacked
    body = await receive(request, settings, min(limit, settings.max_body))
    try:
        slots = state.brief if is_light(body, kind, packing) else state.measuring
        async with slots.of(caller.organization):
            with anyio.CancelScope(shield=True):  # a caller who hangs up must not leave half of it
                made = await to_thread.run_sync(
                    taken, state, caller, system, half, body, kind, packing, limiter=state.waiting
                )
    finally:
        body.close()
    state.gauges.count("rows_collected", made.new + made.corrected)
    return answer(made)


@area.post(
    "/v1/systems/{system_id}/predictions",
    summary="Collect predictions",
    description=(
        "Rows with an id, whose truth comes later; in any order, again, or corrected. JSON, NDJSON, Arrow or Parquet; in Arrow "
        "and Parquet every column beside id, confidence (or p_ and a class), prediction and time slices."
    ),
    **documented(
        gives=Collected,
        scope="evaluate",
        bodies=_bodies(PredictionBatch, CollectedPrediction, '{"id":"a1","confidence":0.9,"slices":{"region":"eu"}}\n'),
        problems=PROBLEMS,
        takes=("Content-Encoding",),
    ),
)
async def predicted(request: Request, caller: Known, system_id: System) -> Response:
    return await _take(request, caller, system_id, "predictions")


@area.post(
    "/v1/systems/{system_id}/outcomes",
    summary="Collect outcomes",
    description="The truth about predictions, by their id; before or after them, again, or corrected.",
    **documented(
        gives=Collected,
        scope="evaluate",
        bodies=_bodies(OutcomeBatch, CollectedOutcome, '{"id":"a1","correct":true,"source":"human"}\n'),
        problems=PROBLEMS,
        takes=("Content-Encoding",),
    ),
)
async def concluded(request: Request, caller: Known, system_id: System) -> Response:
    return await _take(request, caller, system_id, "outcomes")


def _number(db: Any, caller: Known, system: str) -> int:
    number = collecting.known(db, caller.organization, system)
    if number is None:
        raise Problem("not-found", "no predictions of yours were collected for a system of this name")
    return number


@area.get(
    "/v1/systems/{system_id}/monitor",
    summary="How a system stands",
    description="Calibration by window and slice, change, alarms; as JSON, or by the Accept header as a page with charts.",
    **documented(
        scope="evaluations:read",
        problems=("not-found", "not-acceptable", "invalid"),
        media=("application/json", "text/html"),
    ),
)
def shown(request: Request, caller: Known, system_id: System) -> Response:
    form = chosen(request.headers.get("accept", "*/*"), ("application/json", "text/html"))
    # A history is read in one transaction: totals and what was noted belong together.
    with request.app.state.store.reading() as db:
        collection = collecting.collection(db)
        number = _number(db, caller, system_id)
        history = collection.history(number)
        waiting, unmatched = collection.unmatched(number)
    said = []
    if waiting or unmatched:
        said.append(f"{waiting:,} outcomes wait for their prediction; {unmatched:,} waited in vain")
    seen = look(history, cautions=said)
    if form == "text/html":
        return Response(page(seen), media_type="text/html; charset=utf-8")
    return answer(seen.to_dict())


@area.put(
    "/v1/systems/{system_id}/monitor",
    summary="How a system is to be watched",
    **documented(
        gives=WatchRequest,
        reads=WatchRequest,
        scope="evaluate",
        problems=("too-large", "unsupported-media-type", "invalid"),
    ),
)
def watched(request: Request, caller: Known, system_id: System, raw: Raw) -> Response:
    wanted = read_as(WatchRequest, raw)
    settings = MonitorSettings(
        tolerance=wanted.tolerance,
        false_alarms=rate_of(wanted.false_alarms),
        level=wanted.level,
        delay=wanted.delay,
        horizon=wanted.horizon,
    )
    with request.app.state.store.writing(durable=True) as db:
        collection = collecting.collection(db)
        number = collection.open(caller.organization, system_id, settings)
        history = collection.history(number)
        settled(collection, number, history, settings=settings, evaluate=wanted.domain if wanted.evaluate else None)
        journal.note(
            db,
            organization=caller.organization,
            actor=caller.key_id,
            action="monitor.set",
            subject=system_id,
            **settings.to_dict(),
        )
    return answer(wanted)


@area.post(
    "/v1/systems/{system_id}/alarms/acknowledge",
    summary="Take an alarm up",
    description="It stays open until it closes by itself.",
    **documented(
        gives=Acknowledgement,
        reads=Acknowledgement,
        scope="evaluate",
        problems=("not-found", "too-large", "unsupported-media-type", "invalid"),
    ),
)
def acknowledged(request: Request, caller: Known, system_id: System, raw: Raw) -> Response:
    wanted = read_as(Acknowledgement, raw)
    with request.app.state.store.writing(durable=True) as db:
        collection = collecting.collection(db)
        number = collection.open(caller.organization, system_id) if _number(db, caller, system_id) else 0
        history = collection.history(number)
        try:
            history.acknowledge(wanted.alarm, wanted.by)
        except InputError as fault:
            raise Problem("not-found", str(fault)) from None
        collection.remember(number, history)
        webhooks.emit(db, caller.organization, "alarm.changed", {"system_id": system_id, **history.events[-1]})
        journal.note(
            db, organization=caller.organization, actor=caller.key_id, action="alarm.acknowledged", subject=system_id,
            alarm=wanted.alarm, by=wanted.by,
        )  # fmt: skip
    return answer(wanted)


@area.get(
    "/v1/systems/{system_id}/alarms.atom",
    summary="Alarms as an Atom feed",
    **documented(scope="evaluations:read", problems=("not-found", "invalid"), media=("application/atom+xml",)),
)
def feed(request: Request, caller: Known, system_id: System) -> Response:
    with request.app.state.store.reading() as db:
        history = collecting.collection(db).history(_number(db, caller, system_id))
    address = request.app.state.ledger.registry.issuer
    return Response(atom(history, system_id, address), media_type="application/atom+xml")


@area.get(
    "/v1/systems/{system_id}/corrections",
    summary="What was corrected",
    description="Predictions and outcomes that came again with another value: before and after, the newest first.",
    **documented(gives=CorrectionList, scope="evaluations:read", problems=("not-found", "invalid"), headers=("Link",)),
)
def corrections(
    request: Request, caller: Known, system_id: System, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    # Corrections have no number: a page ends at a moment, after so many of that moment.
    at = counted(cursor)
    with request.app.state.store.reading() as db:
        found = collecting.collection(db).corrections(_number(db, caller, system_id), limit + 1, at)
    next_ = None
    if len(found) > limit:
        last = found[limit - 1]["at"]
        read = sum(row["at"] == last for row in found[:limit]) + (at[1] if at and at[0] == last else 0)
        next_ = ended(last, str(read))
    made = CorrectionList([Correction(**row | {"at": written(row["at"])}) for row in found[:limit]], next_)
    return answer(made, headers=links(f"/v1/systems/{quote(system_id, safe='')}/corrections", {"limit": limit}, next_))
