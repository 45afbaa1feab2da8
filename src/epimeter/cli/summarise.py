# SPDX-License-Identifier: Apache-2.0
"""``epimeter summarise FILE -o day1.epi``: rows in, kilobytes out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from epimeter.cli.columns import column_options, logits_option
from epimeter.cli.grouped import group_column
from epimeter.cli.outputs import refuse_overwriting
from epimeter.cli.progress import Progress
from epimeter.cli.settings import choices_of
from epimeter.cli.trusted import moment_of
from epimeter.errors import InputError
from epimeter.readers.forecast import Choice
from epimeter.readers.logs import is_log, read_log, refuse_table_options
from epimeter.readers.roles import refuse_log_options


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(allow_dash=True), metavar="FILE…")
@click.option("--output", "-o", required=True, type=click.Path(dir_okay=False), help="Where the summary goes.")
@click.option("--metric", "-m", "metrics", multiple=True, metavar="NAME[,NAME…]", help="Summarise for these metrics.")
@click.option(
    "--cells", is_flag=True, help="Keep a fine histogram too: other metrics can be read off it within a bound."
)
@click.option("--by", help="A column, or a folder's key: one summary for each of its values.")
@click.option("--bins", type=int, help="Number of bins, for every metric that has bins.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Another parameter, as on the card.")
@column_options
@logits_option
@click.option("--skip-damaged", is_flag=True, help="Leave out what cannot be decoded, and say so in the summary.")
@click.option(
    "--evidence", is_flag=True, help="Add what a certificate needs: sums after ONTO-ERS, and digests of the records."
)
@click.option("--assume-utc", is_flag=True, help="Times without a zone are UTC.")
def summarise(
    files: tuple[str, ...],
    output: str,
    metrics: tuple[str, ...],
    cells: bool,
    by: str | None,
    bins: int | None,
    settings: tuple[str, ...],
    choice: Choice,
    format: str | None,
    skip_damaged: bool,
    evidence: bool,
    assume_utc: bool,
) -> None:
    """Condense the predictions in FILE… to a summary of some kilobytes, from which a report is made later.

    A FILE may be a pattern or a folder. The summary holds counts and sums, no rows; it is versioned and checksummed.

    \b
    epimeter summarise day1.parquet -o day1.epi
    epimeter summarise 'logs/day=*/*.parquet' --by day -o days.epi
    epimeter merge day*.epi -o month.epi && epimeter report month.epi

    With --evidence an issuer can certify from the summary, and the records stay where they are; every FILE is a part of its
    own, and epimeter reproduce compares them again later.
    """
    from epimeter.report.scan import summarised
    from epimeter.summary_files import to_file

    refuse_overwriting(output, *files)
    if assume_utc and not evidence:
        raise click.UsageError("--assume-utc goes with --evidence: without it no time is read")
    if evidence and choice.logits:
        raise click.UsageError(
            "--evidence covers probabilities as they were stated; write them to the file, without --logits"
        )
    if evidence and skip_damaged:
        raise InputError("evidence must cover every record: --evidence goes without --skip-damaged", field="evidence")
    if evidence and "-" in files:
        raise InputError("evidence must come from files, which are read twice; - is standard input", field="evidence")
    names: Any = [name for group in metrics for name in group.split(",")] or None
    bars: list[Progress] = []

    def progress(total: int | None) -> Progress:
        bars.append(Progress(total))
        return bars[0]

    facts: dict[str, Any]
    source: Any = list(files) if len(files) > 1 else files[0]
    if format is None and is_log(list(files)):
        refuse_table_options(choice)
        answers = read_log(files, options=choice.log)
        source = answers.frame(by)
        notes = [note.removesuffix(", and intervals count questions") for note in answers.notes]
        several = len(source["question"].unique()) < source.num_rows
        facts = {"name": answers.source, "notes": notes} | ({"groups": "question"} if several else {})
        del answers
    else:
        refuse_log_options(choice, files[0])
        name = group_column(list(files), choice, format)
        facts = {} if name in (None, by) else {"groups": name}
    try:
        ledger = summarised(
            source,
            names,
            by=by,
            columns=choice.columns,
            kind=choice.kind,
            positive=choice.positive,
            classes=choice.classes,
            logits=choice.logits,
            format=format,
            cells=cells,
            row_limit=0,
            skip_damaged=skip_damaged,
            progress=progress,
            **choices_of(bins, None, settings),
        )
    finally:
        for bar in bars:
            bar.close()
    ledger = replace(ledger, source=ledger.source | facts)
    if evidence:
        from epimeter.trust.evidence_files import gathered

        bar = Progress(ledger.n_rows)
        try:
            found = gathered(files, at=moment_of(None), columns=choice, format=format, assume_utc=assume_utc, done=bar)
        finally:
            bar.close()
        ledger = ledger.with_evidence(found)
    to_file(ledger, output)
    for note in ledger.skipped:
        click.echo(f"epimeter: left out: {note}", err=True)
    click.echo(f"wrote {output}: {ledger.n_rows:,} rows", err=True)
