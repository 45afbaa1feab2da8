# SPDX-License-Identifier: Apache-2.0
"""How many rows make a verdict of ONTO-ERS firm: every interval clear of every limit of the levels."""

from __future__ import annotations

import math

from epimeter.inference.planning import Target, plan
from epimeter.service.schemas import PlanNeed, SamplePlan
from epimeter.standards.ers import LEVELS, MINIMUM_ROWS, ers_raw


def planned(
    *,
    ece: float,
    u_recall: float | None,
    level: str | None,
    domain: str,
    accuracy: float,
    power: float,
    confidence: float,
) -> SamplePlan:
    """The plan for what is expected; U-Recall in percent, as ERS writes it."""
    made = plan(_targets(ece, u_recall, level, domain, accuracy), power=power, level=confidence)
    return SamplePlan(
        rows=None if made.rows is None else max(made.rows, MINIMUM_ROWS),
        power=power,
        confidence=confidence,
        needs=[PlanNeed(need.name, need.expected, need.nearest, need.rows) for need in made.needs],
    )


def _targets(ece: float, u_recall: float | None, wanted: str | None, domain: str, accuracy: float) -> list[Target]:
    levels = [level for level in LEVELS if wanted in (None, level.name)]
    # The variance of a right or wrong answer: what the residual can have at most, if confidences say nothing.
    variance = max(accuracy * (1 - accuracy), 1e-6)
    limits = tuple(level.ece for level in levels)
    targets = [Target(name="ece", kind="error", expected=ece, limits=limits, bins=10, variance=variance)]
    if u_recall is None:
        return targets
    share, wrong = u_recall / 100, max(1 - accuracy, 1e-3)
    recalls = tuple(level.u_recall / 100 for level in levels)
    targets.append(Target(name="u_recall", kind="share", expected=share, limits=recalls, portion=wrong))
    score = min(100.0, max(0.0, ers_raw(ece, u_recall, domain)))
    deviation = math.hypot(200 * math.sqrt(variance), 50 * math.sqrt(share * (1 - share) / wrong))
    scores = tuple(float(level.ers) for level in levels)
    targets.append(Target(name="ers", kind="score", expected=score, limits=scores, deviation=deviation))
    return targets
