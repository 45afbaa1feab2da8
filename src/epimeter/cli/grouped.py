# SPDX-License-Identifier: Apache-2.0
"""Files whose rows belong to groups: answers to one question are one piece of evidence, in whichever file they stand.

A pass keeps sums over rows, which forget who belongs together. Of such files the columns that a report needs are held instead,
groups as numbers: a file of gigabytes has tens of bytes a row left.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from epimeter.cli.streaming import LARGE, FileEvaluation, Streaming, passed
from epimeter.errors import EpimeterError
from epimeter.readers.forecast import Choice
from epimeter.report.measurement import Report

if TYPE_CHECKING:
    from epimeter.readers.table import Table
    from epimeter.sources.paths import SourceFile

HELD = 100_000_000
"""Numbers that are held, rows times columns: less than a gigabyte."""
NAMED = 1000
"""Groups up to which they keep their names, since a report may show them."""
NEEDED = ("label", "confidence", "probabilities", "weight", "features", "group", "slices")


def grouped_files(files: list[str], choice: Choice, format: str | None, asked: Streaming) -> list[str] | None:
    """The files to hold, where their rows have groups and no option asks for a pass; None for a pass over them."""
    found, name = _grouped_places(files, choice, format)
    if name is None or name in asked.by:
        return None
    by_folder = any(set(asked.by) & set(place.folders) for place in found)
    if not by_folder and not replace(asked, by=(), value=None).asked:
        return [place.path for place in found]
    _say_rows_count(name)
    return None


def group_column(files: list[str], choice: Choice, format: str | None) -> str | None:
    """The column that says which rows of the files belong together; None where there is none."""
    return _grouped_places(files, choice, format)[1]


def _grouped_places(files: list[str], choice: Choice, format: str | None) -> tuple[list[SourceFile], str | None]:
    from epimeter.readers import batches
    from epimeter.sources.paths import places
    from epimeter.sources.routes import SQL

    if "-" in files or any(SQL.match(name) for name in files):
        return [], None
    try:
        found = places(files)
        first = next(iter(batches(found[0].path, columns=choice, format=format)), None)
    except (EpimeterError, OSError):
        return [], None  # the pass says what is wrong
    return found, None if first is None or first.group is None else first.roles.get("group")


def _say_rows_count(name: str) -> None:
    click.echo(
        f"epimeter: rows with one {name} are not independent, and a pass over files counts rows: its intervals "
        "are too narrow. Without options of a pass, groups count in files of up to some thirty million rows",
        err=True,
    )


def grouped_rows(given: FileEvaluation) -> Any:
    """The report of rows that belong to groups, or the reports by a column: held, since intervals count groups."""
    import numpy as np

    from epimeter.cli.measured import measured_table
    from epimeter.cli.sliced import chosen
    from epimeter.report.slices import Reports

    choice, asked = given.choice, given.asked
    named = replace(choice, columns={**choice.columns, "slice": ",".join(asked.by)}) if asked.by else choice
    table = _held(given.files, named, given.format)
    if table is None:
        return passed(given)
    if not asked.by:
        return chosen(measured_table(table, given.names, given.choices, given.certainty), asked.value)
    assert table.slices is not None
    label = np.array(["(none)" if word is None else str(word) for word in table.slices[:, 0]])

    def report(some: Table) -> Report:
        return measured_table(some, given.names, given.choices, given.certainty)

    names = sorted(np.unique(label).tolist())
    return chosen(Reports(names, lambda name: report(table.take(label == name)), lambda: report(table)), asked.value)


def _held(files: list[str], choice: Choice, format: str | None) -> Table | None:
    """The rows of all files with the columns that a report needs; None where they are too many, which is said."""
    import numpy as np

    from epimeter.readers import batches
    from epimeter.readers.assembly import joined
    from epimeter.readers.table import COLUMNS

    codes: dict[Any, int] = {}
    words: dict[Any, Any] = {}
    parts: list[Table] = []
    numbers = 0
    large = sum(map(os.path.getsize, files)) >= LARGE
    for path in files:
        for part in batches(path, columns=choice, format=format):
            numbers += part.n_rows * (2 + (1 if part.probabilities is None else part.probabilities.shape[1]))
            if numbers > HELD:
                _say_rows_count(part.roles["group"])
                return None
            kept: dict[str, Any] = {name: None for name in COLUMNS if large and name not in NEEDED}
            group = [] if part.group is None else part.group.tolist()
            kept["group"] = np.fromiter((codes.setdefault(name, len(codes)) for name in group), np.int64, len(group))
            if part.slices is not None:
                flat = [words.setdefault(word, word) for word in part.slices.ravel().tolist()]
                kept["slices"] = np.array(flat, object).reshape(part.slices.shape)
            parts.append(replace(part, **kept))
    table = joined(parts)
    if len(codes) <= NAMED:
        table = replace(table, group=np.array(list(codes), object)[table.group])
    return replace(table, source=f"{len(files)} files") if len(files) > 1 else table
