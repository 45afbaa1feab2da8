# SPDX-License-Identifier: Apache-2.0
"""``epimeter evaluate`` of forecasts of a number or of a set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from epimeter.cli.certainty import Certainty
from epimeter.errors import InputError
from epimeter.readers.forecast import Choice

if TYPE_CHECKING:
    from epimeter.report.forecast_report import ForecastReport

NOT_FOR_FORECASTS = (
    ("forecast", "--kind"),
    ("positive", "--positive"),
    ("classes", "--classes"),
    ("bins", "--bins"),
    ("binning", "--binning"),
    ("standard", "--standard"),
    ("by", "--by"),
    ("row_limit", "--row-limit"),
    ("sample", "--sample"),
    ("skip_damaged", "--skip-damaged"),
)
"""Options that say something of probabilities, or of a pass over many files."""


def is_forecast_file(files: list[str], format: str | None) -> bool:
    """Whether the columns of one file say a forecast of a number or a set; standard input is not looked at twice."""
    from epimeter.readers.forecast_table import holds_forecasts

    if len(files) != 1 or files[0] == "-":
        return False
    try:
        return holds_forecasts(files[0], format)
    except InputError:
        return False  # what cannot be read is refused where it is read


def evaluated_forecasts(
    file: str,
    more: tuple[str, ...],
    choice: Choice,
    format: str | None,
    metrics: Any,
    choices: dict[str, Any],
    certainty: Certainty,
) -> ForecastReport:
    """The report on the forecasts of a file; refusals say where in the file the fault is."""
    from epimeter.readers.forecast_table import read_forecasts
    from epimeter.report.forecasts import evaluate_forecasts

    context = click.get_current_context()
    for name, option in NOT_FOR_FORECASTS:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{option} does not apply to forecasts of a number or a set; leave it out")
    if more:
        raise click.UsageError(f"forecasts of a number or a set are read from one file; got {1 + len(more)}")
    table = read_forecasts(file, columns=choice.columns, format=format)
    try:
        return evaluate_forecasts(
            table.true,
            metrics=metrics,
            sample_weight=table.weight,
            groups=table.group,
            source=table.described(),
            **certainty.of_forecasts(),
            **table.stated,
            **choices,
        )
    except InputError as refusal:
        if refusal.row is None:
            raise
        where = f"{table.source}, {table.place(refusal.row)}"
        raise InputError(f"{refusal} ({where})", field=refusal.field, row=refusal.row, count=refusal.count) from None
