# SPDX-License-Identifier: Apache-2.0
"""Reports by slice: one a value of a column, made when they are looked at, shown as one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Generic, TypeVar

from epimeter import __version__
from epimeter.documents.held import Held, Record
from epimeter.documents.sections import Document, Grid, Items, Section
from epimeter.forecasts import WORDING as FORECAST_WORDING
from epimeter.kinds import WORDING
from epimeter.report.cautions import by_slice
from epimeter.report.forecast_report import ForecastReport
from epimeter.report.measurement import Report
from epimeter.report.slice_figure import beside
from epimeter.report.slice_verdicts import CALIBRATION, verdicts, word_of
from epimeter.report.text import ends_of
from epimeter.results import cell_text

COLUMNS = 6
"""Metrics that a table of slices shows; records and JSON hold all."""
ON_A_TERMINAL = 4
FAVOURED = ("brier_score", "ece", "drmsce_bcs", "esce", "nll", "ecd")
"""Which of many metrics are shown: with `ece`, which is larger where rows are few, stands the error without that bias."""
OF_FORECASTS = (
    "picp", "set_coverage", "mean_interval_width", "set_size", "crps", "interval_score", "pinball_loss",
    "quantile_calibration_error", "nees_test",
)  # fmt: skip
"""The same of forecasts of a number or a set: do they cover, how wide are they, how good are they?"""
DRAWN = ("ece", "esce", "picp", "set_coverage", "crps")


ALL_ROWS = "all rows"
SHOWN = 30
"""Slices that a terminal shows; JSON and the other forms hold all."""

Made = TypeVar("Made", bound=Report | ForecastReport)


class BySlice(Held, Mapping[Any, Made], Generic[Made]):
    """One report a slice, made when it is looked at: a thousand slices cost one pass, not a thousand reports."""

    title = "Calibration by slice"

    def __init__(self, values: list[Any], make: Callable[[Any], Made], whole: Callable[[], Made] | None = None) -> None:
        self._values = values
        self._make = make
        self._whole = whole
        self._made: dict[Any, Made] = {}

    @cached_property
    def total(self) -> Made | None:
        """The report of all rows together; None where there is but one slice, or nobody can say."""
        return self._whole() if self._whole is not None and len(self) > 1 else None

    def __getitem__(self, value: Any) -> Made:
        if value not in self._made:
            if value not in self._values:
                raise KeyError(value)
            self._made[value] = self._make(value)
        return self._made[value]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return (
            f"<{len(self)} reports by slice: {', '.join(map(repr, self._values[:5]))}{' …' if len(self) > 5 else ''}>"
        )

    painter = "epimeter.draw.sliced:slices"

    def __str__(self) -> str:
        some = {value: self[value] for value in self._values[:SHOWN]}
        names = _names(some)[:ON_A_TERMINAL]
        found = verdicts(some)
        lines = [("slice", "rows", *names, CALIBRATION), *self._all_rows(names)]
        lines += [_row(str(value), report, names, found.words[value]) for value, report in some.items()]
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        text = [
            "  ".join(c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True)))
            for line in lines
        ]
        if len(self) > SHOWN:
            text.append(f"… and {len(self) - SHOWN:,} more; --json holds all, --slice NAME shows one")
        head = [f"epimeter {__version__} · {self._subtitle(some)}", "", *found.sentences, ""]
        cautions = by_slice({value: report.cautions for value, report in some.items()})
        return "\n".join([*head, *text, *(f"! {caution}" for caution in cautions)]) + "\n"

    def _all_rows(self, names: list[str]) -> list[tuple[str, ...]]:
        """The first line of a table: all slices together."""
        if self.total is None:
            return []
        known = None if self.total.verdict is None else self.total.verdict.p_value
        return [_row(ALL_ROWS, self.total, names, word_of(known))]

    def _subtitle(self, some: Mapping[Any, Made]) -> str:
        """Where the rows come from, and what they state."""
        first = next(iter(some.values()), None)
        if first is None:
            return f"{len(self):,} slices"
        states = WORDING[first.kind].what if isinstance(first, Report) else FORECAST_WORDING[first.kind]
        column = ", ".join(map(str, first.source.get("slice", {})))
        cut = f"{len(self):,} slices" + (f" by {column}" if column else "")
        return " · ".join(part for part in (str(first.source.get("name", "")), cut, states) if part)

    def to_dict(self) -> dict[str, Any]:
        """The report of each slice as plain values."""
        return {str(value): report.to_dict() for value, report in self.items()}

    def records(self) -> list[Record]:
        """One line a slice and metric."""
        return [{"slice": str(value)} | record for value, report in self.items() for record in report.records()]

    def document(self, *, for_print: bool = False) -> Document:
        shown = list(self.items())
        names = _names(dict(shown))
        found = verdicts(dict(shown))
        rows = (
            *self._all_rows(names),
            *(_row(str(value), report, names, found.words[value]) for value, report in shown),
        )
        table = Grid("Slices", ("slice", "rows", *names, CALIBRATION), rows, frozenset(range(1, 2 + len(names))))
        blocks: list[Any] = [table]
        drawn = [name for name in DRAWN if name in names] or names[:1] if len(shown) <= SHOWN else []
        pictures = [beside(dict(shown), name, for_print=for_print) for name in drawn]
        blocks += [picture for picture in pictures if picture is not None]
        cautions = by_slice({value: report.cautions for value, report in shown})
        if cautions:
            blocks.append(Items(cautions, "mind"))
        sections = (Section("Verdict", (Items(found.sentences),)), Section("Slices", tuple(blocks)))
        return Document(self.title, self._subtitle(dict(shown[:1])), sections)


class Reports(BySlice[Report]):
    """The reports of probabilities by slice."""


class ForecastReports(BySlice[ForecastReport]):
    """The reports of forecasts of a number or a set by slice."""

    title = "Forecasts by slice"


def _names(reports: Mapping[Any, Made]) -> list[str]:
    """The metrics that a table shows: all that were asked for where they are few."""
    known = list(dict.fromkeys(metric for report in reports.values() for metric in report))
    return (
        known
        if len(known) <= COLUMNS
        else [name for name in (*FAVOURED, *OF_FORECASTS) if name in known][:COLUMNS] or known[:COLUMNS]
    )


def _row(name: str, report: Report | ForecastReport, names: list[str], word: str) -> tuple[str, ...]:
    return (name, f"{report.n_rows:,}", *(_cell(report, each) for each in names), word)


def _cell(report: Report | ForecastReport, name: str) -> str:
    """A value with its interval."""
    line = report.get(name)
    if line is None:
        return cell_text(None)
    return cell_text(line.value) + ends_of(line)
