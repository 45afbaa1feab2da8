# SPDX-License-Identifier: Apache-2.0
"""Attestations of auditors, entered into an issuer's log and kept beside it, so that everybody can read and verify them."""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from epimeter.errors import InputError
from epimeter.trust import standing
from epimeter.trust.attestation import BASES, certificate_digest, open_attestation, stated
from epimeter.trust.canonical import load_canonical, to_base64, to_moment
from epimeter.trust.entries import log_entry
from epimeter.trust.envelope import Envelope
from epimeter.trust.keys import PublicKey
from epimeter.trust.registry_rows import reading
from epimeter.trust.standing import Event
from epimeter.trust.succession import put

if TYPE_CHECKING:
    from epimeter.trust.registry import Registry, Signers

TABLE = (
    "CREATE TABLE IF NOT EXISTS attestations (log_index INTEGER PRIMARY KEY, certificate TEXT NOT NULL, "
    "envelope BLOB NOT NULL, public_key TEXT, entered_by TEXT)"
)


@dataclass(frozen=True, kw_only=True)
class Entered:
    """An attestation as the registry holds it. Whether its auditor is to be believed is for the reader to say."""

    log_index: int
    certificate: str
    auditor: str
    basis: tuple[str, ...]
    scope: str
    attested_at: str
    key_id: str
    public_key: str | None
    """The auditor's key, with which the signature was checked on entry; None in entries of before it was asked for."""
    entered_by: str | None
    """The account that brought it."""
    envelope: bytes

    @property
    def sentence(self) -> str:
        """What it says, in words."""
        did = " and ".join(BASES[one] for one in self.basis)
        return f"{self.auditor} (key {self.key_id[:8]}) on {self.attested_at[:10]}: {did}; scope: {self.scope}"


class AlreadyEnteredError(InputError):
    """The log has this very attestation."""

    def __init__(self, identity: str, log_index: int) -> None:
        super().__init__(f"this attestation of {identity} is in the log already", field="attestation")
        self.log_index = log_index


def enter_attestation(
    registry: Registry,
    data: bytes,
    signers: Signers,
    at: datetime,
    *,
    key: PublicKey,
    entered_by: str | None = None,
) -> int:
    """Enter an auditor's attestation of a certificate into the log; gives the index of the entry.

    Its signature is checked with the auditor's key first; a key of the issuer is none of an auditor.
    """
    found, sealed = stated(data), Envelope.from_json(data)
    identity = found["certificate"]
    document = load_canonical(registry.certificate(identity))
    if certificate_digest(document) != found["digest"]:
        raise InputError(
            f"the attestation is not of the certificate {identity} that was issued here", field="attestation"
        )
    if any(record.public.raw == key.raw for record in registry.root().ring):
        raise InputError("an issuer cannot attest its own certificates; this key is one of its own", field="key")
    open_attestation(data, document, {key.id: key})
    status = registry.standing(identity, at).status
    places: list[int] = []

    def enter(connection: sqlite3.Connection, size: int) -> list[bytes]:
        connection.execute(TABLE)
        before = connection.execute(
            "SELECT log_index FROM attestations WHERE certificate = ? AND envelope = ?", (identity, data)
        ).fetchone()
        if before is not None:
            raise AlreadyEnteredError(identity, before[0])
        places.append(size)
        reason = f"attested by {found['auditor']}: {', '.join(found['basis'])}"
        event = Event(
            certificate=identity, at=to_moment(at), log_index=size, cause="attested", status=status, reason=reason
        )
        standing.keep(connection, event)
        connection.execute(
            "INSERT INTO attestations VALUES (?, ?, ?, ?, ?)", (size, identity, data, to_base64(key.raw), entered_by)
        )
        digest = hashlib.sha256(sealed.signed_bytes).hexdigest()
        key_id, basis = sealed.signatures[0].key_id, ",".join(found["basis"])
        return [log_entry("attestation.entered", identity, to_moment(at), digest=digest, key_id=key_id, basis=basis)]

    registry.append(enter, signers, at)
    put(registry.folder / f"attestations/{identity}-{places[0]}.json", data)
    return places[0]


def attestations(registry: Registry, identity: str) -> tuple[Entered, ...]:
    """The attestations of a certificate, in the order in which they were entered."""
    with reading(registry.folder / "log.db") as connection:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'attestations'").fetchone() is None:
            return ()
        rows = connection.execute(
            "SELECT log_index, envelope, public_key, entered_by FROM attestations WHERE certificate = ? ORDER BY log_index",
            (identity,),
        ).fetchall()
    return tuple(_entered(*row) for row in rows)


def _entered(log_index: int, envelope: Any, public_key: str | None, entered_by: str | None) -> Entered:
    found = stated(bytes(envelope))
    return Entered(
        log_index=log_index,
        certificate=found["certificate"],
        auditor=found["auditor"],
        basis=tuple(found["basis"]),
        scope=found["scope"],
        attested_at=found["attested_at"],
        key_id=Envelope.from_json(bytes(envelope)).signatures[0].key_id,
        public_key=public_key,
        entered_by=entered_by,
        envelope=bytes(envelope),
    )
