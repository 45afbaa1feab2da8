# SPDX-License-Identifier: Apache-2.0
"""The tally of one worker: rows come in pieces, totals are kept by slice.

Rows without weights and with one probability each go through the loops of the core, all slices in one call; other rows, and
recipes that have no loop, go through the recipe itself. Both give the same integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError
from epimeter.scale.kept import Kept, Sample
from epimeter.scale.ledger import MOST_CELLS, Ledger, Share
from epimeter.scale.piece import Coded, Piece
from epimeter.scale.plan import Plan
from epimeter.summaries.cells import Cells
from epimeter.summaries.recipe import Recipe
from epimeter.summaries.row_totals import RowTotals, grouped
from epimeter.views import Binary, View

CHUNK = 1 << 18
"""Rows that a recipe is given at a time."""
GROUPED, MOST_GROUPED = 1 << 18, 1 << 20
"""Rows that are grouped by slice at a time, for few and for many slices: the run of a slice is to be long."""
MOST_SLICES = 50_000
"""Slices a pass may have: each takes some kilobytes."""


class Tally:
    """Running totals."""

    def __init__(self, plan: Plan, keep: Callable[[int], bool]) -> None:
        """`keep` is told the rows of a piece and says whether rows are still kept."""
        self.plan = plan
        self.keep = keep
        self.states: Literal["event", "answer"] = "answer" if plan.kind == "answer" else "event"
        self.slots: dict[Any, int] = {}
        self.rows: list[int] = []
        """Rows of each slice that no loop has taken."""
        self.ends = np.empty((0, 2))
        self.cold: list[dict[Recipe, Any]] = []
        self.kept: Kept | None = Kept() if plan.wants_rows else None
        self.samples: list[Sample] = []
        self.n_classes = 2
        self.unlabelled = 0
        self.looped: RowTotals | None = None
        """Totals of the recipes that have a loop, once there are rows that a loop takes."""
        self.known = np.empty(0, np.int64)
        self.values: list[Any] = []
        """The values that the present piece codes, and their slots, -1 where none has come."""
        self.spread, self.spread_true = np.empty(0), np.empty(0, np.uint8)
        """Room for the rows of one piece grouped by slice; fresh memory would cost more than the grouping."""
        self.streaming = plan.streaming
        self.cold_recipes: list[Recipe] = list(plan.streaming)

    def add(self, piece: Piece) -> None:
        """Add the rows of a piece."""
        self.unlabelled += piece.unlabelled
        if not piece.n_rows:
            return
        plain = piece.weight is None and piece.prob.ndim == 1 and piece.groups is None and piece.features is None
        if plain and piece.true.dtype == np.uint8 and piece.prob.dtype in (np.float64, np.float32):
            self._add_plain(piece)
        else:
            self._add_view(piece, piece.view())

    def _loops(self) -> RowTotals:
        if self.looped is None:
            self.looped = RowTotals(self.streaming)
            self.looped.grow(len(self.slots))
            self.cold_recipes = [recipe for recipe in self.streaming if recipe not in self.looped.recipes]
        return self.looped

    def _add_plain(self, piece: Piece) -> None:
        loops = self._loops()
        step = CHUNK
        if isinstance(piece.slices, Coded):
            step = GROUPED if 1024 * len(piece.slices.values) <= GROUPED else MOST_GROUPED
            step = -(-piece.n_rows // -(-piece.n_rows // step))  # parts of one size: a short one has short runs
            if piece.slices.values != self.values:
                self.values = list(piece.slices.values)
                self.known = np.full(len(self.values) + 1, -1)  # code -1, a missing slice, is the last entry
        for begin in range(0, piece.n_rows, step):
            rows = slice(begin, begin + step)
            true, prob = piece.true[rows], piece.prob[rows]
            true, prob, start, slot = self._grouped(piece, rows, true, prob)
            if not loops.add(true, prob, start, slot):
                piece.view()  # says which row is at fault, and where
                raise InputError(f"outcomes must be 0 or 1 and confidences probabilities ({piece.source})")
            if self.cold_recipes:
                self._add_cold(Binary(true, prob, states=self.states), start, slot)
        if self.kept is not None or self.plan.sample is not None:
            self._remember(piece, Binary(piece.true, piece.prob, states=self.states))

    def _grouped(
        self, piece: Piece, rows: slice, true: NDArray[Any], prob: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
        """Rows grouped by slice, where each run begins, and the slot of its slice."""
        if not isinstance(piece.slices, Coded):
            return true, prob, np.array([0, len(prob)]), np.array([self.slot(piece.slices)])
        coded = piece.slices
        n_values = len(coded.values)
        if len(self.spread) < len(prob) or self.spread.dtype != prob.dtype:
            self.spread, self.spread_true = np.empty(len(prob), prob.dtype), np.empty(len(prob), np.uint8)
        into_true, into_prob = self.spread_true[: len(prob)], self.spread[: len(prob)]
        start = grouped(true, prob, coded.code[rows], n_values, into_true, into_prob)
        some = np.flatnonzero(np.diff(start))
        for k in some[self.known[some] < 0].tolist():
            self.known[k] = self.slot(coded.values[k] if k < n_values else None)
        return into_true, into_prob, np.append(start[some], len(true)), self.known[some]

    def slot(self, value: Any) -> int:
        """The number of a slice; a new one gets the next."""
        found = self.slots.get(value)
        if found is not None:
            return found
        if len(self.slots) >= MOST_SLICES:
            raise InputError(
                f"by={self.plan.by!r} must have at most {MOST_SLICES:,} different values; it has more. "
                "Slice by something coarser",
                field="by",
            )
        number = self.slots[value] = len(self.slots)
        self.rows.append(0)
        self.cold.append({})
        if self.plan.sample is not None:
            self.samples.append(Sample(self.plan.sample, self.plan.seed))
        if self.looped is not None:
            self.looped.grow(number + 1)
        if number >= MOST_CELLS and Cells() in self.streaming:
            self._drop_cells()
        if number >= len(self.ends):
            more = np.full((max(1, len(self.ends)), 2), np.array([2.0, -1.0]))
            self.ends = np.concatenate([self.ends, more])
        return number

    def _drop_cells(self) -> None:
        """Too many slices for cells of their own; the report says so."""
        self.streaming = tuple(recipe for recipe in self.streaming if recipe != Cells())
        self.cold_recipes = [recipe for recipe in self.cold_recipes if recipe != Cells()]
        for totals in self.cold:
            totals.pop(Cells(), None)
        if self.looped is not None and self.looped.cells is not None:
            self.looped.drop_cells()

    def _add_view(self, piece: Piece, given: View) -> None:
        """Rows that no loop takes: recipe by recipe, slice by slice."""
        self.n_classes = given.n_classes
        for number, part in self._parts(piece, given):
            self.rows[number] += part.n_rows
            prob = part.event.prob
            self.ends[number] = min(self.ends[number, 0], prob.min()), max(self.ends[number, 1], prob.max())
            for chunk in part.chunks(CHUNK):
                self._merge(number, chunk, self.streaming)
        if self.kept is not None or self.plan.sample is not None:
            self._remember(piece, given)

    def _parts(self, piece: Piece, given: View) -> Iterable[tuple[int, View]]:
        if not isinstance(piece.slices, Coded):
            return [(self.slot(piece.slices), given)]
        values = piece.slices.values
        code = np.asarray(piece.slices.code)
        return [
            (self.slot(None if k < 0 else values[k]), given.take(np.flatnonzero(code == k)))
            for k in np.unique(code).tolist()
        ]

    def _add_cold(self, rows: Binary, start: NDArray[np.int64], slot: NDArray[np.int64]) -> None:
        for run, number in enumerate(slot.tolist()):
            part = rows if len(slot) == 1 else rows.take(slice(int(start[run]), int(start[run + 1])))
            self._merge(number, part, self.cold_recipes)

    def _merge(self, number: int, part: View, recipes: Iterable[Recipe]) -> None:
        totals = self.cold[number]
        for recipe in recipes:
            made = recipe.summarise(part.read_as(recipe.reading))
            totals[recipe] = made if recipe not in totals else totals[recipe].merge(made)

    def _remember(self, piece: Piece, given: View) -> None:
        """Keep the rows while they may be kept, and draw from them if a sample was asked for."""
        if self.kept is not None:
            if self.keep(piece.n_rows):
                for number, part in self._parts(piece, given):
                    self.kept.add(piece.order, number, part)
            else:
                self.kept = None
        if self.plan.sample is not None:
            place = piece.places
            if not isinstance(piece.slices, Coded):
                self.samples[self.slot(piece.slices)].add(given, place)
                return
            code = np.asarray(piece.slices.code)
            for k in np.unique(code).tolist():
                some = np.flatnonzero(code == k)
                value = None if k < 0 else piece.slices.values[k]
                self.samples[self.slot(value)].add(given.take(some), place[some])

    def absorb(self, other: Tally) -> None:
        """Add what another worker has gathered."""
        self.unlabelled += other.unlabelled
        if not other.slots:
            return
        self.n_classes = other.n_classes
        numbers = np.array([self.slot(value) for value in other.slots], np.int64)
        if other.looped is not None:
            self._loops().absorb(other.looped, numbers)
        for theirs, mine in enumerate(numbers.tolist()):
            self.rows[mine] += other.rows[theirs]
            low, high = other.ends[theirs]
            self.ends[mine] = min(self.ends[mine, 0], low), max(self.ends[mine, 1], high)
            for recipe, summary in other.cold[theirs].items():
                known = self.cold[mine].get(recipe)
                self.cold[mine][recipe] = summary if known is None else known.merge(summary)
            if self.plan.sample is not None:
                self.samples[mine] = self.samples[mine].merge(other.samples[theirs])
            if self.kept is not None and other.kept is not None:
                self.kept.runs[mine] = self.kept.runs[mine].merge(other.kept.runs[theirs])
        if other.kept is None:
            self.kept = None

    def ledger(self) -> Ledger:
        """What was gathered; a summary is made when it is first asked for."""
        shares = {}
        for value, number in self.slots.items():
            low, high = self.ends[number]
            looped = 0
            if self.looped is not None:
                looped = int(self.looped.rows[number])
                low, high = min(low, self.looped.ends[number, 0]), max(high, self.looped.ends[number, 1])
            n_rows = self.rows[number] + looped
            shares[value] = Share(
                n_rows=n_rows,
                low=float(low),
                high=float(high),
                totals=Lazily(self.streaming if n_rows else (), partial(self._summary, number)),
                kept=None if self.kept is None else self.kept.runs[number],
                sample=self.samples[number] if self.plan.sample is not None else None,
            )
        return Ledger(self.plan, shares, n_classes=self.n_classes, unlabelled=self.unlabelled).settled()

    def _summary(self, number: int, recipe: Recipe) -> Any:
        cold = self.cold[number].get(recipe)
        if self.looped is None or recipe not in self.looped.recipes or not self.looped.rows[number]:
            return cold
        looped = self.looped.summary(recipe, number)
        return looped if cold is None else cold.merge(looped)


class Lazily(Mapping[Recipe, Any]):
    """Summaries by recipe, each made when it is first asked for: most slices are never looked at."""

    def __init__(self, recipes: Iterable[Recipe], make: Callable[[Recipe], Any]) -> None:
        self._recipes = dict.fromkeys(recipes)
        self._make = make
        self._made: dict[Recipe, Any] = {}

    def __getitem__(self, recipe: Recipe) -> Any:
        if recipe not in self._made:
            if recipe not in self._recipes:
                raise KeyError(recipe)
            self._made[recipe] = self._make(recipe)
        return self._made[recipe]

    def __iter__(self) -> Iterator[Recipe]:
        return iter(self._recipes)

    def __len__(self) -> int:
        return len(self._recipes)

    def __reduce__(self) -> Any:
        return dict, (dict(self),)
