# SPDX-License-Identifier: Apache-2.0
"""What an auditor puts his own key behind: that a certificate was reproduced from its data, or audited on site.

An attestation is a signed document (DSSE) over the digest of the very bytes that the issuer signed, so that it fits one
certificate and no other. Its key has the role of an auditor and is pinned by whoever reads it; an issuer cannot attest himself,
because the key of an issuer is none of an auditor.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from epimeter.errors import InputError, VerificationError
from epimeter.trust.canonical import canonical_json, load_canonical, to_moment
from epimeter.trust.certificate import KIND as CERTIFICATE_KIND
from epimeter.trust.envelope import UNSIGNED, Envelope, open_sealed, pae, payload_type, seal
from epimeter.trust.keys import PublicKey, Signer
from epimeter.trust.names import CERTIFICATE, name_key
from epimeter.trust.shape import Shape, check_shape, each, identity, moment, name, pattern, word

KIND = "attestation"
BASES = {"reproduced": "reproduced from the data", "audited_on_site": "audited on site"}
"""What an auditor can say that he did."""


SHAPE: Shape = {
    "certificate": identity(CERTIFICATE),
    "digest": pattern("sha-256:[0-9a-f]{64}", "sha-256: and 64 hexadecimal digits"),
    "auditor": name,
    "basis": each(word(*BASES), len(BASES)),
    "scope": name,
    "attested_at": moment,
}


@dataclass(frozen=True, kw_only=True)
class Attestation:
    """An attestation that was verified."""

    certificate: str
    auditor: str
    basis: tuple[str, ...]
    scope: str
    attested_at: str
    key_id: str

    @property
    def sentence(self) -> str:
        """What it says, in words."""
        did = " and ".join(BASES[one] for one in self.basis)
        return (
            f"attested by {self.auditor} (key {self.key_id[:8]}) on {self.attested_at[:10]}: {did}; scope: {self.scope}"
        )


def certificate_digest(document: Mapping[str, Any]) -> str:
    """The SHA-256 of the bytes that the issuer of a certificate signed."""
    body = {name: part for name, part in document.items() if name not in UNSIGNED}
    signed = pae(payload_type(CERTIFICATE_KIND), canonical_json(body))
    return f"sha-256:{hashlib.sha256(signed).hexdigest()}"


def own_audit(document: Mapping[str, Any], auditor: str) -> str | None:
    """Why an attestation counts for nothing: an audit is by a third party (ERS 4.1); None where the auditor is one by name."""
    organization = str(document["subject"]["organization"])
    if name_key(auditor) != name_key(organization):
        return None
    return f"an audit is by a third party; the auditor {auditor!r:.60} is the organisation that the certificate is of"


def attest(
    document: Mapping[str, Any], signer: Signer, *, auditor: str, basis: Sequence[str], scope: str, at: datetime
) -> Envelope:
    """The signed attestation of a certificate."""
    if not basis:
        raise InputError(f"an attestation must say what was done: {', '.join(BASES)}; got nothing", field="basis")
    made = {
        "certificate": document["certificate"]["id"],
        "digest": certificate_digest(document),
        "auditor": auditor,
        "basis": list(basis),
        "scope": scope,
        "attested_at": to_moment(at),
    }
    check_shape(made, SHAPE, "attestation")
    if own := own_audit(document, auditor):
        raise InputError(own, field="auditor")
    return seal(made, KIND, signer)


def open_attestation(data: bytes, document: Mapping[str, Any], trusted: Mapping[str, PublicKey]) -> Attestation:
    """The attestation in these bytes, if a trusted auditor signed it and it is of this certificate."""
    opened = open_sealed(Envelope.from_json(data), KIND, trusted)
    found = opened.document
    check_shape(found, SHAPE, "attestation")
    if found["digest"] != certificate_digest(document):
        raise VerificationError(
            f"the attestation is of certificate {found['certificate']}, and not of these bytes",
            code="wrong_certificate",
        )
    if own := own_audit(document, found["auditor"]):
        raise VerificationError(own, code="own_audit")
    return Attestation(
        certificate=found["certificate"],
        auditor=found["auditor"],
        basis=tuple(found["basis"]),
        scope=found["scope"],
        attested_at=found["attested_at"],
        key_id=opened.key_ids[0],
    )


def stated(data: bytes) -> dict[str, Any]:
    """What an attestation says, unverified: to find the certificate and to enter it into the log."""
    found = load_canonical(Envelope.from_json(data).payload)
    check_shape(found, SHAPE, "attestation")
    assert isinstance(found, dict)
    return found
