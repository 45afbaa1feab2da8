# SPDX-License-Identifier: Apache-2.0
"""How far the numbers of an evaluation may be off: all of them from one set of replicates.

- ECE, MCE, ERS, ORS, IGR: basic bootstrap interval (C-47), or the delta method where it is asked for or records come in groups.
- shares (accuracy, both U-Recalls, false alarms): exact binomial interval of Clopper and Pearson.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.card_index import find
from epimeter.inference.bootstrap import ends
from epimeter.inference.draws import bounds, label_bits, replicates, words
from epimeter.inference.intervals import Request
from epimeter.inference.spread import clopper_pearson, design_of
from epimeter.results import Interval
from epimeter.standards.ers import DELTA
from epimeter.standards.ers_sums import ErsSums
from epimeter.standards.replicates import AssessmentPlan, Floats, How, Sorted, Wanted, drawn_metrics, joined_bins
from epimeter.summaries.atoms import Atoms
from epimeter.summaries.cuts import mass_index, width_index
from epimeter.views import Binary

NULL_DRAWS = 199
DRAWN: dict[How, str] = {
    "bootstrap": "basic bootstrap, {draws:,} draws of the sorted records, seed {seed}",
    "normal": "basic bootstrap, {draws:,} draws of the bins' sums by their normal law, seed {seed}",
}
"""How intervals were found, as documents and certificates say it."""


def drawn_by(method: str) -> Wanted:
    """The way that found an interval whose document says so of it; there may follow that it was widened to its value."""
    for how, word in DRAWN.items():
        if re.match(re.sub(r"\{[^}]*\}", "[0-9,]+", word), method):
            return how
    return "asymptotic" if method.startswith(DELTA) else "auto"


RANGES = {"ers.ers_raw": (0.0, 100.0), "onto.ors": (0.0, 100.0)}


def intervals(records: Sorted, values: dict[str, float], plan: AssessmentPlan) -> dict[str, Interval]:
    """An interval for each of these values that has one; names as in `drawn_metrics`."""
    if plan.how == "none":
        return {}
    if plan.how in DRAWN and records.group is None:
        found = drawn_metrics(records, plan)
        word = DRAWN[plan.how].format(draws=plan.draws, seed=plan.seed)
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
    return joined_bins(np.bincount(index, minlength=plan.bins))[index] if plan.strategy == "adaptive" else index


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
    """The ECE that a perfectly calibrated system with these confidences would show on average (C-47).

    The mean of labels drawn from the confidences, or of many records what their sums have by the normal law.
    """
    if plan.how == "none":
        return {}
    mean = _drawn_null if plan.how == "bootstrap" else _normal_null
    ers = width_index(records.prob, plan.ers_bins)
    alike = plan.strategy == "equal_width" and plan.bins == plan.ers_bins
    made = mean(records.prob, ers, plan)
    return {"ers.ece": made, "onto.ece": made if alike else mean(records.prob, _onto_index(records, plan), plan)}


def _normal_null(prob: Floats, index: NDArray[Any], plan: AssessmentPlan) -> float:
    """E|Z| = sqrt(2/pi) of its deviation, for the gap of every bin."""
    spread = np.sqrt(np.bincount(index, weights=prob * (1 - prob)))
    return math.sqrt(2 / math.pi) * float(spread.sum()) / len(prob)


def _drawn_null(prob: Floats, index: NDArray[Any], plan: AssessmentPlan) -> float:
    """As `consistency_test` draws it; labels do not move bins, so that only the right answers of each bin are counted anew."""
    cells = int(index.max()) + 1
    atoms = Atoms.of(index, cells, [np.ones(len(prob), np.int32)], lambda totals: totals)
    said = np.bincount(index, weights=prob, minlength=cells)
    generator, bound = words(plan.seed), bounds(prob)

    def some(group: range) -> list[float]:
        hits = atoms.chosen_totals(label_bits(generator, group, bound), len(group))[..., 0]
        return [float(gap) for gap in np.abs(hits - said).sum(axis=1)]

    return float(np.mean(replicates(NULL_DRAWS, some, plan.drawing_threads(len(prob))))) / len(prob)
