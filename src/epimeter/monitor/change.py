# SPDX-License-Identifier: Apache-2.0
"""The change alarm: is calibration still what it was in the reference, within the tolerance, in every slice.

Steps over the windows after the reference, in order:
1. every slice's Shiryaev-Roberts sums take the window's e-values (`inference.detectors`);
2. the evidence of the system is the mean over slices, half for all rows together, half spread over the slices;
3. at the threshold an alarm opens (or, while one is open, goes on), and all evidence begins anew;
4. an alarm escalates when the change has doubled, or another slice has joined;
5. it closes when no new evidence has come for twice as long as it took to find, and at least seven windows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.inference.detectors import Reference, log_e_values, log_mean, log_weights, onset, onward
from epimeter.kinds import WORDING, Kind
from epimeter.monitor.alarm import Alarm, called
from epimeter.monitor.cells import RANGES
from epimeter.monitor.series import Series, Totals
from epimeter.monitor.settings import MonitorSettings
from epimeter.monitor.window import A_YEAR, Window

Floats = NDArray[np.float64]
QUIET = 7
"""Windows without new evidence after which an alarm may close."""
DOUBT = 0.05
"""Chance that the reference is outside its confidence region, over all slices of a system."""


@dataclass(frozen=True)
class CalibrationChange:
    """How calibration differs from the reference: by how much, with 95 % ends."""

    rows: int
    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, Any]:
        """As plain values, rounded for reading."""
        ends = [round(self.low, 6), round(self.high, 6)]
        return {"rows": self.rows, "change": round(self.value, 6), "interval": ends}


@dataclass(frozen=True, eq=False)
class Before:
    """Where the detector stood before some window.

    Attributes
    ----------
    log_sum
        The Shiryaev-Roberts sums of every bet, in logarithms.
    steps
        Windows it had taken.
    closes
        The step at which the open alarm closes if no new evidence comes; None without one.
    """

    log_sum: Floats
    steps: int
    closes: int | None
    last: int
    """The last step at which the threshold was reached, before or after the cut; -1 for none."""


@dataclass(frozen=True, eq=False)
class ChangeWatch:
    """What the detector saw.

    Attributes
    ----------
    first
        The first window that was watched.
    evidence
        Log of the Shiryaev-Roberts sum of the system after each watched window, and of every slice.
    alarms
        The episodes, in order.
    """

    reference: Reference
    first: int
    evidence: Floats
    by_slice: Floats
    alarms: tuple[Alarm, ...] = ()
    unknown: tuple[str, ...] = field(default=())
    """Slices without a reference."""
    before: Before | None = None
    """Where the detector stood at the cut, if one was asked for."""


def reference_of(found: Series, given: dict[str, Window] | None, settled: str | None) -> tuple[Reference, int] | None:
    """The reference by slice, and the first window to be watched; None when there is nothing to compare with.

    Without one given, it is the windows up to the one at which it was settled, else the first third of those with labels.
    """
    slices = len(found.slices) - 1
    shape = (len(found.slices), RANGES)
    rows, true, prob = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    first = 0
    if given is not None:
        for number, name in enumerate(found.slices):
            if name in given:
                totals = given[name].labelled
                rows[number], true[number], prob[number] = totals.count, totals.true.floats(), totals.prob.floats()
    else:
        labelled = found.labelled
        own = len(labelled) // 3 if settled is None else sum(found.starts[t] <= settled for t in labelled)
        if not own:
            return None
        first = int(labelled[own - 1]) + 1
        rows, true, prob = found.totals.each(lambda part: part[:first].sum(axis=0))
    made = Reference(rows, true, prob, DOUBT / max(1, 2 * slices))
    return (made, first) if made.known[0].any() else None


def log_shares(usable: NDArray[np.bool_]) -> Floats:
    """Log share of each slice in the evidence of a system: half for all rows, half for the slices with a reference."""
    others = usable[..., 1:]
    count = others.sum(axis=-1, keepdims=True)
    share = np.zeros(usable.shape)
    share[..., :1] = np.where(count > 0, 0.5, 1.0)
    share[..., 1:] = np.where(others, 0.5 / np.maximum(count, 1), 0.0)
    with np.errstate(divide="ignore"):
        return np.log(share)


def watched(
    found: Series, given: dict[str, Window] | None, settings: MonitorSettings, settled: str | None = None, cut: int = 0
) -> ChangeWatch | None:
    """Watch the windows after the reference; None when there is no reference, or no labelled window after it.

    Where the detector stood before window number `cut` is kept for a later glance.
    """
    ready = reference_of(found, given, settled)
    if ready is None:
        return None
    reference, first = ready
    places = [int(t) for t in found.labelled if t >= first]
    if not places:
        return None
    weights = log_weights(reference)
    usable = np.asarray(reference.known.any(axis=-1))
    log_share = log_shares(usable)
    log_e = log_e_values(*found.totals.each(lambda part: part[places]), reference, settings.tolerance)
    log_sum = np.full(log_e.shape[1:], -np.inf)
    episode = Episodes(found, settings, reference, places, log_e, weights + log_share[:, None, None, None])
    system, by_slice = np.empty(len(places)), np.empty((len(places), len(found.slices)))
    steps, before = int(np.searchsorted(places, cut)), log_sum
    for step in range(len(places)):
        if step == steps:
            before = log_sum
        log_sum = onward(log_sum, log_e[step])
        by_slice[step] = log_mean(log_sum, weights)
        system[step] = np.logaddexp.reduce(by_slice[step] + log_share)
        if system[step] >= math.log(settings.threshold):
            episode.crossed(step, float(system[step]), log_sum)
            log_sum = np.full(log_e.shape[1:], -np.inf)
        else:
            episode.quiet(step)
    if steps == len(places):
        before = log_sum
    unknown = tuple(name for name, here in zip(found.slices, usable, strict=True) if not here)
    stood = Before(before, steps, episode.closes, episode.last if episode.alarms else -1)
    return ChangeWatch(reference, first, system, by_slice, tuple(episode.alarms), unknown, stood)


def difference(reference: Reference, number: int, totals: Totals) -> CalibrationChange | None:
    """How much more often than in the reference outcomes came true, given the confidence; None without rows to compare."""
    rows, excess, variance = _compared(reference, number, totals)
    return _difference(float(rows.sum()), float(excess.sum()), variance)


def by_range(reference: Reference, number: int, totals: Totals) -> tuple[CalibrationChange | None, ...]:
    """The same in every range of confidence alone."""
    rows, excess, variance = _compared(reference, number, totals)
    parts = zip(rows.tolist(), excess.tolist(), variance, strict=True)
    return tuple(_difference(n, more, spread) for n, more, spread in parts)


def _compared(reference: Reference, number: int, totals: Totals) -> tuple[Floats, Floats, Floats]:
    """Rows of each range with a reference, their outcomes beyond those expected, and the variance of these (two parts)."""
    known = reference.known[number]
    rows, true, prob = totals.each(lambda part: np.where(known, part, 0.0))
    rate = (true + 1) / (rows + 2)
    parts = rows * rate * (1 - rate), (rows * reference.spread[number]) ** 2
    return rows, true - prob - rows * reference.gap[number], np.stack(parts, axis=-1)


def _difference(n: float, excess: float, variance: Floats) -> CalibrationChange | None:
    if n == 0:
        return None
    chance, spread = variance.reshape(-1, 2).sum(axis=0).tolist()
    reach = 1.96 * math.sqrt(chance + spread) / n
    value = excess / n
    return CalibrationChange(int(n), value, value - reach, value + reach)


class Episodes:
    """The alarms of one system, opened and closed as its windows go by."""

    def __init__(
        self,
        found: Series,
        settings: MonitorSettings,
        reference: Reference,
        places: list[int],
        log_e: Floats,
        weights: Floats,
    ) -> None:
        self.found, self.settings, self.reference = found, settings, reference
        self.places, self.log_e, self.weights = places, log_e, weights
        self.alarms: list[Alarm] = []
        self.begin = 0
        """The first step of the present evidence."""
        self.last = 0
        """The last step at which the threshold was reached."""
        self.took = 0

    def crossed(self, step: int, evidence: float, log_sum: Floats) -> None:
        """The threshold was reached."""
        blamed = self._blamed(log_sum)
        number, part, side, bet = np.unravel_index(int(np.argmax(log_sum + self.weights)), log_sum.shape)
        began = onset(self.log_e[self.begin : step + 1, number, part, side, bet])
        names = tuple(self.found.slices[k] for k in blamed)
        if self.alarms and self.alarms[-1].open:
            self._went_on(step, names)
        else:
            since = tuple(self.found.starts[self.places[self.begin + k]] for k in (began.at, began.first, began.last))
            size = self._size(self.begin + began.at, step, int(number))
            worst = self._worst(self.begin + began.at, step, int(number))
            self.took = step - (self.begin + began.at)
            self.alarms.append(
                Alarm(
                    kind="change",
                    system=self.found.system,
                    slices=names,
                    opened=self.found.starts[self.places[step]],
                    since=since,  # type: ignore[arg-type]
                    what=_what(self.found.kind, size, names, worst),
                    sure=_sure(evidence, self.settings),
                    advice="Look at what changed in the system or its inputs on that day; recalibrate, or take a new reference "
                    "if the change is meant",
                    size=(size.to_dict() if size else {})
                    | ({"range": worst[0], **worst[1].to_dict()} if not size and worst else {}),
                )
            )
        self.begin, self.last = step + 1, step

    @property
    def closes(self) -> int | None:
        """The step at which the open alarm closes unless new evidence comes."""
        return self.last + max(QUIET, 2 * self.took) if self.alarms and self.alarms[-1].open else None

    def quiet(self, step: int) -> None:
        """Another window without enough evidence."""
        if self.closes is not None and step >= self.closes:
            self.alarms[-1] = replace(self.alarms[-1], closed=self.found.starts[self.places[step]])

    def _went_on(self, step: int, names: tuple[str, ...]) -> None:
        alarm = self.alarms[-1]
        now = self._size(step, step, self.found.slices.index(alarm.slices[0]))
        before = alarm.size.get("change", 0.0)
        doubled = now is not None and now.value * before > 0 and abs(now.value) >= 2 * abs(before)
        joined = [name for name in names if name not in alarm.slices]
        if alarm.escalated is None and (doubled or (joined and "" not in alarm.slices)):
            alarm = replace(alarm, escalated=self.found.starts[self.places[step]])
        self.alarms[-1] = replace(alarm, slices=(*alarm.slices, *joined))

    def _blamed(self, log_sum: Floats) -> list[int]:
        """Slices that hold at least half as much evidence as the one that holds most; all rows if they are among them."""
        held = np.logaddexp.reduce((log_sum + self.weights).reshape(len(log_sum), -1), axis=-1)
        some = np.flatnonzero(held >= held.max() - math.log(2))
        return [0] if 0 in some else [int(k) for k in some]

    def _sums(self, first: int, last: int, number: int) -> Totals:
        return self.found.totals.over(self.places[first : last + 1], number)

    def _size(self, first: int, last: int, number: int) -> CalibrationChange | None:
        return difference(self.reference, number, self._sums(first, last, number))

    def _worst(self, first: int, last: int, number: int) -> tuple[str, CalibrationChange] | None:
        """The range of confidence that changed most for certain."""
        sums = self._sums(first, last, number)
        known = [(k, d) for k, d in enumerate(by_range(self.reference, number, sums)) if d is not None]
        if not known:
            return None
        k, most = max(known, key=lambda item: max(item[1].low, -item[1].high))
        return f"[{k / RANGES:g}, {(k + 1) / RANGES:g}{']' if k == RANGES - 1 else ')'}", most


def _what(
    kind: Kind, size: CalibrationChange | None, names: tuple[str, ...], worst: tuple[str, CalibrationChange] | None
) -> str:
    about = ", ".join(called(name) for name in names[:3]) + (
        f" and {len(names) - 3} more slices" if len(names) > 3 else ""
    )
    made = f"Calibration of {about} has changed"
    if size is not None:
        way = "more" if size.value > 0 else "less"
        made += f": outcomes come true {abs(size.value) * 100:.1f} points {way} often than in the reference "
        made += f"({size.low * 100:+.1f} to {size.high * 100:+.1f})"
    if worst is not None and (size is None or abs(worst[1].value) > 1.5 * abs(size.value)):
        made += f", most of all at {WORDING[kind].noun} {worst[0]} ({worst[1].value * 100:+.1f})"
    return made


def _sure(evidence: float, settings: MonitorSettings) -> str:
    years = math.exp(min(evidence, 700.0)) / A_YEAR[settings.unit]
    rare = "a million years or more" if years >= 1e6 else f"{years:,.0f} years" if years >= 2 else f"{years:.1f} years"
    return f"without a change, evidence like this comes at most once in {rare}"
