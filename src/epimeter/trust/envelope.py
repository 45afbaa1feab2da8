# SPDX-License-Identifier: Apache-2.0
"""A document signed: as a DSSE envelope, or with the signature embedded, over the same bytes.

What is signed is PAE(payload type, canonical JSON of the document without `signature` and `transparency`), after DSSE
1.0. The payload type says what kind of document it is, so a signature made for one kind never fits another.

To open an envelope:

1. the payload type is the one asked for;
2. it has signatures, and each names its key once;
3. every signature of a key we trust verifies, and enough distinct keys signed;
4. only then the payload is parsed, from the very bytes that were verified, and must be canonical.

The id and the key a signature names are hints from a stranger: they choose among the trusted keys, never beyond.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from epimeter.errors import VerificationError
from epimeter.trust.canonical import canonical_json, from_base64, load_canonical, to_base64
from epimeter.trust.keys import ALGORITHM, PublicKey, Signer
from epimeter.trust.strict_json import SIZE_LIMIT, fields_of, list_of, load_json, malformed, text_of

UNSIGNED = ("signature", "transparency")  # the fields of an embedded document that the signature does not cover
SIGNATURE_LIMIT = 64

_KIND = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def payload_type(kind: str) -> str:
    """The media type of a kind of document: `certificate`, `status-list`, `trust-root`."""
    if not _KIND.fullmatch(kind):
        raise malformed(f"a kind of document must be lower-case words joined by hyphens; got {kind[:40]!r}")
    return f"application/vnd.epimeter.{kind}.v1+json"


def pae(payload_type: str, payload: bytes) -> bytes:
    """DSSE's pre-authentication encoding: the bytes that are signed.

    Examples
    --------
    >>> pae("http://example.com/HelloWorld", b"hello world")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


@dataclass(frozen=True, slots=True)
class Signature:
    """64 bytes, and the id of the key that is said to have made them."""

    key_id: str
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """A payload, its type and its signatures; nothing about it is verified yet."""

    payload_type: str
    payload: bytes
    signatures: tuple[Signature, ...]

    @property
    def signed_bytes(self) -> bytes:
        """What the signatures are over; its SHA-256 is what a log remembers of a document."""
        return pae(self.payload_type, self.payload)

    def to_json(self) -> bytes:
        """The envelope as DSSE JSON, canonical."""
        signatures = [{"keyid": one.key_id, "sig": to_base64(one.value)} for one in self.signatures]
        envelope = {
            "payload": to_base64(self.payload),
            "payloadType": self.payload_type,
            "signatures": signatures,
        }
        return canonical_json(envelope)

    @classmethod
    def from_json(cls, data: bytes, *, size_limit: int = SIZE_LIMIT) -> Envelope:
        """The envelope in DSSE JSON; stricter than DSSE: key ids are required, base64 has one form."""
        value = fields_of(
            load_json(data, size_limit=size_limit), "an envelope", ("payload", "payloadType", "signatures")
        )
        signatures = []
        for number, item in enumerate(list_of(value["signatures"], "signatures of an envelope")):
            one = fields_of(item, f"signature {number} of an envelope", ("keyid", "sig"))
            key_id = text_of(one["keyid"], f"keyid of signature {number}")
            signatures.append(Signature(key_id, from_base64(one["sig"], f"sig of signature {number}")))
        return cls(
            payload_type=text_of(value["payloadType"], "payloadType of an envelope"),
            payload=from_base64(value["payload"], "payload of an envelope"),
            signatures=tuple(signatures),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A verified document, and the ids of the trusted keys that signed it."""

    document: dict[str, Any]
    key_ids: tuple[str, ...]


def seal(document: Mapping[str, Any], kind: str, *signers: Signer) -> Envelope:
    """Sign a document; what could not be read back is not signed."""
    for field in UNSIGNED:
        if field in document:
            raise malformed(f"a document to be signed must not have the field {field!r} yet")
    payload = canonical_json(dict(document))
    load_canonical(payload, size_limit=len(payload))
    message = pae(payload_type(kind), payload)
    signatures = tuple(Signature(signer.public.id, signer.sign(message)) for signer in signers)
    return Envelope(payload_type=payload_type(kind), payload=payload, signatures=signatures)


def open_sealed(envelope: Envelope, kind: str, trusted: Mapping[str, PublicKey], *, threshold: int = 1) -> Opened:
    """Verify an envelope against trusted keys, by id; the steps stand at the top of this file."""
    # 1.
    if envelope.payload_type != payload_type(kind):
        raise VerificationError(
            f"the document must be of type {payload_type(kind)}; it is of {envelope.payload_type[:80]!r}",
            code="wrong_type",
        )
    # 2.
    if not envelope.signatures:
        raise VerificationError("the document must be signed; it has no signature", code="no_signature")
    if len(envelope.signatures) > SIGNATURE_LIMIT:
        raise malformed(f"a document may have {SIGNATURE_LIMIT} signatures; got {len(envelope.signatures)}")
    if len({one.key_id for one in envelope.signatures}) < len(envelope.signatures):
        raise malformed("a document must be signed once by each key; one key id stands twice")
    # 3. Distinct keys are counted, not ids: one key under many names is one.
    message = envelope.signed_bytes
    signed: dict[bytes, str] = {}
    for one in envelope.signatures:
        key = trusted.get(one.key_id)
        if key is not None:
            key.verify(message, one.value, f"the signature of key {one.key_id[:8]}")
            signed.setdefault(key.raw, one.key_id)
    if not signed:
        raise VerificationError(
            f"the document is signed by key {envelope.signatures[0].key_id[:8]!r}; it is none of the trusted keys",
            code="untrusted_key",
        )
    if threshold < 1 or len(signed) < threshold:
        raise VerificationError(
            f"the document needs signatures of {max(threshold, 1)} trusted keys; it has {len(signed)}",
            code="threshold",
        )
    # 4.
    document = load_canonical(envelope.payload, size_limit=len(envelope.payload))
    if not isinstance(document, dict):
        raise malformed("a signed document must be a JSON object")
    return Opened(document=document, key_ids=tuple(signed.values()))


def embed(envelope: Envelope, public: PublicKey) -> dict[str, Any]:
    """The document with the signature of that key as its field `signature`."""
    for one in envelope.signatures:
        if one.key_id == public.id:
            document: dict[str, Any] = load_canonical(envelope.payload, size_limit=len(envelope.payload))
            document["signature"] = {
                "algorithm": ALGORITHM,
                "key_id": public.id,
                "public_key": to_base64(public.raw),
                "value": to_base64(one.value),
            }
            return document
    raise VerificationError(f"the envelope has no signature of key {public.id[:8]}", code="no_signature")


def extract(document: Mapping[str, Any], kind: str) -> Envelope:
    """The envelope of a document with an embedded signature, still to be opened.

    The algorithm is read first, and anything but Ed25519 refused before a key is looked at.
    """
    block = document.get("signature")
    if block is None or block == {} or block == "":
        raise VerificationError("the document must be signed; its signature is missing", code="no_signature")
    if isinstance(block, dict) and block.get("algorithm", ALGORITHM) != ALGORITHM:
        raise VerificationError(
            f"the signature algorithm must be Ed25519; got {str(block['algorithm'])[:40]!r}", code="algorithm"
        )
    fields = fields_of(block, "signature", ("algorithm", "key_id", "public_key", "value"))
    key_id = text_of(fields["key_id"], "signature.key_id")
    public = PublicKey(from_base64(fields["public_key"], "signature.public_key"))
    if public.id != key_id:
        raise VerificationError(
            f"signature.public_key is key {public.id[:8]}, not key {key_id[:8]!r} that signature.key_id names",
            code="untrusted_key",
        )
    value = from_base64(fields["value"], "signature.value")
    if len(value) != 64:
        raise malformed(f"an Ed25519 signature must have 64 bytes; signature.value has {len(value)}")
    body = {field: content for field, content in document.items() if field not in UNSIGNED}
    return Envelope(
        payload_type=payload_type(kind), payload=canonical_json(body), signatures=(Signature(key_id, value),)
    )
