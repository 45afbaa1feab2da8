# SPDX-License-Identifier: Apache-2.0
"""Predictions, or their sums, into what a certificate states of them: the numbers, rounded, and the digests they rest on.

Issuing and reproducing call the same function, so that the same data give the same bytes. What is judged is judged in
`standards.judgement`, as the service does it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from epimeter import __version__
from epimeter.readers.table import Table
from epimeter.report.measurement import Interval
from epimeter.standards.ers import DELTA
from epimeter.standards.evaluation import evaluate_standards
from epimeter.standards.from_sums import evaluate_totals
from epimeter.standards.judgement import rounded
from epimeter.standards.records import RecordPeriod, records_of
from epimeter.standards.replicates import Wanted
from epimeter.trust.canonical import from_moment
from epimeter.trust.certificate import CONFIGURATION, Assessment
from epimeter.trust.disclosure import record_columns, records_root
from epimeter.trust.evidence import Evidence


def assess(
    table: Table, *, domain: str, at: datetime, assume_utc: bool = False, interval: Wanted = "auto"
) -> Assessment:
    """Evaluate a table after ONTO-ERS in the fixed profile.

    Parameters
    ----------
    table
        What a reader made of a file; for a certificate it needs timestamps, and ids are best.
    domain
        medical, legal, financial, code or general.
    at
        The moment of the evaluation; a record after it is refused.
    assume_utc
        Take times without a zone as UTC.
    interval
        How intervals are found, where a certificate says it already.
    """
    records = records_of(table, now=at, assume_utc=assume_utc)
    spread = _spread()
    found = evaluate_standards(
        records,
        standard="ers",
        domain=domain,
        date=at.astimezone(UTC).date(),
        interval=interval,
        level=spread["level"],
        draws=spread["draws"],
        seed=spread["seed"],
    )
    ece, recall, score = (found[f"ers.{name}"].interval for name in ("ece", "u_recall", "ers"))
    made, ers = found.judgement, found.ers
    assert made is not None
    assert ers is not None
    raw = rounded(ers.ers_raw)
    return Assessment(
        **vars(made),
        ece_ci95=_ends(ece) or (made.ece, made.ece),
        u_recall_ci95=_ends(recall),
        ers_raw_ci95=_ends(score) or (raw, raw),
        period=_period(records.period, at),
        dataset_digest=found.columns_digest,
        records_root=records_root(record_columns(table, records.answer)),
        code_digest=f"sha-256:{found.code_digest}",
        engine_version=__version__,
        interval_method="none" if ece is None else ece.method,
        covered_bins=found.check.covered_bins,
        kind=records.kind,
        recalibrated_by=records.recalibrated_by,
        unlabelled=records.unlabelled,
        largest_class_share=None if records.classes is None else rounded(found.check.largest_share),
    )


def assess_evidence(evidence: Evidence, *, domain: str, at: datetime) -> Assessment:
    """Evaluate sums after ONTO-ERS in the same profile: the same numbers, with intervals by the delta method.

    Parameters
    ----------
    evidence
        Made by `evidence_of` where the records are.
    domain, at
        As for `assess`.
    """
    totals = evidence.totals
    found = evaluate_totals(totals, digest=evidence.dataset_digest, domain=domain, at=at, level=_spread()["level"])
    ece, recall, score = (found[f"ers.{name}"].interval for name in ("ece", "u_recall", "ers"))
    made = found.judgement
    assert made is not None
    assert ece is not None
    assert score is not None
    return Assessment(
        **vars(made),
        ece_ci95=(rounded(ece.low), rounded(ece.high)),
        u_recall_ci95=_ends(recall),
        ers_raw_ci95=(rounded(score.low), rounded(score.high)),
        period=_period(totals.period, at),
        dataset_digest=evidence.dataset_digest,
        records_root=evidence.records_root,
        code_digest=f"sha-256:{found.code_digest}",
        engine_version=__version__,
        interval_method=DELTA,
        covered_bins=found.check.covered_bins,
        kind=totals.kind,
        unlabelled=totals.unlabelled,
        largest_class_share=None if totals.classes is None else rounded(found.check.largest_share),
        parts=evidence.part_digests,
    )


def _spread() -> dict[str, Any]:
    spread = CONFIGURATION["interval"]
    assert isinstance(spread, dict)
    return spread


def _period(period: RecordPeriod | None, at: datetime) -> tuple[datetime, datetime]:
    return (at, at) if period is None else (from_moment(period.start, "start"), from_moment(period.end, "end"))


def _ends(span: Interval | None) -> tuple[float, float] | None:
    return None if span is None else (rounded(span.low), rounded(span.high))
