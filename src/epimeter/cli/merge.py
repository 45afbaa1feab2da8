# SPDX-License-Identifier: Apache-2.0
"""``epimeter merge day*.epi -o month.epi``: summaries of parts into the summary of the whole."""

from __future__ import annotations

import click


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="SUMMARY…")
@click.option("--output", "-o", required=True, type=click.Path(dir_okay=False), help="Where the merged summary goes.")
def merge(files: tuple[str, ...], output: str) -> None:
    """Merge summaries: the same bits as if all their rows had been summarised at once."""
    from epimeter.sources.paths import matching
    from epimeter.summary_files import merged_files, to_file

    paths = matching(files)
    ledger = merged_files(paths, lambda lost: click.echo(f"epimeter: mind: {lost}", err=True))
    to_file(ledger, output)
    many = f"{len(paths):,} summar{'y' if len(paths) == 1 else 'ies'}"
    click.echo(f"wrote {output}: {many}, {ledger.n_rows:,} rows", err=True)
