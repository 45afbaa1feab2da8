# SPDX-License-Identifier: Apache-2.0
"""``epimeter demo``: a bundled data set, end to end."""

from __future__ import annotations

from importlib.resources import as_file, files

import click

DATA = "cifar10_vgg16.npz"
ROWS = 3_000


@click.command()
@click.option(
    "--write",
    type=click.Path(dir_okay=False),
    metavar="FILE.parquet",
    help="Write simulated predictions of the last ten days instead, which meet what ERS 3.1 asks of data.",
)
def demo(write: str | None) -> None:
    """Evaluate a bundled data set: what a VGG-16 says about the 10,000 test images of CIFAR-10."""
    if write is not None:
        _write(write)
        return
    from epimeter.cli.measured import measured_table
    from epimeter.readers import read
    from epimeter.report.text import text

    click.echo("A VGG-16 network on the 10,000 test images of CIFAR-10: ten probabilities an image.")
    click.echo("Predictions by Kumar, Liang and Ma (verified_calibration, MIT licence).\n")
    with as_file(files("epimeter") / "data" / DATA) as path:
        click.echo(text(measured_table(read(str(path)), None, {})), nl=False)
    click.echo(
        "\nYour own predictions: epimeter evaluate FILE (CSV, JSON, NDJSON, Parquet, Arrow, npz, Excel; - is a pipe)"
    )


def _write(path: str) -> None:
    """Predictions of a system that does not exist, drawn with a fixed seed: to walk from a key to a certificate."""
    import datetime

    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    from epimeter.cli.outputs import in_a_folder

    in_a_folder(path)
    drawn = np.random.Generator(np.random.PCG64(1)).random((2, ROWS))
    half = np.arange(ROWS) % 2 == 0
    confidence = np.round(np.where(half, 0.7 * drawn[0], 0.7 + 0.3 * drawn[0]), 6)
    day = datetime.datetime.now(datetime.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    steps = np.linspace(0, 10 * 86_400, ROWS, endpoint=False).astype(int)
    first = day - datetime.timedelta(days=10)
    table = pa.table(
        {
            "id": [f"p-{row:05d}" for row in range(ROWS)],
            "timestamp": pa.array(
                [first + datetime.timedelta(seconds=int(s)) for s in steps], pa.timestamp("us", "UTC")
            ),
            "confidence": confidence,
            "correct": drawn[1] < confidence,
            "ground_truth_source": ["human"] * ROWS,
        }
    )
    parquet.write_table(table, path)
    click.echo(f"wrote {path}: {ROWS:,} simulated predictions of a system that does not exist", err=True)
