# SPDX-License-Identifier: Apache-2.0
"""A glance: whether a look would say anything new, for many systems at once.

A look reads all windows of a system and goes through them from the first. Most of them never change again, and most looks say what
the last one said. So a look leaves behind where it stood before the first window whose truth may still come (`LookState`); a glance
reads the windows from there on, takes the same steps with the same numbers, and compares. Whatever is not as it was (an alarm would
open, close or change, a slice is new, a week closes) is left to a look; a glance itself notes nothing.

What a glance must see, and how:
1. change: the Shiryaev-Roberts sums go on from the cut; none may reach the threshold, and no open alarm its end;
2. absolute and threshold: in every window after the cut each slice stands as it stood before it;
3. silence: what is overdue now is what was overdue then, and no window repeats the one before it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from epimeter.inference.detectors import Reference, log_e_values, log_mean, log_weights, onward
from epimeter.monitor.blocks import names_text, vectors
from epimeter.monitor.cells import FEWEST_TO_REPEAT, RANGES, ROWS, SHOWN, SIZE, VERSION, Cells, added, same_stated
from epimeter.monitor.change import DOUBT, difference, log_shares
from epimeter.monitor.history import History
from epimeter.monitor.series import Totals, answers, measured, measures, totals_of
from epimeter.monitor.settings import MonitorSettings
from epimeter.monitor.standing import outside, sequences
from epimeter.monitor.unlabelled import drift, missing, overdue, usual_gap
from epimeter.monitor.watch import SystemLook, SystemStanding, Verdict
from epimeter.monitor.window import Window, between, later

Floats = NDArray[np.float64]
STATE = 1
"""The version of what a look leaves."""
MOST_SUMS = 2000
"""Running totals (by window and slice) that are kept at most; a system that needs more is looked at."""
TOGETHER = 25
"""Systems whose numbers are worked out at once: few enough for the caches of a processor."""
DAYS = 7
"""Days of an evaluation (ERS 4.2)."""


class LookState(msgspec.Struct, frozen=True, array_like=True):
    """What a look leaves for the glances after it.

    Attributes
    ----------
    since, until
        The first window of which all rows together are read, and the last one before the cut: after it slices are read, too.
    ahead
        Windows that are read before the cut.
    reference, log_sum, sums
        Doubles: the reference, the detector before the cut, the running totals at the last windows before the cut (as many as make
        a week where the limit of a level is watched, else one).
    beyond, over
        Slices outside the tolerance, and above the limit of the level.
    shown
        Confidences of the reference by cell, all rows.
    gaps, active, labelled
        Windows between those with predictions, the last of these, and the last with outcomes, before the cut.
    overdue
        What did not come, and since when that is too long.
    first, closed
        The first window of the system, and the last one of its closed weeks.
    """

    version: int
    since: str
    until: str
    ahead: int
    settings: dict[str, Any]
    kind: str
    slices: list[str]
    reference: bytes
    log_sum: bytes
    steps: int
    closes: int | None
    sums: bytes
    beyond: list[bool]
    over: list[bool]
    shown: list[int]
    gaps: list[int]
    active: str
    labelled: str
    overdue: dict[str, str]
    first: str
    closed: str | None
    verdict: Verdict
    open_alarms: int

    def to_bytes(self) -> bytes:
        """As it is kept in a database."""
        return msgspec.msgpack.encode(self)

    @classmethod
    def from_bytes(cls, data: bytes) -> LookState | None:
        """Back; None when another version wrote it."""
        try:
            kept = msgspec.msgpack.decode(data, type=cls)
        except msgspec.MsgspecError:
            return None
        return kept if kept.version == STATE else None

    @property
    def watching(self) -> MonitorSettings:
        return _settings(tuple(self.settings.items()))

    @property
    def group(self) -> tuple[Any, ...]:
        """Systems that agree in this can be worked out at once."""
        return len(self.slices), self.ahead, self.kind, tuple(self.settings.items())


@lru_cache(64)
def _settings(facts: tuple[tuple[str, Any], ...]) -> MonitorSettings:
    """MonitorSettings, the same object for all systems that agree in them."""
    return MonitorSettings(**dict(facts))


def keep(history: History, seen: SystemLook) -> LookState | None:
    """What the look at a system leaves; None while a glance could not tell whether anything is new."""
    found, watch, settings, cut = seen.series, seen.watch, history.settings, seen.cut
    settled = bool(history.reference) or found.system in history.settled
    if watch is None or watch.before is None or not settled or cut < 1 or watch.first > cut:
        return None
    before = watch.before
    path = outside(seen.sequences, settings)
    over = _over(seen)
    shown = found.cells[:cut, :, SHOWN].sum(axis=(0, 2))
    labelled, active = found.labelled[found.labelled < cut], found.active[found.active < cut]
    restless = (
        before.last >= before.steps  # an alarm was raised after the cut
        or (path[cut:] != path[cut - 1]).any()
        or (over[cut:] != over[cut - 1]).any()
        or any(alarm.kind == "scale" or (alarm.about == "repeats" and alarm.open) for alarm in seen.alarms)
        or _repeating(found.whole[cut - 1 :])
        or not shown.all()  # a slice that is new
        or not len(labelled)
        or not len(active)
        or found.future
        or history.held.get(found.system)
    )
    if restless:
        return None
    since = max(0, min(cut, int(found.labelled[-1])) - settings.sliding)
    weeks = settings.sliding if settings.level is not None else 1
    if cut < weeks or weeks * len(found.slices) > MOST_SUMS:
        return None
    running = [part[:cut].cumsum(axis=0)[cut - weeks :] for part in found.totals]
    reference = watch.reference
    starts = [found.starts[t] for t in active]
    return LookState(
        STATE,
        found.starts[since],
        found.starts[cut - 1],
        cut - since,
        settings.to_dict(),
        history.kind,
        list(found.slices),
        np.stack([reference.rows, reference.true, reference.prob]).tobytes(),
        before.log_sum.tobytes(),
        before.steps,
        before.closes,
        np.stack(running).tobytes(),
        path[cut - 1].tolist(),
        over[cut - 1].tolist(),
        [int(count) for count in seen.shown],
        [between(a, b, settings.unit) for a, b in zip(starts[:-1], starts[1:], strict=True)],
        starts[-1],
        found.starts[int(labelled[-1])],
        {about: one.opened for about, one in missing(found, settings, history.as_of or found.starts[-1]).items()},
        found.starts[0],
        history.closed,
        seen.verdict,
        len(seen.open_alarms),
    )


def _over(seen: SystemLook) -> NDArray[np.bool_]:
    """Whether a threshold alarm of each slice is open after each window."""
    made = np.zeros((len(seen.series.starts), len(seen.series.slices)), bool)
    for number, name in enumerate(seen.series.slices):
        now = False
        for t, here in enumerate(seen.limits.get(name, [])):
            if here is not None:
                now = here.crossed and (now or here.assurance == "firm")
            made[t, number] = now
    return made


@dataclass(frozen=True, eq=False)
class Part:
    """A system to be glanced at: what was kept, the window that it is now, its blocks from `since` on as the database has them."""

    kept: LookState
    as_of: str
    windows: Sequence[tuple[str, int, str, Any]]

    @property
    def settings(self) -> MonitorSettings:
        return self.kept.watching


@dataclass(frozen=True, eq=False)
class _Read:
    """The windows of a system up to now: all rows together from `since` on, and every slice after the cut."""

    part: Part
    starts: list[str]
    whole: Cells
    cells: Cells

    @property
    def kept(self) -> LookState:
        return self.part.kept


@dataclass(frozen=True, eq=False)
class Glimpse:
    """A system of which there is nothing new."""

    read: _Read
    reference: Reference
    evidence: float
    labelled: float

    @property
    def as_of(self) -> str:
        return self.read.part.as_of

    def standing(self) -> SystemStanding:
        """How all its rows stand."""
        kept, settings, whole = self.read.kept, self.read.part.settings, self.read.whole
        end = int(np.flatnonzero(whole[:, ROWS].any(axis=1))[-1]) + 1
        week = totals_of(whole[max(0, end - settings.sliding) : end]).each(lambda part: part.sum(axis=0))
        return SystemStanding(
            kept.verdict,
            kept.open_alarms,
            self.labelled,
            measured(week),
            difference(self.reference, 0, week),
            self.evidence if self.reference.known[0].any() else None,
            drift(np.array(kept.shown), Window(added(whole[-settings.sliding :]))),
        )


def glance(parts: Sequence[Part]) -> list[Glimpse | None]:
    """Every system of which there is nothing new; None where it must be looked at."""
    made: list[Glimpse | None] = [None] * len(parts)
    for begin in range(0, len(parts), TOGETHER):
        some = range(begin, min(begin + TOGETHER, len(parts)))
        groups: dict[tuple[Any, ...], list[tuple[int, _Read]]] = {}
        for k in some:
            read = _read(parts[k])
            if read is not None and _nothing_overdue_anew(read) and not _week_closes(read):
                groups.setdefault(read.kept.group, []).append((k, read))
        for group in groups.values():
            for (k, _), one in zip(group, _together([read for _, read in group]), strict=True):
                made[k] = one
    return made


def _read(part: Part) -> _Read | None:
    kept, rows = part.kept, part.windows
    ahead, n = kept.ahead, len(kept.slices)
    starts = sorted({win for win, _, _, _ in rows})
    if starts[ahead - 1 : ahead] != [kept.until] or starts[-1] > part.as_of:
        return None  # rows in the future are told of by a look
    text = names_text(kept.slices)
    after = len(rows) - ahead
    if (  # as a rule; all rows together come first in a block
        len(rows) == len(starts)
        and all(row[2].startswith('[""') for row in rows[:ahead])
        and all(row[2] == text for row in rows[ahead:])
    ):
        cells = vectors(_joined([row[3] for row in rows[ahead:]]), after * n).reshape(after, n, SIZE)
        first = vectors(_joined([row[3][: 1 + 8 * SIZE] for row in rows[:ahead]]), ahead)
        whole = np.concatenate([first, cells[:, 0]])
    else:
        whole, cells = np.zeros((len(starts), SIZE), np.int64), np.zeros((len(starts) - ahead, n, SIZE), np.int64)
        at = {win: number for number, win in enumerate(starts)}
        of = {name: number for number, name in enumerate(kept.slices)}
        for win, _, said, totals in rows:
            names = json.loads(said)
            if win > kept.until and not of.keys() >= set(names):
                return None
            for name, vector in zip(names, vectors(totals, len(names)), strict=True):
                if name == "":
                    whole[at[win]] = vector
                if win > kept.until:
                    cells[at[win] - ahead, of[name]] = vector
    # A window that rows have left is none; a look knows how to do without it.
    return _Read(part, starts, whole, cells) if whole[:, SHOWN].any(axis=1).all() else None


def _joined(parts: list[Any]) -> bytes:
    """Several blocks as one."""
    return VERSION + b"".join(part[1:] for part in parts)


def _nothing_overdue_anew(read: _Read) -> bool:
    kept, settings = read.kept, read.part.settings
    active = [kept.active, *read.starts[kept.ahead :]]
    gaps = [*kept.gaps, *(between(a, b, settings.unit) for a, b in zip(active[:-1], active[1:], strict=True))]
    known = np.asarray(read.cells[:, 0, ROWS].any(axis=1))
    labelled = [start for start, has in zip(active[1:], known.tolist(), strict=True) if has]
    last = labelled[-1] if labelled else kept.labelled
    return overdue(active[-1], active[-1], last, usual_gap(gaps), settings, read.part.as_of) == kept.overdue


def _week_closes(read: _Read) -> bool:
    return (
        week_to_close(read.kept.first, read.kept.closed, read.starts[-1], read.part.settings, read.part.as_of)
        is not None
    )


def week_to_close(
    first: str, closed: str | None, newest: str, settings: MonitorSettings, today: str
) -> tuple[str, str] | None:
    """First and last of the seven days that can be closed: their truth is due by now, and later days have come."""
    if settings.unit != "day":
        return None
    begin = later(closed, "day") if closed else first
    last = later(begin, "day", DAYS - 1)
    # While later days have not come the week may still be on its way, as when a month is posted in one go.
    return None if later(last, "day", int(settings.delay) + 1) > today or newest <= last else (begin, last)


def _together(reads: list[_Read]) -> list[Glimpse | None]:
    """Systems of one group; steps as in the head of this file."""
    kept, settings = [read.kept for read in reads], reads[0].part.settings
    slices, n = len(kept[0].slices), len(reads)
    lengths = np.array([len(read.cells) for read in reads])
    cells = np.zeros((n, int(lengths.max()), slices, SIZE), np.int64)
    for k, read in enumerate(reads):
        cells[k, : lengths[k]] = read.cells
    there = np.arange(cells.shape[1]) < lengths[:, None]
    totals = totals_of(cells)
    sums = _doubles(kept, "sums", (3, -1, slices, RANGES))
    # Added one after the other from what was before: the same bits as from the first window on.
    running = Totals(*map(_continued, sums, totals))
    weeks = sums.shape[2]
    stirred = _stirred(kept, settings, running, weeks, totals.rows, there)
    stirred |= np.array([_repeating(read.whole[kept[0].ahead - 1 :]) for read in reads])
    rows, true, prob = _doubles(kept, "reference", (3, slices, RANGES))
    reference = Reference(rows, true, prob, DOUBT / max(1, 2 * (slices - 1)))
    evidence, crossed = _evidence(kept, settings, reference, totals, there)
    stirred |= crossed
    known = running.rows[np.arange(n), weeks - 1 + lengths, 0].sum(axis=-1)
    return [
        None if stirred[k] else Glimpse(read, reference.at(k), float(evidence[k]), float(known[k]))
        for k, read in enumerate(reads)
    ]


def _continued(sums: Floats, parts: Floats) -> Floats:
    """Running totals, the first of them known, carried on with further windows (axis 1)."""
    on = np.cumsum(np.concatenate([sums[:, -1:], parts], axis=1), axis=1)
    return np.concatenate([sums, on[:, 1:]], axis=1)


def _doubles(kept: list[LookState], name: str, shape: tuple[int, ...]) -> Floats:
    """Arrays that were kept as bytes, systems behind the first axis."""
    parts = [np.frombuffer(getattr(one, name), np.float64).reshape(shape) for one in kept]
    return np.stack(parts, axis=1)


def _stirred(
    kept: list[LookState],
    settings: MonitorSettings,
    running: Totals,
    weeks: int,
    rows: Floats,
    there: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Where a slice stands otherwise than before the cut: outside the tolerance or not, above the limit or not."""
    now = outside(sequences(running.each(lambda part: part[:, weeks:])), settings)
    before = np.array([one.beyond for one in kept])[:, None]
    stirred = np.asarray(((now != before) & there[..., None]).any(axis=(1, 2)))
    limit = settings.limit
    if limit is None:
        return stirred
    sums = running.each(lambda part: part[:, weeks:] - part[:, : -settings.sliding])
    alpha = min(1.0, 2 / settings.threshold / rows.shape[2])
    week = measures(answers(sums) if kept[0].kind == "event" else sums, alpha)
    above = week.ece > limit + 1e-9
    firm = np.maximum(0.0, week.ece - week.ece_raised - week.bias_reach) > limit
    told = rows.any(axis=-1) & there[..., None]
    over = np.array([one.over for one in kept])[:, None]
    return np.asarray(stirred | (told & (np.where(over, above, above & firm) != over)).any(axis=(1, 2)))


def _repeating(whole: Cells) -> bool:
    """Whether a window holds the confidences of the one before it."""
    same = same_stated(whole[1:], whole[:-1])
    return bool((same & (whole[1:, SHOWN].sum(axis=-1) >= FEWEST_TO_REPEAT)).any())


def _evidence(
    kept: list[LookState], settings: MonitorSettings, reference: Reference, totals: Totals, there: NDArray[np.bool_]
) -> tuple[Floats, NDArray[np.bool_]]:
    """The evidence of all rows now, and where an alarm would be raised or closed on the way."""
    weights = log_weights(reference)
    shares = log_shares(np.asarray(reference.known.any(axis=-1)))
    (log_sum,) = _doubles(kept, "log_sum", (1, *weights.shape[1:])).copy()
    steps = np.array([one.steps for one in kept])
    ends = np.array([10**9 if one.closes is None else one.closes for one in kept])
    crossed = np.zeros(len(kept), bool)
    labelled = (totals.rows[:, :, 0].sum(axis=-1) > 0) & there
    for t in range(labelled.shape[1]):
        some = np.flatnonzero(labelled[:, t])
        if not len(some):
            continue
        here = reference if len(some) == len(kept) else reference.at(some)
        came = totals.each(lambda part, some=some, t=t: part[some, t])  # type: ignore[misc]
        log_e = log_e_values(*came, here, settings.tolerance)
        log_sum[some] = onward(log_sum[some], log_e)
        by_slice = log_mean(log_sum[some], weights[some])
        system = np.logaddexp.reduce(by_slice + shares[some], axis=-1)
        crossed[some] |= (system >= math.log(settings.threshold)) | (steps[some] >= ends[some])
        steps[some] += 1
    return log_mean(log_sum[:, 0], weights[:, 0]), crossed
