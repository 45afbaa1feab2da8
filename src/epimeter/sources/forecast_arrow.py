# SPDX-License-Identifier: Apache-2.0
"""Forecasts of a number or of a set as an Arrow stream, under the names that `forecast_columns` knows: how they travel."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from epimeter.errors import InputError
from epimeter.forecasts import spread_of_states
from epimeter.readers.forecast_table import ForecastTable


def forecast_stream(
    y_true: Any, stated: Mapping[str, Any], *, weight: Any = None, group: Any = None, unlabelled: int = 0
) -> bytes:
    """Columns as `epimeter.forecasts.forecast` takes them; `unlabelled` rows without a truth follow, to be counted.

    Values are not doubted here: whoever reads the stream does, and says which row is wrong.
    """
    sink = io.BytesIO()
    _write(_columns(y_true, stated), weight, group, unlabelled, sink)
    return sink.getvalue()


def write_forecasts(table: ForecastTable, target: BinaryIO) -> None:
    """The rows of a table, and as many without a truth as it left out."""
    _write(_columns(table.true, table.stated), table.weight, table.group, table.unlabelled, target)


def _write(columns: dict[str, Any], weight: Any, group: Any, unlabelled: int, target: BinaryIO) -> None:
    import pyarrow as pa
    from pyarrow import ipc

    columns |= {name: each for name, each in (("weight", weight), ("group", group)) if each is not None}
    n_rows = len(next(iter(columns.values())))
    for name, values in columns.items():
        if len(values) != n_rows:
            raise InputError(f"y_true and {name} must have the same length; got {n_rows} and {len(values)}", field=name)
    arrays = {}
    for name, values in columns.items():
        try:
            made = pa.array([str(each) for each in values], pa.string()) if name == "group" else pa.array(values)
        except (pa.ArrowException, TypeError, ValueError) as fault:
            raise InputError(f"{name} must hold one kind of value; {fault}"[:200], field=name) from None
        # A row without a truth states what it likes; of a set nothing is no set, so there it is the empty one.
        empty = pa.array([[]] * unlabelled, made.type) if name == "set" else pa.nulls(unlabelled, made.type)
        arrays[name] = pa.concat_arrays([made, empty])
    batch = pa.table(arrays)
    with ipc.new_stream(target, batch.schema) as stream:
        stream.write_table(batch)


def _columns(y_true: Any, stated: Mapping[str, Any]) -> dict[str, Any]:
    """One column a number of a row, by the names of files."""
    if "sets" in stated:
        sets = [sorted(str(label) for label in each) for each in stated["sets"]]
        return {"label": _words(y_true), "set": sets}
    columns: dict[str, Any] = {}
    wide = {name: np.asarray(stated[name]) for name in ("mean", "std", "variance") if name in stated}
    if "mean" in wide and wide["mean"].ndim == 2 and wide["mean"].shape[1] > 1:
        for role, values in ({"y": np.asarray(y_true, np.float64)} | wide).items():
            columns |= _components(role, values, *wide["mean"].shape)
        return columns
    columns["y"] = _vector(y_true)
    quantiles = stated.get("quantiles")
    if isinstance(quantiles, Mapping):
        columns |= {_quantile(level): _vector(values) for level, values in quantiles.items()}
    elif quantiles is not None:
        columns |= _named("quantiles", quantiles, [_quantile(each) for each in stated.get("levels", ())])
    if "members" in stated:
        width = np.shape(stated["members"])[-1]
        columns |= _named("members", stated["members"], [f"member_{i}" for i in range(width)])
    for name in ("mean", "std", "variance", "lower", "upper", "rate", "dispersion"):
        if name in stated:
            columns[name] = _vector(stated[name], len(columns["y"]))
    return columns


def _components(role: str, values: Any, n: int, d: int) -> dict[str, Any]:
    """The numbers of a state, one column each; of a covariance what stands on and above the diagonal."""
    if role in ("std", "variance"):
        values = spread_of_states(values, role, n, d)
    elif values.shape != (n, d):
        raise InputError(f"y_true and mean must have the same shape; got {values.shape} and {(n, d)}", field="mean")
    if values.ndim == 3:
        above = zip(*np.triu_indices(d), strict=True)
        return {f"cov_{i}_{j}": np.ascontiguousarray(values[:, i, j]) for i, j in above}
    return {f"{role}_{i}": np.ascontiguousarray(values[:, i]) for i in range(d)}


def _named(role: str, values: Any, names: list[str]) -> dict[str, Any]:
    matrix = np.asarray(values)
    if matrix.ndim != 2 or matrix.shape[1] != len(names):
        raise InputError(
            f"{role} must be a matrix with one column for each of {len(names)} names; got shape {matrix.shape}",
            field=role,
        )
    return {name: np.ascontiguousarray(matrix[:, i]) for i, name in enumerate(names)}


def _quantile(level: Any) -> str:
    """The name of a column of quantiles, which ends in its level."""
    try:
        return f"q{np.format_float_positional(float(level), trim='-')}"
    except (TypeError, ValueError):
        raise InputError(f"levels must be numbers between 0 and 1; got {level!r:.40}", field="levels") from None


def _vector(values: Any, n_rows: int | None = None) -> Any:
    """A column as it is; one number stands for all rows."""
    if np.ndim(values) == 0 and n_rows is not None:
        return np.full(n_rows, values)
    array = np.asarray(values)
    return list(array) if array.dtype == object else np.ascontiguousarray(array.reshape(len(array), -1)[:, 0])


def _words(values: Any) -> list[str | None]:
    return [None if each is None else str(each) for each in np.asarray(values, object).tolist()]
