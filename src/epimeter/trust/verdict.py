# SPDX-License-Identifier: Apache-2.0
"""The answer to whoever asks about a certificate: a word, what each step found, and what is not proven."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from epimeter.trust.canonical import to_moment
from epimeter.trust.certificate import from_sums

TITLES = (
    "size and depth",
    "one reading",
    "signed with Ed25519",
    "closed schema, canonical form",
    "key pinned",
    "signature",
    "key in force",
    "time",
    "log",
    "status list",
    "numbers agree",
)
EXITS = {"VALID": 0, "STATUS_UNKNOWN": 4, "UNTRUSTED_KEY": 3, "NOT_LOGGED": 3}
"""Exit codes by word; INVALID(malformed) is 2, whatever else is 1."""
NOT_PROVEN = (
    "that the data are complete, representative or honestly labelled: they came from whoever submitted them",
    "that the system is safe, lawful or fit for a purpose",
    "anything about a PDF or page shown beside it, unless its digest is report_digest and was compared",
)
ONLY_SUMS = (
    "that the records have these sums: the issuer saw sums and digests alone; who holds the records can compare them"
)


class Step(NamedTuple):
    """What one step found: True, False, or None where it could not be taken."""

    number: int
    holds: bool | None
    sentence: str

    @property
    def title(self) -> str:
        """What the step is about."""
        return TITLES[self.number - 1]


@dataclass(frozen=True, kw_only=True)
class Verification:
    """The answer: a word, the three answers apart, every step, and the document if it is authentic."""

    word: str
    code: str | None
    sentence: str
    authentic: bool
    current: bool | None
    consistent: bool | None
    steps: tuple[Step, ...]
    certificate: dict[str, Any] | None
    log_index: int | None
    at: datetime

    @property
    def shown(self) -> str:
        """The word, with the code of what is wrong: INVALID(bad_signature)."""
        return f"INVALID({self.code})" if self.word == "INVALID" else self.word

    @property
    def exit_code(self) -> int:
        """0 valid, 1 invalid, 2 malformed, 3 policy, 4 status unknown."""
        return 2 if self.shown == "INVALID(malformed)" else EXITS.get(self.word, 1)

    @property
    def not_proven(self) -> tuple[str, ...]:
        """What nobody should read into it."""
        sums = self.certificate is not None and from_sums(self.certificate["evidence"])
        return (*NOT_PROVEN, ONLY_SUMS) if sums else NOT_PROVEN

    def to_json(self) -> dict[str, Any]:
        """The verdict as plain values."""
        return {
            "verdict": self.shown,
            "sentence": self.sentence,
            "authentic": self.authentic,
            "current": self.current,
            "consistent": self.consistent,
            "at": to_moment(self.at),
            "log_index": self.log_index,
            "steps": [
                {"step": step.number, "title": step.title, "holds": step.holds, "sentence": step.sentence}
                for step in self.steps
            ],
            "certificate": self.certificate,
            "not_proven": list(self.not_proven),
        }
