# SPDX-License-Identifier: Apache-2.0
"""Where commands that sign get their passphrase from: a file, the environment, or a question; never an argument."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

VARIABLE = "EPIMETER_PASSPHRASE"


def passphrase_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option of every command that opens private keys."""
    return click.option(
        "--passphrase-file",
        type=click.Path(exists=True, dir_okay=False),
        help=f"File with the passphrase of the keys; else ${VARIABLE}, else you are asked.",
    )(command)


def passphrase(file: str | None, *, twice: bool = False) -> str:
    """The passphrase, without its line end."""
    if file is not None:
        return os.fsdecode(Path(file).read_bytes()).rstrip("\r\n")
    if VARIABLE in os.environ:
        return os.environ[VARIABLE]
    if not sys.stdin.isatty():
        raise click.UsageError(f"a passphrase is needed; give --passphrase-file or set {VARIABLE}")
    asked: str = click.prompt("Passphrase of the keys", hide_input=True, confirmation_prompt=twice, err=True)
    return asked
