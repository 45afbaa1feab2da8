# SPDX-License-Identifier: Apache-2.0
"""``epimeter judge FILE``: how many answers are right, where a judge graded all and people graded some."""

from __future__ import annotations

import click
import numpy as np

from epimeter.cli.outputs import asked_form, refuse_overwriting, write
from epimeter.readers.forecast import Choice


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@click.option(
    "--judge",
    "judged",
    default="judge",
    show_default=True,
    help="The column of what the judge says: 1, 0, or a probability.",
)
@click.option(
    "--human", default="human", show_default=True, help="The column of what people say; empty where nobody looked."
)
@click.option("--group", help="The column of the question, where one has several answers.")
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Level of the intervals.",
)
@click.option("--format", "format", help="csv, tsv, json, ndjson, parquet, arrow, npz or xlsx, when it cannot be seen.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write to this file instead.")
def judge(
    file: str,
    judged: str,
    human: str,
    group: str | None,
    level: float,
    format: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Correct a judge's accuracy by the answers in FILE that people graded too.

    The labelled answers must be a random part of all. The result is unbiased however bad the judge is; a good judge makes its
    interval narrow.

    \b
    epimeter judge graded.csv
    epimeter judge graded.parquet --judge gpt_grade --human expert --group question -o accuracy.html
    """
    from epimeter.inference.judge import judged_accuracy
    from epimeter.readers import arrivals

    refuse_overwriting(output, file)
    form = asked_form(output, as_json)
    columns = {
        "confidence": judged,
        "correct": human,
        "group": group or "",
        "weight": "",
        "unknown": "",
        "detected": "",
    }
    parts = list(arrivals(file, columns=Choice(columns, "answer"), format=format))
    said = np.concatenate([np.asarray(part.confidence, np.float64) for part in parts])
    truth = np.concatenate(
        [np.where(np.asarray(part.awaiting), np.nan, part.label.astype(np.float64)) for part in parts]
    )
    groups = np.concatenate([np.asarray(part.group, object).astype(str) for part in parts]) if group else None
    write(judged_accuracy(said, truth, groups=groups, level=level).rendered(form), output)
