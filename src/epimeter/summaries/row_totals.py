# SPDX-License-Identifier: Apache-2.0
"""Totals of rows, by slice: one call of the core for all recipes that declare a loop.

A recipe's summary made here has the integers that the recipe's own `summarise` gives, however the rows are cut into calls, threads
and machines.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.core import NULL, ffi, lib, read, write
from epimeter.core.row_loops import LoopRows
from epimeter.core.threads import shared
from epimeter.errors import UnsoundRowsError
from epimeter.summaries.cell_totals import CELLS, EMPTY, from_offsets
from epimeter.summaries.fine import Fine
from epimeter.summaries.fixed import ONE, STEPS, Fixed
from epimeter.summaries.recipe import Loop, Recipe
from epimeter.summaries.unusual_rows import UnusualRows
from epimeter.views import Binary

Integers = NDArray[np.int64]

PLAIN = ("square", "prob", "excess", "null_variance")
LOGARITHMIC = ("log_loss", "entropic", "entropic_variance", "spherical")
COUNTS = ("true", "said", "impossible", "halves", "none")
"""Columns of whole numbers: outcomes, rows with p > 0, certain and wrong, hits counted in halves, nothing."""


@dataclass(frozen=True)
class Powers:
    """Where the products of columns are among the sums of the core.

    Attributes
    ----------
    second, third
        Places of the products of two, in the order of `combinations_with_replacement`, and of three; None where those are
        made of other sums.
    two, three
        What the core divides those products by.
    threes
        Whether products of three are kept.
    """

    second: tuple[int, ...] | None = None
    third: tuple[int, ...] | None = None
    two: tuple[float, ...] = (1.0,)
    three: tuple[float, ...] = (1.0,)
    threes: bool = True


NOTHING = -1
"""Place of a product that is always 0."""
POWERS: dict[tuple[str, ...], Powers] = {
    ("square",): Powers((0,), (1,)),
    ("log_loss",): Powers((2,), (3,), (32.0,), (1024.0,)),
    ("entropic",): Powers((4,), (5,), (32.0,), (1024.0,)),
    ("spherical",): Powers((6,), (7,)),
    ("halves",): Powers(),
    ("prob", "true", "said"): Powers(threes=False),
    ("entropic", "none", "entropic_variance"): Powers(
        (4, NOTHING, 8, NOTHING, NOTHING, 9),
        (5, NOTHING, 10, NOTHING, NOTHING, 11, NOTHING, NOTHING, NOTHING, 12),
        (32.0, 1.0, 1.0, 1.0, 1.0, 1.0),
        (1024.0, 1.0, 16.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    ),
}
"""Scores, by their columns, whose products the core adds up."""
CERTAIN = ((0.0, 0), (0.0, 1), (1.0, 0), (1.0, 1))
"""Confidence and outcome of the rows that the logarithmic loop only counts: all rows of one kind add the same."""
MOST_CELL_ROWS = 1 << 34
"""Rows after which the sums of the cells are moved to wider integers: 28 bits a row."""


@dataclass(frozen=True)
class Layout:
    """Which tables the recipes of a pass need.

    Attributes
    ----------
    recipes, scores
        Those that have a loop, with it; of these the ones that add up columns.
    near_ends
        Whether squares of rows next to certainty are asked for to their last digits.
    tables, bins, moments, cells
        Tables by name with the shape for one slice; numbers of bins, without and with moments; whether there are cells.
    """

    recipes: tuple[tuple[Recipe, Loop], ...]
    scores: tuple[Any, ...]
    near_ends: bool
    tables: tuple[tuple[str, tuple[int, ...]], ...]
    bins: tuple[int, ...]
    moments: tuple[int, ...]
    cells: bool


@lru_cache(maxsize=256)
def _layout(recipes: tuple[Recipe, ...]) -> Layout:
    with_loop = tuple((recipe, loop) for recipe in recipes if (loop := recipe.loop) is not None)
    loops = [loop for _, loop in with_loop]
    scores = [(recipe, loop) for recipe, loop in with_loop if loop.kind in ("scores", "powers")]
    names = {name for _, loop in scores for name in loop.columns}
    tables: list[tuple[str, tuple[int, ...]]] = [("rows", (3,)), ("counts", (5,)), ("certain", (4,))]
    if names & {*PLAIN, *COUNTS}:
        tables.append(("plain", (4, 4)))
    if names & {*LOGARITHMIC}:
        tables.append(("logs", (4, 4)))
    if any(loop.kind == "powers" for loop in loops):
        tables.append(("powers", (15, 4)))
    return Layout(
        with_loop,
        tuple(recipe for recipe, _ in scores),
        any(loop.fine and "square" in loop.columns for _, loop in scores),
        tuple(tables),
        tuple(sorted({loop.bins for loop in loops if loop.kind == "bins"})),
        tuple(sorted({loop.bins for loop in loops if loop.kind == "moments"})),
        any(loop.kind == "cells" for loop in loops),
    )


class RowTotals:
    """Totals by slice of all recipes that have a loop; slices are numbered from 0."""

    def __init__(self, recipes: Iterable[Recipe]) -> None:
        layout = _layout(tuple(recipes))
        self.recipes, self.scores, self.near_ends = dict(layout.recipes), layout.scores, layout.near_ends
        self.n_slots = 0
        self.tables: dict[str, NDArray[Any]] = {name: np.zeros((0, *size), np.int64) for name, size in layout.tables}
        self.bins = {bins: np.zeros((0, bins, 4), np.int64) for bins in layout.bins}
        self.moments = {bins: np.zeros((0, bins, 30), np.int64) for bins in layout.moments}
        self.ends = np.zeros((0, 2))
        self.cells: CellLoop | None = CellLoop() if layout.cells else None
        self.unusual: list[UnusualRows] = []
        self._read: dict[tuple[str, int, int], Any] = {}
        """Summaries of bins that were read off the tables: recipes with one loop share them."""
        self._struct: Any = None
        self._kept: list[Any] = []

    @property
    def rows(self) -> Integers:
        """Rows of each slice."""
        return self.tables["rows"][:, 0]

    def grow(self, n_slots: int) -> None:
        """Make room for more slices."""
        self.n_slots = n_slots
        if n_slots <= len(self.ends):
            return
        room = max(n_slots, 2 * len(self.ends) if len(self.ends) > 1 else n_slots)
        self.tables = {name: _wider(table, room) for name, table in self.tables.items()}
        self.bins = {bins: _wider(table, room) for bins, table in self.bins.items()}
        self.moments = {bins: _wider(table, room) for bins, table in self.moments.items()}
        self.ends = _wider(self.ends, room, np.array([2.0, -1.0]))
        self.unusual += [UnusualRows() for _ in range(room - len(self.unusual))]
        if self.cells is not None:
            self.cells.grow(room)
        self._bind()

    def _bind(self) -> None:
        """Tell the core where the totals are."""
        struct = ffi.new("epi_pass *")
        struct.slots, struct.near_ends = len(self.ends), self.near_ends
        kept: list[Any] = []
        for name, table in (*self.tables.items(), ("ends", self.ends)):
            kept.append(write(table))
            setattr(struct, name, kept[-1])
        for name, tables in (("bins", self.bins), ("moments", self.moments)):
            sets = ffi.new("epi_bins[]", len(tables))
            for place, (bins, table) in enumerate(tables.items()):
                kept.append(write(table))
                sets[place].bins, sets[place].totals = bins, kept[-1]
            kept.append(sets)
            setattr(struct, name, sets)
            setattr(struct, f"n_{name}", len(tables))
        self._struct, self._kept = struct, kept

    def add(self, true: NDArray[Any], prob: NDArray[Any], start: Integers, slot: Integers) -> bool:
        """Add runs of rows, run g (from start[g] to start[g + 1]) to slice slot[g].

        False when a row is not sound: then no total is right.
        """
        self._read.clear()
        rows = LoopRows(true, prob)
        bounds, homes = read(start), read(slot)
        room = len(prob) if self.scores else 0
        aside: list[NDArray[Any]] = [np.empty(room, np.uint8), np.empty(room), np.empty(room, np.int64)]
        struct = self._struct
        struct.unusual, struct.unusual_room = 0, room
        struct.unusual_outcome, struct.unusual_prob, struct.unusual_slot = kept = [write(column) for column in aside]
        fault = lib.epi_add_rows(struct, rows.struct, len(slot), bounds, homes)
        if fault > 1:
            raise ValueError("slices or bounds of rows that do not fit")
        if fault:
            return False
        if struct.unusual:
            self._set_aside(*[column[: struct.unusual].copy() for column in aside])
        del kept
        if self.cells is not None:
            self.cells.add(rows, len(slot), bounds, homes)
        return True

    def add_all(self, true: NDArray[Any], prob: NDArray[Any]) -> bool:
        """Add rows that are one slice."""
        if not self.n_slots:
            self.grow(1)
        return self.add(true, prob, np.array([0, len(prob)]), np.zeros(1, np.int64))

    def _set_aside(self, true: NDArray[Any], prob: NDArray[Any], slot: Integers) -> None:
        for number in np.unique(slot).tolist():
            own = slot == number
            self.unusual[number].add(true[own], prob[own], self.scores)

    def absorb(self, other: RowTotals, numbers: Integers) -> None:
        """Add the totals of another; its slice k is the slice `numbers[k]` here."""
        self._read.clear()
        for name, table in self.tables.items():
            _add(table, other.tables[name], numbers, 0 if name in ("plain", "logs", "powers") else None)
        for tables, others in ((self.bins, other.bins), (self.moments, other.moments)):
            for bins, table in tables.items():
                _add(table, others[bins], numbers, 2)
        n = len(numbers)
        self.ends[numbers, 0] = np.minimum(self.ends[numbers, 0], other.ends[:n, 0])
        self.ends[numbers, 1] = np.maximum(self.ends[numbers, 1], other.ends[:n, 1])
        for theirs, mine in enumerate(numbers.tolist()):
            self.unusual[mine].absorb(other.unusual[theirs])
            if self.cells is not None and other.cells is not None and other.rows[theirs]:
                self.cells.early[mine].append(other.cells.summary(theirs))

    def drop_cells(self) -> None:
        """Keep no cells any longer: there are too many slices for them."""
        self.cells = None
        self.recipes = {recipe: loop for recipe, loop in self.recipes.items() if loop.kind != "cells"}

    def summary(self, recipe: Recipe, number: int = 0) -> Any:
        """The summary of one slice."""
        loop = self.recipes[recipe]
        if loop.kind == "cells":
            assert self.cells is not None
            return self.cells.summary(number)
        if loop.kind in ("scores", "powers"):
            return self._scores(recipe, number)
        key = loop.kind, loop.bins, number
        if key not in self._read:
            tables = self.bins if loop.kind == "bins" else self.moments
            self._read[key] = recipe.from_table(tables[loop.bins][number])
        return self._read[key]

    def _column(self, name: str, number: int) -> list[int]:
        """The sum of one column: units and steps of 2^-44, then those of what the steps leave."""
        if name in COUNTS:
            outcomes, said, wrong, hits, _ = self.tables["counts"][number].tolist()
            double = (2 * outcomes, 2 * said, 2 * wrong, hits, 0)[COUNTS.index(name)]
            return [double // 2, (double % 2) << (STEPS - 1), 0, 0]
        kind, names = ("plain", PLAIN) if name in PLAIN else ("logs", LOGARITHMIC)
        found: list[int] = self.tables[kind][number, names.index(name)].tolist()
        return found

    def _scores(self, recipe: Any, number: int) -> Any:
        names = self.recipes[recipe].columns
        logarithmic = any(name in LOGARITHMIC for name in names)
        n_rows = int(self.tables["rows"][number, 2 if logarithmic else 1])
        parts = []
        if n_rows:
            columns = np.array([self._column(name, number) for name in names], np.int64)
            if self.recipes[recipe].kind == "scores":
                parts = [recipe.from_columns(columns, n_rows)]
            else:
                parts = [recipe.from_powers(columns, *self._products(names, number, columns), n_rows)]
        # Rows that the loop only counted: each kind once, as often as it came; then those that it handed back.
        counted = self.tables["certain"][number].tolist() if logarithmic else ()
        for (prob, true), times in zip(CERTAIN, counted, strict=False):
            if times:
                parts.append(repeated(_certain_row(recipe, prob, true), times))
        parts += self.unusual[number].summaries(recipe)
        return reduce(lambda left, right: left.merge(right), parts)

    def _products(self, names: tuple[str, ...], number: int, columns: Integers) -> tuple[Integers, Integers | None]:
        """Sums of the products of two and of three columns."""
        if names == ("halves",):  # a score of 0, 1/2 or 1
            _, _, _, hits, half = self.tables["counts"][number].tolist()
            whole = (hits - half) // 2
            return _eighths(8 * whole + 2 * half), _eighths(8 * whole + half)
        powers = self.tables["powers"][number]
        if names == ("prob", "true", "said"):
            # The outcome and "p > 0" are 0 or 1: their products with themselves, with each other and with p are known sums.
            both = columns[1].copy()
            both[0] -= self.tables["certain"][number, 1]  # said 0, and came
            return np.stack([powers[13], powers[14], columns[0], columns[1], both, columns[2]]), None
        places = POWERS[names]
        assert places.second is not None and places.third is not None
        return _at(powers, places.second), _at(powers, places.third)


class CellLoop:
    """The cells of all slices while rows come."""

    def __init__(self) -> None:
        self.totals = np.zeros((0, CELLS, 2, 2), np.int64)
        self.only = np.zeros((0, CELLS))
        self.packed, self.mixed = np.zeros((CELLS, 2), np.uint64), np.zeros(CELLS, np.uint8)
        self.early: list[list[Any]] = []
        """Cells that were set aside, by slice."""
        self.since = 0
        """Rows in the cells since then."""
        self._struct = ffi.new("epi_cells *")
        self._struct.packed_slot = -1
        self._kept: list[Any] = []

    def grow(self, room: int) -> None:
        """Make room for more slices."""
        self.totals, self.only = _wider(self.totals, room), _wider(self.only, room, EMPTY)
        self.early += [[] for _ in range(room - len(self.early))]
        self._kept = [write(table) for table in (self.totals, self.only, self.packed, self.mixed)]
        self._struct.slots = room
        self._struct.totals, self._struct.only, self._struct.packed, self._struct.mixed = self._kept

    def add(self, rows: LoopRows, runs: int, start: Any, slot: Any) -> None:
        """Add runs of sound rows."""
        if self.since + rows.n_rows > MOST_CELL_ROWS:  # before a sum inside a cell could leave its integer
            self.early = [[self.summary(number)] for number in range(len(self.early))]
            self.totals[:], self.only[:], self.since = 0, EMPTY, 0
        if lib.epi_add_cells(self._struct, rows.struct, runs, start, slot):
            raise ValueError("slices or bounds of rows that do not fit")
        self.since += rows.n_rows

    def summary(self, number: int) -> Any:
        """The cells of one slice."""
        lib.epi_spill_cells(self._struct)
        now = from_offsets(self.totals[number, :, :, 0], self.totals[number, :, :, 1], self.only[number])
        return reduce(lambda left, right: left.merge(right), self.early[number], now)


def summary_of(recipe: Recipe, view: Binary) -> Any:
    """The summary of one view under one recipe that has a loop."""

    def of_part(rows: slice) -> Any:
        totals = RowTotals([recipe])
        if not totals.add_all(view.true[rows], view.prob[rows]):
            raise UnsoundRowsError
        return totals.summary(recipe)

    return reduce(lambda left, right: left.merge(right), shared(of_part, view.n_rows))


def grouped(
    true: NDArray[Any],
    prob: NDArray[Any],
    code: NDArray[Any],
    n_values: int,
    into_true: NDArray[np.uint8],
    into_prob: NDArray[Any],
) -> Integers:
    """Rows grouped by their code, a missing one (-1) last; gives where each group begins, and where the last ends."""
    rows, codes = LoopRows(true, prob), read(np.ascontiguousarray(code, np.int32))
    start = np.empty(n_values + 2, np.int64)
    single = into_prob.dtype == np.float32
    said = write(into_prob)
    into = write(into_true), NULL if single else said, said if single else NULL
    if lib.epi_group_rows(rows.struct, codes, n_values + 1, write(start), *into):
        raise ValueError("codes of slices that do not exist")
    return start


def repeated(summary: Any, times: int) -> Any:
    """The summary of so many copies of the rows."""
    return type(summary)(
        **{
            field.name: value if field.name == "n_classes" else _copies(value, times)
            for field in fields(summary)
            for value in [getattr(summary, field.name)]
        }
    )


def _copies(value: Any, times: int) -> Any:
    """A total so many times."""
    if value is None or isinstance(value, int | np.ndarray):
        return None if value is None else value * times
    if isinstance(value, Fine):
        return Fine(_copies(value.coarse, times), _copies(value.rest, times), value.deep * times)
    # In Python's integers: steps times rows can need more than 64 bits.
    steps = [
        (u * ONE + s) * times for u, s in zip(value.units.ravel().tolist(), value.steps.ravel().tolist(), strict=True)
    ]
    units, rest = (
        np.array(part, np.int64).reshape(value.units.shape)
        for part in ([s // ONE for s in steps], [s % ONE for s in steps])
    )
    return Fixed(units, rest)


@lru_cache(maxsize=256)
def _certain_row(recipe: Any, prob: float, true: int) -> Any:
    """The summary of one row that is certain."""
    return recipe.by_score(Binary(np.array([true], np.uint8), np.array([prob])))


def _eighths(number: int) -> Integers:
    """A number of eighths as the table of one total."""
    return np.array([[number >> 3, (number & 7) << (STEPS - 3), 0, 0]], np.int64)


def _at(powers: Integers, places: tuple[int, ...]) -> Integers:
    """The sums at these places."""
    found = powers[list(places)]
    if NOTHING in places:
        found[[place == NOTHING for place in places]] = 0
    return found


def _wider(old: NDArray[Any], room: int, fill: Any = 0) -> NDArray[Any]:
    new = np.zeros((room, *old.shape[1:]), old.dtype)
    if np.any(fill):
        new[:] = fill
    if len(old):
        new[: len(old)] = old
    return new


def _add(mine: NDArray[Any], theirs: NDArray[Any], numbers: Integers, pairs: int | None) -> None:
    """Add, then carry from steps to units in the columns from `pairs` on."""
    both = mine[numbers] + theirs[: len(numbers)]
    if pairs is not None:
        both[..., pairs::2] += both[..., pairs + 1 :: 2] >> STEPS
        both[..., pairs + 1 :: 2] &= ONE - 1
    mine[numbers] = both
