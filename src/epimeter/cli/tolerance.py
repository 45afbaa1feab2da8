# SPDX-License-Identifier: Apache-2.0
"""``epimeter plan --metric brier_score --limit 0.2``: how many rows decide about a tolerance of one's own."""

from __future__ import annotations

import math
from typing import Any

import click

from epimeter.card_index import find
from epimeter.cli.judging import aligned
from epimeter.errors import InputError
from epimeter.inference.known import refuse_without_value
from epimeter.inference.planning import SampleSizes, Target
from epimeter.summaries.means import MeanOf

PARTS = (0.5, 0.8, 0.9)
"""Where nothing is expected: shares of the way from the ideal to the limit."""


def tolerance(
    name: str,
    limit: float,
    expected: float | None,
    deviation: float | None,
    accuracy: float,
    bins: int,
    power: float,
    level: float,
) -> tuple[str, dict[str, Any]]:
    """Rows that decide whether a metric keeps a limit, in words and as plain values."""
    from epimeter.inference import plan

    metric = find(name)
    refuse_without_value(metric)
    low, high = _range(metric)
    for word, value in (("--limit", limit), ("--expected", expected)):
        if value is not None and not low <= value <= high:
            raise InputError(f"{word} of {metric.name} must lie in [{low:g}, {high:g}]; got {value:g}")
    if expected == limit:
        raise InputError(f"--expected lies on the limit, {limit:g}: no number of rows decides between the two sides")
    values = [expected] if expected is not None else _supposed(metric, limit)
    made: list[SampleSizes] = [
        plan([_target(metric, value, limit, deviation, accuracy, bins)], power=power, level=level) for value in values
    ]
    rows = [("if it is", "rows")]
    rows += [
        (f"{value:g}", "no number would do" if one.rows is None else f"{one.rows:,}")
        for value, one in zip(values, made, strict=True)
    ]
    says = (
        f"{metric.name} against the limit {limit:g}: rows with which the whole {100 * level:g} % interval lies on its side of "
        f"the limit with probability {power:g}."
    )
    plain = {
        "metric": metric.name,
        "limit": limit,
        "power": power,
        "confidence": level,
        "needs": [{"expected": value, "rows": one.rows} for value, one in zip(values, made, strict=True)],
    }
    return f"{says}\n\n{aligned(rows)}\n", plain


def _range(metric: Any) -> tuple[float, float]:
    low, high = metric.card.range or (None, None)
    return -math.inf if low is None else low, math.inf if high is None else high


def _supposed(metric: Any, limit: float) -> list[float]:
    """What could be expected, between the ideal and the limit."""
    ideal = metric.card.ideal
    if ideal is None:
        ideal = 0.0 if metric.card.direction == "lower" else None
    if ideal is None or ideal == limit:
        raise click.UsageError(f"say what is expected of {metric.name}: --expected VALUE")
    return [ideal + part * (limit - ideal) for part in PARTS]


def _target(metric: Any, expected: float, limit: float, deviation: float | None, accuracy: float, bins: int) -> Target:
    limits = (limit,)
    if deviation is not None:
        return Target(name=metric.name, kind="score", expected=expected, limits=limits, deviation=deviation)
    low, high = _range(metric)
    if metric.name == "ece":
        variance = max(accuracy * (1 - accuracy), 1e-6)
        return Target(name=metric.name, kind="error", expected=expected, limits=limits, bins=bins, variance=variance)
    if isinstance(metric.reads, MeanOf) and math.isfinite(low) and math.isfinite(high):
        # What one row can vary by at most, with this mean and this range (Bhatia and Davis 2000).
        spread = math.sqrt(max(0.0, (expected - low) * (high - expected)))
        return Target(name=metric.name, kind="score", expected=expected, limits=limits, deviation=spread)
    raise InputError(
        f"how much {metric.name} varies does not follow from its value; give --deviation, its standard error times the root of "
        "the number of rows, from a pilot",
        field="deviation",
    )
