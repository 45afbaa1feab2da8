# SPDX-License-Identifier: Apache-2.0
"""Several files whose rows belong to groups: answers to one question are one piece of evidence, in whichever file they stand."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import click

from epimeter.cli.streaming import LARGE, FileEvaluation, Streaming
from epimeter.errors import EpimeterError
from epimeter.readers.forecast import Choice
from epimeter.report.measurement import Report


def grouped_files(files: list[str], choice: Choice, format: str | None, asked: Streaming) -> list[str] | None:
    """The files to hold in memory, where their rows have groups and they are not too large; None for a pass over them."""
    from epimeter.readers import batches
    from epimeter.sources.paths import places
    from epimeter.sources.routes import SQL

    if "-" in files or any(SQL.match(name) for name in files):
        return None
    try:
        found = places(files)
        first = next(iter(batches(found[0].path, columns=choice, format=format)), None)
        size = sum(os.path.getsize(place.path) for place in found)
    except (EpimeterError, OSError):
        return None  # the pass says what is wrong
    if first is None or first.group is None or first.roles.get("group") in (None, *asked.by):
        return None
    by_folder = any(set(asked.by) & set(place.folders) for place in found)
    if size < LARGE and not by_folder and not replace(asked, by=(), value=None).asked:
        return [place.path for place in found]
    click.echo(
        f"epimeter: rows with one {first.roles['group']} are not independent, and a pass over files counts rows: its intervals "
        "are too narrow. Below 256 MiB, without options of a pass, files are held in memory and groups count",
        err=True,
    )
    return None


def grouped_rows(given: FileEvaluation) -> Any:
    """The report of rows that belong to groups, or the reports by a column: in memory, since intervals count groups."""
    import numpy as np

    from epimeter.cli.measured import measured_table
    from epimeter.cli.sliced import chosen
    from epimeter.readers import read
    from epimeter.readers.assembly import joined
    from epimeter.report.slices import Reports

    choice, asked = given.choice, given.asked
    named = replace(choice, columns={**choice.columns, "slice": ",".join(asked.by)}) if asked.by else choice
    table = joined([read(path, columns=named, format=given.format) for path in given.files])
    if len(given.files) > 1:
        table = replace(table, source=f"{len(given.files)} files")
    if not asked.by:
        return chosen(measured_table(table, given.names, given.choices, given.certainty), asked.value)
    assert table.slices is not None
    label = np.array(["(none)" if word is None else str(word) for word in table.slices[:, 0]])

    def report(name: str) -> Report:
        return measured_table(table.take(label == name), given.names, given.choices, given.certainty)

    return chosen(Reports(sorted(np.unique(label).tolist()), report), asked.value)
