# SPDX-License-Identifier: Apache-2.0
"""The tally of one worker: rows come in batches, totals are kept by slice.

Rows without weights go through the loops of the core, all slices in one call, rows with weights through the core's loop for those,
slice by slice; recipes that have no loop add up themselves. Both give the same totals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError
from epimeter.passes.batch import Batch, SliceCodes
from epimeter.passes.ledger import MOST_CELLS, Ledger, SliceTotals
from epimeter.passes.plan import Plan
from epimeter.passes.stored_rows import RowStore, UniformSample
from epimeter.readers.findings import NOTHING
from epimeter.summaries.cells import Cells
from epimeter.summaries.recipe import Recipe
from epimeter.summaries.row_scores import RowScores
from epimeter.summaries.row_totals import RowTotals, grouped
from epimeter.summaries.weighed_rows import weighed_summaries
from epimeter.views import Binary, View

CHUNK = 1 << 18
"""Rows that a recipe is given at a time."""
GROUPED, MOST_GROUPED = 1 << 18, 1 << 20
"""Rows that are grouped by slice at a time, for few and for many slices: the run of a slice is to be long."""
MOST_SLICES = 50_000
"""Slices a pass may have: each takes some kilobytes."""

Slices = SliceCodes | Any
"""The slice of each row, or one slice for all rows."""


class Tally:
    """Running totals."""

    def __init__(self, plan: Plan, keep: Callable[[int], bool]) -> None:
        """`keep` is told the rows of a batch and says whether rows are still stored."""
        self.plan = plan
        self.keep = keep
        self.states: Literal["event", "answer"] = "answer" if plan.kind == "answer" else "event"
        self.slots: dict[Any, int] = {}
        self.rows: list[int] = []
        """Rows of each slice that no loop has taken."""
        self.ends = np.empty((0, 2))
        self.summaries: list[dict[Recipe, Any]] = []
        """By slice: what the recipes themselves have added up."""
        self.store: RowStore | None = RowStore() if plan.wants_rows else None
        self.samples: list[UniformSample] = []
        self.n_classes = 2
        self.unlabelled = 0
        self.findings = NOTHING
        self.class_counts: list[NDArray[np.int64]] = []
        """By slice: rows of each class, beside class probabilities."""
        self.streaming = plan.streaming
        self.totals: RowTotals | None = None
        """Totals of the recipes that have a loop, once there are rows that a loop takes."""
        self.own_recipes: list[Recipe] = list(self.streaming)
        """Recipes that add up rows without weights themselves."""
        self.code_slots = np.empty(0, np.int64)
        self.code_values: list[Any] = []
        """The values that the present batch codes, and their slots, -1 where none has come."""
        self.grouped_prob, self.grouped_true = np.empty(0), np.empty(0, np.uint8)
        """Room for the rows of one batch grouped by slice; fresh memory would cost more than the grouping."""

    def add(self, batch: Batch) -> None:
        """Add the rows of a batch."""
        self.unlabelled += batch.unlabelled
        self.findings = self.findings.merge(batch.findings)
        if not batch.n_rows:
            return
        plain = batch.weight is None and batch.prob.ndim == 1 and batch.groups is None and batch.features is None
        if plain and batch.true.dtype == np.uint8 and batch.prob.dtype in (np.float64, np.float32):
            # The loops check such rows themselves.
            rows: View = Binary(batch.true, batch.prob, states=self.states)
            if not self._add_by_loop(rows, rows.event, batch.slices):
                batch.view()  # says which row is at fault, and where
                raise InputError(f"outcomes must be 0 or 1 and confidences probabilities ({batch.source})")
        else:
            rows = batch.view()
            self.add_view(rows, rows.event, batch.slices)
            if rows.kind == "classes":
                self._count_classes(rows, batch.slices)
        if self.store is not None or self.plan.sample is not None:
            self._store(batch, rows)

    def add_view(self, rows: View, event: Binary, slices: Slices = None) -> None:
        """Add rows that have been checked; `event` is how they are read where one number a row is asked for."""
        self.n_classes = rows.n_classes
        if rows.weight is None:
            if not self._add_by_loop(rows, event, slices):
                raise ValueError("a view that is not sound")
            return
        for number, part in self._parts(rows, slices):
            self.rows[number] += part.n_rows
            prob = part.event.prob
            self.ends[number] = min(self.ends[number, 0], prob.min()), max(self.ends[number, 1], prob.max())
            for chunk in part.chunks(CHUNK):
                self._summarise(number, chunk, self._weigh(number, chunk))

    def _count_classes(self, rows: View, slices: Slices) -> None:
        """Add up how common each class is."""
        if isinstance(slices, SliceCodes):
            code = np.asarray(slices.code)
            parts = [
                (self.slot(None if k < 0 else slices.values[k]), rows.true[code == k]) for k in np.unique(code).tolist()
            ]
        else:
            parts = [(self.slot(slices), rows.true)]
        for number, true in parts:
            self._add_classes(number, np.bincount(true, minlength=rows.n_classes))

    def _add_classes(self, number: int, counts: NDArray[np.int64]) -> None:
        known = self.class_counts[number]
        self.class_counts[number] = known + counts if len(known) and len(counts) else known if len(known) else counts

    def _weigh(self, number: int, chunk: View) -> list[Recipe]:
        """Add rows with weights by the loop of the core; the recipes that it does not serve are left."""
        if not isinstance(chunk, Binary):
            return list(self.streaming)
        made = weighed_summaries(chunk, [recipe for recipe in self.streaming if self._by_loop(recipe)])
        totals = self.summaries[number]
        for recipe, summary in made.items():
            totals[recipe] = summary if recipe not in totals else totals[recipe].merge(summary)
        return [recipe for recipe in self.streaming if recipe not in made]

    def _loops(self) -> RowTotals:
        if self.totals is None:
            self.totals = RowTotals(recipe for recipe in self.streaming if self._by_loop(recipe))
            self.totals.grow(len(self.slots))
            self.own_recipes = [recipe for recipe in self.streaming if recipe not in self.totals.recipes]
        return self.totals

    def _by_loop(self, recipe: Recipe) -> bool:
        """Whether a loop adds up what the recipe reads: one number a row, which is the event itself."""
        if recipe.reading == "event":
            return True
        if recipe.reading == "answer":
            return self.plan.kind != "event"
        return recipe.reading == "given" and not self.plan.matrix

    def _add_by_loop(self, rows: View, event: Binary, slices: Slices) -> bool:
        """Add rows without weights; False when a row is not sound: then no total is right."""
        loops = self._loops()
        step = CHUNK
        if isinstance(slices, SliceCodes):
            step = GROUPED if 1024 * len(slices.values) <= GROUPED else MOST_GROUPED
            step = -(-event.n_rows // -(-event.n_rows // step))  # parts of one size: a short one has short runs
            if slices.values != self.code_values:
                self.code_values = list(slices.values)
                self.code_slots = np.full(len(self.code_values) + 1, -1)  # code -1, a missing slice, is the last entry
        for begin in range(0, event.n_rows, step):
            some = slice(begin, begin + step)
            true, prob, start, slot = self._grouped(event.true[some], event.prob[some], slices, some)
            if not loops.add(true, prob, start, slot):
                return False
            if not self.own_recipes:
                continue
            if rows is event:
                self._add_by_recipe(Binary(true, prob, states=event.states), start, slot)
            else:
                for number, part in self._parts(rows.take(some), _some(slices, some)):
                    self._summarise(number, part, self.own_recipes)
        return True

    def _grouped(
        self, true: NDArray[Any], prob: NDArray[Any], slices: Slices, rows: slice
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
        """Rows grouped by slice, where each run begins, and the slot of its slice."""
        if not isinstance(slices, SliceCodes):
            return true, prob, np.array([0, len(prob)]), np.array([self.slot(slices)])
        n_values = len(slices.values)
        if len(self.grouped_prob) < len(prob) or self.grouped_prob.dtype != prob.dtype:
            self.grouped_prob, self.grouped_true = np.empty(len(prob), prob.dtype), np.empty(len(prob), np.uint8)
        into_true, into_prob = self.grouped_true[: len(prob)], self.grouped_prob[: len(prob)]
        start = grouped(true, prob, slices.code[rows], n_values, into_true, into_prob)
        filled = np.flatnonzero(np.diff(start))
        for k in filled[self.code_slots[filled] < 0].tolist():
            self.code_slots[k] = self.slot(slices.values[k] if k < n_values else None)
        return into_true, into_prob, np.append(start[filled], len(true)), self.code_slots[filled]

    def slot(self, value: Any) -> int:
        """The number of a slice; a new one gets the next."""
        known = self.slots.get(value)
        if known is not None:
            return known
        if len(self.slots) >= MOST_SLICES:
            raise InputError(
                f"by={self.plan.by!r} must have at most {MOST_SLICES:,} different values; it has more. "
                "Slice by something coarser",
                field="by",
            )
        number = self.slots[value] = len(self.slots)
        self.rows.append(0)
        self.summaries.append({})
        self.class_counts.append(np.empty(0, np.int64))
        if self.plan.sample is not None:
            self.samples.append(UniformSample(self.plan.sample, self.plan.seed))
        if self.totals is not None:
            self.totals.grow(number + 1)
        if number >= MOST_CELLS and Cells() in self.streaming:
            self._drop_cells()
        if number >= len(self.ends):
            more = np.full((max(1, len(self.ends)), 2), np.array([2.0, -1.0]))
            self.ends = np.concatenate([self.ends, more])
        return number

    def _drop_cells(self) -> None:
        """Too many slices for cells of their own; the report says so."""
        self.streaming = tuple(recipe for recipe in self.streaming if recipe != Cells())
        self.own_recipes = [recipe for recipe in self.own_recipes if recipe != Cells()]
        for totals in self.summaries:
            totals.pop(Cells(), None)
        if self.totals is not None and self.totals.cells is not None:
            self.totals.drop_cells()

    def _parts(self, rows: View, slices: Slices) -> Iterable[tuple[int, View]]:
        if not isinstance(slices, SliceCodes):
            return [(self.slot(slices), rows)]
        code = np.asarray(slices.code)
        return [
            (self.slot(None if k < 0 else slices.values[k]), rows.take(np.flatnonzero(code == k)))
            for k in np.unique(code).tolist()
        ]

    def _add_by_recipe(self, rows: Binary, start: NDArray[np.int64], slot: NDArray[np.int64]) -> None:
        for run, number in enumerate(slot.tolist()):
            part = rows if len(slot) == 1 else rows.take(slice(int(start[run]), int(start[run + 1])))
            self._summarise(number, part, self.own_recipes)

    def _summarise(self, number: int, part: View, recipes: Iterable[Recipe]) -> None:
        totals, scores = self.summaries[number], RowScores()
        for recipe in recipes:
            summary = recipe.summarise_beside(part.read_as(recipe.reading), scores)
            totals[recipe] = summary if recipe not in totals else totals[recipe].merge(summary)

    def _store(self, batch: Batch, rows: View) -> None:
        """Store the rows while they may be stored, and draw from them if a sample was asked for."""
        if self.store is not None:
            if self.keep(batch.n_rows):
                for number, part in self._parts(rows, batch.slices):
                    self.store.add(batch.order, number, part)
            else:
                self.store = None
        if self.plan.sample is not None:
            place = batch.places
            if not isinstance(batch.slices, SliceCodes):
                self.samples[self.slot(batch.slices)].add(rows, place)
                return
            code = np.asarray(batch.slices.code)
            for k in np.unique(code).tolist():
                some = np.flatnonzero(code == k)
                value = None if k < 0 else batch.slices.values[k]
                self.samples[self.slot(value)].add(rows.take(some), place[some])

    def absorb(self, other: Tally) -> None:
        """Add what another worker has gathered."""
        self.unlabelled += other.unlabelled
        self.findings = self.findings.merge(other.findings)
        if not other.slots:
            return
        self.n_classes = other.n_classes
        numbers = np.array([self.slot(value) for value in other.slots], np.int64)
        if other.totals is not None:
            self._loops().absorb(other.totals, numbers)
        for theirs, mine in enumerate(numbers.tolist()):
            self.rows[mine] += other.rows[theirs]
            self._add_classes(mine, other.class_counts[theirs])
            low, high = other.ends[theirs]
            self.ends[mine] = min(self.ends[mine, 0], low), max(self.ends[mine, 1], high)
            for recipe, summary in other.summaries[theirs].items():
                known = self.summaries[mine].get(recipe)
                self.summaries[mine][recipe] = summary if known is None else known.merge(summary)
            if self.plan.sample is not None:
                self.samples[mine] = self.samples[mine].merge(other.samples[theirs])
            if self.store is not None and other.store is not None:
                self.store.runs[mine] = self.store.runs[mine].merge(other.store.runs[theirs])
        if other.store is None:
            self.store = None

    def ledger(self) -> Ledger:
        """What was gathered; a summary is made when it is first asked for."""
        slices = {}
        for value, number in self.slots.items():
            low, high = self.ends[number]
            by_loop = 0
            if self.totals is not None:
                by_loop = int(self.totals.rows[number])
                low, high = min(low, self.totals.ends[number, 0]), max(high, self.totals.ends[number, 1])
            n_rows = self.rows[number] + by_loop
            slices[value] = SliceTotals(
                n_rows=n_rows,
                low=float(low),
                high=float(high),
                totals=Lazily(self.streaming if n_rows else (), partial(self._summary, number)),
                rows=None if self.store is None else self.store.runs[number],
                sample=self.samples[number] if self.plan.sample is not None else None,
                class_counts=tuple(self.class_counts[number].tolist()),
            )
        return Ledger(
            self.plan, slices, n_classes=self.n_classes, unlabelled=self.unlabelled, findings=self.findings
        ).settled()

    def _summary(self, number: int, recipe: Recipe) -> Any:
        own = self.summaries[number].get(recipe)
        if self.totals is None or recipe not in self.totals.recipes or not self.totals.rows[number]:
            return own
        by_loop = self.totals.summary(recipe, number)
        return by_loop if own is None else own.merge(by_loop)


def _some(slices: Slices, rows: slice) -> Slices:
    """The slices of some of the rows."""
    return SliceCodes(code=slices.code[rows], values=slices.values) if isinstance(slices, SliceCodes) else slices


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
