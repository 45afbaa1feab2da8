# SPDX-License-Identifier: Apache-2.0
"""Tables of limits: which class a number falls into.

Comparisons allow 1e-9 in favour of meeting a limit, so that 0.1 + 0.05 meets 0.15 (decision C-07).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from epimeter.errors import InputError

SLACK = 1e-9


def at_most(value: float, limit: float) -> bool:
    """Whether a value meets an upper limit."""
    return value <= limit + SLACK


def at_least(value: float, limit: float) -> bool:
    """Whether a value meets a lower limit."""
    return value >= limit - SLACK


@dataclass(frozen=True)
class Band:
    """A class of values up to (or from) a limit, its name and what it asks for."""

    limit: float
    name: str
    action: str
    status: str = ""
    """For a class of risk: the word that ONTO-ERS 2.3 calls its regulatory status."""


RISK = (
    Band(25, "LOW", "standard monitoring", "Compliant"),
    Band(50, "MODERATE", "enhanced monitoring, review required", "Review required"),
    Band(75, "HIGH", "remediation required", "Remediation required"),
    Band(math.inf, "CRITICAL", "deployment restricted or suspended", "Deployment restricted"),
)
"""ERS-2.3-e and 42001-7.2.4-a: classes by value, so 25.5 is MODERATE (C-10)."""

ERS_ECE = (
    Band(0.05, "Excellent", "maintenance only"),
    Band(0.10, "Good", "minor adjustments"),
    Band(0.15, "Acceptable", "review recommended"),
    Band(0.25, "Poor", "intervention required"),
    Band(math.inf, "Critical", "immediate action"),
)
"""ERS-2.1-f; an end belongs to the better class (C-09)."""

ERS_U_RECALL = (
    Band(70, "Good", "knows when it does not know"),
    Band(50, "Moderate", "some blind spots"),
    Band(30, "Poor", "often over-confident when wrong"),
    Band(-math.inf, "Critical", "dangerous over-confidence"),
)
"""ERS-2.2-e, in percent; an end belongs to the better class (C-09)."""


def below(bands: Sequence[Band], value: float) -> int:
    """Index of the first band whose upper limit the value meets."""
    return next(i for i, band in enumerate(bands) if at_most(value, band.limit))


def above(bands: Sequence[Band], value: float) -> int:
    """Index of the first band whose lower limit the value meets."""
    return next(i for i, band in enumerate(bands) if at_least(value, band.limit))


def risk_index(score: float) -> int:
    """Risk class of an ERS or ORS score: 0 LOW, 1 MODERATE, 2 HIGH, 3 CRITICAL."""
    return below(RISK, number(score, "score", 0, 100))


def number(value: float, name: str, low: float, high: float, remedy: str = "") -> float:
    """A number doubted once: finite and inside its range."""
    try:
        made = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number; got {value!r:.40}", field=name) from None
    if not (low <= made <= high and math.isfinite(made)):
        span = f"in [{low:g}, {high:g}]" if math.isfinite(high) else f"finite and at least {low:g}"
        raise InputError(f"{name} must be {span}; got {made:g}" + (f". {remedy}" if remedy else ""), field=name)
    return made


def word(value: str, known: Sequence[str], name: str) -> str:
    """One of the words a standard knows; an unknown one is never counted as nothing (C-08)."""
    if value not in known:
        raise InputError(f"{name} must be one of {', '.join(known)}; got {value!r:.40}", field=name)
    return value
