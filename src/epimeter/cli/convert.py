# SPDX-License-Identifier: Apache-2.0
"""``epimeter convert LOG… -o rows.parquet``: what was read from evaluation logs, one row an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from epimeter.cli.log_options import log_options
from epimeter.cli.outputs import spare
from epimeter.readers.logs import LogOptions

SUFFIXES = (".parquet", ".csv", ".jsonl", ".ndjson", ".arrow")


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

    suffix = Path(output).suffix.lower()
    if suffix not in SUFFIXES:
        raise click.UsageError(f"a table is written as {', '.join(SUFFIXES)}; got {output!r}")
    spare(output, *files)
    found = read_log(files, options=log)
    _write(found.rows, output, suffix)
    for note in found.notes:
        click.echo(f"epimeter: {note}", err=True)
    click.echo(f"wrote {output}: {found.n_rows:,} answers", err=True)


def _write(rows: Any, output: str, suffix: str) -> None:
    import pyarrow as pa

    if suffix == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(rows, output)
    elif suffix == ".arrow":
        with pa.OSFile(output, "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(rows)
    elif suffix == ".csv":
        import pyarrow.csv as csv

        for name in [field.name for field in rows.schema if pa.types.is_list(field.type)]:
            text = pa.array([None if value is None else json.dumps(value) for value in rows.column(name).to_pylist()])
            rows = rows.set_column(rows.schema.get_field_index(name), name, text)
        csv.write_csv(rows, output)
    else:
        with open(output, "w", encoding="utf-8") as file:
            for batch in rows.to_batches(max_chunksize=4096):
                file.writelines(json.dumps(row, default=str) + "\n" for row in batch.to_pylist())
