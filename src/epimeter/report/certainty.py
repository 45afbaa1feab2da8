# SPDX-License-Identifier: Apache-2.0
"""Measurements with their intervals, and how many independent units stand behind a report."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from epimeter.calling import Metric
from epimeter.errors import InputError
from epimeter.inference.intervals import (
    FEW_UNITS,
    OPTIONS,
    shared_intervals,
)
from epimeter.inference.known import has_population_value, known_interval, moments_for
from epimeter.inference.spread import SamplingDesign, design_of
from epimeter.passes.ledger import SliceTotals
from epimeter.passes.selection import Entry
from epimeter.report.measurement import NO_SPREAD, Measurement
from epimeter.results import Interval
from epimeter.summaries.recipe import Recipe
from epimeter.summaries.score_moments import MomentsOf
from epimeter.views import View

Intervals = Literal["asymptotic", "bootstrap"]


@dataclass(frozen=True)
class Wanted:
    """Which intervals a report shall have."""

    kind: Intervals
    level: float
    draws: int
    seed: int

    def __post_init__(self) -> None:
        if self.kind not in ("asymptotic", "bootstrap"):
            raise InputError(
                f"intervals must be 'asymptotic', 'bootstrap' or None; got {self.kind!r:.40}", field="intervals"
            )
        for name in ("level", "draws", "seed"):
            OPTIONS[name].refuse("evaluate", getattr(self, name))


def sampling_design(totals: SliceTotals, rows: View | None, weighted: bool) -> tuple[SamplingDesign, tuple[str, ...]]:
    """What the rows are worth, and a sentence where the groups cannot be taken for independent units.

    `rows` is None where they are gone: then the totals say how much their weights vary, and without moments nothing does.
    """
    kish = None
    if weighted and (moment := next((r for r in totals.totals if isinstance(r, MomentsOf)), None)) is not None:
        kish = totals.totals[moment].effective
    if rows is None:
        return SamplingDesign(None, None, totals.n_rows, kish=0.0 if weighted and kish is None else kish), ()
    groups = rows.columns.get("groups")
    if groups is None or groups.ndim != 1:
        return SamplingDesign(rows.weight, None, rows.n_rows, kish), ()
    number = len(np.unique(groups))
    if number < FEW_UNITS:
        sentence = (
            f"{number} group{'s are' if number != 1 else ' is'} too few to be independent units: intervals count rows"
        )
        return SamplingDesign(rows.weight, None, rows.n_rows), (sentence,)
    return design_of(rows, groups), ()


def counted_rows(lines: Sequence[Measurement], design: SamplingDesign) -> tuple[str, ...]:
    """A sentence where p-values beside single metrics count rows that are no independent evidence."""
    tests = [line.metric for line in lines if "p_value" in line.fields]
    if design.group is None or design.units == design.n_rows or not tests:
        return ()
    return (
        f"the p-values of {', '.join(tests)} count {design.n_rows:,} rows, which are {design.units:,} independent units; "
        "epimeter test counts units",
    )


def surrounded(
    made: Sequence[Measurement],
    entries: Sequence[Entry],
    finished: Mapping[Recipe, Any],
    totals: Mapping[Recipe, Any],
    given: View | None,
    design: SamplingDesign,
    wanted: Wanted,
) -> list[Measurement]:
    """The measurements with their intervals; one that has no value, or no population value, stays as it is.

    `given` is None where the rows are gone: then the totals say all that is known.
    """
    able = {m.metric: m.value for m, (metric, _, _) in zip(made, entries, strict=True) if has_population_value(metric)}
    again = wanted.kind == "bootstrap"
    found: dict[str, Interval | None] = {}
    if again and given is not None:
        some = [e for e in entries if able.get(e[0].name) is not None and e[0].card.redrawn]
        values = [float(able[metric.name] or 0.0) for metric, _, _ in some]
        drawn = shared_intervals(given, some, values, design, wanted.level, wanted.draws, wanted.seed)
        found = {
            metric.name: interval and interval.holding(value)
            for (metric, _, _), interval, value in zip(some, drawn, values, strict=True)
        }
    inverted: dict[tuple[Recipe, float], tuple[float, float]] = {}
    for entry in entries:
        name = entry[0].name
        if able.get(name) is not None and (not again or not entry[0].card.redrawn):
            found[name] = _known(entry, finished, totals, given, design, wanted.level, inverted)
    known = {name: interval for name, interval in found.items() if interval is not None and not interval.empty}
    drawable = given is not None and not again
    return [
        dataclasses.replace(m, interval=known.get(m.metric), no_interval=_why_not(m, found, entry[0], design, drawable))
        for m, entry in zip(made, entries, strict=True)
    ]


def _why_not(
    line: Measurement,
    found: Mapping[str, Interval | None],
    metric: Metric[Any],
    design: SamplingDesign,
    drawable: bool,
) -> str | None:
    """Why a line has no interval, in two words; `drawable` where rows are at hand that were not drawn again."""
    interval = found.get(line.metric)
    if interval is not None:
        return NO_SPREAD if interval.empty else None
    if line.value is None:
        return "no value"
    if not math.isfinite(line.value):
        return "infinite value"
    if metric.card.test is not None and "p_value" in line.fields:
        return "a test"
    if design.units < 2:
        return "one unit"
    if not has_population_value(metric):
        return "no population"
    return "bootstrap only" if drawable and metric.card.redrawn else "none known"


def biased(made: Sequence[Measurement]) -> tuple[str, ...]:
    """A sentence where values lie above their own intervals: chance adds to a plug-in error, and the interval is without."""
    above = [m.metric for m in made if m.interval is not None and m.value is not None and m.value > m.interval.high]
    if not above:
        return ()
    lie = "lies above its interval" if len(above) == 1 else "lie above their intervals"
    return (
        f"{', '.join(above)} {lie}: chance alone adds to such a value, and the interval is for the error without it",
    )


def _known(
    entry: Entry,
    finished: Mapping[Recipe, Any],
    totals: Mapping[Recipe, Any],
    given: View | None,
    design: SamplingDesign,
    level: float,
    inverted: dict[tuple[Recipe, float], tuple[float, float]],
) -> Interval | None:
    metric, recipe, rest = entry
    if design.units < 2:
        return None
    wanted = moments_for(metric, recipe)
    moments = None if wanted is None else totals.get(wanted)
    summary = finished[recipe]
    return known_interval(metric, recipe, summary, given, rest, design, level, moments=moments, inverted=inverted)
