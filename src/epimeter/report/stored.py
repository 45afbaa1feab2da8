# SPDX-License-Identifier: Apache-2.0
"""A report that was written as JSON, read back: all its renderings again, without the rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from epimeter.metrics.distribution.transform import Ranks
from epimeter.report.forecast_curves import ForecastCurves, QuantileCurve, Strata
from epimeter.report.forecast_report import ForecastReport
from epimeter.report.forecast_verdict import ForecastVerdict
from epimeter.report.measurement import Measurement, Report
from epimeter.report.verdict import Verdict
from epimeter.results import BinTable, Interval


def report_of(stored: Mapping[str, Any]) -> Report:
    """The report that `Report.to_dict` wrote down."""
    judged = stored.get("verdict")
    return Report(
        n_rows=stored["n_rows"],
        n_units=stored.get("n_units"),
        n_classes=stored["n_classes"],
        kind=stored["kind"],
        base_rate=stored["base_rate"],
        mean_confidence=stored["mean_confidence"],
        measurements=tuple(_measurement(one) for one in stored["measurements"]),
        left_out=stored["left_out"],
        cautions=tuple(stored["cautions"]),
        verdict=None if judged is None else Verdict(**{**judged, "sentences": tuple(judged["sentences"])}),
        bins=_table(stored["bins"]),
        source=stored["source"],
        version=stored["epimeter"],
    )


def forecast_report_of(stored: Mapping[str, Any]) -> ForecastReport:
    """The report that `ForecastReport.to_dict` wrote down; the fan shows rows, and those are not written down."""
    judged, drawn = stored["verdict"], stored["curves"]
    ranks, quantiles, strata = (drawn[name] for name in ("ranks", "quantiles", "strata"))
    return ForecastReport(
        n_rows=stored["n_rows"],
        n_units=stored["n_units"],
        kind=stored["kind"],
        level=stored["level"],
        measurements=tuple(_measurement(one) for one in stored["measurements"]),
        left_out=stored["left_out"],
        cautions=tuple(stored["cautions"]),
        verdict=None if judged is None else ForecastVerdict(**{**judged, "sentences": tuple(judged["sentences"])}),
        curves=ForecastCurves(
            ranks=None if ranks is None else Ranks(**_arrays(ranks)),
            quantiles=None if quantiles is None else QuantileCurve(**_arrays(quantiles)),
            fan=None,
            strata=None if strata is None else Strata(**_arrays(strata) | {"names": tuple(strata["names"])}),
            level=stored["level"],
        ),
        source=stored["source"],
        version=stored["epimeter"],
    )


def _arrays(stored: Mapping[str, Any]) -> dict[str, Any]:
    return {name: np.array(values) for name, values in stored.items()}


def _measurement(stored: Mapping[str, Any]) -> Measurement:
    interval, bins = stored.get("interval"), stored.get("bins")
    return Measurement(
        metric=stored["metric"],
        title=stored["title"],
        value=_number(stored["value"]),
        undefined=stored.get("undefined"),
        infinite=stored.get("infinite"),
        fields={name: _number(value) for name, value in stored.get("fields", {}).items()},
        parameters=stored["parameters"],
        convention=stored["convention"],
        n_rows=stored["n_rows"],
        exact=stored["exact"],
        error=stored.get("error_at_most"),
        sample=stored.get("sample"),
        interval=None if interval is None else Interval(**interval),
        no_interval=stored.get("no_interval"),
        table=None if bins is None else _table(bins),
    )


def _number(value: Any) -> Any:
    """A number as it was: infinity is written as a word, since JSON has none."""
    return {"inf": math.inf, "-inf": -math.inf}.get(value, value) if isinstance(value, str) else value


def _table(stored: Mapping[str, Any]) -> BinTable:
    def floats(values: list[float | None]) -> Any:
        return np.array([np.nan if value is None else value for value in values], np.float64)

    edges = stored["edges"]
    return BinTable(
        None if edges is None else np.array(edges, np.float64),
        np.array(stored["count"], np.int64),
        floats(stored["confidence"]),
        floats(stored["frequency"]),
    )
