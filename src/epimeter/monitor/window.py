# SPDX-License-Identifier: Apache-2.0
"""A window: what came in over one day (hour, week, month) for one slice of one system, as exact totals."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError, ReadError
from epimeter.monitor.cells import (
    CELLS,
    CLASSES,
    DELAY,
    DELAYS,
    FEWEST_TO_REPEAT,
    FURTHER,
    NEVER,
    OFF_SCALE,
    RANGES,
    ROWS,
    SCALE,
    SHOWN,
    SIZE,
    SUM_STEPS,
    SUM_UNITS,
    TRUE,
    Cells,
    added,
    bits_of,
    from_plain,
    plain,
    same_stated,
    taken_off,
)
from epimeter.summaries import BinTotals
from epimeter.summaries.cuts import width_index
from epimeter.summaries.fixed import Fixed, binned

Unit = Literal["hour", "day", "week", "month"]
UNITS: tuple[Unit, ...] = get_args(Unit)
A_YEAR: dict[Unit, float] = {"hour": 8766.0, "day": 365.25, "week": 365.25 / 7, "month": 12.0}
DATE = re.compile(r"(?<!\d)(\d{4})[-_]?(\d{2})[-_]?(\d{2})(?:[T_-]?(\d{2})(?=\D|$))?(?!\d)")


@dataclass(frozen=True, eq=False)
class Window:
    """Totals of one window, as one vector of whole numbers (`cells.LAYOUT`): what is kept, added and read back is the same.

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

    cells: Cells

    @property
    def labelled(self) -> BinTotals:
        rows = self.cells[ROWS]
        prob = Fixed(self.cells[SUM_UNITS][:RANGES], self.cells[SUM_STEPS][:RANGES])
        return BinTotals(rows, Fixed.of_counts(rows), Fixed.of_counts(self.cells[TRUE]), prob)

    @property
    def shown(self) -> Cells:
        return self.cells[SHOWN]

    @property
    def stated(self) -> Fixed:
        return Fixed(self.cells[SUM_UNITS][RANGES], self.cells[SUM_STEPS][RANGES])

    @property
    def never(self) -> int:
        return int(self.cells[NEVER])

    @property
    def off_scale(self) -> int:
        return int(self.cells[OFF_SCALE])

    @property
    def scale(self) -> float:
        return float(self.cells[SCALE].view(np.float64))

    @property
    def classes(self) -> int:
        return int(self.cells[CLASSES])

    @property
    def delays(self) -> int:
        return int(self.cells[DELAYS])

    @property
    def delay(self) -> int:
        return int(self.cells[DELAY])

    @property
    def n_rows(self) -> int:
        """All predictions on a sound scale."""
        return int(self.shown.sum())

    @property
    def n_labelled(self) -> int:
        return int(self.cells[ROWS].sum())

    @property
    def awaiting(self) -> int:
        """Predictions whose truth may still come."""
        return self.n_rows - self.n_labelled - self.never

    def same_predictions(self, other: Window) -> bool:
        """Whether both hold the same confidences, labelled or not."""
        return self.n_rows >= FEWEST_TO_REPEAT and bool(same_stated(self.cells, other.cells))

    def merge(self, other: Window) -> Window:
        """The window of both sets of rows."""
        return Window(added(np.stack([self.cells, other.cells])))

    def less(self, other: Window) -> Window:
        """The window without the rows of another, or what is to be taken off: numbers may be negative."""
        return Window(taken_off(self.cells, other.cells))

    def having(self, **further: float) -> Window:
        """The same with other further facts (`FURTHER`)."""
        made = self.cells.copy()
        for name, value in further.items():
            made[FURTHER[name]] = bits_of(value) if name == "scale" else value
        return Window(made)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, whole numbers throughout: nothing is rounded by saving."""
        return plain(self.cells)

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Window:
        """The window back."""
        return cls(from_plain(state))


def _empty() -> Cells:
    return np.zeros(SIZE, np.int64)


def empty() -> Window:
    """A window without rows."""
    return Window(_empty())


def of_groups(
    prob: NDArray[np.float64], true: NDArray[Any], awaiting: NDArray[np.bool_], group: NDArray[Any], n_groups: int
) -> list[Window]:
    """The window of every group of rows; where `awaiting`, `true` says nothing."""
    known = ~awaiting
    index = group[known] * RANGES + width_index(prob[known], RANGES)
    size = n_groups * RANGES
    made = np.zeros((n_groups, SIZE), np.int64)
    made[:, ROWS] = np.bincount(index, minlength=size).reshape(n_groups, RANGES)
    came = np.bincount(index, weights=true[known].astype(np.float64), minlength=size)
    made[:, TRUE] = came.astype(np.int64).reshape(n_groups, RANGES)
    said, stated = binned(prob[known], index, size), binned(prob, group, n_groups)
    for place, parts in ((SUM_UNITS, (said.units, stated.units)), (SUM_STEPS, (said.steps, stated.steps))):
        made[:, place] = np.column_stack([parts[0].reshape(n_groups, RANGES), parts[1]])
    shown = np.bincount(group * CELLS + width_index(prob, CELLS), minlength=n_groups * CELLS)
    made[:, SHOWN] = shown.reshape(n_groups, CELLS)
    return [Window(cells) for cells in made]


def of_totals(totals: BinTotals, classes: int = 0) -> Window:
    """The window of a summary: every row of it is labelled; the cells are known as finely as the ranges."""
    assert isinstance(totals.true, Fixed) and isinstance(totals.prob, Fixed)  # rows of a window have no weights
    made, stated = _empty(), totals.prob.sum()
    made[ROWS], made[TRUE] = totals.count, totals.true.units
    made[SUM_UNITS] = np.append(totals.prob.units, stated.units)
    made[SUM_STEPS] = np.append(totals.prob.steps, stated.steps)
    made[SHOWN][:: CELLS // RANGES] = totals.count
    return Window(made).having(classes=classes)


def merged(windows: Iterable[Window]) -> Window:
    """The window of all."""
    return Window(added(np.stack([_empty(), *(window.cells for window in windows)])))


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


@lru_cache(4096)
def later(name: str, unit: Unit, windows: int = 1) -> str:
    """The window so many windows later."""
    start = moment(name)
    if unit == "month":
        return named((start.astype("datetime64[M]") + windows).astype("datetime64[D]"), unit)
    hours = {"hour": 1, "day": 24, "week": 168}[unit]
    return named(start + np.timedelta64(windows * hours, "h"), unit)


@lru_cache(4096)
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
    return window.having(never=window.never + window.awaiting)


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
