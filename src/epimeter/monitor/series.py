# SPDX-License-Identifier: Apache-2.0
"""The windows of one system as arrays, and what is measured over several of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epimeter.kinds import Kind
from epimeter.monitor.cells import OFF_SCALE, RANGES, ROWS, SHOWN, SIZE, TRUE, Cells, stated
from epimeter.monitor.history import History
from epimeter.monitor.window import Place, Window

Floats = NDArray[np.float64]


class Totals(NamedTuple):
    """Labelled rows, outcomes and confidence as arrays of one shape, ranges of confidence last."""

    rows: Floats
    true: Floats
    prob: Floats

    def each(self, change: Callable[[Floats], Floats]) -> Totals:
        """The totals with every array changed in one way."""
        return Totals(change(self.rows), change(self.true), change(self.prob))

    def over(self, windows: Any, number: int) -> Totals:
        """The sums over some windows of one slice."""
        return self.each(lambda part: part[windows, number].sum(axis=0))


@dataclass(frozen=True, eq=False)
class Series:
    """One system: windows in order, all rows first among its slices.

    Attributes
    ----------
    cells
        The totals of the windows, shape (windows, slices, 68); zeros where a slice has no rows.
    totals
        Labelled rows, outcomes and confidence, shape (windows, slices, ranges).
    """

    system: str
    slices: tuple[str, ...]
    starts: tuple[str, ...]
    cells: Cells
    totals: Totals
    kind: Kind
    future: int = 0

    @property
    def rows(self) -> Floats:
        return self.totals.rows

    @cached_property
    def whole(self) -> Cells:
        """The totals of all rows together, shape (windows, 68)."""
        return self.cells[:, 0] if self.slices else np.zeros((len(self.starts), SIZE), np.int64)

    @cached_property
    def active(self) -> NDArray[np.int64]:
        """Places of the windows to which predictions came, on whatever scale."""
        return np.flatnonzero(self.whole[:, SHOWN].sum(axis=-1) + self.whole[:, OFF_SCALE])

    @cached_property
    def labelled(self) -> NDArray[np.int64]:
        """Places of the windows that have labelled rows."""
        return np.flatnonzero(self.whole[:, ROWS].sum(axis=-1) > 0)


def by_system(history: History) -> dict[str, list[tuple[Place, Window]]]:
    """The windows of every system, systems in order."""
    made: dict[str, list[tuple[Place, Window]]] = {}
    for place, window in history.windows.items():
        made.setdefault(place.system, []).append((place, window))
    return dict(sorted(made.items()))


def series(system: str, windows: list[tuple[Place, Window]], until: str | None, kind: Kind) -> Series:
    """The windows of a system up to one; later ones are counted and left out."""
    names = {place.start for place, _ in windows}
    starts = tuple(sorted(start for start in names if until is None or start <= until))
    slices = tuple(sorted({place.slice for place, _ in windows}))
    at = {start: number for number, start in enumerate(starts)}
    of = {name: number for number, name in enumerate(slices)}
    mine = [(at[place.start], of[place.slice], window.cells) for place, window in windows if place.start in at]
    cells = np.zeros((len(starts), len(slices), SIZE), np.int64)
    if mine:
        rows, columns, vectors = zip(*mine, strict=True)
        cells[list(rows), list(columns)] = np.stack(vectors)
    future = sum(window.n_rows for place, window in windows if place.start not in at and place.slice == "")
    return Series(system, slices, starts, cells, totals_of(cells), kind, future)


def totals_of(cells: Cells) -> Totals:
    """The labelled rows of windows, as doubles."""
    prob = stated(cells)[..., :RANGES]
    return Totals(cells[..., ROWS].astype(np.float64), cells[..., TRUE].astype(np.float64), prob)


def reference_windows(history: History, found: Series) -> dict[str, Window] | None:
    """The reference by slice, where one was given for this system (or, unnamed, for all)."""
    given = {part: window for (system, part), window in history.reference.items() if system == found.system}
    if not given and history.reference and len({system for system, _ in history.reference}) == 1:
        given = {part: window for (_, part), window in history.reference.items()}
    return given or None


@dataclass(frozen=True)
class Measured:
    """Calibration over some windows, with ends that hold in 95 of 100 cases (or as said).

    Attributes
    ----------
    bias
        Mean outcome minus mean of what was stated: negative where too much was stated.
    ece
        Mean gap over ten ranges of confidence; its lower end takes off what chance alone adds.
    """

    rows: int
    bias: float
    bias_low: float
    bias_high: float
    ece: float
    ece_low: float
    ece_high: float

    def to_dict(self) -> dict[str, Any]:
        """As plain values, rounded for reading."""
        return {
            "rows": self.rows,
            "bias": round(self.bias, 6),
            "bias_interval": [round(self.bias_low, 6), round(self.bias_high, 6)],
            "ece": round(self.ece, 6),
            "ece_interval": [round(self.ece_low, 6), round(self.ece_high, 6)],
        }


@dataclass(frozen=True, eq=False)
class Measures:
    """`Measured` for many windows and slices at once: arrays of one shape; 0 rows where there is nothing to measure."""

    rows: Floats
    bias: Floats
    bias_reach: Floats
    ece: Floats
    ece_raised: Floats

    def at(self, *place: int) -> Measured | None:
        """The measures of one window and slice; None without rows."""
        if not self.rows[place]:
            return None
        bias, reach, ece = (float(part[place]) for part in (self.bias, self.bias_reach, self.ece))
        return Measured(
            int(self.rows[place]),
            bias,
            max(-1.0, bias - reach),
            min(1.0, bias + reach),
            ece,
            max(0.0, ece - float(self.ece_raised[place]) - reach),
            min(1.0, ece + reach),
        )


def measures(totals: Totals, alpha: float = 0.05) -> Measures:
    """Bias and ECE of totals."""
    from scipy.special import ndtri

    rows, true, prob = totals
    n = rows.sum(axis=-1)
    count, filled = np.maximum(n, 1)[..., None], np.maximum(rows, 1)
    share, gap = rows / count, (true - prob) / filled
    rate = (true + 1) / (rows + 2)
    error = np.sqrt(rate * (1 - rate) / filled)
    return Measures(
        n,
        (share * gap).sum(axis=-1),
        float(-ndtri(alpha / 2)) * np.sqrt((share**2 * error**2).sum(axis=-1)),
        (share * np.abs(gap)).sum(axis=-1),
        # The mean of |normal(gap, error)| is above |gap| by at most error sqrt(2/pi): that much the ECE is too high.
        (share * error).sum(axis=-1) * math.sqrt(2 / math.pi),
    )


def measured(totals: Totals) -> Measured | None:
    """Bias and ECE of the totals of one window; None without rows."""
    return measures(totals).at()


def sliding(part: Floats, windows: int) -> Floats:
    """Sums over the last so many windows, along the first axis."""
    whole = np.concatenate([np.zeros_like(part[:1]), np.cumsum(part, axis=0)])
    ends = np.arange(1, len(part) + 1)
    return np.asarray(whole[ends] - whole[np.maximum(ends - windows, 0)])


READ_AS_ANSWERS = ", events read as answers by their top label"


def answers(totals: Totals) -> Totals:
    """Totals of events as totals of answers: below one half the other outcome was the answer, with the rest of the confidence."""
    rows, true, prob = totals
    half = rows.shape[-1] // 2
    low = slice(None, half)

    def folded(part: Floats, other: Floats) -> Floats:
        made = np.zeros_like(part)
        made[..., half:] = part[..., half:] + other[..., low][..., ::-1]
        return made

    return Totals(folded(rows, rows), folded(true, rows - true), folded(prob, rows - prob))
