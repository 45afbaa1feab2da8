# SPDX-License-Identifier: Apache-2.0
"""ONTO 42001:2025: calibration error, detection of unknowns, the composite ORS, conformance levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError, UndefinedMetricError
from epimeter.metrics import onto_ece
from epimeter.metrics.bin.onto import OntoError
from epimeter.results import Result
from epimeter.standards.bands import RISK, at_least, at_most, number, risk_index, word
from epimeter.summaries import Bins, BinTotals
from epimeter.views import Binary, view

DOMAINS = {
    "healthcare": 1.0,
    "legal": 0.9,
    "financial": 0.8,
    "critical_infrastructure": 0.85,
    "general_enterprise": 0.5,
    "consumer": 0.3,
}
"""Domain factors (42001-7.2.3-a)."""

FROM_ERS = {
    "medical": "healthcare",
    "legal": "legal",
    "financial": "financial",
    "general": "general_enterprise",
    "code": "general_enterprise",
}
"""Domains of ONTO-ERS in the words of ONTO 42001; a report says when one was converted."""

DAYS = {
    "healthcare": 30,
    "legal": 30,
    "financial": 30,
    "critical_infrastructure": 30,
    "general_enterprise": 90,
    "consumer": 180,
}
"""Longest interval between measurements (42001-5.1.1-c, C-31, C-32)."""

WEIGHTS = (0.35, 0.45, 0.20)
LEAST_WEIGHT = 0.15


@dataclass(frozen=True)
class ConformanceLevel:
    """A conformance level and its limits."""

    name: str
    tier: str
    ece: float
    u_recall: float
    word: str


LEVELS = (
    ConformanceLevel("Level 1", "Tier 1 Audit", 0.15, 0.50, "Acceptable"),
    ConformanceLevel("Level 2", "Tier 2 Monitoring", 0.10, 0.70, "Good"),
    ConformanceLevel("Level 3", "Tier 3 Certified", 0.05, 0.85, "Excellent"),
)
"""42001-5.2.4-a, 6.2.4-a, 8.2-a."""
LEVEL_NAMES = ("none", *(level.name for level in LEVELS))


@dataclass(frozen=True, kw_only=True)
class UnknownRecall(Result):
    """Share of the unknown inputs that were flagged, share of the known ones flagged too, and how many were unknown."""

    u_recall: float
    false_alarm_rate: float
    unknowns: int


@dataclass(frozen=True, kw_only=True)
class OntoEvaluation(Result):
    """An evaluation after ONTO 42001."""

    ece: float
    mce: float
    u_recall: float
    false_alarm_rate: float
    ors: float
    risk_index: int
    level_index: int
    sample_size: int
    unknowns: int
    accuracy: float
    risk: str
    level: str
    tier: str
    domain: str


@dataclass(frozen=True, kw_only=True)
class InformationRatio(Result):
    """Information claimed by the confidences over information justified by the outcomes."""

    igr: float
    claimed: float
    justified: float


def onto_u_recall(
    unknown: Any,
    confidence: Any,
    *,
    threshold: float = 0.5,
    detected: Any = None,
    silent: tuple[Any, Any] | None = None,
) -> UnknownRecall:
    """Of the unknown inputs, the share that the system flagged as uncertain.

    Parameters
    ----------
    threshold
        An input counts as flagged when its confidence is below this.
    detected
        0/1 for each record, from another mechanism; then confidence and threshold decide nothing.
    silent
        `unknown` and `detected` of further records that have no outcome, as declined answers: neither U-Recall nor false
        alarms need one.
    """
    given = view(unknown, confidence).event
    limit = number(threshold, "threshold", 0, 1)
    prob = given.prob.astype(np.float64, copy=False)  # the digest is that of doubles (C-15)
    flagged = prob < limit if detected is None else flags_of(detected, given.n_rows)
    return recall_of(given.true == 1, flagged, None if detected is None else silent)


def recall_of(
    is_unknown: NDArray[np.bool_], flagged: NDArray[np.bool_], silent: tuple[Any, Any] | None = None
) -> UnknownRecall:
    """The same for flags that are doubted already."""
    if silent is not None:
        further = [np.asarray(flags).astype(bool) for flags in silent]
        is_unknown, flagged = np.concatenate([is_unknown, further[0]]), np.concatenate([flagged, further[1]])
    unknowns = int(is_unknown.sum())
    if unknowns == 0:
        raise UndefinedMetricError(
            "U-Recall of ONTO 42001 needs unknown inputs; none of the records is one (42001-A.3.1-a)"
        )
    known = len(is_unknown) - unknowns
    return UnknownRecall(
        u_recall=int(flagged[is_unknown].sum()) / unknowns,
        false_alarm_rate=int(flagged[~is_unknown].sum()) / known if known else math.nan,
        unknowns=unknowns,
    )


def flags_of(detected: Any, n_rows: int) -> NDArray[np.bool_]:
    """The column of a mechanism of its own, doubted."""
    flags = view(detected, np.zeros(n_rows)).event.true
    return np.asarray(flags == 1)


def ors(ece: float, u_recall: float, domain: str = "general_enterprise", weights: Sequence[float] = WEIGHTS) -> float:
    """The composite score, 100 (w1 min(ECE/0.3, 1) + w2 (1 - U-Recall) + w3 domain factor)."""
    error = number(ece, "ece", 0, 1)
    recall = number(u_recall, "u_recall", 0, 1, "ONTO 42001 takes a fraction, not percent (C-02).")
    factor = DOMAINS[word(domain, tuple(DOMAINS), "domain")]
    w1, w2, w3 = checked_weights(weights)
    # Weights may sum to 1 + 1e-9; the score is at most 100 all the same (42001-A.5.2-a).
    return min(100.0, 100 * math.fsum([w1 * min(error / 0.3, 1.0), w2 * (1 - recall), w3 * factor]))


def checked_weights(weights: Sequence[float]) -> tuple[float, float, float]:
    """Three weights that sum to 1, none below 0.15 (42001-A.5.3-a)."""
    made = [number(value, "weights", 0, 1) for value in weights]
    if len(made) != 3:
        raise InputError(f"weights must be three numbers; got {len(made)}", field="weights")
    if abs(math.fsum(made) - 1) > 1e-9:
        raise InputError(f"weights must sum to 1 (42001-A.5.3-a); they sum to {math.fsum(made):g}", field="weights")
    if not all(at_least(value, LEAST_WEIGHT) for value in made):
        raise InputError(f"no weight may be below {LEAST_WEIGHT} (42001-A.5.3-a); got {min(made):g}", field="weights")
    return made[0], made[1], made[2]


def onto_level(ece: float, u_recall: float) -> int:
    """The highest level whose limits on ECE and U-Recall are met; 0 when none is."""
    error = number(ece, "ece", 0, 1)
    recall = number(u_recall, "u_recall", 0, 1, "ONTO 42001 takes a fraction, not percent (C-02).")
    met = [at_most(error, level.ece) and at_least(recall, level.u_recall) for level in LEVELS]
    return max((i + 1 for i, both in enumerate(met) if both), default=0)


def onto_evaluate(
    correct: Any,
    confidence: Any,
    unknown: Any,
    *,
    domain: str = "general_enterprise",
    strategy: str = "equal_width",
    bins: int | None = None,
    threshold: float = 0.5,
    weights: Sequence[float] = WEIGHTS,
    detected: Any = None,
    silent: tuple[Any, Any] | None = None,
) -> OntoEvaluation:
    """An evaluation after ONTO 42001; flags beyond the numbers (frequency, passport, verification) are asked elsewhere."""
    given = view(correct, confidence).event
    error = onto_ece.of_view(given, strategy=strategy, bins=bins)
    recall = onto_u_recall(unknown, confidence, threshold=threshold, detected=detected, silent=silent)
    return composed(given, error, recall, domain=domain, weights=weights)


def composed(
    given: Binary, error: OntoError, recall: UnknownRecall, *, domain: str, weights: Sequence[float] = WEIGHTS
) -> OntoEvaluation:
    """Calibration error and U-Recall of answers as one evaluation."""
    score = ors(error.ece, recall.u_recall, domain, weights)
    level, risk = onto_level(error.ece, recall.u_recall), risk_index(score)
    return OntoEvaluation(
        ece=error.ece,
        mce=error.mce,
        u_recall=recall.u_recall,
        false_alarm_rate=recall.false_alarm_rate,
        ors=score,
        risk_index=risk,
        level_index=level,
        sample_size=given.n_rows,
        unknowns=recall.unknowns,
        accuracy=float(given.true.mean()),
        risk=RISK[risk].name,
        level=LEVEL_NAMES[level],
        tier=LEVELS[level - 1].tier if level else "none",
        domain=domain,
    )


def without_level(made: OntoEvaluation) -> OntoEvaluation:
    """The same numbers where no level may be claimed, whatever they are."""
    return replace(made, level_index=0, level=LEVEL_NAMES[0], tier="none")


def igr(
    correct: Any, confidence: Any, *, bins: int = 10, form: Literal["information", "entropy"] = "information"
) -> InformationRatio:
    """Information gain ratio: above 1 the system claims more than its outcomes justify (C-38).

    Parameters
    ----------
    bins
        Equal-width bins whose means stand for confidence and accuracy.
    form
        ``information``: 1 bit minus the entropy, claimed over justified; ``entropy``: the entropies the other way round.
    """
    word(form, ("information", "entropy"), "form")
    return ratio_of(Bins(int(number(bins, "bins", 1, math.inf))).of(view(correct, confidence).event), form)


def ratio_of(totals: BinTotals, form: str = "information") -> InformationRatio:
    """The same for answers that are summed up already."""
    share = totals.share
    said, seen = totals.confidence, totals.frequency
    claimed, justified = float(share @ _information(said)), float(share @ _information(seen))
    above, under = claimed, justified
    if form == "entropy":
        above, under = float(share @ _entropy(seen)), float(share @ _entropy(said))
    ratio = above / under if under > 0 else (1.0 if above == 0 else math.inf)
    return InformationRatio(igr=ratio, claimed=claimed, justified=justified)


def _entropy(chance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Binary entropy in bits."""
    from epimeter.special import entr

    return np.asarray((entr(chance) + entr(1 - chance)) / math.log(2))


def _information(chance: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 bit minus the binary entropy; with x = 2 q - 1 nothing cancels near q = 1/2, where the entropy is almost 1."""
    x = 2 * chance - 1
    certain = np.abs(x) == 1
    inside = np.where(certain, 0.0, x)
    made = (2 * inside * np.arctanh(inside) + np.log1p(-(inside**2))) / (2 * math.log(2))
    return np.where(certain, 1.0, np.maximum(made, 0.0))
