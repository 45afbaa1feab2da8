# SPDX-License-Identifier: Apache-2.0
"""When the next measurement is due and when a certificate lapses. Days are days in UTC."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from epimeter.results import Result
from epimeter.standards.bands import number, word
from epimeter.standards.ers import day_of, ers_next_evaluation, months_later
from epimeter.standards.onto42001 import DAYS

Day = str | datetime.date

GRACE_DAYS = 7
"""A certificate is suspended when its evaluation is more than this overdue (C-17)."""
VALID_MONTHS = 12
LONGEST_EVALUATION = 30
VOLUME_CHANGE = 0.25


@dataclass(frozen=True, kw_only=True)
class Due(Result):
    """A day by which something must be done, and why."""

    due: str | None
    reasons: tuple[str, ...]


def onto_due(
    last: Day | None, domain: str, *, model_version: str | None = None, last_model_version: str | None = None
) -> Due:
    """When ONTO 42001 asks for the next measurement (42001-5.1.1-a to c).

    Parameters
    ----------
    last
        Day of the last measurement; None when there was none: due before first deployment, so now (`due` is None).
    domain
        One of the domains of ONTO 42001.
    model_version, last_model_version
        Of the system now and when it was last measured; a difference is an update, due at once.
    """
    days = DAYS[word(domain, tuple(DAYS), "domain")]
    if last is None:
        return Due(due=None, reasons=("never measured: due before first deployment (42001-5.1.1-a)",))
    if model_version != last_model_version:
        return Due(
            due=day_of(last).isoformat(),
            reasons=(f"model changed from {last_model_version} to {model_version}: due now (42001-5.1.1-b)",),
        )
    due = day_of(last) + datetime.timedelta(days=days)
    return Due(due=due.isoformat(), reasons=(f"{days} days at most in the domain {domain} (42001-5.1.1-c)",))


def next_evaluation(date: Day, *, ers_level: int | str | None = None, onto_domain: str | None = None) -> str | None:
    """The earlier of the days that the standards claimed ask for (C-31); None when neither asks."""
    days: list[str] = []
    if ers_level is not None:
        by_level = ers_next_evaluation(date, ers_level)
        days += [] if by_level is None else [by_level]
    if onto_domain is not None:
        by_domain = onto_due(date, onto_domain).due
        days += [] if by_domain is None else [by_domain]
    return min(days, default=None)


def expiry(issued: Day) -> str:
    """The day a certificate lapses: twelve calendar months after its issue (C-17)."""
    return months_later(day_of(issued), VALID_MONTHS).isoformat()


def is_overdue(next_due: Day, today: Day) -> bool:
    """Whether an evaluation is more than seven days overdue (C-17)."""
    return day_of(today) > day_of(next_due) + datetime.timedelta(days=GRACE_DAYS)


def certificate_status(today: Day, *, issued: Day, next_due: Day, revoked: bool = False) -> str:
    """VALID, SUSPENDED (evaluation more than 7 days overdue), EXPIRED or REVOKED, in this order of gravity (C-18)."""
    now = day_of(today)
    states = (
        (revoked, "REVOKED"),
        (now >= day_of(expiry(issued)), "EXPIRED"),
        (is_overdue(next_due, now), "SUSPENDED"),
    )
    return next((name for holds, name in states if holds), "VALID")


@dataclass(frozen=True, kw_only=True)
class LiabilityState:
    """What a liability report was made from, or what holds now; a change of it is a trigger (42003-6.3-a)."""

    query_volume: float
    domains: Sequence[str]
    ece: float
    u_recall: float
    regulation: str

    @classmethod
    def of(cls, facts: dict[str, Any]) -> LiabilityState:
        """The state that a report's JSON remembers."""
        return cls(**{f.name: facts[f.name] for f in fields(cls)})


def liability_due(made: Day, before: LiabilityState, now: LiabilityState, today: Day) -> Due:
    """When a liability report must be made again: yearly, or at once by one of four triggers (42003-6.3-a).

    Triggers: query volume changed by more than 25 % (exactly 25 % is none), another domain class, other 42001 metrics,
    another regulatory context.
    """
    volume = number(before.query_volume, "query_volume", 0, float("inf"))
    moved = abs(number(now.query_volume, "query_volume", 0, float("inf")) - volume)
    yearly = months_later(day_of(made), 12)
    triggers = (
        (day_of(today) >= yearly, "a year has passed"),
        (moved > VOLUME_CHANGE * volume * (1 + 1e-12), "query volume changed by more than 25 %"),
        (sorted(before.domains) != sorted(now.domains), "the domain class changed"),
        ((before.ece, before.u_recall) != (now.ece, now.u_recall), "the metrics of ONTO 42001 changed"),
        (before.regulation != now.regulation, "the regulatory context changed"),
    )
    reasons = tuple(f"{reason} (42003-6.3-a)" for holds, reason in triggers if holds)
    return Due(due=day_of(today).isoformat() if reasons else yearly.isoformat(), reasons=reasons)
