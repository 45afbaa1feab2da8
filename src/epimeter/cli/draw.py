# SPDX-License-Identifier: Apache-2.0
"""``epimeter draw FILE…``: predictions in, a figure or the data of its curve out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from epimeter.cli.columns import column_options, logits_option
from epimeter.cli.compare import named_files
from epimeter.cli.judging import read_table
from epimeter.cli.measured import placed
from epimeter.cli.outputs import refuse_overwriting
from epimeter.cli.settings import choices_of
from epimeter.errors import InputError
from epimeter.readers.forecast import Choice
from epimeter.readers.pairing import same_rows
from epimeter.readers.table import Table
from epimeter.views import view

NOUNS = (
    "reliability",
    "isotonic",
    "smooth",
    "roof",
    "cumulative",
    "brier",
    "classwise",
    "simplex",
    "histogram",
    "risk_coverage",
    "accuracy_coverage",
    "grouping",
    "detections",
    "recalibration",
)


@click.command()
@click.argument("files", type=click.Path(allow_dash=True), nargs=-1, required=True, metavar="FILE…")
@click.option("--curve", type=click.Choice(NOUNS), default="reliability", show_default=True, help="What is drawn.")
@click.option(
    "--style", type=click.Choice(["points", "line", "bars"]), help="How bins of a reliability curve are drawn."
)
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="File to write: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Write the data of the curve as JSON instead of a figure.")
@click.option("--bins", type=int, help="Number of bins.")
@click.option("--binning", help="How bins are cut: width, mass, area or level.")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Another parameter of the curve.")
@click.option("--title", help="What stands above the figure.")
@click.option("--dpi", type=click.FloatRange(10, 2000), default=150, show_default=True, help="Sharpness of a png.")
@column_options
@logits_option
@click.option("--truth", type=click.Path(), help="For detections: the COCO-style file of annotated objects.")
def draw(
    files: tuple[str, ...],
    curve: str,
    style: str | None,
    output: str | None,
    as_json: bool,
    bins: int | None,
    binning: str | None,
    settings: tuple[str, ...],
    title: str | None,
    dpi: float,
    choice: Choice,
    format: str | None,
    truth: str | None,
) -> None:
    """Draw a curve of the predictions in FILE, or of several files over each other.

    FILE and its columns are found as by epimeter evaluate. What is drawn can be had as data with --json.

    \b
    epimeter draw predictions.csv -o reliability.png
    epimeter draw a.csv b.csv -o models.png
    epimeter draw predictions.csv --style bars -o bars.svg
    epimeter draw before.csv after.csv --curve recalibration -o gain.png
    epimeter draw a.eval b.eval --curve risk_coverage -o withheld.png
    epimeter draw predictions.csv --curve grouping --column group=region -o groups.png
    epimeter draw found.json --truth objects.json --curve detections -o places.png
    epimeter draw predictions.csv --curve reliability --binning mass --bins 15 --set draws=999 -o out.pdf
    epimeter draw predictions.csv --curve cumulative --json
    """
    from epimeter.draw.saving import format_of, require_matplotlib

    refuse_overwriting(output, *files, truth)
    _refuse_misuse(files, curve, style, truth, as_json)
    _refuse_looks(click.get_current_context(), as_json, output)
    if not as_json:
        if output is None:
            raise click.UsageError("a figure needs a file: -o out.png (or .svg, .pdf); --json prints its data")
        format_of(output)
        require_matplotlib()
    choices = choices_of(bins, binning, settings)
    looks: dict[str, Any] = {"title": title, "style": style}
    if curve == "detections":
        made: Any = _detections(truth, files[0], choices)
    else:
        tables = [read_table(file, choice, format) for file in files]
        looks["names"] = tables[0].class_names if curve in ("classwise", "simplex") else None
        made = _curves(curve, named_files(files), tables, choices)
    if as_json:
        data = {n: c.to_dict() for n, c in made.items()} if isinstance(made, dict) else made.to_dict()
        rendered = json.dumps(data, indent=2, allow_nan=False) + "\n"
        if output is None:
            click.echo(rendered, nl=False)
            return
        Path(output).write_text(rendered, encoding="utf-8")
    else:
        from epimeter import draw as drawing

        assert output is not None
        given = {name: value for name, value in looks.items() if value is not None}
        drawing.save(getattr(drawing, curve)(made, **given), output, dpi=dpi)
    click.echo(f"wrote {output}", err=True)


def _refuse_misuse(files: tuple[str, ...], curve: str, style: str | None, truth: str | None, as_json: bool) -> None:
    """Refuse an option, or a number of files, that the curve has no use for."""
    if style is not None and (curve != "reliability" or as_json):
        raise click.UsageError("--style is for the figure of the reliability curve")
    if (truth is not None) != (curve == "detections"):
        raise click.UsageError("--truth FILE and --curve detections belong together")
    if curve == "recalibration" and len(files) != 2:
        raise click.UsageError(f"--curve recalibration takes the file before and the file after; got {len(files)}")
    if curve in ("detections", "classwise", "simplex", "histogram", "grouping") and len(files) > 1:
        raise click.UsageError(f"--curve {curve} shows one file at a time; got {len(files)}")


def _refuse_looks(context: click.Context, as_json: bool, output: str | None) -> None:
    """Refuse options of a figure where none is made, or where it has no pixels."""
    given = {name for name in ("title", "dpi") if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    if given and as_json:
        raise click.UsageError(f"--{min(given)} is for a figure; --json writes the data of the curve")
    if "dpi" in given and output is not None and not output.lower().endswith(".png"):
        raise click.UsageError("--dpi is for .png; .svg and .pdf have no pixels")


def _curves(curve: str, names: list[str], tables: list[Table], choices: dict[str, Any]) -> Any:
    """The curve of one table, or the curves of several by name."""
    from epimeter import draw as drawing

    if curve == "recalibration":
        matched = same_rows(tables)
        if matched is None:
            raise InputError("before and after must hold the same rows: ids, or outcomes row by row; these do not")
        before, after = matched
        return drawing.recalibration_curve(
            before.y_true, before.y_prob, after.y_prob, sample_weight=before.weight, **choices
        )
    made = {}
    for name, table in zip(names, tables, strict=True):
        groups = table.group if curve == "grouping" else None
        with placed(table):
            # Coverage is a matter of order, which a score without bounds has itself.
            prob = (
                table.rank
                if table.rank is not None and curve in ("risk_coverage", "accuracy_coverage")
                else table.y_prob
            )
            given = view(table.y_true, prob, kind=table.kind, sample_weight=table.weight, groups=groups)
            made[name] = getattr(drawing, f"{curve}_curve")(given, **choices)
    return made if len(made) > 1 else made[names[0]]


def _detections(truth: str | None, results: str, choices: dict[str, Any]) -> Any:
    from epimeter.draw import detection_map
    from epimeter.readers.coco import read_coco

    assert truth is not None
    found = read_coco(truth, results)
    return detection_map(*found.columns, image_size=found.image_size, **choices)
