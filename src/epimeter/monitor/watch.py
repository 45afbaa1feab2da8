# SPDX-License-Identifier: Apache-2.0
"""A look at a history: the state of every system and slice, and all alarms. Looking changes nothing and may be done at any time."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.kinds import kind_of
from epimeter.monitor.alarm import Alarm
from epimeter.monitor.cells import CELLS, RANGES, SHOWN
from epimeter.monitor.change import CalibrationChange, ChangeWatch, by_range, difference, watched
from epimeter.monitor.history import History
from epimeter.monitor.series import (
    Measured,
    Series,
    Totals,
    by_system,
    measured,
    measures,
    reference_windows,
    series,
    sliding,
)
from epimeter.monitor.settings import MonitorSettings
from epimeter.monitor.standing import RunningEnds, Sequences, WeeklyLimit, absolute, limits
from epimeter.monitor.unlabelled import Drift, cautions, drift, last_week, off_scale, silence
from epimeter.monitor.window import Unit, Window, later, moment, named, starts

Verdict = Literal["quiet", "alarm", "cannot judge"]
MARGIN = 2
"""Windows beyond the delay of truth that are still expected to change."""


@dataclass(frozen=True, eq=False)
class SliceLook:
    """One slice of a system as it stands.

    Attributes
    ----------
    week, change
        Calibration of the last week, and its difference from the reference.
    lifetime
        Ends of the bias over all rows that hold at all times at once.
    evidence
        The Shiryaev-Roberts sum of the slice, in logarithms; None where it has no reference.
    ranges
        The change of the last week by range of confidence.
    """

    name: str
    week: Measured | None
    change: CalibrationChange | None
    lifetime: RunningEnds
    evidence: float | None
    limit: WeeklyLimit | None
    drift: Drift | None
    ranges: tuple[CalibrationChange | None, ...]


@dataclass(frozen=True, eq=False)
class SystemStanding:
    """How all rows of a system stand, for gauges: the last week beside the reference, evidence, drift."""

    verdict: Verdict
    open_alarms: int
    labelled: float
    week: Measured | None
    change: CalibrationChange | None
    evidence: float | None
    drift: Drift | None


@dataclass(frozen=True, eq=False)
class SystemLook:
    """One system as it stands."""

    series: Series
    verdict: Verdict
    why: str
    slices: tuple[SliceLook, ...]
    alarms: tuple[Alarm, ...]
    cautions: tuple[str, ...]
    watch: ChangeWatch | None
    sequences: Sequences
    limits: dict[str, list[WeeklyLimit | None]]
    cut: int
    """The first window whose truth may still come."""
    shown: NDArray[np.int64]
    """Confidences of the reference by cell, all rows."""

    @property
    def name(self) -> str:
        return self.series.system

    def standing(self) -> SystemStanding:
        """How all its rows stand."""
        whole = self.slices[0]
        rows = float(self.series.rows[:, 0].sum())
        facts = whole.week, whole.change, whole.evidence, whole.drift
        return SystemStanding(self.verdict, len(self.open_alarms), rows, *facts)

    @property
    def open_alarms(self) -> tuple[Alarm, ...]:
        return tuple(alarm for alarm in self.alarms if alarm.open)


@dataclass(frozen=True, eq=False)
class Overview:
    """All systems as they stand."""

    settings: MonitorSettings
    kind: str
    as_of: str
    systems: tuple[SystemLook, ...]
    cautions: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 without an open alarm, 1 with one, 2 when a system cannot be judged."""
        if any(system.verdict == "alarm" for system in self.systems):
            return 1
        judged = bool(self.systems) and all(system.verdict == "quiet" for system in self.systems)
        return 0 if judged else 2

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "as_of": self.as_of,
            "kind": self.kind,
            "settings": self.settings.to_dict(),
            "exit_code": self.exit_code,
            "cautions": list(self.cautions),
            "systems": [_system_dict(system, self.settings) for system in self.systems],
        }


def look(
    history: History, *, as_of: str | None = None, now: str | None = None, cautions: Iterable[str] = ()
) -> Overview:
    """Look at all systems.

    Parameters
    ----------
    as_of
        The window at which is looked: later rows wait, and silence is counted up to here. By default the last window known.
    now
        The present window: what lies after it is in the future, whatever `as_of` says not.
    cautions
        Sentences to hand on.
    """
    at = as_of or history.as_of
    last = max((place.start for place in history.windows), default=now or "")
    until = at or (min(last, now) if now else last)
    systems = tuple(
        _system(history, series(name, windows, until, kind_of(history.kind)), until)
        for name, windows in by_system(history).items()
    )
    return Overview(history.settings, history.kind, until, systems, tuple(cautions))


def _system(history: History, found: Series, as_of: str) -> SystemLook:
    settings = history.settings
    given = reference_windows(history, found)
    cut = settled_before(found, settings, as_of)
    watch = watched(found, given, settings, history.settled.get(found.system), cut)
    outside, path = absolute(found, settings)
    beyond, limit_path = limits(found, settings)
    changes = [] if watch is None else list(watch.alarms)
    alarms = [*changes, *outside, *beyond, *_silences(history, found, as_of), *off_scale(found)]
    alarms = [_noted(alarm, history) for alarm in sorted(alarms, key=lambda a: (a.opened, a.kind))]
    first = 0 if watch is None else watch.first
    shown = [_shown(found, name, given, first) for name in found.slices]
    parts = [_slice(found, number, watch, path, limit_path, shown[number], settings) for number in range(len(shown))]
    said = cautions(found, settings, as_of, parts[0].drift if parts else None)
    if watch is not None and watch.unknown:
        said.append(
            f"{len(watch.unknown)} slices have no reference and are not compared: {', '.join(watch.unknown[:3])}"
        )
    verdict, why = _verdict(found, watch, alarms, given is not None)
    return SystemLook(
        found, verdict, why, tuple(parts), tuple(alarms), tuple(said), watch, path, limit_path, cut, shown[0]
    )


def _silences(history: History, found: Series, as_of: str) -> list[Alarm]:
    held = history.held.get(found.system, {})
    return silence(found, history.settings, as_of, history.silences(found.system), held)


def _shown(found: Series, name: str, given: dict[str, Window] | None, first: int) -> NDArray[np.int64]:
    """Confidences of the reference by cell: of the one that was given, or of the windows before the first watched one."""
    if given is not None:
        return given[name].shown if name in given else np.zeros(CELLS, np.int64)
    return np.asarray(found.cells[:first, found.slices.index(name), SHOWN].sum(axis=0))


def settled_before(found: Series, settings: MonitorSettings, as_of: str) -> int:
    """The first window whose truth may still come: those before it are as good as settled."""
    if not found.starts:
        return 0
    return bisect_left(found.starts, later(as_of, settings.unit, -settings.windows(settings.delay) - MARGIN))


def _noted(alarm: Alarm, history: History) -> Alarm:
    facts = history.noted.get(alarm.id)
    return alarm if not facts else replace(alarm, acknowledged=facts.get("acknowledged", False))


def _verdict(found: Series, watch: ChangeWatch | None, alarms: list[Alarm], given: bool) -> tuple[Verdict, str]:
    opened = [alarm for alarm in alarms if alarm.open]
    if any(alarm.kind != "scale" for alarm in opened):
        return "alarm", f"{len(opened)} open alarm{'s' if len(opened) > 1 else ''}"
    scale = next((alarm for alarm in alarms if alarm.open and alarm.kind == "scale"), None)
    if scale is not None:
        return "cannot judge", scale.sentence
    if watch is not None:
        return "quiet", "no open alarm"
    labelled = len(found.labelled)
    if not labelled:
        return "cannot judge", "no row has an outcome yet"
    if given:
        return "cannot judge", "the reference has fewer than 30 rows in every range of forecasts"
    return "cannot judge", (
        "without --reference at least three windows with outcomes, and 30 rows in a range of forecasts, are needed; "
        f"there are {labelled} windows"
    )


def _slice(
    found: Series,
    number: int,
    watch: ChangeWatch | None,
    path: Sequences,
    limit_path: dict[str, list[WeeklyLimit | None]],
    shown: NDArray[np.int64],
    settings: MonitorSettings,
) -> SliceLook:
    name = found.slices[number]
    # The last week that has labels: with a delay of truth the last days may have none yet.
    labelled = np.flatnonzero(found.rows[:, number].sum(axis=-1))
    end = int(labelled[-1]) + 1 if len(labelled) else 0
    some = slice(max(0, end - settings.sliding), end)
    sums = found.totals.over(some, number)
    change, evidence = None, None
    ranges: tuple[CalibrationChange | None, ...] = (None,) * RANGES
    if watch is not None:
        change = difference(watch.reference, number, sums)
        ranges = by_range(watch.reference, number, sums)
        if watch.reference.known[number].any():
            evidence = float(watch.by_slice[-1, number])
    last = len(found.starts) - 1
    return SliceLook(
        name,
        measured(sums),
        change,
        path.at(last, number) if last >= 0 else RunningEnds(0, -1.0, 1.0, 0.0),
        evidence,
        next((here for here in reversed(limit_path.get(name, [])) if here is not None), None),
        drift(shown, last_week(found, name, settings)),
        ranges,
    )


def periods(found: Series, number: int, settings: MonitorSettings) -> dict[str, Any]:
    """Calibration of one slice by day, week and month, over its lifetime, and over sliding weeks and months."""
    totals = found.totals.each(lambda part: part[:, number])
    made: dict[str, Any] = {}
    times = np.array([moment(start) for start in found.starts], "datetime64[us]")
    units: tuple[Unit, ...] = ("day", "week", "month")
    for unit in units:
        begin, code = np.unique(starts(times, unit), return_inverse=True) if len(times) else (times, np.zeros(0, int))
        made[unit] = _listed(measures(_added(totals, code, len(begin))), [named(start, unit) for start in begin])
    whole_life = measured(totals.each(lambda part: part.sum(axis=0)))
    made["lifetime"] = None if whole_life is None else whole_life.to_dict()
    for name, length in (("sliding_week", 7.0), ("sliding_month", 30.0)):
        made[name] = _listed(measures(_slid(totals, max(1, settings.windows(length)))), list(found.starts))
    return made


def _added(totals: Totals, code: Any, n: int) -> Totals:
    """Sums of the windows by the period they are in."""

    def added(part: Any) -> Any:
        whole = np.zeros((n, RANGES))
        np.add.at(whole, code, part)
        return whole

    return totals.each(added)


def _slid(totals: Totals, windows: int) -> Totals:
    return totals.each(lambda part: sliding(part, windows))


def _listed(path: Any, names: list[str]) -> list[dict[str, Any]]:
    made = ((name, path.at(t)) for t, name in enumerate(names))
    return [{"window": name, **at.to_dict()} for name, at in made if at is not None]


def _system_dict(system: SystemLook, settings: MonitorSettings) -> dict[str, Any]:
    watch = system.watch
    return {
        "system": system.name,
        "verdict": system.verdict,
        "why": system.why,
        "alarms": [alarm.to_dict() for alarm in system.alarms],
        "cautions": list(system.cautions),
        "reference": None
        if watch is None
        else {"rows": int(watch.reference.rows[0].sum()), "watched_from": system.series.starts[watch.first]},
        "slices": [
            {
                "slice": part.name,
                "last_week": None if part.week is None else part.week.to_dict(),
                "change": None if part.change is None else part.change.to_dict(),
                "change_by_range": [None if here is None else here.to_dict() for here in part.ranges],
                "lifetime_bias": [round(part.lifetime.low, 6), round(part.lifetime.high, 6)],
                "evidence": None if part.evidence is None else round(max(part.evidence, -700.0), 6),
                "evidence_at_alarm": round(math.log(settings.threshold), 6),
                "threshold": None if part.limit is None else part.limit.to_dict(),
                "without_labels": None if part.drift is None else part.drift.to_dict(),
                "windows": periods(system.series, number, settings),
            }
            for number, part in enumerate(system.slices)
        ],
    }
