# SPDX-License-Identifier: Apache-2.0
"""Where a command writes: never over what it reads, and known to be a place before the work begins."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from epimeter.documents.held import form_of

ROW_SUFFIXES = (".parquet", ".csv", ".jsonl", ".ndjson", ".arrow")
"""What a table of rows is written as."""


def refuse_overwriting(output: str | None, *inputs: str | None, option: str = "--output") -> None:
    """Refuse an output that is one of the files read: after a slip of the hand the data would be gone."""
    for source in inputs:
        given = output is not None and source is not None and os.path.exists(output) and os.path.exists(source)
        if given and os.path.samefile(str(output), str(source)):
            raise click.UsageError(f"{option} must be another file than those that are read; {output} is one")


def asked_form(output: str | None, as_json: bool = False, *, without: tuple[str, ...] = ()) -> str:
    """The form that a report is written in: what --json or the suffix of --output says; refused before any work.

    `without` names the forms that this command has not.
    """
    form = "text" if output is None else form_of(output)
    if as_json and form not in ("json", "text"):
        raise click.UsageError(f"--json writes JSON; {output} asks for something else")
    if form in without:
        raise click.UsageError(f"this command has no {form} to write; got {output!r}")
    return "json" if as_json else form


def write(rendered: str | bytes, output: str | None) -> None:
    """Print, or write to a file."""
    if output is None:
        assert isinstance(rendered, str)  # figures and PDF come from the suffix of a file alone
        click.echo(rendered, nl=False)
        return
    if isinstance(rendered, str):
        Path(output).write_text(rendered, encoding="utf-8")
    else:
        Path(output).write_bytes(rendered)
    click.echo(f"wrote {output}", err=True)


def in_a_folder(output: str | None, option: str = "--output") -> None:
    """Refuse an output in a folder that is not there, before anything is done that cannot be undone."""
    if output is not None and not os.path.isdir(os.path.dirname(output) or "."):
        raise click.UsageError(f"{option} must lie in a folder that exists; {os.path.dirname(output)} does not")


def row_suffix(output: str) -> str:
    """The suffix of a table to be written; refused before any work."""
    suffix = Path(output).suffix.lower()
    if suffix not in ROW_SUFFIXES:
        raise click.UsageError(f"a table is written as {', '.join(ROW_SUFFIXES)}; got {output!r}")
    return suffix


def write_rows(rows: Any, output: str) -> None:
    """Write an Arrow table as the suffix of its file says."""
    import pyarrow as pa

    suffix = row_suffix(output)

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
