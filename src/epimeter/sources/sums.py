# SPDX-License-Identifier: Apache-2.0
"""The result of `sums_query` into a ledger: totals that a database has added up, as if a pass had."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from epimeter.errors import ReadError
from epimeter.passes.ledger import Ledger, SliceTotals, joined
from epimeter.passes.plan import Plan
from epimeter.sources.sums_query import (
    BINS,
    LOGARITHMIC,
    MOMENT_BINS,
    MOMENTS,
    PLAIN,
    POWERS,
    SUMS,
    TOLD,
    UNLABELLED,
    UNSOUND,
    USUAL,
    VERSION,
)
from epimeter.summaries import row_totals
from epimeter.summaries.fixed import ONE, STEPS
from epimeter.summaries.row_totals import RowTotals
from epimeter.summaries.unusual_rows import BUNDLE

FACTS = ("epimeter_sums", "state", "y", "bin_10", "bin_15", "confidence", "row_count", "low", "high")
Place = tuple[str, tuple[int, ...]]
"""A table of `RowTotals`, and a place in it."""


def sums_files(paths: Sequence[str]) -> Ledger:
    """The ledger of files that hold results of the query: CSV, JSON, NDJSON or Parquet."""
    return joined(from_sums(_lines(Path(path)), path) for path in paths)


def _lines(path: Path) -> list[dict[str, Any]]:
    try:
        if path.suffix == ".parquet":
            from pyarrow import parquet

            found: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
            return found
        text = path.read_text(encoding="utf-8-sig")
        if text.lstrip()[:1] in ("[", "{"):
            made = (
                json.loads(text)
                if text.lstrip()[0] == "["
                else [json.loads(line) for line in text.splitlines() if line]
            )
            if all(isinstance(line, dict) for line in made):
                return list(made)
            raise ValueError("lines that are no objects")
        return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    except (ValueError, csv.Error) as fault:
        raise ReadError(f"{path} cannot be read as the result of a query ({str(fault).splitlines()[0]:.80})") from None


def from_sums(lines: Iterable[Mapping[str, Any]], name: str) -> Ledger:
    """The ledger of the lines that the query gave, whatever order they are in.

    Parameters
    ----------
    lines
        One mapping a line, from the query's columns to numbers or their text.
    name
        What the lines were read from, for messages and the report.
    """
    found = [{key.lower(): value for key, value in line.items()} for line in lines]
    if not found:
        raise ReadError(f"{name} has no lines; the query gives at least one where the table has rows")
    missing = [column for column in (*FACTS, *SUMS, *(f"{sum}_rest" for sum in SUMS)) if column not in found[0]]
    if missing:
        raise ReadError(f"{name} must be the result of a query of epimeter sql; it has no column {missing[0]!r}")
    version, _, kind = str(found[0]["epimeter_sums"]).partition(" ")
    if version != VERSION or kind not in ("event", "answer"):
        raise ReadError(
            f"{name} is of version {version!r:.20} of such sums, this epimeter reads {VERSION}; query again"
        )
    by = found[0].get("slice_of")
    plan = Plan.of(None, {}, kind=kind, weighted=False, by=by, row_limit=0).without_rows()  # type: ignore[arg-type]
    slices: dict[Any, _Slice] = defaultdict(lambda: _Slice(plan))
    unlabelled = unsound = 0
    for place, line in enumerate(found):
        try:
            state, rows = _whole(line["state"]), _whole(line["row_count"])
            if state == UNLABELLED:
                unlabelled += rows
            elif state == UNSOUND:
                unsound += rows
            else:
                slices[_text(line.get("slice"))].add(line, state, rows)
        except (TypeError, ValueError, KeyError, IndexError) as fault:
            raise ReadError(
                f"line {place + 1} of {name} is not what the query gives ({fault}); whole numbers must be whole: export text, "
                "not rounded numbers"
            ) from None
    if unsound:
        raise ReadError(
            f"confidences must lie in [0, 1] and outcomes be 0 or 1; {unsound:,} rows behind {name} are otherwise"
        )
    totals = {value: made.slice_totals() for value, made in slices.items()}
    source = {"name": name, "notes": ["totals were added up by a database"]}
    return Ledger(plan, totals, unlabelled=unlabelled, source=source)


def _whole(value: Any) -> int:
    """A whole number, however it was exported; 12.0 is one, 1e20 has lost its digits."""
    if isinstance(value, int):
        return value
    text = str(value).strip()
    return int(text.removesuffix(".0"))


def _text(value: Any) -> Any:
    return value if value is None or isinstance(value, int | float) else (str(value) or None)


class _Slice:
    """The totals of one slice, as whole numbers of any size."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.totals = RowTotals(plan.streaming)
        self.totals.grow(1)
        self.counts: dict[Place, int] = defaultdict(int)
        self.steps: dict[Place, int] = defaultdict(int)
        """Sums in steps of 2^-44: the totals keep each as units and steps, this place and the next."""
        self.rows = 0
        self.low, self.high = 2.0, -1.0

    def add(self, line: Mapping[str, Any], state: int, rows: int) -> None:
        """The rows of one line."""
        y = _whole(line["y"])
        if y not in (0, 1) or rows < 1 or state not in (USUAL, TOLD):
            raise ValueError(f"state {state}, outcome {y}, {rows} rows")
        self.rows += rows
        self.low, self.high = min(self.low, float(line["low"])), max(self.high, float(line["high"]))
        if state == TOLD:
            self._add_told(float(line["confidence"]), y, rows, line)
            return
        sums = {name: (_whole(line[name]), _whole(line[f"{name}_rest"])) for name in SUMS}
        self._put("rows", (0,), [rows, rows, rows])
        self._put("counts", (0,), [y * rows, rows, 0, 0, 0])
        bins, moments = (0, _whole(line["bin_10"])), (0, _whole(line["bin_15"]))
        if not (0 <= bins[1] < BINS and 0 <= moments[1] < MOMENT_BINS):
            raise ValueError(f"bins {bins[1]} and {moments[1]}")
        self._put("bins", bins, [rows, y * rows])
        self._put_pairs("bins", bins, 2, [sums["p"][0]])
        self._put("moments", moments, [rows, y * rows])
        self._put_pairs("moments", moments, 2, [part for name in MOMENTS for part in sums[name]])
        for table, places in (
            ("plain", [PLAIN[name] for name in row_totals.PLAIN]),
            ("logs", [LOGARITHMIC.get(name) for name in row_totals.LOGARITHMIC]),
            ("powers", POWERS),
        ):
            for place, name in enumerate(places):
                if name is not None:
                    self._put_pairs(table, (0, place), 0, list(sums[name]))

    def _add_told(self, prob: float, y: int, rows: int, line: Mapping[str, Any]) -> None:
        """Rows of one confidence: the core's totals of one of them, as often as it came."""
        one = RowTotals(self.plan.streaming)
        true, said = np.array([y], np.uint8), np.array([prob])
        if not one.add_all(true, said):
            raise ValueError(f"confidence {prob}")
        units, steps = one.moments[MOMENT_BINS][0, :, 2:4].sum(axis=0).tolist()
        if _whole(line["p"]) != rows * (units * ONE + steps):  # the database summed it before it was exported
            raise ValueError(f"confidence {prob} has lost digits")
        for table in ("rows", "counts", "certain"):
            self._put(table, (0,), (one.tables[table][0].astype(object) * rows).tolist())
        for table, array, pairs in (
            ("plain", one.tables.get("plain"), 0),
            ("logs", one.tables.get("logs"), 0),
            ("powers", one.tables.get("powers"), 0),
            ("bins", one.bins[BINS], 2),
            ("moments", one.moments[MOMENT_BINS], 2),
        ):
            if array is None:
                continue
            for place in np.argwhere(array.any(axis=2)).tolist():
                values = array[tuple(place)].astype(object).tolist()
                self._put(table, tuple(place), [value * rows for value in values[:pairs]])
                steps_of = [values[k] * ONE + values[k + 1] for k in range(pairs, len(values), 2)]
                self._put_pairs(table, tuple(place), pairs, [value * rows for value in steps_of])
        if one.unusual[0].rows:
            for begin in range(0, rows, BUNDLE):
                some = min(BUNDLE, rows - begin)
                self.totals.unusual[0].add(np.repeat(true, some), np.repeat(said, some), self.totals.scores)

    def _put(self, table: str, place: tuple[int, ...], values: list[int]) -> None:
        """Add counts, from the first column on."""
        for column, value in enumerate(values):
            self.counts[table, (*place, column)] += value

    def _put_pairs(self, table: str, place: tuple[int, ...], first: int, steps: list[int]) -> None:
        """Add sums, each of two columns."""
        for number, value in enumerate(steps):
            self.steps[table, (*place, first + 2 * number)] += value

    def slice_totals(self) -> SliceTotals:
        """What a ledger keeps of the slice."""
        arrays = {**self.totals.tables, "bins": self.totals.bins[BINS], "moments": self.totals.moments[MOMENT_BINS]}
        for (table, place), value in self.counts.items():
            arrays[table][place] = value
        for (table, (*where, column)), value in self.steps.items():
            arrays[table][(*where, column)] = value >> STEPS
            arrays[table][(*where, column + 1)] = value & (ONE - 1)
        totals = {recipe: self.totals.summary(recipe) for recipe in self.plan.streaming}
        return SliceTotals(self.rows, self.low, self.high, totals)
