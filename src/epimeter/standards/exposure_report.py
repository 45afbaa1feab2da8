# SPDX-License-Identifier: Apache-2.0
"""The liability report of ONTO 42003: five sections, every factor shown, no number without its source.

Amounts are theoretical maxima unless a materialisation probability below 1 is given; the report says which (C-43).
Uncertain costs are scenarios beside each other, never mixed into the statistical interval (C-42).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from epimeter import __version__
from epimeter.errors import InputError
from epimeter.report.sections import Grid, Items, Paragraph, Section
from epimeter.results import plain
from epimeter.standards.bands import number, word
from epimeter.standards.declaration import printable
from epimeter.standards.onto42001 import onto_evaluate
from epimeter.standards.onto42003 import (
    INCIDENT_COSTS,
    MULTIPLIERS,
    REFERENCE_RATES,
    REGULATORY_WEIGHTS,
    Comparison,
    IncidentCost,
    Liability,
    comparison,
    exposure,
    liability,
    observed_failure_rate,
)
from epimeter.standards.records import Records

SCHEMA = "epimeter-liability-1"
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
class Inputs:
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


def liability_inputs(found: Mapping[str, Any]) -> Inputs:
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
    return Inputs(
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


@dataclass(frozen=True, kw_only=True)
class LiabilityReport:
    """The report: inputs, results, and what it is built on."""

    date: str
    inputs: Inputs
    result: Liability
    ece: float
    u_recall: float
    observed_rate: float
    against: Comparison | None

    @property
    def scenarios(self) -> dict[str, tuple[float, float, float]]:
        """Exposure with its interval by scenario."""
        facts = self.result
        return {
            name: tuple(factor * value for value in (facts.exposure, facts.exposure_low, facts.exposure_high))  # type: ignore[misc]
            for name, factor in self.inputs.scenarios.items()
        }

    @property
    def kind(self) -> str:
        """What the figures are."""
        chance = self.inputs.materialisation
        return "theoretical maximum" if chance == 1 else f"materialised with probability {chance:g} a failure"

    def money(self, amount: float) -> str:
        """An amount with separators and its currency."""
        return f"{self.inputs.currency} {amount:,.2f}"

    @property
    def formula(self) -> str:
        """The product, factor by factor."""
        given = self.inputs
        chance = "" if given.materialisation == 1 else f" x {given.materialisation:g} (materialisation)"
        return (
            f"{given.query_volume:,.0f} (queries a year) x {self.result.failure_rate:.6f} (failure rate) x "
            f"{given.incident_cost:,.2f} (incident cost) x {given.multiplier:g} (domain) x {given.regulatory_weight:g} "
            f"(regulation){chance} = {self.money(self.result.exposure)}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, by section (42003-7.1-a)."""
        given, found = self.inputs, self.result
        return {
            "schema": SCHEMA,
            "standard": "ONTO 42003:2025",
            "epimeter": __version__,
            "date": self.date,
            "executive_summary": {
                "exposure": plain(found.exposure),
                "low": plain(found.exposure_low),
                "high": plain(found.exposure_high),
                "level": given.level,
                "currency": given.currency,
                "kind": self.kind,
                "sentence": self.summary,
            },
            "inputs": {
                "query_volume": given.query_volume,
                "domains": dict(given.domains),
                "domain_multiplier": given.multiplier,
                "volumes_tracked": given.tracked,
                "regulatory": given.regulatory,
                "regulatory_weight": given.regulatory_weight,
                "incident_cost": {part: getattr(given.cost, part) for part in PARTS} | {"total": given.cost.total},
                "adjustments": dict(given.adjustments),
                "adjusted_incident_cost": given.incident_cost,
                "materialisation": given.materialisation,
                "ece": self.ece,
                "u_recall": self.u_recall,
                "sources": dict(given.sources),
            },
            "results": {
                "failure_rate": {
                    "value": found.failure_rate,
                    "low": found.failure_rate_low,
                    "high": found.failure_rate_high,
                },
                "observed_failure_rate": self.observed_rate,
                "baseline": "not measured"
                if found.baseline_exposure is None
                else {"failure_rate": given.baseline_failure_rate, "exposure": found.baseline_exposure},
                "mitigated": {"failure_rate": found.failure_rate, "exposure": found.exposure},
                "reduction": None if self.against is None else self.against.to_dict(),
                "mitigation_cost": given.mitigation_cost,
                "scenarios": {
                    name: dict(zip(("exposure", "low", "high"), values, strict=True))
                    for name, values in self.scenarios.items()
                },
                "formula": self.formula,
            },
            "assumptions": list(self.assumptions),
            "recommendations": list(self.recommendations),
            "state": {
                "query_volume": given.query_volume,
                "domains": sorted(given.domains),
                "ece": self.ece,
                "u_recall": self.u_recall,
                "regulation": given.regulatory,
            },
        }

    @property
    def summary(self) -> str:
        """One sentence, the materialised figure where there is one."""
        found = self.result
        return (
            f"Annual exposure {self.money(found.exposure)}, {self.inputs.level:.0%} interval "
            f"{self.money(found.exposure_low)} to {self.money(found.exposure_high)} ({self.kind})."
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions and limits."""
        volumes = (
            "query volumes are tracked per domain: the parts are summed (42003-4.4.3-a)"
            if self.inputs.tracked
            else "query volumes are not tracked per domain: the highest multiplier counts for all (42003-4.4.3-a)"
        )
        return (
            f"how the figures are meant: {self.kind}",
            "the failure rate is 0.4 ECE + 0.6 (1 - U-Recall), which is no probability (C-39); the share of records that "
            f"failed as 42003 describes it is {self.observed_rate:.4f}",
            volumes,
            "the interval covers sampling of the records only; uncertain costs are the scenarios (C-42)",
            "reference failure rates of the standard are not used: they contradict its formula (C-41)",
            *self.inputs.assumptions,
        )

    @property
    def recommendations(self) -> tuple[str, ...]:
        """What follows from the numbers."""
        error, missed = 0.4 * self.ece, 0.6 * (1 - self.u_recall)
        first = "unknown inputs that are not detected" if missed > error else "calibration error"
        made = [
            f"{first} make up {max(error, missed) / max(error + missed, 1e-300):.0%} of the failure rate: begin there"
        ]
        if self.result.baseline_exposure is None:
            made.append("measure the baseline rate, so that a reduction can be shown (42003-4.2.3-a)")
        if self.inputs.materialisation == 1:
            made.append("for planning, estimate how often a failure becomes an incident (42003-A.3-a)")
        made.append(
            "update yearly, and when query volume changes by more than 25 %, or domain, metrics or regulation change "
            "(42003-6.3-a)"
        )
        return tuple(made)

    @property
    def sections(self) -> tuple[Section, ...]:
        """The five sections of 42003-7.1-a."""
        given, found = self.inputs, self.result
        parts = tuple((part, self.money(getattr(given.cost, part))) for part in PARTS)
        factors = (
            *parts,
            ("incident cost, sum", self.money(given.cost.total)),
            *((f"adjustment: {name}", f"{factor:g}") for name, factor in given.adjustments.items()),
            ("incident cost, adjusted", self.money(given.incident_cost)),
            ("query volume a year", f"{given.query_volume:,.0f}"),
            *(
                (f"domain {name}", f"x {MULTIPLIERS[name]:g}" + ("" if v is None else f" on {v:,.0f} queries"))
                for name, v in given.domains.items()
            ),
            ("domain multiplier as a whole", f"{given.multiplier:g}"),
            (f"regulatory context {given.regulatory}", f"x {given.regulatory_weight:g}"),
            ("materialisation", f"{given.materialisation:g}"),
        )
        rows = [
            ("baseline", "not measured" if found.baseline_exposure is None else self.money(found.baseline_exposure)),
            ("mitigated (as measured)", self.money(found.exposure)),
        ]
        if self.against is not None:
            rows.append(("reduction", f"{self.money(self.against.reduction)} ({self.against.reduction_percent:.1f} %)"))
            if self.against.roi_percent is not None:
                cost = given.mitigation_cost or 0.0
                rows.append(("return on mitigation", f"{self.against.roi_percent:.1f} % on {self.money(cost)}"))
        scenarios = tuple(
            (name, f"{given.scenarios[name]:g}", self.money(value), f"{self.money(low)} to {self.money(high)}")
            for name, (value, low, high) in self.scenarios.items()
        )
        sources = tuple((name.replace("_", " "), text) for name, text in given.sources.items())
        reference = tuple(
            (name.replace("_", " "), *(f"{rate:g}" for rate in rates)) for name, rates in REFERENCE_RATES.items()
        )
        return (
            Section("Liability: executive summary", (Paragraph(self.summary),)),
            Section(
                "Liability: inputs",
                (
                    Grid("Factors", ("factor", "value"), factors, frozenset({1})),
                    Grid("Sources", ("input", "source"), sources),
                ),
            ),
            Section(
                "Liability: results",
                (
                    Paragraph(self.formula),
                    Grid("Annual exposure", ("state", "amount"), tuple(rows), frozenset({1})),
                    Grid(
                        "Scenarios of the incident cost",
                        ("scenario", "factor", "exposure", f"{given.level:.0%} interval"),
                        scenarios,
                        frozenset({1, 2}),
                    ),
                ),
            ),
            Section(
                "Liability: assumptions and limits",
                (
                    Items(self.assumptions),
                    Grid(
                        "Reference rates of the standard, shown and not used (C-41)",
                        ("use", "baseline", "Level 2", "Level 3"),
                        reference,
                        frozenset({1, 2, 3}),
                    ),
                ),
            ),
            Section("Liability: recommendations", (Items(self.recommendations),)),
        )


def liability_report(
    records: Records,
    inputs: Inputs,
    *,
    date: str,
    strategy: str = "equal_width",
    threshold: float = 0.5,
    domain: str = "general_enterprise",
) -> LiabilityReport:
    """The liability report of measured records."""
    if records.unknown is None:
        raise InputError(
            "unknown must be given for every record to estimate liability (42003-4.2.2-a); the data have no such column",
            field="unknown",
        )
    event, unknown = records.event, records.unknown.astype(int)
    measured = onto_evaluate(event.true, event.prob, unknown, strategy=strategy, threshold=threshold, domain=domain)
    found = liability(
        event.true,
        event.prob,
        unknown,
        query_volume=inputs.query_volume,
        incident_cost=inputs.incident_cost,
        domain_multiplier=inputs.multiplier,
        regulatory_weight=inputs.regulatory_weight,
        materialisation=inputs.materialisation,
        strategy=strategy,
        threshold=threshold,
        level=inputs.level,
        draws=inputs.draws,
        seed=inputs.seed,
        baseline_failure_rate=inputs.baseline_failure_rate,
        mitigation_cost=None if inputs.baseline_failure_rate is None else inputs.mitigation_cost,
    )
    against = None
    if inputs.baseline_failure_rate is not None:
        before = exposure(
            inputs.query_volume,
            inputs.baseline_failure_rate,
            inputs.incident_cost,
            inputs.multiplier,
            inputs.regulatory_weight,
            inputs.materialisation,
        )
        against = comparison(before, found.exposure, inputs.mitigation_cost)
    return LiabilityReport(
        date=date,
        inputs=inputs,
        result=found,
        ece=measured.ece,
        u_recall=measured.u_recall,
        observed_rate=observed_failure_rate(event.true, event.prob, unknown, threshold=threshold),
        against=against,
    )
