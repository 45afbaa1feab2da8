# SPDX-License-Identifier: Apache-2.0
"""Evaluating what is too large to hold, or lies in several files: one pass, by way of `scan`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from epimeter.cli.certainty import Certainty
from epimeter.cli.progress import Progress
from epimeter.readers.forecast import Choice

if TYPE_CHECKING:
    from epimeter.report.measurement import Report

LARGE = 1 << 28
"""Bytes from which a file is read in one pass and not into memory."""


@dataclass(frozen=True)
class Streaming:
    """What the options of a pass say."""

    by: tuple[str, ...] = ()
    value: str | None = None
    row_limit: int | None = None
    sample: int | None = None
    skip_damaged: bool = False

    @property
    def asked(self) -> bool:
        """Whether any option asks for a pass."""
        return self != Streaming()


@dataclass(frozen=True)
class FileEvaluation:
    """What is to be measured of some files, and how, as the options say it."""

    files: list[str]
    choice: Choice
    format: str | None
    names: Any
    asked: Streaming
    choices: dict[str, Any]
    certainty: Certainty


def streaming_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a pass over many or large files."""
    options = [
        click.argument("more", nargs=-1, type=click.Path(), metavar="[FILE…]"),
        click.option(
            "--by",
            multiple=True,
            metavar="COLUMN",
            help="A column, or a folder's key: one report for each of its values; several columns are crossed.",
        ),
        click.option("--slice", "value", help="With --by: only the report of this value."),
        click.option("--row-limit", type=int, metavar="N", help="Keep rows for the metrics that need all, up to N."),
        click.option("--sample", type=int, metavar="N", help="Above the limit, measure those metrics on N rows drawn."),
        click.option(
            "--skip-damaged", is_flag=True, help="Leave out what cannot be decoded, and say so in the report."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def streams(files: list[str], asked: Streaming) -> bool:
    """Whether files go through a pass: several, a pattern, a folder, a query, a large one, or an option that asks."""
    from epimeter.sources.paths import several
    from epimeter.sources.routes import SQL

    if asked.asked or len(files) > 1 or several(files[0]) or SQL.match(files[0]):
        return True
    return files[0] != "-" and os.path.isfile(files[0]) and os.path.getsize(files[0]) >= LARGE


def passed(given: FileEvaluation) -> Any:
    """The reports of one pass, by slice; the whole under None when nothing is sliced."""
    from epimeter.cli.sliced import chosen
    from epimeter.passes.plan import ROW_LIMIT
    from epimeter.report.building import reports
    from epimeter.report.measurement import Report
    from epimeter.report.scan import summarised

    choice, asked = given.choice, given.asked
    bars: list[Progress] = []

    def progress(total: int | None) -> Progress:
        bars.append(Progress(total))
        return bars[0]

    try:
        ledger = summarised(
            given.files if len(given.files) > 1 else given.files[0],
            given.names,
            by=asked.by[0] if asked.by else None,
            columns=choice.columns,
            kind=choice.kind,
            positive=choice.positive,
            classes=choice.classes,
            logits=choice.logits,
            format=given.format,
            row_limit=ROW_LIMIT if asked.row_limit is None else asked.row_limit,
            sample=asked.sample,
            skip_damaged=asked.skip_damaged,
            progress=progress,
            **given.choices,
        )
    finally:
        for bar in bars:
            bar.close()
    found = reports(ledger, **given.certainty.of_pass())
    if isinstance(found, Report):
        refuse_one_class(found, ledger.slices[None].class_counts, choice.classes)
    return chosen(found, asked.value)


def refuse_one_class(report: Report, class_counts: Sequence[int], classes: Sequence[str] | None) -> None:
    """Refuse rows of a pass that all have one outcome, as a file in memory is refused; answers may all be right."""
    from epimeter.cli.judging import one_class

    common = [place for place, count in enumerate(class_counts) if count]
    if report.kind == "event" and report.base_rate in (0, 1):
        seen = f"{report.base_rate:.0f}"
    elif report.kind == "classes" and len(common) == 1:
        seen = f"class {common[0]}" if classes is None else classes[common[0]]
    else:
        return
    raise one_class(report.kind, seen, report.n_rows, report.source["name"], report.source["columns"]["label"])
