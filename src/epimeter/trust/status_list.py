# SPDX-License-Identifier: Apache-2.0
"""Which certificates are revoked, suspended or superseded: a signed list of two bits a certificate.

The form is W3C's Bitstring Status List: bits from the most significant down, compressed with gzip, written in base64url
with the multibase letter `u`. A list is large (at least 131,072 entries) and indices are random, so that who fetches
it does not tell which certificate he looks at, nor an index how many were issued.
"""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from epimeter.errors import VerificationError
from epimeter.trust.canonical import from_base64url, from_moment, to_base64url, to_moment
from epimeter.trust.envelope import Envelope, open_sealed, seal
from epimeter.trust.keys import PublicKey, Signer
from epimeter.trust.strict_json import count_of, fields_of, malformed, text_of

KIND = "status-list"
STATUSES = ("VALID", "REVOKED", "SUSPENDED", "SUPERSEDED")  # the meaning of the two bits
LEAST_LENGTH = 131_072
LONGEST = timedelta(days=31)
"""Longest time for which a list may say that it holds."""
LENGTH_LIMIT = 1 << 26  # 16 MiB of bits: what a small answer may unpack to


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusList:
    """The statuses of one list at one moment; `version` grows with every change."""

    id: str
    version: int
    issued_at: datetime
    valid_until: datetime
    bits: bytes

    def __post_init__(self) -> None:
        if not LEAST_LENGTH <= self.length <= LENGTH_LIMIT:
            raise malformed(f"a status list must have {LEAST_LENGTH} to {LENGTH_LIMIT} entries; got {self.length}")
        if self.valid_until - self.issued_at > LONGEST:
            raise malformed(
                f"a status list must hold for at most {LONGEST.days} days; a revocation would be hidden longer"
            )
        if self.valid_until <= self.issued_at:
            raise malformed("a status list must be valid until after it was issued")

    @classmethod
    def empty(
        cls, list_id: str, issued_at: datetime, valid_until: datetime, *, length: int = LEAST_LENGTH
    ) -> StatusList:
        """A list in which everything is valid."""
        return cls(id=list_id, version=1, issued_at=issued_at, valid_until=valid_until, bits=bytes(-(-length // 4)))

    @property
    def length(self) -> int:
        """How many certificates the list has room for."""
        return 4 * len(self.bits)

    def status(self, index: int) -> str:
        """The status at an index."""
        if not 0 <= index < self.length:
            raise VerificationError(
                f"index {index} is not in the status list {self.id}; it has {self.length} entries",
                code="status_index",
            )
        return STATUSES[self.bits[index // 4] >> (6 - 2 * (index % 4)) & 3]

    def indices(self, word: str) -> set[int]:
        """The indices with a status."""
        sought = STATUSES.index(word)
        return {
            4 * place + part
            for place, byte in enumerate(self.bits)
            if byte
            for part in range(4)
            if byte >> (6 - 2 * part) & 3 == sought
        }

    def with_status(self, changes: Mapping[int, str], issued_at: datetime, valid_until: datetime) -> StatusList:
        """The next version of the list; without changes it is the same list, fresh again."""
        bits = bytearray(self.bits)
        for index, word in changes.items():
            if word not in STATUSES:
                raise malformed(f"a status must be one of {', '.join(STATUSES)}; got {word[:40]!r}")
            if self.status(index) == "REVOKED" and word != "REVOKED":
                raise malformed(f"index {index} of {self.id} is revoked; a revocation is never undone")
            shift = 6 - 2 * (index % 4)
            bits[index // 4] = bits[index // 4] & ~(3 << shift) | STATUSES.index(word) << shift
        return StatusList(
            id=self.id,
            version=self.version + 1,
            issued_at=issued_at,
            valid_until=valid_until,
            bits=bytes(bits),
        )

    def to_document(self) -> dict[str, Any]:
        """The list as plain JSON, to be signed."""
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)  # gzip, with no name and no date in its header
        packed = packer.compress(self.bits) + packer.flush()
        return {
            "id": self.id,
            "version": self.version,
            "issued_at": to_moment(self.issued_at),
            "valid_until": to_moment(self.valid_until),
            "status_size": 2,
            "length": self.length,
            "statuses": list(STATUSES),
            "encoded_list": "u" + to_base64url(packed),
        }

    @classmethod
    def from_document(cls, value: Any) -> StatusList:
        """The list in plain JSON."""
        names = ("id", "version", "issued_at", "valid_until", "status_size", "length", "statuses", "encoded_list")
        fields = fields_of(value, "a status list", names)
        if fields["status_size"] != 2 or fields["statuses"] != list(STATUSES):
            raise malformed(f"a status list must have two bits an entry that mean {', '.join(STATUSES)}")
        length = count_of(fields["length"], "length of a status list")
        if length > LENGTH_LIMIT or length % 4:
            raise malformed(f"length of a status list must be a multiple of 4 up to {LENGTH_LIMIT}; got {length}")
        return cls(
            id=text_of(fields["id"], "id of a status list"),
            version=count_of(fields["version"], "version of a status list", least=1),
            issued_at=from_moment(fields["issued_at"], "issued_at of a status list"),
            valid_until=from_moment(fields["valid_until"], "valid_until of a status list"),
            bits=_unpacked(text_of(fields["encoded_list"], "encoded_list"), length // 4),
        )


def sign_status_list(statuses: StatusList, signer: Signer) -> Envelope:
    """The list under the signature of the status key."""
    return seal(statuses.to_document(), KIND, signer)


def open_status_list(
    envelope: Envelope, trusted: Mapping[str, PublicKey], *, list_id: str, at: datetime, least_version: int = 1
) -> StatusList:
    """The list, if a trusted status key signed it, it is the one asked for, and it is fresh at that moment.

    `least_version` is the newest version seen before: an older list may hide a revocation.
    """
    statuses = StatusList.from_document(open_sealed(envelope, KIND, trusted).document)
    if statuses.id != list_id:
        raise VerificationError(f"the status list must be {list_id}; it is {statuses.id[:120]!r}", code="wrong_list")
    if statuses.version < least_version:
        raise VerificationError(
            f"the status list {list_id} has version {statuses.version}; version {least_version} was seen before",
            code="rollback",
        )
    if not statuses.issued_at <= at < statuses.valid_until:
        raise VerificationError(
            f"the status list {list_id} holds from {to_moment(statuses.issued_at)} until "
            f"{to_moment(statuses.valid_until)}; it says nothing about {to_moment(at)}",
            code="stale",
        )
    return statuses


def free_index(
    taken: Collection[int], length: int = LEAST_LENGTH, *, below: Callable[[int], int] = secrets.randbelow
) -> int:
    """A random index that is not taken; `taken` should be a set."""
    if len(taken) >= length:
        raise malformed(f"the status list is full: all {length} indices are taken; start a new list")
    if 2 * len(taken) < length:
        while (index := below(length)) in taken:
            pass
        return index
    free = [index for index in range(length) if index not in taken]
    return free[below(len(free))]


def _unpacked(text: str, size: int) -> bytes:
    if not text.startswith("u"):
        raise malformed("encoded_list must start with u, the multibase letter of base64url")
    unpacker = zlib.decompressobj(31)
    try:
        # One byte more than asked for: enough to see that it is too much, whatever it would unpack to.
        bits = unpacker.decompress(from_base64url(text[1:], "encoded_list"), size + 1)
    except zlib.error:
        raise malformed("encoded_list must be gzip; it cannot be unpacked") from None
    if len(bits) != size or not unpacker.eof or unpacker.unused_data:
        raise malformed(f"encoded_list must unpack to exactly {size} bytes; it does not")
    return bits
