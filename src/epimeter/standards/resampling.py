# SPDX-License-Identifier: Apache-2.0
"""How far the numbers of an evaluation may be off: all of them from one set of resampled records.

Records are sorted before they are drawn, so that an interval does not depend on the order of the file. A replicate is a
vector of counts; what the standards need of it is a small table, rows in each bin by whether they were right, unknown,
flagged, and below ERS's threshold. All metrics of all replicates are then read off these tables at once.

- ECE, MCE, ERS, ORS, IGR: basic bootstrap interval (C-47), or the delta method where rows are too many to draw again.
- shares (accuracy, both U-Recalls, false alarms): exact binomial interval of Clopper and Pearson.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import find
from epimeter.inference.bootstrap import ends
from epimeter.inference.consistency import redrawn
from epimeter.inference.draws import count_bytes, replicates, words
from epimeter.inference.intervals import Request
from epimeter.inference.scheme import scheme
from epimeter.inference.spread import clopper_pearson, design_of
from epimeter.inference.statistic import Statistic
from epimeter.metrics.bin.onto import LEAST_GROUP, STANDARD_BINS
from epimeter.results import Interval
from epimeter.standards.ers import DELTA
from epimeter.standards.ers_sums import ErsSums
from epimeter.standards.onto42001 import DOMAINS as FACTORS
from epimeter.summaries.atoms import Atoms, halves
from epimeter.summaries.cuts import mass_index, run_index, width_index
from epimeter.summaries.fixed import scaled
from epimeter.views import Binary

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
How = Literal["bootstrap", "asymptotic", "none"]
Wanted = Literal["auto", "bootstrap", "asymptotic", "none"]

DRAWS = 1000
NULL_DRAWS = 199
LEVEL = 0.95
DRAWN_ROWS = 200_000
"""Rows up to which `auto` draws again; above, the delta method is as good and a thousand times quicker."""
KINDS = 16


def settled(wanted: Wanted, n_rows: int) -> How:
    """How intervals are found: as wanted, or by the number of rows."""
    if wanted == "auto":
        return "bootstrap" if n_rows <= DRAWN_ROWS else "asymptotic"
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


def _atoms(records: Sorted, bins: int) -> Atoms:
    cell = width_index(records.prob, bins) * KINDS + records.kind
    high, low = halves(scaled(records.prob))
    return Atoms.of(cell, bins * KINDS, [np.ones_like(high), high, low], lambda totals: totals)


def _tables(totals: NDArray[np.int64], bins: int) -> Tables:
    """Totals of shape (replicates, cells, 3) as tables; the halves of a confidence are put together."""
    made = totals.reshape(len(totals), bins, KINDS, 3).astype(np.float64)
    return Tables(made[..., 0], made[..., 1] * 2.0**-22 + made[..., 2] * 2.0**-44)


def drawn_metrics(records: Sorted, plan: AssessmentPlan) -> dict[str, Floats]:
    """The metrics of every replicate, by name."""
    n = len(records.prob)
    drawing, generator = scheme(n, None, None), words(plan.seed)
    layouts = {bins: _atoms(records, bins) for bins in {plan.ers_bins, plan.bins}}
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

    answers = replicates(plan.draws, some, plan.threads)
    tables = {
        bins: _tables(np.stack([answer[0][place] for answer in answers]), bins) for place, bins in enumerate(layouts)
    }
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
        joined = [_joined_errors(*(column[r] for column in sums)) for r in range(len(onto.count))]
        ece, mce = np.array(joined).T if plan.strategy == "adaptive" else _errors(*sums)
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
    place = _groups(size)
    rows, hits, sums = (np.bincount(place, weights=column).astype(np.float64) for column in (size, right, said))
    ece, mce = _errors(rows, hits, sums)
    return float(ece), float(mce)


def _groups(size: NDArray[Any]) -> NDArray[np.int64]:
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


RANGES = {"ers.ers_raw": (0.0, 100.0), "onto.ors": (0.0, 100.0)}


def intervals(records: Sorted, values: dict[str, float], plan: AssessmentPlan) -> dict[str, Interval]:
    """An interval for each of these values that has one; names as in `drawn_metrics`."""
    if plan.how == "none":
        return {}
    if plan.how == "bootstrap" and records.group is None:
        found = drawn_metrics(records, plan)
        word = f"basic bootstrap, {plan.draws:,} draws of the sorted records, seed {plan.seed}"
        spans = {}
        for name, drawn in found.items():
            defined = drawn[np.isfinite(drawn)]
            if name in values and name != "onto.mce" and len(defined) > 1:
                spans[name] = ends(values[name], defined, plan.level, "basic")
    else:
        word = DELTA if records.group is None else f"{DELTA}, by groups"
        spans = _delta(records, values, plan)
    made = {
        name: Interval(low=limited(low, name), high=limited(high, name), level=plan.level, method=word).holding(
            values[name]
        )
        for name, (low, high) in spans.items()
    }
    if "onto.mce" in values and len(records.prob) > 1:
        made["onto.mce"] = _worst_gap(records, values["onto.mce"], plan)
    return made


def _worst_gap(records: Sorted, value: float, plan: AssessmentPlan) -> Interval:
    """The interval of the largest gap: the catalogue's where it has these bins, else that of the worst bin's mean gap.

    Drawn again, the worst of several gaps only grows, so that a basic bootstrap's interval can leave out the value itself.
    """
    if plan.strategy != "adaptive":
        binning = "mass" if plan.strategy == "equal_mass" else "width"
        rows = Binary(true=records.right.astype(np.uint8), prob=records.prob)  # doubted when they became records
        metric = find("mce")
        recipe, rest = metric.settle({"bins": plan.bins, "binning": binning})
        totals = recipe.finish(recipe.summarise(rows))
        found = Request(plan.level, "auto").of(metric, recipe, totals, rows, rest, design_of(rows, records.group))
        return Interval(low=found.low, high=found.high, level=found.level, method=found.method)
    index = _onto_index(records, plan)
    gap = records.right - records.prob
    size = np.bincount(index, minlength=plan.bins)
    total = np.bincount(index, weights=gap, minlength=plan.bins)
    mean = np.divide(total, size, out=np.zeros(len(size)), where=size > 0)
    worst = int(np.argmax(np.where(size > 0, np.abs(mean), -1.0)))
    inside = gap[index == worst]
    reach = normal_ends({"onto.mce": value}, {"onto.mce": float(inside.std())}, len(inside), plan.level)["onto.mce"]
    low, high = (limited(end, "onto.mce") for end in reach)
    return Interval(low=low, high=high, level=plan.level, method=f"{DELTA}, worst bin fixed")


def _onto_index(records: Sorted, plan: AssessmentPlan) -> NDArray[Any]:
    """The bin of ONTO 42001 that each record falls into."""
    if plan.strategy == "equal_mass":
        return mass_index(records.prob, plan.bins)
    index = width_index(records.prob, plan.bins)
    return _groups(np.bincount(index, minlength=plan.bins))[index] if plan.strategy == "adaptive" else index


def limited(value: float, name: str) -> float:
    """An end of an interval inside the range its metric can have."""
    low, high = RANGES.get(name, (0.0, 1.0))
    return min(high, max(low, value))


def _delta(records: Sorted, values: dict[str, float], plan: AssessmentPlan) -> dict[str, tuple[float, float]]:
    """Normal intervals from what each record adds to a metric (its influence), bins taken as fixed."""
    gap = records.right - records.prob
    influences: dict[str, Floats] = {}
    index = _onto_index(records, plan)
    onto = _influence(gap, index, plan.bins)
    influences["onto.ece"] = onto
    if "onto.u_recall" in values and records.unknown.any():
        share = (records.unknown.sum() + records.silent_unknown.sum()) / len(records.unknown)
        found = (records.flagged - values["onto.u_recall"]) * records.unknown / share
        slope = 0.0 if values.get("onto.ece", 0.0) >= 0.3 else plan.weights[0] / 0.3
        influences["onto.ors"] = 100 * (slope * onto - plan.weights[1] * found)
    deviations = {name: float(drawn.std()) * math.sqrt(records.repeats(drawn)) for name, drawn in influences.items()}
    event = Binary(records.right.astype(np.uint8), records.prob)
    sums = ErsSums.of(event, bins=plan.ers_bins, threshold=plan.ers_threshold)
    inflation = math.sqrt(records.repeats(gap))
    deviations |= {name: inflation * deviation for name, deviation in sums.deviations.items()}
    return normal_ends(values, deviations, len(gap), plan.level)


def normal_ends(
    values: dict[str, float], deviations: dict[str, float], n_rows: int, level: float
) -> dict[str, tuple[float, float]]:
    """Ends of normal intervals of means, from the standard deviation of what a record adds to each."""
    from epimeter.special import ndtri

    reach = float(ndtri(0.5 + level / 2)) / math.sqrt(n_rows)
    return {
        name: (values[name] - reach * deviation, values[name] + reach * deviation)
        for name, deviation in deviations.items()
        if name in values
    }


def _influence(gap: Floats, index: NDArray[Any], bins: int) -> Floats:
    """What a record adds to an ECE: its own gap, signed as its bin's, since ECE is the sum of |gap| over bins."""
    sign = np.sign(np.bincount(index, weights=gap, minlength=bins))
    return np.asarray(sign[index] * gap)


def share_interval(hits: float, total: float, level: float) -> Interval | None:
    """Clopper and Pearson's exact interval of a share; None of nothing."""
    if total == 0:
        return None
    low, high = clopper_pearson(hits, total, level)
    return Interval(low=low, high=high, level=level, method="exact binomial")


def null_means(records: Sorted, plan: AssessmentPlan) -> dict[str, float]:
    """The ECE that a perfectly calibrated system with these confidences would show on average (C-47)."""
    if plan.how == "none":
        return {}
    if plan.how == "asymptotic":
        variance = records.prob * (1 - records.prob)
        spread = np.sqrt(np.bincount(width_index(records.prob, plan.ers_bins), weights=variance))
        expected = math.sqrt(2 / math.pi) * float(spread.sum()) / len(records.prob)
        return {"ers.ece": expected} | ({"onto.ece": expected} if _alike(plan) else {})
    given = Binary(records.right.astype(np.uint8), records.prob)
    wanted = [Statistic.of("ece", {"bins": plan.ers_bins})]
    if not _alike(plan):
        wanted.append(Statistic.of("onto_ece", {"strategy": plan.strategy, "bins": plan.onto_bins}))
    drawn = redrawn(given, wanted, NULL_DRAWS, plan.seed, False, plan.threads)
    return {"ers.ece": float(drawn[:, 0].mean()), "onto.ece": float(drawn[:, -1].mean())}


def _alike(plan: AssessmentPlan) -> bool:
    """Whether both standards read the same bins."""
    return plan.strategy == "equal_width" and plan.bins == plan.ers_bins
