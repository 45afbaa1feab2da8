# SPDX-License-Identifier: Apache-2.0
"""The report on forecasts of a number or of a set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from epimeter.card_index import find
from epimeter.documents.sections import Document, Grid, Items, Section
from epimeter.forecasts import WORDING, ForecastKind
from epimeter.report.measurement import Measurement, Measurements
from epimeter.report.text import READS, parts, shown
from epimeter.results import plain

if TYPE_CHECKING:  # a report of probabilities knows this class, and loads nothing of forecasts
    from epimeter.report.forecast_curves import ForecastCurves
    from epimeter.report.forecast_verdict import ForecastVerdict


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ForecastReport(Measurements):
    """The measurements of one model's forecasts on one data set, by the names of their metrics."""

    n_rows: int
    n_units: int
    """Independent units: rows, or groups of rows."""
    kind: ForecastKind
    """What each row states: a mean and a deviation, quantiles, an ensemble, an interval, a set."""
    level: float
    """Nominal coverage that intervals and sets are held against."""
    measurements: tuple[Measurement, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()
    verdict: ForecastVerdict | None = None
    curves: ForecastCurves
    source: Mapping[str, Any] = field(default_factory=dict)
    version: str = ""

    painter = "epimeter.draw.forecasts:forecast_figure"

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, ready for JSON."""
        return {
            "epimeter": self.version,
            "source": {name: plain(value) for name, value in self.source.items()},
            "n_rows": self.n_rows,
            "n_units": self.n_units,
            "kind": self.kind,
            "states": WORDING[self.kind],
            "level": self.level,
            "verdict": None if self.verdict is None else self.verdict.to_dict(),
            "measurements": [measurement.to_dict() for measurement in self.measurements],
            "left_out": dict(self.left_out),
            "cautions": list(self.cautions),
            "curves": self.curves.to_dict(),
        }

    def document(self, *, for_print: bool = False) -> Document:
        sections = []
        first = self.verdict.sentences if self.verdict is not None else ()
        missing = self.source.get("unlabelled")
        if missing:
            first = (f"{missing:,} of {missing + self.n_rows:,} rows have no truth and were left out.", *first)
        if first:
            sections.append(Section("Verdict", (Items(tuple(first)),)))
        from epimeter.report.forecast_figures import forecast_pictures

        pictures = forecast_pictures(self.curves, for_print=for_print)
        if pictures:
            sections.append(Section("Figures", pictures))
        rows: list[tuple[str, ...]] = []
        for measurement in self.measurements:
            card = find(measurement.metric).card
            ideal = f", ideal {card.ideal:g}" if isinstance(card.ideal, int | float) else ""
            reading = READS[card.direction] + ideal
            if card.aims_at:
                reading = f"ideal {measurement.parameters[card.aims_at]:g}"
            rows.append((measurement.metric, shown(measurement), card.title, reading))
            rows += [(f"\u2003{name}", value, "", "") for name, value in parts(measurement)]
        table = Grid("Metrics", ("metric", "value", "what it is", "reading"), tuple(rows), frozenset({1}))
        sections.append(Section("Measurements", (table,)))
        if self.cautions:
            sections.append(Section("Mind when reading the metrics", (Items(self.cautions, "mind"),)))
        undefined = {m.metric: m.undefined for m in self.measurements if m.undefined is not None}
        if self.left_out or undefined:
            reasons = tuple(f"{name}: {reason}" for name, reason in {**undefined, **self.left_out}.items())
            sections.append(Section("Not measured", (Items(reasons),)))
        used = self.source.get("columns") or {}
        columns = ", ".join(f"{role} = {column}" for role, column in used.items())
        units = "" if self.n_units == self.n_rows else f" of {self.n_units:,} independent units"
        head = (
            f"epimeter {self.version}",
            str(self.source.get("name", "")),
            f"{self.n_rows:,} row{'s' if self.n_rows != 1 else ''}{units}",
        )
        subtitle = " · ".join(part for part in (*head, WORDING[self.kind], columns) if part)
        return Document("Report on forecasts", subtitle, tuple(sections))
