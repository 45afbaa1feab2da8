# SPDX-License-Identifier: Apache-2.0
"""API keys and webhook secrets.

    onto_live_<8 letters of id>_<43 letters of secret><6 letters of checksum>

All letters are of base 62. The checksum (CRC-32 of what stands before it) lets a scanner or a typing error be told from
a key without a look into the database. Stored are the id and HMAC-SHA-256(pepper, key): a secret of 256 random bits needs
no slow hash, and without the pepper, which is not in the database, a stolen database opens nothing.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import zlib
from dataclasses import dataclass

LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
PREFIX = "onto_live_"
_SHAPE = re.compile(r"onto_live_([0-9A-Za-z]{8})_[0-9A-Za-z]{43}([0-9A-Za-z]{6})")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key in its owner's hands: the text is shown once."""

    id: str
    text: str

    def __repr__(self) -> str:
        return f"ApiKey(id={self.id!r})"


def new_key() -> ApiKey:
    """A key that nobody has seen."""
    id = "".join(secrets.choice(LETTERS) for _ in range(8))
    body = f"{PREFIX}{id}_{_letters(secrets.randbits(256), 43)}"
    return ApiKey(id, body + _checksum(body))


def key_id(text: str) -> str | None:
    """The id in a key that is well formed; None for anything else."""
    found = _SHAPE.fullmatch(text)
    if found is None or _checksum(text[:-6]) != found[2]:
        return None
    return found[1]


def digest(pepper: bytes, text: str) -> bytes:
    """What is stored of a key."""
    return hmac.new(pepper, text.encode("utf-8"), hashlib.sha256).digest()


def matches(pepper: bytes, text: str, stored: bytes | None) -> bool:
    """Whether a key is the stored one; as long for an unknown key as for a wrong one."""
    return hmac.compare_digest(digest(pepper, text), stored or bytes(32)) and stored is not None


def webhook_secret(pepper: bytes, webhook: str) -> bytes:
    """The secret of a webhook endpoint: derived, so that it is stored nowhere."""
    return hmac.new(pepper, b"webhook\0" + webhook.encode("utf-8"), hashlib.sha256).digest()


def shown_secret(secret: bytes) -> str:
    """A webhook secret in the form of Standard Webhooks."""
    return "whsec_" + base64.b64encode(secret).decode("ascii")


def _checksum(body: str) -> str:
    return _letters(zlib.crc32(body.encode("ascii")), 6)


def _letters(number: int, count: int) -> str:
    made = []
    for _ in range(count):
        number, digit = divmod(number, 62)
        made.append(LETTERS[digit])
    return "".join(reversed(made))
