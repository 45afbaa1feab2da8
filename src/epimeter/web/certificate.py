# SPDX-License-Identifier: Apache-2.0
"""A certificate in plain words: what it says, what it does not prove, where it stands, what happened to it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request

from epimeter.errors import LogError
from epimeter.service.acceptance import similar_sentence
from epimeter.service.problems import Problem
from epimeter.service.renewing import state_of
from epimeter.standards.ers import LEVELS
from epimeter.store import evaluations, registry
from epimeter.trust.attesting import attestations
from epimeter.trust.canonical import load_canonical, to_base64url
from epimeter.trust.entries import system_digest
from epimeter.trust.verify import NOT_PROVEN, ONLY_SUMS
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


@page(area, "/certificates/{certificate_id}", "certificate.html")
def certificate(request: Request, certificate_id: Id) -> Facts:
    """One certificate."""
    state = request.app.state
    try:
        data = state.ledger.registry.certificate(certificate_id)
    except LogError:
        raise Problem("not-found", "no certificate has this id") from None
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
        },
        "says": sentences(document),
        "similar_systems": similar_sentence(names, tries),
        "does_not_prove": [*NOT_PROVEN, *([ONLY_SUMS] if sums else [])],
        "metrics": metrics(document),
        "attestations": [one.sentence for one in attestations(state.ledger.registry, certificate_id)],
        "self_assessed": document["certificate"]["level"] == "L3",
        "history": [
            event.to_json() | {"words": CAUSES.get(event.cause, event.cause)}
            for event in state.ledger.registry.life(certificate_id)
        ],
        "downloads": {
            "Certificate (JSON)": f"/v1/certificates/{certificate_id}",
            "DSSE envelope": f"/v1/certificates/{certificate_id}.dsse",
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


def metrics(document: Facts) -> list[Facts]:
    """The three numbers that the level rests on, beside its limits; each with a drawing."""
    found, level = document["metrics"], document["certificate"]["level"]
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
        ("ERS", "ers", found["ers"], found["ers_raw_ci95"], 100, {one.name: one.ers for one in LEVELS}, "at most"),
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


def _kind(evidence: dict[str, Any]) -> str:
    forecast = evidence.get("forecast")
    if forecast is None:
        return "It does not say which kind of forecast the records hold."
    return f"Kind of forecast: {forecast['kind']}. Each record states {forecast['meaning']}."
