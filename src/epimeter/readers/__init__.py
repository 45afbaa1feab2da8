# SPDX-License-Identifier: Apache-2.0
"""Files, frames and standard input into tables of columns by role.

`read` gives the whole source as one `Table`, `batches` gives it piece by piece. What cannot be read is
refused in one sentence as a `ReadError`; nothing is repaired, and nothing is left behind.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from epimeter.readers.assembly import joined, settled, tables
from epimeter.readers.block import Block, Blocks, Chooser
from epimeter.readers.forecast import Choice
from epimeter.readers.logs import is_log, log_table
from epimeter.readers.roles import detect, forecast_roles
from epimeter.readers.table import Table

if TYPE_CHECKING:
    from epimeter.readers.files import Stream

__all__ = ["Choice", "Table", "arrivals", "batches", "header", "read", "verbatim"]

ROWS = 1 << 20
BYTES_A_ROW = 32


def read(source: Any, *, columns: Choice | Mapping[str, str] | None = None, format: str | None = None) -> Table:
    """Read a source as one table.

    Parameters
    ----------
    source
        A path, "-" for standard input, evaluation logs (a file, a folder, a list of them), or a frame: pandas,
        polars, Arrow, a mapping of columns, a numpy array with named columns, a list of records.
    columns
        Which column plays which role, where its name does not say: ``{"confidence": "score2"}``. The roles
        are confidence (in an answer), probability (of outcome 1), probabilities (one a class), correct, label,
        prediction, unknown, timestamp, weight, group, id, features, ground_truth_source. ``probabilities`` and
        ``features`` also take a common beginning ("p_") or several names ("a,b,c"). An empty name leaves a role
        out. A `Choice` says the kind of forecast, the positive label and the classes too.
    format
        csv, tsv, json, ndjson, parquet, arrow, npz or xlsx, where neither the suffix nor the content says.

    Examples
    --------
    >>> table = read({"confidence": [0.9, 0.6, 0.7], "correct": [True, False, None]})
    >>> table.n_rows, table.unlabelled, table.roles["label"]
    (2, 1, 'correct')
    >>> table.kind
    'answer'
    """
    if format is None and is_log(source):
        return log_table(source, columns)
    return joined(list(tables(_blocks(source, columns, format, None))))


def batches(
    source: Any, *, columns: Choice | Mapping[str, str] | None = None, format: str | None = None, rows: int = ROWS
) -> Iterator[Table]:
    """Read a source piece by piece, in bounded memory; JSON documents and npz come in one piece.

    Parameters
    ----------
    source, columns, format
        As for `read`.
    rows
        Rows a table, about: text is cut by its bytes, Arrow files at the batches they were written in.
    """
    if format is None and is_log(source):
        yield log_table(source, columns)
        return
    yield from tables(_blocks(source, columns, format, max(1, rows)))


def arrivals(
    source: Any, *, columns: Choice | Mapping[str, str] | None = None, format: str | None = None, rows: int = ROWS
) -> Iterator[Table]:
    """Read a source piece by piece with the rows whose outcome is not known yet; `awaiting` says which they are.

    Parameters
    ----------
    source, columns, format, rows
        As for `batches`.
    """
    for block in _blocks(source, columns, format, max(1, rows)):
        table, unlabelled = settled(block)
        yield replace(table, awaiting=np.zeros(table.n_rows, bool) if unlabelled is None else unlabelled)


def verbatim(
    source: Any, *, columns: Choice | Mapping[str, str] | None = None, format: str | None = None
) -> Iterator[tuple[Block, bool]]:
    """Every column of a source as it stands, with the roles of its forecast; and whether it says an outcome.

    Parameters
    ----------
    source, columns, format
        As for `read`; an outcome may be missing.
    """
    outcome: list[bool] = []

    def chooser(name: str, names: Any, lists: Any = frozenset(), sample: Any = None) -> Any:
        roles, has_outcome = forecast_roles(names, columns, name, lists, sample)
        outcome.append(has_outcome)
        forecast = {role: roles.columns[role] for role in ("confidence", "probabilities") if role in roles.columns}
        return replace(roles, columns=forecast | {"slice": tuple(names)})

    for block in _blocks(source, columns, format, None, chooser):
        yield block, outcome[0]


def header(source: Any, *, format: str | None = None) -> dict[str, list[str]]:
    """The columns of a source with some cells of each, before anybody says what they mean.

    Parameters
    ----------
    source, format
        As for `read`.
    """
    found: dict[str, list[str]] = {}

    def looked(_: str, names: Any, lists: Any = frozenset(), sample: Any = None) -> Any:
        found.update({name: [] if sample is None else [str(cell) for cell in sample(name)[:5]] for name in names})
        raise _Looked

    with suppress(_Looked):
        for _ in _blocks(source, None, format, 1, looked):
            pass
    return found


class _Looked(Exception):
    """The columns were seen, and nothing more is read."""


def _blocks(
    source: Any,
    columns: Choice | Mapping[str, str] | None,
    format: str | None,
    rows: int | None,
    choose: Callable[..., Any] | None = None,
) -> Blocks:
    """The blocks of a source, whatever it is; `choose` finds the roles of a source's columns."""
    choose = choose or partial(_chosen, columns)
    if not isinstance(source, str | os.PathLike):
        from epimeter.readers import frames

        yield from frames.blocks(source, partial(choose, frames.kind(source)), rows)
        return
    from epimeter.readers.files import opened

    with opened(source) as stream:
        for block in _of_stream(stream, partial(choose, stream.source), format, rows):
            yield replace(block, notes=stream.notes) if stream.notes else block


def _of_stream(stream: Stream, chooser: Chooser, format: str | None, rows: int | None) -> Blocks:
    """The blocks of an open file, whatever its format."""
    from epimeter.readers.files import format_of

    size = None if rows is None else rows * BYTES_A_ROW
    found = format_of(stream, format)
    if found in ("csv", "tsv"):
        from epimeter.readers import delimited

        yield from delimited.blocks(stream, chooser, size, "\t" if found == "tsv" else None)
    elif found in ("json", "ndjson"):
        from epimeter.readers import records

        yield from (records.document(stream, chooser) if found == "json" else records.lines(stream, chooser, size))
    elif found == "xlsx":
        from epimeter.readers.spreadsheet import workbook

        yield from workbook(stream, chooser)
    else:
        from epimeter.readers import columnar

        if found == "npz":
            yield from columnar.npz(stream, chooser)
        else:
            yield from {"parquet": columnar.parquet, "arrow": columnar.arrow}[found](stream, chooser, rows)


def _chosen(
    columns: Choice | Mapping[str, str] | None, source: str, names: Any, lists: Any = frozenset(), sample: Any = None
) -> Any:
    return detect(names, columns, source, lists, sample)
