# SPDX-License-Identifier: Apache-2.0
"""An evaluation after the standards in the words of the API.

Nothing is judged here: numbers, level, requirements, obstacles and cautions are those of `standards`, as the command prints them.
Nothing here knows who asked: the same rows give the same bytes to every tier (ERS 8.2).
"""

from __future__ import annotations

from datetime import date
from typing import Any

import msgspec

from epimeter import __version__
from epimeter.service.schemas import (
    Compliance,
    DatasetReport,
    Evaluation,
    EvaluationLine,
    Facts,
    ForecastFindings,
    Metrics,
    OntoReport,
    Period,
)
from epimeter.standards.ers import SPEC_VERSION, ers_next_evaluation
from epimeter.standards.evaluated import StandardsEvaluation
from epimeter.standards.judgement import rounded
from epimeter.store.moments import written
from epimeter.trust.standing import assessed

ENGINE = f"epimeter {__version__}"
NO_LEVEL = "a certificate states what records with a confidence show; these are forecasts of a number or of a set"


def _head(number: str, facts: Facts, attempt: int, at: int, done: int) -> dict[str, Any]:
    """What every completed evaluation begins with."""
    return {
        "evaluation_id": number,
        "status": "completed",
        "spec_version": SPEC_VERSION,
        "model_id": facts.model_id,
        "model_version": facts.model_version,
        "domain": facts.domain,
        "attempt": attempt,
        "created_at": written(at) or "",
        "completed_at": written(done),
    }


def answer_of(
    number: str, facts: Facts, attempt: int, at: int, done: int, found: StandardsEvaluation, notes: tuple[str, ...]
) -> Evaluation:
    """A completed evaluation as it is answered."""
    made = found.judgement
    assert made is not None
    return Evaluation(
        **_head(number, facts, attempt, at, done),
        metrics=Metrics(made.ece, made.u_recall, made.ers),
        compliance=Compliance(
            made.claimed,  # type: ignore[arg-type]
            made.status,  # type: ignore[arg-type]
            ers_next_evaluation(date.fromisoformat(found.date), made.claimed),
        ),
        assessed=assessed(made.claimed, attested=False),
        accuracy=made.accuracy,
        risk=made.risk,
        dataset=_dataset(found),
        onto_42001=_onto(found),
        certifiable=found.certificate_possible,
        obstacles=made.obstacles,
        notes=(*found.records["notes"], *found.cautions, *notes),
        engine=ENGINE,
    )


def with_passport(answer: Evaluation, found: StandardsEvaluation) -> Evaluation:
    """The answer once a passport was made: what ONTO 42001 then allows to claim."""
    return msgspec.structs.replace(answer, onto_42001=_onto(found))


def forecasts_answer(
    number: str, facts: Facts, attempt: int, at: int, done: int, report: bytes, notes: tuple[str, ...]
) -> Evaluation:
    """A completed evaluation of forecasts as it is answered: what the report says, and no level."""
    found = msgspec.json.decode(report)
    verdict = found["verdict"] or {"refuted": None, "sentences": ()}
    return Evaluation(
        **_head(number, facts, attempt, at, done),
        forecasts=ForecastFindings(
            kind=found["kind"],
            states=found["states"],
            sample_size=found["n_rows"],
            unlabelled=found["source"].get("unlabelled", 0),
            level=found["level"],
            values={
                one["metric"]: one["value"] if isinstance(one["value"], int | float) else None
                for one in found["measurements"]
            },
            refuted=verdict["refuted"],
            verdict=tuple(verdict["sentences"]),
        ),
        obstacles=(NO_LEVEL,),
        notes=(*found["cautions"], *notes),
        engine=ENGINE,
    )


def unmeasured(
    number: str,
    facts: Facts,
    attempt: int,
    at: int,
    status: Any,
    *,
    job: str | None = None,
    error: str | None = None,
    done: int | None = None,
) -> Evaluation:
    """An evaluation that is queued, or that came to nothing."""
    return Evaluation(
        evaluation_id=number,
        status=status,
        spec_version=SPEC_VERSION,
        model_id=facts.model_id,
        model_version=facts.model_version,
        domain=facts.domain,
        attempt=attempt,
        created_at=written(at) or "",
        completed_at=written(done),
        engine=ENGINE,
        error=error,
        job=job,
    )


def shown(row: Any, job: Any = None) -> Evaluation:
    """A stored evaluation as it is sent."""
    if row["result"] is not None:
        return msgspec.json.decode(bytes(row["result"]), type=Evaluation)
    facts = msgspec.json.decode(bytes(row["request"]), type=Facts)
    return unmeasured(
        row["id"], facts, row["attempt"], row["created_at"], row["status"], job=None if job is None else job["id"]
    )


def line(row: Any) -> EvaluationLine:
    """A stored evaluation as a line of a list."""
    metrics = None if row["ece"] is None else Metrics(row["ece"], row["u_recall"], row["ers"])
    return EvaluationLine(
        evaluation_id=row["id"],
        status=row["status"],
        model_id=row["system_id"],
        model_version=row["system_version"],
        domain=row["domain"],
        attempt=row["attempt"],
        created_at=written(row["created_at"]) or "",
        completed_at=written(row["completed_at"]),
        sample_size=row["sample_size"],
        metrics=metrics,
        level=row["level"],
    )


def _dataset(found: StandardsEvaluation) -> DatasetReport:
    check, facts = found.check, found.records
    period = facts["period"]
    return DatasetReport(
        digest=found.columns_digest,
        whole_digest=found.dataset_digest,
        sample_size=check.sample_size,
        unlabelled=facts["unlabelled"],
        covered_bins=check.covered_bins,
        largest_share=rounded(check.largest_share),
        sample_size_ok=bool(check.sample_size_ok),
        coverage_ok=bool(check.coverage_ok),
        balance_ok=bool(check.balance_ok),
        span_ok=bool(check.span_ok),
        period=None if period is None else Period(period["start"], period["end"], rounded(period["days"])),
        ground_truth=dict(facts["ground_truth_sources"]),
    )


def _onto(found: StandardsEvaluation) -> OntoReport | None:
    """The numbers of ONTO 42001 and the level that may be claimed, where there were unknown inputs to tell it by."""
    onto, claimed = found.onto, found.claim
    if onto is None or claimed is None:
        return None
    return OntoReport(
        domain=onto.domain,
        ece=rounded(onto.ece),
        mce=rounded(onto.mce),
        u_recall=rounded(onto.u_recall),
        false_alarm_rate=rounded(onto.false_alarm_rate),
        ors=rounded(onto.ors),
        risk=found.verdicts["onto"]["risk"],
        level=claimed.level,
        assessed=claimed.assessed,
        measured_level=claimed.measured_level,
        tier=claimed.tier,
        missing=claimed.missing,
        declared=claimed.declared,
        statement=found.statement or "",
        baseline=found.baseline,
        due=found.due,
        categories={one.category: rounded(one.u_recall) for one in found.categories},
    )
