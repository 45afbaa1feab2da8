# SPDX-License-Identifier: Apache-2.0
"""``epimeter simulate``: forecasts whose true calibration is known."""

from __future__ import annotations

import json
import math
from typing import Any

import click

from epimeter.cli.judging import aligned
from epimeter.cli.outputs import in_a_folder, row_suffix, write_rows

SHOWN = (
    "ece",
    "mce",
    "ece_db",
    "drmsce",
    "ecce_mad",
    "ecce_r",
    "ici",
    "emax",
    "brier_score",
    "nll",
    "ecd",
    "eo_ratio",
    "auroc",
)
GAUSSIAN = ("nees", "ecd_gaussian", "nll", "dss", "crps", "coverage", "pit")
FIRST = "2026-01-01T00:00:00"


@click.command()
@click.argument("name", required=False)
@click.option(
    "--kind",
    type=click.Choice(["event", "answer", "classes", "gaussian"]),
    default="event",
    show_default=True,
    help="What is forecast.",
)
@click.option("--strength", type=float, help="How strong the fault is; without it as the list says.")
@click.option("--classes", type=int, help="Number of classes, 10 unless said; only with --kind classes.")
@click.option("--rows", "-n", type=click.IntRange(1), default=1000, show_default=True, help="Rows to draw.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--output", "-o", type=click.Path(dir_okay=False), help="Write rows: .csv .parquet .jsonl .ndjson .arrow")
@click.option("--json", "as_json", is_flag=True, help="Print the true values as JSON.")
def simulate(
    name: str | None,
    kind: str,
    strength: float | None,
    classes: int | None,
    rows: int,
    seed: int,
    output: str | None,
    as_json: bool,
) -> None:
    """Draw forecasts whose true calibration function is known, and print the true value of each metric.

    Without a NAME the truths are listed. The values printed are those of the population, by quadrature: what a metric
    tends to when rows never end.

    \b
    epimeter simulate over -n 1000 --seed 1 -o over.csv
    epimeter simulate temperature --kind classes --classes 100 -n 5000 -o images.parquet
    epimeter simulate over --kind gaussian --strength 1.3 -o forecasts.csv
    """
    from epimeter.simulate import TRUTHS, gaussian, truth
    from epimeter.simulate.gaussian import FAULTS

    if output is not None:
        row_suffix(output)
        in_a_folder(output)
    if name is None:
        click.echo(f"{'truth':<12} {'strength':>8}  {'kinds':<33} what it is")
        for each, named in TRUTHS.items():
            kinds = ", ".join([*named.kinds, *(["gaussian"] if each in FAULTS else [])])
            click.echo(f"{each:<12} {named.strength:>8g}  {kinds:<33} {named.meaning}")
        return
    made: Any
    if kind == "gaussian":
        if classes is not None:
            raise click.UsageError("--classes goes with --kind classes")
        made, columns = gaussian(name, strength=strength), _gaussian_columns
    else:
        made, columns = truth(name, kind=kind, strength=strength, classes=classes), _columns
    values = true_values(made, GAUSSIAN if kind == "gaussian" else SHOWN)
    if output is not None:
        import pyarrow as pa

        write_rows(pa.table(columns(made.sample(rows, seed=seed))), output)
        click.echo(f"wrote {output}: {rows:,} rows of truth {name!r}, kind {kind}, seed {seed}", err=True)
    if as_json:
        document = {"truth": name, "kind": kind, "strength": getattr(made, "strength", strength), "values": values}
        click.echo(json.dumps(document, indent=2, allow_nan=False))
        return
    lines = [("metric", "true value")]
    lines += [(metric, "infinite" if value == "infinite" else f"{value:.6f}") for metric, value in values.items()]
    click.echo(aligned(lines))


def true_values(made: Any, metrics: tuple[str, ...]) -> dict[str, float | str]:
    """The population's value of each metric that has one."""
    from epimeter.errors import UndefinedMetricError

    values: dict[str, float | str] = {}
    if hasattr(made, "calibration_error"):
        values["true l1 error"] = made.calibration_error()
    for metric in metrics:
        try:
            value = made.value(metric)
        except UndefinedMetricError:
            continue
        values[metric] = value if math.isfinite(value) else "infinite"
    return values


def _columns(rows: Any) -> dict[str, Any]:
    import numpy as np

    if rows.kind == "classes":
        columns = {"y_true": rows.y_true} | {f"p_{k}": column for k, column in enumerate(rows.y_prob.T)}
    elif rows.kind == "answer":
        columns = {"correct": rows.y_true, "confidence": rows.y_prob, "calibration": rows.true_prob}
    else:
        columns = {"y_true": rows.y_true, "y_prob": rows.y_prob, "calibration": rows.true_prob}
    if rows.elapsed is not None:
        columns["timestamp"] = np.datetime64(FIRST, "s") + 60 * np.arange(len(rows.elapsed)).astype("m8[s]")
    return columns


def _gaussian_columns(rows: Any) -> dict[str, Any]:
    return {"y_true": rows.y_true, "mean": rows.mean, "sd": rows.deviation}
