# SPDX-License-Identifier: Apache-2.0
"""What the figures of a report on forecasts show, as numbers: ranks, calibration of quantiles, a fan, strata of coverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import UndefinedMetricError
from epimeter.forecasts import Forecast, Sets
from epimeter.inference.spread import wilson
from epimeter.metrics.distribution.coverage import inside
from epimeter.metrics.distribution.strata import width_strata
from epimeter.metrics.distribution.transform import Ranks, ranked
from epimeter.results import plain

Floats = NDArray[np.float64]

FAN_ROWS = 60
"""Rows that a fan shows."""
MOST_CLASSES = 40
"""Classes of a rank histogram that can be seen; an ensemble of more members has them taken together."""
STRATA = 5


@dataclass(frozen=True)
class QuantileCurve:
    """The share of truths at or below the quantile of each level, with its 95 % interval."""

    level: Floats
    observed: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Fan:
    """Some rows, from low to high forecasts: intervals and what came true. `inner` is None where one interval is stated."""

    lower: Floats
    upper: Floats
    true: Floats
    inner: tuple[Floats, Floats] | None
    outer_level: float
    n_rows: int


@dataclass(frozen=True)
class Strata:
    """Coverage by the size of what was stated: intervals by width, sets by their number of labels."""

    names: tuple[str, ...]
    rows: NDArray[np.int64]
    coverage: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class ForecastCurves:
    """The numbers behind the figures; None where a kind of forecast has no such figure."""

    ranks: Ranks | None
    quantiles: QuantileCurve | None
    fan: Fan | None
    strata: Strata | None
    level: float

    def to_dict(self) -> dict[str, Any]:
        """Plain lists for JSON."""
        parts = {"ranks": self.ranks, "quantiles": self.quantiles, "strata": self.strata}
        return {
            name: None if part is None else {key: plain(value) for key, value in vars(part).items()}
            for name, part in parts.items()
        }


def forecast_curves(view: Forecast, level: float) -> ForecastCurves:
    """The numbers behind the figures of one data set; weights are left out, the figures count rows."""
    return ForecastCurves(
        _or_none(lambda: _ranks(view)),
        _or_none(lambda: _quantiles(view)),
        _or_none(lambda: _fan(view, level)),
        _or_none(lambda: _strata(view, level)),
        level,
    )


def _or_none(make: Any) -> Any:
    try:
        return make()
    except UndefinedMetricError:
        return None


def _ranks(view: Forecast) -> Ranks:
    found = ranked(view)
    together = -(-len(found.count) // MOST_CLASSES)
    if together == 1:
        return found
    starts = np.arange(0, len(found.count), together)
    return Ranks(
        np.append(found.edges[starts], 1.0),
        np.add.reduceat(found.count, starts),
        np.add.reduceat(found.expected, starts),
    )


def _quantiles(view: Forecast) -> QuantileCurve:
    levels = view.stated_levels
    observed = np.array([np.mean(view.true <= view.quantile(float(level))) for level in levels])
    ends = [wilson(float(share), view.n_rows, 0.95) for share in observed]
    return QuantileCurve(levels, observed, np.array([low for low, _ in ends]), np.array([high for _, high in ends]))


def _fan(view: Forecast, level: float) -> Fan:
    lower, upper = view.interval(level)
    finite = np.flatnonzero(np.isfinite(lower) & np.isfinite(upper))
    if len(finite) < 2:
        raise UndefinedMetricError("a fan needs two finite intervals")
    order = finite[np.argsort(((lower + upper) / 2)[finite], kind="stable")]
    some = order[np.linspace(0, len(order) - 1, min(FAN_ROWS, len(order))).round().astype(np.intp)]
    inner = None
    if view.kind != "interval":
        try:
            low, high = view.interval(0.5)
            inner = (low[some], high[some])
        except UndefinedMetricError:
            pass
    return Fan(lower[some], upper[some], view.true[some].astype(np.float64), inner, level, len(finite))


def _strata(view: Forecast, level: float) -> Strata:
    if isinstance(view, Sets):
        sizes = np.unique(view.size)
        masks = [view.size == size for size in sizes]
        names = [f"{size} label{'' if size == 1 else 's'}" for size in sizes.tolist()]
        hit = view.covered
    else:
        lower, upper = view.interval(level)
        width, hit = upper - lower, inside(view, level)
        place = width_strata(width, None, STRATA)
        masks = [place == each for each in np.unique(place)]
        names = [f"{width[mask].min():.3g} to {width[mask].max():.3g}" for mask in masks]
    if len(masks) > MOST_CLASSES:
        raise UndefinedMetricError("too many strata to be seen")
    shares = np.array([hit[mask].mean() for mask in masks])
    rows = np.array([int(mask.sum()) for mask in masks])
    ends = [wilson(float(share), int(count), 0.95) for share, count in zip(shares, rows, strict=True)]
    return Strata(tuple(names), rows, shares, np.array([e[0] for e in ends]), np.array([e[1] for e in ends]))
