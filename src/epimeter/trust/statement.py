# SPDX-License-Identifier: Apache-2.0
"""A certificate for tools that know nothing of certificates: as a DSSE envelope, and as an in-toto statement.

The envelope holds the very 64 bytes of the embedded signature. The statement is a new document about the same subject,
so it is signed anew by the issuer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from epimeter.trust.canonical import canonical_json
from epimeter.trust.certificate import KIND
from epimeter.trust.envelope import Envelope, Signature, extract, pae
from epimeter.trust.keys import Signer

IN_TOTO = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:epimeter:certificate:v1"


def to_envelope(document: Mapping[str, Any]) -> Envelope:
    """The DSSE envelope of a certificate with an embedded signature."""
    return extract(document, KIND)


def statement(body: Mapping[str, Any]) -> dict[str, Any]:
    """The in-toto statement: the model's digests are its subject, the certificate is its predicate.

    A certificate that names no model file is itself the subject.
    """
    named, head = body["subject"], body["certificate"]
    name = f"{named['organization']}/{named['system_id']}@{named['system_version']}"
    digests = [one["value"] for one in named["digests"]]
    subjects = [{"name": name, "digest": {"sha256": value}} for value in digests]
    if not subjects:
        own = hashlib.sha256(canonical_json(dict(body))).hexdigest()
        subjects = [{"name": head["id"], "digest": {"sha256": own}}]
    return {"_type": STATEMENT, "subject": subjects, "predicateType": PREDICATE, "predicate": dict(body)}


def sign_statement(body: Mapping[str, Any], signer: Signer) -> Envelope:
    """The statement in a DSSE envelope."""
    payload = canonical_json(statement(body))
    value = signer.sign(pae(IN_TOTO, payload))
    return Envelope(payload_type=IN_TOTO, payload=payload, signatures=(Signature(signer.public.id, value),))
