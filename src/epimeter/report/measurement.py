# SPDX-License-Identifier: Apache-2.0
"""Numbers as statements: a value with everything that influenced it, and the report that holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from epimeter.results import BinTable, Interval, plain

__all__ = ["Interval", "Measurement", "Report"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One metric on one data set."""

    metric: str
    title: str
    value: float | None
    """None when undefined; JSON has no NaN."""
    undefined: str | None = None
    """The reason, when value is None."""
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
    table: BinTable | None = None

    def to_dict(self) -> dict[str, Any]:
        made: dict[str, Any] = {
            "metric": self.metric,
            "title": self.title,
            "value": plain(self.value),
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
            made["fields"] = {name: plain(value) for name, value in self.fields.items()}
        if self.interval is not None:
            made["interval"] = self.interval.to_dict()
        if self.table is not None:
            made["bins"] = self.table.to_dict()
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The measurements of one model on one data set."""

    n_rows: int
    n_units: int | None = None
    """Independent units: rows, or groups of rows that are repeats of one question."""
    n_classes: int
    kind: str
    """What the rows are: events with one probability, or classes reduced to their top label where a metric asks."""
    base_rate: float
    """Share of outcomes that are 1 (that were right, for a matrix)."""
    mean_confidence: float
    measurements: tuple[Measurement, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Metrics that could not be measured on these data, with the reason."""
    cautions: tuple[str, ...] = ()
    bins: BinTable
    """Ten equal-width bins, for the reliability diagram."""
    source: Mapping[str, Any] = field(default_factory=dict)
    """Where the rows came from, and which column served as what."""
    version: str = ""

    def __iter__(self) -> Iterator[Measurement]:
        return iter(self.measurements)

    def __getitem__(self, metric: str) -> Measurement:
        for measurement in self.measurements:
            if measurement.metric == metric:
                return measurement
        raise KeyError(metric)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        return {
            "epimeter": self.version,
            "source": {name: plain(value) for name, value in self.source.items()},
            "n_rows": self.n_rows,
            "n_units": self.n_rows if self.n_units is None else self.n_units,
            "n_classes": self.n_classes,
            "kind": self.kind,
            "base_rate": plain(self.base_rate),
            "mean_confidence": plain(self.mean_confidence),
            "measurements": [measurement.to_dict() for measurement in self.measurements],
            "left_out": dict(self.left_out),
            "cautions": list(self.cautions),
            "bins": self.bins.to_dict(),
        }
