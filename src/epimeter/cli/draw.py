# SPDX-License-Identifier: Apache-2.0
"""``epimeter draw FILE``: predictions in, a figure or the data of its curve out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from epimeter.cli.evaluate import _choices, _pair
from epimeter.cli.outputs import spare
from epimeter.errors import InputError

NOUNS = ("reliability", "isotonic", "smooth", "roof", "cumulative", "brier", "classwise", "simplex", "histogram")


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--curve", type=click.Choice(NOUNS), default="reliability", show_default=True, help="What is drawn.")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="File to write: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Write the data of the curve as JSON instead of a figure.")
@click.option("--bins", type=int, help="Number of bins.")
@click.option("--binning", help="How bins are cut: width, mass, area or level.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Another parameter of the curve.")
@click.option("--title", help="What stands above the figure.")
@click.option("--dpi", type=click.FloatRange(10, 2000), default=150, show_default=True, help="Sharpness of a png.")
@click.option("--column", "columns", multiple=True, metavar="ROLE=NAME", help="Which column plays which role.")
@click.option("--format", "kind", help="csv, tsv, json, ndjson, parquet, arrow or npz, when it cannot be seen.")
def draw(
    file: str,
    curve: str,
    output: str | None,
    as_json: bool,
    bins: int | None,
    binning: str | None,
    settings: tuple[str, ...],
    title: str | None,
    dpi: float,
    columns: tuple[str, ...],
    kind: str | None,
) -> None:
    """Draw a curve of the predictions in FILE.

    FILE and its columns are found as by epimeter evaluate. What is drawn can be had as data with --json.

    \b
    epimeter draw predictions.csv -o reliability.png
    epimeter draw predictions.csv --curve isotonic -o corp.svg
    epimeter draw predictions.csv --curve reliability --binning mass --bins 15 --set draws=999 -o out.pdf
    epimeter draw predictions.csv --curve cumulative --json
    """
    from epimeter.draw.canvas import format_of, require_matplotlib

    spare(output, file)
    if not as_json:
        if output is None:
            raise click.UsageError("a figure needs a file: -o out.png (or .svg, .pdf); --json prints its data")
        format_of(output)
        require_matplotlib()
    table, made = computed(
        file, curve, dict(_pair(c, "--column") for c in columns), kind, _choices(bins, binning, settings)
    )
    if as_json:
        rendered = json.dumps(made.to_dict(), indent=2, allow_nan=False) + "\n"
        if output is None:
            click.echo(rendered, nl=False)
            return
        Path(output).write_text(rendered, encoding="utf-8")
    else:
        from epimeter.draw import CURVES, save

        looks: dict[str, Any] = {} if title is None else {"title": title}
        if curve in ("classwise", "simplex") and table.class_names is not None:
            looks["names"] = table.class_names
        assert output is not None
        save(CURVES[curve][1](made, **looks), output, dpi=dpi)
    click.echo(f"wrote {output}", err=True)


def computed(file: str, curve: str, columns: dict[str, str], kind: str | None, choices: dict[str, Any]) -> Any:
    """Read, compute, and say in a refusal where in the file the fault is."""
    from epimeter.draw import CURVES
    from epimeter.readers import read

    table = read(file, columns=columns or None, format=kind)
    try:
        return table, CURVES[curve][0](table.y_true, table.y_prob, sample_weight=table.weight, **choices)
    except InputError as refusal:
        if refusal.row is None:
            raise
        where = f"{table.source}, {table.place(refusal.row)}"
        raise InputError(f"{refusal} ({where})", field=refusal.field, row=refusal.row, count=refusal.count) from None
