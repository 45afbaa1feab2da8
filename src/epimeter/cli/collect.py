# SPDX-License-Identifier: Apache-2.0
"""``epimeter collect FOLDER FILE…``: predictions now, outcomes later, joined by id without a server."""

from __future__ import annotations

import json
from typing import Any

import click


@click.command()
@click.argument("folder", type=click.Path(file_okay=False))
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False), metavar="FILE…")
@click.option("--system", default="system", metavar="NAME", help="The system that made the predictions.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def collect(folder: str, files: tuple[str, ...], system: str, as_json: bool) -> None:
    """Take predictions and outcomes from FILE… into FOLDER, joined by their id, in any order, late, again or corrected.

    \b
    epimeter collect support/ monday.parquet             id, confidence, time, columns to slice by
    epimeter collect support/ truth.csv                  id, correct (or truth, beside a column prediction)
    epimeter monitor support/                            look at it

    The same row again changes nothing; another value under the same id is a correction, and both stay written down. Rows become
    exact daily totals; labelled rows are held for 35 days, those without truth up to the horizon.
    """
    from epimeter.monitor.embedded import collect as take

    taken: dict[str, Any] = take(folder, list(files), system=system)
    if as_json:
        click.echo(
            json.dumps({what: {k: getattr(part, k) for k in part.__dataclass_fields__} for what, part in taken.items()})
        )
        return
    for what, part in taken.items():
        click.echo(f"{what}: {part.new:,} new, {part.repeated:,} repeated, {part.corrected:,} corrected")
        if part.refused:
            click.echo(
                f"  {part.refused:,} of windows whose rows are gone already; whether they were counted cannot be known"
            )
        if part.waiting:
            click.echo(f"  {part.waiting:,} wait for their prediction")
