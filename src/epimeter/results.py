# SPDX-License-Identifier: Apache-2.0
"""What a metric gives back: a number or named numbers, and beside them all that influenced them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from epimeter.documents.held import Held, Record
from epimeter.documents.sections import Document, Grid, Section


@dataclass(frozen=True, eq=False)
class BinTable:
    """The bins behind a number: borders, rows, mean confidence and frequency; NaN where a bin is empty."""

    edges: NDArray[np.float64] | None
    count: NDArray[np.int64]
    confidence: NDArray[np.float64]
    frequency: NDArray[np.float64]

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, BinTable) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists for JSON; null where a bin is empty."""
        return {
            "edges": None if self.edges is None else self.edges.tolist(),
            "count": self.count.tolist(),
            "confidence": _plain(self.confidence),
            "frequency": _plain(self.frequency),
        }


def _plain(values: NDArray[np.float64]) -> Any:
    if values.ndim > 1:
        return [_plain(row) for row in values]
    return [None if np.isnan(value) else float(value) for value in values]


def bin_table(finished: Any) -> BinTable | None:
    """The bins of a finished summary, if it has any."""
    columns = getattr(finished, "table_columns", None)
    return None if columns is None else BinTable(*columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Where the value of the population may lie.

    `level` is nominal: what a method reaches in truth stands in the table of measured coverage, and in `note` where it
    falls short of it.
    """

    low: float
    high: float
    level: float
    method: str
    units: int | None = None
    """Independent units behind it: rows, or groups of rows."""
    note: str = ""

    @property
    def empty(self) -> bool:
        """Whether it is a single point: rows that are all alike show no spread, and yet tell nothing for certain."""
        return self.high - self.low <= 1e-12 * max(1.0, abs(self.high))

    def holding(self, value: float) -> Interval:
        """The same, widened to hold the value it is of.

        An error overstates on few rows and a basic bootstrap takes that off twice over, so that near zero it can end below the
        value; an interval that leaves out its own value helps nobody. One cut at 0 below a value corrected for bias stays.
        """
        low, high = (self.low if self.low == 0 else min(self.low, value)), max(self.high, value)
        if (low, high) == (self.low, self.high):
            return self
        return replace(self, low=low, high=high, method=f"{self.method}, widened to hold the value")

    def to_dict(self) -> dict[str, Any]:
        made = {"low": plain(self.low), "high": plain(self.high), "level": self.level, "method": self.method}
        if self.units is not None:
            made["units"] = self.units
        return made | ({"note": self.note} if self.note else {})


class Number(float):
    """A float that remembers what it measures.

    Attributes
    ----------
    metric
        The metric's name.
    parameters
        Every parameter that influenced the value, defaults included.
    n_rows
        Rows it was measured on.
    interval
        Where the population's value may lie; None unless it was asked for.
    """

    metric: str
    parameters: Mapping[str, Any]
    n_rows: int
    interval: Interval | None

    def __new__(
        cls,
        value: float,
        metric: str,
        parameters: Mapping[str, Any],
        n_rows: int,
        read: Any,
        interval: Interval | None = None,
    ) -> Self:
        """`read` is the finished summary it was read off, or its table of bins; None where there is none."""
        made = super().__new__(cls, value)
        made.metric, made.parameters, made.n_rows, made._read = metric, parameters, n_rows, read
        made.interval = interval
        return made

    _read: Any

    @property
    def table(self) -> BinTable | None:
        """The bins behind it, made when they are looked at."""
        if not isinstance(self._read, BinTable):
            self._read = bin_table(self._read)
        return self._read

    def __getnewargs__(self) -> Any:
        return float(self), self.metric, self.parameters, self.n_rows, self.table, self.interval

    @property
    def value(self) -> float:
        """The bare number, as on a report's line."""
        return float(self)

    def within(self, interval: Interval | None) -> Number:
        """The same number with an interval beside it."""
        return Number(float(self), self.metric, self.parameters, self.n_rows, self.table, interval)


class Result(Held):
    """Base of named results: frozen dataclasses whose fields are the numbers."""

    metric: str | None = None
    parameters: Mapping[str, Any] | None = None
    n_rows: int | None = None
    table: BinTable | None = None
    interval: Interval | None = None

    def within(self, interval: Interval | None) -> Self:
        """The same result with an interval of its headline beside it."""
        object.__setattr__(self, "interval", interval)
        return self

    def attach(self, metric: str, parameters: Mapping[str, Any], n_rows: int, table: BinTable | None) -> None:
        """Put beside the numbers what influenced them; not fields, so results compare by their numbers."""
        for name, value in (
            ("metric", metric),
            ("parameters", parameters),
            ("n_rows", n_rows),
            ("table", table),
        ):
            object.__setattr__(self, name, value)

    def __getitem__(self, name: str) -> Any:
        if name not in (f.name for f in fields(self)):  # type: ignore[arg-type]
            raise KeyError(name)
        return getattr(self, name)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values for JSON; non-finite numbers as null."""
        return {f.name: plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]

    def __float__(self) -> float:
        return self.headline

    def __getattr__(self, name: str) -> Any:
        # Every result has a value; a field of that name comes before this.
        if name == "value":
            return self.headline
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def records(self) -> list[Record]:
        """The single numbers as one line; arrays stay with the result."""
        made: Record = {} if self.metric is None else {"metric": self.metric}
        made |= {name: value for name, value in self.to_dict().items() if not isinstance(value, list | dict)}
        if self.interval is not None:
            made |= {"low": self.interval.low, "high": self.interval.high, "level": self.interval.level}
        return [made]

    def document(self, *, for_print: bool = False) -> Document:
        (told,) = self.records()
        name = str(told.pop("metric", type(self).__name__))
        rows = tuple((field, cell_text(value)) for field, value in told.items())
        facts = [] if self.n_rows is None else [f"{self.n_rows:,} rows"]
        facts += [f"{key} = {value}" for key, value in (self.parameters or {}).items()]
        return Document(name, ", ".join(facts), (Section(name, (Grid(name, ("", "value"), rows, frozenset({1})),)),))

    __str__ = object.__str__  # a result prints as its fields; frames and files are made of its lines

    def __mul__(self, other: float) -> float:
        """The headline times a number: what a scorer of scikit-learn does with a result."""
        return self.headline * other

    __rmul__ = __mul__

    @property
    def headline(self) -> float:
        """The one number that stands for the result: the field `value`, else the first."""
        names = [f.name for f in fields(self)]  # type: ignore[arg-type]
        return float(getattr(self, "value" if "value" in names else names[0]))


def cell_text(value: Any) -> str:
    """A value for a table: six digits, a dash where it is not there."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


MANY = 64
"""Items from which a list of numbers is looked at as a whole."""


def _all_finite(values: NDArray[Any]) -> bool:
    return values.dtype.kind in "biu" or (values.dtype.kind == "f" and bool(np.isfinite(values).all()))


def stated(value: Any) -> Any:
    """A value for JSON, which has no infinity: the word in its place, so that it is never mistaken for nothing."""
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return plain(value)


def plain(value: Any) -> Any:
    """A value as JSON can hold it: no NaN, no infinities, no arrays."""
    if isinstance(value, np.ndarray):
        return value.tolist() if _all_finite(value) else [plain(item) for item in value.tolist()]
    if isinstance(value, list | tuple):
        if len(value) > MANY and set(map(type, value)) == {float} and np.isfinite(np.array(value)).all():
            return list(value)
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(value) if np.isfinite(value) else None
    return value
