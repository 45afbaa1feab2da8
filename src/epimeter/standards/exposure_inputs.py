# SPDX-License-Identifier: Apache-2.0
"""The inputs of a liability report of ONTO 42003: each named, doubted, and with the source it comes from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from epimeter.errors import InputError
from epimeter.standards.bands import number, word
from epimeter.standards.declaration import printable
from epimeter.standards.onto42003 import INCIDENT_COSTS, MULTIPLIERS, REGULATORY_WEIGHTS, IncidentCost

SOURCES = ("query_volume", "failure_rate", "incident_cost", "domain_class", "regulatory_context")
"""Texts that say where an input comes from; all required (42003-6.1-a)."""
ADJUSTMENTS = ("size", "geography", "history")
"""Factors on the incident cost, 1 unless given (42003-4.3.3-a)."""
PARTS = ("direct", "legal", "regulatory", "consequential")
FIELDS = (
    "query_volume",
    "domains",
    "regulatory",
    "incident_cost",
    "reference_cost",
    "adjustments",
    "materialisation",
    "baseline_failure_rate",
    "mitigation_cost",
    "scenarios",
    "sources",
    "assumptions",
    "currency",
    "level",
    "draws",
    "seed",
)


@dataclass(frozen=True, kw_only=True)
class ExposureInputs:
    """Everything that the exposure is made of, besides the measured records."""

    query_volume: float
    domains: Mapping[str, float | None]
    """Domain classes and, where they are tracked, the query volume of each."""
    regulatory: str
    cost: IncidentCost
    adjustments: Mapping[str, float]
    materialisation: float
    baseline_failure_rate: float | None
    mitigation_cost: float | None
    scenarios: Mapping[str, float]
    """Factor on the incident cost by the scenario's name."""
    sources: Mapping[str, str]
    assumptions: tuple[str, ...]
    currency: str
    level: float
    draws: int
    seed: int

    @property
    def incident_cost(self) -> float:
        """The sum of the four parts, adjusted."""
        return self.cost.total * math.prod(self.adjustments.values())

    @property
    def regulatory_weight(self) -> float:
        return REGULATORY_WEIGHTS[self.regulatory]

    @property
    def tracked(self) -> bool:
        """Whether query volumes are known for each domain."""
        return all(volume is not None for volume in self.domains.values())

    @property
    def weighted_volume(self) -> float:
        """Volume times multiplier: the sum over domains whose volumes are tracked, else the highest (42003-4.4.3-a)."""
        if self.tracked:
            return math.fsum(MULTIPLIERS[name] * float(volume or 0) for name, volume in self.domains.items())
        return self.query_volume * max(MULTIPLIERS[name] for name in self.domains)

    @property
    def multiplier(self) -> float:
        """The multiplier as a whole: the weighted volume over the volume."""
        return self.weighted_volume / self.query_volume if self.query_volume else 0.0


def liability_inputs(found: Mapping[str, Any]) -> ExposureInputs:
    """Inputs from plain values, as a TOML table holds them; what is missing is named with its requirement."""
    for name in found:
        if name not in FIELDS:
            raise InputError(f"[liability] has no field {name!r}; its fields are {', '.join(FIELDS)}", field=name)
    domains = _domains(found.get("domains"))
    tracked = all(volume is not None for volume in domains.values())
    volume = found.get("query_volume")
    if volume is None:
        if not tracked:
            raise InputError("query_volume must be given, queries a year (42003-5.1-a); got none", field="query_volume")
        volume = math.fsum(float(v or 0) for v in domains.values())
    return ExposureInputs(
        query_volume=number(volume, "query_volume", 0, math.inf),
        domains=domains,
        regulatory=word(str(found.get("regulatory", "")), tuple(REGULATORY_WEIGHTS), "regulatory"),
        cost=_cost(found),
        adjustments={
            name: number((found.get("adjustments") or {}).get(name, 1.0), name, 0, math.inf) for name in ADJUSTMENTS
        },
        materialisation=number(found.get("materialisation", 1.0), "materialisation", 0, 1),
        baseline_failure_rate=_optional(found, "baseline_failure_rate", 1.0),
        mitigation_cost=_optional(found, "mitigation_cost", math.inf),
        scenarios=_scenarios(found.get("scenarios")),
        sources=_sources(found.get("sources")),
        assumptions=tuple(printable(text, "assumptions") for text in found.get("assumptions", ())),
        currency=printable(found.get("currency", "USD"), "currency"),
        level=number(found.get("level", 0.8), "level", 0.01, 0.999),
        draws=int(number(found.get("draws", 999), "draws", 2, 1e6)),
        seed=int(number(found.get("seed", 0), "seed", 0, 2**62)),
    )


def _optional(found: Mapping[str, Any], name: str, high: float) -> float | None:
    return None if found.get(name) is None else number(found[name], name, 0, high)


def _domains(said: Any) -> dict[str, float | None]:
    if isinstance(said, str):
        said = [said]
    if isinstance(said, Mapping):
        made: dict[str, float | None] = {
            word(name, tuple(MULTIPLIERS), "domains"): number(volume, f"volume of {name}", 0, math.inf)
            for name, volume in said.items()
        }
    else:
        made = {word(str(name), tuple(MULTIPLIERS), "domains"): None for name in said or ()}
    if not made:
        raise InputError(
            f"domains must name at least one of {', '.join(MULTIPLIERS)} (42003-4.4.2-a); got none", field="domains"
        )
    return made


def _cost(found: Mapping[str, Any]) -> IncidentCost:
    parts = found.get("incident_cost")
    if parts is None and found.get("reference_cost") is not None:
        return INCIDENT_COSTS[word(str(found["reference_cost"]), tuple(INCIDENT_COSTS), "reference_cost")]
    if not isinstance(parts, Mapping) or set(parts) != set(PARTS):
        raise InputError(
            f"incident_cost must have the four parts {', '.join(PARTS)} (42003-4.3.1-a); got {parts!r:.60}",
            field="incident_cost",
        )
    return IncidentCost(**{name: number(parts[name], f"incident_cost.{name}", 0, math.inf) for name in PARTS})


def _scenarios(said: Any) -> dict[str, float]:
    if said is None:
        return {"low": 0.5, "median": 1.0, "high": 2.0}
    return {
        printable(name, "scenarios"): number(factor, f"scenario {name}", 0, math.inf) for name, factor in said.items()
    }


def _sources(said: Any) -> dict[str, str]:
    given = said or {}
    for name in SOURCES:
        if not str(given.get(name, "")).strip():
            raise InputError(
                f"sources.{name} must say where it comes from (42003-6.1-a); got nothing", field=f"sources.{name}"
            )
    return {name: printable(given[name], f"sources.{name}") for name in SOURCES}
