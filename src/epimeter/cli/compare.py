# SPDX-License-Identifier: Apache-2.0
"""``epimeter compare A B``: do two or more models differ, and which is better?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from epimeter.cli.columns import column_options, logits_option
from epimeter.cli.judging import cautions_of, metric_names, read_table, refuse_weights
from epimeter.cli.outputs import asked_form, refuse_overwriting, write
from epimeter.cli.progress import Progress
from epimeter.errors import InputError
from epimeter.readers.forecast import Choice
from epimeter.readers.pairing import by_place, same_rows, why_apart

WHOLE = "report"
"""In place of a metric's name: all values of the default report."""
NOT_COMPARED = ("corp", "l2_ece_ci", "spiegelhalter_z", "ecd_test")
"""Of the default report: corp, whose value is the Brier score once more, and tests of calibration."""
PATIENCE = 50_000_000
"""Rows of all models and replicates together up to which metrics are compared unasked that put every replicate in order."""


@click.command()
@click.argument("files", type=click.Path(allow_dash=True), nargs=-1, required=True)
@click.option(
    "--metric",
    "-m",
    "metrics",
    multiple=True,
    metavar="NAME[,NAME…]",
    help="Compare by these metrics instead of those of the default report; report stands for all of those.",
)
@click.option(
    "--paired", is_flag=True, help="Row by row, whatever the ids: the files hold the same cases in one order."
)
@click.option("--unpaired", is_flag=True, help="The files hold different rows, even where they have equally many.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Level of intervals and tests.")
@click.option(
    "--adjust",
    type=click.Choice(["holm", "bonferroni", "bh", "by"]),
    default="holm",
    show_default=True,
    help="How p-values are adjusted for the number of tests.",
)
@click.option("--draws", type=int, default=999, show_default=True, help="Replicates, and swappings.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--figure", type=click.Path(dir_okay=False), help="Draw the differences: .png, .svg or .pdf.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write to this file instead.")
@column_options
@logits_option
def compare(
    files: tuple[str, ...],
    metrics: tuple[str, ...],
    paired: bool,
    unpaired: bool,
    level: float,
    adjust: Any,
    draws: int,
    seed: int,
    figure: str | None,
    as_json: bool,
    output: str | None,
    choice: Choice,
    format: str | None,
) -> None:
    """Compare the predictions in two or more FILES.

    Files with the same ids, or without ids but with the same outcomes row by row, are taken as models on the same data
    and compared in pairs of rows, and so is row by row what is --paired; others are independent samples.

    \b
    epimeter compare before.csv after.csv
    epimeter compare a.parquet b.parquet c.parquet --metric brier_score,ece_db --json
    """
    from epimeter.inference import compare as compared
    from epimeter.inference import compare_samples

    if len(files) < 2:
        raise click.UsageError("compare takes at least two files")
    if paired and unpaired:
        raise click.UsageError("--paired and --unpaired contradict each other; give one")
    refuse_overwriting(output, *files)
    form = asked_form(output, as_json)
    if figure is not None:
        from epimeter.draw.saving import format_of, require_matplotlib

        format_of(figure)
        require_matplotlib()
    tables = [read_table(file, choice, format) for file in files]
    kinds = {table.kind for table in tables}
    if len(kinds) > 1:
        raise InputError(
            f"models must state the same kind of forecast to be compared; got {' and '.join(sorted(kinds))}",
            field="kind",
        )
    for table in tables:
        refuse_weights(table, "compare")
    names = named_files(files)
    chosen, left_out = _chosen(metrics, tables, draws)
    tables = _by_order(tables, chosen)
    options: dict[str, Any] = {"metrics": chosen, "level": level, "adjust": adjust, "draws": draws, "seed": seed}
    matched = None if unpaired else by_place(tables) if paired else same_rows(tables)
    clusters = None if matched is None else matched[0].clusters
    progress = Progress(draws if matched is not None else 2 * draws, "draws")
    options["progress"] = progress
    if matched is not None:
        models = {name: table.y_prob for name, table in zip(names, matched, strict=True)}
        outcomes = {name: table.y_true for name, table in zip(names, matched, strict=True)}
        how = "same rows" if clusters is None else f"same rows, {len(np.unique(clusters)):,} independent units"
        extra = {name: table.n_rows - matched[0].n_rows for name, table in zip(names, tables, strict=True)}
        lost = [f"{count:,} of {name}" for name, count in extra.items() if count]
        how += f"; left out, since not all models answered them: {', '.join(lost)}" if lost else ""
        found = compared(outcomes, models, groups=clusters, kind=tables[0].kind, **options)
    elif len(tables) == 2:
        pairs = [(table.y_true, table.y_prob) for table in tables]
        why = "" if unpaired else why_apart(tables)
        how = f"different rows; {why}" if why else "different rows"
        groups = (tables[0].clusters, tables[1].clusters)
        found = compare_samples(
            pairs[0], pairs[1], names=(names[0], names[1]), groups=groups, kind=tables[0].kind, **options
        )
    else:
        why = why_apart(tables) or "these do not"
        raise InputError(f"more than two files must hold the same rows, by ids or by outcomes row by row; {why}")
    progress.close()
    if figure is not None:
        from epimeter.draw.saving import save

        save(_drawn(found, names, matched or tables), figure)
        click.echo(f"wrote {figure}", err=True)
    told = found.told(
        *left_out,
        models=[{"name": n, "source": t.source, "n_rows": t.n_rows} for n, t in zip(names, tables, strict=True)],
        remarks=_remarks(names, tables),
        cautions=_cautions(found, names, matched or tables),
        pairing=how,
        draws=draws,
        seed=seed,
    )
    write(told.rendered(form), output)


def _remarks(names: list[str], tables: list[Any]) -> list[str]:
    """How the rows of every file were read."""
    from epimeter.report.remarks import remarks

    return [
        f"{name}: {sentence}"
        for name, table in zip(names, tables, strict=True)
        for sentence in remarks(table.described(), table.n_rows)
    ]


def _cautions(found: Any, names: list[str], tables: list[Any]) -> list[str]:
    """What is odd about the rows of every file, and which rows make its scores infinite."""
    values: dict[str, dict[str, float]] = {name: {} for name in names}
    for d in found:
        values[d.first][d.metric], values[d.second][d.metric] = d.value_first, d.value_second
    return [
        f"{name}: {sentence}"
        for name, table in zip(names, tables, strict=True)
        for sentence in cautions_of(table, values[name])
    ]


def _chosen(asked: tuple[str, ...], tables: list[Any], draws: int) -> tuple[list[str], list[str]]:
    """Names of metrics, `report` standing for those of the default report; and a sentence on those left out for their time."""
    from epimeter.inference.statistic import Statistic
    from epimeter.passes.selection import headlines
    from epimeter.views import view

    whole = [name for name in headlines(tables[0].kind) if name not in NOT_COMPARED]
    if asked:
        names = metric_names(asked, ())
        return list(dict.fromkeys(each for name in names for each in (whole if name == WHOLE else [name]))), []
    rows = sum(table.n_rows for table in tables)
    if rows * draws <= PATIENCE:
        return whole, []
    few = view(tables[0].y_true[:2], tables[0].y_prob[:2], kind=tables[0].kind)
    dear = [name for name in whole if Statistic.of(name, None).atoms(few) is None]
    word = "is" if len(dear) == 1 else "are"
    note = (
        f"{' and '.join(dear)} {word} left out: {rows:,} rows would be put in order {draws:,} times, "
        f"about {_duration(rows * draws)} on one core. With --metric {WHOLE} nothing is left out."
    )
    return [name for name in whole if name not in dear], [note] if dear else []


def _by_order(tables: list[Any], chosen: list[str]) -> list[Any]:
    """The tables as the metrics read them: metrics of order are of a score without bounds itself, not of its recalibration."""
    from epimeter.metrics.selective import OF_ORDER

    of_order = [name for name in chosen if name in OF_ORDER]
    if not of_order or all(table.rank is None for table in tables):
        return tables
    if len(of_order) < len(chosen):
        rest = [name for name in chosen if name not in OF_ORDER]
        raise InputError(
            f"metrics of order are of a score without bounds itself, others of its recalibration; compare them apart: "
            f"--metric {','.join(of_order)}, and --metric {','.join(rest)}",
            field="metrics",
        )
    return [table if table.rank is None else replace(table, confidence=table.rank) for table in tables]


def _duration(rows: int) -> str:
    """About how long it takes to put so many rows in order, once for a metric of sorted rows."""
    seconds = rows * 1.2e-7
    return f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.0f} minutes"


def _drawn(found: Any, names: list[str], tables: list[Any]) -> Any:
    """The differences, and beside them the models over each other where they can be told apart."""
    from epimeter.draw.bins import reliability_curve
    from epimeter.draw.compared import compared
    from epimeter.draw.forest import forest
    from epimeter.draw.overlay import MOST
    from epimeter.views import view

    if len(tables) > MOST:
        return forest(found)
    views = {name: view(table.y_true, table.y_prob, kind=table.kind) for name, table in zip(names, tables, strict=True)}
    return compared(found, {name: reliability_curve(given) for name, given in views.items()})


def named_files(files: tuple[str, ...]) -> list[str]:
    """File names without their suffix; the whole path where two would be alike."""
    short = [Path(file).stem for file in files]
    names = short if len(set(short)) == len(short) else list(files)
    if len(set(names)) < len(names):
        names = [f"{name} ({number})" for number, name in enumerate(names, 1)]
    return names
