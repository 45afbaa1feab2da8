# SPDX-License-Identifier: Apache-2.0
"""Words of which the other types are made."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta

Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
Identifier = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/@+ -]*$")]
Flag = bool | Annotated[int, Meta(ge=0, le=1)]
"""Yes or no; 1 and 0 say the same, as in files."""
Moment = Annotated[datetime, Meta(tz=True)]
Domain = Literal["medical", "legal", "financial", "code", "general"]
OntoDomain = Literal["healthcare", "legal", "financial", "critical_infrastructure", "general_enterprise", "consumer"]
Strategy = Literal["equal_width", "equal_mass", "adaptive"]
Uuid = Annotated[str, Meta(pattern="^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")]
Source = Literal["human", "automated", "reference"]
Tier = Literal["OPEN", "STANDARD", "CRITICAL"]
Scope = Literal[
    "evaluate",
    "evaluations:read",
    "certificates:read",
    "certificates:write",
    "webhooks:write",
    "keys:write",
    "attest",
    "admin",
]
Event = Literal[
    "evaluation.completed",
    "evaluation.failed",
    "evaluation.due",
    "certificate.issued",
    "certificate.status",
    "certificate.expiring",
    "key.expiring",
    "alarm.opened",
    "alarm.changed",
    "alarm.closed",
]
