# SPDX-License-Identifier: Apache-2.0
"""The ledger: what a pass keeps of all rows, by slice. Ledgers of parts merge into the ledger of the whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

from epimeter.errors import InputError, MergeError
from epimeter.passes.plan import Plan
from epimeter.passes.stored_rows import StoredRows, UniformSample
from epimeter.readers.findings import NOTHING, Findings, merged_findings
from epimeter.summaries.cells import Cells
from epimeter.summaries.recipe import Recipe
from epimeter.summaries.stacked import merged

MOST_CELLS = 64
"""Slices that may keep cells: 3 MB each."""


class Attached(Protocol):
    """What travels with a ledger for others to read, such as the evidence for a certificate; parts merge as ledgers do."""

    @property
    def n_rows(self) -> int:
        """Rows that it is about."""
        ...

    def with_parts(self, others: Sequence[Self]) -> Self:
        """The same of these rows and of all others."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Plain values and summaries, for a file."""
        ...


MOST_ROWS = 1 << 53
"""Rows that the totals of a summary can count."""


@dataclass(frozen=True)
class SliceTotals:
    """What is kept of the rows of one slice.

    Attributes
    ----------
    low, high
        The least and the greatest confidence.
    totals
        A summary for every recipe that streams.
    rows
        All rows, while there are few; None once there were too many, or when no metric needs them.
    class_counts
        Rows of each class, beside class probabilities; nothing where they were not counted.
    """

    n_rows: int
    low: float
    high: float
    totals: Mapping[Recipe, Any]
    rows: StoredRows | None = None
    sample: UniformSample | None = None
    class_counts: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ledger:
    """Totals by the value of the slice; under None when nothing is sliced.

    Attributes
    ----------
    unlabelled
        Rows left out because their outcome is missing.
    skipped
        Damaged parts that were left out, in words.
    source
        Where the rows came from, for the report.
    findings
        What the cells say of how they were read.
    evidence
        What a certificate can be made of, where it was asked for; nothing here reads it.
    """

    plan: Plan
    slices: dict[Any, SliceTotals]
    n_classes: int = 2
    unlabelled: int = 0
    skipped: tuple[str, ...] = ()
    source: dict[str, Any] = field(default_factory=dict)
    evidence: Attached | None = None
    findings: Findings = NOTHING

    @property
    def n_rows(self) -> int:
        return sum(one.n_rows for one in self.slices.values())

    def with_evidence(self, evidence: Attached) -> Ledger:
        """The same with the evidence of the same records."""
        if evidence.n_rows != self.n_rows:
            raise InputError(
                f"the files changed while they were read: {self.n_rows:,} records were summarised and "
                f"{evidence.n_rows:,} digested. Summarise again",
                field="source",
            )
        return replace(self, evidence=evidence)

    def whole(self) -> Ledger:
        """All slices as one."""
        return replace(
            self, plan=replace(self.plan, by=None), slices={None: _joined_slices(list(self.slices.values()))}
        )

    def settled(self) -> Ledger:
        """The same with rows dropped where all parts together have too many, and cells where slices are too many."""
        slices = self.slices
        if self.n_rows > self.plan.row_limit and not self.plan.in_memory:
            slices = {value: replace(one, rows=None) for value, one in slices.items()}
        if len(slices) > MOST_CELLS and any(Cells() in one.totals for one in slices.values()):
            slices = {
                value: replace(one, totals={r: s for r, s in one.totals.items() if r != Cells()})
                for value, one in slices.items()
            }
        return self if slices is self.slices else replace(self, slices=slices)


def joined(ledgers: Iterable[Ledger]) -> Ledger:
    """The ledger of all."""
    parts = list(ledgers)
    refuse_too_many(sum(part.n_rows for part in parts))
    filled = [part for part in parts if part.slices]
    first = (filled or parts)[0]
    for part in filled[1:]:
        _refuse_different(first, part)
    values = dict.fromkeys(value for part in filled for value in part.slices)
    slices = {
        value: _joined_slices([part.slices[value] for part in filled if value in part.slices]) for value in values
    }
    groups = [part.source["groups"] for part in parts if "groups" in part.source]
    return replace(
        first,
        slices=slices,
        source=first.source | ({"groups": groups[0]} if groups else {}),
        unlabelled=sum(part.unlabelled for part in parts),
        skipped=tuple(dict.fromkeys(note for part in parts for note in part.skipped)),
        evidence=joined_evidence([part.evidence for part in parts]),
        findings=merged_findings(part.findings for part in parts),
    ).settled()


def refuse_too_many(n_rows: int) -> None:
    """Refuse more rows than totals can count: beyond, a double no longer tells one row from two."""
    if n_rows > MOST_ROWS:
        raise MergeError(
            f"a summary can stand for at most 2^53 rows, {MOST_ROWS:,}; these would be {n_rows:,}. Was one merged with "
            "itself again and again?"
        )


def joined_evidence(parts: Sequence[Attached | None]) -> Attached | None:
    """The evidence of all; None when a part has none."""
    known = [part for part in parts if part is not None]
    return known[0].with_parts(known[1:]) if known and len(known) == len(parts) else None


def _refuse_different(first: Ledger, other: Ledger) -> None:
    if first.n_classes != other.n_classes:
        raise MergeError(
            f"cannot merge summaries over {first.n_classes} and over {other.n_classes} classes; "
            "all parts must have the same classes"
        )
    if first.plan.kind != other.plan.kind:
        raise MergeError(
            f"cannot merge summaries of different kinds of forecast; one is of kind {first.plan.kind}, the other of kind "
            f"{other.plan.kind}"
        )
    if first.plan.weighted != other.plan.weighted:
        raise MergeError("cannot merge summaries of different kinds of rows; one has weights, the other not")
    if first.plan.by != other.plan.by:
        raise MergeError(f"cannot merge summaries sliced by {first.plan.by!r} and by {other.plan.by!r}")


def _joined_slices(parts: Sequence[SliceTotals]) -> SliceTotals:
    if len(parts) == 1:
        return parts[0]
    recipes = list(parts[0].totals)
    for part in parts[1:]:
        if part.totals.keys() != parts[0].totals.keys():
            recipes = [recipe for recipe in recipes if recipe in part.totals]
    return SliceTotals(
        n_rows=sum(part.n_rows for part in parts),
        low=min(part.low for part in parts),
        high=max(part.high for part in parts),
        totals={recipe: merged([part.totals[recipe] for part in parts]) for recipe in recipes},
        rows=_joined_rows(parts),
        sample=_joined_samples(parts),
        class_counts=joined_counts([part.class_counts for part in parts]),
    )


def joined_counts(parts: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Rows of each class in all parts; nothing where a part did not count them."""
    return tuple(map(sum, zip(*parts, strict=True))) if all(parts) else ()


def _joined_rows(parts: Sequence[SliceTotals]) -> StoredRows | None:
    stored = [part.rows for part in parts if part.rows is not None]
    if len(stored) < len(parts):
        return None
    return StoredRows([part for rows in stored for part in rows.parts])


def _joined_samples(parts: Sequence[SliceTotals]) -> UniformSample | None:
    samples = [part.sample for part in parts if part.sample is not None]
    if len(samples) < len(parts):
        return None
    whole = samples[0]
    for more in samples[1:]:
        whole = whole.merge(more)
    return whole
