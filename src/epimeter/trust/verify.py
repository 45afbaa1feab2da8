# SPDX-License-Identifier: Apache-2.0
"""From the bytes of a certificate to a verdict on it.

1. The bytes are few enough and nest no deeper than a document may.
2. They are JSON that can be read in one way only.
3. The document is signed, by Ed25519 and nothing else.
4. It has exactly the fields of a certificate, and is written in canonical form.
5. The key it names is one that we trust as an issuer, and the key it carries is that key.
6. The signature fits the bytes that were parsed.
7. The key was in force when the certificate was issued; if it is compromised, an outsider saw the certificate before.
8. The time of asking lies between issue and expiry.
9. The log that we trust proves that the certificate, and the pre-registration it names, were entered.
10. A status list, signed by a status key and fresh, says what has become of it.
11. Score, level and assurance follow from the numbers.

Steps 1 to 7 decide whether it is *authentic*, 8 to 10 whether it is *current*, 11 whether it is *consistent*. The three are
answered apart. Whoever is not authentic says nothing about the rest. Step 7 is finished after step 9, which may know the
outsider. The document of a verdict is the one that was verified, parsed once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple

from epimeter.errors import InputError, TrustError, VerificationError
from epimeter.trust.canonical import canonical_writer, from_base64, from_moment, to_moment
from epimeter.trust.certificate import BODY, KIND, SHAPE, check_consistent, from_sums
from epimeter.trust.checkpoint import LogPolicy, VerifiedCheckpoint
from epimeter.trust.entries import issued_entry
from epimeter.trust.envelope import UNSIGNED, Envelope, open_sealed, pae, payload_type
from epimeter.trust.key_ring import KeyRecord, KeyRing
from epimeter.trust.keys import ALGORITHM, PublicKey
from epimeter.trust.merkle import leaf_hash, verify_inclusion
from epimeter.trust.note import NoteKey
from epimeter.trust.registration import check_reference
from epimeter.trust.root import TrustRoot
from epimeter.trust.shape import check_shape
from epimeter.trust.status_list import KIND as STATUS_KIND
from epimeter.trust.status_list import StatusList, open_status_list
from epimeter.trust.strict_json import load_json, malformed
from epimeter.trust.tlog_proof import TlogProof, verify_proof

LIMIT = 1 << 17
"""Bytes of a certificate; one has about four thousand."""
TITLES = (
    "size and depth",
    "one reading",
    "signed with Ed25519",
    "closed schema, canonical form",
    "key pinned",
    "signature",
    "key in force",
    "time",
    "log",
    "status list",
    "numbers agree",
)
EXITS = {"VALID": 0, "STATUS_UNKNOWN": 4, "UNTRUSTED_KEY": 3, "NOT_LOGGED": 3}
"""Exit codes by word; INVALID(malformed) is 2, whatever else is 1."""
NOT_PROVEN = (
    "that the data are complete, representative or honestly labelled: they came from whoever submitted them",
    "that the system is safe, lawful or fit for a purpose",
    "anything about a PDF or page shown beside it, unless its digest is report_digest and was compared",
)
ONLY_SUMS = (
    "that the records have these sums: the issuer saw sums and digests alone; who holds the records can compare them"
)
# When several things are wrong, the gravest is the verdict.
_GRAVITY = ("INVALID", "UNTRUSTED_KEY", "NOT_LOGGED", "REVOKED", "NOT_YET_VALID", "EXPIRED", "SUSPENDED",
            "SUPERSEDED", "STATUS_UNKNOWN", "VALID")  # fmt: skip


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


class Step(NamedTuple):
    """What one step found: True, False, or None where it could not be taken."""

    number: int
    holds: bool | None
    sentence: str

    @property
    def title(self) -> str:
        """What the step is about."""
        return TITLES[self.number - 1]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The answer: a word, the three answers apart, every step, and the document if it is authentic."""

    word: str
    code: str | None
    sentence: str
    authentic: bool
    current: bool | None
    consistent: bool | None
    steps: tuple[Step, ...]
    certificate: dict[str, Any] | None
    log_index: int | None
    at: datetime

    @property
    def shown(self) -> str:
        """The word, with the code of what is wrong: INVALID(bad_signature)."""
        return f"INVALID({self.code})" if self.word == "INVALID" else self.word

    @property
    def exit_code(self) -> int:
        """0 valid, 1 invalid, 2 malformed, 3 policy, 4 status unknown."""
        return 2 if self.shown == "INVALID(malformed)" else EXITS.get(self.word, 1)

    @property
    def not_proven(self) -> tuple[str, ...]:
        """What nobody should read into it."""
        sums = self.certificate is not None and from_sums(self.certificate["evidence"])
        return (*NOT_PROVEN, ONLY_SUMS) if sums else NOT_PROVEN

    def to_json(self) -> dict[str, Any]:
        """The verdict as plain values."""
        return {
            "verdict": self.shown,
            "sentence": self.sentence,
            "authentic": self.authentic,
            "current": self.current,
            "consistent": self.consistent,
            "at": to_moment(self.at),
            "log_index": self.log_index,
            "steps": [
                {"step": step.number, "title": step.title, "holds": step.holds, "sentence": step.sentence}
                for step in self.steps
            ],
            "certificate": self.certificate,
            "not_proven": list(self.not_proven),
        }


def verify(
    data: bytes,
    trust: Trust,
    *,
    at: datetime,
    status: bytes | StatusList | None = None,
    least_status_version: int = 1,
) -> Verdict:
    """The verdict on the bytes of a certificate; never raises for what is in them.

    Parameters
    ----------
    data
        The certificate, as it was handed out.
    trust
        Whom to believe.
    at
        The moment that is asked about.
    status
        The signed status list as bytes, or one that `open_status_list` has opened already; None when there is none.
    least_status_version
        The newest version of the list that was seen before: an older one may hide a revocation.
    """
    if at.tzinfo is None:
        raise InputError(f"the moment asked about must have a time zone; got {at.isoformat()}", field="at")
    steps: list[Step] = []
    faults: list[tuple[str, str | None, str]] = []

    def took(number: int, sentence: str) -> None:
        steps.append(Step(number, True, sentence))

    def failed(number: int, word: str, code: str | None, sentence: str, *, unknown: bool = False) -> None:
        steps.append(Step(number, None if unknown else False, sentence))
        faults.append((word, code, sentence))

    try:
        document, body, signed, record = _authentic(data, trust, took)
    except VerificationError as fault:
        word = "UNTRUSTED_KEY" if fault.code == "untrusted_key" else "INVALID"
        failed(len(steps) + 1, word, fault.code, str(fault))
        return _verdict(steps, faults, None, None, at)
    index, seen = None, None
    try:
        index, seen = _logged(document, body, signed, trust.speaking_for(body["issuer"]["id"]))
    except VerificationError as fault:
        log_fault: VerificationError | None = fault
    else:
        log_fault = None
    issued = from_moment(body["certificate"]["issued_at"], "issued_at")
    try:
        record.check(issued, proven_at=seen)
        took(7, f"key {body['issuer']['key_id'][:8]} was in force at {body['certificate']['issued_at']}")
    except VerificationError as fault:
        failed(7, "INVALID", fault.code, str(fault))
        return _verdict(steps, faults, None, None, at)
    word, sentence = _time(body, at)
    if word == "VALID":
        took(8, sentence)
    else:
        failed(8, word, None, sentence)
    if log_fault is None:
        took(9, f"entry {index} of the log {document['transparency']['origin']}")
    else:
        failed(9, "NOT_LOGGED", log_fault.code, str(log_fault))
    word, sentence = _status(body, trust, at, status, least_status_version)
    if word == "VALID":
        took(10, sentence)
    else:
        failed(10, word, None, sentence, unknown=word == "STATUS_UNKNOWN")
    try:
        check_consistent(body)
        took(11, f"ERS {body['metrics']['ers']} and level {body['certificate']['level']} follow from the numbers")
    except (VerificationError, InputError) as fault:
        failed(11, "INVALID", "inconsistent", str(fault))
    return _verdict(steps, faults, body, index, at)


def _authentic(data: bytes, trust: Trust, took: Any) -> tuple[dict[str, Any], dict[str, Any], bytes, KeyRecord]:
    # Steps 1 to 6. Of the document only what is needed to find the key is read before the signature is verified.
    document = load_json(data, size_limit=LIMIT)  # 1., 2.
    took(1, f"{len(data):,} bytes")
    if not isinstance(document, dict):
        raise malformed("a certificate must be a JSON object")
    took(2, "every other JSON reader reads the same")
    block = document.get("signature")  # 3.
    if block is None or block == {} or block == "":
        raise VerificationError("the certificate must be signed; its signature is missing", code="no_signature")
    if isinstance(block, dict) and block.get("algorithm", ALGORITHM) != ALGORITHM:
        raise VerificationError(
            f"the signature algorithm must be Ed25519; got {str(block['algorithm'])[:40]!r}", code="algorithm"
        )
    took(3, "algorithm Ed25519")
    check_shape(document, SHAPE, "", absent=("transparency",))  # 4.
    # By the shape there are no other doubles than these.
    write = canonical_writer([document["metrics"], document["evidence"]["largest_class_share"]])
    if write(document).encode("utf-8") != data:
        raise malformed("a certificate must be in canonical form (RFC 8785), as handed out, not printed otherwise")
    took(4, "exactly the fields of a certificate, canonically written")
    record = trust.issuers.get(block["key_id"])  # 5.
    raw = from_base64(block["public_key"], "signature.public_key")
    if record is None or raw != record.public.raw:
        PublicKey(raw)  # a weak key is called so
        raise VerificationError(
            f"the certificate is signed by key {block['key_id'][:8]!r}; it is none of the trusted keys of an issuer"
            if record is None
            else f"signature.public_key is not key {block['key_id'][:8]!r} that signature.key_id names",
            code="untrusted_key",
        )
    if record.name not in (None, document["issuer"]["id"]):
        raise VerificationError(
            f"key {block['key_id'][:8]!r} is trusted to speak for {record.name}; the certificate names another issuer",
            code="untrusted_key",
        )
    took(5, f"key {block['key_id'][:8]} is a trusted key of an issuer")
    body = {name: content for name, content in document.items() if name not in UNSIGNED}  # 6.
    signed = pae(payload_type(KIND), write(body).encode("utf-8"))
    value = from_base64(block["value"], "signature.value")
    record.public.verify(signed, value, "the signature of the certificate")
    if document["issuer"]["key_id"] != block["key_id"]:
        raise VerificationError("issuer.key_id must be the key that signed", code="inconsistent")
    took(6, "the signature fits every byte")
    return document, body, signed, record


def _logged(
    document: Mapping[str, Any], body: Mapping[str, Any], signed: bytes, trust: Trust
) -> tuple[int, datetime | None]:
    block = document.get("transparency")
    if block is None:
        raise VerificationError("the certificate carries no proof that it was logged", code="no_proof")
    policy = trust.policies.get(block["origin"])
    if policy is None:
        raise VerificationError(f"the log {block['origin'][:80]!r} is none of the trusted logs", code="untrusted_key")
    proof = TlogProof.from_text(block["tlog_proof"])
    if proof.extra is not None:
        raise malformed("the proof in a certificate must have no extra line")
    verified = verify_proof(proof, issued_entry(body, signed, body["issuer"]["key_id"]), policy)
    _refuse_ended(verified, trust, body["certificate"]["issued_at"])
    named, shown = body["evidence"]["preregistration"], block["preregistration"]
    if (named is None) != (shown is None):
        raise VerificationError("a named pre-registration and its proof must come together", code="preregistration")
    if shown is not None:
        entry = shown["entry"].encode("utf-8", "surrogatepass")
        before = TlogProof.from_text(shown["tlog_proof"])
        if before.checkpoint == proof.checkpoint:
            tree = verified.checkpoint
            verify_inclusion(leaf_hash(entry), before.index, tree.size, before.hashes, tree.root)
        else:
            _refuse_ended(verify_proof(before, entry, policy), trust, named["registered_at"])
        check_reference(body, entry)
        if before.index != named["log_index"] or before.index >= proof.index or before.extra is not None:
            raise VerificationError(
                f"the pre-registration must be entry {named['log_index']}, before the certificate's entry {proof.index}",
                code="preregistration",
            )
    return proof.index, verified.proven_at


def _refuse_ended(verified: VerifiedCheckpoint, trust: Trust, moment: str) -> None:
    # A checkpoint is no older than its entries, so a log key that ended before them cannot have signed it in its time.
    ends = [trust.log_ends.get(key.public) for key in verified.signed_by]
    at = from_moment(moment, "the time of an entry")
    if not any(end is None or at < end for end in ends):
        raise VerificationError(
            f"the log key that signed the checkpoint had ended when the entry of {moment} was made", code="key_expired"
        )


def _time(body: Mapping[str, Any], at: datetime) -> tuple[str, str]:
    head = body["certificate"]
    if at < from_moment(head["issued_at"], "issued_at"):
        return "NOT_YET_VALID", f"the certificate is valid from {head['issued_at']}; asked for {to_moment(at)}"
    if at >= from_moment(head["expires_at"], "expires_at"):
        return "EXPIRED", f"the certificate expired at {head['expires_at']}; asked for {to_moment(at)}"
    return "VALID", f"valid from {head['issued_at']} until {head['expires_at']}"


def _status(
    body: Mapping[str, Any], trust: Trust, at: datetime, status: bytes | StatusList | None, least_version: int
) -> tuple[str, str]:
    place = body["credential_status"]
    if status is None:
        return "STATUS_UNKNOWN", f"no status list was given; fetch {place['list']}"
    try:
        statuses = (
            open_status(
                status,
                trust.speaking_for(body["issuer"]["id"]),
                list_id=place["list"],
                at=at,
                least_version=least_version,
            )
            if isinstance(status, bytes)
            else _fresh(status, place["list"], at, least_version)
        )
        word = statuses.status(place["index"])
    except TrustError as fault:
        return "STATUS_UNKNOWN", f"the status list cannot be believed: {fault}"
    return word, f"{word} at index {place['index']} of the list of {to_moment(statuses.issued_at)}"


def open_status(data: bytes, trust: Trust, *, list_id: str, at: datetime, least_version: int = 1) -> StatusList:
    """The status list in these bytes, if a status key in force signed it and it is fresh."""
    envelope = Envelope.from_json(data)
    keys = {name: record.public for name, record in trust.statuses.items()}
    statuses = open_status_list(envelope, keys, list_id=list_id, at=at, least_version=least_version)
    for key_id in open_sealed(envelope, STATUS_KIND, keys).key_ids:
        trust.statuses[key_id].check(statuses.issued_at)
    return statuses


def _fresh(statuses: StatusList, list_id: str, at: datetime, least_version: int) -> StatusList:
    if statuses.id != list_id:
        raise VerificationError(f"the status list must be {list_id}; it is {statuses.id[:120]!r}", code="wrong_list")
    if statuses.version < least_version or not statuses.issued_at <= at < statuses.valid_until:
        raise VerificationError(f"the status list says nothing about {to_moment(at)}", code="stale")
    return statuses


def _verdict(
    steps: list[Step],
    faults: list[tuple[str, str | None, str]],
    body: dict[str, Any] | None,
    index: int | None,
    at: datetime,
) -> Verdict:
    found = {step.number: step.holds for step in steps}
    gravest = min(faults, key=lambda one: _GRAVITY.index(one[0]), default=("VALID", None, "authentic and current"))
    word, code, sentence = gravest
    three = [found.get(number) for number in (8, 9, 10)]
    current = None if body is None else False if False in three else None if None in three else True
    return Verdict(
        word=word,
        code=code,
        sentence=sentence,
        authentic=body is not None,
        current=current,
        consistent=found.get(11) if body is not None else None,
        steps=tuple(steps),
        certificate=body,
        log_index=index,
        at=at,
    )


def report_matches(report: bytes, body: Mapping[str, Any]) -> bool:
    """Whether a report, page or PDF is the very one that the certificate covers."""
    covered: str | None = body["evidence"]["report_digest"]
    return covered == f"sha-256:{hashlib.sha256(report).hexdigest()}"


assert set(BODY) | set(UNSIGNED) == set(SHAPE)
