# SPDX-License-Identifier: Apache-2.0
"""``epimeter experiment``: studies that can be run again, stopped and gone on with."""

from __future__ import annotations

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


def _run(folder: str, name: str, settings: dict[str, Any], cells: Any, work: Any, processes: int | None) -> Any:
    """Work through a study with a bar; what is done stays when it is stopped."""
    from epimeter.experiments.folder import opened
    from epimeter.experiments.running import run

    with opened(folder, name, settings) as study:
        bar = Progress(len(cells), "cells")
        try:
            return run(study, cells, work, processes=processes, progress=bar)
        except KeyboardInterrupt:
            bar.close()
            click.echo(
                f"epimeter: stopped with {len(study.results())} of {len(cells)} cells; the same command goes on",
                err=True,
            )
            raise click.exceptions.Exit(130) from None
        finally:
            bar.close()
