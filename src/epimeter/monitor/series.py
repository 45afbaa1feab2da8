# SPDX-License-Identifier: Apache-2.0
"""The windows of one system as arrays, and what is measured over several of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from epimeter.monitor.history import History
from epimeter.monitor.window import RANGES, Window, empty

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
    totals
        Labelled rows, outcomes and confidence, shape (windows, slices, ranges).
    grid
        The windows themselves, by start and slice.
    """

    system: str
    slices: tuple[str, ...]
    starts: tuple[str, ...]
    totals: Totals
    grid: dict[tuple[str, str], Window]
    future: int = 0

    @property
    def rows(self) -> Floats:
        return self.totals.rows

    @property
    def whole(self) -> list[Window]:
        """The windows of all rows."""
        return [self.grid.get((start, ""), empty()) for start in self.starts]

    @property
    def labelled(self) -> NDArray[np.int64]:
        """Places of the windows that have labelled rows."""
        return np.flatnonzero(self.rows[:, 0].sum(axis=-1) > 0)


def series(history: History, system: str, until: str | None) -> Series:
    """The windows of a system up to one; later ones are counted and left out."""
    mine = {place: window for place, window in history.windows.items() if place.system == system}
    late = {place.start for place in mine if until is not None and place.start > until}
    starts = tuple(sorted({place.start for place in mine} - late))
    slices = tuple(sorted({place.slice for place in mine}))
    rows = np.zeros((len(starts), len(slices), RANGES))
    true, prob = np.zeros_like(rows), np.zeros_like(rows)
    grid: dict[tuple[str, str], Window] = {}
    at = {start: number for number, start in enumerate(starts)}
    of = {name: number for number, name in enumerate(slices)}
    for place, window in mine.items():
        if place.start not in at:
            continue
        key = at[place.start], of[place.slice]
        rows[key], true[key] = window.labelled.count, window.labelled.true.floats()
        prob[key] = window.labelled.prob.floats()
        grid[place.start, place.slice] = window
    future = sum(w.n_rows for p, w in mine.items() if p.start in late and p.slice == "")
    return Series(system, slices, starts, Totals(rows, true, prob), grid, future)


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
        Mean outcome minus mean confidence: negative is overconfidence.
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
    from scipy.stats import norm

    rows, true, prob = totals
    n = rows.sum(axis=-1)
    count, filled = np.maximum(n, 1)[..., None], np.maximum(rows, 1)
    share, gap = rows / count, (true - prob) / filled
    rate = (true + 1) / (rows + 2)
    error = np.sqrt(rate * (1 - rate) / filled)
    return Measures(
        n,
        (share * gap).sum(axis=-1),
        float(norm.isf(alpha / 2)) * np.sqrt((share**2 * error**2).sum(axis=-1)),
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
