# SPDX-License-Identifier: Apache-2.0
"""From an evaluation to its certificate, once, whatever dies in between.

1. The evaluation is the caller's, completed, certifiable, and its rows are kept. One after ONTO 42001 gets its passport, which
   changes the answer that the certificate covers.
2. It is claimed: from here on one process issues, all others get its certificate or wait.
3. A claim that its process left behind: perhaps the certificate was issued; the registry tells.
4. Other evaluations of the system enter the log as attempts; then `trust` assesses, signs and logs.
5. What was issued is noted with the audit entry and the webhooks, in one commit.
"""

from __future__ import annotations

import threading
from datetime import datetime
from typing import Any

import msgspec

from epimeter.errors import InputError
from epimeter.service import renewing, webhooks
from epimeter.service.access import Caller
from epimeter.service.errands import AssessRows, CertificateDraft
from epimeter.service.heart import Heart
from epimeter.service.issuer_folder import IssuerFolder
from epimeter.service.passports import lacks_passport, signed_passport
from epimeter.service.problems import Problem
from epimeter.service.renewing import state_of
from epimeter.service.schemas import CertificateRequest, Evaluation, Facts
from epimeter.store import Store, evaluations, journal, registry
from epimeter.store.moments import SECOND, micros, moment, now
from epimeter.trust.canonical import load_canonical
from epimeter.trust.certificate import Subject


def issue(state: Any, caller: Caller, wanted: CertificateRequest) -> tuple[str, bytes, bool]:
    """The id and bytes of the certificate, and whether it is new."""
    # 1.
    number = wanted.evaluation_id
    with state.store.reading() as db:
        row = evaluations.find(db, caller.organization, number)
    if row is None:
        raise Problem("not-found", "no evaluation of yours has this id")
    _refuse(row)
    if lacks_passport(row):
        signed_passport(state, caller, row)
    facts = msgspec.json.decode(bytes(row["request"]), type=Facts)
    # 2.
    at = now()
    with state.store.writing(durable=True) as db:
        claim, entry = registry.claim(
            db,
            evaluation=number,
            organization=caller.organization,
            organization_name=caller.organization_name,
            system_id=facts.model_id,
            domain=facts.domain,
            at=at,
            patience=int(state.settings.request_lease * SECOND),
        )
    if entry["id"] is not None:
        return entry["id"], state.ledger.registry.certificate(entry["id"]), False
    if claim == "theirs":
        raise Problem("in-flight", "this certificate is being issued", headers={"Retry-After": "2"})
    # 3.
    with state.store.reading() as db:  # as it is since the claim: it does not change any more
        row = evaluations.find(db, caller.organization, number)
    assert row is not None
    report = bytes(row["result"])
    held = IssuingRight(state, number, at)
    try:
        with Heart(held.renew, state.settings.request_lease / 3, f"the claim of {number}"):
            data = state.ledger.issued_from(number) if claim == "left" else None
            if data is None:
                data = _certified(state, caller, wanted, row, facts, report, held)  # 4.
    except (InputError, Problem) as refusal:
        # Whoever slept past the claim, while this process took over, may have issued before it.
        data = state.ledger.issued_from(number) if held.ours else None
        if data is not None:
            return _noted(state.store, state.ledger, row, caller.key_id, data), data, True
        held.give_up()
        if isinstance(refusal, Problem):
            raise
        raise Problem("conflict", str(refusal)) from None
    # 5.
    return _noted(state.store, state.ledger, row, caller.key_id, data), data, True


def finish_left(store: Store, ledger: IssuerFolder, patience: int) -> None:
    """Note certificates whose process died between issuing and noting, though nobody asks for them again.

    A claim from which nothing was issued stays: whoever asks next takes it over.
    """
    with store.reading() as db:
        claims = registry.left(db, now(), patience)
    for claim in claims:
        data = ledger.issued_from(claim["evaluation"])
        with store.reading() as db:
            row = evaluations.find(db, claim["organization"], claim["evaluation"])
        if data is not None and row is not None:
            _noted(store, ledger, row, "schedule", data)


class IssuingRight:
    """The right to issue, while it is ours: whoever assesses for long says so again and again."""

    def __init__(self, state: Any, evaluation: str, claimed_at: int) -> None:
        self._state, self._evaluation, self._claimed_at = state, evaluation, claimed_at
        self._lock = threading.Lock()
        self.ours = True

    def renew(self) -> None:
        """Say that we are alive."""
        with self._lock, self._state.store.writing() as db:
            at = now()
            self.ours = self.ours and registry.renew(db, self._evaluation, self._claimed_at, at)
            self._claimed_at = at

    def give_up(self) -> None:
        """Give the right back; where another has taken it over, it is the other's."""
        with self._lock, self._state.store.writing() as db:
            registry.give_up(db, self._evaluation, self._claimed_at)

    def confirm(self) -> None:
        """Refuse to go on where another has taken over: this process slept, and the other issues."""
        self.renew()
        if not self.ours:
            raise Problem(
                "in-flight", "this certificate is being issued by another process", headers={"Retry-After": "2"}
            )


def _refuse(row: Any) -> None:
    if row["status"] != "completed":
        raise Problem("conflict", f"the evaluation is {row['status']}; only a completed one can be certified")
    found = msgspec.json.decode(bytes(row["result"]), type=Evaluation)
    if not found.certifiable:
        raise Problem("conflict", f"no certificate can be issued: {'; '.join(found.obstacles)}")
    if not row["rows_kept"]:
        raise Problem("conflict", "the rows of this evaluation are no longer kept; evaluate again")


def _certified(
    state: Any, caller: Caller, wanted: CertificateRequest, row: Any, facts: Facts, report: bytes, held: IssuingRight
) -> bytes:
    with state.store.reading() as db:
        if facts.preregistration is not None and not registry.preregistration(
            db, caller.organization, facts.preregistration
        ):
            raise InputError("the pre-registration that the evaluation names is not yours", field="preregistration")
        others = evaluations.unlogged(db, caller.organization, facts.model_id, row["id"])
    state.ledger.log_attempts(caller.organization_name, facts.model_id, others)
    with state.store.writing() as db:
        evaluations.logged(db, [other["id"] for other in others])
    subject = Subject(
        organization=caller.organization_name,
        system_id=facts.model_id,
        system_version=facts.model_version or "unversioned",
        domain=facts.domain,
        digests=tuple(wanted.model_digests),
    )
    errand = AssessRows(source=row["id"], domain=facts.domain, at=now())
    with state.store.reading() as db:
        rows = evaluations.retained_rows(db, row["id"])
        found = state.children.do(errand, CertificateDraft, rows, seconds=state.settings.job_time).found
        attempt = evaluations.attempts(db, caller.organization, facts.model_id)
        similar = evaluations.similar(db, caller.organization, facts.model_id)
    held.confirm()
    data: bytes = state.ledger.certify(
        found,
        subject,
        report,
        facts.preregistration,
        evaluation=row["id"],
        evaluated_at=moment(row["completed_at"]),
        attempt=attempt,
        similar=similar,
    )
    return data


def _noted(store: Store, ledger: IssuerFolder, row: Any, actor: str, data: bytes) -> str:
    head, number, organization = load_canonical(data)["certificate"], row["id"], row["organization"]
    id: str = head["id"]
    with store.writing(durable=True) as db:
        first = registry.issued(
            db,
            number,
            id=id,
            level=head["level"],
            issued_at=micros(datetime.fromisoformat(head["issued_at"])),
            expires_at=micros(datetime.fromisoformat(head["expires_at"])),
        )
        if not first:
            return id
        evaluations.logged(db, [number])
        journal.note(
            db,
            organization=organization,
            actor=actor,
            action="certificate.issued",
            subject=id,
            evaluation=number,
            level=head["level"],
        )
        webhooks.emit(db, organization, "certificate.issued", state_of(ledger, id))
        # Evaluations that came after the certified one have their say too (C-51): they found no certificate to weigh.
        for later in evaluations.completed_after(db, organization, row["system_id"], row["completed_at"]):
            renewing.plan(db, organization, row["system_id"], later, now())
    return id
