# SPDX-License-Identifier: Apache-2.0
"""A table that a command has read, measured with a progress bar; refusals name the place in the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from epimeter.card_index import catalogue
from epimeter.cli.certainty import Certainty
from epimeter.cli.progress import Progress
from epimeter.errors import InputError
from epimeter.readers.table import Table
from epimeter.report.measurement import Report

LOG_HEADLINES = ("accuracy", "auroc", "aurc")
"""What is measured of a log besides."""


def measured_table(table: Table, names: Any, choices: dict[str, Any], certainty: Certainty | None = None) -> Report:
    """Measure a table, and say in a refusal where in the file the fault is."""
    from epimeter.passes.selection import HEADLINES
    from epimeter.report import evaluate as measure

    if names is None and table.confidence_source is not None:
        names = [*HEADLINES, *LOG_HEADLINES]
    if table.rank is not None:
        return _by_order_and_size(table, names, choices, certainty)
    everything = names == "all"  # then the metrics take the time, not the pass over the rows
    progress = Progress(len(catalogue()), "metrics") if everything else Progress(table.n_rows)
    try:
        with placed(table):
            return measure(
                table.y_true,
                table.y_prob,
                kind=table.kind,
                metrics=names,
                sample_weight=table.weight,
                groups=table.group,
                features=table.features,
                source=table.described(),
                place=table.place,
                tick=None if everything else progress,
                each=(lambda _: progress(1)) if everything else None,
                **(certainty or Certainty()).of_rows(),
                **choices,
            )
    finally:
        progress.close()


def _by_order_and_size(table: Table, names: Any, choices: dict[str, Any], certainty: Certainty | None) -> Report:
    """A score without bounds: metrics of order measured on the score itself, all others on its recalibration."""
    from epimeter.metrics.selective import OF_ORDER

    report = measured_table(replace(table, rank=None), names, choices, certainty)
    if not any(one.metric in OF_ORDER for one in report.measurements):
        return report
    of_order = measured_table(replace(table, confidence=table.rank, rank=None), names, choices, certainty)
    return replace(
        report,
        measurements=tuple(of_order[one.metric] if one.metric in OF_ORDER else one for one in report.measurements),
    )


@contextmanager
def placed(table: Table) -> Iterator[None]:
    """Refusals of a table's rows, with the place in the file they came from."""
    try:
        yield
    except InputError as refusal:
        if refusal.row is None or refusal.field not in ("y_true", "y_prob", "sample_weight", "features", "groups"):
            raise
        where = f"{table.source}, {table.place(refusal.row)}"
        raise InputError(f"{refusal} ({where})", field=refusal.field, row=refusal.row, count=refusal.count) from None
