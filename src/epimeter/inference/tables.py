# SPDX-License-Identifier: Apache-2.0
"""What comparisons and tests give back: tuples of findings that print, become frames, and save themselves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from epimeter.documents.held import Held, Record
from epimeter.documents.sections import Block, Document, Grid, Items, Paragraph, Section
from epimeter.errors import EpimeterError
from epimeter.kinds import WORDING, Kind
from epimeter.results import Interval, cell_text, stated

T = TypeVar("T")


def of_kind(kind: Kind) -> dict[str, Any]:
    """The kind of forecast, as a fact and in words."""
    return {"kind": kind, "states": WORDING[kind].what}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One test of perfect calibration."""

    metric: str
    value: float
    p_value: float
    adjusted: float
    reject: bool
    method: str
    lower: float | None = None
    """Below this the test by itself rejects at alpha; None where it does not look that way, or has no such value."""
    upper: float | None = None
    """Above this the test by itself rejects at alpha."""

    def to_dict(self) -> dict[str, Any]:
        return {name: stated(getattr(self, name)) for name in self.__dataclass_fields__}

    @property
    def threshold(self) -> str:
        """The critical values as a table shows them."""
        return ", ".join(cell_text(value) for value in (self.lower, self.upper) if value is not None) or "–"


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How two models differ in one metric; positive: the first has the larger value."""

    first: str
    second: str
    metric: str
    value_first: float
    value_second: float
    value: float
    """NaN where both are infinite."""
    interval: Interval
    p_value: float
    """NaN where a value is infinite: no replicate says how far apart the models are then."""
    adjusted: float
    reject: bool
    method: str
    better: str
    """The model with the better value, where the test rejects and the interval leaves out 0 as well; else empty.

    Swapping tests whether the models are exchangeable; two of them can be told apart and still be equally calibrated.
    """

    def to_dict(self) -> dict[str, Any]:
        made = {name: stated(getattr(self, name)) for name in self.__dataclass_fields__ if name != "interval"}
        return made | {"interval": self.interval.to_dict()}


class Lines(Held, tuple[T, ...]):
    """CalibrationTests in a row, and beside them what holds for all of them."""

    facts: dict[str, Any]
    notes: tuple[str, ...]

    def __new__(cls, found: Iterable[T], *, notes: tuple[str, ...] = (), **facts: Any) -> Self:
        made = super().__new__(cls, found)
        made.facts, made.notes = facts, notes
        return made

    def told(self, *notes: str, **facts: Any) -> Self:
        """The same lines with further facts before theirs, and further sentences after them."""
        return type(self)(self, notes=(*self.notes, *notes), **(facts | self.facts))

    def __reduce__(self) -> Any:
        return _again, (type(self), tuple(self), self.notes, self.facts)

    def __repr__(self) -> str:
        return f"{type(self).__name__}{tuple(self)!r}"

    @property
    def names(self) -> tuple[Any, ...]:
        """What each line is called, by which it is found too."""
        raise NotImplementedError

    def keys(self) -> tuple[Any, ...]:
        """The names of the lines, in their order."""
        return self.names

    def items(self) -> tuple[tuple[Any, T], ...]:
        """Every line with its name."""
        return tuple(zip(self.names, self, strict=True))

    def values(self) -> tuple[T, ...]:
        """The lines."""
        return tuple(self)

    def get(self, name: Any, default: Any = None) -> Any:
        """The line of that name; `default` where there is none."""
        place = self._place(name)
        return default if place is None else self[place]

    def __contains__(self, name: object) -> bool:
        return self._place(name) is not None or super().__contains__(name)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, str | tuple):
            known = self._place(place)
            if known is None:
                raise KeyError(place)
            return super().__getitem__(known)
        return super().__getitem__(place)

    def _place(self, name: object) -> int | None:
        """Where the line of that name stands; metrics go by every name that people have for them."""
        names = self.names
        if name in names:
            return names.index(name)
        known = _known(name)
        return names.index(known) if known in names else None

    @property
    def subtitle(self) -> str:
        """What holds for all, in one line; what is no single value stays in the JSON."""
        single = {name: value for name, value in self.facts.items() if isinstance(value, int | float | str)}
        words = {
            name: f"{name} {value:,}" if isinstance(value, int) else f"{name} {value}" for name, value in single.items()
        }
        words |= {name: str(single[name]) for name in ("source", "states", "rows") if name in single}
        said_otherwise = {"kind"} | ({"n_rows", "n_units"} if "rows" in single else set())
        return " · ".join(word for name, word in words.items() if name not in said_otherwise)

    @property
    def on_top(self) -> tuple[Block, ...]:
        """How the rows were read."""
        return (Items(tuple(self.facts["remarks"])),) if self.facts.get("remarks") else ()

    @property
    def at_the_end(self) -> tuple[Section, ...]:
        """What the rows look like besides what they were said to be."""
        mind = self.facts.get("cautions")
        return (Section("Mind when reading the numbers", (Items(tuple(mind), "mind"),)),) if mind else ()


class CalibrationTests(Lines[Finding]):
    """Several tests of perfect calibration, their p-values adjusted for how many they are; found by the names of metrics."""

    painter = "epimeter.draw.tested:tested"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(finding.metric for finding in self)

    def to_dict(self) -> dict[str, Any]:
        return self.facts | {"calibration": [finding.to_dict() for finding in self]}

    def records(self) -> list[Record]:
        return [finding.to_dict() for finding in self]

    @property
    def sentence(self) -> str:
        """What the tests say together."""
        refuted = [finding.metric for finding in self if finding.reject]
        if refuted:
            return "Perfect calibration is refuted by " + ", ".join(refuted) + "."
        return "Perfect calibration is not refuted; that is no proof of it."

    def document(self, *, for_print: bool = False) -> Document:
        rows = tuple(
            (
                f.metric,
                cell_text(f.value),
                f.threshold,
                chance(f.p_value),
                chance(f.adjusted),
                "refuted" if f.reject else "–",
                f.method,
            )
            for f in self
        )
        columns = ("metric", "value", "threshold", "p", "adjusted", "verdict", "how")
        table = Grid("Tests of perfect calibration", columns, rows, frozenset({1, 2, 3, 4}))
        notes = (Paragraph(note) for note in self.notes)
        blocks: tuple[Block, ...] = (*self.on_top, Paragraph(self.sentence), table, *notes)
        return Document("Is it calibrated?", self.subtitle, (Section("Tests", blocks), *self.at_the_end))


class Comparison(Lines[Difference]):
    """How models differ, pair by pair and metric by metric.

    A difference is found by the name of its metric; by `first, second, metric` where there are more than two models.
    """

    painter = "epimeter.draw.forest:forest"

    @property
    def names(self) -> tuple[Any, ...]:
        if len({(d.first, d.second) for d in self}) > 1:
            return tuple((d.first, d.second, d.metric) for d in self)
        return tuple(d.metric for d in self)

    def to_dict(self) -> dict[str, Any]:
        return self.facts | {"differences": [difference.to_dict() for difference in self]}

    def records(self) -> list[Record]:
        return [_with_interval_columns(difference.to_dict()) for difference in self]

    @property
    def sentence(self) -> str:
        """Which model is better than which other, by which metrics; and by which none is."""
        won: dict[tuple[str, str], list[str]] = {}
        for d in self:
            if d.better:
                won.setdefault((d.better, d.second if d.better == d.first else d.first), []).append(d.metric)
        if not won:
            return "No difference is established."
        said = [f"{better} is better than {worse} by {_listed(metrics)}" for (better, worse), metrics in won.items()]
        established = {d.metric for d in self if d.better}
        open_ = [metric for metric in dict.fromkeys(d.metric for d in self) if metric not in established]
        return "; ".join(said) + "." + (f" By {_listed(open_, 'or')} no difference is established." if open_ else "")

    def document(self, *, for_print: bool = False) -> Document:
        pairs = dict.fromkeys((d.first, d.second) for d in self)
        sections = [_pair(pair, [d for d in self if (d.first, d.second) == pair]) for pair in pairs]
        methods = "; ".join(dict.fromkeys(part for d in self for part in d.method.split("; ")))
        last = (
            *self.on_top,
            Paragraph(self.sentence),
            Paragraph(
                f"Method: {methods}; p-values adjusted by {self.facts.get('adjust', 'holm')}. A positive difference means that the "
                "first has the larger value."
            ),
            *(Paragraph(note) for note in self.notes),
        )
        ranks = [_ranks(metric, lines) for metric, lines in self.facts.get("ranking", {}).items()]
        metrics = dict.fromkeys(d.metric for d in self) if len(pairs) > 1 else ()
        grids = [_matrix(metric, [d for d in self if d.metric == metric]) for metric in metrics]
        reading = Section("Reading", last)
        return Document("Do the models differ?", self.subtitle, (reading, *ranks, *grids, *sections, *self.at_the_end))


def _ranks(metric: str, lines: list[dict[str, Any]]) -> Section:
    """Models from best to worst by one metric."""
    rows = tuple(
        (
            str(line["rank"]),
            line["model"],
            cell_text(line["value"]),
            "{}-{}".format(*line["ranks"]) if line["ranks"][0] < line["ranks"][1] else str(line["ranks"][0]),
            f"{100 * line['best_in']:.0f} %",
            ", ".join(line["beaten_by"]) or "–",
        )
        for line in lines
    )
    title = f"Ranking by {metric}"
    columns = ("rank", "model", "value", "could be", "best in replicates", "beaten by")
    return Section(title, (Grid(title, columns, rows, frozenset({0, 2, 3, 4})),))


def _matrix(metric: str, some: list[Difference]) -> Section:
    """Every model against every other by one metric, with the adjusted p-value; a star where the difference is established."""
    names = list(dict.fromkeys(name for d in some for name in (d.first, d.second)))
    cells: dict[tuple[str, str], str] = {}
    for d in some:
        for pair, value in (((d.first, d.second), d.value), ((d.second, d.first), -d.value)):
            cells[pair] = "–" if math.isnan(value) else f"{value:+.4g} ({chance(d.adjusted)}){'*' if d.better else ''}"
    rows = tuple((row, *(cells.get((row, column), "–") for column in names)) for row in names)
    title = f"Differences by {metric}: row minus column (adjusted p; * established)"
    return Section(title, (Grid(title, ("model", *names), rows, frozenset(range(1, 1 + len(names)))),))


def _pair(names: tuple[str, str], some: list[Difference]) -> Section:
    """The differences of two models."""
    rows = tuple(
        (
            d.metric,
            cell_text(d.value_first),
            cell_text(d.value_second),
            "–" if math.isnan(d.value) else f"{d.value:+.4g}",
            "–" if math.isnan(d.p_value) else f"[{d.interval.low:.4g}, {d.interval.high:.4g}]",
            chance(d.p_value),
            chance(d.adjusted),
            d.better or "–",
        )
        for d in some
    )
    interval = f"{100 * some[0].interval.level:g} % interval"
    columns = ("metric", "first", "second", "difference", interval, "p", "adjusted", "better")
    title = f"{names[0]} against {names[1]}"
    return Section(title, (Grid(title, columns, rows, frozenset(range(1, 7))),))


def _listed(names: list[str], last: str = "and") -> str:
    """Names as a sentence has them."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"


def _known(name: object) -> object:
    """The id of the metric that somebody calls otherwise; in a triple its last part."""
    from epimeter.card_index import find

    if isinstance(name, tuple) and len(name) == 3:
        return (*name[:2], _known(name[2]))
    try:
        return find(name).name if isinstance(name, str) else None
    except EpimeterError:
        return None


def _again(kind: Any, found: tuple[Any, ...], notes: tuple[str, ...], facts: dict[str, Any]) -> Any:
    return kind(found, notes=notes, **facts)


def _with_interval_columns(record: Record) -> Record:
    """The interval as columns of its own."""
    interval = record.pop("interval")
    return record | {name: interval[name] for name in ("low", "high", "level")}


def chance(p_value: float) -> str:
    """A p-value in four digits, never as 0; a dash where nothing was tested."""
    if math.isnan(p_value):
        return "–"
    return "< 0.0001" if p_value < 1e-4 else f"{p_value:.4f}"
