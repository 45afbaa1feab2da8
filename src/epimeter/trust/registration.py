# SPDX-License-Identifier: Apache-2.0
"""The pre-registration: which system will be measured how, against which level, on which data, said before it is done.

It is signed, and its digest is logged. A certificate names the entry, so that a reader sees that the bar was set
before the data were evaluated, and the attempt number how often that was tried.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from epimeter.errors import VerificationError
from epimeter.standards.ers import LEVEL_NAMES
from epimeter.trust.canonical import load_canonical, to_moment
from epimeter.trust.certificate import STANDARD, SUBJECT, Subject, config_digest
from epimeter.trust.entries import log_entry, read_entry, system_digest
from epimeter.trust.envelope import Envelope, seal
from epimeter.trust.keys import Signer
from epimeter.trust.names import REGISTRATION
from epimeter.trust.shape import Shape, check_shape, count, identity, maybe, moment, name, word
from epimeter.trust.tiles import ENTRY_LIMIT

KIND = "registration"


REGISTRATION_SHAPE: Shape = {
    "registration": {"id": identity(REGISTRATION), "registered_at": moment},
    "issuer": {"id": name},
    "standard": {field: word(value) for field, value in STANDARD.items()},
    "subject": SUBJECT,
    "plan": {
        "config_digest": word(config_digest()),
        "aim": word(*LEVEL_NAMES[1:]),
        "data_source": name,
        "least_records": count(1),
        "dataset_digest": maybe(name),
    },
}


@dataclass(frozen=True, kw_only=True)
class RegisteredPlan:
    """What is promised: the level aimed at, where the data will come from, how many at least."""

    aim: str
    data_source: str
    least_records: int = 1000
    dataset_digest: str | None = None
    """Where the data exist already, without their outcomes being known: their digest."""


def registration(identity: str, subject: Subject, plan: RegisteredPlan, issuer: str, at: datetime) -> dict[str, Any]:
    """The document, ready to be signed."""
    document = {
        "registration": {"id": identity, "registered_at": to_moment(at)},
        "issuer": {"id": issuer},
        "standard": dict(STANDARD),
        "subject": subject.to_json(),
        "plan": {
            "config_digest": config_digest(),
            "aim": plan.aim,
            "data_source": plan.data_source,
            "least_records": plan.least_records,
            "dataset_digest": plan.dataset_digest,
        },
    }
    check_shape(document, REGISTRATION_SHAPE, "")
    return document


def sign_registration(document: Mapping[str, Any], signer: Signer) -> Envelope:
    """The registration under the issuer's signature."""
    return seal(document, KIND, signer)


def registered_entry(sealed: Envelope, document: Mapping[str, Any]) -> bytes:
    """What the log remembers of it."""
    head = document["registration"]
    return log_entry(
        "evaluation.registered",
        head["id"],
        head["registered_at"],
        digest=hashlib.sha256(sealed.signed_bytes).hexdigest(),
        key_id=sealed.signatures[0].key_id,
        system=system_digest(document["subject"]),
    )


def reference(entry: bytes, index: int) -> dict[str, Any]:
    """How a certificate names the entry of its registration."""
    fields = read_entry(entry)
    return {
        "id": fields["id"],
        "log_index": index,
        "entry_digest": f"sha-256:{hashlib.sha256(entry).hexdigest()}",
        "registered_at": fields["time"],
    }


def check_reference(body: Mapping[str, Any], entry: bytes) -> None:
    """Raise unless this entry, proven to be in the log, is the registration that the certificate names."""
    named = body["evidence"]["preregistration"]
    # An entry of that digest is the one that the issuer signed for, to the byte; only then it is read.
    same = f"sha-256:{hashlib.sha256(entry).hexdigest()}" == named["entry_digest"]
    fields = load_canonical(entry, size_limit=ENTRY_LIMIT) if same else None
    agreed = (
        isinstance(fields, dict)
        and fields.get("type") == "evaluation.registered"
        and fields.get("id") == named["id"]
        and fields.get("time") == named["registered_at"]
        and fields.get("system") == system_digest(body["subject"])
    )
    if not agreed:
        raise VerificationError(
            "the logged pre-registration is not the one that the certificate names", code="preregistration"
        )


def deviations(
    document: Mapping[str, Any], subject: Mapping[str, Any], level: str, records: int, dataset: str | None = None
) -> tuple[str, ...]:
    """What of a registration was not kept by an evaluation, one sentence each."""
    promised, plan = document["subject"], document["plan"]
    missed = []
    if system_digest(promised) != system_digest(subject):
        missed.append("the registration is of another system")
    if promised["system_version"] != subject["system_version"]:
        missed.append(f"version {promised['system_version']} was registered; {subject['system_version']} was evaluated")
    if promised["digests"] and promised["digests"] != subject["digests"]:
        missed.append("the registration names other model files")
    if promised["domain"] != subject["domain"]:
        missed.append(f"domain {promised['domain']} was registered; {subject['domain']} was evaluated")
    if LEVEL_NAMES.index(level) < LEVEL_NAMES.index(plan["aim"]):
        missed.append(f"level {plan['aim']} was registered; {level} was reached")
    if records < plan["least_records"]:
        missed.append(f"at least {plan['least_records']:,} records were registered; {records:,} were evaluated")
    if dataset is not None and plan["dataset_digest"] not in (None, dataset):
        missed.append("the registration names other data")
    return tuple(missed)
