# SPDX-License-Identifier: Apache-2.0
"""Recipes that compiled loops take over, and the summaries made of what the loops have added up.

A recipe with a loop costs one call for all slices; its summary has the integers that its own `summarise` would give.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.scale import cell_loops, loops, score_loops, tile_loops
from epimeter.scale.odd_rows import Odd
from epimeter.scale.packed_cells import Packed
from epimeter.summaries import Bins, BinTotals, MeanOf, MomentBins, MomentTotals
from epimeter.summaries.bins import MOMENTS
from epimeter.summaries.cells import CELLS, EMPTY, Cells, CellTotals, from_offsets
from epimeter.summaries.fine import Fine
from epimeter.summaries.fixed import ONE, STEPS, Fixed
from epimeter.summaries.hot_cells import MOST_ROWS
from epimeter.summaries.hot_scores import COUNTS, LOGARITHMIC, PLAIN
from epimeter.summaries.means import Mean, repeated
from epimeter.summaries.recipe import Recipe
from epimeter.summaries.sums import Sums, SumsOf
from epimeter.views import Binary

Integers = NDArray[np.int64]
NO_TABLE = np.zeros((0, 0, 0), np.int64)
CERTAIN = ((0.0, 0), (0.0, 1), (1.0, 0), (1.0, 1))
"""Confidence and outcome of the rows that are only counted."""


def loop_of(recipe: Recipe) -> tuple[str, int] | None:
    """Which loop takes a recipe over, and with how many bins; None if none does."""
    if type(recipe) is Cells:
        return "cells", 0
    cut = getattr(recipe, "cut", None)  # bins as a standard cuts them: the totals before joining are plain bins
    if isinstance(cut, Bins) and type(recipe).summarise is not Bins.summarise:
        recipe = cut
    if isinstance(recipe, Bins) and recipe.binning == "width" and recipe.reading == "event":
        if type(recipe)._totals is Bins._totals:
            return "bins", int(recipe.bins)
        if type(recipe)._totals is MomentBins._totals:
            return "moments", int(recipe.bins)
        return None
    names = getattr(getattr(recipe, "score", None), "hot_columns", None)
    if isinstance(recipe, MeanOf) and names is not None and not recipe.bound and recipe.how != "classes":
        mixed = any(name in LOGARITHMIC for name in names) and any(
            name in (*PLAIN, *COUNTS) and name != "none" for name in names
        )  # the two loops part the rows differently
        if mixed or (isinstance(recipe, SumsOf) and recipe.by_label):
            return None
        return "scores", 0
    return None


class Looped:
    """Totals by slice of all recipes that have a loop."""

    def __init__(self, recipes: Iterable[Recipe]) -> None:
        found = {recipe: loop_of(recipe) for recipe in recipes}
        self.recipes = {recipe: loop for recipe, loop in found.items() if loop is not None}
        self.scores = [recipe for recipe in self.recipes if isinstance(recipe, MeanOf)]
        names = {name for recipe in self.scores for name in recipe.score.hot_columns}  # type: ignore[attr-defined]
        sums = [recipe for recipe in self.scores if isinstance(recipe, SumsOf)]
        fine = {name for recipe in sums for name in recipe.score.hot_columns}  # type: ignore[attr-defined]
        self.bins = {bins: np.zeros((0, bins, 4), np.int64) for kind, bins in self.recipes.values() if kind == "bins"}
        self.moments = {
            bins: np.zeros((0, bins, 30), np.int64) for kind, bins in self.recipes.values() if kind == "moments"
        }
        pairs = [(b, m) for b in self.bins for m in self.moments if b + m <= loops.JOINT]
        self.joint = pairs[0] if pairs else (0, 0)
        """Bins and moments that go through one loop."""
        self.light = score_loops.LIGHT.issuperset(fine & {*PLAIN, *LOGARITHMIC})
        """Whether the light loops keep all that is read."""
        self.near_ends = "square" in fine
        self.plain = np.zeros((0, 4, 4), np.int64) if names & {*PLAIN, *COUNTS} else None
        self.counts = np.zeros((0, 4), np.int64)
        self.logs = np.zeros((0, 4, 4), np.int64) if names & {*LOGARITHMIC} else None
        self.depths: dict[Recipe, list[int]] = {recipe: [] for recipe in self.recipes if isinstance(recipe, SumsOf)}
        """What the steps of 2^-88 leave of tiny numbers, by slice."""
        self.plain_rows, self.log_rows = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.certain = np.zeros((0, 4), np.int64)
        self.odd: list[Odd] = []
        """The odd rows, by slice."""
        self.rows = np.zeros(0, np.int64)
        self.ends = np.zeros((0, 2))
        self.cells = np.zeros((0, 4 * CELLS), np.int64) if Cells() in self.recipes else None
        self.only = np.zeros((0, CELLS))
        self.packed = Packed()
        self.early: list[list[CellTotals]] = []
        """Cells that were set aside, by slice."""
        self.since = 0
        """Rows in the cells since then."""
        self.n_slots = 0

    def grow(self, n_slots: int) -> None:
        """Make room for more slices."""
        self.n_slots = n_slots
        if n_slots <= len(self.rows):
            return
        room = max(n_slots, 2 * len(self.rows) if len(self.rows) > 1 else n_slots)

        def wider(old: NDArray[Any], fill: Any = 0) -> NDArray[Any]:
            new = np.empty((room, *old.shape[1:]), old.dtype)
            new[:] = fill
            new[: len(old)] = old
            return new

        self.bins = {bins: wider(table) for bins, table in self.bins.items()}
        self.moments = {bins: wider(table) for bins, table in self.moments.items()}
        self.plain = None if self.plain is None else wider(self.plain)
        self.logs = None if self.logs is None else wider(self.logs)
        self.counts, self.certain = wider(self.counts), wider(self.certain)
        self.plain_rows, self.log_rows, self.rows = map(wider, (self.plain_rows, self.log_rows, self.rows))
        self.ends = wider(self.ends, np.array([2.0, -1.0]))
        self.odd += [Odd() for _ in range(room - len(self.odd))]
        for depths in self.depths.values():
            depths += [0] * (room - len(depths))
        self.early += [[] for _ in range(room - len(self.early))]
        if self.cells is not None:
            self.cells, self.only = wider(self.cells), wider(self.only, EMPTY)

    def drop_cells(self) -> None:
        """Keep no cells any longer: there are too many slices for them."""
        self.cells, self.only = None, np.zeros((0, CELLS))
        self.recipes.pop(Cells(), None)

    def absorb(self, other: Looped, numbers: Integers) -> None:
        """Add the totals of another; its slice k is the slice `numbers[k]` here."""
        n = len(numbers)

        def add(mine: NDArray[Any], theirs: NDArray[Any], pairs: int) -> None:
            """Add, then carry from steps to units in the columns from `pairs` on."""
            both = mine[numbers] + theirs[:n]
            both[..., pairs::2] += both[..., pairs + 1 :: 2] >> STEPS
            both[..., pairs + 1 :: 2] &= ONE - 1
            mine[numbers] = both

        for bins, table in self.bins.items():
            add(table, other.bins[bins], 2)
        for bins, table in self.moments.items():
            add(table, other.moments[bins], 2)
        if self.plain is not None and other.plain is not None:
            add(self.plain, other.plain, 0)
        if self.logs is not None and other.logs is not None:
            add(self.logs, other.logs, 0)
        for mine, theirs in (
            (self.counts, other.counts),
            (self.certain, other.certain),
            (self.plain_rows, other.plain_rows),
            (self.log_rows, other.log_rows),
            (self.rows, other.rows),
        ):
            mine[numbers] += theirs[:n]
        self.ends[numbers, 0] = np.minimum(self.ends[numbers, 0], other.ends[:n, 0])
        self.ends[numbers, 1] = np.maximum(self.ends[numbers, 1], other.ends[:n, 1])
        for k, number in enumerate(numbers.tolist()):
            self.odd[number].absorb(other.odd[k])
            for recipe, depths in self.depths.items():
                depths[number] += other.depths[recipe][k]
            if self.cells is not None and other.cells is not None and other.rows[k]:
                self.early[number].append(other._cells(k))

    def add(self, true: NDArray[Any], prob: NDArray[Any], start: Integers, slot: Integers) -> bool:
        """Add runs of rows, each to its slice; False when a row is not sound: nothing of the totals is right then."""
        left, right = self.joint
        wanted = (left > 0, self.plain is not None, self.logs is not None)
        tables = (self.bins[left], self.moments[right]) if left else (NO_TABLE, NO_TABLE)
        scores = (NO_TABLE if self.plain is None else self.plain, NO_TABLE if self.logs is None else self.logs)
        rows = (self.counts, self.certain, self.plain_rows, self.log_rows)
        odd = (np.empty(len(prob), true.dtype), np.empty(len(prob), prob.dtype), np.empty(len(prob), np.int64))
        found = tile_loops.add_tiles(
            true,
            prob,
            start,
            slot,
            self.ends,
            self.near_ends,
            self.light,
            wanted,
            self.joint,
            tables,
            scores,
            rows,
            odd,
        )
        if found < 0:
            return False
        if found:
            odd_true, odd_prob, odd_slot = (column[:found].copy() for column in odd)
            for number in np.unique(odd_slot).tolist():
                own = odd_slot == number
                self.odd[number].add(odd_true[own], odd_prob[own], self.scores)
        for bins, table in self.bins.items():
            if bins != left:
                loops.add_bins(true, prob, start, slot, bins, table)
        for bins, table in self.moments.items():
            if bins != right:
                loops.add_moments(true, prob, start, slot, bins, table)
        if self.cells is not None:
            self._add_cells(true, prob, start, slot)
        np.add.at(self.rows, slot, np.diff(start))  # a dictionary may name a slice twice
        return True

    def _add_cells(self, true: NDArray[Any], prob: NDArray[Any], start: Integers, slot: Integers) -> None:
        assert self.cells is not None
        if self.since + len(prob) > MOST_ROWS:  # before a sum inside a cell could leave its integer
            self.packed.spill(self.cells)
            for number in range(self.n_slots):
                self.early[number] = [self._cells(number)]
            self.cells[:], self.only[:], self.since = 0, EMPTY, 0
        if len(slot) == 1 and len(prob) >= cell_loops.LONG:
            self.packed.add(true, prob, int(slot[0]), self.cells, self.only)
        else:
            self.packed.spill(self.cells)
            cell_loops.add_cells(true, prob, start, slot, self.cells, self.only)
        self.since += len(prob)

    def summary(self, recipe: Recipe, number: int) -> Any:
        """The summary of one slice."""
        kind, bins = self.recipes[recipe]
        if kind == "cells":
            return self._cells(number)
        if kind == "scores":
            assert isinstance(recipe, MeanOf)
            return self._scores(recipe, number)
        table = (self.bins if kind == "bins" else self.moments)[bins][number]
        count, true, edges = table[:, 0].copy(), table[:, 1].copy(), np.arange(bins + 1) / bins

        def column(place: int) -> Fixed:
            return Fixed(table[:, place].copy(), table[:, place + 1].copy())

        if kind == "bins":
            return BinTotals(count, Fixed.of_counts(count), Fixed.of_counts(true), column(2), edges)
        said = Fine(column(2), column(4))
        sums = {name: Fine(column(4 * k + 2), column(4 * k + 4)) for k, name in enumerate(MOMENTS, start=1)}
        return MomentTotals(count, Fixed.of_counts(count), Fixed.of_counts(true), said, edges, **sums)

    def _cells(self, number: int) -> CellTotals:
        assert self.cells is not None
        self.packed.spill(self.cells)
        parts = self.cells[number].reshape(CELLS, 2, 2)
        now = from_offsets(parts[:, :, 0], parts[:, :, 1], self.only[number])
        return reduce(lambda left, right: left.merge(right), self.early[number], now)

    def _column(self, name: str, number: int) -> tuple[Fixed, Fixed]:
        """One column: its sum in steps of 2^-44 and what they leave."""
        if name in COUNTS:
            outcomes, said, wrong, hits = (int(value) for value in self.counts[number])
            double = dict(zip(COUNTS, (2 * outcomes, 2 * said, 2 * wrong, hits, 0), strict=True))[name]
            half = np.asarray((double % 2) << 43, np.int64)
            return Fixed(np.asarray(double // 2, np.int64), half), Fixed.zeros(())
        table = self.plain if name in PLAIN else self.logs
        assert table is not None
        row = table[number, (PLAIN if name in PLAIN else LOGARITHMIC).index(name)]
        units, steps, rest_units, rest_steps = (np.asarray(value, np.int64) for value in row)
        return Fixed(units, steps), Fixed(rest_units, rest_steps)

    def _scores(self, recipe: MeanOf, number: int) -> Any:
        names: tuple[str, ...] = recipe.score.hot_columns  # type: ignore[attr-defined]
        columns = [self._column(name, number) for name in names]
        logarithmic = any(name in LOGARITHMIC for name in names)
        n_rows = int((self.log_rows if logarithmic else self.plain_rows)[number])
        made: Any
        if isinstance(recipe, SumsOf):
            coarse = Fixed(np.stack([c.units for c, _ in columns]), np.stack([c.steps for c, _ in columns]))
            rest = Fixed(np.stack([r.units for _, r in columns]), np.stack([r.steps for _, r in columns]))
            total = Fine(coarse, rest, self.depths[recipe][number])
            mass = Fine(Fixed.of_counts(np.array([n_rows])), Fixed.zeros(1))
            none = np.zeros(len(columns), np.int64)
            made = Sums(mass, total, total if recipe.squared else None, none, n_rows, 2)
        else:
            made = Mean(Fixed.of_counts(np.asarray(n_rows)), columns[0][0], 0, 0, 0, n_rows, 2)
        # Rows that the loops left out: each kind of certain row once, as often as it was counted, and the odd ones.
        parts = [made] if n_rows else []
        for (prob, true), times in zip(
            CERTAIN, self.certain[number].tolist() if logarithmic else (), strict=logarithmic
        ):
            if times:
                parts.append(repeated(recipe.summarise(_row(prob, true)), times))
        parts += self.odd[number].summaries(recipe)
        return reduce(lambda left, right: left.merge(right), parts)


def _row(prob: float, true: int) -> Binary:
    return Binary(np.array([true], np.uint8), np.array([prob]))
