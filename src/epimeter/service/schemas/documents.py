# SPDX-License-Identifier: Apache-2.0
"""Errors, health, and the cards of metrics."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType


class Fault(Struct, frozen=True):
    """A place in the body and what is wrong there."""

    pointer: str
    detail: str


class ProblemDocument(Struct, frozen=True, kw_only=True):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    trace: str
    errors: list[Fault] | UnsetType = UNSET


class Health(Struct, frozen=True):
    """Whether the service can work."""

    status: str
    checks: dict[str, str]


class MetricPage(Struct, frozen=True):
    """Cards of metrics."""

    items: list[dict[str, Any]]
    next: str | None
