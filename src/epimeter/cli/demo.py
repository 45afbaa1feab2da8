# SPDX-License-Identifier: Apache-2.0
"""``epimeter demo``: a bundled data set, end to end."""

from __future__ import annotations

from importlib.resources import as_file, files

import click

DATA = "cifar10_vgg16.npz"


@click.command()
def demo() -> None:
    """Evaluate a bundled data set: what a VGG-16 says about the 10,000 test images of CIFAR-10."""
    from epimeter.cli.evaluate import measured_table
    from epimeter.readers import read
    from epimeter.report.text import text

    click.echo("A VGG-16 network on the 10,000 test images of CIFAR-10: ten probabilities an image.")
    click.echo("Predictions by Kumar, Liang and Ma (verified_calibration, MIT licence).\n")
    with as_file(files("epimeter") / "data" / DATA) as path:
        click.echo(text(measured_table(read(str(path)), None, {})), nl=False)
    click.echo(
        "\nYour own predictions: epimeter evaluate FILE (CSV, JSON, NDJSON, Parquet, Arrow, npz, Excel; - is a pipe)"
    )
