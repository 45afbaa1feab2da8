# SPDX-License-Identifier: Apache-2.0
"""A summary as a body: the records stay with whoever has them, their sums and digests are evaluated.

What ONTO-ERS asks is in the evidence that `epimeter summarise --evidence` puts into a summary, so that the answer has the numbers,
requirements, level and obstacles that the records would have, and a certificate may follow. A summary without evidence tells
nothing of the threshold of U-Recall, of times and of sources: it is refused with the way to make one that does.
"""

from __future__ import annotations

from datetime import datetime
from typing import BinaryIO

from epimeter.errors import ReadError
from epimeter.passes.ledger import Ledger
from epimeter.report.building import reports
from epimeter.report.measurement import Report
from epimeter.service.problems import Problem
from epimeter.service.schemas import Facts
from epimeter.standards.declaration import Declaration, declaration
from epimeter.standards.evaluated import StandardsEvaluation
from epimeter.standards.from_sums import evaluate_totals
from epimeter.summaries.travel import MAGIC
from epimeter.summary_files import unpacked
from epimeter.trust.evidence import Evidence

SUMMARY = "application/vnd.epimeter.summary"
NAME = "the summary"


def holds_summary(file: BinaryIO) -> bool:
    """Whether bytes that were kept are a summary, and not rows."""
    head = file.read(len(MAGIC))
    file.seek(0)
    return head == MAGIC


def ledger_in(data: bytes) -> tuple[Ledger, Evidence]:
    """What a summary holds, and the evidence in it."""
    try:
        ledger = unpacked(data, NAME)
    except ReadError as fault:
        raise Problem("invalid", str(fault), errors=[("", str(fault))]) from None
    evidence = ledger.evidence
    if not isinstance(evidence, Evidence):
        raise Problem(
            "invalid",
            "a summary must carry the evidence for a certificate, and this one does not: without it U-Recall and ERS 3.1 cannot be "
            "told. Make it with epimeter summarise --evidence where the records are",
        )
    return ledger, evidence


def report_of(ledger: Ledger, facts: Facts) -> Report:
    """The report of all records by the metrics that the summary was made for."""
    if facts.metrics is not None:
        raise Problem(
            "invalid",
            "metrics must be left out: a summary has those it was made for (epimeter summarise --metric …)",
            errors=[("/query/metrics", "a summary has the metrics it was made for")],
        )
    made = reports(ledger)
    if not isinstance(made, Report):
        raise Problem(
            "invalid", f"a summary must be of one whole; this one is by {ledger.plan.by}. Summarise without --by"
        )
    return made


def sums_after_standards(evidence: Evidence, facts: Facts, at: datetime, organization: str = "") -> StandardsEvaluation:
    """The evaluation of sums after ONTO-ERS."""
    if evidence.domain not in (None, facts.domain):
        raise Problem(
            "invalid",
            f"/query/domain: it must be that of the records, {evidence.domain}; got {facts.domain}",
            errors=[("/query/domain", f"the records are of the domain {evidence.domain}")],
        )
    told = Declaration() if facts.declaration is None else declaration(facts.declaration)
    return evaluate_totals(
        evidence.totals,
        digest=evidence.dataset_digest,
        domain=facts.domain,
        at=at,
        declaration=told.updated(
            organization=organization, system_id=facts.model_id, model_version=facts.model_version or ""
        ),
        source={"name": facts.model_id},
    )
