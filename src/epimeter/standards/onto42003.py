# SPDX-License-Identifier: Apache-2.0
"""ONTO 42003:2025: what miscalibration may cost; every factor shown, never mixed into one number in silence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from epimeter.errors import InputError, UndefinedMetricError
from epimeter.inference.bootstrap import ends
from epimeter.inference.draws import replicates
from epimeter.inference.scheme import scheme
from epimeter.inference.statistic import Statistic
from epimeter.results import Result
from epimeter.standards.bands import number
from epimeter.standards.onto42001 import flags_of, onto_u_recall
from epimeter.views import view

MULTIPLIERS = {
    "life-critical": 3.0,
    "rights-affecting": 2.5,
    "financial-material": 2.0,
    "infrastructure-critical": 2.0,
    "business-operational": 1.5,
    "consumer-facing": 1.0,
    "internal-only": 0.5,
}
"""42003-4.4.2-a."""
REGULATORY_WEIGHTS = {"high": 1.5, "standard": 1.2, "emerging": 1.1, "minimal": 1.0}
"""42003-4.5.2-a."""


@dataclass(frozen=True)
class IncidentCost:
    """The four parts of an incident's cost, in USD (42003-4.3.2-a; reference figures, to be adjusted)."""

    direct: float
    legal: float
    regulatory: float
    consequential: float

    @property
    def total(self) -> float:
        return self.direct + self.legal + self.regulatory + self.consequential


INCIDENT_COSTS = {
    "medical_diagnosis": IncidentCost(800_000, 1_200_000, 300_000, 100_000),
    "legal_advisory": IncidentCost(200_000, 500_000, 150_000, 40_000),
    "financial_planning": IncidentCost(400_000, 600_000, 150_000, 50_000),
    "code_generation": IncidentCost(2_000_000, 2_000_000, 300_000, 200_000),
    "customer_service": IncidentCost(10_000, 30_000, 5_000, 5_000),
    "content_generation": IncidentCost(50_000, 150_000, 20_000, 30_000),
}
REFERENCE_RATES = {
    "medical_diagnosis": (0.23, 0.04, 0.02),
    "legal_advisory": (0.31, 0.05, 0.025),
    "financial_planning": (0.28, 0.03, 0.015),
    "code_generation": (0.38, 0.02, 0.01),
    "customer_service": (0.25, 0.06, 0.03),
    "content_generation": (0.35, 0.08, 0.04),
}
"""Baseline, Level 2, Level 3 (42003-4.2.3-b): shown as reference, never used as a default (C-41)."""


@dataclass(frozen=True, kw_only=True)
class ExposureComparison(Result):
    """Exposure avoided, in money and percent; return on the cost of avoiding it, where a cost is given."""

    reduction: float
    reduction_percent: float
    roi_percent: float | None = None


@dataclass(frozen=True, kw_only=True)
class Liability(Result):
    """Failure rate and annual exposure with their interval; against a baseline where one is given."""

    failure_rate: float
    failure_rate_low: float
    failure_rate_high: float
    exposure: float
    exposure_low: float
    exposure_high: float
    baseline_exposure: float | None = None
    reduction: float | None = None
    reduction_percent: float | None = None
    roi_percent: float | None = None


def failure_rate(ece: float, u_recall: float) -> float:
    """FR = 0.4 ECE + 0.6 (1 - U-Recall), both in the sense of ONTO 42001."""
    error = number(ece, "ece", 0, 1)
    recall = number(u_recall, "u_recall", 0, 1, "ONTO 42003 takes a fraction, not percent (C-02).")
    return math.fsum([0.4 * error, 0.6 * (1 - recall)])


def observed_failure_rate(
    correct: Any, confidence: Any, unknown: Any, *, high: float = 0.7, threshold: float = 0.5
) -> float:
    """Share of records that failed: wrong with confidence at or above `high`, or unknown and not flagged (C-39)."""
    given = view(correct, confidence).event
    unknowns = view(unknown, confidence).event.true == 1
    prob = given.prob.astype(np.float64, copy=False)  # the digest is that of doubles (C-15)
    sure = prob >= number(high, "high", 0, 1)
    unflagged = prob >= number(threshold, "threshold", 0, 1)
    failed = ((given.true == 0) & sure) | (unknowns & unflagged)
    return int(failed.sum()) / given.n_rows


def exposure(
    query_volume: float,
    failure_rate: float,
    incident_cost: float,
    domain_multiplier: float = 1.0,
    regulatory_weight: float = 1.0,
    materialisation: float = 1.0,
) -> float:
    """Annual exposure: volume x failure rate x incident cost x multipliers x chance that a failure becomes an incident."""
    rate = number(failure_rate, "failure_rate", 0, 1)
    return rate * _factor(query_volume, incident_cost, domain_multiplier, regulatory_weight, materialisation)


def _factor(volume: float, cost: float, multiplier: float, weight: float, materialisation: float) -> float:
    """Everything the failure rate is multiplied by."""
    return (
        number(volume, "query_volume", 0, math.inf)
        * number(cost, "incident_cost", 0, math.inf)
        * number(multiplier, "domain_multiplier", 0, math.inf)
        * number(weight, "regulatory_weight", 0, math.inf)
        * number(materialisation, "materialisation", 0, 1)
    )


def comparison(baseline: float, mitigated: float, mitigation_cost: float | None = None) -> ExposureComparison:
    """Exposure avoided by going from one state to the other; may be negative."""
    before = number(baseline, "baseline", 0, math.inf)
    after = number(mitigated, "mitigated", 0, math.inf)
    if before == 0:
        raise UndefinedMetricError("a reduction in percent needs a baseline above 0; got 0 (42003-5.5-a)")
    saved = before - after
    roi = None
    if mitigation_cost is not None:
        cost = number(mitigation_cost, "mitigation_cost", 0, math.inf)
        if cost == 0:
            raise UndefinedMetricError("a return on investment needs a cost above 0; got 0 (42003-5.6-a)")
        roi = 100 * (saved - cost) / cost
    return ExposureComparison(reduction=saved, reduction_percent=100 * saved / before, roi_percent=roi)


def liability(
    correct: Any,
    confidence: Any,
    unknown: Any,
    *,
    query_volume: float,
    incident_cost: float,
    domain_multiplier: float = 1.0,
    regulatory_weight: float = 1.0,
    materialisation: float = 1.0,
    strategy: str = "equal_width",
    threshold: float = 0.5,
    level: float = 0.8,
    draws: int = 999,
    seed: int = 0,
    baseline_failure_rate: float | None = None,
    mitigation_cost: float | None = None,
    bins: int | None = None,
    detected: Any = None,
) -> Liability:
    """Failure rate and exposure of measured records, with an interval by resampling within known and unknown (C-42).

    Records are drawn again within the strata unknown = 0 and unknown = 1; the interval is the basic one, its ends
    limited to [0, 1]. Uncertain costs belong into scenarios, not into this interval. ECE and U-Recall are those of
    ONTO 42001 (42003-4.2.2-a): `strategy`, `bins`, `threshold` and `detected` mean what they mean in onto_evaluate.
    """
    if not 0 < level < 1:
        raise InputError(f"level must be in (0, 1); got {level!r}", field="level")
    if draws < 2:
        raise InputError(f"draws must be at least 2; got {draws!r}", field="draws")
    factor = _factor(query_volume, incident_cost, domain_multiplier, regulatory_weight, materialisation)
    given = view(correct, confidence).event
    is_unknown = view(unknown, confidence).event.true == 1
    onto_u_recall(unknown, confidence, threshold=threshold, detected=detected)  # refuses data without unknowns
    flagged = given.prob.astype(np.float64, copy=False) < float(threshold)
    if detected is not None:
        flagged = flags_of(detected, given.n_rows)
    error = Statistic.of("onto_ece", {"strategy": strategy, "bins": bins})
    plan = scheme(given.n_rows, is_unknown.astype(int), None)

    def rate(rows: Any) -> float:
        recall = float(flagged[rows][is_unknown[rows]].mean())
        return failure_rate(error.of_view(given.take(rows)), recall)

    value = rate(np.arange(given.n_rows))
    drawn = np.array(replicates(draws, lambda group: [rate(plan.draw(seed, r, given.n_rows, True)[1]) for r in group]))
    low, high = (min(1.0, max(0.0, end)) for end in ends(value, drawn, level, "basic"))
    facts: dict[str, Any] = {}
    if baseline_failure_rate is not None:
        before = number(baseline_failure_rate, "baseline_failure_rate", 0, 1) * factor
        against = comparison(before, value * factor, mitigation_cost)
        facts = {"baseline_exposure": before, **against.to_dict()}
    return Liability(
        failure_rate=value,
        failure_rate_low=low,
        failure_rate_high=high,
        exposure=value * factor,
        exposure_low=low * factor,
        exposure_high=high * factor,
        **facts,
    )
