# SPDX-License-Identifier: Apache-2.0
"""``epimeter report month.epi``: the report of a summary, without the rows."""

from __future__ import annotations

import click

from epimeter.cli.outputs import asked_form, refuse_overwriting, write
from epimeter.cli.requirements import judge, parsed, with_verdicts


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="SUMMARY…")
@click.option("--from-sums", is_flag=True, help="Read results of epimeter sql (CSV, JSON, Parquet) instead.")
@click.option("--slice", "value", help="Only this slice, where the summary has several.")
@click.option("--require", "requirements", multiple=True, metavar="'ece<=0.05'", help="Exit 1 when this does not hold.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write to this file instead.")
def report(
    files: tuple[str, ...],
    from_sums: bool,
    value: str | None,
    requirements: tuple[str, ...],
    as_json: bool,
    output: str | None,
) -> None:
    """Print the report of one summary, or of several merged; or of sums that a database made."""
    from epimeter.cli.sliced import chosen, rendered
    from epimeter.report.building import reports
    from epimeter.sources.paths import matching
    from epimeter.sources.sums import sums_files
    from epimeter.summary_files import merged_files

    refuse_overwriting(output, *files)
    form = asked_form(output, as_json)
    wanted = [parsed(requirement) for requirement in requirements]
    ledger = sums_files(files) if from_sums else merged_files(matching(files))
    found = chosen(reports(ledger), value)
    write(with_verdicts(rendered(found, form), form, found, wanted), output)
    judge(found, wanted)
