# SPDX-License-Identifier: Apache-2.0
"""The signed size and root of a log (C2SP tlog-checkpoint), and witnesses' cosignatures (C2SP tlog-cosignature, v1).

A checkpoint is believed when the log's pinned key signed it and, where the policy asks for witnesses, enough of them
did. Witnesses are counted by key: one key under five names is one witness. The name of the log's key is the log's
origin, so that pinning the key pins the origin.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from epimeter.errors import VerificationError
from epimeter.trust.canonical import from_base64, to_base64
from epimeter.trust.keys import PublicKey, Signer
from epimeter.trust.note import COSIGNATURE, Note, NoteKey, NoteSignature, sign_note, verify_note
from epimeter.trust.strict_json import malformed

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}")
_LATEST = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp())


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Origin, size and root of a log's tree; extension lines are carried, never read."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.origin or "\n" in self.origin or any("\n" in line or not line for line in self.extensions):
            raise malformed("the origin and the extensions of a checkpoint must be lines, not empty ones")
        if not 0 <= self.size < 2**63:
            raise malformed(f"the size of a checkpoint must lie in [0, 2^63); got {self.size}")
        if len(self.root) != 32:
            raise malformed(f"the root of a checkpoint must have 32 bytes; got {len(self.root)}")

    def to_text(self) -> str:
        """The text of the note."""
        lines = (self.origin, str(self.size), to_base64(self.root), *self.extensions)
        return "".join(f"{line}\n" for line in lines)

    @classmethod
    def from_text(cls, text: str) -> Checkpoint:
        """The checkpoint in the text of a note."""
        lines = text.removesuffix("\n").split("\n")
        if len(lines) < 3 or not all(lines) or not text.endswith("\n"):
            raise malformed("a checkpoint must have at least three lines, origin, size and root, none of them empty")
        return cls(lines[0], decimal(lines[1], "the size of a checkpoint"), _hash(lines[2]), tuple(lines[3:]))


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPolicy:
    """Whom we believe about a log: its keys, all under its origin, and how many of which witnesses."""

    log_keys: tuple[NoteKey, ...]
    witnesses: tuple[NoteKey, ...] = ()
    quorum: int = 0

    def __post_init__(self) -> None:
        if len({key.name for key in self.log_keys}) != 1:
            raise malformed("a policy must have log keys of one origin; got none, or several origins")
        if any(key.type == COSIGNATURE for key in self.log_keys):
            raise malformed("a log key must be of type 1 (Ed25519), not a witness's key")
        if any(key.type != COSIGNATURE for key in self.witnesses):
            raise malformed("a witness key must be of type 4 (cosignature)")
        known = len({key.public for key in self.witnesses} - {key.public for key in self.log_keys})
        if not 0 <= self.quorum <= known:
            raise malformed(f"a policy asks for {self.quorum} witnesses; it has {known} distinct keys for them")

    @property
    def origin(self) -> str:
        """The name of the log."""
        return self.log_keys[0].name


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedCheckpoint:
    """A checkpoint that satisfies a policy, the note it came in, which log keys signed, when each witness saw it."""

    checkpoint: Checkpoint
    note: Note
    signed_by: tuple[NoteKey, ...]
    seen: dict[PublicKey, datetime]

    @property
    def proven_at(self) -> datetime | None:
        """The earliest moment at which a trusted outsider saw it; None without witnesses."""
        return min(self.seen.values(), default=None)


def sign_checkpoint(checkpoint: Checkpoint, signer: Signer) -> Note:
    """The checkpoint signed by its log."""
    return sign_note(checkpoint.to_text(), checkpoint.origin, signer)


def cosign(note: Note, name: str, signer: Signer, at: datetime) -> NoteSignature:
    """A witness's signature line on a checkpoint it has verified: tree and time."""
    key = NoteKey(name, signer.public, COSIGNATURE)
    seconds = int(at.timestamp())
    return NoteSignature(name, key.id, seconds.to_bytes(8, "big") + signer.sign(cosigned_message(note.text, seconds)))


def cosigned_message(text: str, seconds: int) -> bytes:
    """What a witness signs."""
    return f"cosignature/v1\ntime {seconds}\n{text}".encode()


def verify_checkpoint(note: Note, policy: LogPolicy) -> VerifiedCheckpoint:
    """Raise unless the note is a checkpoint that satisfies the policy."""
    signed_by = verify_note(note, policy.log_keys)
    checkpoint = Checkpoint.from_text(note.text)
    if checkpoint.origin != policy.origin:
        raise VerificationError(
            f"the checkpoint must be of the log {policy.origin}; it is of {checkpoint.origin[:80]!r}",
            code="wrong_origin",
        )
    seen = _cosignatures(note, policy)
    if len(seen) < policy.quorum:
        raise VerificationError(
            f"the checkpoint of size {checkpoint.size} needs {policy.quorum} witnesses; it has {len(seen)}",
            code="witnesses",
        )
    return VerifiedCheckpoint(checkpoint=checkpoint, note=note, signed_by=signed_by, seen=seen)


def _cosignatures(note: Note, policy: LogPolicy) -> dict[PublicKey, datetime]:
    # The log itself is no witness, whatever the policy calls its key.
    logs = {key.public for key in policy.log_keys}
    seen: dict[PublicKey, datetime] = {}
    for witness in policy.witnesses:
        for one in note.signatures:
            if not one.by(witness) or witness.public in logs:
                continue
            if len(one.value) != 72:
                raise malformed(f"a cosignature must have 8 bytes of time and 64 of signature; got {len(one.value)}")
            seconds = int.from_bytes(one.value[:8], "big")
            if seconds > _LATEST:
                raise malformed(f"the time of a cosignature must lie before the year 10000; got {seconds}")
            what = f"the cosignature of {witness.name}"
            witness.public.verify(cosigned_message(note.text, seconds), one.value[8:], what)
            at = datetime.fromtimestamp(seconds, UTC)
            seen[witness.public] = min(at, seen.get(witness.public, at))
    return seen


def decimal(text: str, where: str) -> int:
    """A number in plain decimal, no leading zeros, below 2^63."""
    if not _DECIMAL.fullmatch(text) or int(text) >= 2**63:
        raise malformed(f"{where} must be a plain decimal number below 2^63; got {text[:40]!r}")
    return int(text)


def _hash(text: str) -> bytes:
    data = from_base64(text, "a hash")
    if len(data) != 32:
        raise malformed(f"a hash must have 32 bytes; got {len(data)}")
    return data
