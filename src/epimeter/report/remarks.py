# SPDX-License-Identifier: Apache-2.0
"""What a reader must know of the rows behind any result, whatever was made of them: how they were read, what is odd about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from epimeter.readers.table import Table
from epimeter.report.cautions import contrary, recalibrated, repeated
from epimeter.report.suspicions import suspicions
from epimeter.views import View


def remarks(source: Mapping[str, Any], n_rows: int) -> tuple[str, ...]:
    """How the rows were read: which were left out for want of a label, and what words were taken for."""
    left = int(source.get("unlabelled") or 0)
    verb = "has no label and was left out" if left == 1 else "have no label and were left out"
    missing = (f"{left:,} of {left + n_rows:,} rows {verb}.",) if left else ()
    return (*missing, *(f"{str(note)[:1].upper()}{str(note)[1:]}." for note in source.get("notes") or ()))


def oddities(table: Table, rows: View) -> tuple[str, ...]:
    """What the rows of a file look like besides what they were said to be."""
    source = table.described()
    return (
        *(one.sentence for one in suspicions(rows)),
        *recalibrated(source),
        *repeated(source),
        *contrary(source),
    )
