# SPDX-License-Identifier: Apache-2.0
"""The liability report of ONTO 42003: five sections, every factor shown, no number without its source.

Amounts are theoretical maxima unless a materialisation probability below 1 is given; the report says which (C-43).
Uncertain costs are scenarios beside each other, never mixed into the statistical interval (C-42).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from epimeter import __version__
from epimeter.documents.sections import Section
from epimeter.errors import InputError
from epimeter.results import plain
from epimeter.standards.exposure_inputs import PARTS, ExposureInputs
from epimeter.standards.exposure_sections import liability_sections, money
from epimeter.standards.onto42001 import onto_evaluate
from epimeter.standards.onto42003 import (
    ExposureComparison,
    Liability,
    comparison,
    exposure,
    liability,
    observed_failure_rate,
)
from epimeter.standards.records import Records

SCHEMA = "epimeter-liability-1"


@dataclass(frozen=True, kw_only=True)
class LiabilityReport:
    """The report: inputs, results, and what it is built on."""

    date: str
    inputs: ExposureInputs
    result: Liability
    ece: float
    u_recall: float
    observed_rate: float
    against: ExposureComparison | None

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
        return money(amount, self.inputs.currency)

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
        return liability_sections(self.to_dict())


def liability_report(
    records: Records,
    inputs: ExposureInputs,
    *,
    date: str,
    strategy: str = "equal_width",
    threshold: float = 0.5,
    domain: str = "general_enterprise",
    bins: int | None = None,
) -> LiabilityReport:
    """The liability report of measured records, with the ECE and the U-Recall that their evaluation has."""
    if records.unknown is None:
        raise InputError(
            "unknown must be given for every record to estimate liability (42003-4.2.2-a); the data have no such column",
            field="unknown",
        )
    event, unknown = records.answer, records.unknown.astype(int)
    detected = None if records.detected is None else records.detected.astype(int)
    measured = onto_evaluate(
        event.true,
        event.prob,
        unknown,
        strategy=strategy,
        bins=bins,
        threshold=threshold,
        domain=domain,
        detected=detected,
    )
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
        bins=bins,
        detected=detected,
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
