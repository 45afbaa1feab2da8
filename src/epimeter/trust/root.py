# SPDX-License-Identifier: Apache-2.0
"""The trust root: the versioned, signed list of keys from which all other trust starts.

The rules are those of The Update Framework. The first root is pinned by its fingerprint. A later one is believed only

1. as the next version, plus one and no other;
2. with enough signatures of the root keys of the version before, so that nobody can appoint himself;
3. with enough signatures of its own root keys, so that nobody is appointed who cannot sign.

Keys are counted, not names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from epimeter.errors import VerificationError
from epimeter.trust.canonical import canonical_json, from_moment, to_moment
from epimeter.trust.checkpoint import LogPolicy
from epimeter.trust.envelope import Envelope, open_sealed, seal
from epimeter.trust.key_ring import KeyRing
from epimeter.trust.keys import PublicKey, Signer
from epimeter.trust.note import COSIGNATURE, NoteKey
from epimeter.trust.strict_json import count_of, fields_of, list_of, load_json, malformed

KIND = "trust-root"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustRoot:
    """Every trusted key with its role, how many root keys must agree, and which witnesses a log needs."""

    version: int
    issued_at: datetime
    expires_at: datetime
    threshold: int
    ring: KeyRing
    witnesses: tuple[NoteKey, ...] = ()
    quorum: int = 0

    def __post_init__(self) -> None:
        if self.expires_at <= self.issued_at:
            raise malformed("a trust root must expire after it was issued")
        able = len(self.root_keys(self.issued_at))
        if not 1 <= self.threshold <= able:
            raise malformed(
                f"a trust root needs a threshold from 1 to the {able} root keys in force; got {self.threshold}"
            )
        if any(key.type != COSIGNATURE for key in self.witnesses):
            raise malformed("a witness of a trust root must have a key of type 4 (cosignature)")
        known = len({key.public for key in self.witnesses})
        if not 0 <= self.quorum <= known:
            raise malformed(f"a trust root asks for {self.quorum} witnesses; it has {known} distinct keys for them")

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the document, by which a first root is pinned."""
        return hashlib.sha256(canonical_json(self.to_document())).hexdigest()

    def root_keys(self, at: datetime) -> dict[str, PublicKey]:
        """The root keys in force at that moment, by id."""
        return {one.id: one.public for one in self.ring if one.role == "root" and one.can_sign(at)}

    def log_policy(self, origin: str) -> LogPolicy:
        """Whom to believe about the log of that origin; a log without a key here is not believed at all."""
        keys = tuple(
            NoteKey(one.name, one.public)
            for one in self.ring
            if one.role == "log" and one.name == origin and (one.revoked is None or one.revoked.reason == "retired")
        )
        if not keys:
            raise VerificationError(f"no key of a log {origin[:80]!r} is in the trust root", code="untrusted_key")
        return LogPolicy(log_keys=keys, witnesses=self.witnesses, quorum=self.quorum)

    def check(self, at: datetime) -> None:
        """Raise when the root has expired: then a newer one is kept from us."""
        if not self.issued_at <= at < self.expires_at:
            raise VerificationError(
                f"the trust root of version {self.version} holds from {to_moment(self.issued_at)} until "
                f"{to_moment(self.expires_at)}; fetch a newer one",
                code="root_expired",
            )

    def to_document(self) -> dict[str, Any]:
        """The root as plain JSON, to be signed."""
        return {
            "version": self.version,
            "issued_at": to_moment(self.issued_at),
            "expires_at": to_moment(self.expires_at),
            "threshold": self.threshold,
            "keys": self.ring.to_json(),
            "witnesses": [key.to_vkey() for key in self.witnesses],
            "quorum": self.quorum,
        }

    @classmethod
    def from_document(cls, value: Any) -> TrustRoot:
        """The root in plain JSON."""
        names = ("version", "issued_at", "expires_at", "threshold", "keys", "witnesses", "quorum")
        fields = fields_of(value, "a trust root", names)
        return cls(
            version=count_of(fields["version"], "version of a trust root", least=1),
            issued_at=from_moment(fields["issued_at"], "issued_at of a trust root"),
            expires_at=from_moment(fields["expires_at"], "expires_at of a trust root"),
            threshold=count_of(fields["threshold"], "threshold of a trust root", least=1),
            ring=KeyRing.from_json(fields["keys"]),
            witnesses=tuple(map(NoteKey.from_vkey, list_of(fields["witnesses"], "witnesses of a trust root"))),
            quorum=count_of(fields["quorum"], "quorum of a trust root"),
        )


def sign_root(root: TrustRoot, *signers: Signer) -> Envelope:
    """The root signed by holders of root keys, old and new."""
    return seal(root.to_document(), KIND, *signers)


def pin(envelope: Envelope, fingerprint: str) -> TrustRoot:
    """The first root: its document has the fingerprint that we were given, and its own keys signed it."""
    if hashlib.sha256(envelope.payload).hexdigest() != fingerprint:
        raise VerificationError(
            f"the trust root must have the fingerprint {fingerprint[:64]}; it has another", code="untrusted_key"
        )
    return _signed_by_itself(envelope)


def advance(old: TrustRoot, envelope: Envelope) -> TrustRoot:
    """The root after `old`; the rules stand at the top of this file."""
    new = _signed_by_itself(envelope)  # 3.
    if new.version != old.version + 1:  # 1.
        raise VerificationError(
            f"after version {old.version} of the trust root must come version {old.version + 1}; got {new.version}",
            code="rollback" if new.version <= old.version else "root_gap",
        )
    if new.issued_at < old.issued_at:
        raise VerificationError("a trust root must not be older than the one before", code="rollback")
    open_sealed(envelope, KIND, old.root_keys(new.issued_at), threshold=old.threshold)  # 2.
    return new


def follow(first: TrustRoot, later: Iterable[Envelope]) -> TrustRoot:
    """The newest root, step by step from one that is trusted; whether it has expired is asked last, of the result."""
    newest = first
    for envelope in later:
        newest = advance(newest, envelope)
    return newest


def _signed_by_itself(envelope: Envelope) -> TrustRoot:
    # The document names its own keys, so it is read before it is verified, and again, from the same bytes, after.
    claimed = TrustRoot.from_document(load_json(envelope.payload))
    opened = open_sealed(envelope, KIND, claimed.root_keys(claimed.issued_at), threshold=claimed.threshold)
    return TrustRoot.from_document(opened.document)
