# SPDX-License-Identifier: Apache-2.0
"""Numbers as statements: a value with everything that influenced it, and the report that holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from epimeter.documents.held import Held, Record
from epimeter.documents.sections import Document
from epimeter.errors import EpimeterError, UndefinedMetricError
from epimeter.kinds import WORDING, Kind
from epimeter.results import BinTable, Interval, plain, stated

if TYPE_CHECKING:
    from epimeter.report.figure_rows import FigureRows
    from epimeter.report.verdict import Verdict

__all__ = ["Interval", "Measurement", "Report"]


NO_SPREAD = "no spread"
"""Why there is no interval where every row, or every replicate, says the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One metric on one data set."""

    metric: str
    title: str
    value: float | None
    """None when undefined; JSON has no NaN."""
    undefined: str | None = None
    """The reason, when value is None."""
    infinite: str | None = None
    """Which rows make it infinite, when it is."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """All numbers of a metric that gives several."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    convention: str = ""
    """Edges, ties and class convention, in words."""
    n_rows: int = 0
    exact: bool = True
    error: float | None = None
    """How far the exact value can be off, when the value was read off the cells of a fine histogram."""
    sample: int | None = None
    """Rows of the uniform sample it was measured on, when not on all rows."""
    interval: Interval | None = None
    no_interval: str | None = None
    """Why there is no interval, in two words; None where there is one or none was asked for."""
    table: BinTable | None = None

    def __float__(self) -> float:
        if self.value is None:
            raise UndefinedMetricError(self.undefined or f"{self.metric} has no value on these data")
        return float(self.value)

    def record(self) -> Record:
        """The measurement as one flat line; None where something is not there."""
        interval = self.interval
        return {
            "metric": self.metric,
            "value": self.value,
            "low": None if interval is None else interval.low,
            "high": None if interval is None else interval.high,
            "level": None if interval is None else interval.level,
            "method": None if interval is None else interval.method,
            "p_value": self.fields.get("p_value"),
            "n_rows": self.n_rows,
            "exact": self.exact,
            "error_at_most": self.error,
            "undefined": self.undefined,
            "title": self.title,
            "parameters": ", ".join(f"{name}={value}" for name, value in self.parameters.items()),
        }

    def to_dict(self) -> dict[str, Any]:
        made: dict[str, Any] = {
            "metric": self.metric,
            "title": self.title,
            "value": stated(self.value),
            "n_rows": self.n_rows,
            "exact": self.exact,
            "parameters": {name: plain(value) for name, value in self.parameters.items()},
            "convention": self.convention,
        }
        if self.error is not None:
            made["error_at_most"] = self.error
        if self.sample is not None:
            made["sample"] = self.sample
        if self.undefined is not None:
            made["undefined"] = self.undefined
        if self.fields:
            made["fields"] = {name: stated(value) for name, value in self.fields.items()}
        if self.infinite is not None:
            made["infinite"] = self.infinite
        if self.interval is not None:
            made["interval"] = self.interval.to_dict()
        elif self.no_interval is not None:
            made["no_interval"] = self.no_interval
        if self.table is not None:
            made["bins"] = self.table.to_dict()
        return made


class Measurements(Held, Mapping[str, Measurement]):
    """What every report is: measurements by the names of their metrics, or by what others call them."""

    __slots__ = ()
    n_rows: int
    measurements: tuple[Measurement, ...]

    def __iter__(self) -> Iterator[str]:
        return (measurement.metric for measurement in self.measurements)

    def __len__(self) -> int:
        return len(self.measurements)

    def __getitem__(self, metric: str) -> Measurement:
        for name in (metric, _known_name(metric)):
            for measurement in self.measurements:
                if measurement.metric == name:
                    return measurement
        raise KeyError(metric)

    def __repr__(self) -> str:
        some = ", ".join(
            f"{m.metric} {'undefined' if m.value is None else format(m.value, '.4g')}" for m in self.measurements[:4]
        )
        return f"<{type(self).__name__} of {self.n_rows:,} rows: {some}{', …' if len(self) > 4 else ''}>"

    def records(self) -> list[Record]:
        """One line a metric."""
        return [measurement.record() for measurement in self.measurements]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Report(Measurements):
    """The measurements of one model on one data set, by the names of their metrics.

    Print it, or let a notebook show it; `to_frame`, `to_markdown`, `to_latex`, `to_csv`, `to_json`, `save` and `plot`
    give it to others.
    """

    n_rows: int
    n_units: int | None = None
    """Independent units: rows, or groups of rows that are repeats of one question."""
    n_classes: int
    kind: Kind
    """What each row states: the probability of an event, the confidence in an answer, or one probability a class."""
    base_rate: float
    """Share of outcomes that are 1, for events; share of answers or top labels that were right."""
    mean_confidence: float
    measurements: tuple[Measurement, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Metrics that could not be measured on these data, with the reason."""
    cautions: tuple[str, ...] = ()
    verdict: Verdict | None = None
    """Is it calibrated, where is it off, what does that cost; None where no totals tell."""
    bins: BinTable
    """The bins of the reliability diagram: ten of equal width, or those that were asked for."""
    source: Mapping[str, Any] = field(default_factory=dict)
    """Where the rows came from, and which column served as what."""
    version: str = ""
    rows: FigureRows | None = field(default=None, compare=False)
    """The rows behind it, for figures that are drawn later; None where they are gone."""

    def __str__(self) -> str:
        from epimeter.report.text import text

        return text(self)

    def document(self, *, for_print: bool = False) -> Document:
        from epimeter.report.pages import document

        return document(self, for_print=for_print)

    def plot(self, *, ax: Any = None) -> Any:
        """The reliability diagram of the report's bins, as a matplotlib figure.

        Parameters
        ----------
        ax
            Axes to draw on, instead of a page of its own.
        """
        from epimeter.report.figure_rows import reliability_of

        return reliability_of(self, ax)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        return {
            "epimeter": self.version,
            "source": {name: plain(value) for name, value in self.source.items()},
            "n_rows": self.n_rows,
            "n_units": self.n_rows if self.n_units is None else self.n_units,
            "n_classes": self.n_classes,
            "kind": self.kind,
            "states": WORDING[self.kind].what,
            "base_rate": plain(self.base_rate),
            "mean_confidence": plain(self.mean_confidence),
            "verdict": None if self.verdict is None else self.verdict.to_dict(),
            "measurements": [measurement.to_dict() for measurement in self.measurements],
            "left_out": dict(self.left_out),
            "cautions": list(self.cautions),
            "bins": self.bins.to_dict(),
        }


def _known_name(metric: Any) -> str | None:
    """The name of the metric that somebody calls otherwise: by an alias, or in other letters."""
    from epimeter.card_index import find

    try:
        return find(metric).name if isinstance(metric, str) else None
    except EpimeterError:
        return None
