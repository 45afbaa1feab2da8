# SPDX-License-Identifier: Apache-2.0
"""What is odd about the rows of a file, whatever is made of them: a report, a test, a comparison."""

from __future__ import annotations

from epimeter.readers.table import Table
from epimeter.report.cautions import contrary, recalibrated, repeated
from epimeter.report.suspicions import suspicions
from epimeter.views import View


def oddities(table: Table, rows: View) -> tuple[str, ...]:
    """What the rows look like besides what they were said to be."""
    source = table.described()
    return (
        *(one.sentence for one in suspicions(rows)),
        *recalibrated(source),
        *repeated(source),
        *contrary(source),
    )
