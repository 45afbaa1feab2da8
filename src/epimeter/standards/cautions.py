# SPDX-License-Identifier: Apache-2.0
"""What a reader of an evaluation must know before trusting its verdicts."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import numpy as np

from epimeter.standards.ers import DatasetCheck, ErsEvaluation
from epimeter.standards.onto42001 import InformationRatio, OntoEvaluation
from epimeter.standards.records import RecordFacts, Records
from epimeter.standards.schedule import LONGEST_EVALUATION
from epimeter.summaries import Bins

LARGE_UNLABELLED = 0.2
FEW_DISTINCT = 10


def of_data(records: RecordFacts, day: str) -> tuple[str, ...]:
    """What the data themselves leave open: how old they are, and who says what was right."""
    said: list[str] = []
    if records.period is not None:
        age = (datetime.date.fromisoformat(day) - datetime.date.fromisoformat(records.period.end[:10])).days
        if age > LONGEST_EVALUATION:
            said.append(
                f"the newest record is of {records.period.end[:10]}, {age} days before the evaluation; ERS 4.2 evaluates "
                f"the last 7 to {LONGEST_EVALUATION} days of production"
            )
    unstated = records.sources.get("not stated", 0)
    if unstated:
        said.append(
            f"the source of ground truth is not stated for {unstated:,} of {records.n_rows:,} records (ERS-3.1-e): how "
            "reliable it is cannot be confirmed (ERS-3.2-b)"
        )
    return tuple(said)


def cautions_of(
    records: RecordFacts,
    check: DatasetCheck,
    ers: ErsEvaluation | None,
    onto: OntoEvaluation | None = None,
    undefined: str | None = None,
    ratio: InformationRatio | None = None,
    chosen: Sequence[str] = ("ers",),
) -> tuple[str, ...]:
    """One sentence each, the gravest first: a condition beside what it means. Sums tell nothing of single confidences."""
    total = records.n_rows + records.unlabelled
    low, high, few, crossed = 0.0, 1.0, False, 0
    if isinstance(records, Records):
        prob = records.answer.prob
        low, high, few = float(prob.min()), float(prob.max()), len(np.unique(prob[:100_000])) < FEW_DISTINCT
        crossed = _crossed(records) if ratio is not None else 0
    right = 1.0 if ers is None else ers.accuracy
    said = (
        (
            low == high,
            f"the system answers with one constant confidence, {low:.6g}: it tells its answers apart by nothing, and "
            "its scores say nothing about any single answer (C-44)",
        ),
        (
            right < 0.5 and ers is not None and ers.level_index > 0,
            f"a level is reached with an accuracy of {right:.1%}: being wrong and saying so scores well (C-44)",
        ),
        (
            low < high and few,
            f"fewer than {FEW_DISTINCT} distinct confidences: the system hardly tells its answers apart (C-44)",
        ),
        (undefined is not None, f"{undefined}; no level of ONTO 42001 can be claimed"),
        (
            onto is not None and onto.false_alarm_rate > 0.5,
            "more than half of the known inputs are flagged as unknown: U-Recall is bought with false alarms (C-44)",
        ),
        (
            ers is not None and ers.level_index > 0 and ers.risk_index > 0,
            "level and risk class are different questions: the level is reached and the risk class still asks for action "
            "(C-16)",
        ),
        (
            records.unlabelled > LARGE_UNLABELLED * total,
            f"{records.unlabelled / total:.1%} of the records have no ground truth: those that have may not be typical "
            "(C-13)",
        ),
        (
            # Too many wrong answers are a requirement that is missed, and named as that (C-50).
            "ers" in chosen and records.classes is None and not check.balance_ok and right > 0.5,
            f"{check.largest_share:.1%} of the answers are right; records have no class, so this only warns (C-11)",
        ),
        (records.period is None, "records have no timestamps: 7 days of production cannot be shown (C-12)"),
        (
            records.period is not None and records.period.start[:10] == records.period.end[:10],
            "all records are of a single day: shifts over time are not seen (42001-B.4.1-a)",
        ),
        (
            onto is not None and onto.unknowns < 500,
            "fewer than 500 unknown inputs: U-Recall is imprecise (42001-B.1.1-a)",
        ),
        (records.n_rows < 1000, "fewer than 1,000 records: ECE is biased upwards (C-47, 42001-B.1.1-a)"),
        (
            crossed > 0,
            f"in {crossed} of the bins confidence and accuracy lie on opposite sides of 0.5, which IGR cannot see (C-38)",
        ),
        (
            onto is not None and onto.level_index > 0 and onto.risk_index > 1,
            "a level of ONTO 42001 is met while its score asks for remediation; both are reported (C-34)",
        ),
    )
    return tuple(sentence for holds, sentence in said if holds)


def _crossed(records: Records) -> int:
    totals = Bins(10).of(records.answer)
    sides = (totals.confidence - 0.5) * (totals.frequency - 0.5)
    return int(((sides < 0) & totals.filled).sum())
