# SPDX-License-Identifier: Apache-2.0
"""Every completed evaluation of a system that has a certificate is weighed: it renews, restores or suspends it (C-51).

A job, written in the commit of the evaluation, so that no crash forgets it; the registry weighs an evaluation once, whoever asks.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import Connection

from epimeter.service import webhooks
from epimeter.service.issuer_folder import IssuerFolder
from epimeter.service.schemas import CertificateState, Evaluation, Facts
from epimeter.store import Store, evaluations, facts, jobs, journal, registry
from epimeter.store.moments import moment, now
from epimeter.trust.standing import Reevaluation, Renewal

KIND = "renew"
TOLD = "overdue told"
"""The fact that says up to which event of the registry suspensions were told."""


def plan(db: Connection, organization: str, system_id: str, evaluation: str, at: int) -> None:
    """Have an evaluation weighed, where its system has a certificate."""
    if registry.newest_of(db, organization, system_id) is not None:
        jobs.add(db, organization=organization, kind=KIND, subject=evaluation, at=at)


def work(store: Store, ledger: IssuerFolder, job: Any, worker: str) -> None:
    """Weigh the evaluation of a job."""
    organization, number = job["organization"], job["subject"]
    with store.reading() as db:
        row = evaluations.find(db, organization, number)
        certificate = None if row is None else registry.newest_of(db, organization, row["system_id"])
    outcome = None
    # The evaluation that the certificate was issued from has had its say.
    if row is not None and certificate is not None and certificate["evaluation"] != number:
        log_attempts(store, ledger, certificate, row)
        outcome = ledger.renew(_reevaluation(row, certificate["organization_name"]))
    with store.writing(durable=True) as db:
        if jobs.finish(db, job["id"], worker, now()) and outcome is not None and outcome.outcome != "not_counted":
            tell(db, ledger, organization, outcome)


def log_attempts(store: Store, ledger: IssuerFolder, certificate: Any, row: Any) -> None:
    """Enter the evaluations of the system that the log does not know yet as attempts, this one among them."""
    with store.reading() as db:
        open_ = evaluations.unlogged(db, row["organization"], row["system_id"], "")
    ledger.log_attempts(certificate["organization_name"], row["system_id"], open_)
    with store.writing() as db:
        evaluations.logged(db, [one["id"] for one in open_])


def tell(db: Connection, ledger: IssuerFolder, organization: str, outcome: Renewal) -> None:
    """The audit entry and the webhooks of what became of a certificate."""
    assert outcome.certificate is not None
    state = state_of(ledger, outcome.certificate)
    action = "certificate.renewed" if outcome.outcome == "renewed" else "certificate.suspended"
    journal.note(
        db,
        organization=organization,
        actor="schedule",
        action=action,
        subject=outcome.certificate,
        reason=outcome.sentence,
    )
    webhooks.emit(db, organization, "certificate.status", state)


def tell_overdue(store: Store, ledger: IssuerFolder) -> None:
    """The same for certificates that the schedule suspended, each once.

    How far was told is kept in the commit of the telling, so that a process that died after it suspended leaves nobody untold.
    """
    with store.reading() as db:
        told = facts.value(db, TOLD)
    found = ledger.registry.suspended_after(int(told or 0))
    if told is None:  # the first round of all, or of an installation from before this was kept: those were told then
        with store.writing() as db:
            facts.settle(db, TOLD, str(found[-1].number if found else 0))
        return
    if not found:
        return
    with store.writing() as db:
        if not facts.move(db, TOLD, told, str(found[-1].number)):
            return  # another server tells
        for one in found:
            row = registry.find(db, one.certificate)
            if row is not None:
                outcome = Renewal(outcome="overdue", certificate=one.certificate, sentence=one.reason)
                tell(db, ledger, row["organization"], outcome)


def state_of(ledger: IssuerFolder, certificate: str) -> CertificateState:
    """Where a certificate stands, as it is sent."""
    found = ledger.registry.standing(certificate, datetime.now(UTC), ledger.statuses())
    return CertificateState(
        id=certificate,
        status=found.status,
        reason=found.reason,
        since=found.since,
        evaluated_at=found.evaluated_at,
        next_evaluation=found.next_evaluation,
        assessed=found.assessed,
    )


def _reevaluation(row: Any, organization: str) -> Reevaluation:
    found = msgspec.json.decode(bytes(row["result"]), type=Evaluation)
    facts = msgspec.json.decode(bytes(row["request"]), type=Facts)
    assert found.compliance is not None
    assert found.dataset is not None
    period = found.dataset.period
    return Reevaluation(
        id=row["id"],
        at=moment(row["completed_at"]),
        organization=organization,
        system_id=facts.model_id,
        system_version=facts.model_version or "unversioned",
        domain=facts.domain,
        level=found.compliance.level,
        dataset=found.dataset.digest,
        period_end=None if period is None else datetime.fromisoformat(period.end),
        obstacles=found.obstacles if found.compliance.status == "INSUFFICIENT_DATA" else (),
    )
