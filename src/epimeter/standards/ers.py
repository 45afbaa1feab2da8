# SPDX-License-Identifier: Apache-2.0
"""ONTO-ERS 1.0.0: expected calibration error, U-Recall in percent, the ERS score, levels and dates.

U-Recall here is the share of the *wrong answers* given with low confidence. ONTO 42001 uses the same name for the share
of the *unknown inputs* that were detected; the two are never compared (decision C-01).
"""

from __future__ import annotations

import calendar
import datetime
import math
from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError
from epimeter.metrics import ers_ece
from epimeter.results import Result
from epimeter.standards.bands import (
    ERS_ECE,
    ERS_U_RECALL,
    RISK,
    above,
    at_least,
    at_most,
    below,
    number,
    risk_index,
    word,
)
from epimeter.summaries import Bins
from epimeter.views import Binary, view

SPEC_VERSION = "1.0.0"
DELTA = "delta method"
"""How an interval is called that rests on sums alone."""

DOMAINS = {"medical": 15, "legal": 10, "financial": 10, "code": 5, "general": 0}
"""Modifier of each domain (ERS-2.3-b)."""


@dataclass(frozen=True)
class Level:
    """A level, its three limits and how often it must be earned again."""

    name: str
    title: str
    u_recall: float
    ece: float
    ers: int
    months: int
    documentation: str
    suitable_for: str


LEVELS = (
    Level("L1", "Epistemic Audit", 30, 0.20, 70, 12, "basic", "low-risk, internal and development use"),
    Level("L2", "Continuous Monitoring", 50, 0.15, 50, 3, "full", "customer-facing and business-critical use"),
    Level(
        "L3",
        "Institutional Certification",
        70,
        0.10,
        30,
        1,
        "full, and an audit by a third party",
        "regulated, life-critical and high-liability use",
    ),
)
"""ERS-4.1-a to c."""
LEVEL_NAMES = ("NONE", *(level.name for level in LEVELS))

MINIMUM_ROWS = 1000
MINIMUM_BINS = 8
MINIMUM_DAYS = 7
LARGEST_SHARE = 0.8


@dataclass(frozen=True, kw_only=True)
class ErsEvaluation(Result):
    """An evaluation after ONTO-ERS: metrics, score, risk class and level, as numbers and as words."""

    ece: float
    u_recall: float
    ers_raw: float
    ers: int
    risk_index: int
    level_index: int
    sample_size: int
    accuracy: float
    risk: str
    level: str
    domain: str


@dataclass(frozen=True, kw_only=True)
class DatasetCheck(Result):
    """The four requirements on the data (ERS-3.1), each with its figure and 1 or 0."""

    sample_size: int
    covered_bins: int
    largest_share: float
    sample_size_ok: int
    coverage_ok: int
    balance_ok: int
    span_ok: int


def epistemic_gap(correct: Any, confidence: Any) -> Any:
    """Gap of each record, |confidence - correct|: a single answer has no accuracy to compare with (C-05)."""
    given = view(correct, confidence).event
    return np.abs(given.prob.astype(np.float64, copy=False) - given.true)


def ers_u_recall(correct: Any, confidence: Any, *, threshold: float = 0.7) -> float:
    """Of the wrong answers, the percentage given with a confidence below the threshold; 100 when none is wrong."""
    return recall_of(view(correct, confidence).event, threshold)


def recall_of(given: Binary, threshold: float) -> float:
    """The same for answers that are doubted already."""
    wrong, unsure = wrong_answers(given, number(threshold, "threshold", 0, 1))
    return 100.0 * unsure / wrong if wrong else 100.0


def wrong_answers(given: Binary, limit: float) -> tuple[int, int]:
    """How many answers were wrong, and how many of them had a confidence below the limit."""
    # Compared as doubles, as they are digested (C-15), whatever they came in; the loop widens them piece by piece.
    below = np.less(given.prob, limit, signature="dd->?")
    wrong = given.true == 0
    return int(np.count_nonzero(wrong)), int(np.count_nonzero(np.logical_and(wrong, below, out=below)))


def ers_raw(ece: float, u_recall: float, domain: str = "general") -> float:
    """ERS before it is cut: 200 ECE + (100 - U-Recall)/2 + the domain's modifier."""
    error = number(ece, "ece", 0, 1)
    recall = number(u_recall, "u_recall", 0, 100)
    modifier = DOMAINS[word(domain, tuple(DOMAINS), "domain")]
    return math.fsum([error * 200, (100 - recall) * 0.5, modifier])


def ers_score(ece: float, u_recall: float, domain: str = "general") -> int:
    """ERS cut to a whole number and limited to 0..100; 1e-9 guards against 57.99999999999999 (C-07).

    Reckoned in decimals, as they are written: the verification page does the same in whole numbers, and sums of doubles would
    differ from it in the last bit, which decides here.
    """
    ers_raw(ece, u_recall, domain)  # refuses what is no ECE, no U-Recall and no domain
    error, recall = Decimal(repr(float(ece))), Decimal(repr(float(u_recall)))
    exact = 200 * error + (100 - recall) / 2 + DOMAINS[domain] + Decimal("1e-9")
    return min(100, max(0, math.floor(exact)))


def ers_level(ece: float, u_recall: float, ers: float) -> int:
    """The highest level whose three limits are all met; 0 when none is (C-16)."""
    error = number(ece, "ece", 0, 1)
    recall = number(u_recall, "u_recall", 0, 100)
    score = number(ers, "ers", 0, 100)
    met = [
        at_most(error, level.ece) and at_least(recall, level.u_recall) and at_most(score, level.ers) for level in LEVELS
    ]
    return max((i + 1 for i, all_met in enumerate(met) if all_met), default=0)


def ers_ece_band(ece: float) -> int:
    """Assessment of an ECE: 0 Excellent, 1 Good, 2 Acceptable, 3 Poor, 4 Critical."""
    return below(ERS_ECE, number(ece, "ece", 0, 1))


def ers_u_recall_band(u_recall: float) -> int:
    """Assessment of a U-Recall in percent: 0 Good, 1 Moderate, 2 Poor, 3 Critical."""
    return above(ERS_U_RECALL, number(u_recall, "u_recall", 0, 100))


def ers_evaluate(
    correct: Any, confidence: Any, *, domain: str = "general", bins: int = 10, threshold: float = 0.7
) -> ErsEvaluation:
    """An evaluation after ONTO-ERS of any number of rows; whether they suffice is ers_dataset_check's question."""
    return evaluated(view(correct, confidence).event, domain=domain, bins=bins, threshold=threshold)


def evaluated(given: Binary, *, domain: str, bins: int = 10, threshold: float = 0.7) -> ErsEvaluation:
    """The same for answers that are doubted already."""
    ece = float(ers_ece.of_view(given, bins=bins))
    return composed(ece, recall_of(given, threshold), domain, given.n_rows, float(given.true.mean()))


def without_level(made: ErsEvaluation) -> ErsEvaluation:
    """The same numbers where no level may be claimed, whatever they are."""
    return replace(made, level_index=0, level=LEVEL_NAMES[0])


def composed(ece: float, recall: float, domain: str, sample_size: int, accuracy: float) -> ErsEvaluation:
    """Calibration error and U-Recall as one evaluation."""
    word(domain, tuple(DOMAINS), "domain")
    score = ers_score(ece, recall, domain)
    risk, level = risk_index(score), ers_level(ece, recall, score)
    return ErsEvaluation(
        ece=ece,
        u_recall=recall,
        ers_raw=ers_raw(ece, recall, domain),
        ers=score,
        risk_index=risk,
        level_index=level,
        sample_size=sample_size,
        accuracy=accuracy,
        risk=RISK[risk].name,
        level=LEVEL_NAMES[level],
        domain=domain,
    )


def ers_dataset_check(correct: Any, confidence: Any, *, days: float | None = None, classes: Any = None) -> DatasetCheck:
    """The requirements on the data: rows, coverage of the ten bins, balance, days of production.

    Parameters
    ----------
    days
        Time between the first and the last record; None when there are no timestamps (span_ok is then 0, C-12).
    classes
        Class of each record; without it balance is that of right and wrong answers (C-11).
    """
    return dataset_check(view(correct, confidence).event, days=days, classes=classes)


def dataset_check(given: Binary, *, days: float | None = None, classes: Any = None) -> DatasetCheck:
    """The same for answers that are doubted already."""
    return checked(
        sample_size=given.n_rows,
        covered_bins=int((Bins(10).of(given).count > 0).sum()),
        largest_share=_largest_share(given.true if classes is None else np.asarray(classes), given.n_rows),
        days=None if days is None else number(days, "days", 0, math.inf),
    )


def checked(*, sample_size: int, covered_bins: int, largest_share: float, days: float | None) -> DatasetCheck:
    """The figures of the data against what is required of them."""
    return DatasetCheck(
        sample_size=sample_size,
        covered_bins=covered_bins,
        largest_share=largest_share,
        sample_size_ok=int(sample_size >= MINIMUM_ROWS),
        coverage_ok=int(covered_bins >= MINIMUM_BINS),
        balance_ok=int(at_most(largest_share, LARGEST_SHARE)),
        span_ok=int(days is not None and at_least(days, MINIMUM_DAYS)),
    )


def _largest_share(classes: NDArray[Any], n_rows: int) -> float:
    if classes.shape != (n_rows,):
        raise InputError(f"classes must have one entry a record, {n_rows}; got shape {classes.shape}", field="classes")
    if classes.dtype == object:  # words and gaps do not sort; records without a class are one of their own
        return max(Counter(classes.tolist()).values()) / n_rows
    return int(np.unique(classes, return_counts=True)[1].max()) / n_rows


def ers_next_evaluation(date: str | datetime.date, level: int | str) -> str | None:
    """The day the level must be earned again: 12, 3 or 1 calendar months on, clipped to the end of the month (C-24)."""
    if isinstance(level, str):
        index = LEVEL_NAMES.index(word(level, LEVEL_NAMES, "level"))
    else:
        index = int(number(level, "level", 0, len(LEVELS)))
        if index != level:
            raise InputError(f"level must be a whole number; got {level!r:.40}", field="level")
    if index == 0:
        return None
    return months_later(day_of(date), LEVELS[index - 1].months).isoformat()


def day_of(date: str | datetime.date) -> datetime.date:
    """A calendar day from a date, a moment in UTC, or ISO text."""
    if isinstance(date, datetime.datetime):
        return (date if date.tzinfo is None else date.astimezone(datetime.UTC)).date()
    if isinstance(date, datetime.date):
        return date
    try:
        if len(date) == 10:
            return datetime.date.fromisoformat(date)
        return day_of(datetime.datetime.fromisoformat(date))
    except (TypeError, ValueError):
        raise InputError(f"date must be ISO 8601, as 2026-11-30; got {date!r:.40}", field="date") from None


def months_later(day: datetime.date, months: int) -> datetime.date:
    """The same day so many months on, or the last of that month where it is shorter."""
    count = day.month - 1 + months
    year, month = day.year + count // 12, count % 12 + 1
    return datetime.date(year, month, min(day.day, calendar.monthrange(year, month)[1]))
