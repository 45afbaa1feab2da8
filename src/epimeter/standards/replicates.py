# SPDX-License-Identifier: Apache-2.0
"""The numbers of the standards on data drawn again: what each replicate of the bootstrap shows.

Records are sorted before they are drawn, so that an interval does not depend on the order of the file. A replicate is a
vector of counts; what the standards need of it is a small table, rows in each bin by whether they were right, unknown,
flagged, and below ERS's threshold. All metrics of all replicates are then read off these tables at once.

Of many records the tables themselves are drawn. A cell of k rows has about a Poisson number of them in a replicate, of mean k, and
the sum of their confidences is a mean over it; with thousands of rows both follow the normal law, whatever the rows were. It
costs a few milliseconds at any number of records, and the answer is that of drawing the rows to what a thousand draws can tell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.inference.draws import count_bytes, replicates, words
from epimeter.inference.scheme import scheme
from epimeter.metrics.bin.onto import LEAST_GROUP, STANDARD_BINS
from epimeter.standards.onto42001 import DOMAINS as FACTORS
from epimeter.summaries.atoms import Atoms, halves
from epimeter.summaries.cuts import mass_index, run_index, width_index
from epimeter.summaries.fixed import scaled
from epimeter.views import Binary

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
How = Literal["bootstrap", "normal", "asymptotic", "none"]
Wanted = Literal["auto", "bootstrap", "normal", "asymptotic", "none"]

DRAWS = 1000
LEVEL = 0.95
DRAWN_ROWS = 2_000
"""Rows up to which `auto` draws the rows themselves; above, the sums of their bins."""
KINDS = 16


def settled(wanted: Wanted, n_rows: int) -> How:
    """How intervals are found: as wanted, or by the number of rows."""
    if wanted == "auto":
        return "bootstrap" if n_rows <= DRAWN_ROWS else "normal"
    return wanted


@dataclass(frozen=True, kw_only=True)
class AssessmentPlan:
    """What is measured and how its uncertainty is found."""

    ers_bins: int = 10
    ers_threshold: float = 0.7
    ers_modifier: float = 0.0
    strategy: Any = "equal_width"
    onto_bins: int | None = None
    onto_domain: str = "general_enterprise"
    weights: tuple[float, float, float] = (0.35, 0.45, 0.20)
    how: How = "bootstrap"
    draws: int = DRAWS
    level: float = LEVEL
    seed: int = 0
    threads: int | None = None

    @property
    def bins(self) -> int:
        """Bins of ONTO 42001 before any are joined."""
        return STANDARD_BINS[self.strategy] if self.onto_bins is None else int(self.onto_bins)

    def drawing_threads(self, n_rows: int) -> int | None:
        """Threads that draw rows: of few rows the threads would wait for each other longer than they draw."""
        return self.threads or (1 if n_rows <= DRAWN_ROWS else None)


NOBODY = np.zeros(0, bool)


@dataclass(frozen=True, kw_only=True)
class Sorted:
    """Records in the order of their confidence, with the flags that the standards count."""

    prob: Floats
    right: Flags
    unknown: Flags
    flagged: Flags
    low: Flags
    silent_unknown: Flags = field(default_factory=lambda: NOBODY)
    silent_flagged: Flags = field(default_factory=lambda: NOBODY)
    """The flags of records without an outcome, in no order."""
    group: NDArray[np.int64] | None = None

    @classmethod
    def of(
        cls,
        event: Binary,
        unknown: Flags | None,
        flagged: Flags | None,
        threshold: float,
        *,
        silent: tuple[Flags, Flags] | None = None,
        groups: NDArray[Any] | None = None,
    ) -> Sorted:
        prob = event.prob.astype(np.float64)
        none = np.zeros(len(prob), bool)
        columns = (none if flagged is None else flagged, none if unknown is None else unknown, event.true == 1)
        order = np.lexsort((*columns, prob))
        flags = [column[order] for column in columns]
        further = (NOBODY, NOBODY) if silent is None else silent
        return cls(
            prob=prob[order],
            right=flags[2],
            unknown=flags[1],
            flagged=flags[0],
            low=prob[order] < threshold,
            silent_unknown=further[0],
            silent_flagged=further[1],
            group=None if groups is None else np.unique(groups, return_inverse=True)[1].ravel()[order].astype(np.int64),
        )

    def repeats(self, influence: Floats) -> float:
        """How many times larger the variance of a mean is than if every record stood for itself."""
        if self.group is None:
            return 1.0
        centred = influence - influence.mean()
        alone = float((centred**2).sum())
        sums = np.bincount(self.group, weights=centred)
        return float((sums**2).sum()) * len(sums) / (len(sums) - 1) / alone if alone > 0 and len(sums) > 1 else 1.0

    @property
    def kind(self) -> NDArray[np.int64]:
        return np.asarray(self.right * 8 + self.unknown * 4 + self.flagged * 2 + self.low, np.int64)


@dataclass(frozen=True)
class Tables:
    """Rows and said confidence by bin and kind; arrays of shape (replicates, bins, 16)."""

    count: Floats
    prob: Floats

    def rows(self, **flags: bool) -> Floats:
        """Rows of each replicate for which these flags hold."""
        kind = np.arange(KINDS)
        keep = np.ones(KINDS, bool)
        for name, wanted in flags.items():
            keep &= (kind >> {"right": 3, "unknown": 2, "flagged": 1, "low": 0}[name] & 1) == wanted
        return np.asarray(self.count[:, :, keep].sum(axis=(1, 2)))

    @property
    def size(self) -> Floats:
        return np.asarray(self.count.sum(axis=2))

    @property
    def right(self) -> Floats:
        return np.asarray(self.count[:, :, 8:].sum(axis=2))

    @property
    def stated(self) -> Floats:
        return np.asarray(self.prob.sum(axis=2))


@dataclass(frozen=True)
class FilledCells:
    """Bins by kind, numbered; only those that have rows are drawn."""

    of_row: NDArray[np.int64]
    filled: NDArray[np.int64]
    bins: int

    @classmethod
    def of(cls, records: Sorted, index: NDArray[Any], bins: int) -> FilledCells:
        filled, of_row = np.unique(index * KINDS + records.kind, return_inverse=True)
        return cls(of_row.ravel(), filled, bins)

    def atoms(self, prob: Floats) -> Atoms:
        """What each row adds to its cell: itself, and its confidence in two halves."""
        high, low = halves(scaled(prob))
        return Atoms.of(self.of_row, len(self.filled), [np.ones_like(high), high, low], lambda totals: totals)

    def tables(self, count: Floats, prob: Floats) -> Tables:
        """Numbers of shape (replicates, filled cells) in their places."""
        made = np.zeros((2, len(count), self.bins * KINDS))
        made[0][:, self.filled], made[1][:, self.filled] = count, prob
        return Tables(*made.reshape(2, len(count), self.bins, KINDS))


def drawn_metrics(records: Sorted, plan: AssessmentPlan) -> dict[str, Floats]:
    """The metrics of every replicate, by name."""
    return _of_sums(records, plan) if plan.how == "normal" else _of_rows(records, plan)


def _of_sums(records: Sorted, plan: AssessmentPlan) -> dict[str, Floats]:
    """The metrics of replicates whose tables are drawn; bins of equal mass stay where they are."""
    ers = _normal_tables(
        records.prob, FilledCells.of(records, width_index(records.prob, plan.ers_bins), plan.ers_bins), plan
    )
    if plan.bins == plan.ers_bins and plan.strategy != "equal_mass":
        return _metrics(records, ers, ers, plan)
    cut = mass_index if plan.strategy == "equal_mass" else width_index
    onto = _normal_tables(records.prob, FilledCells.of(records, cut(records.prob, plan.bins), plan.bins), plan)
    return _metrics(records, ers, onto, plan)


def _normal_tables(prob: Floats, cells: FilledCells, plan: AssessmentPlan) -> Tables:
    """Tables by the normal law: of k rows of mean m and deviation s, k' of mean and variance k; their sum is k' m + sqrt(k) s z.

    A replicate is a row of the stream (see `inference.draws`): a number for each cell's count, then one for each sum.
    """
    from epimeter.special import ndtri

    size = np.bincount(cells.of_row).astype(np.float64)
    mean, square = (np.bincount(cells.of_row, weights=power) / size for power in (prob, prob**2))
    spread = np.sqrt(size * np.maximum(square - mean**2, 0.0))
    uniform = np.random.Generator(np.random.PCG64(plan.seed)).random((plan.draws, 2, len(size)))
    normal = ndtri(np.maximum(uniform, 2.0**-54))  # 0 comes once in 2^53 numbers and would be infinite
    count = np.maximum(size + np.sqrt(size) * normal[:, 0], 0.0)
    return cells.tables(count, np.clip(count * mean + spread * normal[:, 1], 0.0, count))


def _of_rows(records: Sorted, plan: AssessmentPlan) -> dict[str, Floats]:
    """The metrics of replicates whose rows are drawn."""
    n = len(records.prob)
    drawing, generator = scheme(n, None, None), words(plan.seed)
    cells = {
        bins: FilledCells.of(records, width_index(records.prob, bins), bins) for bins in {plan.ers_bins, plan.bins}
    }
    layouts = {bins: some.atoms(records.prob) for bins, some in cells.items()}
    by_mass = plan.strategy == "equal_mass"
    steps, right = records.prob, records.right.astype(np.float64)

    def some(group: range) -> Sequence[tuple[list[NDArray[np.int64]], tuple[float, float]]]:
        counts = count_bytes(generator, group, n)
        if counts is None:  # a row drawn more often than a byte can say
            return [one(replicate) for replicate in group]
        totals = [atoms.counted_totals(counts) for atoms in layouts.values()]
        return [([total[place] for total in totals], errors(counts[place])) for place in range(len(group))]

    def one(replicate: int) -> tuple[list[NDArray[np.int64]], tuple[float, float]]:
        counts, _ = drawing.draw(plan.seed, replicate, n, False)
        return [atoms.totals(counts) for atoms in layouts.values()], errors(counts)

    def errors(counts: NDArray[Any]) -> tuple[float, float]:
        return _mass_errors(counts.astype(np.int32), steps, right, plan.bins) if by_mass else (math.nan, math.nan)

    answers = replicates(plan.draws, some, plan.drawing_threads(n))
    tables = {}
    for place, (bins, its) in enumerate(cells.items()):
        count, high, low = np.stack([answer[0][place] for answer in answers], axis=-1).transpose(1, 2, 0)
        tables[bins] = its.tables(count, high * 2.0**-22 + low * 2.0**-44)
    made = _metrics(records, tables[plan.ers_bins], tables[plan.bins], plan)
    if by_mass:
        made["onto.ece"], made["onto.mce"] = np.array([answer[1] for answer in answers]).T
        made["onto.ors"] = _ors(made["onto.ece"], made["onto.u_recall"], plan)
    return made


def _metrics(records: Sorted, ers: Tables, onto: Tables, plan: AssessmentPlan) -> dict[str, Floats]:
    with np.errstate(divide="ignore", invalid="ignore"):
        wrong, unknown = ers.rows(right=False), onto.rows(unknown=True) + records.silent_unknown.sum()
        recall = np.where(wrong > 0, 100 * ers.rows(right=False, low=True) / wrong, 100.0)
        ers_ece, _ = _errors(ers.size, ers.right, ers.stated)
        sums = onto.size, onto.right, onto.stated
        if plan.strategy == "adaptive":
            ece, mce = np.array([_joined_errors(*(column[r] for column in sums)) for r in range(len(onto.count))]).T
        else:
            ece, mce = _errors(*sums)
        silent = (records.silent_unknown & records.silent_flagged).sum()
        detected = (onto.rows(unknown=True, flagged=True) + silent) / unknown
        return {
            "ers.ece": ers_ece,
            "ers.ers_raw": 200 * ers_ece + 0.5 * (100 - recall) + plan.ers_modifier,
            "onto.ece": ece,
            "onto.mce": mce,
            "onto.u_recall": detected,
            "onto.ors": _ors(ece, detected, plan),
        }


def _errors(size: Floats, right: Floats, said: Floats) -> tuple[Floats, Floats]:
    gap = np.abs(right - said)
    mean = np.divide(gap, size, out=np.zeros_like(gap), where=size > 0)
    return gap.sum(axis=-1) / size.sum(axis=-1), mean.max(axis=-1)


def _joined_errors(size: Floats, right: Floats, said: Floats) -> tuple[float, float]:
    """ECE and MCE of bins joined from low to high until each holds enough (C-36)."""
    place = joined_bins(size)
    rows, hits, sums = (np.bincount(place, weights=column).astype(np.float64) for column in (size, right, said))
    ece, mce = _errors(rows, hits, sums)
    return float(ece), float(mce)


def joined_bins(size: NDArray[Any]) -> NDArray[np.int64]:
    """The group each bin joins; what is left over at the end joins the last full one."""
    enough = max(float(LEAST_GROUP), float(size.sum()) / (2 * len(size)))
    group, groups, held = 0, [], 0.0
    for rows in size:
        groups.append(group)
        held += rows
        if held >= enough:
            group, held = group + 1, 0.0
    return np.minimum(groups, max(group - 1, 0))


def _mass_errors(counts: NDArray[np.int32], prob: Floats, right: Floats, bins: int) -> tuple[float, float]:
    """ECE and MCE of equal-mass bins of a replicate; records are sorted, so equal confidences stand side by side."""
    start = np.flatnonzero(np.append(True, prob[1:] != prob[:-1]))
    size, hits, said = (np.add.reduceat(values * counts, start) for values in (np.ones_like(prob), right, prob))
    index = run_index(np.cumsum(size), bins)
    columns = (np.bincount(index, weights=values, minlength=bins).astype(np.float64) for values in (size, hits, said))
    ece, mce = _errors(*columns)
    return float(ece), float(mce)


def _ors(ece: Floats, recall: Floats, plan: AssessmentPlan) -> Floats:
    w1, w2, w3 = plan.weights
    return 100 * (w1 * np.minimum(ece / 0.3, 1) + w2 * (1 - recall) + w3 * FACTORS[plan.onto_domain])
