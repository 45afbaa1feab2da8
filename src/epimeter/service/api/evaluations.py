# SPDX-License-Identifier: Apache-2.0
"""Evaluations: submit predictions, list, look at one, its report."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated, Any

import anyio
import msgspec
from anyio import to_thread
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from epimeter.service import acceptance
from epimeter.service.acceptance import Order
from epimeter.service.access import Known
from epimeter.service.answers import Work, answer, once
from epimeter.service.bodies import Body, encoded, encoding_of, invalid, media_type, receive
from epimeter.service.documents import BINARY, content_of, documented
from epimeter.service.errands import BodyRows, Limits, ReadBody, read_body
from epimeter.service.evaluated import line, shown
from epimeter.service.paging import Cursor, Limit, cut, links, place
from epimeter.service.passports import passport_of
from epimeter.service.predictions import ARROW, JSON, MEDIA_TYPES, NDJSON, PARQUET, is_light
from epimeter.service.problems import Problem
from epimeter.service.renderings import FORMS, chosen, rendered
from epimeter.service.schemas import (
    EvaluateRequest,
    Evaluation,
    EvaluationPage,
    Facts,
    Prediction,
)
from epimeter.service.slots import Slots
from epimeter.service.sums import SUMMARY
from epimeter.store import evaluations, jobs
from epimeter.store.moments import month_of, now

area = APIRouter(tags=["evaluations"])


class _Longer(Exception):
    """A light body asks for more than is done without a child."""


@area.post(
    "/v1/evaluate",
    summary="Submit predictions",
    description=(
        "Rows as in ERS 6.2, columns, NDJSON, an Arrow IPC stream or Parquet; gzip and zstd. Rows that state a mean and a "
        "deviation, quantiles, members of an ensemble, an interval, a set of labels or an expected count beside the truth are "
        "told by the names of their columns and measured as forecasts, which earn no level; in JSON they stand under forecasts. "
        "Bodies other than JSON say model_id, domain and the rest in the query. Up to 100,000 rows are answered at once; more "
        "become a job (202). A "
        "summary that epimeter summarise --evidence made stands for records that stay where they are: it is evaluated after "
        "ONTO-ERS and may be certified."
    ),
    **documented(
        gives=Evaluation,
        also={202: Evaluation},
        scope="evaluate",
        bodies={
            JSON: content_of(EvaluateRequest),
            NDJSON: content_of(Prediction) | {"example": '{"confidence":0.9,"correct":true}\n'},
            ARROW: {"schema": BINARY},
            PARQUET: {"schema": BINARY},
            SUMMARY: {"schema": BINARY},
        },
        problems=(
            "in-flight",
            "too-large",
            "unsupported-media-type",
            "invalid",
            "key-reused",
            "too-costly",
            "quota-used-up",
        ),
        headers=("Location", "Idempotency-Replayed"),
        takes=("Idempotency-Key", "Content-Encoding"),
    ),
)
async def evaluate(
    request: Request,
    caller: Known,
    model_id: Annotated[str | None, Query(max_length=200, description="Id of the system, chosen by you.")] = None,
    domain: Annotated[
        str | None, Query(max_length=40, description="Field of use: medical, legal, financial, code, general.")
    ] = None,
    model_version: Annotated[str | None, Query(max_length=200, description="Version of the system.")] = None,
    dataset_id: Annotated[str | None, Query(max_length=200, description="Your id of the data set, a UUID.")] = None,
    metrics: Annotated[str | None, Query(max_length=2000, description="Names, separated by commas.")] = None,
    preregistration: Annotated[str | None, Query(max_length=200, description="Id of a pre-registration.")] = None,
    onto_domain: Annotated[str | None, Query(max_length=40, description="Domain of ONTO 42001.")] = None,
    strategy: Annotated[str | None, Query(max_length=40, description="Binning strategy of ONTO 42001.")] = None,
    declaration: Annotated[str | None, Query(max_length=8000, description="The declaration, as JSON.")] = None,
    weights: Annotated[
        str | None, Query(max_length=100, description="Weights of ORS: three numbers, separated by commas.")
    ] = None,
    weights_reason: Annotated[str | None, Query(max_length=2000, description="Why the weights were changed.")] = None,
    unknown_threshold: Annotated[
        float | None, Query(ge=0, le=1, description="Confidence below which an input counts as flagged.")
    ] = None,
    new_baseline: Annotated[str | None, Query(max_length=200, description="Why a new baseline begins.")] = None,
    level: Annotated[
        float | None, Query(gt=0, lt=1, description="Coverage that intervals or sets of forecasts claim.")
    ] = None,
) -> Response:
    state = request.app.state
    kind, packing = media_type(request), encoding_of(request)
    if kind not in MEDIA_TYPES:
        raise Problem(
            "unsupported-media-type", f"Content-Type must be one of {', '.join(MEDIA_TYPES)}; got {kind!r:.60}"
        )
    said = {
        "model_id": model_id,
        "domain": domain,
        "model_version": model_version,
        "dataset_id": dataset_id,
        "metrics": None if metrics is None else [name.strip() for name in metrics.split(",")],
        "preregistration": preregistration,
        "onto_domain": onto_domain,
        "strategy": strategy,
        "weights": None if weights is None else _numbers(weights),
        "weights_reason": weights_reason,
        "unknown_threshold": unknown_threshold,
        "new_baseline": new_baseline,
        "level": level,
        "declaration": None if declaration is None else _declared(declaration),
    }
    given = {name: value for name, value in said.items() if value is not None}
    facts = None if kind == JSON else facts_of(given)
    if kind == JSON and given:
        raise Problem("invalid", f"/query/{next(iter(given))}: a JSON body says this itself")
    await to_thread.run_sync(_refuse_used_up, request, caller)
    plain_json = kind == JSON and packing == "identity"
    body = await receive(request, state.settings, state.settings.max_json if plain_json else state.settings.max_body)

    def work(light: bool) -> Response:
        return once(
            request, state.store, caller, body.fingerprint, lambda: prepared(request, caller, body, kind, facts, light)
        )

    async def done(slots: Slots, light: bool) -> Response:
        async with slots.of(caller.organization):
            with anyio.CancelScope(shield=True):  # a caller who hangs up must not leave half of it
                made = await to_thread.run_sync(work, light, limiter=state.waiting)
        return made

    try:
        if is_light(body, kind, packing):
            # What takes milliseconds has slots of its own: it does not wait until somebody's long work is over.
            try:
                return await done(state.brief, light=True)
            except _Longer:
                pass
        return await done(state.measuring, light=False)
    finally:
        body.close()


def _numbers(text: str) -> list[float]:
    """Numbers that came in the query."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise Problem(
            "invalid", f"/query/weights: it must be three numbers, separated by commas; got {text!r:.60}"
        ) from None


def _declared(text: str) -> Any:
    """A declaration that came in the query."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as fault:
        raise Problem("invalid", f"/query/declaration: it must be JSON; {fault}") from None


def facts_of(given: dict[str, Any]) -> Facts:
    """What the query says of the rows, held to the same rules as in a JSON body."""
    try:
        found = msgspec.convert(given, EvaluateRequest)
    except msgspec.ValidationError as fault:
        raise invalid(fault, EvaluateRequest, "/query") from None
    return Facts.of(found)


def _refuse_used_up(request: Request, caller: Known) -> None:
    """Say early that the quota is used up; the commit says it for certain."""
    if caller.quota is None:
        return
    month = month_of(now())
    with request.app.state.store.reading() as db:
        used = evaluations.used(db, caller.organization, month)
    request.state.headers["RateLimit-Policy"] += f', "month";q={caller.quota}'
    request.state.headers["RateLimit"] += f', "month";r={max(0, caller.quota - used - 1)}'
    if used >= caller.quota:
        raise acceptance.quota_used_up(caller.quota, month)


def prepared(request: Request, caller: Known, body: Body, kind: str, facts: Facts | None, light: bool = False) -> Work:
    """Read and, if the rows are few, measure; then the commit."""
    state = request.app.state
    settings = state.settings
    order = Order(organization=caller.organization, key_id=caller.key_id, quota=caller.quota)
    at = now()
    kept = Body.on_disk(str(settings.folder))
    try:
        errand = ReadBody(
            kind=kind,
            encoding=encoding_of(request),
            limit=settings.max_json if kind == JSON else settings.max_unpacked,
            facts=facts,
            at=at,
            limits=Limits.of(settings),
        )
        found = _done(state, errand, body, kept, light)
    except BaseException:
        kept.close()
        raise
    state.gauges.count("rows", found.n_rows)

    def accepted(db: Any) -> tuple[int, bytes, str | None]:
        with closing(kept):
            kept.file.seek(0)
            if found.found is None:
                number, made = acceptance.queue(db, order, found.facts, kept, at)
                return 202, encoded(made), f"/v1/evaluations/{number}"
            number, made = acceptance.accept(
                db, state.ledger, order, found.facts, kept if found.kept else None, found.found, at
            )
            return 200, encoded(made), f"/v1/evaluations/{number}"

    return accepted


def _done(state: Any, errand: ReadBody, body: Body, kept: Body, light: bool) -> BodyRows:
    """What a body has, read here where little can go wrong and in a child else."""
    if light:
        found = read_body(errand, body.file, kept.file, light=True)
        if found is None:
            raise _Longer
        return found
    rows: BodyRows = state.children.do(
        errand, BodyRows, body.chunks(), seconds=state.settings.request_time, kept=kept.file
    )
    return rows


@area.get(
    "/v1/evaluations",
    summary="List evaluations",
    **documented(gives=EvaluationPage, scope="evaluations:read", headers=("Link",)),
)
def listing(
    request: Request,
    caller: Known,
    limit: Limit = 50,
    cursor: Cursor = None,
    model_id: Annotated[str | None, Query(max_length=200, description="Only evaluations of this system.")] = None,
) -> Response:
    with request.app.state.store.reading() as db:
        rows = evaluations.page(db, caller.organization, place(cursor), limit + 1, model_id)
    rows, next_ = cut(rows, limit)
    page = EvaluationPage([line(row) for row in rows], next_)
    return answer(page, headers=links("/v1/evaluations", {"limit": limit, "model_id": model_id}, next_))


def own_evaluation(request: Request, caller: Known, evaluation_id: str) -> Any:
    """An evaluation of the caller's organisation; of another's nobody learns that it exists."""
    with request.app.state.store.reading() as db:
        row = evaluations.find(db, caller.organization, evaluation_id)
    if row is None:
        raise Problem("not-found", "no evaluation of yours has this id")
    return row


@area.get(
    "/v1/evaluations/{evaluation_id}",
    summary="Look at one evaluation",
    **documented(gives=Evaluation, scope="evaluations:read", problems=("not-found",)),
)
def one(request: Request, caller: Known, evaluation_id: str) -> Response:
    row = own_evaluation(request, caller, evaluation_id)
    with request.app.state.store.reading() as db:
        job = None if row["result"] is not None else jobs.of_subject(db, caller.organization, evaluation_id)
    return answer(shown(row, job))


@area.get(
    "/v1/evaluations/{evaluation_id}/report",
    summary="The report of an evaluation",
    description="JSON, or by the Accept header text/html, text/plain, text/markdown; application/pdf is the passport.",
    **documented(
        scope="evaluations:read",
        problems=("not-found", "conflict", "not-acceptable", "too-costly"),
        media=("application/json", *FORMS[1:], "application/pdf"),
    ),
)
async def report(request: Request, caller: Known, evaluation_id: str) -> Response:
    row = await to_thread.run_sync(own_evaluation, request, caller, evaluation_id)
    if row["report"] is None:
        raise Problem("conflict", f"the evaluation is {row['status']}; it has no report")
    form = chosen(request.headers.get("accept", "*/*"), (*FORMS, "application/pdf"))
    if form == "application/pdf":
        return await _passport(request, caller, row)
    return await to_thread.run_sync(rendered, bytes(row["report"]), form)


async def _passport(request: Request, caller: Known, row: Any) -> Response:
    state, accept = request.app.state, request.headers.get("accept", "*/*")
    async with state.measuring.of(caller.organization):
        return await to_thread.run_sync(passport_of, state, caller, row, accept, limiter=state.waiting)


@area.get(
    "/v1/evaluations/{evaluation_id}/passport",
    summary="The epistemic passport of an evaluation",
    description="JSON, or by the Accept header application/pdf; for evaluations that allow a certificate. It is signed by the "
    "issuer of this service: `epimeter verify passport.pdf` checks it.",
    **documented(
        scope="evaluations:read",
        problems=("not-found", "conflict", "not-acceptable", "too-costly"),
        media=("application/json", "application/pdf"),
    ),
)
async def passport(request: Request, caller: Known, evaluation_id: str) -> Response:
    row = await to_thread.run_sync(own_evaluation, request, caller, evaluation_id)
    return await _passport(request, caller, row)
