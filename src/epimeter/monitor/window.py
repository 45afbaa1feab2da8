# SPDX-License-Identifier: Apache-2.0
"""A window: what came in over one day (hour, week, month) for one slice of one system, as exact totals."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError, ReadError
from epimeter.summaries import BinTotals
from epimeter.summaries.cuts import width_index
from epimeter.summaries.fixed import Fixed, binned

Unit = Literal["hour", "day", "week", "month"]
UNITS: tuple[Unit, ...] = get_args(Unit)
RANGES, CELLS = 10, 20
"""Ranges of confidence in which calibration is watched, and cells in which confidences are counted."""
A_YEAR: dict[Unit, float] = {"hour": 8766.0, "day": 365.25, "week": 365.25 / 7, "month": 12.0}
DATE = re.compile(r"(?<!\d)(\d{4})[-_]?(\d{2})[-_]?(\d{2})(?:[T_-]?(\d{2})(?=\D|$))?(?!\d)")


@dataclass(frozen=True)
class Window:
    """Totals of one window.

    Attributes
    ----------
    labelled
        Rows, outcomes and confidence per range, of the rows whose truth is known.
    shown, stated
        How many confidences of all rows lie in each of 20 cells, and their exact sum: together they tell apart two sets
        of predictions.
    never
        Rows given up as never labelled.
    off_scale, scale
        Rows whose confidences are no probabilities, and the largest of these.
    classes
        Number of classes among which one was predicted; 0 where it is not known.
    delays, delay
        Rows whose moment of truth is known, and the sum of their delays in whole seconds.
    """

    labelled: BinTotals
    shown: NDArray[np.int64]
    stated: Fixed
    never: int = 0
    off_scale: int = 0
    scale: float = 0.0
    classes: int = 0
    delays: int = 0
    delay: int = 0

    @property
    def n_rows(self) -> int:
        """All predictions on a sound scale."""
        return int(self.shown.sum())

    @property
    def n_labelled(self) -> int:
        return int(self.labelled.count.sum())

    @property
    def awaiting(self) -> int:
        """Predictions whose truth may still come."""
        return self.n_rows - self.n_labelled - self.never

    def same_predictions(self, other: Window) -> bool:
        """Whether both hold the same confidences, labelled or not."""
        return self.n_rows >= 20 and np.array_equal(self.shown, other.shown) and self.stated == other.stated

    def merge(self, other: Window) -> Window:
        """The window of both sets of rows."""
        return Window(
            self.labelled.merge(other.labelled),
            self.shown + other.shown,
            self.stated + other.stated,
            self.never + other.never,
            self.off_scale + other.off_scale,
            max(self.scale, other.scale),
            max(self.classes, other.classes),
            self.delays + other.delays,
            self.delay + other.delay,
        )

    def less(self, other: Window) -> Window:
        """The window without the rows of another, or what is to be taken off: numbers may be negative."""
        mine, theirs = self.labelled, other.labelled
        assert isinstance(mine.prob, Fixed) and isinstance(theirs.prob, Fixed)
        assert isinstance(mine.true, Fixed) and isinstance(theirs.true, Fixed)
        rows = mine.count - theirs.count
        return Window(
            BinTotals(rows, Fixed.of_counts(rows), mine.true - theirs.true, mine.prob - theirs.prob),
            self.shown - other.shown,
            self.stated - other.stated,
            self.never - other.never,
            self.off_scale - other.off_scale,
            max(self.scale, other.scale),
            max(self.classes, other.classes),
            self.delays - other.delays,
            self.delay - other.delay,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, whole numbers throughout: nothing is rounded by saving."""
        true, prob = self.labelled.true, self.labelled.prob
        assert isinstance(true, Fixed) and isinstance(prob, Fixed)  # rows of a window have no weights
        made: dict[str, Any] = {
            "rows": self.labelled.count.tolist(),
            "true": true.units.tolist(),
            "prob": [[u, s] for u, s in zip(prob.units.tolist(), prob.steps.tolist(), strict=True)],
            "shown": self.shown.tolist(),
            "stated": [int(self.stated.units), int(self.stated.steps)],
        }
        further = {name: getattr(self, name) for name in FURTHER}
        return made | {name: value for name, value in further.items() if value}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Window:
        """The window back."""
        prob = np.array(state["prob"], np.int64).reshape(-1, 2)
        stated = np.array(state["stated"], np.int64)
        return cls(
            _totals(
                np.array(state["rows"], np.int64), np.array(state["true"], np.int64), Fixed(prob[:, 0], prob[:, 1])
            ),
            np.array(state["shown"], np.int64),
            Fixed(stated[0], stated[1]),
            **{name: state[name] for name in FURTHER if name in state},
        )


FURTHER = ("never", "off_scale", "scale", "classes", "delays", "delay")


def _totals(rows: NDArray[np.int64], true: NDArray[np.int64], prob: Fixed) -> BinTotals:
    return BinTotals(rows, Fixed.of_counts(rows), Fixed.of_counts(true), prob)


def empty() -> Window:
    """A window without rows."""
    nothing = np.zeros(RANGES, np.int64)
    return Window(_totals(nothing, nothing, Fixed.zeros(RANGES)), np.zeros(CELLS, np.int64), Fixed.zeros(()))


def of_groups(
    prob: NDArray[np.float64], true: NDArray[Any], awaiting: NDArray[np.bool_], group: NDArray[Any], n_groups: int
) -> list[Window]:
    """The window of every group of rows; where `awaiting`, `true` says nothing."""
    known = ~awaiting
    index = group[known] * RANGES + width_index(prob[known], RANGES)
    size = n_groups * RANGES
    rows = np.bincount(index, minlength=size).reshape(n_groups, RANGES)
    came = (
        np.bincount(index, weights=true[known].astype(np.float64), minlength=size).astype(np.int64).reshape(rows.shape)
    )
    said = binned(prob[known], index, size)
    units, steps = said.units.reshape(rows.shape), said.steps.reshape(rows.shape)
    shown = np.bincount(group * CELLS + width_index(prob, CELLS), minlength=n_groups * CELLS).reshape(n_groups, CELLS)
    stated = binned(prob, group, n_groups)
    return [Window(_totals(rows[g], came[g], Fixed(units[g], steps[g])), shown[g], stated[g]) for g in range(n_groups)]


def of_totals(totals: BinTotals, classes: int = 0) -> Window:
    """The window of a summary: every row of it is labelled; the cells are known as finely as the ranges."""
    shown = np.zeros(CELLS, np.int64)
    shown[:: CELLS // RANGES] = totals.count
    labelled = _totals(totals.count, totals.true.units, totals.prob)  # type: ignore[union-attr, arg-type]
    return Window(labelled, shown, totals.prob.sum(), classes=classes)  # type: ignore[arg-type]


def merged(windows: Iterable[Window]) -> Window:
    """The window of all."""
    whole = empty()
    for window in windows:
        whole = whole.merge(window)
    return whole


def starts(times: NDArray[np.datetime64], unit: Unit) -> NDArray[np.datetime64]:
    """The window each time falls into, by its beginning; weeks begin on Monday. UTC throughout."""
    if unit == "week":
        days = times.astype("datetime64[D]").astype(np.int64)
        return np.asarray((days - (days + 3) % 7).astype("datetime64[D]"))
    code = {"hour": "h", "day": "D", "month": "M"}[unit]
    return np.asarray(times.astype(f"datetime64[{code}]"))


def named(start: np.datetime64, unit: Unit) -> str:
    """How a window is called: 2026-02-10, or 2026-02-10T13 for an hour; a month by its first day."""
    return str(start.astype("datetime64[h]" if unit == "hour" else "datetime64[D]"))


def moment(name: str) -> np.datetime64:
    """The beginning of a window by its name."""
    return np.datetime64(name, "h")


def later(name: str, unit: Unit, windows: int = 1) -> str:
    """The window so many windows later."""
    start = moment(name)
    if unit == "month":
        return named((start.astype("datetime64[M]") + windows).astype("datetime64[D]"), unit)
    hours = {"hour": 1, "day": 24, "week": 168}[unit]
    return named(start + np.timedelta64(windows * hours, "h"), unit)


def between(first: str, last: str, unit: Unit) -> int:
    """Windows from one to another."""
    if unit == "month":
        return int((moment(last).astype("datetime64[M]") - moment(first).astype("datetime64[M]")).astype(int))
    hours = int((moment(last) - moment(first)).astype(int))
    return hours // {"hour": 1, "day": 24, "week": 168}[unit]


def day_of(text: str, unit: Unit, what: str) -> str:
    """A day (or an hour) as a caller writes it, as the name of its window."""
    try:
        written = datetime.datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        raise InputError(f"{what} must be a day such as 2026-02-10; got {text!r:.40}", field=what) from None
    if written.tzinfo is not None:
        written = written.astimezone(datetime.UTC).replace(tzinfo=None)
    return named(starts(np.array([written], "datetime64[us]"), unit)[0], unit)


def day_in(name: str, unit: Unit) -> str | None:
    """The window that the name of a file or folder says, if it says one."""
    found = DATE.search(name)
    if found is None:
        return None
    year, month, day, hour = found.groups()
    try:
        written = datetime.datetime(int(year), int(month), int(day), int(hour or 0))
    except ValueError:
        return None
    if unit == "hour" and hour is None:
        return None
    return named(starts(np.array([written], "datetime64[us]"), unit)[0], unit)


def unit_of(word: str) -> Unit:
    """A unit by its name."""
    for unit in UNITS:
        if word == unit:
            return unit
    raise ReadError(f"window must be one of {', '.join(UNITS)}; got {word!r:.40}", field="window")


def without(window: Window) -> Window:
    """The same with every row that still waits counted as never labelled."""
    return replace(window, never=window.never + window.awaiting)


@dataclass(frozen=True)
class Place:
    """Where a window belongs: system, slice ("" for all rows, else column=value), and its beginning."""

    system: str
    slice: str
    start: str


@dataclass
class Arrivals:
    """Windows of one reading, and what must be said about them.

    Attributes
    ----------
    kind
        Of the forecasts: event, answer or classes.
    cautions
        What is unusual about the rows, one sentence each.
    """

    windows: dict[Place, Window] = field(default_factory=dict)
    kind: str = "answer"
    cautions: list[str] = field(default_factory=list)

    def add(self, place: Place, window: Window) -> None:
        """Add rows to a window."""
        known = self.windows.get(place)
        self.windows[place] = window if known is None else known.merge(window)
