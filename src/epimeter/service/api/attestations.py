# SPDX-License-Identifier: Apache-2.0
"""Attestations: an auditor puts his own key behind a certificate, the log remembers it, everybody can read it."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter, Request
from fastapi.responses import Response

from epimeter.errors import InputError, VerificationError
from epimeter.service.access import Known
from epimeter.service.answers import answer, once
from epimeter.service.api.registry import BODY_PROBLEMS, Raw, document_of, fingerprint_of
from epimeter.service.bodies import encoded, read_as
from epimeter.service.documents import documented
from epimeter.service.problems import Problem
from epimeter.service.schemas import AttestationEnvelope, AttestationLine, AttestationList, AttestationRequest
from epimeter.store import journal, registry
from epimeter.trust.attestation import stated
from epimeter.trust.attesting import AlreadyEnteredError, Entered, attestations
from epimeter.trust.canonical import canonical_json, from_base64
from epimeter.trust.keys import PublicKey

area = APIRouter(tags=["registry"])


@area.post(
    "/v1/certificates/{certificate_id}/attestations",
    summary="Attest a certificate as an auditor",
    description=(
        "With a key that may attest, of an organisation other than the certificate's. The attestation is signed beforehand with "
        "the auditor's own key (epimeter attest); it is checked, entered into the log and shown to everybody."
    ),
    **documented(
        gives=AttestationLine,
        status=201,
        reads=AttestationRequest,
        scope="attest",
        problems=(*BODY_PROBLEMS, "not-found", "conflict", "in-flight", "key-reused"),
        headers=("Location", "Idempotency-Replayed"),
        takes=("Idempotency-Key",),
    ),
)
def attest(request: Request, caller: Known, certificate_id: str, raw: Raw) -> Response:
    wanted = read_as(AttestationRequest, raw)
    state = request.app.state
    document_of(request, certificate_id)
    with state.store.reading() as db:
        row = registry.find(db, certificate_id)
    if row is not None and row["organization"] == caller.organization:
        raise Problem("conflict", "an audit is by a third party; this certificate is of your own organisation")
    data = canonical_json(msgspec.to_builtins(wanted.attestation))
    try:
        key = PublicKey(from_base64(wanted.public_key, "public_key"))
        if stated(data)["certificate"] != certificate_id:
            raise InputError("the attestation is of another certificate than the address", field="attestation")
    except (InputError, VerificationError) as fault:
        raise _invalid(fault) from None

    def work(db: Any) -> tuple[int, bytes, str | None]:
        organization = caller.organization if row is None else row["organization"]
        about = {"organization": organization, "action": "certificate.attested", "subject": certificate_id}
        try:
            place = state.ledger.attest(data, key, caller.organization_name)
        except VerificationError as fault:
            raise _invalid(fault) from None
        except AlreadyEnteredError as fault:
            # Entered and not written down: a process died in between, and this request ends what it began.
            place = fault.log_index
            if journal.told(db, **about, log_index=place):
                raise Problem("conflict", str(fault)) from None
        except InputError as fault:
            raise Problem("conflict", str(fault)) from None
        journal.note(db, **about, actor=caller.key_id, log_index=place)
        (made,) = (one for one in attestations(state.ledger.registry, certificate_id) if one.log_index == place)
        return 201, encoded(line(made)), f"/v1/certificates/{certificate_id}/attestations"

    return once(request, state.store, caller, fingerprint_of(raw), lambda: work)


@area.get(
    "/v1/certificates/{certificate_id}/attestations",
    summary="The attestations of a certificate",
    **documented(gives=AttestationList, problems=("not-found", "invalid")),
)
def listed(request: Request, certificate_id: str) -> Response:
    document_of(request, certificate_id)
    found = attestations(request.app.state.ledger.registry, certificate_id)
    return answer(AttestationList([line(one) for one in found]))


def line(found: Entered) -> AttestationLine:
    """An attestation as it is sent."""
    return AttestationLine(
        certificate=found.certificate,
        auditor=found.auditor,
        basis=found.basis,  # type: ignore[arg-type]
        scope=found.scope,
        attested_at=found.attested_at,
        key_id=found.key_id,
        public_key=found.public_key,
        entered_by=found.entered_by,
        log_index=found.log_index,
        envelope=msgspec.json.decode(found.envelope, type=AttestationEnvelope),
    )


def _invalid(fault: Exception) -> Problem:
    return Problem("invalid", f"/attestation: {fault}", errors=[("/attestation", str(fault))])
