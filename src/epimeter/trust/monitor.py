# SPDX-License-Identifier: Apache-2.0
"""A log against our memory of it: the last checkpoint we saw must be the beginning of every later one.

One remembered checkpoint is enough to catch a log that edits, drops or reorders what we were shown, and every certificate
carries one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from epimeter.errors import VerificationError
from epimeter.trust.checkpoint import Checkpoint, LogPolicy, VerifiedCheckpoint, verify_checkpoint
from epimeter.trust.entries import read_entry
from epimeter.trust.key_file import read_private, write_whole
from epimeter.trust.merkle import leaf_hash, root_of, verify_consistency
from epimeter.trust.note import Note
from epimeter.trust.successor import check_succession


class LogView(Protocol):
    """What a monitor asks of a log, here or behind a network."""

    def first_entries(self, size: int) -> Sequence[bytes]:
        """The entries up to a size."""

    def checkpoint(self) -> Note:
        """The newest checkpoint."""

    def consistency_proof(self, old: int, new: int) -> Sequence[bytes]:
        """The proof that one tree is the beginning of another."""


def continues(remembered: Note, newest: Note, proof: Sequence[bytes], policy: LogPolicy) -> VerifiedCheckpoint:
    """Raise unless the newest checkpoint continues the remembered one.

    Both are verified against the policy, so that two checkpoints that do not fit are evidence: the log signed both.
    """
    old = verify_checkpoint(remembered, LogPolicy(log_keys=policy.log_keys)).checkpoint
    verified = verify_checkpoint(newest, policy)
    new = verified.checkpoint
    if new.size < old.size:
        raise VerificationError(
            f"the log {policy.origin} shrank: {old.size} entries were seen, now it shows {new.size}", code="shrunk"
        )
    if new.size == old.size and new.root != old.root:
        raise VerificationError(
            f"the log {policy.origin} forked: it signed two trees of {new.size} entries", code="fork"
        )
    try:
        verify_consistency(old.size, new.size, proof, old.root, new.root)
    except VerificationError as fault:
        raise VerificationError(
            f"the log {policy.origin} must prove that its first {old.size} entries are unchanged: {fault}",
            code="inconsistent",
        ) from None
    return verified


class Monitor:
    """A memory of one log in a file: the newest checkpoint that was seen and proven."""

    def __init__(self, path: Path | str, policy: LogPolicy, *, earlier: Mapping[str, LogPolicy] | None = None) -> None:
        self.path = Path(path)
        self.policy = policy
        self.earlier = dict(earlier or {})
        """Whom to believe about logs that this one may follow, by their names."""
        self.succession: str | None = None
        """What the last visit found where the log follows the one that was remembered."""

    @property
    def remembered(self) -> Note | None:
        """The checkpoint of the last visit; None before the first."""
        return Note.from_bytes(read_private(self.path)) if self.path.exists() else None

    def check(self, log: LogView) -> VerifiedCheckpoint:
        """Visit a log: prove that it continues what we remember, then remember the newest.

        When the proof fails, the memory stays as it was.
        """
        newest, remembered = log.checkpoint(), self.remembered
        verified = verify_checkpoint(newest, self.policy)
        if remembered is not None and (name := Checkpoint.from_text(remembered.text).origin) != self.policy.origin:
            self._follow(log, remembered, name, verified.checkpoint)
        elif remembered is not None:
            old = verify_checkpoint(remembered, LogPolicy(log_keys=self.policy.log_keys)).checkpoint.size
            new = verified.checkpoint.size
            proof = log.consistency_proof(old, new) if old < new else ()
            continues(remembered, newest, proof, self.policy)
        write_whole(self.path, newest.to_bytes())
        return verified

    def _follow(self, log: LogView, remembered: Note, name: str, newest: Checkpoint) -> None:
        """Hold a log that has another name than the one we remember against what we saw of that one."""
        if name not in self.earlier:
            raise VerificationError(
                f"the memory is of the log {name}, and this is {newest.origin}; give the key of both, or the trust root",
                code="wrong_origin",
            )
        old = verify_checkpoint(remembered, LogPolicy(log_keys=self.earlier[name].log_keys)).checkpoint
        entries = log.first_entries(newest.size)
        if root_of(map(leaf_hash, entries)) != newest.root:
            raise VerificationError("the entries of the log are not those of its checkpoint", code="inconsistent")
        kept, self.succession = check_succession([read_entry(entry) for entry in entries], old)
        if kept == old.size and root_of(map(leaf_hash, entries[: old.size])) != old.root:
            raise VerificationError(
                f"the log must begin with the first {old.size:,} entries of {name}, as they were seen; it does not",
                code="inconsistent",
            )
