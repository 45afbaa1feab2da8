# SPDX-License-Identifier: Apache-2.0
"""Where calibration stands, whatever it was before: the absolute alarm and the threshold alarm.

- absolute: the mean gap of all labelled rows since the beginning is beyond the tolerance, by a confidence sequence that holds at
  all times at once (5 % over all slices and ranges of a system together);
- threshold: the ECE of the sliding week is above the limit of a level, `firm` where its interval lies above the limit and
  `marginal` where it does not yet; the interval misses as rarely as false alarms are allowed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.inference.detectors import bias_sequence
from epimeter.kinds import WORDING, Kind
from epimeter.monitor.alarm import Alarm, called
from epimeter.monitor.cells import RANGES
from epimeter.monitor.series import READ_AS_ANSWERS, Measured, Series, Totals, answers, measures, sliding
from epimeter.monitor.settings import MonitorSettings

Floats = NDArray[np.float64]
ALPHA = 0.05


@dataclass(frozen=True)
class RunningEnds:
    """Ends that hold at all times at once: of the bias, and the least the ECE can be."""

    rows: int
    low: float
    high: float
    ece_low: float


@dataclass(frozen=True, eq=False)
class Sequences:
    """`Sequence` after every window and for every slice: arrays of shape (windows, slices)."""

    rows: Floats
    low: Floats
    high: Floats
    ece_low: Floats

    def at(self, *place: int) -> RunningEnds:
        """The sequence after one window, of one slice."""
        rows, *ends = (float(part[place]) for part in (self.rows, self.low, self.high, self.ece_low))
        return RunningEnds(int(rows), *ends)


def sequences(totals: Totals) -> Sequences:
    """The confidence sequences from running totals, shape (..., slices, ranges); for each slice half of its alpha is for the bias,
    half for the ranges.
    """
    rows, true, prob = totals
    alpha = ALPHA / rows.shape[-2]
    n = rows.sum(axis=-1)
    low, high = bias_sequence(n, (true - prob).sum(axis=-1), alpha / 2)
    ends = bias_sequence(rows, true - prob, alpha / 2 / rows.shape[-1])
    gap = np.maximum(0.0, np.maximum(ends[0], -ends[1]))
    return Sequences(n, low, high, (rows * gap).sum(axis=-1) / np.maximum(n, 1))


def absolute(found: Series, settings: MonitorSettings) -> tuple[list[Alarm], Sequences]:
    """The absolute alarms of a system, and the sequences they follow from."""
    path = sequences(found.totals.each(lambda part: np.cumsum(part, axis=0)))
    beyond = outside(path, settings)
    alarms: list[Alarm] = []
    for number, name in enumerate(found.slices):
        turns = np.flatnonzero(np.diff(np.concatenate([[False], beyond[:, number]])))
        for begin, end in zip(turns[::2].tolist(), [*turns[1::2].tolist(), None][: len(turns[::2])], strict=True):
            alarm = _absolute_alarm(found, name, begin, path.at(begin, number), settings)
            alarms.append(alarm if end is None else replace(alarm, closed=found.starts[end]))
    return _one_an_episode(alarms), path


def outside(path: Sequences, settings: MonitorSettings) -> NDArray[np.bool_]:
    """Where calibration is beyond the tolerance for certain."""
    return np.asarray(np.maximum(np.maximum(path.low, -path.high), path.ece_low) > settings.tolerance)


def _absolute_alarm(found: Series, name: str, t: int, at: RunningEnds, settings: MonitorSettings) -> Alarm:
    first = next(start for k, start in enumerate(found.starts) if found.rows[k].any())
    return Alarm(
        kind="absolute",
        system=found.system,
        slices=(name,),
        opened=found.starts[t],
        since=(first, first, first),
        what=f"Calibration of {called(name)} is outside the tolerance of {settings.tolerance:g}: "
        f"{_way(found.kind, at, settings)}",
        sure="the interval behind this holds at all times at once, in 95 of 100 systems",
        advice="Recalibrate, or state a wider tolerance if this is meant",
        size={"bias": [round(at.low, 6), round(at.high, 6)], "ece_at_least": round(at.ece_low, 6), "rows": at.rows},
    )


def _way(kind: Kind, at: RunningEnds, settings: MonitorSettings) -> str:
    """What is beyond the tolerance, in the words of the kind: the mean in one direction, or else the gaps of the ranges."""
    words = WORDING[kind]
    if max(at.low, -at.high) > settings.tolerance:
        sense, least = (words.too_much, -at.high) if at.high < 0 else (words.too_little, at.low)
        return f"on average it {sense.format(f'at least {100 * least:.1f}')}"
    return (
        f"the {words.noun} stated lies at least {100 * at.ece_low:.1f} points from what came true, on average over {RANGES} "
        f"ranges of it"
    )


def _one_an_episode(alarms: list[Alarm]) -> list[Alarm]:
    """One alarm for all slices that are outside at the same time: the first, with the names of the others."""
    kept: list[Alarm] = []
    for alarm in sorted(alarms, key=lambda a: (a.opened, a.slices)):
        home = next((k for k, a in enumerate(kept) if a.closed is None or alarm.opened <= a.closed), None)
        if home is None:
            kept.append(alarm)
        else:
            closed = None if alarm.open or kept[home].open else max(str(kept[home].closed), str(alarm.closed))
            kept[home] = replace(
                kept[home], slices=tuple(dict.fromkeys([*kept[home].slices, *alarm.slices])), closed=closed
            )
    return kept


@dataclass(frozen=True)
class WeeklyLimit:
    """The ECE of the sliding week beside the limit of a level.

    Attributes
    ----------
    needed
        Labelled rows at which the answer would be firm if the ECE stayed; None when it is firm.
    """

    level: str
    limit: float
    measured: Measured
    crossed: bool
    assurance: Literal["firm", "marginal"]
    needed: int | None

    @property
    def sentence(self) -> str:
        """The answer in words."""
        side = "above" if self.crossed else "within"
        more = "" if self.needed is None else f"; about {self.needed:,} labelled rows would make it firm"
        return (
            f"ECE {self.measured.ece:.4f} is {side} the limit {self.limit:g} of {self.level} ({self.assurance}{more})"
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "level": self.level,
            "limit": self.limit,
            "crossed": self.crossed,
            "assurance": self.assurance,
            "rows_needed": self.needed,
            **self.measured.to_dict(),
        }


def limits(found: Series, settings: MonitorSettings) -> tuple[list[Alarm], dict[str, list[WeeklyLimit | None]]]:
    """The threshold alarms, and for every slice the limit in each window."""
    limit = settings.limit
    if limit is None or settings.level is None:
        return [], {}
    totals = answers(found.totals) if found.kind == "event" else found.totals
    alpha = min(1.0, 2 / settings.threshold / len(found.slices))
    alarms: list[Alarm] = []
    by_slice: dict[str, list[WeeklyLimit | None]] = {}
    week = measures(totals.each(lambda part: sliding(part, settings.sliding)), alpha)
    for number, name in enumerate(found.slices):
        path: list[WeeklyLimit | None] = []
        open_alarm: Alarm | None = None
        for t in range(len(found.starts)):
            # A window without outcomes says nothing new: the week then ends with the last one that has some.
            at = week.at(t, number) if found.rows[t, number].any() else None
            here = None if at is None else _limit(settings.level, limit, at)
            path.append(here)
            if here is None:
                continue
            if open_alarm is None and here.crossed and here.assurance == "firm":
                open_alarm = _limit_alarm(
                    found, name, t, here, next(k for k in range(t + 1) if _crossed_since(path, k))
                )
            elif open_alarm is not None and not here.crossed:
                alarms.append(replace(open_alarm, closed=found.starts[t]))
                open_alarm = None
        if open_alarm is not None:
            alarms.append(open_alarm)
        by_slice[name] = path
    return _one_an_episode(alarms), by_slice


def _crossed_since(path: list[WeeklyLimit | None], k: int) -> bool:
    return all(here is None or here.crossed for here in path[k:])


def _limit(level: str, limit: float, at: Measured) -> WeeklyLimit:
    crossed = at.ece > limit + 1e-9
    firm = at.ece_low > limit if crossed else at.ece_high <= limit
    needed = None
    if not firm:
        reach = at.ece - at.ece_low if crossed else at.ece_high - at.ece
        away = max(abs(at.ece - limit), 1e-4)
        needed = math.ceil(at.rows * (reach / away) ** 2)
    return WeeklyLimit(level, limit, at, crossed, "firm" if firm else "marginal", needed)


def _limit_alarm(found: Series, name: str, t: int, here: WeeklyLimit, since: int) -> Alarm:
    began = found.starts[since]
    return Alarm(
        kind="threshold",
        system=found.system,
        slices=(name,),
        opened=found.starts[t],
        since=(began, began, began),
        what=f"The ECE of {called(name)} over the last week{READ_AS_ANSWERS if found.kind == 'event' else ''}, "
        f"{here.measured.ece:.4f}, is above the limit {here.limit:g} of {here.level}",
        sure=f"firm: its interval ({here.measured.ece_low:.4f} to {here.measured.ece_high:.4f}) lies above the limit",
        advice="The level is lost at the next evaluation unless the system is recalibrated",
        size=here.to_dict(),
    )
