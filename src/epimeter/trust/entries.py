# SPDX-License-Identifier: Apache-2.0
"""What the public log remembers: one canonical JSON object an event, digests in place of documents.

Every entry has `type`, `id`, `time`, the SHA-256 `digest` of the bytes that were signed (or committed to) and, where
somebody signed, `key_id`; further fields are public by intent. Nothing personal is ever logged: it could never be removed.
A system appears as `system`, the digest of its organisation and id: who holds a certificate finds all its attempts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from epimeter.errors import VerificationError
from epimeter.trust.canonical import canonical_writer, from_moment, load_canonical
from epimeter.trust.strict_json import malformed, text_of
from epimeter.trust.tiles import ENTRY_LIMIT

TYPES = (
    "certificate.issued",
    "certificate.revoked",
    "certificate.suspended",
    "certificate.superseded",
    "certificate.restored",
    "key.added",
    "key.retired",
    "key.compromised",
    "evaluation.registered",
    "evaluation.result",
    "evaluation.renewal",
    "attestation.entered",
    "log.succeeded",
    "signal.committed",
    "status.published",
)


def log_entry(
    kind: str, identity: str, time: str, *, digest: str | None = None, key_id: str | None = None, **public: Any
) -> bytes:
    """An entry of the log.

    Parameters
    ----------
    kind
        One of `TYPES`.
    identity
        What it is about: the id of a certificate, of a key, of a registration.
    time
        When, as `to_moment` writes it.
    digest, key_id
        SHA-256 in hex of the signed bytes, and who signed them.
    public
        Further fields that everybody may see.
    """
    if kind not in TYPES:
        raise malformed(f"the type of a log entry must be one of {', '.join(TYPES)}; got {kind[:40]!r}")
    from_moment(time, "time of a log entry")
    entry: dict[str, Any] = {"type": kind, "id": identity, "time": time, **public}
    if digest is not None:
        entry["digest"] = f"sha-256:{digest}"
    if key_id is not None:
        entry["key_id"] = key_id
    doubles = [value for value in public.values() if isinstance(value, float | list | dict)]
    return canonical_writer(doubles)(entry).encode("utf-8")


def read_entry(data: bytes) -> dict[str, Any]:
    """The fields of an entry."""
    value = load_canonical(data, size_limit=ENTRY_LIMIT)
    if not isinstance(value, dict) or value.get("type") not in TYPES:
        raise VerificationError("an entry of this log must be an object with a known type", code="malformed")
    text_of(value.get("id"), "id of a log entry")
    from_moment(value.get("time"), "time of a log entry")
    return value


def system_digest(subject: Mapping[str, Any]) -> str:
    """The name of a system in the log: a digest of its organisation and its id, not of its version."""
    named = {"organization": subject["organization"], "system_id": subject["system_id"]}
    return f"sha-256:{hashlib.sha256(canonical_writer(None)(named).encode('utf-8')).hexdigest()}"


def issued_entry(body: Mapping[str, Any], signed_bytes: bytes, key_id: str) -> bytes:
    """The entry of a certificate: a function of the certificate alone, so that a verifier makes it himself."""
    head = body["certificate"]
    return log_entry(
        "certificate.issued",
        head["id"],
        head["issued_at"],
        digest=hashlib.sha256(signed_bytes).hexdigest(),
        key_id=key_id,
        level=head["level"],
        system=system_digest(body["subject"]),
        attempt=body["evidence"]["attempt"],
    )
