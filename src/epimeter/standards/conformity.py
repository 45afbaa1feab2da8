# SPDX-License-Identifier: Apache-2.0
"""Which level of ONTO 42001 may be claimed: numbers first, then what must be documented and kept (42001-8.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from epimeter.results import Result
from epimeter.standards.bands import RISK, at_least, at_most
from epimeter.standards.declaration import FLAGS
from epimeter.standards.onto42001 import LEVEL_NAMES, LEVELS, OntoEvaluation


@dataclass(frozen=True)
class Condition:
    """Something beyond the numbers that a level asks for."""

    name: str
    level: int
    title: str
    requirement: str


CONDITIONS = (
    Condition("taxonomy_documented", 1, "taxonomy of unknowns documented", "42001-6.1-c"),
    Condition("mechanism_documented", 1, "detection method, threshold and validation documented", "42001-6.3.2-a"),
    Condition("frequency_kept", 2, "measurement frequency kept", "42001-8.1-b"),
    Condition("passport_generated", 2, "epistemic passport generated", "42001-8.1-b"),
    Condition("third_party_verification", 3, "verified by a third party", "42001-8.1-c"),
    Condition("continuous_monitoring", 3, "continuously monitored", "42001-8.1-c"),
    Condition("liability_assessed", 3, "liability assessed by ONTO 42003", "42001-8.1-c"),
)
"""Conditions by the first level that asks for them; a level asks for all those below it too."""


SELF_ASSESSED = "self-assessed"
"""What stands beside a level that rests on a declaration and on no attestation of an auditor (C-52)."""


@dataclass(frozen=True, kw_only=True)
class Claim(Result):
    """The level the numbers meet, the level that may be claimed, what it rests on, and what stands between them."""

    measured_level: str
    level: str
    level_index: int
    tier: str
    flags: dict[str, bool]
    missing: tuple[str, ...]
    declared: tuple[str, ...] = ()
    """What the level rests on that only the operator says."""

    @property
    def assessed(self) -> str | None:
        """`self-assessed` where the level rests on what the operator declares; None where it does not."""
        return SELF_ASSESSED if self.declared else None

    @property
    def shown(self) -> str:
        """The level as it is printed: with the words that tell a declared level from an attested one."""
        return f"{self.level} ({self.assessed})" if self.level_index and self.assessed else self.level


def onto_class(value: float, name: str) -> str:
    """The word of Tables 1 and 2 of ONTO 42001 for an ECE or a U-Recall; `below Level 1` where no limit is met."""
    met = [
        level.word
        for level in LEVELS
        if (at_most(value, level.ece) if name == "ece" else at_least(value, level.u_recall))
    ]
    return met[-1] if met else "below Level 1"


def claim(measured: int, flags: Mapping[str, bool]) -> Claim:
    """The highest level up to the measured one whose conditions all hold."""
    held = {condition.name: bool(flags.get(condition.name, False)) for condition in CONDITIONS}
    unmet = [condition for condition in CONDITIONS if not held[condition.name]]
    level = min([measured, *(condition.level - 1 for condition in unmet)])
    return Claim(
        measured_level=LEVEL_NAMES[measured],
        level=LEVEL_NAMES[level],
        level_index=level,
        tier=LEVELS[level - 1].tier if level else "none",
        flags=held,
        missing=tuple(f"{c.title} ({c.requirement})" for c in unmet if c.level <= measured),
        declared=tuple(f"{c.title} ({c.requirement})" for c in CONDITIONS if c.level <= level and c.name in FLAGS),
    )


def statement(
    found: OntoEvaluation, made: Claim, *, date: str, method: str, system: str, scope: str, unclaimed: str | None = None
) -> str:
    """The conformance statement of 42001-8.3: level, values, date, methodology, scope; and the action of the score (C-34).

    The class of risk is that of the score (42001-7.2.4) and has no part in levels: it stands with and without one. Where other
    bins or too few records leave no word on the numbers, `unclaimed` says why, in the place of the class.
    """
    level = f"meets ONTO 42001:2025 {made.shown}" if made.level_index else "meets no level of ONTO 42001:2025"
    said = f"risk {found.risk}: {RISK[found.risk_index].action}"
    if unclaimed is not None:
        said = f"without a class of risk: {unclaimed}"
    return (
        f"{system}, measured on {date}, {level} with ECE {found.ece:.4f}, U-Recall {found.u_recall:.4f} and ORS "
        f"{found.ors:.1f} ({said}), by the method {method}, for the scope: {scope}."
    )
