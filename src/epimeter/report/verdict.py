# SPDX-License-Identifier: Apache-2.0
"""What a person asks of a report first: is it calibrated, where is it off, what does that cost, what to do.

The answers come from tests and intervals of the totals that the pass keeps anyway, not from a mean: a system that is too
sure in one place and not sure enough in another is right on average and wrong everywhere.

1. Is calibration refuted? The tests of `l2_ece_ci` (fifteen bins, any deviation) and `spiegelhalter_z` (too extreme or too
   timid), each at half the level (Bonferroni). Where rows belong to groups both are made with one row a group, and the mean
   gap of every group is a third test, each at a third.
2. If not: how large an error could still hide, by the upper end of an interval.
3. In which direction on average, with its interval; and in which range most of the error lies.
4. What it costs: the share of the Brier score that a monotone recalibration would recover (CORP), or, where the rows are
   gone, what correcting every bin would (debiased).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from epimeter.card_index import find
from epimeter.errors import EpimeterError
from epimeter.inference.spread import SamplingDesign
from epimeter.kinds import WORDING, Kind
from epimeter.passes.plan import VERDICT_TESTS, VERDICT_TOTALS
from epimeter.report.measurement import Measurement
from epimeter.results import plain
from epimeter.special import ndtri
from epimeter.summaries import MomentTotals
from epimeter.views import View

ALPHA = 0.05
"""Level of the verdict: so often is a calibrated system refuted."""
Z95 = float(ndtri(0.975))
GROUP_MEANS = "group_means"
TEST_NAMES = dict(zip(VERDICT_TESTS, ("over 15 bins", "Spiegelhalter's test"), strict=True)) | {
    GROUP_MEANS: "a bet on the mean of every group"
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The first lines of a report.

    Attributes
    ----------
    refuted
        Whether calibration is refuted at level 0.05; None where no test is defined on these data.
    test, p_value
        The test that speaks loudest (a metric, or `group_means`), and its p-value times the number of tests.
    hidden
        The largest error (ECE) that the data still allow; None where it is not known.
    bias, bias_low, bias_high
        Mean of what was said minus mean of what came true, with its 95 % interval.
    recoverable
        Share of the Brier score that recalibration would recover, of these rows.
    sentences
        All of it in words.
    """

    refuted: bool | None
    test: str | None
    p_value: float | None
    hidden: float | None
    bias: float
    bias_low: float
    bias_high: float
    recoverable: float | None
    sentences: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {name: plain(getattr(self, name)) for name in self.__slots__} | {"sentences": list(self.sentences)}


def verdict(
    kind: Kind,
    totals: MomentTotals,
    made: Sequence[Measurement],
    p_values: Mapping[str, float],
    *,
    groups: int | None = None,
    spread: float | None = None,
) -> Verdict:
    """The verdict on one data set.

    Parameters
    ----------
    totals
        The finished totals of `VERDICT_TOTALS`.
    made
        The report's lines; ECE and CORP are read off them where they are there.
    p_values
        The p-values of the tests, by metric; those that are not defined are absent.
    groups, spread
        Where rows belong to groups: how many there are, and the standard error of the bias that counts them.
    """
    lines = {line.metric: line for line in made}
    size = float(totals.size.sum())
    n_rows = int(totals.count.sum())
    said, seen = totals.prob.sum(), totals.true.sum()
    bias = (float(said.floats()) - float(seen.floats())) / size
    if spread is None:
        spread = math.sqrt(max(float(totals.square.sum().floats()) / size - bias**2, 0.0) / max(n_rows, 1))
    low, high = bias - Z95 * spread, bias + Z95 * spread
    test, p_value = None, None
    if p_values:
        test = min(p_values, key=lambda name: p_values[name])
        p_value = min(1.0, p_values[test] * len(p_values))
    refuted = None if p_value is None else p_value < ALPHA
    ece = lines.get("ece")
    hidden = None if ece is None or ece.interval is None else ece.interval.high
    recoverable = _recoverable(lines, totals, size)
    direction = _direction(kind, bias, low, high)
    if refuted is False and not low <= 0 <= high:  # the interval of the mean is another test, and more sensitive to it
        direction = direction.removesuffix(".") + ", though the test above does not refute calibration as a whole."
    sentences = [_tested(refuted, test, p_value, len(p_values), n_rows, groups, hidden), direction]
    if refuted:
        sentences.append(_place(kind, totals, size))
    sentences += _cost(kind, refuted, recoverable, "corp" in lines)
    return Verdict(
        refuted=refuted,
        test=test,
        p_value=p_value,
        hidden=hidden,
        bias=bias,
        bias_low=low,
        bias_high=high,
        recoverable=recoverable,
        sentences=tuple(sentence for sentence in sentences if sentence),
    )


def p_values_of(finished: Mapping[Any, Any], stated: Mapping[str, Measurement] | None = None) -> dict[str, float]:
    """The p-values of the verdict's tests, from summaries that are at hand; `stated`: tests that were made of them already."""
    found = {}
    for name in VERDICT_TESTS:
        if stated is not None and name in stated:
            known = stated[name].fields.get("p_value")
            if known is not None:
                found[name] = float(known)
            continue
        metric = find(name)
        recipe = VERDICT_TOTALS if name == "l2_ece_ci" else metric.reads
        if recipe not in finished:
            continue
        try:
            p_value = metric.compute(finished[recipe]).p_value
        except EpimeterError:
            continue
        if not math.isnan(p_value):
            found[name] = float(p_value)
    return found


def grouped_p_values(rows: View, gap: Any, design: SamplingDesign) -> dict[str, float]:
    """The p-values where rows of one group are no independent evidence: of one row a group, several times, and of group means."""
    from epimeter.inference.grouped import choices_of_one, group_means_p_value, mean_p_value

    found: dict[str, list[float]] = {name: [] for name in VERDICT_TESTS}
    for chosen in choices_of_one(design.group, 0):
        some = rows.take(chosen)
        recipes = {VERDICT_TOTALS, *(recipe for name in VERDICT_TESTS if (recipe := find(name).reads) is not None)}
        for name, p_value in p_values_of({recipe: recipe.of(some) for recipe in recipes}).items():
            found[name].append(p_value)
    made = {name: mean_p_value(values) for name, values in found.items() if values}
    assert design.group is not None
    return made | {GROUP_MEANS: group_means_p_value(gap, design.group, design.weight)}


def _tested(
    refuted: bool | None,
    test: str | None,
    p_value: float | None,
    tests: int,
    n_rows: int,
    groups: int | None,
    hidden: float | None,
) -> str:
    if test is None or p_value is None:
        return "Whether it is calibrated cannot be tested on these data."
    shown = "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2g}"
    if tests > 1 and p_value >= 1e-4:
        shown += f" after correction for {tests} tests"
    by = f"{TEST_NAMES[test]}, {shown}, N = {n_rows:,}" + (f" in {groups:,} groups" if groups is not None else "")
    if refuted:
        return f"Calibration is refuted ({by})."
    could = "" if hidden is None else f"; an error (ECE) of up to {hidden:.3f} could still hide"
    return f"Calibration is not refuted ({by}){could}."


def _direction(kind: Kind, bias: float, low: float, high: float) -> str:
    words = WORDING[kind]
    if low <= 0 <= high:
        reach = 100 * max(-low, high)
        return f"On average it says neither too much nor too little (within {reach:.1f} points, 95 % interval)."
    sense = (words.too_much if bias > 0 else words.too_little).format(f"{100 * abs(bias):.1f}")
    ends = sorted((100 * abs(low), 100 * abs(high)))
    return f"On average it {sense} (95 % interval {ends[0]:.1f} to {ends[1]:.1f})."


def _place(kind: Kind, totals: MomentTotals, size: float) -> str:
    """The range that contributes most to the error, and the one that contributes most the other way."""
    said, seen, rows = totals.prob.floats(), totals.true.floats(), totals.size
    gap = said - seen
    noise = np.sqrt(np.maximum(totals.variance1.floats(), 1e-300))
    ranges = _runs(np.sign(gap) * (rows > 0), gap)
    worst = _densest(max(ranges, key=lambda run: abs(gap[run].sum())), gap)
    parts = [_range(kind, worst, said, seen, rows)]
    against = [
        run
        for run in ranges
        if gap[run].sum() * gap[worst].sum() < 0 and abs(gap[run].sum()) > 3 * math.sqrt((noise[run] ** 2).sum())
    ]
    if against:
        parts.append(_range(kind, _densest(max(against, key=lambda run: abs(gap[run].sum())), gap), said, seen, rows))
    share = abs(gap[worst].sum()) / max(np.abs(gap).sum(), 1e-300)
    return (
        f"{share:.0%} of the error lies where {parts[0]}"
        + (f"; the other way, where {parts[1]}" if against else "")
        + "."
    )


def _runs(sign: Any, gap: Any) -> list[Any]:
    """Neighbouring bins that err to the same side; empty ones between them do not part them."""
    runs: list[list[int]] = []
    last = 0.0
    for place, side in enumerate(sign.tolist()):
        if side == 0:
            continue
        if side != last or not runs:
            runs.append([])
        runs[-1].append(place)
        last = side
    return [np.array(run) for run in runs] or [np.arange(len(gap))]


def _densest(run: Any, gap: Any) -> Any:
    """The shortest stretch of a run that holds half of its error: a range as wide as everything would say nothing."""
    held = np.concatenate([[0.0], np.cumsum(np.abs(gap[run]))])
    half = held[-1] / 2
    stretches = []
    for first in range(int(np.searchsorted(held, half, "right"))):  # from later ones no half is left
        last = min(max(int(np.searchsorted(held, held[first] + half)), first + 1), len(run))
        stretches.append((run[last - 1] - run[first], held[first] - held[last], first, last))
    _, _, first, last = min(stretches)
    return run[first:last]


def _range(kind: Kind, run: Any, said: Any, seen: Any, rows: Any) -> str:
    bins = len(said)
    stated, came = said[run].sum() / rows[run].sum(), seen[run].sum() / rows[run].sum()
    sense = "too much" if stated > came else "too little"
    return (
        f"the {WORDING[kind].noun} stated is {run[0] / bins:.2f} to {(run[-1] + 1) / bins:.2f}: "
        f"said {stated:.3f}, came true {came:.3f}, "
        f"{100 * abs(stated - came):.1f} points {sense} ({rows[run].sum():,.0f} rows)"
    )


def _recoverable(lines: Mapping[str, Measurement], totals: MomentTotals, size: float) -> float | None:
    corp = lines.get("corp")
    if corp is not None and corp.fields.get("score"):
        return float(corp.fields["mcb"] / corp.fields["score"])
    square = float(totals.square.sum().floats())
    if square <= 0 or size <= 0:
        return None
    try:
        debiased = float(find("dpe").compute(totals))
    except EpimeterError:
        return None
    return min(1.0, max(0.0, debiased) / (square / size))


def _cost(kind: Kind, refuted: bool | None, recoverable: float | None, by_corp: bool) -> list[str]:
    if not refuted:
        return ["More rows would find smaller errors: epimeter plan --help"] if refuted is False else []
    if recoverable is None:
        return []
    how = "a monotone recalibration (CORP)" if by_corp else "correcting it range by range"
    what = "the Brier score of its top label" if kind == "classes" else "its Brier score"
    return [
        f"{recoverable:.1%} of {what} could be recovered by {how}: epimeter recalibrate fit VALIDATION_FILE -o map.json"
    ]
