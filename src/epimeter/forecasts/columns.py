# SPDX-License-Identifier: Apache-2.0
"""Columns into forecasts: the only place that doubts them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.checks import check_finite, column, numbers, refuse, refuse_different_indexes
from epimeter.errors import InputError
from epimeter.forecasts.counts import Counts, read_counts
from epimeter.forecasts.numeric import Ensemble, Intervals, Normal, Quantiles
from epimeter.forecasts.row import LARGEST, Floats, Forecast, refuse_huge
from epimeter.forecasts.sets import Sets, read_sets
from epimeter.forecasts.states import States, read_states
from epimeter.views import weights

COLUMNS = ("mean", "std", "variance", "quantiles", "levels", "members", "lower", "upper", "sets", "rate", "dispersion")
"""What a forecast may be stated by, beside y_true."""

WANTED = (
    "mean and std (or variance), quantiles (a mapping from level to column, or a matrix with levels), members, lower and "
    "upper, sets, or rate (the expected count)"
)


def forecast(y_true: Any, *, sample_weight: Any = None, **given: Any) -> Forecast:
    """Doubt columns once and give them back as a forecast.

    Parameters
    ----------
    y_true
        What came true: numbers, or labels beside `sets`.
    sample_weight
        Non-negative weights, not all zero.
    given
        ``mean`` with ``std`` or ``variance`` (of a state: a matrix of means, and deviations, variances or covariances);
        ``quantiles``, a mapping from level to column or a matrix beside ``levels``; ``members``, one column a member; ``lower``
        and ``upper``; ``sets``; ``rate``, the expected count, with ``dispersion`` where the law
        is negative binomial. Further columns, such as ``groups``.
    """
    stated = {name: given.pop(name) for name in COLUMNS if given.get(name) is not None}
    further = {name: values for name, values in given.items() if values is not None}
    kind = _kind(stated)
    if kind == "set":
        label, covered, size = read_sets(y_true, stated["sets"])
        _refuse_no_rows(len(label))
        shared = _shared(len(label), sample_weight, further)
        if len(size) and not size.any():
            raise InputError("sets must not all be empty; no row holds any label", field="sets")
        return Sets(label, covered=covered, size=size, **shared)
    shape: tuple[int, ...] = np.shape(stated["mean"]) if "mean" in stated else ()
    if kind == "normal" and len(shape) == 2 and shape[1] > 1:
        made = read_states(y_true, stated["mean"], stated.get("std"), stated.get("variance"))
        _refuse_no_rows(len(made["true"]))
        return States(**made, **_shared(len(made["true"]), sample_weight, further))
    refuse_different_indexes(y_true=y_true, **{n: v for n, v in stated.items() if not isinstance(v, Mapping)})
    true = _vector(y_true, "y_true")
    _refuse_no_rows(len(true))
    shared = _shared(len(true), sample_weight, further)
    if kind == "normal":
        return Normal(true, **_normal(stated, len(true)), **shared)
    if kind == "count":
        return Counts(true, **read_counts(true, {n: _vector(v, n, len(true)) for n, v in stated.items()}), **shared)
    if kind == "quantiles":
        return Quantiles(true, **_quantiles(stated, len(true)), **shared)
    if kind == "ensemble":
        members = _matrix(stated["members"], "members", len(true))
        return Ensemble(true, members=np.ascontiguousarray(np.sort(members, axis=1)), **shared)
    return Intervals(true, **_interval(stated, len(true)), **shared)


def _kind(stated: Mapping[str, Any]) -> str:
    """The kind that the columns make; two of them, or none, are refused."""
    families = {
        "normal": {"mean", "std", "variance"} & set(stated),
        "quantiles": {"quantiles", "levels"} & set(stated),
        "ensemble": {"members"} & set(stated),
        "interval": {"lower", "upper"} & set(stated),
        "set": {"sets"} & set(stated),
        "count": {"rate", "dispersion"} & set(stated),
    }
    found = [kind for kind, names in families.items() if names]
    if len(found) > 1:
        names = " and ".join(sorted(min(families[kind]) for kind in found))
        raise InputError(f"a forecast must be stated in one way; got {names}. Leave one of them out", field=names)
    if not found:
        raise InputError(f"a forecast must be stated beside y_true; pass {WANTED}", field="y_true")
    return found[0]


def _normal(stated: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    if "mean" not in stated or ("std" in stated) == ("variance" in stated):
        raise InputError(
            f"a normal forecast must have a mean and either a std or a variance; got {', '.join(sorted(stated))}",
            field="mean",
        )
    mean = _vector(stated["mean"], "mean", n_rows)
    if "std" in stated:
        std = _vector(stated["std"], "std", n_rows)
        refuse(std <= 0, std, "std", "must be above 0", "A point forecast has no distribution; score its error instead")
        refuse(std < 1 / LARGEST, std, "std", f"must be at least {1 / LARGEST:g}, so that its square is a number")
    else:
        variance = _vector(stated["variance"], "variance", n_rows)
        refuse(variance <= 0, variance, "variance", "must be above 0")
        refuse(variance < LARGEST**-2, variance, "variance", f"must be at least {LARGEST**-2:g}")
        std = np.sqrt(variance)
    return {"mean": mean, "std": std}


def _quantiles(stated: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    given = stated.get("quantiles")
    if given is None:
        raise InputError("levels need the quantiles beside them; pass quantiles, one column a level", field="quantiles")
    if isinstance(given, Mapping):
        if "levels" in stated:
            raise InputError("levels come with a matrix; the keys of quantiles say them already", field="levels")
        level = _levels(list(given))
        values = np.column_stack([_vector(given[key], f"quantile {key}", n_rows) for key in given])
    else:
        if "levels" not in stated:
            raise InputError("quantiles as a matrix need levels, one a column; got none", field="levels")
        level, values = _levels(list(stated["levels"])), _matrix(given, "quantiles", n_rows)
        if values.shape[1] != len(level):
            raise InputError(
                f"quantiles must have one column a level; got {values.shape[1]} columns and {len(level)} levels",
                field="levels",
            )
    order = np.argsort(level)
    level, values = level[order], values[:, order]
    crossing = np.diff(values, axis=1) < 0
    if crossing.any():
        row = int(np.flatnonzero(crossing.any(axis=1))[0])
        place = int(np.flatnonzero(crossing[row])[0])
        count = int(crossing.any(axis=1).sum())
        raise InputError(
            f"quantiles must not cross; {count} of {n_rows} rows do, the first is row {row}: {values[row, place]:.6g} at level "
            f"{level[place]:g}, {values[row, place + 1]:.6g} at level {level[place + 1]:g}",
            field="quantiles",
            row=row,
            count=count,
        )
    return {"levels": level, "values": values}


def _levels(given: list[Any]) -> Floats:
    try:
        level = np.array([float(each) for each in given])
    except (TypeError, ValueError):
        raise InputError(f"levels must be numbers between 0 and 1; got {given!r:.80}", field="levels") from None
    outside = ~((level > 0) & (level < 1))
    if outside.any() or not len(level):
        first = given[int(np.flatnonzero(outside)[0])] if len(level) else "none"
        raise InputError(f"levels must lie between 0 and 1, both left out; got {first}", field="levels")
    if len(np.unique(level)) < len(level):
        raise InputError(f"levels must differ; got {', '.join(f'{each:g}' for each in level)}", field="levels")
    return level


def _interval(stated: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
    for name in ("lower", "upper"):
        if name not in stated:
            raise InputError(f"an interval must have both ends; {name} is missing", field=name)
    lower, upper = (_vector(stated[name], name, n_rows, finite=False) for name in ("lower", "upper"))
    upside_down = lower > upper
    if upside_down.any():
        row, count = int(np.argmax(upside_down)), int(upside_down.sum())
        raise InputError(
            f"lower must not be above upper; {count} of {n_rows} rows have it so, the first is row {row}: lower "
            f"{lower[row]:.6g}, upper {upper[row]:.6g}. Swapped? Exchange the columns",
            field="lower",
            row=row,
            count=count,
        )
    return {"lower": lower, "upper": upper}


def _vector(values: Any, name: str, n_rows: int | None = None, finite: bool = True) -> Floats:
    array = numbers(values, name).astype(np.float64, copy=False)
    if array.ndim == 0 and n_rows is not None:
        array = np.full(n_rows, float(array))
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{name} must be a vector, one number a row; got shape {array.shape}", field=name)
    if n_rows is not None and len(array) != n_rows:
        raise InputError(f"y_true and {name} must have the same length; got {n_rows} and {len(array)}", field=name)
    if finite:
        check_finite(array, name)
    else:
        refuse(np.isnan(array), array, name, "must be a number")
    refuse_huge(array, name)
    return _frozen(array)


def _matrix(values: Any, name: str, n_rows: int) -> Floats:
    array = numbers(values, name).astype(np.float64, copy=False)
    if array.ndim != 2 or len(array) != n_rows or array.shape[1] == 0:
        raise InputError(
            f"{name} must be a matrix with one row for each of the {n_rows} truths; got shape {array.shape}", field=name
        )
    check_finite(array, name)
    refuse_huge(array, name)
    return array


def _shared(n_rows: int, sample_weight: Any, further: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "weight": None if sample_weight is None else weights(sample_weight, n_rows),
        "columns": {name: _frozen(column(values, name, n_rows)) for name, values in further.items()},
    }


def _refuse_no_rows(n_rows: int) -> None:
    if n_rows == 0:
        raise InputError("y_true must have at least one row; got none", field="y_true")


def _frozen(values: NDArray[Any]) -> NDArray[Any]:
    """The same memory, not to be written to through the forecast."""
    values = values.view()
    values.flags.writeable = False
    return values
