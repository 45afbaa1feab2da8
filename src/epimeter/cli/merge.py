# SPDX-License-Identifier: Apache-2.0
"""``epimeter merge day*.epi -o month.epi``: summaries of parts into the summary of the whole."""

from __future__ import annotations

import click


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(), metavar="SUMMARY…")
@click.option("--output", "-o", required=True, type=click.Path(dir_okay=False), help="Where the merged summary goes.")
def merge(files: tuple[str, ...], output: str) -> None:
    """Merge summaries: the same bits as if all their rows had been summarised at once."""
    from epimeter.scale.files import from_file, matching, merged_files, to_file

    paths = matching(files)
    ledger = merged_files(paths)
    to_file(ledger, output)
    if ledger.evidence is None and any(from_file(path).evidence is not None for path in paths):
        click.echo("epimeter: mind: no evidence for a certificate: some of the summaries have none", err=True)
    many = f"{len(paths):,} summar{'y' if len(paths) == 1 else 'ies'}"
    click.echo(f"wrote {output}: {many}, {ledger.n_rows:,} rows", err=True)
