# SPDX-License-Identifier: Apache-2.0
"""From forecasts of a number or of a set to their report: measure, put intervals beside, say what the numbers mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

import epimeter
from epimeter.calling import Metric
from epimeter.card_index import catalogue, find
from epimeter.errors import EpimeterError, InputError, UndefinedMetricError
from epimeter.forecasts import Forecast, Sets, forecast
from epimeter.inference.forecasts import interval_of_forecast
from epimeter.inference.spread import SamplingDesign, design_of
from epimeter.report.forecast_curves import forecast_curves
from epimeter.report.forecast_report import ForecastReport
from epimeter.report.forecast_verdict import forecast_verdict
from epimeter.report.measurement import NO_SPREAD, Measurement
from epimeter.results import Interval, Result

LEVEL = 0.9
FEW_ROWS = 200


def evaluate_forecasts(
    y_true: Any,
    *,
    metrics: str | Iterable[str] | None = None,
    level: float | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    intervals: str | None = "auto",
    interval_level: float = 0.95,
    draws: int = 999,
    seed: int = 0,
    source: Mapping[str, Any] | None = None,
    **given: Any,
) -> ForecastReport:
    """Measure forecasts of a number or of a set.

    Parameters
    ----------
    y_true
        What came true.
    metrics
        Names of metrics; None or ``"all"`` for every one that the kind of forecast allows.
    level
        Nominal coverage of intervals and sets; None is 0.9, and the report says that nobody said it.
    sample_weight
        Weights of the rows.
    groups
        One label a row: rows of one label count as one piece of design, and conditional coverage is measured by them.
    intervals
        How intervals of the metrics are made, as in `epimeter.inference.interval`; None leaves them out.
    interval_level, draws, seed
        Of those intervals.
    source
        Where the rows came from.
    given
        The forecast (``mean, std``; ``quantiles``; ``members``; ``lower, upper``; ``sets``; ``rate, dispersion``), and
        parameters of metrics.

    Examples
    --------
    >>> report = evaluate_forecasts([1.0, 2.0, 3.5, 4.0], mean=[1.1, 1.9, 3.0, 4.4], std=[0.5, 0.5, 0.5, 0.5])
    >>> round(float(report["crps"]), 4)
    0.1987
    """
    stated, choices = _parted(given)
    view = forecast(y_true, sample_weight=sample_weight, groups=groups, **stated)
    if level is not None:
        choices["level"] = level
    named = metrics_named(metrics, view)
    refuse_unknown(choices, named)
    design = design_of(view, groups)
    made, left_out = [], {}
    how = None if intervals is None or design.units < 2 else (intervals, interval_level, draws, seed)
    for metric in named:
        reason = obstacle(metric, view)
        if reason is not None:
            if metrics not in (None, "all"):
                raise InputError(f"{metric.name} cannot be measured on these data: {reason}", field=metric.name)
            left_out[metric.name] = reason
            continue
        made.append(_measure(metric, view, choices, design, how))
    chosen = float(choices.get("level", LEVEL))
    return ForecastReport(
        n_rows=view.n_rows,
        n_units=design.units,
        kind=view.kind,
        level=chosen,
        measurements=tuple(made),
        left_out=left_out,
        cautions=cautions_of(view, level),
        verdict=forecast_verdict(view, chosen, {m.metric: m for m in made}, design.units == view.n_rows),
        curves=forecast_curves(view, chosen),
        source=dict(source or {}),
        version=epimeter.__version__,
    )


def _parted(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns of the forecast, and parameters of metrics."""
    from epimeter.forecasts import COLUMNS

    stated = {name: value for name, value in given.items() if name in COLUMNS}
    return stated, {name: value for name, value in given.items() if name not in COLUMNS}


def metrics_named(metrics: str | Iterable[str] | None, view: Forecast) -> list[Metric[Any]]:
    """The metrics of these names; without names every one that the kind of forecast allows."""
    if metrics in (None, "all"):
        every = catalogue("distribution").values()
        return [metric for metric in every if view.kind in metric.card.forecasts]
    assert metrics is not None
    named = [find(name.strip()) for name in (metrics.split(",") if isinstance(metrics, str) else metrics)]
    for metric in named:
        if not metric.card.forecasts:
            raise InputError(
                f"{metric.name} measures probabilities, not forecasts of a number or a set; "
                "`epimeter metrics --family distribution` lists those",
                field=metric.name,
            )
    return named


def refuse_unknown(choices: Mapping[str, Any], metrics: Iterable[Metric[Any]]) -> None:
    """Refuse parameters that none of the metrics has."""
    known = {name for metric in metrics for name in metric.parameters}
    for name in choices:
        if name not in known:
            raise InputError(f"none of the metrics asked for has a parameter {name!r}", field=name)


def obstacle(metric: Metric[Any], view: Forecast) -> str | None:
    """Why a metric cannot be measured on these rows; None where it can."""
    card = metric.card
    if view.kind not in card.forecasts:
        return f"is read off forecasts of kind {' or '.join(card.forecasts)}; these are of kind {view.kind}"
    missing = [name for name in card.needs if name not in view.columns]
    if missing:
        return f"needs the column {missing[0]}"
    if view.weight is not None and not card.weighted:
        return "takes no sample weights"
    needed = [name for name, p in metric.parameters.items() if p.required]
    return f"needs {needed[0]}, which has no default" if needed else None


def _measure(
    metric: Metric[Any],
    view: Forecast,
    choices: Mapping[str, Any],
    design: SamplingDesign,
    how: tuple[str, float, int, int] | None,
) -> Measurement:
    recipe: Any
    recipe, rest = metric.settle({name: value for name, value in choices.items() if name in metric.parameters})
    facts = facts_of(metric, recipe, rest, view.n_rows)
    try:
        answer = metric.compute(recipe.finish(recipe.summarise(view)), **rest)
    except UndefinedMetricError as reason:
        return Measurement(value=None, undefined=str(reason), **facts)
    value = answer.headline if isinstance(answer, Result) else float(answer)
    if isinstance(answer, Result):
        facts["fields"] = {name: each for name, each in answer.to_dict().items() if not isinstance(each, list)}
    if not np.isfinite(value):
        if np.isnan(value):
            return Measurement(value=None, undefined=f"{metric.name} has no value on these data", **facts)
        return Measurement(value=value, infinite=_infinite(view), no_interval="infinite value", **facts)
    found, none = _interval(metric, recipe, view, rest, design, how)
    return Measurement(value=value, interval=found and found.holding(value), no_interval=none, **facts)


def facts_of(metric: Metric[Any], recipe: Any, rest: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    """What a measurement says beside its value."""
    parameters = {name: p.default for name, p in metric.parameters.items()} | recipe.choices() | dict(rest)
    return {"metric": metric.name, "title": metric.card.title, "parameters": parameters, "n_rows": n_rows}


def _interval(
    metric: Metric[Any], recipe: Any, view: Forecast, rest: Mapping[str, Any], design: SamplingDesign, how: Any
) -> tuple[Interval | None, str | None]:
    if how is None:
        return None, None
    if metric.card.headline_is:
        return None, "a test" if metric.card.test else metric.card.headline_is
    method, level, draws, seed = how
    if "groups" in metric.card.needs:  # its groups are parts that are compared, not repeats of one row
        design = design_of(view, None)
    try:
        made = interval_of_forecast(metric, recipe, view, rest, design, level, method, draws, seed)
    except EpimeterError:
        return None, "no interval"
    return (None, NO_SPREAD) if made.empty else (made, None)


def _infinite(view: Forecast) -> str:
    return "an interval with an infinite end, or a variance of 0" if not isinstance(view, Sets) else ""


def cautions_of(view: Forecast, level: float | None) -> tuple[str, ...]:
    """What a reader must know of the rows."""
    found = []
    if level is None and view.kind in ("interval", "set"):
        noun = "sets" if view.kind == "set" else "intervals"
        found.append(f"the {noun} are taken to be of level {LEVEL:g}, which nobody said; say it with level=…")
    if view.n_rows < FEW_ROWS:
        rows = "row" if view.n_rows == 1 else "rows"
        found.append(f"only {view.n_rows:,} {rows}: coverage is known to {98 / view.n_rows**0.5:.0f} points at best")
    if isinstance(view, Sets):
        empty = int((view.size == 0).sum())
        if empty:
            found.append(f"{empty:,} of {view.n_rows:,} sets are empty; they cover nothing")
    if not isinstance(view, Sets):
        constant = bool((view.true == view.true[0]).all()) and view.n_rows > 1
        if constant:
            value = ", ".join(f"{each:.6g}" for each in np.atleast_1d(view.true[0]))
            found.append(f"every truth is {value}: nothing is known about other outcomes")
    return tuple(found)
