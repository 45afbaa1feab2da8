# SPDX-License-Identifier: Apache-2.0
"""``epimeter report month.epi``: the report of a summary, without the rows."""

from __future__ import annotations

from pathlib import Path

import click

from epimeter.cli.evaluate import FORMS, _judge, parsed, write
from epimeter.cli.outputs import spare


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="SUMMARY…")
@click.option("--slice", "value", help="Only this slice, where the summary has several.")
@click.option("--require", "requirements", multiple=True, metavar="'ece<=0.05'", help="Exit 1 when this does not hold.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write to this file instead.")
def report(
    files: tuple[str, ...], value: str | None, requirements: tuple[str, ...], as_json: bool, output: str | None
) -> None:
    """Print the report of one summary, or of several merged."""
    from epimeter.cli.sliced import chosen, rendered
    from epimeter.scale.files import matching, merged_files
    from epimeter.scale.reports import reports

    spare(output, *files)
    wanted = [parsed(requirement) for requirement in requirements]
    found = chosen(reports(merged_files(matching(files))), value)
    form = "json" if as_json else FORMS.get(Path(output or "").suffix.lower(), "text")
    write(rendered(found, form), output)
    for made in found.values():
        _judge(made, wanted)
