# SPDX-License-Identifier: Apache-2.0
"""Organisations, keys, tiers, use, plans, audit entries."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from epimeter.service.schemas.words import Moment, Name, Scope, Tier


class KeyRequest(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A key to be made; for another organisation only by an administrator."""

    name: Name
    scopes: Annotated[list[Scope], Meta(min_length=1, max_length=10)]
    expires_at: Moment | None = None
    organization: Name | None = None
    replaces: Annotated[str, Meta(max_length=8)] | None = None
    """A key that ends when the overlap is over: rotation."""
    overlap_hours: Annotated[int, Meta(ge=0, le=720)] = 24


class KeyLine(Struct, frozen=True, kw_only=True):
    """A key as it can be shown: without its secret."""

    id: str
    name: str
    scopes: list[str]
    created_at: str
    expires_at: str | None
    revoked_at: str | None
    last_used_at: str | None


class NewKey(KeyLine, frozen=True, kw_only=True):
    """A key just made: the only time its text is shown."""

    key: str
    organization: str


class KeyPage(Struct, frozen=True):
    """Keys, the newest first."""

    items: list[KeyLine]
    next: str | None


class OrganizationRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """An organisation to be made."""

    name: Name
    tier: Tier = "OPEN"


class TierRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """The tier an organisation is put into."""

    tier: Tier


class Organization(Struct, frozen=True, kw_only=True):
    """An organisation."""

    id: str
    name: str
    tier: str
    created_at: str


class OrganizationPage(Struct, frozen=True):
    """Organisations, the newest first."""

    items: list[Organization]
    next: str | None


class MonthUse(Struct, frozen=True):
    """Evaluations of a calendar month in UTC."""

    month: str
    evaluations: int


class Usage(Struct, frozen=True, kw_only=True):
    """What was used, and what is left."""

    organization: str
    tier: str
    requests_per_minute: int
    month: str
    evaluations: int
    quota: int | None
    remaining: int | None
    resets_at: str
    months: list[MonthUse]


class TierLine(Struct, frozen=True, kw_only=True):
    """A tier: what it allows. Metrics are the same for all (ERS 8.2)."""

    tier: str
    requests_per_minute: int
    evaluations_per_month: int | None
    signal_delay_seconds: float


class Tiers(Struct, frozen=True):
    """All tiers, and what may differ between them (ERS 8.2)."""

    items: list[TierLine]
    identical: str = "metrics, levels and certificates: the same data give every tier the same bytes"
    """What is the same for every tier."""
    differ_in: tuple[str, ...] = (
        "evaluation frequency: requests a minute and evaluations a month",
        "latency: how late the signal comes",
        "support and documentation: as agreed with whoever runs this service",
    )
    """What tiers may differ in, and nothing else."""


class PlanNeed(Struct, frozen=True):
    """Rows that one number needs to be clear of its limits; null where it is expected to lie on one."""

    name: str
    expected: float
    nearest: float | None
    rows: int | None


class SamplePlan(Struct, frozen=True, kw_only=True):
    """Rows that make the whole verdict firm, the minimum of the standard included; null where no number would do."""

    rows: int | None
    power: float
    confidence: float
    needs: list[PlanNeed]


class AuditLine(Struct, frozen=True, kw_only=True):
    """An entry of the audit log."""

    number: int
    at: str
    actor: str
    action: str
    subject: str
    detail: dict[str, Any]
    log_index: int | None


class AuditPage(Struct, frozen=True):
    """Audit entries, the newest first."""

    items: list[AuditLine]
    next: str | None
