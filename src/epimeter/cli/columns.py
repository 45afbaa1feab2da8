# SPDX-License-Identifier: Apache-2.0
"""The options by which a command is told what the columns of a file are."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import click

from epimeter.cli.log_options import LOG_OPTIONS, log_of
from epimeter.kinds import KINDS
from epimeter.readers.forecast import Choice

F = TypeVar("F", bound=Callable[..., Any])

OPTIONS = (
    click.option("--column", "columns", multiple=True, metavar="ROLE=NAME", help="Which column plays which role."),
    click.option("--kind", "forecast", type=click.Choice(KINDS),
                 help="What is stated: the probability of an event, the confidence in an answer, one probability a class."),
    click.option("--positive", metavar="LABEL", help="The label that is outcome 1, as --positive Yes."),
    click.option("--classes", metavar="A,B,C", help="The classes, in the order of their probability columns."),
    click.option("--format", "format", help="csv, tsv, json, ndjson, parquet, arrow, npz or xlsx, when it cannot be seen."),
)  # fmt: skip


def column_options(command: F) -> F:
    """A command with the options about columns and logs; they arrive as `choice`, and the file's format as `format`."""

    @functools.wraps(command)
    def told(*args: Any, **options: Any) -> Any:
        said = [options.pop(name) for name in ("columns", "forecast", "positive", "classes")]
        choice = replace(choice_of(*said), log=log_of(options), logits=options.pop("logits", False))
        return command(*args, choice=choice, **options)

    for option in reversed((*OPTIONS, *LOG_OPTIONS)):
        told = option(told)
    return told  # type: ignore[return-value]


def logits_option(command: F) -> F:
    """A command with --logits, for those that measure: what is certified is stated as probabilities, bit for bit."""
    return click.option(
        "--logits",
        is_flag=True,
        help="The forecast is written as scores before softmax, or before the logistic function.",
    )(command)


def choice_of(columns: tuple[str, ...], kind: str | None, positive: str | None, classes: str | None) -> Choice:
    """What the options say of the columns."""
    named: dict[str, str] = {}
    for column in columns:
        role, name = pair(column, "--column")
        if role in named:
            raise click.UsageError(
                f"--column names the column of {role} twice, {named[role]!r} and {name!r}; give it once"
            )
        named[role] = name
    listed = None if classes is None else tuple(part.strip() for part in classes.split(",") if part.strip())
    if classes is not None and not listed:
        raise click.UsageError(f"--classes takes A,B,C; got {classes!r}")
    return Choice(named, kind, positive, listed)


def pair(text: str, option: str) -> tuple[str, str]:
    """A name and a value, typed as NAME=VALUE."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise click.UsageError(f"{option} takes NAME=VALUE; got {text!r}")
    return name.strip(), value.strip()
