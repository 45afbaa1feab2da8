# SPDX-License-Identifier: Apache-2.0
"""Reports by slice on a terminal, in JSON, and in files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from epimeter.report.slices import BySlice, Made


def chosen(found: Made | BySlice[Made], value: str | None) -> Mapping[Any, Made]:
    """The slices to show; the whole under None when nothing is sliced."""
    if not isinstance(found, BySlice):
        if value is not None:
            raise click.UsageError("--slice is for summaries that have slices; this one has none")
        return {None: found}
    if value is None:
        return found
    for known in found:
        if str(known) == value:
            return {known: found[known]}
    raise click.UsageError(f"no slice is called {value!r}; there are {', '.join(str(v) for v in list(found)[:8])}")


def rendered(found: Mapping[Any, Made], form: str) -> str | bytes:
    """One report as it is; several as a table of slices."""
    if len(found) == 1:
        return next(iter(found.values())).rendered(form)
    assert isinstance(found, BySlice)
    return found.rendered(form)
