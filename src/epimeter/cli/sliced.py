# SPDX-License-Identifier: Apache-2.0
"""Reports by slice on a terminal, in JSON, and in files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from epimeter.report.measurement import Report
from epimeter.report.slices import Reports

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


def rendered(found: Mapping[Any, Report], form: str) -> str | bytes:
    """One report as it is; several as a table of slices."""
    if len(found) == 1:
        return next(iter(found.values())).rendered(form)
    assert isinstance(found, Reports)
    if form in ("png", "svg"):
        raise click.UsageError("several slices have no figure of their own; --slice NAME chooses one")
    return table(found) if form == "text" else found.rendered(form)


def table(found: Mapping[Any, Report]) -> str:
    """The slices in rows, the first metrics in columns."""
    values = list(found)
    some = {value: found[value] for value in values[:SHOWN]}
    names = list(next(iter(some.values())))[:6]
    lines = [["slice", "rows", *names]]
    for value, report in some.items():
        measured = {m.metric: m.value for m in report.measurements}
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
