# SPDX-License-Identifier: Apache-2.0
"""The calibration errors of the ONTO standards, with the binning strategies they allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from epimeter.card_index import metric
from epimeter.limits import BinCount
from epimeter.results import Result
from epimeter.summaries import Bins, BinTotals, Recipe
from epimeter.summaries.bins import Sums
from epimeter.summaries.fixed import Fixed
from epimeter.summaries.paired import Paired
from epimeter.summaries.recipe import Loop
from epimeter.uncertainty import GapNorm
from epimeter.views import View

Strategy = Literal["equal_width", "equal_mass", "adaptive"]

ONTO_SYMBOLS = {
    "B_m": "non-empty bins",
    "acc, conf": "mean outcome and mean confidence of a bin",
    "N": "number of rows (their weight)",
}
STANDARD_BINS = {"equal_width": 10, "equal_mass": 15, "adaptive": 10}
LEAST_GROUP = 50


@dataclass(frozen=True, kw_only=True)
class OntoError(Result):
    """Expected and maximum calibration error, and the number of non-empty bins behind them."""

    ece: float
    mce: float
    bins: int


@dataclass(frozen=True)
class OntoBins(Recipe):
    """Bins as ONTO 42001 A.1 cuts them.

    Parameters
    ----------
    strategy
        ``equal_width`` (10 bins), ``equal_mass`` (15 bins), or ``adaptive``: 10 equal-width bins, joined from low to
        high confidence until each holds max(50, N / 2M) rows.
    bins
        Number of bins M before joining; None takes the strategy's own.
    """

    strategy: Strategy = "equal_width"
    bins: BinCount | None = None

    @property
    def cut(self) -> Bins:
        """The bins before joining."""
        number = STANDARD_BINS[self.strategy] if self.bins is None else int(self.bins)
        return Bins(number, "mass" if self.strategy == "equal_mass" else "width")

    @property
    def streams(self) -> bool:  # type: ignore[override]
        return self.cut.streams

    @property
    def loop(self) -> Loop | None:
        return self.cut.loop

    def from_table(self, table: Any) -> BinTotals:
        return self.cut.from_table(table)

    def from_weighed(self, totals: Any) -> BinTotals:
        return self.cut.from_weighed(totals)

    def summarise(self, view: View) -> Any:
        return self.cut.summarise(view)

    def finish(self, summary: Any) -> BinTotals:
        totals: BinTotals = self.cut.finish(summary)
        return joined(totals) if self.strategy == "adaptive" else totals


def joined(bins: BinTotals) -> BinTotals:
    """Neighbouring bins joined until each holds enough rows; the rest joins the last full one."""
    enough = max(float(LEAST_GROUP), float(bins.n) / (2 * len(bins.count)))
    starts, held = [0], 0.0
    for number, size in enumerate(bins.size):
        held += size
        if held >= enough:
            starts.append(number + 1)
            held = 0.0
    # The last start is the rest, empty or too small to stand alone: it belongs to the group before it.
    starts = starts[:-1] if len(starts) > 1 else starts
    ends = [*starts[1:], len(bins.count)]
    groups = [slice(start, end) for start, end in zip(starts, ends, strict=True)]
    edges = None if bins.edges is None else bins.edges[[*starts, len(bins.count)]]
    weight, true, prob = (_joined(column, groups) for column in (bins.weight, bins.true, bins.prob))
    return BinTotals(np.add.reduceat(bins.count, starts), weight, true, prob, edges)


def _joined(column: Sums, groups: list[slice]) -> Sums:
    parts = [column[group].sum() for group in groups]
    if isinstance(column, Fixed):
        return Fixed(np.array([p.units for p in parts]), np.array([p.steps for p in parts]))  # type: ignore[union-attr]
    return Paired(np.array([p.high for p in parts]), np.array([p.low for p in parts]))  # type: ignore[union-attr]


@dataclass(frozen=True)
class ErsBins(Bins):
    """Equal-width bins, the only ones ONTO-ERS knows.

    Parameters
    ----------
    bins
        Number of equal-width bins M.
    """

    def choices(self) -> dict[str, Any]:
        return {"bins": self.bins}


@metric(
    title="ONTO 42001 expected and maximum calibration error",
    family="bin",
    reads=OntoBins(),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"ECE=\sum_m\frac{|B_m|}{N}|acc(B_m)-conf(B_m)|,\quad MCE=\max_m|acc(B_m)-conf(B_m)|",
    where=ONTO_SYMBOLS,
    source="ONTO 42001:2025 5.2, 5.3, A.1, A.2",
    pitfalls="The strategy must be documented with the value (5.2.3); the result carries it among its parameters. A.1.2's "
    "formula leaves out confidence 1.0, which its example includes: the last bin is closed. Which neighbour a small "
    "bin joins is our decision.",
    aliases=("onto_mce",),
    interval=GapNorm(norm=1),
)
def onto_ece(bins: BinTotals) -> OntoError:
    """Expected and maximum calibration error with the binning strategies of ONTO 42001."""
    gap = np.abs(bins.gap)
    return OntoError(ece=float(bins.mean(gap)), mce=float(gap.max()), bins=int(bins.filled.sum()))


@metric(
    title="ONTO-ERS expected calibration error",
    family="bin",
    reads=ErsBins(bins=10),
    range=(0.0, 1.0),
    ideal=0.0,
    direction="lower",
    equation=r"ECE=\sum_m\frac{|B_m|}{n}|acc(B_m)-conf(B_m)|,\quad m(i)=\min(\lfloor c_i\,M\rfloor,M-1)",
    where=ONTO_SYMBOLS | {"M": "parameter bins", "n": "number of rows (their weight)"},
    source="ONTO-ERS v1.0 2.1",
    pitfalls="Equal to ece with equal-width bins, and as biased upwards on few rows.",
    interval=GapNorm(norm=1),
)
def ers_ece(bins: BinTotals) -> float:
    """Expected calibration error as ONTO-ERS defines it."""
    return float(bins.mean(np.abs(bins.gap)))
