# SPDX-License-Identifier: Apache-2.0
"""The ledger: what a pass keeps of all rows, by slice. Ledgers of parts merge into the ledger of the whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from epimeter.errors import InputError, MergeError
from epimeter.scale.flat import merged
from epimeter.scale.kept import KeptRun, Sample
from epimeter.scale.plan import Plan
from epimeter.summaries.cells import Cells
from epimeter.summaries.recipe import Recipe
from epimeter.trust.evidence import Evidence
from epimeter.trust.evidence import merged as merged_evidence

MOST_CELLS = 64
"""Slices that may keep cells: 3 MB each."""


@dataclass(frozen=True)
class Share:
    """What is kept of the rows of one slice.

    Attributes
    ----------
    low, high
        The least and the greatest confidence.
    totals
        A summary for every recipe that streams.
    kept
        All rows, while there are few; None once there were too many, or when no metric needs them.
    """

    n_rows: int
    low: float
    high: float
    totals: Mapping[Recipe, Any]
    kept: KeptRun | None = None
    sample: Sample | None = None


@dataclass(frozen=True)
class Ledger:
    """Shares by the value of the slice; one share under None when nothing is sliced.

    Attributes
    ----------
    unlabelled
        Rows left out because their outcome is missing.
    skipped
        Damaged parts that were left out, in words.
    source
        Where the rows came from, for the report.
    evidence
        What a certificate can be made of, where it was asked for.
    """

    plan: Plan
    shares: dict[Any, Share]
    n_classes: int = 2
    unlabelled: int = 0
    skipped: tuple[str, ...] = ()
    source: dict[str, Any] = field(default_factory=dict)
    evidence: Evidence | None = None

    @property
    def n_rows(self) -> int:
        return sum(share.n_rows for share in self.shares.values())

    def with_evidence(self, evidence: Evidence) -> Ledger:
        """The same with the evidence of the same records."""
        if evidence.totals.sums.n_rows != self.n_rows:
            raise InputError(
                f"the files changed while they were read: {self.n_rows:,} records were summarised and "
                f"{evidence.totals.sums.n_rows:,} digested. Summarise again",
                field="source",
            )
        return replace(self, evidence=evidence)

    def settled(self) -> Ledger:
        """The same with rows dropped where all parts together have too many, and cells where slices are too many."""
        shares = self.shares
        if self.n_rows > self.plan.row_limit:
            shares = {value: replace(share, kept=None) for value, share in shares.items()}
        if len(shares) > MOST_CELLS and any(Cells() in share.totals for share in shares.values()):
            shares = {
                value: replace(share, totals={r: s for r, s in share.totals.items() if r != Cells()})
                for value, share in shares.items()
            }
        return self if shares is self.shares else replace(self, shares=shares)


def joined(ledgers: Iterable[Ledger]) -> Ledger:
    """The ledger of all."""
    parts = list(ledgers)
    filled = [part for part in parts if part.shares]
    first = (filled or parts)[0]
    for part in filled[1:]:
        _refuse_different(first, part)
    values = dict.fromkeys(value for part in filled for value in part.shares)
    shares = {value: _share([part.shares[value] for part in filled if value in part.shares]) for value in values}
    return replace(
        first,
        shares=shares,
        unlabelled=sum(part.unlabelled for part in parts),
        skipped=tuple(dict.fromkeys(note for part in parts for note in part.skipped)),
        evidence=joined_evidence([part.evidence for part in parts]),
    ).settled()


def joined_evidence(parts: Sequence[Evidence | None]) -> Evidence | None:
    """The evidence of all; None when a part has none."""
    known = [part for part in parts if part is not None]
    return merged_evidence(known) if len(known) == len(parts) else None


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


def _share(parts: Sequence[Share]) -> Share:
    if len(parts) == 1:
        return parts[0]
    recipes = list(parts[0].totals)
    for part in parts[1:]:
        if part.totals.keys() != parts[0].totals.keys():
            recipes = [recipe for recipe in recipes if recipe in part.totals]
    return Share(
        n_rows=sum(part.n_rows for part in parts),
        low=min(part.low for part in parts),
        high=max(part.high for part in parts),
        totals={recipe: merged([part.totals[recipe] for part in parts]) for recipe in recipes},
        kept=_kept(parts),
        sample=_sample(parts),
    )


def _kept(parts: Sequence[Share]) -> KeptRun | None:
    runs = [part.kept for part in parts if part.kept is not None]
    if len(runs) < len(parts):
        return None
    return KeptRun([piece for run in runs for piece in run.pieces])


def _sample(parts: Sequence[Share]) -> Sample | None:
    samples = [part.sample for part in parts if part.sample is not None]
    if len(samples) < len(parts):
        return None
    made = samples[0]
    for more in samples[1:]:
        made = made.merge(more)
    return made
