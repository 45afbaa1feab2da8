# SPDX-License-Identifier: Apache-2.0
"""The certificate in the OpenAPI document: its closed shape as JSON Schema, with a sentence to every field."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from epimeter.trust.certificate import BODY, SHAPE
from epimeter.trust.shape import Optional, Shape, schema_of

SENTENCES = {
    "certificate": "What the certificate is, and for how long.",
    "certificate.id": "Its id; it cannot be guessed.",
    "certificate.version": "Version of the form of certificates.",
    "certificate.issued_at": "When it was issued, in UTC.",
    "certificate.expires_at": "When it ends: twelve months after its issue.",
    "certificate.level": "The level after ERS that the numbers earn.",
    "certificate.status": "The status at its issue; where it stands now says its live status.",
    "certificate.supersedes": "The certificate that it takes the place of; null where there is none.",
    "standard": "The standard, and the profile under which it was applied.",
    "standard.id": "The standard.",
    "standard.version": "Its version.",
    "standard.profile": "The fixed settings of every certificate: bins, threshold, interval.",
    "issuer": "Who signed.",
    "issuer.id": "The issuer's name or address.",
    "issuer.key_id": "The id of the key that signed.",
    "subject": "What is certified.",
    "subject.organization": "The organisation that answers for the system.",
    "subject.system_id": "The id of the system, chosen by its organisation.",
    "subject.system_version": "The version that was evaluated.",
    "subject.domain": "Field of use; it has a part in the score.",
    "subject.digests": "Digests of the model's files, where they were given.",
    "subject.digests.alg": "How the digest was made.",
    "subject.digests.value": "The digest, in hex.",
    "metrics": "The numbers, rounded to nine decimals.",
    "metrics.ece": "Expected calibration error, from 0 to 1.",
    "metrics.ece_ci95": "Its 95 % interval.",
    "metrics.u_recall": "Of the wrong answers, the percentage given with low confidence.",
    "metrics.u_recall_ci95": "Its 95 % interval; null where no answer was wrong.",
    "metrics.ers": "Score of risk; less is better.",
    "metrics.ers_raw_ci95": "The 95 % interval of the score before it is cut to an integer.",
    "metrics.accuracy": "Share of the answers that were right.",
    "metrics.sample_size": "Number of labelled records.",
    "metrics.evaluation_period": "First and last moment of the data.",
    "metrics.evaluation_period.start": "The first moment.",
    "metrics.evaluation_period.end": "The last moment.",
    "evidence": "What the numbers were computed from, and by what.",
    "evidence.dataset_digest": "Digest over the columns of the data set, or over its parts.",
    "evidence.records_root": "Root of the tree over the records, by which single records can be disclosed.",
    "evidence.config_digest": "Digest of all settings that influence the numbers.",
    "evidence.forecast": "How the forecasts were read; certificates from before it was recorded do not have it.",
    "evidence.forecast.kind": "The kind of forecast.",
    "evidence.forecast.meaning": "What the confidence means, in words.",
    "evidence.recalibrated_by": "The map that changed the predictions before the evaluation, with its digest; else absent.",
    "evidence.code_digest": "Digest of the program that measured.",
    "evidence.report_digest": "Digest of the report beside the certificate; null where there is none.",
    "evidence.engine": "The program that measured.",
    "evidence.engine.name": "Its name.",
    "evidence.engine.version": "Its version.",
    "evidence.bins": "The bins of confidence.",
    "evidence.bins.strategy": "How they are cut.",
    "evidence.bins.m": "How many there are.",
    "evidence.interval_method": "How the intervals were computed.",
    "evidence.covered_bins": "Bins that hold records.",
    "evidence.largest_class_share": "Share of the records in the largest class; null where classes are not known.",
    "evidence.unlabelled": "Records without truth, counted and left out.",
    "evidence.preregistration": "The pre-registration that it keeps; null where there is none.",
    "evidence.preregistration.id": "Its id.",
    "evidence.preregistration.log_index": "Where the log holds it.",
    "evidence.preregistration.entry_digest": "SHA-256 of the entry in the log.",
    "evidence.preregistration.registered_at": "When the log took it in, in UTC.",
    "evidence.attempt": "Which evaluation of this system it is, counted from 1.",
    "evidence.similar_systems": "Further systems of the organisation with similar names at the issue; else absent.",
    "evidence.similar_systems.systems": "How many there are.",
    "evidence.similar_systems.evaluations": "How many evaluations they had.",
    "evidence.assurance": "Whether every interval lies on one side of every limit of the levels (firm) or not (marginal).",
    "evidence.conducted_by": "Who evaluated.",
    "compliance": "What it may be used as evidence for; no claim of conformity with a law.",
    "compliance.onto_ers": "The level of the certificate.",
    "compliance.eu_ai_act": "The mapping to this text informs and binds nobody.",
    "compliance.nist_rmf": "The mapping to this text informs and binds nobody.",
    "compliance.iso_42001": "The mapping to this text informs and binds nobody.",
    "compliance.mapping": "Which edition of the mapping.",
    "compliance.evidence_for": "The places that it may serve as evidence for.",
    "credential_status": "Where its live status is published.",
    "credential_status.list": "The address of the signed status list.",
    "credential_status.index": "Its place in the list.",
    "signature": "The issuer's signature over everything but this block and `transparency`.",
    "signature.algorithm": "The kind of signature.",
    "signature.key_id": "The id of the key; the same as in `issuer`.",
    "signature.public_key": "The key in base64; a verifier believes only one that he pinned.",
    "signature.value": "The signature in base64.",
    "transparency": "The proof that a public log holds it.",
    "transparency.origin": "The name of the log.",
    "transparency.tlog_proof": "Proof of inclusion with the log's signed checkpoint, after c2sp.org/tlog-proof.",
    "transparency.preregistration": "The same for its pre-registration; null where there is none.",
    "transparency.preregistration.entry": "The entry as the log holds it.",
    "transparency.preregistration.tlog_proof": "Proof of inclusion of the entry.",
}


class Certificate:
    """A certificate with its signature and the proof that the log holds it."""


BODY_NAME = "CertificateBody"


def certificate_components(ref: str) -> dict[str, Any]:
    """The schemas of the certificate, of what of it is signed, and of their parts, by name."""
    made: dict[str, Any] = {}
    add_shape(made, Certificate.__name__, SHAPE, "", ref, SENTENCES)
    whole = made[Certificate.__name__]
    whole["description"] = Certificate.__doc__
    made[BODY_NAME] = whole | {
        "title": BODY_NAME,
        "description": "What of a certificate is signed.",
        "properties": {field: whole["properties"][field] for field in BODY},
        "required": list(BODY),
    }
    return made


def add_shape(
    made: dict[str, Any], name: str, shape: Shape, path: str, ref: str, sentences: Mapping[str, str]
) -> dict[str, Any]:
    """Add the schema of a shape and of those within; how it is referred to."""
    properties = {}
    for field, check in shape.items():
        place = f"{path}{field}"
        part = name + field.title().replace("_", "")
        inner = partial(add_shape, made, part, path=f"{place}.", ref=ref, sentences=sentences)
        properties[field] = schema_of(check, inner) | {"description": sentences[place]}
    made[name] = {
        "title": name,
        "description": sentences.get(path.removesuffix("."), ""),
        "type": "object",
        "properties": properties,
        "required": [field for field, check in shape.items() if not isinstance(check, Optional)],
        "additionalProperties": False,
    }
    return {"$ref": ref.format(name=name)}
