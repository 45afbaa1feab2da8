# SPDX-License-Identifier: Apache-2.0
"""Intervals of metrics with columns of their own (detections): all columns of one length are drawn together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from epimeter.card import Metric
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.inference.bootstrap import ends, scheme
from epimeter.results import Interval, Result


def column_interval(
    metric: Metric[Any],
    columns: Sequence[Any],
    parameters: Mapping[str, Any],
    level: float,
    method: str,
    groups: Any,
    draws: int,
    seed: int,
) -> Interval:
    """Bootstrap interval of a metric of other columns; `groups`, such as the image of each box, are drawn whole."""
    if method not in ("basic", "percentile"):
        raise UndefinedMetricError(f"no {method} interval is known for {metric.name}; use basic or percentile")
    value = _headline(metric(*columns, **parameters))
    if not columns or not hasattr(columns[0], "__len__"):
        raise InputError(f"{metric.name} has no rows that could be drawn again", field="columns")
    n_rows = len(columns[0])
    plan = scheme(n_rows, None, groups)
    rowwise = [np.asarray(c) if hasattr(c, "__len__") and len(c) == n_rows else c for c in columns]
    named = {
        name: np.asarray(c) if hasattr(c, "__len__") and not isinstance(c, str) and len(c) == n_rows else c
        for name, c in parameters.items()
    }

    def one(replicate: int) -> float:
        _, rows = plan.draw(seed, replicate, n_rows, in_order=True, compiled=False)
        taken = [c[rows] if isinstance(c, np.ndarray) and len(c) == n_rows else c for c in rowwise]
        chosen = {k: c[rows] if isinstance(c, np.ndarray) and len(c) == n_rows else c for k, c in named.items()}
        return _headline(metric(*taken, **chosen))

    drawn = np.array([one(replicate) for replicate in range(draws)])
    low, high = ends(value, drawn, level, "basic" if method == "basic" else "percentile")
    least, most = metric.card.range
    if least is not None:
        low, high = max(low, least), max(high, least)
    if most is not None:
        low, high = min(low, most), min(high, most)
    note = "the upward bias of binned errors is not removed" if metric.card.ideal == 0.0 else ""
    return Interval(low=low, high=high, level=level, method=f"{method} bootstrap", units=plan.width, note=note)


def _headline(answer: Any) -> float:
    return answer.headline if isinstance(answer, Result) else float(answer)
