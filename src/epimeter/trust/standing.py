# SPDX-License-Identifier: Apache-2.0
"""The life of a certificate after its issue: which evaluation it rests on, when the next is due, where it stands and why.

After ERS 4.1 and 4.2 (C-17, C-51):

1. At its issue a certificate rests on the evaluation it states; the next is due one, three or twelve months on, by its level.
2. A later evaluation of the same system, version and domain, on newer data that meet ERS 3.1, that reaches the level renews it:
   the due date counts from there, and a suspension by the schedule or by a failed evaluation ends.
3. One that misses the level suspends it, and says so; the due date stays.
4. More than seven days after the due date it is suspended until an evaluation reaches the level.
5. Twelve months after its issue it ends; only a new certificate goes on.

What an operator suspended only the operator restores; a revocation is never undone. Every change is an entry of the log and a
row here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from epimeter.standards.conformity import SELF_ASSESSED
from epimeter.standards.ers import LEVEL_NAMES, ers_next_evaluation
from epimeter.standards.schedule import is_overdue
from epimeter.trust.canonical import load_canonical, to_moment
from epimeter.trust.entries import read_entry

TABLE = """
CREATE TABLE standings (
    number INTEGER PRIMARY KEY, certificate TEXT NOT NULL, at TEXT NOT NULL, log_index INTEGER NOT NULL, cause TEXT NOT NULL,
    status TEXT NOT NULL, reason TEXT NOT NULL, evaluation TEXT, level TEXT, due TEXT, dataset TEXT, period_end TEXT)
"""
INDEXES = (
    "CREATE INDEX IF NOT EXISTS standings_of ON standings (certificate, number)",
    "CREATE INDEX IF NOT EXISTS standings_due ON standings (certificate, number, due) WHERE due IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS standings_by_day ON standings (due, certificate, number) WHERE due IS NOT NULL",
)
CAUSES = ("issued", "renewed", "missed", "overdue", "operator", "superseded", "attested")
LIFTED = ("missed", "overdue")
"""Suspensions that end by themselves when an evaluation reaches the level."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event in the life of a certificate, as the log has it."""

    certificate: str
    at: str
    log_index: int
    cause: str
    status: str
    reason: str
    evaluation: str | None = None
    level: str | None = None
    due: str | None = None
    dataset: str | None = None
    period_end: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The event as plain values, without the name of its certificate."""
        return {name: value for name, value in asdict(self).items() if name != "certificate"}


@dataclass(frozen=True)
class Overdue:
    """A suspension by the schedule: its number among all events, the certificate, why."""

    number: int
    certificate: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where a certificate stands now."""

    status: str
    cause: str
    reason: str | None
    since: str
    evaluated_at: str
    next_evaluation: str | None
    assessed: str | None = None
    """Of a level that asks for an audit by a third party: `self-assessed`, or `attested` once an auditor's attestation is in
    the log; whether to believe the auditor is up to the reader, who pins the key."""

    def to_json(self) -> dict[str, Any]:
        """The standing as plain values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Reevaluation:
    """An evaluation of a system that has a certificate: what counts towards its renewal."""

    id: str
    at: datetime
    organization: str
    system_id: str
    system_version: str
    domain: str
    level: str
    dataset: str
    period_end: datetime | None
    obstacles: tuple[str, ...] = ()
    """Which requirements of ERS 3.1 the data miss; then the evaluation decides nothing."""
    digests: tuple[str, ...] = ()
    """SHA-256 of the model's files, where they are stated: others than the certificate's are another system."""


@dataclass(frozen=True, kw_only=True)
class Renewal:
    """What an evaluation did to a certificate: `renewed`, `missed`, or `not_counted` with the reason."""

    outcome: str
    certificate: str | None
    sentence: str
    status: str | None = None
    next_evaluation: str | None = None


def due_after(evaluated_at: datetime, level: str) -> str | None:
    """The day of the next evaluation (C-24)."""
    return ers_next_evaluation(to_moment(evaluated_at)[:10], level)


def overdue(due: str) -> str:
    """Why the schedule suspends."""
    return f"the evaluation due on {due} is overdue"


def keep(connection: sqlite3.Connection, event: Event) -> None:
    """Write an event, in the transaction of its log entry."""
    values = asdict(event)
    marks = ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO standings ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))


def events_of(connection: sqlite3.Connection, certificate: str) -> list[Event]:
    """The life of a certificate, the oldest event first."""
    names = ", ".join(Event.__dataclass_fields__)
    rows = connection.execute(f"SELECT {names} FROM standings WHERE certificate = ? ORDER BY number", (certificate,))
    return [Event(**dict(zip(Event.__dataclass_fields__, row, strict=True))) for row in rows.fetchall()]


def due_by(connection: sqlite3.Connection, day: str, most: int) -> list[str]:
    """The certificates whose next evaluation was due, or will be, by a day; at most so many."""
    query = (
        "SELECT certificate FROM standings AS this WHERE due <= ? AND NOT EXISTS (SELECT 1 FROM standings AS later "
        "WHERE later.certificate = this.certificate AND later.number > this.number AND later.due IS NOT NULL) LIMIT ?"
    )
    return [row[0] for row in connection.execute(query, (day, most))]


def standing_of(events: list[Event], status: str) -> Standing:
    """Where a certificate with these events stands; `status` is what the status list says."""
    accepted = [one for one in events if one.due is not None]
    changed = [
        one
        for one, before in zip(events, [None, *events], strict=False)
        if before is None or one.status != before.status
    ]
    last = changed[-1]
    held = {one.cause: one for one in holds(events)} if status == "SUSPENDED" else {}
    return Standing(
        status=status,
        cause=next(iter(held), last.cause),
        reason=None if status == "VALID" else "; ".join(one.reason for one in held.values()) or last.reason,
        since=last.at,
        evaluated_at=accepted[-1].at,
        next_evaluation=accepted[-1].due if status in ("VALID", "SUSPENDED") else None,
        assessed=assessed(events[0].level or "", any(one.cause == "attested" for one in events)),
    )


def holds(events: list[Event]) -> list[Event]:
    """What keeps it suspended, the oldest first: the operator until the operator restores it, a missed level and the schedule
    until an evaluation reaches the level. One does not end the other.
    """
    valid = max(place for place, one in enumerate(events) if place == 0 or one.status == "VALID")
    found: list[Event] = []
    for one in events[valid + 1 :]:
        if one.cause == "renewed":
            found = [hold for hold in found if hold.cause not in LIFTED]
        elif one.status == "SUSPENDED" and one.cause in ("operator", *LIFTED):
            found.append(one)
    return found


def not_restored(events: list[Event], status: str, expires_at: str, at: datetime) -> str | None:
    """Why an operator cannot restore a certificate; None when it can be."""
    if to_moment(at) >= expires_at:
        return f"it expired at {expires_at}; a new certificate goes on"
    if status == "REVOKED":
        return "a revocation is never undone; a new certificate goes on"
    if status != "SUSPENDED":
        return f"it is {status}, and only a suspension can be lifted"
    unmet = [one.reason for one in holds(events) if one.cause in LIFTED][-1:]
    due = standing_of(events, status).next_evaluation
    if not unmet and due is not None and is_overdue(due, at):
        unmet = [overdue(due)]
    return f"{unmet[0]}: an evaluation that reaches the level restores it, no word does" if unmet else None


def assessed(level: str, attested: bool) -> str | None:
    """What stands beside a level that asks for an audit by a third party (C-52); None where it asks for none."""
    if level != LEVEL_NAMES[-1]:
        return None
    return "attested" if attested else SELF_ASSESSED


def shown(level: str, assessed: str | None) -> str:
    """A level as it is printed, as `L3 (self-assessed)`."""
    return level if assessed is None else f"{level} ({assessed})"


def as_of(found: Standing, expires_at: str, at: datetime) -> Standing:
    """Where it stands at a moment: what has ended is EXPIRED, unless it was revoked; what is more than a week overdue is
    SUSPENDED, also where nobody has signed a status list since.
    """
    if found.status == "REVOKED":
        return found
    if to_moment(at) < expires_at:
        due = found.next_evaluation
        if found.status == "VALID" and due is not None and is_overdue(due, at):
            return replace(found, status="SUSPENDED", cause="overdue", reason=overdue(due), since=to_moment(at))
        return found
    sentence = "twelve months have passed since its issue; a new certificate goes on"
    return replace(found, status="EXPIRED", reason=sentence, since=expires_at, next_evaluation=None)


def not_counted(new: Reevaluation, subject: dict[str, Any], events: list[Event], expires_at: str) -> str | None:
    """Why an evaluation decides nothing about a certificate; None when it does."""
    accepted = [one for one in events if one.period_end is not None]
    newest = max((one.period_end or "" for one in accepted), default="")
    end = "" if new.period_end is None else to_moment(new.period_end)
    held = (
        (not new.obstacles, f"the data do not meet ERS 3.1: {'; '.join(new.obstacles)}"),
        (
            new.system_version == subject["system_version"],
            f"it is of version {new.system_version}, the certificate of {subject['system_version']}",
        ),
        (
            not new.digests or {*new.digests} == {one["value"] for one in subject["digests"]},
            "it is of other model files than the certificate names",
        ),
        (new.domain == subject["domain"], f"it is in the domain {new.domain}, the certificate in {subject['domain']}"),
        (to_moment(new.at) < expires_at, f"the certificate expired at {expires_at}; it needs a new one"),
        (all(one.dataset != new.dataset for one in events), "the same data were evaluated before"),
        (end > newest, f"its data end {end or 'at no known time'}, not after those of the last evaluation, {newest}"),
    )
    return next((sentence for holds, sentence in held if not holds), None)


def reaches(level: str, wanted: str) -> bool:
    """Whether a level is at least another."""
    return LEVEL_NAMES.index(level) >= LEVEL_NAMES.index(wanted)


def from_log(connection: sqlite3.Connection) -> Iterator[Event]:
    """The events of certificates that were issued before this table was kept, read off the log."""
    certificates = connection.execute("SELECT id, log_index, document FROM certificates ORDER BY log_index").fetchall()
    for identity, index, document in certificates:
        body = load_canonical(document)
        head = body["certificate"]
        yield Event(
            certificate=identity,
            at=head["issued_at"],
            log_index=index,
            cause="issued",
            status="VALID",
            reason="issued",
            level=head["level"],
            due=ers_next_evaluation(head["issued_at"][:10], head["level"]),
            dataset=body["evidence"]["dataset_digest"],
            period_end=body["metrics"]["evaluation_period"]["end"],
        )
    for index, entry in connection.execute("SELECT idx, entry FROM entries ORDER BY idx").fetchall():
        fields = read_entry(entry)
        if fields["type"].startswith("certificate.") and "status" in fields:
            overdue = fields["reason"].endswith("is overdue")
            superseded = fields["status"] == "SUPERSEDED"
            yield Event(
                certificate=fields["id"],
                at=fields["time"],
                log_index=index,
                cause="overdue" if overdue else "superseded" if superseded else "operator",
                status=fields["status"],
                reason=fields["reason"],
            )
