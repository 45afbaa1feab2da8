# SPDX-License-Identifier: Apache-2.0
"""Other signed documents in the OpenAPI document, from the one shape that signer and verifier hold them to."""

from __future__ import annotations

from typing import Any

from epimeter.service.schemas.certificate import BODY_NAME, SENTENCES, add_shape, certificate_components
from epimeter.trust.attestation import SHAPE as ATTESTATION
from epimeter.trust.registration import REGISTRATION_SHAPE

OF_REGISTRATION = {
    "": "What will be measured, as the registry signed it.",
    "registration": "What the document is.",
    "registration.id": "Its id.",
    "registration.registered_at": "When it was signed, in UTC.",
    "issuer": "Who signed.",
    "issuer.id": "The issuer's name or address.",
    "plan": "What is promised.",
    "plan.config_digest": "Digest of all settings that will influence the numbers.",
    "plan.aim": "The level that is aimed at.",
    "plan.data_source": "Where the data will come from, in words.",
    "plan.least_records": "How many records there will be at least.",
    "plan.dataset_digest": "Digest of the data, where they exist already; else null.",
    **{place: said for place, said in SENTENCES.items() if place.partition(".")[0] in ("standard", "subject")},
}
OF_ATTESTATION = {
    "": "What an auditor signs about a certificate.",
    "certificate": "The id of the certificate.",
    "digest": "The digest of its signed bytes.",
    "auditor": "The auditor's name.",
    "basis": "What was done.",
    "scope": "What the audit covered, in words.",
    "attested_at": "When he signed, in UTC.",
}


def signed_components(ref: str) -> dict[str, Any]:
    """The schemas of certificates, pre-registrations and attestations, by name."""
    made = certificate_components(ref)
    add_shape(made, "RegistrationDocument", REGISTRATION_SHAPE, "", ref, OF_REGISTRATION)
    add_shape(made, "AttestationStatement", ATTESTATION, "", ref, OF_ATTESTATION)
    return made


def refer(components: dict[str, Any], ref: str) -> None:
    """Have the fields that hold such a document say which: plainly, or in base64 inside an envelope."""
    plain = components["Preregistration"]["properties"]
    said = plain["document"]["description"]
    plain["document"] = {"$ref": ref.format(name="RegistrationDocument"), "description": said}
    for envelope, held in (("DsseEnvelope", BODY_NAME), ("AttestationEnvelope", "AttestationStatement")):
        components[envelope]["properties"]["payload"] |= {
            "contentEncoding": "base64",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": ref.format(name=held)},
        }
