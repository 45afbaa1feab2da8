# SPDX-License-Identifier: Apache-2.0
"""Which key has which role, from when to when, and what its end means for what it signed.

A key that is *retired* or expired still proves the documents of its time. A key that is *compromised* proves nothing
that its thief could have written and dated back: only documents that an outsider saw before the theft.
Every change gives a new ring; none is made in place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from epimeter.errors import KeyStoreError, VerificationError
from epimeter.trust.canonical import from_moment, to_moment
from epimeter.trust.keys import PublicKey
from epimeter.trust.strict_json import fields_of, list_of, malformed, text_of

# How long a key of each role is meant to live. A key has one role: what one signs, another must not be able to sign.
ROLES = {
    "root": timedelta(days=3650),
    "issuer": timedelta(days=90),
    "log": timedelta(days=3650),
    "status": timedelta(days=90),
    "auditor": timedelta(days=730),
}
OVERLAP = timedelta(days=7)
REASONS = ("retired", "compromised")


@dataclass(frozen=True, slots=True)
class Revocation:
    """The early end of a key."""

    at: datetime
    reason: str

    def __post_init__(self) -> None:
        if self.reason not in REASONS:
            raise malformed(f"the reason of a revocation must be retired or compromised; got {self.reason[:40]!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """A public key with its role and its time; a log's key also has the log's name.

    An issuer's key and a status list's may name the issuer: then they speak for that one and for no other. Keys made before
    names were given have none.
    """

    public: PublicKey
    role: str
    valid_from: datetime
    valid_until: datetime
    revoked: Revocation | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise malformed(f"the role of a key must be one of {', '.join(ROLES)}; got {self.role[:40]!r}")
        if self.valid_until <= self.valid_from:
            raise malformed(f"key {self.id[:8]} must end after it begins; it ends {to_moment(self.valid_until)}")
        if (self.name is None and self.role == "log") or (self.name is not None and self.role == "root"):
            raise malformed(f"a log's key must have the log's name, and a root key none; see {self.id[:8]}")

    @property
    def id(self) -> str:
        """The thumbprint of the key."""
        return self.public.id

    @property
    def end(self) -> datetime:
        """When it stops to sign: as planned or, ended early, before."""
        return self.valid_until if self.revoked is None else min(self.valid_until, self.revoked.at)

    def check(self, issued_at: datetime, *, proven_at: datetime | None = None) -> None:
        """Raise unless this key may stand behind a document of that date.

        Parameters
        ----------
        issued_at
            The date the document gives itself.
        proven_at
            When an outsider is known to have seen it: a witness's cosignature or a time stamp. Only this counts
            against a compromised key, whose thief writes any date into a document.
        """
        if self.revoked is not None and self.revoked.reason == "compromised":
            if proven_at is None or proven_at >= self.revoked.at:
                raise VerificationError(
                    f"key {self.id[:8]} was compromised at {to_moment(self.revoked.at)}; "
                    "only what an outsider saw before then may be believed",
                    code="key_compromised",
                )
            issued_at = min(issued_at, proven_at)
        if issued_at < self.valid_from:
            raise VerificationError(
                f"key {self.id[:8]} is valid from {to_moment(self.valid_from)}; "
                f"the document is of {to_moment(issued_at)}",
                code="key_not_yet_valid",
            )
        if issued_at >= self.end:
            raise VerificationError(
                f"key {self.id[:8]} was valid until {to_moment(self.end)}; the document is of {to_moment(issued_at)}",
                code="key_expired",
            )

    def can_sign(self, at: datetime) -> bool:
        """Whether this key may sign something new at that moment."""
        ended = self.revoked is not None and (self.revoked.reason == "compromised" or self.revoked.at <= at)
        return self.valid_from <= at < self.valid_until and not ended

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON."""
        revoked = None
        if self.revoked is not None:
            revoked = {"at": to_moment(self.revoked.at), "reason": self.revoked.reason}
        return {
            "key": self.public.to_jwk(),
            "role": self.role,
            "valid_from": to_moment(self.valid_from),
            "valid_until": to_moment(self.valid_until),
            "revoked": revoked,
            "name": self.name,
        }

    @classmethod
    def from_json(cls, value: Any) -> KeyRecord:
        """The record that `to_json` wrote."""
        record = fields_of(value, "a key record", ("key", "role", "valid_from", "valid_until", "revoked", "name"))
        revoked = None
        if record["revoked"] is not None:
            end = fields_of(record["revoked"], "revoked of a key record", ("at", "reason"))
            revoked = Revocation(from_moment(end["at"], "revoked.at"), text_of(end["reason"], "revoked.reason"))
        name = record["name"]
        return cls(
            public=PublicKey.from_jwk(record["key"]),
            role=text_of(record["role"], "role of a key record"),
            valid_from=from_moment(record["valid_from"], "valid_from of a key record"),
            valid_until=from_moment(record["valid_until"], "valid_until of a key record"),
            revoked=revoked,
            name=None if name is None else text_of(name, "name of a key record"),
        )


@dataclass(frozen=True, slots=True)
class KeyRing:
    """Key records, each key once."""

    records: tuple[KeyRecord, ...] = ()

    def __post_init__(self) -> None:
        seen: set[bytes] = set()
        for record in self.records:
            if record.public.raw in seen:
                raise malformed(f"a key must stand once in a ring; {record.id[:8]} stands twice")
            seen.add(record.public.raw)

    def __iter__(self) -> Iterator[KeyRecord]:
        return iter(self.records)

    def find(self, key_id: str, role: str) -> KeyRecord:
        """The record of that id; a key of another role counts as unknown."""
        for record in self.records:
            if record.id == key_id and record.role == role:
                return record
        raise VerificationError(f"key {key_id[:8]!r} is not a trusted key of the role {role}", code="untrusted_key")

    def keys(self, role: str) -> dict[str, PublicKey]:
        """Every key that has or had the role, by id; whether its time fits is for `KeyRecord.check` to say."""
        return {record.id: record.public for record in self.records if record.role == role}

    def signing(self, role: str, at: datetime) -> KeyRecord:
        """The key to sign with: of those in force, the newest."""
        able = [record for record in self.records if record.role == role and record.can_sign(at)]
        if not able:
            ends = [record.end for record in self.records if record.role == role]
            last = f"; the last one ended {to_moment(max(ends))}" if ends else ""
            raise KeyStoreError(f"no key of the role {role} is in force at {to_moment(at)}{last}; add or rotate one")
        return max(able, key=lambda record: record.valid_from)

    def newest(self, role: str) -> KeyRecord:
        """The key of a role that came last, in force or not."""
        records = [record for record in self.records if record.role == role]
        if not records:
            raise KeyStoreError(f"no key of the role {role} is in the ring; add one")
        return max(records, key=lambda record: record.valid_from)

    def add(
        self,
        public: PublicKey,
        role: str,
        at: datetime,
        *,
        life: timedelta | None = None,
        name: str | None = None,
    ) -> KeyRing:
        """The ring with one more key, in force from `at`."""
        until = at + (ROLES.get(role, timedelta(days=1)) if life is None else life)
        record = KeyRecord(public=public, role=role, valid_from=at, valid_until=until, name=name)
        return KeyRing((*self.records, record))

    def rotate(
        self,
        public: PublicKey,
        role: str,
        at: datetime,
        *,
        life: timedelta | None = None,
        overlap: timedelta = OVERLAP,
    ) -> KeyRing:
        """The ring with a successor for the keys that sign now, which stay valid for the overlap.

        A ring whose keys of the role have all ended gets a successor too: what they signed in their time stays good.
        """
        name, ring = self.newest(role).name, self
        for old in self.records:
            if old.role == role and old.can_sign(at):
                ring = ring._with(replace(old, valid_until=min(old.valid_until, at + overlap)))
        return ring.add(public, role, at, life=life, name=name)

    def retire(self, key_id: str, at: datetime) -> KeyRing:
        """The ring in which that key signs nothing from `at` on; what it signed before stays good."""
        return self._end(key_id, Revocation(at, "retired"))

    def compromise(self, key_id: str, at: datetime) -> KeyRing:
        """The ring in which that key proves only what outsiders saw before `at`."""
        return self._end(key_id, Revocation(at, "compromised"))

    def _end(self, key_id: str, end: Revocation) -> KeyRing:
        for record in self.records:
            if record.id == key_id:
                before = record.revoked
                # Worse news replaces better; an end once published is never put off.
                if before is not None and (before.reason == "compromised" or end.reason == "retired"):
                    raise KeyStoreError(f"key {key_id[:8]} is already {before.reason} at {to_moment(before.at)}")
                return self._with(replace(record, revoked=end))
        raise KeyStoreError(f"no key {key_id[:8]!r} is in the ring")

    def _with(self, record: KeyRecord) -> KeyRing:
        return KeyRing(tuple(record if old.id == record.id else old for old in self.records))

    def to_json(self) -> list[dict[str, Any]]:
        """The ring as plain JSON."""
        return [record.to_json() for record in self.records]

    @classmethod
    def from_json(cls, value: Any) -> KeyRing:
        """The ring that `to_json` wrote."""
        return cls(tuple(KeyRecord.from_json(record) for record in list_of(value, "a key ring")))

    def to_jwks(self, at: datetime, *, historical: bool = False) -> dict[str, Any]:
        """The keys as a JSON Web Key Set: those in force or, `historical`, those that were.

        A historical key carries `exp` and, if it ended early, `revoked`, after OpenID Federation.
        """
        keys: list[dict[str, Any]] = []
        for record in self.records:
            if record.role == "root" or record.valid_from > at or record.can_sign(at) == historical:
                continue
            end = {"iat": int(record.valid_from.timestamp()), "exp": int(record.valid_until.timestamp())}
            key: dict[str, Any] = {**record.public.to_jwk(), **end}
            if record.revoked is not None:
                moment = int(record.revoked.at.timestamp())
                key["revoked"] = {"revoked_at": moment, "reason": record.revoked.reason}
            keys.append(key)
        return {"keys": keys}
