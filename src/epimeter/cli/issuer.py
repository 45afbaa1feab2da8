# SPDX-License-Identifier: Apache-2.0
"""The issuer's folder, as commands that sign are given it; whoever opens it is told which of its keys end soon."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from epimeter.trust.registry import Registry

FOLDER = click.option(
    "--issuer",
    "folder",
    type=click.Path(exists=True, file_okay=False),
    default=lambda: os.environ.get("EPIMETER_ISSUER", "."),
    help="Folder of the issuer, made by epimeter keys init; by default $EPIMETER_ISSUER.",
)


@contextmanager
def opened(folder: str, at: datetime) -> Iterator[Registry]:
    """The issuer in a folder, until the block is left."""
    from epimeter.trust.registry import Registry

    refuse_put_back(folder)
    with Registry(folder) as registry:
        tell_endings(folder, at)
        yield registry


def refuse_put_back(folder: str) -> None:
    """Refuse the registry of a service that is older than the service has shown: nothing is signed in a copy put in its place."""
    data = Path(folder).absolute().parent
    if not data.with_name(f"{data.name}.published.json").exists():
        return
    from epimeter.service.published import refuse_older_folder
    from epimeter.trust.registry import Registry

    with Registry(folder) as registry:
        refuse_older_folder(registry, data)


def tell_endings(folder: str, at: datetime) -> None:
    """Say which keys have ended or will within two weeks, and what to do."""
    from epimeter.trust.succession import SIGNING, WARNING, endings

    for one in endings(Path(folder)):
        if one.at <= at + WARNING:
            advice = (
                f"run: epimeter keys rotate {folder} {one.role}"
                if one.role in SIGNING
                else "make a new issuer before then"
            )
            click.echo(f"epimeter: mind: {one.sentence(at)}; {advice}", err=True)
