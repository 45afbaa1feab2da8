# SPDX-License-Identifier: Apache-2.0
"""``epimeter slices FILE``: where a model says too much or too little."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from epimeter.cli.columns import column_options, logits_option
from epimeter.cli.measured import placed
from epimeter.cli.outputs import asked_form, refuse_overwriting, write
from epimeter.readers.forecast import Choice

MANY_WORDS = 1000
"""Different words above which a column is an identity and no segment."""


@click.command()
@click.argument("file", type=click.Path())
@click.option("--by", multiple=True, metavar="COLUMN", help="Show every slice of this column; several are crossed.")
@click.option("--depth", type=click.IntRange(1, 2), default=2, show_default=True, help="Columns crossed in a search.")
@click.option(
    "--minimum-rows", "least", type=click.IntRange(2), default=50, show_default=True, help="Of a segment searched."
)
@click.option("--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write to this file instead.")
@column_options
@logits_option
def slices(
    file: str,
    by: tuple[str, ...],
    depth: int,
    least: int,
    alpha: float,
    as_json: bool,
    output: str | None,
    choice: Choice,
    format: str | None,
) -> None:
    """Search FILE for the segments where what is said and what comes true lie furthest apart.

    All columns that play no other part are cut by their values (columns of many numbers at their quartiles) and crossed in pairs;
    the false discovery rate is held at alpha. With --by the slices of the columns named are shown, with a test of whether they
    differ.

    \b
    epimeter slices predictions.parquet
    epimeter slices predictions.csv --by language --by device
    """
    from epimeter.report.segments import crossed, worst

    form = asked_form(output, as_json, without=("png", "svg"))
    refuse_overwriting(output, file)
    residual, columns, notes, source, states = _read(file, choice, format, by)
    facts: dict[str, Any] = {"alpha": alpha, "notes": notes, "source": source, "states": states}
    found = crossed(residual, columns, **facts) if by else worst(residual, columns, least=least, depth=depth, **facts)
    write(found.rendered(form), output)


def _read(file: str, choice: Choice, format: str | None, by: tuple[str, ...]) -> Any:
    """What was said minus what came true, the columns to cut by, and why others are none."""
    import pyarrow as pa

    from epimeter.cli.judging import refuse_weights
    from epimeter.errors import InputError
    from epimeter.kinds import WORDING
    from epimeter.readers import arrivals, verbatim
    from epimeter.readers.assembly import joined
    from epimeter.report.oddities import oddities
    from epimeter.report.remarks import remarks
    from epimeter.report.slicing import coded
    from epimeter.views import view

    table = joined(list(arrivals(file, columns=choice, format=format)))
    refuse_weights(table, "slices")
    assert table.awaiting is not None
    known = ~table.awaiting
    rows = table.take(known)
    with placed(rows):
        event = view(rows.y_true, rows.y_prob, kind=rows.kind).event
    blocks = [block for block, _ in verbatim(file, columns=choice, format=format)]
    names = blocks[0].roles.columns["slice"]
    free = ("group", "category", "class", "unknown", "domain")
    busy = {column for role, column in table.roles.items() if role not in free}
    busy |= {name for role in ("confidence", "probabilities") for name in blocks[0].roles.columns.get(role, ())}
    for name in by:
        if name not in names:
            raise InputError(
                f"{table.source} has no column {name!r}; its columns are {', '.join(names)[:200]}", field="by"
            )
    columns, notes = [], []
    for name in by or [name for name in names if name not in busy]:
        parts = [block.columns[name] for block in blocks]
        if not all(isinstance(part, pa.Array | pa.ChunkedArray) for part in parts):
            parts = [pa.array([None if value is None else str(value) for value in part]) for part in parts]
        column = coded(
            name, pa.chunked_array([c for p in parts for c in (p.chunks if isinstance(p, pa.ChunkedArray) else [p])])
        )
        if len(column.words) > MANY_WORDS and not by:
            notes.append(f"{name} has {len(column.words):,} different words and was not cut by")
        elif len(column.words) > 1 or by:
            columns.append(type(column)(name, column.codes[known], column.words))
    if not columns:
        raise InputError(
            f"{table.source} has no column to cut by besides those of the forecast and its outcome", field="by"
        )
    if rows.group is not None:
        notes.append("rows of one group are taken as independent here")
    read = remarks({"unlabelled": int(table.awaiting.sum()), "notes": table.remarks}, rows.n_rows)
    notes = [
        *(sentence.removesuffix(".") for sentence in read),
        *oddities(rows, view(rows.y_true, rows.y_prob, kind=rows.kind)),
        *notes,
    ]
    residual = event.prob.astype(np.float64) - event.true
    return residual, columns, tuple(notes), table.source, WORDING[rows.kind].what
