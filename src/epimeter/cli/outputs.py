# SPDX-License-Identifier: Apache-2.0
"""Where a command writes: never over what it reads, and known to be a place before the work begins."""

from __future__ import annotations

import os
from pathlib import Path

import click

from epimeter.documents.held import form_of


def spare(output: str | None, *inputs: str | None) -> None:
    """Refuse an output that is one of the files read: after a slip of the hand the data would be gone."""
    for source in inputs:
        given = output is not None and source is not None and os.path.exists(output) and os.path.exists(source)
        if given and os.path.samefile(str(output), str(source)):
            raise click.UsageError(f"--output must be another file than those that are read; {output} is one")


def asked_form(output: str | None, as_json: bool = False, *, without: tuple[str, ...] = ()) -> str:
    """The form that a report is written in: what --json or the suffix of --output says; refused before any work.

    `without` names the forms that this command has not.
    """
    form = "text" if output is None else form_of(output)
    if as_json and form not in ("json", "text"):
        raise click.UsageError(f"--json writes JSON; {output} asks for something else")
    if form in without:
        raise click.UsageError(f"this command has no {form} to write; got {output!r}")
    return "json" if as_json else form


def write(rendered: str | bytes, output: str | None) -> None:
    """Print, or write to a file."""
    if output is None:
        assert isinstance(rendered, str)  # figures and PDF come from the suffix of a file alone
        click.echo(rendered, nl=False)
        return
    if isinstance(rendered, str):
        Path(output).write_text(rendered, encoding="utf-8")
    else:
        Path(output).write_bytes(rendered)
    click.echo(f"wrote {output}", err=True)


def in_a_folder(output: str | None) -> None:
    """Refuse an output in a folder that is not there, before anything is done that cannot be undone."""
    if output is not None and not os.path.isdir(os.path.dirname(output) or "."):
        raise click.UsageError(f"--output must lie in a folder that exists; {os.path.dirname(output)} does not")
