# SPDX-License-Identifier: Apache-2.0
"""Intervals of metrics with columns of their own: whole images are drawn for detections, else rows or groups of rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.calling import Metric
from epimeter.errors import InputError, UndefinedMetricError
from epimeter.inference.bootstrap import ends
from epimeter.inference.scheme import Scheme, scheme
from epimeter.results import Interval, Result

Indices = NDArray[np.int64]
Redraw = Callable[[Indices], dict[str, Any]]


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
    """Bootstrap interval of a metric of other columns."""
    if method not in ("basic", "percentile"):
        raise UndefinedMetricError(f"no {method} interval is known for {metric.name}; use basic or percentile")
    named = dict(zip(inspect.signature(metric.compute).parameters, columns, strict=False)) | dict(parameters)
    value = _headline(metric(**named))
    if "truth_image" in named and "image" in named:
        if groups is not None:
            raise InputError("detections are drawn by image; groups cannot be given too", field="groups")
        plan, redraw = _images(named)
    else:
        plan, redraw = _rows(metric, named, groups)
    n_things = plan.width if plan.members is None else len(plan.members)

    def one(replicate: int) -> float:
        _, chosen = plan.draw(seed, replicate, n_things, in_order=True)
        return _headline(metric(**(named | redraw(chosen))))

    drawn = np.array([one(replicate) for replicate in range(draws)])
    low, high = ends(value, drawn, level, "basic" if method == "basic" else "percentile")
    least, most = metric.card.range
    if least is not None:
        low, high = max(low, least), max(high, least)
    if most is not None:
        low, high = min(low, most), min(high, most)
    note = "the upward bias of binned errors is not removed" if metric.card.ideal == 0.0 else ""
    return Interval(low=low, high=high, level=level, method=f"{method} bootstrap", units=plan.width, note=note)


def _rows(metric: Metric[Any], named: Mapping[str, Any], groups: Any) -> tuple[Scheme, Redraw]:
    """All columns as long as the first are drawn together."""
    first = next(iter(named.values()), None)
    if first is None or isinstance(first, str) or not hasattr(first, "__len__"):
        raise InputError(f"{metric.name} has no rows that could be drawn again")
    n_rows = len(first)
    columns = {
        name: np.asarray(values)
        for name, values in named.items()
        if hasattr(values, "__len__") and not isinstance(values, str) and len(values) == n_rows
    }
    return scheme(n_rows, None, groups), lambda rows: {name: values[rows] for name, values in columns.items()}


def _images(named: Mapping[str, Any]) -> tuple[Scheme, Redraw]:
    """Images are drawn with all their objects and boxes; an image drawn twice counts as two images."""
    sides = (("truth_image", ("truth_class", "truth_box")), ("image", ("label", "box", "score")))
    owners = [np.asarray(named[owner]) for owner, _ in sides]
    images = np.unique(np.concatenate(owners))
    places = [np.searchsorted(images, owner) for owner in owners]
    orders = [np.argsort(place, kind="stable") for place in places]
    starts = [
        np.searchsorted(place[order], np.arange(len(images) + 1)) for place, order in zip(places, orders, strict=True)
    ]

    def redraw(chosen: Indices) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for (owner, columns), order, start in zip(sides, orders, starts, strict=True):
            count = start[chosen + 1] - start[chosen]
            shift = np.repeat(start[chosen] - np.concatenate([[0], np.cumsum(count)[:-1]]), count)
            rows = order[np.arange(count.sum()) + shift]
            made[owner] = np.repeat(np.arange(len(chosen)), count)
            made |= {name: np.asarray(named[name])[rows] for name in columns}
            if owner == "image" and np.asarray(named.get("image_size")).ndim == 2:  # one size for each box
                made["image_size"] = np.asarray(named["image_size"])[rows]
        return made

    return scheme(len(images), None, None), redraw


def _headline(answer: Any) -> float:
    return answer.headline if isinstance(answer, Result) else float(answer)
