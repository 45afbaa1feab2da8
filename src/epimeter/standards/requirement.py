# SPDX-License-Identifier: Apache-2.0
"""The requirements of the standards on data, each with its figure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from epimeter.report.suspicions import Suspicion, suspicions
from epimeter.results import Result
from epimeter.standards import ers
from epimeter.standards.declaration import Declaration
from epimeter.standards.onto42001 import OntoEvaluation
from epimeter.standards.records import RecordPeriod, Records


@dataclass(frozen=True, kw_only=True)
class DataRequirement(Result):
    """One requirement on the data: its figure, what is needed, whether it is met, whether it bars a certificate."""

    id: str
    title: str
    figure: str
    needed: str
    passed: bool
    blocks: bool


def ers_requirements(
    check: ers.DatasetCheck, period: RecordPeriod | None, *, by_class: bool, accuracy: float
) -> tuple[DataRequirement, ...]:
    """The requirements of ONTO-ERS.

    Without classes the balance is that of right and wrong answers: too many right ones only warn (C-11), too many wrong ones
    block, whatever the classes say (C-50).
    """
    days = "no timestamps" if period is None else f"{period.days:.4g} days"
    kind = "classes" if by_class else "right or wrong answers"
    wrong = 1 - accuracy
    return (
        DataRequirement(id="ERS-3.1-a", title="Predictions", figure=f"{check.sample_size:,}",
                    needed=f"at least {ers.MINIMUM_ROWS:,}", passed=bool(check.sample_size_ok), blocks=True),
        DataRequirement(id="ERS-3.1-b", title=f"Largest share, by {kind}", figure=f"{check.largest_share:.1%}",
                    needed=f"at most {ers.LARGEST_SHARE:.0%}", passed=bool(check.balance_ok), blocks=by_class),
        DataRequirement(id="ERS-3.1-b", title="Wrong answers", figure=f"{wrong:.1%}", needed=f"at most {ers.LARGEST_SHARE:.0%}",
                    passed=wrong <= ers.LARGEST_SHARE + 1e-9, blocks=True),
        DataRequirement(id="ERS-3.1-c", title="Confidence bins covered", figure=f"{check.covered_bins} of 10",
                    needed=f"at least {ers.MINIMUM_BINS}", passed=bool(check.coverage_ok), blocks=True),
        DataRequirement(id="ERS-3.1-d", title="Span of production data", figure=days,
                    needed=f"at least {ers.MINIMUM_DAYS} days", passed=bool(check.span_ok), blocks=True),
    )  # fmt: skip


def doubtful(suspected: Iterable[Suspicion]) -> tuple[DataRequirement, ...]:
    """What must be settled before a certificate would state something true (C-48)."""
    return tuple(
        DataRequirement(
            id="C-48",
            title="What the forecast is",
            figure=one.sentence,
            needed="beyond doubt",
            passed=False,
            blocks=True,
        )
        for one in suspected
        if one.falsifies
    )


def lacking_sentences(requirements: Iterable[DataRequirement]) -> tuple[str, ...]:
    """Which requirements stand in the way of a level and of a certificate, one sentence each (C-14, C-49)."""
    return tuple(
        f"{one.title} must be {one.needed}, not {one.figure} ({one.id})"
        for one in requirements
        if one.blocks and not one.passed
    )


def requirements_of(
    records: Records,
    check: ers.DatasetCheck,
    onto: OntoEvaluation | None,
    told: Declaration,
    chosen: Sequence[str],
) -> tuple[DataRequirement, ...]:
    """One pass or fail a requirement on the data (ERS-3.2-b)."""
    made: list[DataRequirement] = []
    if "ers" in chosen:
        accuracy = float(records.answer.true.mean())
        made += ers_requirements(check, records.period, by_class=records.classes is not None, accuracy=accuracy)
    made += doubtful(suspicions(records.given))
    if records.contrary is not None:
        made += doubtful((Suspicion(records.contrary, falsifies=True),))
    if "onto" in chosen:
        unknowns = 0 if onto is None else onto.unknowns
        made += [
            DataRequirement(id="42001-B.1.1-a", title="Samples for ECE", figure=f"{records.n_rows:,}",
                        needed="should be at least 1,000", passed=records.n_rows >= 1000, blocks=False),
            DataRequirement(id="42001-B.1.1-a", title="Unknown inputs for U-Recall", figure=f"{unknowns:,}",
                        needed="should be at least 500", passed=unknowns >= 500, blocks=False),
        ]  # fmt: skip
        said = {True: "yes", False: "no", None: "not stated"}
        made += [
            DataRequirement(id="42001-B.1.2-a", title=f"Data include {name.replace('_', ' ')}", figure=said[value],
                        needed="should be yes", passed=bool(value), blocks=False)
            for name, value in told.contents.items()
        ]  # fmt: skip
    return tuple(made)
