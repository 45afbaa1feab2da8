# SPDX-License-Identifier: Apache-2.0
"""Columns into the answer of an evaluation: the numbers of ERS, what the data allow, the report.

Nothing here knows who asked: the same rows give the same bytes to every tier (ERS 8.2). Numbers are rounded to nine
decimals, as in a certificate, and score and level are those of the rounded numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from epimeter import __version__
from epimeter.errors import UndefinedMetricError
from epimeter.metrics import ers_ece  # type: ignore[attr-defined]
from epimeter.readers.digest import SCHEME
from epimeter.report import evaluate
from epimeter.service.bodies import encoded
from epimeter.service.schemas import Compliance, DatasetReport, Facts, Metrics, OntoReport, Period
from epimeter.standards.bands import RISK, risk_index
from epimeter.standards.ers import (
    LARGEST_SHARE,
    LEVEL_NAMES,
    MINIMUM_BINS,
    MINIMUM_DAYS,
    MINIMUM_ROWS,
    DatasetCheck,
    ers_dataset_check,
    ers_evaluate,
    ers_level,
    ers_next_evaluation,
    ers_score,
    wrong_answers,
)
from epimeter.standards.ers_sums import THRESHOLD
from epimeter.standards.onto42001 import FROM_ERS, onto_evaluate
from epimeter.standards.onto42001 import LEVEL_NAMES as ONTO_LEVELS
from epimeter.standards.records import Records
from epimeter.summaries.travel import to_bytes

MUCH_UNLABELLED = 0.2


@dataclass(frozen=True, kw_only=True)
class Assessed:
    """What an evaluation found."""

    metrics: Metrics
    compliance: Compliance
    accuracy: float
    risk: str
    dataset: DatasetReport
    onto: OntoReport | None
    obstacles: tuple[str, ...]
    notes: tuple[str, ...]
    report: bytes
    totals: bytes
    wrong: int
    wrong_unsure: int

    @property
    def certifiable(self) -> bool:
        """Whether a certificate may follow (C-14)."""
        return not self.obstacles


def assess(given: Records, facts: Facts, at: datetime) -> Assessed:
    """Evaluate records of one system."""
    event = given.answer
    report = evaluate(given.given.true, given.given.prob, metrics=facts.metrics, source={"name": facts.model_id})
    found = ers_evaluate(event.true, event.prob, domain=facts.domain)
    days = None if given.period is None else given.period.days
    check = ers_dataset_check(event.true, event.prob, days=days, classes=given.classes)
    ece, recall = rounded(found.ece), rounded(found.u_recall)
    score = ers_score(ece, recall, facts.domain)
    level = LEVEL_NAMES[ers_level(ece, recall, score)]
    wrong, unsure = wrong_answers(event, THRESHOLD)
    lacking = _lacking(given, check)
    recipe = ers_ece.reads
    assert recipe is not None
    return Assessed(
        metrics=Metrics(ece, recall, score),
        compliance=Compliance(
            "NONE" if lacking else level,  # type: ignore[arg-type]
            "INSUFFICIENT_DATA" if lacking else "FAIL" if level == "NONE" else "PASS",
            None if lacking else ers_next_evaluation(at, level),
        ),
        accuracy=rounded(found.accuracy),
        risk=RISK[risk_index(score)].name,
        dataset=_dataset(given, check),
        onto=_onto(given, facts.domain),
        obstacles=lacking or (("the limits of no level are met",) if level == "NONE" else ()),
        notes=_notes(given, check),
        report=encoded(report.to_dict()),
        totals=to_bytes(recipe.summarise(event.read_as(recipe.reading))),
        wrong=wrong,
        wrong_unsure=unsure,
    )


def rounded(value: float) -> float:
    """Nine decimals, half to even; -0 becomes 0."""
    return round(float(value), 9) + 0.0


def _dataset(given: Records, check: DatasetCheck) -> DatasetReport:
    period = given.period
    return DatasetReport(
        digest=f"{SCHEME}:sha-256:{given.digest}",
        sample_size=check.sample_size,
        unlabelled=given.unlabelled,
        covered_bins=check.covered_bins,
        largest_share=rounded(check.largest_share),
        sample_size_ok=bool(check.sample_size_ok),
        coverage_ok=bool(check.coverage_ok),
        balance_ok=bool(check.balance_ok),
        span_ok=bool(check.span_ok),
        period=None if period is None else Period(period.start, period.end, rounded(period.days)),
        ground_truth=dict(given.sources),
    )


def _lacking(given: Records, check: DatasetCheck) -> tuple[str, ...]:
    """Which requirements of ERS 3.1 the data miss, one sentence each (C-11, C-12, C-49)."""
    span = "without timestamps it cannot be shown" if given.period is None else f"they span {given.period.days:.2f}"
    held = (
        (check.sample_size_ok, f"{MINIMUM_ROWS:,} predictions are needed; there are {check.sample_size:,} (ERS-3.1-a)"),
        (
            given.classes is None or check.balance_ok,
            f"no class may hold more than {LARGEST_SHARE:.0%}; one holds {check.largest_share:.1%} (ERS-3.1-b)",
        ),
        (check.coverage_ok, f"{MINIMUM_BINS} of 10 bins must be covered; {check.covered_bins} are (ERS-3.1-c)"),
        (check.span_ok, f"{MINIMUM_DAYS} days of data are needed; {span} (ERS-3.1-d)"),
    )
    return tuple(sentence for holds, sentence in held if not holds)


def _notes(given: Records, check: DatasetCheck) -> tuple[str, ...]:
    notes = list(given.notes)
    total = given.unlabelled + given.n_rows
    if given.unlabelled > MUCH_UNLABELLED * total:
        notes.append(f"{given.unlabelled / total:.0%} of the records have no ground truth: what is known may be biased")
    if given.classes is None and not check.balance_ok:
        notes.append(f"{check.largest_share:.1%} of the records have the same outcome (ERS-3.1-b)")
    return tuple(notes)


def _onto(given: Records, domain: str) -> OntoReport | None:
    """The numbers of ONTO 42001, where the records say which inputs were unknown and some were."""
    if given.unknown is None:
        return None
    event = given.answer
    extra: dict[str, Any] = {} if given.detected is None else {"detected": given.detected.astype(np.uint8)}
    try:
        found = onto_evaluate(event.true, event.prob, given.unknown.astype(np.uint8), domain=FROM_ERS[domain], **extra)
    except UndefinedMetricError:
        return None
    return OntoReport(
        domain=FROM_ERS[domain],
        ece=rounded(found.ece),
        mce=rounded(found.mce),
        u_recall=rounded(found.u_recall),
        false_alarm_rate=rounded(found.false_alarm_rate),
        ors=rounded(found.ors),
        risk=found.risk,
        level=ONTO_LEVELS[found.level_index],
    )


ENGINE = f"epimeter {__version__}"
