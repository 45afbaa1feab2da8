# SPDX-License-Identifier: Apache-2.0
"""An alarm: one episode from its opening to its close, with a sentence that says what, since when, how sure, what to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["change", "absolute", "threshold", "silence", "scale"]
State = Literal["open", "escalated", "acknowledged", "closed"]


@dataclass(frozen=True, kw_only=True)
class Alarm:
    """One episode.

    Attributes
    ----------
    slices
        The slices it is about; "" is all rows.
    opened, escalated, closed
        The windows in which that happened; None where it did not.
    since
        The window in which it began, with the first and last window that it may as well have been.
    size
        How large: the change of the gap, the bias, the ECE over its limit, with its ends, by name.
    sure
        How sure, in words.
    acknowledged
        Who took it up; True where that was not said.
    """

    kind: Kind
    system: str
    slices: tuple[str, ...]
    opened: str
    since: tuple[str, str, str]
    what: str
    sure: str
    advice: str
    escalated: str | None = None
    closed: str | None = None
    size: dict[str, Any] = field(default_factory=dict)
    acknowledged: str | bool = False
    about: str = ""
    """What of its kind, where a system can have several at once: predictions, truth or repeats that are missing or too many."""

    @property
    def id(self) -> str:
        """A name that stays the same while the episode lasts."""
        kind = f"{self.kind}-{self.about}" if self.about else self.kind
        return f"{kind}:{self.system}:{self.opened}"

    @property
    def open(self) -> bool:
        return self.closed is None

    @property
    def state(self) -> State:
        if self.closed is not None:
            return "closed"
        if self.acknowledged:
            return "acknowledged"
        return "open" if self.escalated is None else "escalated"

    @property
    def sentence(self) -> str:
        """What, since when, how sure, what to do."""
        at, first, last = self.since
        when = f"since {at}" + (f" (between {first} and {last})" if first != last else "")
        return f"{self.what} {when}; {self.sure}. {self.advice}"

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        at, first, last = self.since
        return {
            "id": self.id,
            "kind": self.kind,
            "system": self.system,
            "slices": list(self.slices),
            "state": self.state,
            "opened": self.opened,
            "since": {"window": at, "first": first, "last": last},
            "escalated": self.escalated,
            "closed": self.closed,
            "size": self.size,
            "acknowledged": self.acknowledged,
            "sentence": self.sentence,
        }


def called(part: str) -> str:
    """A slice in words."""
    return "all rows" if part == "" else part
