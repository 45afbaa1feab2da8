# SPDX-License-Identifier: Apache-2.0
"""A certificate in plain words: what it says, what it does not prove, where it stands, what happened to it."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from anyio import to_thread
from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response

from epimeter.documents.paper import pdf
from epimeter.documents.sections import Document, Grid, Items, Paragraph, Section
from epimeter.errors import LogError, MissingExtraError
from epimeter.service.access import anybody
from epimeter.service.problems import Problem
from epimeter.service.renewing import state_of
from epimeter.standards.bands import ERS_ECE, ERS_U_RECALL, RISK, risk_index
from epimeter.standards.ers import LEVELS, ers_ece_band, ers_u_recall_band
from epimeter.store import evaluations, registry
from epimeter.trust.attesting import attestations
from epimeter.trust.canonical import load_canonical, to_base64url
from epimeter.trust.credential import credential
from epimeter.trust.entries import system_digest
from epimeter.trust.names import similar_sentence
from epimeter.trust.verdict import NOT_PROVEN, ONLY_SUMS
from epimeter.web import verifying
from epimeter.web.page import Facts, page
from epimeter.web.scale import scale

area = APIRouter(include_in_schema=False)
Id = Annotated[str, Path(max_length=64)]
CAUSES = {
    "issued": "Issued",
    "renewed": "Renewed: an evaluation reached the level",
    "missed": "An evaluation missed the level",
    "overdue": "No evaluation came in time",
    "operator": "Changed by the registry",
    "superseded": "Superseded by a newer certificate:",
    "attested": "Attested by an auditor",
}
CONDUCTED = {
    "self_submitted": "The operator of the system submitted the records; nobody else has seen where they came from.",
    "issuer": "The issuer of this certificate conducted the evaluation.",
    "third_party": "A third party conducted the evaluation.",
}
MEANINGS = {
    "VALID": "The certificate is in force.",
    "SUSPENDED": "The certificate is not in force for the time being.",
    "SUPERSEDED": "A newer certificate of the same system has taken its place.",
    "EXPIRED": "The certificate has ended.",
    "REVOKED": "The certificate was withdrawn for good and must not be relied on.",
}


def _document(request: Request, certificate_id: str) -> bytes:
    try:
        data: bytes = request.app.state.ledger.registry.certificate(certificate_id)
    except LogError:
        raise Problem("not-found", "no certificate has this id") from None
    return data


@page(area, "/certificates/{certificate_id}", "certificate.html")
def certificate(request: Request, certificate_id: Id) -> Facts:
    """One certificate."""
    state = request.app.state
    data = _document(request, certificate_id)
    document = load_canonical(data)
    standing = state_of(state.ledger, certificate_id)
    with state.store.reading() as db:
        row = registry.find(db, certificate_id)
        names, tries = (0, 0) if row is None else evaluations.similar(db, row["organization"], row["system_id"])
    issuer = state.ledger.registry.issuer.rstrip("/")
    status_file = state.ledger.registry.status_file()
    address = f"{issuer}/certificates/{certificate_id}"
    picture = f"{issuer}/v1/certificates/{certificate_id}/badge.svg"
    sums = document["evidence"]["dataset_digest"].startswith("epi-parts-")
    return {
        "id": certificate_id,
        "address": address,
        "status": {
            "word": standing.status,
            "meaning": MEANINGS.get(standing.status, ""),
            "reason": standing.reason,
            "since": standing.since,
            "evaluated_at": standing.evaluated_at,
            "next_evaluation": standing.next_evaluation,
            "assessed": standing.assessed,
        },
        "says": sentences(document),
        "similar_systems": similar_sentence(names, tries),
        "does_not_prove": [*NOT_PROVEN, *([ONLY_SUMS] if sums else [])],
        "metrics": metrics(document),
        "attestations": [one.sentence for one in attestations(state.ledger.registry, certificate_id)],
        "history": [
            event.to_json() | {"words": CAUSES.get(event.cause, event.cause)}
            for event in state.ledger.registry.life(certificate_id)
        ],
        "downloads": {
            "Certificate (JSON)": f"/v1/certificates/{certificate_id}",
            "DSSE envelope": f"/v1/certificates/{certificate_id}.dsse",
            "Verifiable Credential (W3C)": f"/certificates/{certificate_id}/credential.json",
            "What it says, as PDF": f"/certificates/{certificate_id}/certificate.pdf",
            "Dates (iCalendar)": f"/v1/certificates/{certificate_id}/calendar.ics",
            "Attestations": f"/v1/certificates/{certificate_id}/attestations",
            "What it is evidence for": f"/mapping/{document['compliance']['mapping'].rpartition(':')[2]}",
            "Status list": "/status/1",
            "Trust root": "/trust-root.json",
        },
        "badge": {
            "picture": f"/v1/certificates/{certificate_id}/badge.svg",
            "html": f'<a href="{address}"><img src="{picture}" alt="ONTO-ERS certificate {certificate_id}"></a>',
            "markdown": f"[![ONTO-ERS certificate]({picture})]({address})",
        },
        "verify": f"/verify#certificate={to_base64url(data)}&status={to_base64url(status_file)}",
        "fingerprint": verifying.fingerprint(state),
        "system": system_digest(document["subject"]),
        "document": document,
    }


@area.get("/certificates/{certificate_id}/credential.json", dependencies=[Depends(anybody)])
def as_credential(request: Request, certificate_id: Id) -> Response:
    """The certificate as a W3C Verifiable Credential, signed anew by the issuer's key in force."""
    ledger = request.app.state.ledger
    document = load_canonical(_document(request, certificate_id))
    made = credential(document, ledger.signers.issuer, datetime.now(UTC))
    return Response(msgspec.json.encode(made), media_type="application/vc+json")


@area.get("/certificates/{certificate_id}/certificate.pdf", dependencies=[Depends(anybody)])
async def as_pdf(request: Request, certificate_id: Id) -> Response:
    """What the page says, for the file: with the status of this moment, and where to look up the next."""
    facts = await to_thread.run_sync(lambda: certificate(request=request, certificate_id=certificate_id))
    async with request.app.state.measuring.of("public"):
        try:
            data = await to_thread.run_sync(pdf, paper(facts, datetime.now(UTC)))
        except MissingExtraError as missing:
            raise Problem("not-acceptable", f"this server makes no PDF: {missing}") from None
    headers = {"Content-Disposition": f'inline; filename="{facts["id"]}.pdf"'}
    return Response(data, headers=headers, media_type="application/pdf")


def paper(facts: Facts, at: datetime) -> Document:
    """A certificate's page as a document."""
    status, head = facts["status"], facts["document"]["certificate"]
    reason = f" Reason: {status['reason']}." if status["reason"] else ""
    due = f" The next evaluation is due by {status['next_evaluation']}." if status["next_evaluation"] else ""
    history = tuple((one["at"][:10], one["words"], one["status"], str(one["log_index"])) for one in facts["history"])
    return Document(
        f"{facts['document']['subject']['system_id']}: {head['level']}, {status['word']}",
        f"Certificate {facts['id']} · looked up {at:%Y-%m-%d %H:%M} UTC at {facts['address']}",
        (
            Section("Standing", (Paragraph(f"{status['meaning']}{reason} So since {status['since'][:10]}.{due}"),)),
            Section("What it says", (Items(tuple(facts["says"])),)),
            Section("What it does not prove", (Items(tuple(facts["does_not_prove"])),)),
            Section("History", (Grid("History", ("when", "what", "status", "log entry"), history),)),
            Section(
                "Verifying it",
                (
                    Paragraph(
                        "This paper proves nothing by itself. Open the address above, verify the certificate in your browser, "
                        f"and compare the fingerprint of the trust root with one that you got elsewhere: {facts['fingerprint']}"
                    ),
                ),
            ),
        ),
    )


def metrics(document: Facts) -> list[Facts]:
    """The three numbers that the level rests on, beside its limits; each with a drawing."""
    found, level = document["metrics"], document["certificate"]["level"]
    cut = tuple(
        math.floor(end) for end in found["ers_raw_ci95"]
    )  # as the score is, before it is held against a limit (C-07)
    lines = (
        ("ECE", "ece", found["ece"], found["ece_ci95"], 0.3, {one.name: one.ece for one in LEVELS}, "at most"),
        (
            "U-Recall",
            "u_recall",
            found["u_recall"],
            found["u_recall_ci95"],
            100,
            {one.name: one.u_recall for one in LEVELS},
            "at least",
        ),
        ("ERS", "ers", found["ers"], cut, 100, {one.name: one.ers for one in LEVELS}, "at most"),
    )
    return [
        {
            "title": title,
            "name": name,
            "value": value,
            "interval": interval,
            "limit": limits[level],
            "sense": sense,
            "drawing": str(scale(title, value, interval, top, limits)),
        }
        for title, name, value, interval, top, limits, sense in lines
    ]


def sentences(document: dict[str, Any]) -> list[str]:
    """What a certificate says, one plain sentence after the other."""
    head, subject = document["certificate"], document["subject"]
    numbers, evidence = document["metrics"], document["evidence"]
    level = next(one for one in LEVELS if one.name == head["level"])
    period = numbers["evaluation_period"]
    low, high = (100 * end for end in numbers["ece_ci95"])
    right = 100 * numbers["accuracy"]
    said = [
        f"{subject['organization']} had {subject['system_id']}, version {subject['system_version']}, evaluated on "
        f"{numbers['sample_size']:,} records of {period['start'][:10]} to {period['end'][:10]} in the domain {subject['domain']}.",
        _kind(evidence),
        f"What the system stated and what came true lay {100 * numbers['ece']:.1f} percentage points apart on average "
        f"(ECE {numbers['ece']:.4f}, 95 % interval {low:.1f} to {high:.1f} points); {right:.1f} % of its answers were right.",
        f"Of its wrong answers it gave {numbers['u_recall']:.0f} % with a confidence below 0.7: "
        "there one could see that it was unsure (U-Recall).",
        f"This earned level {level.name}, {level.title}, which asks for an ECE of at most {level.ece:g}, a U-Recall of at least "
        f"{level.u_recall:g} % and a score (ERS) of at most {level.ers}; the score is {numbers['ers']}.",
        _in_the_standards_words(numbers),
        f"ONTO-ERS 4.1 means this level for {level.suitable_for}; documentation: {level.documentation}.",
        "The level is firm: the whole interval of each number lies on the same side of every limit."
        if evidence["assurance"] == "firm"
        else "The level is marginal: an interval reaches across a limit, and other data could earn another level.",
        f"It was attempt {evidence['attempt']} of this system"
        + (": no evaluation came before it." if evidence["attempt"] == 1 else "; the log holds those before it."),
        "What would be measured was said beforehand, and the log holds that."
        if evidence["preregistration"]
        else "What would be measured was not said beforehand.",
        CONDUCTED.get(evidence["conducted_by"], ""),
        f"It was issued on {head['issued_at'][:10]} and ends on {head['expires_at'][:10]} at the latest.",
    ]
    return [one for one in said if one]


def _in_the_standards_words(numbers: dict[str, Any]) -> str:
    """What ERS 2.1, 2.2 and 2.3 call these numbers."""
    ece, recall = ERS_ECE[ers_ece_band(numbers["ece"])], ERS_U_RECALL[ers_u_recall_band(numbers["u_recall"])]
    risk = RISK[risk_index(numbers["ers"])]
    return (
        f"In the words of ONTO-ERS: ECE {ece.name} ({ece.action}), U-Recall {recall.name} ({recall.action}), risk {risk.name} "
        f"({risk.action}; regulatory status: {risk.status})."
    )


def _kind(evidence: dict[str, Any]) -> str:
    forecast = evidence.get("forecast")
    if forecast is None:
        return "It does not say which kind of forecast the records hold."
    return f"Kind of forecast: {forecast['kind']}. Each record states {forecast['meaning']}."
