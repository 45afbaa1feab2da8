# SPDX-License-Identifier: Apache-2.0
"""Reports by slice on a terminal, in JSON, and in files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from epimeter.cli.evaluate import as_text
from epimeter.report.measurement import Report
from epimeter.scale.reports import Reports

SHOWN = 30
"""Slices that a terminal shows; JSON holds all."""


def chosen(found: Report | Reports, value: str | None) -> Mapping[Any, Report]:
    """The slices to show; the whole under None when nothing is sliced."""
    if isinstance(found, Report):
        if value is not None:
            raise click.UsageError("--slice is for summaries that have slices; this one has none")
        return {None: found}
    if value is None:
        return found
    for known in found:
        if str(known) == value:
            return {known: found[known]}
    raise click.UsageError(f"no slice is called {value!r}; there are {', '.join(str(v) for v in list(found)[:8])}")


def rendered(found: Mapping[Any, Report], form: str) -> str:
    """One report as it is; several as a table, or as a JSON object by slice."""
    if len(found) == 1:
        return as_text(next(iter(found.values())), form, None)
    if form == "json":
        made = {str(value): report.to_dict() for value, report in found.items()}
        return json.dumps(made, indent=2, allow_nan=False) + "\n"
    if form != "text":
        raise click.UsageError("several slices are shown as text or JSON; --slice NAME chooses one for a document")
    return table(found)


def table(found: Mapping[Any, Report]) -> str:
    """The slices in rows, the first metrics in columns."""
    values = list(found)
    some = {value: found[value] for value in values[:SHOWN]}
    names = [m.metric for m in next(iter(some.values()))][:6]
    lines = [["slice", "rows", *names]]
    for value, report in some.items():
        measured = {m.metric: m.value for m in report}
        cells = ["–" if measured.get(name) is None else f"{measured[name]:.6g}" for name in names]
        lines.append([str(value), f"{report.n_rows:,}", *cells])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = [
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    if len(values) > SHOWN:
        text.append(f"… and {len(values) - SHOWN:,} more; --json holds all, --slice NAME shows one")
    cautions = dict.fromkeys(caution for report in some.values() for caution in report.cautions if "damaged" in caution)
    return "\n".join([*text, *(f"! {caution}" for caution in cautions)]) + "\n"
