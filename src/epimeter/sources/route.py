# SPDX-License-Identifier: Apache-2.0
"""What a caller says of a source's columns, and the way to its rows: the jobs of a pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from epimeter.passes.workers import Job
from epimeter.readers.forecast import Choice
from epimeter.sources.columns import ReadColumns

BATCH = 1 << 18
"""Rows of a frame or a stream that are one job."""


@dataclass(frozen=True)
class Ask:
    """What the caller says of the columns.

    Attributes
    ----------
    columns
        Which column plays which role, and what kind of forecast they are, where names do not say.
    extra
        Further columns the metrics need or take.
    parquet_pages
        Whether Parquet pages may be decoded here; None as the environment says.
    """

    columns: Choice = field(default_factory=Choice)
    by: str | None = None
    extra: frozenset[str] = frozenset()
    format: str | None = None
    skip_damaged: bool = False
    parquet_pages: bool | None = None


@dataclass(frozen=True)
class Route:
    """Jobs, the columns they read, and what is known of the rows before any is read.

    `notes` are sentences of the readers on how the columns were read, where a table was made of the rows.
    """

    jobs: Iterable[Job]
    columns: ReadColumns
    name: str
    n_rows: int | None = None
    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def described(self) -> dict[str, Any]:
        """Where the rows come from, for the report."""
        notes = self.notes or self.columns.roles.notes
        return {"name": self.name, "columns": self.columns.roles.served} | ({"notes": list(notes)} if notes else {})
