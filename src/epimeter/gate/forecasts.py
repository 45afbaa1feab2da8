# SPDX-License-Identifier: Apache-2.0
"""What a gate measures of forecasts of a number or of a set."""

from __future__ import annotations

import math

import numpy as np

from epimeter.card_index import find
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.forecasts import forecast
from epimeter.gate.policy import Gate, Requirement
from epimeter.inference.spread import design_of, skewed_ends, third_moment
from epimeter.readers.forecast_table import ForecastTable
from epimeter.report.forecasts import evaluate_forecasts
from epimeter.report.slicing import slice_names
from epimeter.results import Interval
from epimeter.sources.forecast_files import doubted, read_forecast_files
from epimeter.summaries.exact import RowMeans


def read_gate_forecasts(gate: Gate, paths: list[str], by: tuple[str, ...]) -> ForecastTable:
    """All rows of files of forecasts as one table."""
    return doubted(read_forecast_files(paths, columns=gate.choice.columns, format=gate.format, by=by))


def measured_forecasts(
    one: Requirement, rows: ForecastTable, level: float, wanted: bool
) -> tuple[float, Interval | None]:
    """The value of a metric of forecasts, and its interval where it is wanted and known."""
    found = evaluate_forecasts(
        rows.true,
        metrics=[one.metric],
        sample_weight=rows.weight,
        groups=rows.group,
        intervals="auto" if wanted else None,
        interval_level=level,
        **rows.stated,
        **one.parameters,
    )[one.metric]
    if found.value is None:
        raise UndefinedMetricError(str(found.undefined))
    return found.value, found.interval


def against_forecasts(
    gate: Gate, one: Requirement, rows: ForecastTable, name: str | None
) -> tuple[float, Interval | None]:
    """How much worse a metric is than on a baseline: row by row where both hold the same ids and the metric is a mean."""
    sign = 1 if find(one.metric).card.direction == "lower" else -1
    path = str(gate.folder / str(one.not_worse_than))
    base = read_gate_forecasts(gate, [path], () if name is None else gate.by)
    if name is not None:
        assert base.slices is not None
        base = base.take(slice_names(base.slices, gate.by) == name)
        if not base.n_rows:
            raise UndefinedMetricError(f"{one.not_worse_than} has no rows of the slice {name}")
    paired = _by_row(one, rows, base, sign, gate.level)
    if paired is not None:
        return paired
    value, around = measured_forecasts(one, rows, gate.level, True)
    before, other = measured_forecasts(one, base, gate.level, True)
    change = sign * (value - before)
    if around is None or other is None:
        return change, None
    up, down = (around.high - value, value - around.low)[::sign]
    back, forth = (other.high - before, before - other.low)[::sign]
    low, high = change - math.hypot(down, back), change + math.hypot(up, forth)
    return change, Interval(low=low, high=high, level=gate.level, method="two intervals, independent")


def _by_row(
    one: Requirement, rows: ForecastTable, base: ForecastTable, sign: int, level: float
) -> tuple[float, Interval] | None:
    """The mean of the differences of rows with the same id, and its interval; None where there are no such pairs."""
    recipe, _ = find(one.metric).settle(one.parameters)
    if rows.id is None or base.id is None or not isinstance(recipe, RowMeans):
        return None
    labels = [np.array([str(value) for value in np.asarray(table.id).tolist()]) for table in (rows, base)]
    orders = [np.argsort(label, kind="stable") for label in labels]
    first, second = (label[order] for label, order in zip(labels, orders, strict=True))
    if len(np.unique(first)) < len(first) or not np.array_equal(first, second):
        return None
    pair = [table.take(order) for table, order in zip((rows, base), orders, strict=True)]
    if not np.array_equal(pair[0].true, pair[1].true):
        raise InputError(f"{base.source} holds the same ids as the data of the gate, but other truths", field="truth")
    views = [forecast(each.true, sample_weight=each.weight, groups=each.group, **each.stated) for each in pair]
    now, before = (recipe.rows(view) for view in views)
    if now.shape[1] > 1 or not (np.isfinite(now).all() and np.isfinite(before).all()):
        return None
    change = sign * (now - before)[:, 0]
    centre = float(np.average(change, weights=views[0].weight))
    design = design_of(views[0], pair[0].group)
    error = design.deviation(change - centre)
    plain = design.weight is None and design.group is None
    third = third_moment(change - centre, error) if plain and error > 0 else None
    low, high = skewed_ends(centre, error, third, design, level)
    return centre, Interval(low=low, high=high, level=level, method="paired rows", units=design.units)
