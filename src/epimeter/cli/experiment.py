# SPDX-License-Identifier: Apache-2.0
"""``epimeter experiment``: studies that can be run again, stopped and gone on with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from epimeter.cli.progress import Progress


@click.group()
def experiment() -> None:
    """Run a study again: every number from data and seeds that are given.

    A study lives in a folder. Stopped, it goes on with the same command; another seed needs another folder.

    \b
    epimeter experiment ecd FOLDER     models and maps judged by ECD, ECE and MCE (Sumler et al. 2025)
    epimeter experiment bias FOLDER    how far every metric is from the truth as rows grow
    epimeter experiment which -n 2000  which calibration error is nearest to the truth at so many rows
    """


def _processes() -> Any:
    return click.option("--processes", type=click.IntRange(1), help="How many processes; one a core unless said.")


@experiment.command()
@click.argument("folder", type=click.Path())
@click.option("--seeds", type=click.IntRange(1, 5), default=5, show_default=True, help="How many of the five seeds.")
@click.option("--draws", type=click.IntRange(19), default=999, show_default=True, help="Draws behind a threshold.")
@click.option(
    "--data", multiple=True, type=click.Choice(["adult", "telco", "cifar10"]), help="Only these data; may be repeated."
)
@click.option("--figures/--no-figures", default=True, show_default=True, help="Draw figures, too.")
@_processes()
def ecd(folder: str, seeds: int, draws: int, data: tuple[str, ...], figures: bool, processes: int | None) -> None:
    """Five models, five seeds, five maps on Adult, Telco and CIFAR-10, judged by ECD, ECE and MCE.

    Nothing is trained: what the models state is stored in the package. Written into FOLDER are results.csv, tables.md and
    figures.
    """
    from epimeter.draw import save
    from epimeter.draw.saving import require_matplotlib
    from epimeter.experiments import ecd as study
    from epimeter.experiments import ecd_figures, ecd_tables

    if figures:
        require_matplotlib()
    chosen = tuple(name for name in study.DATA if name in data or not data)
    results = _run(
        folder,
        "ecd",
        {"seeds": seeds, "draws": draws, "data": list(chosen)},
        study.cells(seeds, draws, chosen),
        study.measured,
        processes,
    )
    place = Path(folder)
    (place / "results.csv").write_text(ecd_tables.as_csv(results), "utf-8")
    (place / "tables.md").write_text(ecd_tables.markdown(results, seeds=seeds, draws=draws), "utf-8")
    if figures:
        save(ecd_figures.thresholds(results), place / "thresholds.svg")
        for name in chosen:
            save(ecd_figures.reliability(name), place / f"before_after_{name}.svg")
    click.echo(ecd_tables.summary(results))
    click.echo(f"\nwrote results.csv, tables.md{' and figures' if figures else ''} into {folder}", err=True)


@experiment.command()
@click.argument("folder", type=click.Path())
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--size",
    type=click.Choice(["tiny", "small", "medium", "whole"]),
    default="whole",
    show_default=True,
    help="whole: 100 to 10^6 rows, up to 200 samples a cell; medium: fewer samples, half an hour of two cores; small: 100 and "
    "1,000 rows, 25 samples; tiny: to try it.",
)
@click.option("--figures/--no-figures", default=True, show_default=True, help="Draw figures, too.")
@_processes()
def bias(folder: str, seed: int, size: str, figures: bool, processes: int | None) -> None:
    """How far is each metric from the truth as rows grow: every metric under seventeen truths.

    Written into FOLDER are cells.csv (a row a truth, size and metric), metrics.csv (a row a size and metric, over all truths),
    a table a family and figures.
    """
    from epimeter.draw import save
    from epimeter.draw.saving import require_matplotlib
    from epimeter.experiments import bias as study
    from epimeter.experiments import bias_figures, bias_tables

    if figures:
        require_matplotlib()
    sets = {"tiny": study.TINY, "small": study.SMALL, "medium": study.MEDIUM, "whole": study.SETS}[size]
    results = _run(
        folder,
        "bias",
        {"seed": seed, "size": size},
        study.cells(seed, sets),
        study.measured,
        processes,
        study.seconds,
    )
    place, table = Path(folder), bias_tables.overall(results)
    (place / "cells.csv").write_text(bias_tables.as_csv(bias_tables.rows(results)), "utf-8")
    (place / "metrics.csv").write_text(bias_tables.as_csv(table), "utf-8")
    for family in study.FAMILIES:
        (place / f"{family}.md").write_text(bias_tables.markdown(table, family), "utf-8")
    if figures:
        save(bias_figures.distances(table), place / "distances.svg")
        save(bias_figures.biases(results), place / "biases.svg")
    for n in sets:
        click.echo(_which(table, n))
    click.echo(
        f"\nwrote cells.csv, metrics.csv, a table a family{' and figures' if figures else ''} into {folder}", err=True
    )


@experiment.command()
@click.option("--rows", "-n", type=click.IntRange(1), required=True, help="How many rows you have.")
@click.option(
    "--study", type=click.Path(exists=True, dir_okay=False), help="metrics.csv of a study; without it the stored one."
)
def which(rows: int, study: str | None) -> None:
    """Say which calibration error is nearest to the truth at so many rows, after a study."""
    import csv
    from importlib.resources import files

    path = Path(study) if study is not None else files("epimeter") / "data" / "bias_study.csv"
    table = list(csv.DictReader(path.read_text("utf-8").splitlines()))
    if not table or "distance" not in table[0]:
        raise click.UsageError(f"--study must be the metrics.csv of a bias study; {study} is not")
    click.echo(_which(table, rows))


def _which(table: Any, rows: int) -> str:
    """The nearest five, with how far they are."""
    from epimeter.experiments.bias_tables import nearest

    size, ranked = nearest(table, rows)
    plain = next((row for row in ranked if row["metric"] == "ece"), None)
    named = ", ".join(f"{row['metric']} ({float(row['distance']):.4f})" for row in ranked[:5])
    beside = f"; ece is off by {float(plain['distance']):.4f}" if plain is not None else ""
    return f"at {size:,} rows nearest to the true l1 error, root mean square over truths: {named}{beside}"


def _run(
    folder: str,
    name: str,
    settings: dict[str, Any],
    cells: Any,
    work: Any,
    processes: int | None,
    seconds: Callable[[Any], float] | None = None,
) -> Any:
    """Work through a study with a bar; what is done stays when it is stopped. `seconds` says what a cell takes."""
    from epimeter.core.threads import cores
    from epimeter.experiments.folder import opened
    from epimeter.experiments.running import run

    with opened(folder, name, settings) as study:
        done = study.results()
        cost = {key: seconds(cell) if seconds else 1.0 for key, cell in cells.items() if key not in done}
        if len(cost) < len(cells):
            click.echo(f"{len(cells) - len(cost)} of {len(cells)} cells are done", err=True)
        if seconds and cost:
            many = processes or cores()
            # The last of them may be among the longest, and then it works alone.
            about = sum(cost.values()) / many + max(cost.values()) * (1 - 1 / many)
            click.echo(f"about {_lasting(about)} on {many} process{'es' * (many > 1)}", err=True)
        bar = Progress(round(sum(cost.values())), "s of work" if seconds else "cells")
        told = 0.0

        def progress(key: str) -> None:
            nonlocal told
            before, told = round(told), told + cost[key]
            bar(round(told) - before)

        try:
            return run(study, cells, work, processes=processes, progress=progress)
        except KeyboardInterrupt:
            bar.close()
            click.echo(
                f"epimeter: stopped with {len(study.results())} of {len(cells)} cells; the same command goes on",
                err=True,
            )
            raise click.exceptions.Exit(130) from None
        finally:
            bar.close()


def _lasting(seconds: float) -> str:
    """A time in the unit that one would say it in."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
