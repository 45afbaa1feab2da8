# SPDX-License-Identifier: Apache-2.0
"""Signed text after C2SP signed-note: the text, an empty line, one line a signature.

A signature line names its key by name and by four bytes of a hash. Lines of unknown keys are ignored, as the format
asks; a line of a known key that does not verify spoils the note.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from epimeter.errors import VerificationError
from epimeter.trust.canonical import from_base64, to_base64
from epimeter.trust.keys import PublicKey, Signer
from epimeter.trust.strict_json import malformed

ED25519 = 0x01
COSIGNATURE = 0x04  # timestamped witness signatures, see checkpoint.py

SIZE_LIMIT = 1 << 18
SIGNATURE_LIMIT = 64

_DASH = "\N{EM DASH}"
_KEY_ID = re.compile(r"[0-9a-f]{8}")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f]")
_ODD = re.compile(r"[\s+\x00-\x1f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class NoteKey:
    """A public key under a name, for one type of signature."""

    name: str
    public: PublicKey
    type: int = ED25519

    def __post_init__(self) -> None:
        refuse_malformed_name(self.name)
        if self.type not in (ED25519, COSIGNATURE):
            raise VerificationError(
                f"the signature type of a note key must be 1 (Ed25519) or 4 (cosignature); got {self.type}",
                code="algorithm",
            )

    @property
    def id(self) -> bytes:
        """The four bytes by which signature lines name the key."""
        named = self.name.encode("utf-8") + b"\n" + bytes([self.type]) + self.public.raw
        return hashlib.sha256(named).digest()[:4]

    def to_vkey(self) -> str:
        """The key as one line of text: name, id, key."""
        return f"{self.name}+{self.id.hex()}+{to_base64(bytes([self.type]) + self.public.raw)}"

    @classmethod
    def from_vkey(cls, text: Any) -> NoteKey:
        """The key that `to_vkey` wrote; its id must fit."""
        parts = text.split("+", 2) if isinstance(text, str) else []
        if len(parts) != 3 or not _KEY_ID.fullmatch(parts[1]):
            raise malformed(f"a verifier key must read name+id+key; got {str(text)[:60]!r}")
        data = from_base64(parts[2], "the key of a verifier key")
        if len(data) != 33:
            raise malformed(f"a verifier key must have 33 bytes, type and key; got {len(data)}")
        key = cls(parts[0], PublicKey(data[1:]), data[0])
        if key.id.hex() != parts[1]:
            raise malformed(f"the id of a verifier key must be {key.id.hex()}; got {parts[1]}")
        return key


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """One signature line: the name and id of a key, and the bytes it made."""

    name: str
    key_id: bytes
    value: bytes

    def to_line(self) -> str:
        """The line, without its end."""
        return f"{_DASH} {self.name} {to_base64(self.key_id + self.value)}"

    @classmethod
    def from_line(cls, line: str) -> NoteSignature:
        """The signature of a line without its end."""
        parts = line.split(" ")
        if len(parts) != 3 or parts[0] != _DASH:
            raise malformed(
                f"a signature line must read: em dash, name, base64, each after one space; got {line[:60]!r}"
            )
        refuse_malformed_name(parts[1])
        data = from_base64(parts[2], "a signature line")
        if len(data) < 5:
            raise malformed(f"a signature line must hold a key id and a signature; got {len(data)} bytes")
        return cls(parts[1], data[:4], data[4:])

    def by(self, key: NoteKey) -> bool:
        """Whether the line names that key; it may lie."""
        return self.name == key.name and self.key_id == key.id


@dataclass(frozen=True, slots=True)
class Note:
    """Text that ends in a newline, and its signature lines; nothing about it is verified yet."""

    text: str
    signatures: tuple[NoteSignature, ...]

    def __post_init__(self) -> None:
        if not self.text.endswith("\n"):
            raise malformed("the text of a note must end in a newline")
        if _CONTROL.search(self.text):
            raise malformed("the text of a note must not have control characters other than newlines")

    def with_signatures(self, signatures: Iterable[NoteSignature]) -> Note:
        """The note with more signatures, none twice."""
        return Note(self.text, tuple(dict.fromkeys((*self.signatures, *signatures))))

    def to_bytes(self) -> bytes:
        """The note as it travels."""
        lines = "".join(one.to_line() + "\n" for one in self.signatures)
        try:
            return f"{self.text}\n{lines}".encode()
        except UnicodeEncodeError:
            raise malformed("the text of a note must be Unicode text without lone surrogates") from None

    @classmethod
    def from_bytes(cls, data: bytes) -> Note:
        """The note that travelled."""
        if len(data) > SIZE_LIMIT:
            raise malformed(f"a note must have at most {SIZE_LIMIT} bytes; got {len(data)}")
        try:
            whole = data.decode("utf-8")
        except UnicodeDecodeError as fault:
            raise malformed(f"a note must be UTF-8; byte {fault.start} is not") from None
        # The last empty line parts text and signatures; the text may have empty lines of its own.
        cut = whole.rfind("\n\n")
        lines = whole[cut + 2 :]
        if cut < 0 or not lines:
            raise VerificationError(
                "a note must be text, an empty line and at least one signature", code="no_signature"
            )
        if not lines.endswith("\n"):
            raise malformed("a note must end in a newline")
        signatures = lines[:-1].split("\n")
        if len(signatures) > SIGNATURE_LIMIT:
            raise malformed(f"a note may have {SIGNATURE_LIMIT} signatures; got {len(signatures)}")
        return cls(whole[: cut + 1], tuple(NoteSignature.from_line(line) for line in signatures))


def sign_note(text: str, name: str, signer: Signer) -> Note:
    """The text signed by one key."""
    key = NoteKey(name, signer.public)
    return Note(text, (NoteSignature(name, key.id, signer.sign(text.encode("utf-8"))),))


def verify_note(note: Note, keys: Iterable[NoteKey]) -> tuple[NoteKey, ...]:
    """The keys, of those given, that signed the note; raises when there is none or one of them is misused."""
    text = note.text.encode("utf-8")
    verified: list[NoteKey] = []
    for key in dict.fromkeys(keys):
        for one in note.signatures:
            if key.type == ED25519 and one.by(key):
                key.public.verify(text, one.value, f"the note signature of {key.name}")
                if key not in verified:
                    verified.append(key)
    if not verified:
        names = ", ".join(one.name for one in note.signatures)[:120]
        raise VerificationError(f"the note is signed by {names!r}; none of it by a trusted key", code="untrusted_key")
    return tuple(verified)


def refuse_malformed_name(name: str) -> None:
    """Raise unless the name may stand in a note: not empty, no spaces, no plus, no control characters."""
    if not name or _ODD.search(name):
        raise malformed(f"a key name must have no spaces, no plus and at least one letter; got {name[:60]!r}")
    if _SURROGATE.search(name):
        raise malformed("a key name must be Unicode text without lone surrogates")
