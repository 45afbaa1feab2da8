# SPDX-License-Identifier: Apache-2.0
"""Predictions, or their sums, into what a certificate states of them: the numbers, rounded, and the digests they rest on.

Issuing and reproducing call the same function, so that the same data give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from epimeter import __version__
from epimeter.readers.digest import SCHEME
from epimeter.readers.table import Table
from epimeter.report.measurement import Interval
from epimeter.standards.digests import code_digest
from epimeter.standards.ers import DELTA, ers_dataset_check, ers_raw
from epimeter.standards.evaluation import evaluate_standards
from epimeter.standards.records import records_of
from epimeter.standards.requirement import Requirement, ers_requirements, lacking_sentences
from epimeter.standards.resampling import limited, normal_ends, share_interval
from epimeter.trust.canonical import from_moment
from epimeter.trust.certificate import CONFIGURATION, Assessment, rounded
from epimeter.trust.disclosure import record_columns, records_root
from epimeter.trust.evidence import Evidence


def assess(table: Table, *, domain: str, at: datetime, assume_utc: bool = False) -> Assessment:
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
    """
    records = records_of(table, now=at, assume_utc=assume_utc)
    spread = CONFIGURATION["interval"]
    assert isinstance(spread, dict)
    found = evaluate_standards(
        records,
        standard="ers",
        domain=domain,
        date=at.astimezone(UTC).date(),
        level=spread["level"],
        draws=spread["draws"],
        seed=spread["seed"],
    )
    ers, event, period = found.ers, records.answer, records.period
    assert ers is not None
    spans = {name: found[f"ers.{name}"].interval for name in ("ece", "u_recall", "ers")}
    check = ers_dataset_check(
        event.true, event.prob, days=None if period is None else period.days, classes=records.classes
    )
    first, last = (at, at) if period is None else (from_moment(period.start, "start"), from_moment(period.end, "end"))
    made = Assessment(
        ece=rounded(ers.ece),
        ece_ci95=_ends(spans["ece"]) or (rounded(ers.ece), rounded(ers.ece)),
        u_recall=rounded(ers.u_recall),
        u_recall_ci95=_ends(spans["u_recall"]),
        ers_raw_ci95=_ends(spans["ers"]) or (rounded(ers.ers_raw), rounded(ers.ers_raw)),
        accuracy=rounded(ers.accuracy),
        sample_size=ers.sample_size,
        period=(first, last),
        domain=domain,
        dataset_digest=f"{SCHEME}:sha-256:{records.digest}",
        records_root=records_root(record_columns(table)),
        code_digest=f"sha-256:{found.code_digest}",
        engine_version=__version__,
        interval_method="none" if spans["ece"] is None else spans["ece"].method,
        covered_bins=check.covered_bins,
        kind=records.kind,
        recalibrated_by=records.recalibrated_by,
        unlabelled=records.unlabelled,
        largest_class_share=None if records.classes is None else rounded(check.largest_share),
    )
    return _judged(made, found.requirements)


def assess_evidence(evidence: Evidence, *, domain: str, at: datetime) -> Assessment:
    """Evaluate sums after ONTO-ERS in the same profile: the same numbers, with intervals by the delta method.

    Parameters
    ----------
    evidence
        Made by `evidence_of` where the records are.
    domain, at
        As for `assess`.
    """
    totals, sums, check = evidence.totals, evidence.totals.sums, evidence.totals.check
    totals.refuse_later_than(at)
    values = {"ers.ece": sums.ece, "ers.ers_raw": ers_raw(sums.ece, sums.u_recall, domain)}
    spread = CONFIGURATION["interval"]
    assert isinstance(spread, dict)
    spans = normal_ends(values, sums.deviations, sums.n_rows, spread["level"])
    ends = {
        name: (rounded(limited(spans[name][0], name)), rounded(limited(spans[name][1], name)))
        if name in spans
        else (rounded(value), rounded(value))
        for name, value in values.items()
    }
    wrong, unsure = sums.wrong
    recall = share_interval(unsure, wrong, spread["level"])
    period = totals.period
    first, last = (at, at) if period is None else (from_moment(period.start, "start"), from_moment(period.end, "end"))
    made = Assessment(
        ece=rounded(sums.ece),
        ece_ci95=ends["ers.ece"],
        u_recall=rounded(sums.u_recall),
        u_recall_ci95=None if recall is None else (rounded(100 * recall.low), rounded(100 * recall.high)),
        ers_raw_ci95=ends["ers.ers_raw"],
        accuracy=rounded(sums.right / sums.n_rows),
        sample_size=sums.n_rows,
        period=(first, last),
        domain=domain,
        dataset_digest=evidence.dataset_digest,
        records_root=evidence.records_root,
        code_digest=f"sha-256:{code_digest()}",
        engine_version=__version__,
        interval_method=DELTA,
        covered_bins=check.covered_bins,
        kind=totals.kind,
        unlabelled=totals.unlabelled,
        largest_class_share=None if totals.classes is None else rounded(check.largest_share),
    )
    return _judged(
        made, ers_requirements(check, period, by_class=totals.classes is not None, accuracy=sums.right / sums.n_rows)
    )


def _judged(made: Assessment, requirements: Iterable[Requirement]) -> Assessment:
    """The assessment with what stands in the way of a certificate (C-14)."""
    lacking = lacking_sentences(requirements)
    obstacles = list(lacking)
    if made.recalibrated_by is not None and " " in made.recalibrated_by:
        obstacles.append(
            f"recalibration must be by one map, and not fitted on the rows evaluated (42001-B.2.2-a); these are by "
            f"{made.recalibrated_by}"
        )
    if made.level == "NONE":
        obstacles.append(f"the limits of no level are met (ECE {made.ece}, U-Recall {made.u_recall}, ERS {made.ers})")
    return replace(made, lacking=lacking, obstacles=tuple(obstacles))


def _ends(span: Interval | None) -> tuple[float, float] | None:
    return None if span is None else (rounded(span.low), rounded(span.high))
