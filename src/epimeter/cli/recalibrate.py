# SPDX-License-Identifier: Apache-2.0
"""``epimeter recalibrate fit|apply|compare``: maps from what a model states to what comes true."""

from __future__ import annotations

import click

from epimeter.cli.columns import column_options, logits_option
from epimeter.cli.measured import placed
from epimeter.cli.outputs import asked_form, in_a_folder, refuse_overwriting, row_suffix, write, write_rows
from epimeter.readers.forecast import Choice

MAPS = (
    "auto", "temperature", "platt", "beta", "isotonic", "histogram", "spline", "venn_abers", "intra_order", "vector",
    "dirichlet", "identity",
)  # fmt: skip


@click.group()
def recalibrate() -> None:
    """Fit a map to held-out predictions, apply it to new ones, or see what every map would gain.

    A map changes predictions, never the model. Fit it on rows that the model was not trained on, and measure on rows that
    it was not fitted on.

    \b
    epimeter recalibrate compare validation.csv
    epimeter recalibrate fit validation.csv -o map.json
    epimeter recalibrate apply map.json test.csv -o recalibrated.csv
    epimeter evaluate recalibrated.csv
    """


@recalibrate.command()
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--map", "name", type=click.Choice(MAPS), default="auto", show_default=True, help="Which map.")
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True, help="Of the cross-validation of auto.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--output", "-o", required=True, type=click.Path(dir_okay=False), help="Where the map goes, as JSON.")
@column_options
@logits_option
def fit(file: str, name: str, folds: int, seed: int, output: str, choice: Choice, format: str | None) -> None:
    """Fit a map to the predictions in FILE and write it as a small JSON document.

    auto chooses by cross-validated log loss among all maps of the kind, no change included, and says by how much it beats
    the next. Rows of one group share a fold.
    """
    from epimeter.cli.judging import read_table
    from epimeter.recalibration import Recalibrator
    from epimeter.views import view

    refuse_overwriting(output, file)
    in_a_folder(output)
    table = read_table(file, choice, format)
    with placed(table):
        rows = view(table.y_true, table.y_prob, kind=table.kind, sample_weight=table.weight)
    made = Recalibrator(name, kind=table.kind, folds=folds, seed=seed)
    made.fit_view(rows, groups=table.group, class_names=table.class_names, source=table.source)
    made.save(output)
    if made.selection_ is not None:
        click.echo(f"{made.selection_.sentence}.")
        for left, why in made.selection_.left_out.items():
            click.echo(f"left out: {left}: {why}", err=True)
    document = made.document_
    click.echo(f"{document.map.name} for {document.kind}, fitted on {rows.n_rows:,} rows; {document.digest}")
    click.echo(f"wrote {output}", err=True)


@recalibrate.command()
@click.argument("map", type=click.Path(dir_okay=False))
@click.argument("file", type=click.Path(allow_dash=True))
@click.option(
    "--output", "-o", required=True, type=click.Path(dir_okay=False), help="Where: .parquet, .csv, .jsonl, .arrow."
)
@click.option("--edited", is_flag=True, help="Accept a map that was changed after it was fitted.")
@column_options
def apply(map: str, file: str, output: str, edited: bool, choice: Choice, format: str | None) -> None:
    """Map the predictions in FILE, which needs no outcomes; all other columns stay as they are.

    A column recalibrated_by says which map it was, so that a report or certificate of these rows says so too.
    """
    from epimeter.recalibration.document import load
    from epimeter.recalibration.rows import applied

    row_suffix(output)
    refuse_overwriting(output, map, file)
    in_a_folder(output)
    rows, same = applied(load(map, edited=edited), file, choice, format)
    if same:
        click.echo(
            f"epimeter: WARNING: the map was fitted on the rows of {'standard input' if file == '-' else file} themselves; "
            "whatever is measured on the result is too good. Apply it to other rows",
            err=True,
        )
    write_rows(rows, output)
    click.echo(f"wrote {output}: {len(rows):,} rows", err=True)


@recalibrate.command()
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--map", "names", multiple=True, type=click.Choice(MAPS[1:]), help="Only these maps.")
@click.option("--folds", type=click.IntRange(2), default=5, show_default=True)
@click.option("--draws", type=click.IntRange(2), default=499, show_default=True, help="Replicates of the intervals.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write to this file instead.")
@column_options
@logits_option
def compare(
    file: str,
    names: tuple[str, ...],
    folds: int,
    draws: int,
    seed: int,
    as_json: bool,
    output: str | None,
    choice: Choice,
    format: str | None,
) -> None:
    """Cross-validate all maps on FILE: Brier score, log loss and debiased error before and after, with intervals."""
    from epimeter.cli.judging import read_table, refuse_weights
    from epimeter.recalibration import compare_maps
    from epimeter.views import view

    form = asked_form(output, as_json, without=("png", "svg"))
    refuse_overwriting(output, file)
    table = read_table(file, choice, format)
    refuse_weights(table, "recalibrate compare")
    with placed(table):
        rows = view(table.y_true, table.y_prob, kind=table.kind)
    found = compare_maps(
        rows, groups=table.group, names=names or None, folds=folds, draws=draws, seed=seed, source=table.source
    )
    write(found.rendered(form), output)
