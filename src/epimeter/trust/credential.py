# SPDX-License-Identifier: Apache-2.0
"""A certificate as a W3C Verifiable Credential under `eddsa-jcs-2022` (Data Integrity EdDSA Cryptosuites 1.0).

What is signed is SHA-256 of the canonical proof options followed by SHA-256 of the canonical document; the proof options
carry the document's `@context`. Keys are named by did:key, so that the export needs no network.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from epimeter.errors import VerificationError
from epimeter.trust.canonical import canonical_json, to_moment
from epimeter.trust.keys import PublicKey, Signer
from epimeter.trust.strict_json import fields_of, malformed

SUITE = "eddsa-jcs-2022"
CONTEXT = "https://www.w3.org/ns/credentials/v2"

_ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_ED25519 = b"\xed\x01"  # multicodec


def to_base58(data: bytes) -> str:
    """Bitcoin's base58, by which multibase `z` is written."""
    value, letters = int.from_bytes(data, "big"), ""
    while value:
        value, rest = divmod(value, 58)
        letters = _ALPHABET[rest] + letters
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + letters


def from_base58(text: str) -> bytes:
    """The bytes of base58 text."""
    value = 0
    for letter in text[:200]:
        if letter not in _ALPHABET:
            raise malformed(f"base58 has no letter {letter!r}")
        value = value * 58 + _ALPHABET.index(letter)
    body = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes(len(text) - len(text.lstrip("1"))) + body


def did_key(public: PublicKey) -> str:
    """The key as a did:key."""
    return f"did:key:z{to_base58(_ED25519 + public.raw)}"


def add_proof(document: Mapping[str, Any], options: Mapping[str, Any], signer: Signer) -> dict[str, Any]:
    """The document with a proof; `options` are type, cryptosuite, created, verificationMethod, proofPurpose."""
    if "proof" in document:
        raise malformed("a document to be proven must not have a proof yet")
    configuration = dict(options)
    if "@context" in document:
        configuration["@context"] = document["@context"]
    value = signer.sign(_hashes(configuration, document))
    return {**document, "proof": {**configuration, "proofValue": f"z{to_base58(value)}"}}


def verify_proof(document: Mapping[str, Any], trusted: PublicKey) -> dict[str, Any]:
    """The document without its proof, if that key made it; the key the proof names is a hint and never used."""
    names = ("type", "cryptosuite", "created", "verificationMethod", "proofPurpose", "proofValue")
    proof = fields_of(document.get("proof"), "proof", names, ("@context",))
    if proof["type"] != "DataIntegrityProof" or proof["cryptosuite"] != SUITE:
        raise VerificationError(f"the proof must be of {SUITE}; it is of another kind", code="algorithm")
    value = proof["proofValue"]
    if not isinstance(value, str) or not value.startswith("z") or len(value) > 100:
        raise malformed("proofValue must be base58 after the multibase letter z")
    if proof.get("@context") != document.get("@context"):
        raise VerificationError("the @context of the proof must be that of the document", code="bad_signature")
    unsigned = {name: content for name, content in document.items() if name != "proof"}
    configuration = {name: content for name, content in proof.items() if name != "proofValue"}
    trusted.verify(_hashes(configuration, unsigned), from_base58(value[1:]), "the proof")
    return unsigned


def credential(body: Mapping[str, Any], signer: Signer, at: datetime) -> dict[str, Any]:
    """The signed body of a certificate as a Verifiable Credential of its issuer's key."""
    holder = did_key(signer.public)
    head, subject = body["certificate"], body["subject"]
    document = {
        "@context": [CONTEXT, {"@vocab": "https://www.w3.org/ns/credentials/undefined-terms#"}],
        "type": ["VerifiableCredential"],
        "name": f"ONTO-ERS {head['level']} certificate {head['id']}",
        "issuer": {"id": holder, "name": body["issuer"]["id"]},
        "validFrom": head["issued_at"],
        "validUntil": head["expires_at"],
        "credentialSubject": {"name": f"{subject['organization']}: {subject['system_id']}", "certificate": dict(body)},
    }
    options = {
        "type": "DataIntegrityProof",
        "cryptosuite": SUITE,
        "created": to_moment(at),
        "verificationMethod": f"{holder}#{holder.removeprefix('did:key:')}",
        "proofPurpose": "assertionMethod",
    }
    return add_proof(document, options, signer)


def _hashes(configuration: Mapping[str, Any], document: Mapping[str, Any]) -> bytes:
    parts = (canonical_json(dict(configuration)), canonical_json(dict(document)))
    return b"".join(hashlib.sha256(part).digest() for part in parts)
