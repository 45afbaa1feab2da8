# SPDX-License-Identifier: Apache-2.0
"""Ed25519 keys (RFC 8032), their ids (RFC 7638) and their JSON form (RFC 8037, algorithm name after RFC 9864).

A public key is doubted once, when it becomes a `PublicKey`. Points of small order are refused: for them a constant
signature verifies over any message, in most libraries. So are encodings that are not canonical, and points that are
not on the curve.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from epimeter.errors import VerificationError
from epimeter.trust.canonical import canonical_json, from_base64url, to_base64url
from epimeter.trust.strict_json import fields_of, malformed

ALGORITHM = "Ed25519"

_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P
_SIGN_BIT = 1 << 255
# The eight points of order 1, 2, 4, 8 have five y between them; two x for each but the first two.
_Y_OF_ORDER_8 = int.from_bytes(
    bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little"
)
_SMALL_ORDER_Y = frozenset({0, 1, _P - 1, _Y_OF_ORDER_8, _P - _Y_OF_ORDER_8})


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A public key that may be believed in: 32 bytes, canonical, on the curve, of large order."""

    raw: bytes

    def __post_init__(self) -> None:
        if len(self.raw) != 32:
            raise malformed(f"an Ed25519 public key must have 32 bytes; got {len(self.raw)}")
        y = int.from_bytes(self.raw, "little") & (_SIGN_BIT - 1)
        if y % _P in _SMALL_ORDER_Y:
            raise VerificationError(
                "a public key must not be a point of small order; "
                f"for {self.raw.hex()} one signature fits every message",
                code="weak_key",
            )
        if y >= _P:
            raise malformed(f"a public key must be in canonical encoding; {self.raw.hex()} is not")
        # x^2 = (y^2 - 1) / (d y^2 + 1), RFC 8032 section 5.1.3; u/v is a square exactly when uv is.
        u, v = (y * y - 1) % _P, (_D * y * y + 1) % _P
        if pow(u * v, (_P - 1) // 2, _P) != 1:
            raise malformed(f"a public key must be a point of the curve; {self.raw.hex()} is not")

    @property
    def id(self) -> str:
        """The RFC 7638 thumbprint: SHA-256 of the required members, in base64url."""
        required = {"crv": ALGORITHM, "kty": "OKP", "x": to_base64url(self.raw)}
        return to_base64url(hashlib.sha256(canonical_json(required)).digest())

    def verify(self, message: bytes, signature: bytes, what: str = "the signature") -> None:
        """Raise unless `signature` is this key's over `message`."""
        if len(signature) != 64:
            raise malformed(f"an Ed25519 signature must have 64 bytes; {what} has {len(signature)}")
        try:
            _loaded(self.raw).verify(signature, message)
        except InvalidSignature:
            raise VerificationError(
                f"{what} does not fit: the content was changed, or key {self.id[:8]} did not sign it",
                code="bad_signature",
            ) from None

    def to_jwk(self) -> dict[str, str]:
        """The key as a JSON Web Key for signatures."""
        return {
            "kty": "OKP",
            "crv": ALGORITHM,
            "x": to_base64url(self.raw),
            "alg": ALGORITHM,
            "use": "sig",
            "kid": self.id,
        }

    @classmethod
    def from_jwk(cls, value: Any) -> PublicKey:
        """The key of a JSON Web Key; its id, if it states one, must be its thumbprint."""
        jwk = fields_of(value, "a JSON Web Key", ("kty", "crv", "x"), ("alg", "use", "kid"))
        for field, wanted in (("kty", "OKP"), ("crv", ALGORITHM), ("alg", ALGORITHM), ("use", "sig")):
            if jwk.get(field, wanted) != wanted:
                raise VerificationError(
                    f"{field} of a JSON Web Key must be {wanted!r}; got {str(jwk[field])[:40]!r}", code="algorithm"
                )
        key = cls(from_base64url(jwk["x"], "x of a JSON Web Key"))
        if jwk.get("kid", key.id) != key.id:
            raise malformed(f"kid of a JSON Web Key must be its thumbprint {key.id}; got {str(jwk['kid'])[:60]!r}")
        return key


@lru_cache(maxsize=64)
def _loaded(raw: bytes) -> Ed25519PublicKey:
    """The library's form of a key; whoever verifies many certificates meets the same few keys."""
    return Ed25519PublicKey.from_public_bytes(raw)


class Signer(Protocol):
    """Whatever can sign: a private key in memory, or one that never leaves a device."""

    @property
    def public(self) -> PublicKey:
        """The key that verifies what is signed."""

    def sign(self, message: bytes) -> bytes:
        """The 64 bytes of the signature."""


class PrivateKey:
    """A private key in memory; it never shows its secret when printed."""

    __slots__ = ("_key", "public")

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = PublicKey(key.public_key().public_bytes_raw())

    @classmethod
    def generate(cls) -> PrivateKey:
        """A new key from the randomness of the operating system."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_seed(cls, seed: bytes) -> PrivateKey:
        """The key of 32 secret bytes."""
        if len(seed) != 32:
            raise malformed(f"an Ed25519 seed must have 32 bytes; got {len(seed)}")
        return cls(Ed25519PrivateKey.from_private_bytes(seed))

    @property
    def seed(self) -> bytes:
        """The 32 secret bytes."""
        return self._key.private_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """The 64 bytes of the signature."""
        return self._key.sign(message)

    def __repr__(self) -> str:
        return f"PrivateKey(id={self.public.id!r})"
