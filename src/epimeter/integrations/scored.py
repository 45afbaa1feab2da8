# SPDX-License-Identifier: Apache-2.0
"""What the integrations of evaluation tools share: metrics of the catalogue over pairs of confidence and outcome."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from epimeter.card_index import find
from epimeter.errors import UndefinedMetricError
from epimeter.results import Result

HEADLINES = ("ece", "brier_score", "auroc", "aurc", "hle_ce")
"""The metrics that a tool shows beside its accuracy."""

Pair = tuple[float, float]
"""The confidence in an answer, and 1 or 0 whether it was right."""


def measured(name: str, pairs: Iterable[Pair]) -> float:
    """A metric over answers; NaN where it is not defined on them, as evaluation tools write it."""
    answers = list(pairs)
    if not answers:
        return math.nan
    confidence, correct = zip(*answers, strict=True)
    try:
        value = find(name)(correct=list(map(int, correct)), confidence=list(confidence))
    except UndefinedMetricError:
        return math.nan
    return value.headline if isinstance(value, Result) else float(value)


def usable(pairs: Sequence[tuple[float | None, float | None]]) -> list[Pair]:
    """The pairs that have a confidence in 0..1 and an outcome of 0 or 1."""
    return [(said, came) for said, came in pairs if said is not None and came in (0.0, 1.0) and 0.0 <= said <= 1.0]
