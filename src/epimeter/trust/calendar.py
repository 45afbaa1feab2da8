# SPDX-License-Identifier: Apache-2.0
"""The dates of certificates as a calendar that every calendar program reads (RFC 5545)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Dates:
    """The dates of one certificate: the next evaluation, if one is due, and its end."""

    certificate: str
    system: str
    level: str
    next_evaluation: str | None
    expires_at: str


def certificate_line(document: Mapping[str, Any], standing: Any) -> Dates:
    """The dates of a certificate that stands as it does."""
    head, subject = document["certificate"], document["subject"]
    return Dates(
        certificate=head["id"],
        system=f"{subject['organization']}, {subject['system_id']} {subject['system_version']}",
        level=head["level"],
        next_evaluation=standing.next_evaluation,
        expires_at=head["expires_at"],
    )


def to_calendar(certificates: Iterable[Dates], at: datetime) -> bytes:
    """One day-long event for each date, with a reminder a week ahead."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//epimeter//certificates//EN"]
    for one in certificates:
        if one.next_evaluation is not None:
            title = f"Evaluation due: {one.system} (ERS {one.level})"
            lines += _event(f"{one.certificate}-evaluation", one.next_evaluation, title, at)
        title = f"Certificate ends: {one.system} (ERS {one.level})"
        lines += _event(f"{one.certificate}-end", one.expires_at[:10], title, at)
    return "".join(_folded(line) for line in [*lines, "END:VCALENDAR"]).encode("utf-8")


def _event(uid: str, day: str, title: str, at: datetime) -> list[str]:
    begin = date.fromisoformat(day)
    words = title.replace("\\", "\\\\").replace(";", "\\;").replace(",", "\\,").replace("\n", " ")
    return [
        "BEGIN:VEVENT",
        f"UID:{uid}",
        f"DTSTAMP:{at.astimezone(UTC):%Y%m%dT%H%M%SZ}",
        f"DTSTART;VALUE=DATE:{begin:%Y%m%d}",
        f"DTEND;VALUE=DATE:{begin + timedelta(days=1):%Y%m%d}",
        f"SUMMARY:{words}",
        "BEGIN:VALARM",
        "ACTION:DISPLAY",
        "TRIGGER:-P7D",
        "DESCRIPTION:in seven days",
        "END:VALARM",
        "END:VEVENT",
    ]


def _folded(line: str) -> str:
    # A line has at most 75 bytes; what is longer goes on behind a space, and no letter is cut in two.
    if len(line.encode("utf-8")) <= 74:
        return line + "\r\n"
    parts, part = [], ""
    for letter in line:
        if len((part + letter).encode("utf-8")) > 74:
            parts.append(part)
            part = ""
        part += letter
    return "\r\n ".join([*parts, part]) + "\r\n"
