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
from datetime import datetime
from typing import Any

from epimeter.errors import InputError, TrustError, VerificationError
from epimeter.trust.anchors import Trust
from epimeter.trust.canonical import canonical_writer, from_base64, from_moment, to_moment
from epimeter.trust.certificate import BODY, KIND, SHAPE, check_consistent
from epimeter.trust.checkpoint import VerifiedCheckpoint
from epimeter.trust.entries import issued_entry
from epimeter.trust.envelope import UNSIGNED, Envelope, open_sealed, pae, payload_type
from epimeter.trust.key_ring import KeyRecord
from epimeter.trust.keys import ALGORITHM, PublicKey
from epimeter.trust.merkle import leaf_hash, verify_inclusion
from epimeter.trust.registration import check_reference
from epimeter.trust.shape import check_shape
from epimeter.trust.status_list import KIND as STATUS_KIND
from epimeter.trust.status_list import StatusList, open_status_list
from epimeter.trust.strict_json import load_json, malformed
from epimeter.trust.tlog_proof import TlogProof, verify_proof
from epimeter.trust.verdict import Step, Verification

LIMIT = 1 << 17
"""Bytes of a certificate; one has about four thousand."""
# When several things are wrong, the gravest is the verdict.
_GRAVITY = ("INVALID", "UNTRUSTED_KEY", "NOT_LOGGED", "REVOKED", "NOT_YET_VALID", "EXPIRED", "SUSPENDED",
            "SUPERSEDED", "STATUS_UNKNOWN", "VALID")  # fmt: skip


def verify(
    data: bytes,
    trust: Trust,
    *,
    at: datetime,
    status: bytes | StatusList | None = None,
    least_status_version: int = 1,
) -> Verification:
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
) -> Verification:
    found = {step.number: step.holds for step in steps}
    gravest = min(faults, key=lambda one: _GRAVITY.index(one[0]), default=("VALID", None, "authentic and current"))
    word, code, sentence = gravest
    three = [found.get(number) for number in (8, 9, 10)]
    current = None if body is None else False if False in three else None if None in three else True
    return Verification(
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
