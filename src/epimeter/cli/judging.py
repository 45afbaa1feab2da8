# SPDX-License-Identifier: Apache-2.0
"""What the commands test, compare and plan have in common: reading, printing tables."""

from __future__ import annotations

from collections.abc import Sequence

from epimeter.errors import InputError
from epimeter.readers.forecast import Choice
from epimeter.readers.table import Table


def read_table(file: str, choice: Choice, format: str | None) -> Table:
    """The rows of a file."""
    from epimeter.readers import read

    return read(file, columns=choice, format=format)


def aligned(rows: Sequence[tuple[str, ...]]) -> str:
    """Rows of text in columns; the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines)


def metric_names(metrics: tuple[str, ...], standard: tuple[str, ...]) -> list[str]:
    """Names given by --metric, or the standard ones."""
    names = [name.strip() for group in metrics for name in group.split(",") if name.strip()]
    return list(dict.fromkeys(names)) or list(standard)


def refuse_weights(table: Table, command: str) -> None:
    """Weights have no meaning in these tests; they are never ignored in silence."""
    if table.weight is not None:
        raise InputError(
            f"epimeter {command} takes no weights; leave the column out with --column weight=", field="weight"
        )
