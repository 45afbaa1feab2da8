# SPDX-License-Identifier: Apache-2.0
"""A table of predictions into what a certificate states of it: the numbers, rounded, and the digests they rest on.

Issuing and reproducing call the same function, so that the same data give the same bytes.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np

from epimeter import __version__
from epimeter.errors import InputError
from epimeter.readers.table import Table
from epimeter.report.measurement import Interval
from epimeter.standards.digests import SCHEME
from epimeter.standards.ers import ers_dataset_check
from epimeter.standards.evaluation import evaluate_standards
from epimeter.standards.records import records_of
from epimeter.trust.canonical import from_moment
from epimeter.trust.certificate import CONFIGURATION, Assessment, rounded
from epimeter.trust.disclosure import RecordColumns, records_root


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
    ers, event, period = found.ers, records.event, records.period
    assert ers is not None
    spans = {name: found[f"ers.{name}"].interval for name in ("ece", "u_recall", "ers")}
    check = ers_dataset_check(
        event.true, event.prob, days=None if period is None else period.days, classes=records.classes
    )
    obstacles = [
        f"{one.title} must be {one.needed}, not {one.figure} ({one.id})"
        for one in found.requirements
        if one.blocks and not one.passed
    ]
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
        dataset_digest=f"{SCHEME}:sha-256:{found.dataset_digest}",
        records_root=records_root(record_columns(table)),
        code_digest=f"sha-256:{found.code_digest}",
        engine_version=__version__,
        interval_method="none" if spans["ece"] is None else spans["ece"].method,
        covered_bins=check.covered_bins,
        unlabelled=records.unlabelled,
        largest_class_share=None if records.classes is None else rounded(check.largest_share),
        obstacles=tuple(obstacles),
    )
    if made.level == "NONE":
        missed = f"the limits of no level are met (ECE {made.ece}, U-Recall {made.u_recall}, ERS {made.ers})"
        return replace(made, obstacles=(*made.obstacles, missed))
    return made


def record_columns(table: Table) -> RecordColumns:
    """The columns of the records tree; a table without ids counts its records from 0."""
    event = records_of(table, assume_utc=True).event
    return RecordColumns(
        confidence=event.prob.astype(np.float64),
        correct=event.true,
        ids=_ids(table),
        timestamp=table.timestamp,
        unknown=table.unknown,
        detected=table.detected,
    )


def _ids(table: Table) -> list[str]:
    if table.id is None:
        return [str(row) for row in range(table.n_rows)]
    given = table.id.tolist() if isinstance(table.id, np.ndarray) else table.id.to_pylist()
    for row, name in enumerate(given):
        if name is None:
            raise InputError(f"id must be present in every record; {table.place(row)} has none", field="id", row=row)
    return [str(name) for name in given]


def _ends(span: Interval | None) -> tuple[float, float] | None:
    return None if span is None else (rounded(span.low), rounded(span.high))
