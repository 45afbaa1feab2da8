# SPDX-License-Identifier: Apache-2.0
"""Where a command writes: never over what it reads, and known to be a place before the work begins."""

from __future__ import annotations

import os

import click


def spare(output: str | None, *inputs: str | None) -> None:
    """Refuse an output that is one of the files read: after a slip of the hand the data would be gone."""
    for source in inputs:
        given = output is not None and source is not None and os.path.exists(output) and os.path.exists(source)
        if given and os.path.samefile(str(output), str(source)):
            raise click.UsageError(f"--output must be another file than those that are read; {output} is one")


def in_a_folder(output: str | None) -> None:
    """Refuse an output in a folder that is not there, before anything is done that cannot be undone."""
    if output is not None and not os.path.isdir(os.path.dirname(output) or "."):
        raise click.UsageError(f"--output must lie in a folder that exists; {os.path.dirname(output)} does not")
