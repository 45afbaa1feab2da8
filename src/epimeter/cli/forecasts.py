# SPDX-License-Identifier: Apache-2.0
"""``epimeter evaluate`` of forecasts of a number or of a set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from epimeter.cli.certainty import Certainty
from epimeter.cli.progress import Progress
from epimeter.cli.streaming import Streaming
from epimeter.errors import InputError
from epimeter.forecasts import COLUMNS
from epimeter.readers.forecast import Choice

if TYPE_CHECKING:
    from epimeter.readers.forecast_table import ForecastTable
    from epimeter.report.forecast_report import ForecastReport

OF_PROBABILITIES = (("forecast", "--kind"), ("positive", "--positive"), ("classes", "--classes"))
NOT_FOR_FORECASTS = (
    ("logits", "--logits"),
    ("bins", "--bins"),
    ("binning", "--binning"),
    ("standard", "--standard"),
    ("sample", "--sample"),
    ("skip_damaged", "--skip-damaged"),
)
"""Options that say something of probabilities."""
ROW_LIMIT = 1_000_000
"""Rows above which nothing is kept but totals: a replicate of all rows takes as long as a pass."""
LARGE = 1 << 25
"""Bytes of all files from which they are read piece by piece."""


def is_forecast_file(files: list[str], format: str | None) -> bool:
    """Whether the columns of the first file say a forecast of a number or a set; standard input is not looked at twice."""
    from epimeter.readers.forecast_table import holds_forecasts
    from epimeter.sources.paths import places
    from epimeter.sources.routes import SQL

    if files[0] == "-" or SQL.match(files[0]):
        return False
    try:
        return holds_forecasts(places(files)[0].path, format)
    except InputError:
        return False  # what cannot be read is refused where it is read


def measures_forecasts(metrics: Any) -> bool:
    """Whether a metric asked for by name is one of forecasts; a name that is none is refused where it is used."""
    from epimeter.card_index import find

    for name in metrics if isinstance(metrics, list) else ():
        try:
            if find(name.strip()).card.forecasts:
                return True
        except InputError:
            continue
    return False


def refuse_for_forecasts(options: Iterable[tuple[str, str]]) -> None:
    """Refuse options that say something of probabilities, and further ones that forecasts have no use for."""
    context = click.get_current_context()
    for name, option in (*OF_PROBABILITIES, *options):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option} does not apply to forecasts of a number or a set; leave it out")


def evaluated_forecasts(
    files: list[str],
    choice: Choice,
    format: str | None,
    metrics: Any,
    choices: dict[str, Any],
    certainty: Certainty,
    asked: Streaming,
) -> Mapping[Any, ForecastReport]:
    """The reports on the forecasts of files, by slice; the whole under None where nothing is sliced."""
    import numpy as np

    from epimeter.cli.sliced import chosen
    from epimeter.report.forecasts import evaluate_forecasts
    from epimeter.report.slices import ForecastReports
    from epimeter.report.slicing import slice_names
    from epimeter.sources.forecast_files import doubted, read_forecast_files

    refuse_for_forecasts(NOT_FOR_FORECASTS)
    for name in choices:
        if name in COLUMNS:
            raise click.UsageError(
                f"{name} is stated by a column of the file, not by --set; name it: --column {name}=NAME"
            )
    streamed = None if asked.by else _streamed(files, choice, format, metrics, choices, certainty, asked.row_limit)
    if streamed is not None:
        return {None: streamed}
    table = doubted(read_forecast_files(files, columns=choice.columns, format=format, by=asked.by))

    def report(rows: ForecastTable) -> ForecastReport:
        return evaluate_forecasts(
            rows.true,
            metrics=metrics,
            sample_weight=rows.weight,
            groups=rows.group,
            source=rows.described(),
            **certainty.of_forecasts(),
            **rows.stated,
            **choices,
        )

    if table.slices is None:
        return {None: report(table)}
    label = slice_names(table.slices, asked.by)
    names = sorted(np.unique(label).tolist())
    made = ForecastReports(names, lambda name: report(table.take(label == name)), lambda: report(table))
    return chosen(made, asked.value)


def _streamed(
    files: list[str],
    choice: Choice,
    format: str | None,
    metrics: Any,
    choices: dict[str, Any],
    certainty: Certainty,
    row_limit: int | None,
) -> ForecastReport | None:
    """The report of one pass in bounded memory; None where there are few rows, which are better held."""
    import os

    from epimeter.report.forecast_pass import ForecastPass
    from epimeter.sources.forecast_files import forecast_tables
    from epimeter.sources.paths import places

    if files[0] == "-" or (row_limit is None and sum(os.path.getsize(p.path) for p in places(files)) < LARGE):
        return None
    if certainty.interval == "bootstrap":
        raise click.UsageError(
            "--interval bootstrap needs all rows in memory; files of this size have intervals of a pass"
        )
    limit = ROW_LIMIT if row_limit is None else row_limit
    passing, bar = ForecastPass(metrics, choices, limit), Progress(None)
    held: list[ForecastTable] = []
    try:
        for piece in forecast_tables(files, columns=choice.columns, format=format):
            bar(piece.n_rows)
            held.append(piece)
            if passing.n_rows or sum(each.n_rows for each in held) > limit:
                for each in held:
                    passing.add(each)
                held.clear()
    finally:
        bar.close()
    return passing.report(level=choices.get("level"), **certainty.of_forecasts()) if passing.n_rows else None
