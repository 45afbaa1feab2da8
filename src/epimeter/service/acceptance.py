# SPDX-License-Identifier: Apache-2.0
"""An evaluation accepted: quota, attempt number, result, audit entry and answer in one commit.

1. Few rows: measured first, then everything is written at once.
2. Many rows: the rows are kept, the evaluation is queued and a job written, at once; a worker measures later and writes
   result and end of the job at once.

Whatever happens between, an evaluation is counted exactly when it is there.
"""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import Connection

from epimeter.errors import EpimeterError, InputError
from epimeter.service import renewing, webhooks
from epimeter.service.bodies import Body, encoded
from epimeter.service.children import Children
from epimeter.service.errands import Assessed, MeasuredForecasts, MeasuredRows, MeasureRows
from epimeter.service.evaluated import answer_of, forecasts_answer, unmeasured
from epimeter.service.issuer_folder import IssuerFolder
from epimeter.service.problems import Problem, as_problem, in_a_request
from epimeter.service.schemas import Evaluation, Facts
from epimeter.standards.evaluated import StandardsEvaluation
from epimeter.standards.stored import evaluation_of, held_against, with_obstacles
from epimeter.store import Store, evaluations, jobs, journal, organizations, registry
from epimeter.store.moments import month_of, new_id, now
from epimeter.trust.names import similar_sentence
from epimeter.trust.seen import figures_of


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks for an evaluation, and what he may."""

    organization: str
    key_id: str
    quota: int | None


def accept(
    db: Connection,
    ledger: IssuerFolder,
    order: Order,
    facts: Facts,
    rows: Body | None,
    found: Assessed | MeasuredForecasts,
    at: int,
) -> tuple[str, Evaluation]:
    """Write an evaluation that is measured; its rows only where they can be needed again."""
    made = _in_its_history(db, ledger, order.organization, facts, found)
    number, attempt = _counted(db, order, facts, at)
    done = now()
    similar = _similar(db, order.organization, facts)
    answer, stored = _answered(number, facts, attempt, at, done, found, made, similar)
    rows = rows if answer.certifiable else None
    evaluations.add(
        db,
        id=number,
        organization=order.organization,
        key_id=order.key_id,
        system_id=facts.model_id,
        system_version=facts.model_version,
        domain=facts.domain,
        attempt=attempt,
        status="completed",
        created_at=at,
        request=encoded(facts),
        rows_kept=int(rows is not None),
        **stored,
    )
    if rows is not None:
        evaluations.keep_rows(db, number, rows.file)
    _tell(db, order.organization, order.key_id, "evaluation.completed", answer)
    if made is not None:
        renewing.plan(db, order.organization, facts.model_id, number, done)
    return number, answer


def queue(db: Connection, order: Order, facts: Facts, rows: Body, at: int) -> tuple[str, Evaluation]:
    """Write an evaluation that a worker will measure."""
    number, attempt = _counted(db, order, facts, at)
    evaluations.add(
        db,
        id=number,
        organization=order.organization,
        key_id=order.key_id,
        system_id=facts.model_id,
        system_version=facts.model_version,
        domain=facts.domain,
        attempt=attempt,
        status="queued",
        created_at=at,
        request=encoded(facts),
        rows_kept=1,
    )
    evaluations.keep_rows(db, number, rows.file)
    job = jobs.add(db, organization=order.organization, kind="evaluate", subject=number, at=at)
    answer = unmeasured(number, facts, attempt, at, "queued", job=job)
    journal.note(
        db,
        organization=order.organization,
        actor=order.key_id,
        action="evaluation.queued",
        subject=number,
        model_id=facts.model_id,
        attempt=attempt,
    )
    return number, answer


def work(store: Store, ledger: IssuerFolder, job: Any, worker: str, children: Children, seconds: float) -> None:
    """Measure a queued evaluation and write its result, if the job is still this worker's."""
    organization, number = job["organization"], job["subject"]
    with store.reading() as db:
        row = evaluations.find(db, organization, number)
    if row is None or row["status"] != "queued":
        with store.writing() as db:
            jobs.finish(db, job["id"], worker, now())
        return
    facts = msgspec.json.decode(row["request"], type=Facts)
    error: str | None = None
    found: Assessed | MeasuredForecasts | None = None
    made: StandardsEvaluation | None = None
    try:
        errand = MeasureRows(facts=facts, at=row["created_at"])
        with store.reading() as db:
            found = children.do(errand, MeasuredRows, evaluations.retained_rows(db, number), seconds=seconds).found
        with store.reading() as db:
            made = _in_its_history(db, ledger, organization, facts, found)
    except (EpimeterError, Problem) as refusal:
        if isinstance(refusal, Problem) and refusal.kind == "unavailable":
            raise  # the service stops; the job is taken up again
        error = in_a_request(str(refusal))
    done = now()
    with store.writing() as db:
        if not jobs.finish(db, job["id"], worker, done):
            return
        if found is None or error is not None:
            answer = unmeasured(number, facts, row["attempt"], row["created_at"], "failed", error=error, done=done)
            evaluations.complete(db, number, status="failed", completed_at=done, result=encoded(answer))
            evaluations.drop_rows(db, number)
            _tell(db, organization, row["key_id"], "evaluation.failed", answer)
            return
        similar = _similar(db, organization, facts)
        answer, stored = _answered(number, facts, row["attempt"], row["created_at"], done, found, made, similar)
        evaluations.complete(db, number, status="completed", **stored)
        if not answer.certifiable:
            evaluations.drop_rows(db, number)
        _tell(db, organization, row["key_id"], "evaluation.completed", answer)
        if made is not None:
            renewing.plan(db, organization, facts.model_id, number, done)


def failed(db: Connection, organization: str, number: str, error: str) -> None:
    """Write that a queued evaluation came to nothing."""
    row = evaluations.find(db, organization, number)
    if row is None or row["status"] != "queued":
        return
    done = now()
    facts = msgspec.json.decode(bytes(row["request"]), type=Facts)
    sentence = f"it could not be measured: {error}"
    answer = unmeasured(number, facts, row["attempt"], row["created_at"], "failed", error=sentence, done=done)
    evaluations.complete(db, number, status="failed", completed_at=done, result=encoded(answer))
    evaluations.drop_rows(db, number)
    _tell(db, organization, row["key_id"], "evaluation.failed", answer)


def _counted(db: Connection, order: Order, facts: Facts, at: int) -> tuple[str, int]:
    month = month_of(at)
    if evaluations.count_use(db, order.organization, month, order.quota) is None:
        raise quota_used_up(order.quota or 0, month)
    number = new_id("eval_")
    if facts.preregistration is not None:
        _spend(db, order.organization, facts.preregistration, number)
    return number, evaluations.next_attempt(db, order.organization, facts.model_id)


def _spend(db: Connection, organization: str, registration: str, number: str) -> None:
    """Use a pre-registration: it was for one evaluation, whatever that comes to."""
    if registry.spend(db, organization, registration, number):
        return
    row = registry.preregistration(db, organization, registration)
    if row is None:
        raise Problem("not-found", "no pre-registration of yours has this id")
    raise Problem("conflict", f"a pre-registration is for one evaluation; {row['evaluation']} has used this one")


def quota_used_up(quota: int, month: str) -> Problem:
    """The refusal of one evaluation too many."""
    year, number = divmod(int(month[:4]) * 12 + int(month[5:]), 12)
    from datetime import UTC, datetime

    reset = datetime(year, number + 1, 1, tzinfo=UTC)
    seconds = max(1, int(reset.timestamp() - now() / 1e6) + 1)
    return Problem(
        "quota-used-up",
        f"the {quota:,} evaluations of {month} are used up; the next month begins at {reset:%Y-%m-%d} UTC",
        headers={"Retry-After": str(seconds)},
    )


def _similar(db: Connection, organization: str, facts: Facts) -> tuple[str, ...]:
    sentence = similar_sentence(*evaluations.similar(db, organization, facts.model_id))
    return () if sentence is None else (sentence,)


def _in_its_history(
    db: Connection, ledger: IssuerFolder, organization: str, facts: Facts, found: Assessed | MeasuredForecasts
) -> StandardsEvaluation | None:
    """The evaluation beside what is known of its system: the last evaluation, and certificates on the same data.

    The last one is the baseline (42001-5.1.1, 42001-5.2.3). Data that a certificate of the system rests on earn no second one.
    Of forecasts of a number or of a set the standards know nothing: None.
    """
    if isinstance(found, MeasuredForecasts):
        return None
    made = evaluation_of(msgspec.json.decode(found.evaluation))
    if made.onto is not None:
        try:
            made = held_against(made, _baseline(db, organization, facts.model_id), facts.new_baseline or "")
        except InputError as refusal:
            raise as_problem(refusal) from None
    account = organizations.find(db, organization)
    assert account is not None
    period, judgement = made.records["period"], made.judgement
    figures = None if period is None or judgement is None else figures_of(judgement, period["start"], period["end"])
    datasets = (made.columns_digest, *found.parts)
    return with_obstacles(made, *ledger.certified_on(account["name"], facts.model_id, datasets, figures))


def _baseline(db: Connection, organization: str, system_id: str) -> dict[str, Any] | None:
    """The newest evaluation of the system after ONTO 42001; None where it has none."""
    for report in evaluations.reports(db, organization, system_id):
        found: dict[str, Any] = msgspec.json.decode(report)
        if found.get("metrics", {}).get("onto"):
            return found
    return None


def _answered(
    number: str,
    facts: Facts,
    attempt: int,
    at: int,
    done: int,
    found: Assessed | MeasuredForecasts,
    made: StandardsEvaluation | None,
    notes: tuple[str, ...],
) -> tuple[Evaluation, dict[str, Any]]:
    """The answer, and what is stored of it."""
    if isinstance(found, Assessed):
        assert made is not None
        answer = answer_of(number, facts, attempt, at, done, made, notes)
        return answer, _stored(found, made, answer, done)
    answer = forecasts_answer(number, facts, attempt, at, done, found.report, notes)
    assert answer.forecasts is not None
    return answer, {
        "completed_at": done,
        "sample_size": answer.forecasts.sample_size,
        "result": encoded(answer),
        "report": found.report,
    }


def _stored(found: Assessed, made: StandardsEvaluation, answer: Evaluation, done: int) -> dict[str, Any]:
    assert answer.metrics is not None
    assert answer.compliance is not None
    assert answer.dataset is not None
    whole = made.to_dict() | {"report": msgspec.Raw(found.report)}
    return {
        "completed_at": done,
        "sample_size": answer.dataset.sample_size,
        "ece": answer.metrics.ece,
        "u_recall": answer.metrics.u_recall,
        "ers": answer.metrics.ers,
        "level": answer.compliance.level,
        "dataset_digest": answer.dataset.digest,
        "wrong": found.wrong,
        "wrong_unsure": found.wrong_unsure,
        "totals": found.totals,
        "result": encoded(answer),
        "report": encoded(whole),
    }


def _tell(db: Connection, organization: str, actor: str, event: str, answer: Evaluation) -> None:
    """The audit entry and the webhooks of a result, in its transaction."""
    level = None if answer.compliance is None else answer.compliance.level
    digest = None if answer.dataset is None else answer.dataset.digest
    journal.note(
        db,
        organization=organization,
        actor=actor,
        action=event,
        subject=answer.evaluation_id,
        model_id=answer.model_id,
        attempt=answer.attempt,
        level=level,
        dataset_digest=digest,
    )
    webhooks.emit(db, organization, event, answer)
