# SPDX-License-Identifier: Apache-2.0
"""A report on more forecasts than are held at once: one pass over files, exact sums, and every n-th row for the figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import epimeter
from epimeter.errors import EpimeterError, InputError, UndefinedMetricError
from epimeter.forecasts import Forecast
from epimeter.inference.forecast_totals import ForecastTotals
from epimeter.readers.forecast_table import ForecastTable, joined_forecasts
from epimeter.report.forecast_curves import forecast_curves
from epimeter.report.forecast_report import ForecastReport
from epimeter.report.forecast_verdict import forecast_verdict
from epimeter.report.forecasts import LEVEL, cautions_of, facts_of, metrics_named, obstacle, refuse_unknown
from epimeter.report.measurement import Measurement
from epimeter.results import Result
from epimeter.sources.forecast_files import validated
from epimeter.summaries.exact import RowMeans

SHOWN = 200_000
"""Rows that figures show at most."""


class ForecastPass:
    """What is kept of forecasts while they pass: totals a metric, and every n-th row; arguments as in `evaluate_forecasts`."""

    def __init__(self, metrics: str | Iterable[str] | None, choices: Mapping[str, Any], row_limit: int) -> None:
        self.metrics, self.choices, self.row_limit = metrics, dict(choices), row_limit
        self.totals: list[ForecastTotals] = []
        self.left_out: dict[str, str] = {}
        self.sample: Forecast | None = None
        self.n_rows, self.unlabelled, self.step, self.grouped = 0, 0, 1, False
        self.first: ForecastTable | None = None
        self.names: dict[str, None] = {}

    def add(self, table: ForecastTable) -> None:
        """Add the rows of one piece."""
        self.names[table.source] = None
        self.unlabelled += table.unlabelled
        if not table.n_rows:
            return
        view = self._validated(table)
        if self.first is None:
            self.first, self.grouped = table, table.group is not None
            self._begin(view)
        for total in self.totals:
            total.add(view, self.n_rows)
        self._show(view)
        self.n_rows += view.n_rows

    def _validated(self, table: ForecastTable) -> Forecast:
        try:
            return validated(table)
        except InputError as refusal:
            if refusal.row is not None or self.first is None:
                raise
        # What must hold of all rows together, such as one set that is not empty, may hold by the rows before.
        return validated(joined_forecasts([table, self.first])).take(slice(0, table.n_rows))

    def _begin(self, view: Forecast) -> None:
        named = metrics_named(self.metrics, view)
        refuse_unknown(self.choices, named)
        for metric in named:
            reason = obstacle(metric, view)
            own = {name: value for name, value in self.choices.items() if name in metric.parameters}
            recipe, rest = metric.settle(own)
            if reason is None and not isinstance(recipe, RowMeans):
                reason = f"needs all rows, which are more than row_limit ({self.row_limit:,})"
            if reason is None:
                assert isinstance(recipe, RowMeans)
                self.totals.append(ForecastTotals(metric, recipe, rest))
            elif self.metrics in (None, "all"):
                self.left_out[metric.name] = reason
            else:
                raise InputError(f"{metric.name} cannot be measured on these data: {reason}", field=metric.name)

    def _show(self, view: Forecast) -> None:
        """Keep every n-th row, n a power of two, whatever pieces the rows came in."""
        some = view.take(slice(-self.n_rows % self.step, None, self.step))
        self.sample = some if self.sample is None else self.sample.merged(some)
        while self.sample.n_rows > SHOWN:
            self.sample, self.step = self.sample.take(slice(None, None, 2)), 2 * self.step

    def report(
        self, *, level: float | None, intervals: str | None, interval_level: float, draws: int, seed: int
    ) -> ForecastReport:
        """The report on all rows."""
        if self.sample is None or self.first is None:
            raise InputError("forecasts need at least one row with a truth; got none")
        how = None if intervals is None else (interval_level, draws, seed)
        made = [self._measured(total, how) for total in self.totals]
        chosen = float(self.choices.get("level", LEVEL))
        several = f" and {len(self.names) - 1} more" if len(self.names) > 1 else ""
        source = {"name": f"{self.first.source}{several}", "columns": dict(self.first.roles)}
        return ForecastReport(
            n_rows=self.n_rows,
            n_units=self.n_rows,
            kind=self.sample.kind,
            level=chosen,
            measurements=tuple(made),
            left_out=self.left_out,
            cautions=self._cautions(level),
            verdict=forecast_verdict(self.sample, chosen, {m.metric: m for m in made}, not self.grouped),
            curves=forecast_curves(self.sample, chosen),
            source=source | ({"unlabelled": self.unlabelled} if self.unlabelled else {}),
            version=epimeter.__version__,
        )

    def _cautions(self, level: float | None) -> tuple[str, ...]:
        assert self.sample is not None
        found = list(cautions_of(self.sample, level))
        if self.step > 1:
            found.append(f"figures, bias, spread and these cautions are those of every {self.step:,}th row")
        if self.grouped:
            found.append(
                f"above {self.row_limit:,} rows groups are not told apart, so no interval is stated; raise --row-limit"
            )
        return tuple(found)

    def _measured(self, total: ForecastTotals, how: tuple[float, int, int] | None) -> Measurement:
        facts = facts_of(total.metric, total.recipe, total.choices, self.n_rows)
        try:
            answer = total.answer()
        except UndefinedMetricError as reason:
            return Measurement(value=None, undefined=str(reason), **facts)
        value = float(answer.headline if isinstance(answer, Result) else answer)
        if how is None or self.grouped or self.n_rows < 2:
            return Measurement(value=value, **facts)
        try:
            return Measurement(value=value, interval=total.interval(*how).holding(value), **facts)
        except EpimeterError:
            return Measurement(value=value, no_interval="no interval", **facts)
