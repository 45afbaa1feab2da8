# SPDX-License-Identifier: Apache-2.0
"""Pre-registrations and certificates: made by their owners, seen and verified by everybody."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import anyio
from anyio import to_thread
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from epimeter.errors import InputError, LogError
from epimeter.service import webhooks
from epimeter.service.access import Known
from epimeter.service.answers import answer, once
from epimeter.service.badge import badge
from epimeter.service.bodies import encoded, read_as, small_body
from epimeter.service.documents import documented
from epimeter.service.issuing import issue
from epimeter.service.paging import Cursor, Limit, cut, links, place
from epimeter.service.problems import Problem
from epimeter.service.renewing import state_of
from epimeter.service.schemas import (
    Certificate,
    CertificateEvent,
    CertificateLife,
    CertificateRequest,
    CertificateState,
    CertificateVerdict,
    DsseEnvelope,
    Preregistration,
    PreregistrationRequest,
    RegistryLine,
    RegistryPage,
    RevokeRequest,
)
from epimeter.store import evaluations, journal, registry
from epimeter.store.moments import now, written
from epimeter.trust.calendar import certificate_line, to_calendar
from epimeter.trust.canonical import load_canonical
from epimeter.trust.certificate import Subject
from epimeter.trust.names import similar_sentence
from epimeter.trust.registration import RegisteredPlan
from epimeter.trust.standing import shown
from epimeter.trust.statement import to_envelope

area = APIRouter(tags=["registry"])
Raw = Annotated[bytes, Depends(small_body)]
BODY_PROBLEMS = ("too-large", "unsupported-media-type")


def fingerprint_of(raw: bytes) -> bytes:
    """What tells one body from another."""
    return hashlib.sha256(raw).digest()


@area.post(
    "/v1/preregistrations",
    summary="Say beforehand what will be measured",
    **documented(
        gives=Preregistration,
        status=201,
        reads=PreregistrationRequest,
        scope="certificates:write",
        problems=(*BODY_PROBLEMS, "in-flight", "key-reused"),
        headers=("Location", "Idempotency-Replayed"),
        takes=("Idempotency-Key",),
    ),
)
def preregister(request: Request, caller: Known, raw: Raw) -> Response:
    wanted = read_as(PreregistrationRequest, raw)
    state = request.app.state
    subject = Subject(
        organization=caller.organization_name,
        system_id=wanted.model_id,
        system_version=wanted.model_version,
        domain=wanted.domain,
    )
    plan = RegisteredPlan(
        aim=wanted.aim,
        data_source=wanted.data_source,
        least_records=wanted.least_records,
        dataset_digest=wanted.dataset_digest,
    )

    def work(db: Any) -> tuple[int, bytes, str | None]:
        id = state.ledger.preregister(subject, plan)
        registry.add_preregistration(db, id=id, organization=caller.organization, system_id=wanted.model_id, at=now())
        journal.note(
            db, organization=caller.organization, actor=caller.key_id, action="evaluation.registered", subject=id
        )
        return 201, encoded(_registration(state, id)), f"/v1/preregistrations/{id}"

    return once(request, state.store, caller, fingerprint_of(raw), lambda: work)


def _registration(state: Any, id: str) -> Preregistration:
    _, document, named = state.ledger.registry.registration(id)
    return Preregistration(
        id=id,
        log_index=named["log_index"],
        entry_digest=named["entry_digest"],
        registered_at=named["registered_at"],
        document=document,
    )


@area.get(
    "/v1/preregistrations/{registration_id}",
    summary="Look at a pre-registration",
    **documented(gives=Preregistration, scope="certificates:read", problems=("not-found",)),
)
def preregistration(request: Request, caller: Known, registration_id: str) -> Response:
    with request.app.state.store.reading() as db:
        row = registry.preregistration(db, caller.organization, registration_id)
    if row is None:
        raise Problem("not-found", "no pre-registration of yours has this id")
    return answer(_registration(request.app.state, registration_id))


@area.post(
    "/v1/certificates",
    summary="Issue a certificate from an evaluation",
    description="The evaluation must be yours, completed, and certifiable; it has one certificate at most.",
    **documented(
        gives=Certificate,
        status=201,
        also={200: Certificate},
        reads=CertificateRequest,
        scope="certificates:write",
        problems=(*BODY_PROBLEMS, "not-found", "conflict", "in-flight", "too-costly"),
        headers=("Location",),
    ),
)
async def certify(request: Request, caller: Known, raw: Raw) -> Response:
    wanted = read_as(CertificateRequest, raw)
    state = request.app.state
    async with state.issuing.of(caller.organization):
        with anyio.CancelScope(shield=True):
            id, data, fresh = await to_thread.run_sync(issue, state, caller, wanted, limiter=state.waiting)
    headers = {"Location": f"/v1/certificates/{id}"}
    return Response(data, 201 if fresh else 200, headers=headers, media_type="application/json")


def document_of(request: Request, certificate_id: str) -> bytes:
    """The certificate; same words for an id that never was as for one that nobody may know."""
    try:
        data: bytes = request.app.state.ledger.registry.certificate(certificate_id)
    except LogError:
        raise Problem("not-found", "no certificate has this id") from None
    return data


IMMUTABLE = {"Cache-Control": "public, max-age=300"}


@area.get(
    "/v1/certificates/{certificate_id}.dsse",
    summary="A certificate as a DSSE envelope",
    **documented(gives=DsseEnvelope, problems=("not-found", "invalid")),
)
def dsse(request: Request, certificate_id: str) -> Response:
    envelope = to_envelope(load_canonical(document_of(request, certificate_id)))
    return Response(envelope.to_json(), headers=IMMUTABLE, media_type="application/json")


@area.get(
    "/v1/certificates/{certificate_id}/badge.svg",
    summary="A badge that shows level and live status",
    **documented(media=("image/svg+xml",), problems=("not-found", "invalid")),
)
def badge_of(request: Request, certificate_id: str) -> Response:
    document = load_canonical(document_of(request, certificate_id))
    status = request.app.state.ledger.status_of(document, datetime.now(UTC))
    level = shown(document["certificate"]["level"], state_of(request.app.state.ledger, certificate_id).assessed)
    made = badge(level, status)
    return Response(made, headers={"Cache-Control": "public, max-age=60"}, media_type="image/svg+xml")


@area.get(
    "/v1/certificates/{certificate_id}/verify",
    summary="The verdict on a certificate",
    description="By this registry's own trust root; a stranger should verify with keys that he pinned himself.",
    **documented(gives=CertificateVerdict, problems=("not-found", "invalid")),
)
def verify(request: Request, certificate_id: str) -> Response:
    state = request.app.state
    verdict = state.ledger.verify(document_of(request, certificate_id), datetime.now(UTC))
    with state.store.reading() as db:
        row = registry.find(db, certificate_id)
        names, tries = (0, 0) if row is None else evaluations.similar(db, row["organization"], row["system_id"])
    standing, similar = state_of(state.ledger, certificate_id), similar_sentence(names, tries)
    return answer(CertificateVerdict(**verdict.to_json(), standing=standing, similar_systems=similar))


@area.get(
    "/v1/certificates/{certificate_id}/status",
    summary="The live status of a certificate",
    **documented(gives=CertificateState, problems=("not-found", "invalid")),
)
def status(request: Request, certificate_id: str) -> Response:
    document_of(request, certificate_id)
    return answer(state_of(request.app.state.ledger, certificate_id))


@area.get(
    "/v1/certificates/{certificate_id}/life",
    summary="What happened to a certificate",
    description="Renewals, suspensions with their reasons, and where the log holds each.",
    **documented(gives=CertificateLife, problems=("not-found", "invalid")),
)
def life(request: Request, certificate_id: str) -> Response:
    document_of(request, certificate_id)
    events = request.app.state.ledger.registry.life(certificate_id)
    return answer(CertificateLife(certificate_id, [CertificateEvent(**event.to_json()) for event in events]))


@area.get(
    "/v1/certificates/{certificate_id}/calendar.ics",
    summary="The dates of a certificate as a calendar",
    description="When the next evaluation is due and when the certificate ends (RFC 5545).",
    **documented(media=("text/calendar",), problems=("not-found", "invalid")),
)
def calendar(request: Request, certificate_id: str) -> Response:
    line = certificate_line(
        load_canonical(document_of(request, certificate_id)), state_of(request.app.state.ledger, certificate_id)
    )
    return Response(to_calendar([line], datetime.now(UTC)), media_type="text/calendar; charset=utf-8")


@area.post(
    "/v1/certificates/{certificate_id}/revoke",
    summary="Revoke a certificate",
    **documented(
        gives=CertificateState,
        reads=RevokeRequest,
        scope="certificates:write",
        problems=(*BODY_PROBLEMS, "not-found", "conflict", "in-flight", "key-reused"),
        headers=("Idempotency-Replayed",),
        takes=("Idempotency-Key",),
    ),
)
def revoke(request: Request, caller: Known, certificate_id: str, raw: Raw) -> Response:
    wanted = read_as(RevokeRequest, raw)
    state = request.app.state
    with state.store.reading() as db:
        anyones = caller.may("admin")
        row = registry.find(db, certificate_id) if anyones else registry.owned(db, caller.organization, certificate_id)
    if row is None:
        raise Problem("not-found", "no certificate of yours has this id")
    about = {"organization": row["organization"], "action": "certificate.revoked", "subject": certificate_id}

    def work(db: Any) -> tuple[int, bytes, str | None]:
        try:
            state.ledger.set_status(certificate_id, "REVOKED", wanted.reason)
        except InputError as refusal:
            if "already" not in str(refusal):
                raise
            # Revoked and not written down: a process died in between, and this request ends what it began.
            if journal.told(db, **about):
                raise Problem("conflict", str(refusal)) from None
        journal.note(db, **about, actor=caller.key_id, reason=wanted.reason)
        made = state_of(state.ledger, certificate_id)
        webhooks.emit(db, row["organization"], "certificate.status", made)
        return 200, encoded(made), None

    return once(request, state.store, caller, fingerprint_of(raw), lambda: work)


@area.get(
    "/v1/certificates/{certificate_id}",
    summary="A certificate",
    **documented(gives=Certificate, problems=("not-found", "invalid")),
)
def certificate(request: Request, certificate_id: str) -> Response:
    return Response(document_of(request, certificate_id), headers=IMMUTABLE, media_type="application/json")


@area.get(
    "/v1/registry",
    summary="Search the public registry",
    **documented(gives=RegistryPage, problems=("invalid",), headers=("Link",)),
)
def search(
    request: Request,
    organization: Annotated[str | None, Query(max_length=200, description="Name of the organisation, exactly.")] = None,
    system_id: Annotated[str | None, Query(max_length=200, description="Id of the system, exactly.")] = None,
    domain: Annotated[
        Literal["medical", "legal", "financial", "code", "general"] | None, Query(description="Field of use.")
    ] = None,
    level: Annotated[Literal["L1", "L2", "L3"] | None, Query(description="Level of the certificate.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Response:
    wanted = {"organization": organization, "system_id": system_id, "domain": domain, "level": level}
    state = request.app.state
    with state.store.reading() as db:
        rows = registry.search(
            db,
            before=place(cursor),
            limit=limit + 1,
            organization=organization,
            system_id=system_id,
            domain=domain,
            level=level,
        )
    rows, next_ = cut(rows, limit, at="issued_at")
    found = [(row, state_of(state.ledger, row["id"])) for row in rows]
    lines = [
        RegistryLine(
            id=row["id"],
            organization=row["organization_name"],
            system_id=row["system_id"],
            domain=row["domain"],
            level=row["level"],
            issued_at=written(row["issued_at"]) or "",
            expires_at=written(row["expires_at"]) or "",
            status=standing.status,
            reason=standing.reason,
            next_evaluation=standing.next_evaluation,
            assessed=standing.assessed,
        )
        for row, standing in found
    ]
    return answer(RegistryPage(lines, next_), headers=links("/v1/registry", {**wanted, "limit": limit}, next_))
