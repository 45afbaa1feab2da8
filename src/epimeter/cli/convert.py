# SPDX-License-Identifier: Apache-2.0
"""``epimeter convert LOG… -o rows.parquet``: what was read from evaluation logs, one row an answer."""

from __future__ import annotations

import click

from epimeter.cli.log_options import log_options
from epimeter.cli.outputs import refuse_overwriting, row_suffix, write_rows
from epimeter.readers.logs import LogOptions


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="LOG…")
@click.option(
    "--output", "-o", required=True, type=click.Path(dir_okay=False), help="Where: .parquet, .csv, .jsonl, .arrow."
)
@log_options
def convert(files: tuple[str, ...], output: str, log: LogOptions) -> None:
    """Read evaluation logs and write their answers as a table, one row each.

    The columns are id, question, epoch, confidence, correct, why (an answer has neither), answer, expected, and what else the
    logs hold: model, task, timestamp, unknown, detected, option_probabilities, metadata.NAME.

    \b
    epimeter convert run.eval -o rows.parquet
    epimeter convert logs/ --scorer choice --confidence verbalised -o rows.csv
    """
    from epimeter.readers.logs import read_log

    row_suffix(output)
    refuse_overwriting(output, *files)
    found = read_log(files, options=log)
    write_rows(found.rows, output)
    for note in found.notes:
        click.echo(f"epimeter: {note}", err=True)
    click.echo(f"wrote {output}: {found.n_rows:,} answers", err=True)
