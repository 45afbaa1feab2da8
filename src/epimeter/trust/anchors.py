# SPDX-License-Identifier: Apache-2.0
"""Trust anchors: the keys and logs that a verifier believes, and for whom each may speak."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

from epimeter.errors import InputError, VerificationError
from epimeter.trust.checkpoint import LogPolicy
from epimeter.trust.key_ring import KeyRecord, KeyRing
from epimeter.trust.keys import PublicKey
from epimeter.trust.note import NoteKey
from epimeter.trust.root import TrustRoot
from epimeter.trust.strict_json import malformed


@dataclass(frozen=True, kw_only=True)
class Trust:
    """Whom we believe: keys of issuers and status lists, with their times, and logs.

    Nothing in a document adds to it.
    """

    ring: KeyRing
    logs: tuple[LogPolicy, ...] = ()
    log_issuers: Mapping[str, str] = field(default_factory=dict)
    """For which issuer a log speaks, by its origin, where that was said."""

    @classmethod
    def of(cls, root: TrustRoot) -> Trust:
        """Everything that a trust root vouches for."""
        origins = dict.fromkeys(record.name for record in root.ring if record.role == "log" and record.name)
        policies = []
        for origin in origins:
            try:
                policies.append(root.log_policy(origin))
            except VerificationError:  # all its keys are compromised: then it is not believed
                continue
        return cls(ring=root.ring, logs=tuple(policies))

    @classmethod
    def pinned(
        cls,
        issuers: tuple[PublicKey, ...],
        *,
        logs: tuple[NoteKey, ...] = (),
        statuses: tuple[PublicKey, ...] = (),
        whose: Mapping[str, str] | None = None,
    ) -> Trust:
        """Keys that were given by hand: nothing is known about their times, so they count always.

        `whose` says for which issuer a key speaks, by key id, or by origin for a log's. Where keys of more than one issuer may
        be among them, each must say so: else one issuer could sign, log or un-revoke for another.
        """
        named = dict(whose or {})
        keys = {*issuers, *statuses}
        many = max(len(set(issuers)), len(set(statuses)), len({key.name for key in logs})) > 1
        unbound = [key.id for key in keys if key.id not in named] + [key.name for key in logs if key.name not in named]
        if many and unbound:
            raise InputError(
                f"of several keys each must say for which issuer it speaks; {unbound[0][:40]!r} does not. "
                "Write ISSUER=KEY, as https://registry.example=KEY, or use a trust root",
                field="key",
            )
        ever = (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC))
        records = tuple(
            KeyRecord(public=key, role=role, valid_from=ever[0], valid_until=ever[1], name=named.get(key.id))
            for role, given in (("issuer", issuers), ("status", statuses))
            for key in dict.fromkeys(given)
        )
        if {key.public for key in logs} & {*issuers, *statuses}:
            raise malformed("a key has one role; the key of a log is given as an issuer's or a status list's too")
        origins = dict.fromkeys(key.name for key in logs)
        policies = tuple(LogPolicy(log_keys=tuple(key for key in logs if key.name == name)) for name in origins)
        log_issuers = {key.name: named[key.name] for key in logs if key.name in named}
        return cls(ring=KeyRing(records), logs=policies, log_issuers=log_issuers)

    def speaking_for(self, issuer: str) -> Trust:
        """What of it may speak for one issuer: its own keys and logs, and those of which nobody said whose they are."""
        ring = KeyRing(tuple(one for one in self.ring if one.role == "log" or one.name in (None, issuer)))
        logs = tuple(one for one in self.logs if self.log_issuers.get(one.origin, issuer) == issuer)
        return Trust(ring=ring, logs=logs, log_issuers=self.log_issuers)

    @cached_property
    def issuers(self) -> dict[str, KeyRecord]:
        """Records of issuers by key id."""
        return {record.id: record for record in self.ring if record.role == "issuer"}

    @cached_property
    def statuses(self) -> dict[str, KeyRecord]:
        """Records of status keys by key id."""
        return {record.id: record for record in self.ring if record.role == "status"}

    @cached_property
    def log_ends(self) -> dict[PublicKey, datetime]:
        """When each log key ends, of those whose time is known."""
        return {record.public: record.end for record in self.ring if record.role == "log"}

    @cached_property
    def policies(self) -> dict[str, LogPolicy]:
        """Whom to believe about a log, by its origin."""
        return {policy.origin: policy for policy in self.logs}
