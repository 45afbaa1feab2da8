# SPDX-License-Identifier: Apache-2.0
"""The proof that travels with an entry: C2SP tlog-proof@v1, plain text that verifies offline.

    c2sp.org/tlog-proof@v1
    index 41
    <hashes of the inclusion proof, one a line>

    <the checkpoint, with its signatures>

The optional `extra` line is signed by nobody; it is carried and never read.
"""

from __future__ import annotations

from dataclasses import dataclass

from epimeter.trust.canonical import from_base64, to_base64
from epimeter.trust.checkpoint import LogPolicy, VerifiedCheckpoint, decimal, verify_checkpoint
from epimeter.trust.merkle import leaf_hash, verify_inclusion
from epimeter.trust.note import SIZE_LIMIT, Note
from epimeter.trust.strict_json import malformed

HEADER = "c2sp.org/tlog-proof@v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class TlogProof:
    """Where an entry stands, the way to the root, the checkpoint; nothing about it is verified yet."""

    index: int
    hashes: tuple[bytes, ...]
    checkpoint: Note
    extra: bytes | None = None

    def to_text(self) -> str:
        """The proof as it travels."""
        lines = [HEADER]
        if self.extra is not None:
            lines.append(f"extra {to_base64(self.extra)}")
        lines += [f"index {self.index}", *map(to_base64, self.hashes), ""]
        return "\n".join(lines) + "\n" + self.checkpoint.to_bytes().decode("utf-8")

    @classmethod
    def from_text(cls, text: str) -> TlogProof:
        """The proof that travelled."""
        if len(text) > SIZE_LIMIT:
            raise malformed(f"a tlog-proof must have at most {SIZE_LIMIT} characters; got {len(text)}")
        head, gap, rest = text.partition("\n\n")
        lines = head.split("\n")
        if not gap or lines.pop(0) != HEADER:
            raise malformed(f"a tlog-proof must start with the line {HEADER} and have a checkpoint after its hashes")
        extra = None
        if lines and lines[0].startswith("extra "):
            extra = from_base64(lines.pop(0).removeprefix("extra "), "the extra line of a tlog-proof")
        if not lines or not lines[0].startswith("index "):
            raise malformed("a tlog-proof must state the index of its entry; the line is missing")
        index = decimal(lines.pop(0).removeprefix("index "), "the index of a tlog-proof")
        if len(lines) > 63:
            raise malformed(f"a tlog-proof may have 63 hashes; got {len(lines)}")
        hashes = tuple(from_base64(line, "a hash of a tlog-proof") for line in lines)
        try:
            note = rest.encode("utf-8")
        except UnicodeEncodeError:
            raise malformed("a tlog-proof must be Unicode text without lone surrogates") from None
        return cls(index=index, hashes=hashes, checkpoint=Note.from_bytes(note), extra=extra)


def verify_proof(proof: TlogProof, entry: bytes, policy: LogPolicy) -> VerifiedCheckpoint:
    """Raise unless the proof shows that entry in the log of the policy; gives the checkpoint that covers it."""
    verified = verify_checkpoint(proof.checkpoint, policy)
    tree = verified.checkpoint
    verify_inclusion(leaf_hash(entry), proof.index, tree.size, proof.hashes, tree.root)
    return verified
