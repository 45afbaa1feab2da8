# SPDX-License-Identifier: Apache-2.0
"""An evaluation after the standards as it is answered: the same protocol as the command's, in the words of the API.

Nothing here knows who asked: the same rows give the same bytes to every tier (ERS 8.2). Numbers are rounded to nine
decimals, as in a certificate, and score and level are those of the rounded numbers. Nothing is judged here: requirements,
levels and cautions are those of `standards`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from epimeter import __version__
from epimeter.metrics import ers_ece  # type: ignore[attr-defined]
from epimeter.readers.digest import SCHEME, WHOLE_SCHEME
from epimeter.report import evaluate
from epimeter.service.bodies import encoded
from epimeter.service.schemas import Compliance, DatasetReport, Facts, Metrics, OntoReport, Period
from epimeter.standards.bands import RISK, risk_index
from epimeter.standards.declaration import Declaration, declaration
from epimeter.standards.ers import (
    LEVEL_NAMES,
    DatasetCheck,
    ers_dataset_check,
    ers_level,
    ers_next_evaluation,
    ers_score,
    wrong_answers,
)
from epimeter.standards.ers_sums import THRESHOLD
from epimeter.standards.evaluated import StandardsEvaluation
from epimeter.standards.evaluation import evaluate_standards
from epimeter.standards.records import Records
from epimeter.standards.requirement import lacking_sentences
from epimeter.standards.resampling import Wanted
from epimeter.summaries.travel import to_bytes


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


def after_standards(
    given: Records,
    facts: Facts,
    at: datetime,
    *,
    interval: Wanted = "none",
    organization: str = "",
    passport: bool = False,
) -> StandardsEvaluation:
    """The evaluation after ONTO-ERS and, where the records say which inputs were unknown, ONTO 42001."""
    told = Declaration() if facts.declaration is None else declaration(facts.declaration)
    return evaluate_standards(
        given,
        standard="ers" if given.unknown is None else "both",
        domain=facts.domain,
        onto_domain=facts.onto_domain,
        date=at.date(),
        declaration=told.updated(
            organization=organization, system_id=facts.model_id, model_version=facts.model_version or ""
        ),
        strategy=facts.strategy,
        interval=interval,
        passport=passport,
    )


def assess(given: Records, facts: Facts, at: datetime, *, repeated: str | None = None) -> Assessed:
    """Evaluate records of one system; `repeated` is an id that stands in two of them."""
    answers = given.answer
    report = evaluate(
        given.given.true, given.given.prob, kind=given.kind, metrics=facts.metrics, source={"name": facts.model_id}
    )
    made = after_standards(given, facts, at)
    assert made.ers is not None
    days = None if given.period is None else given.period.days
    check = ers_dataset_check(answers.true, answers.prob, days=days, classes=given.classes)
    ece, recall = rounded(made.ers.ece), rounded(made.ers.u_recall)
    score = ers_score(ece, recall, facts.domain)
    lacking = lacking_sentences(made.requirements)
    twice = (
        ()
        if repeated is None
        else (f"id must be unique, so that a record can be named; {repeated[:60]!r} stands twice",)
    )
    level = LEVEL_NAMES[0 if lacking else ers_level(ece, recall, score)]
    wrong, unsure = wrong_answers(answers, THRESHOLD)
    recipe = ers_ece.reads
    assert recipe is not None
    return Assessed(
        metrics=Metrics(ece, recall, score),
        compliance=Compliance(
            level,  # type: ignore[arg-type]
            "INSUFFICIENT_DATA" if lacking else "FAIL" if level == "NONE" else "PASS",
            ers_next_evaluation(at, level),
        ),
        accuracy=rounded(made.ers.accuracy),
        risk=RISK[risk_index(score)].name,
        dataset=_dataset(given, check),
        onto=_onto(made),
        obstacles=(*(lacking or (("the limits of no level are met",) if level == "NONE" else ())), *twice),
        notes=(*given.notes, *made.cautions),
        report=encoded(report.to_dict()),
        totals=to_bytes(recipe.summarise(answers.read_as(recipe.reading))),
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
        whole_digest=f"{WHOLE_SCHEME}:sha-256:{given.whole_digest}",
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


def _onto(made: StandardsEvaluation) -> OntoReport | None:
    """The numbers of ONTO 42001 and the level that may be claimed, where there were unknown inputs to tell it by."""
    found, claimed = made.onto, made.claim
    if found is None or claimed is None:
        return None
    return OntoReport(
        domain=found.domain,
        ece=rounded(found.ece),
        mce=rounded(found.mce),
        u_recall=rounded(found.u_recall),
        false_alarm_rate=rounded(found.false_alarm_rate),
        ors=rounded(found.ors),
        risk=found.risk,
        level=claimed.level,
        assessed=claimed.assessed,
        measured_level=claimed.measured_level,
        tier=claimed.tier,
        missing=claimed.missing,
        declared=claimed.declared,
        statement=made.statement or "",
    )


ENGINE = f"epimeter {__version__}"
