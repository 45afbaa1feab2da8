# SPDX-License-Identifier: Apache-2.0
"""Forecasts of a number or of a set from several files, a pattern or a folder, put together as one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from epimeter.errors import InputError, ReadError
from epimeter.forecasts import Forecast, forecast
from epimeter.readers.forecast_table import ForecastTable, forecast_batches, joined_forecasts, read_forecasts
from epimeter.sources.paths import SourceFile, places


def read_forecast_files(
    sources: Sequence[str],
    *,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,
    by: Sequence[str] = (),
) -> ForecastTable:
    """The rows of all files, which must state the same kind of forecast by the same columns.

    Parameters
    ----------
    sources
        Files, patterns and folders; `-` is standard input.
    columns, format
        As for `read_forecasts`.
    by
        Columns, or keys of folders (``day=2026-01-01``), that the rows are to be sliced by.
    """
    found = places(sources)
    parts = [_read(place, dict(columns or {}), format, by) for place in found]
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    for part in parts[1:]:
        _refuse_other(first, part)
    named = replace(joined_forecasts(parts), files=tuple((part.source, part.numbering, part.n_rows) for part in parts))
    return replace(named, source=f"{first.source} and {len(parts) - 1} more")


def forecast_tables(
    sources: Sequence[str], *, columns: Mapping[str, str] | None = None, format: str | None = None
) -> Iterator[ForecastTable]:
    """The rows of all files as `read_forecast_files` has them, piece by piece."""
    first: ForecastTable | None = None
    for place in places(sources):
        for piece in forecast_batches(place.path, columns=columns, format=format):
            named = replace(piece, source=place.name)
            if first is None:
                first = named
            elif first.source != named.source:
                _refuse_other(first, named)
            yield named


def doubted(table: ForecastTable) -> ForecastTable:
    """The same rows, their values doubted once: a refusal says in which file and where."""
    validated(table)
    return table


def validated(table: ForecastTable) -> Forecast:
    """The forecast that the rows state; a refusal says in which file and where."""
    try:
        return forecast(table.true, sample_weight=table.weight, groups=table.group, **table.stated)
    except InputError as refusal:
        if refusal.row is None:
            raise
        raise InputError(
            f"{refusal} ({table.place(refusal.row)})", field=refusal.field, row=refusal.row, count=refusal.count
        ) from None


def _read(place: SourceFile, columns: dict[str, str], format: str | None, by: Sequence[str]) -> ForecastTable:
    """The rows of one file; what its folders say is a column of it."""
    inside = [name for name in by if name not in place.folders]
    if inside:
        columns["slice"] = ",".join(inside)
    table = read_forecasts(place.path, columns=columns, format=format)
    if not by:
        return replace(table, source=place.name)
    made: list[Any] = []
    for name in by:
        if name in inside:
            assert table.slices is not None
            made.append(table.slices[:, inside.index(name)])
        else:
            made.append(np.full(table.n_rows, place.folders[name], object))
    return replace(table, source=place.name, slices=np.stack(made, axis=1))


def _refuse_other(first: ForecastTable, other: ForecastTable) -> None:
    """Refuse rows that another kind of forecast, other levels or further columns keep from being put together."""
    if other.kind != first.kind:
        raise ReadError(
            f"files that are read together must state one kind of forecast; {first.source} states {first.kind}, "
            f"{other.source} {other.kind}",
            field="source",
        )
    for role in dict.fromkeys((*first.roles, *other.roles)):
        mine, theirs = first.roles.get(role), other.roles.get(role)
        if (mine is None) != (theirs is None):
            has, lacks = (first, other) if theirs is None else (other, first)
            raise ReadError(
                f"files that are read together must have the same columns; {has.source} has {has.roles[role]} for {role}, "
                f"{lacks.source} has none",
                field=role,
            )
    for name in first.stated:
        if np.shape(first.stated[name])[1:] != np.shape(other.stated[name])[1:] or (
            name == "levels" and first.stated[name] != other.stated[name]
        ):
            raise ReadError(
                f"files that are read together must state the same {name}; {first.source} and {other.source} differ",
                field=name,
            )
