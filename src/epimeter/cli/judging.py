# SPDX-License-Identifier: Apache-2.0
"""What the commands that measure a file have in common: reading it, printing tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from epimeter.errors import InputError
from epimeter.readers.forecast import Choice
from epimeter.readers.table import Table
from epimeter.readers.wording import clean, shown


def read_table(file: str | list[str], choice: Choice, format: str | None) -> Table:
    """The rows of a file, or of several logs; one class alone is refused."""
    from epimeter.readers import read

    table = read(file, columns=choice, format=format)
    if table.kind != "answer" and table.n_rows and (table.label == table.label[0]).all():
        first = int(table.label[0])
        name = str(first) if table.kind == "event" or table.class_names is None else table.class_names[first]
        raise one_class(table.kind, name, table.n_rows, table.source, table.roles.get("label", "the outcome"))
    return table


def one_class(kind: str, seen: str, n_rows: int, source: str, column: str) -> InputError:
    """The refusal where every row has one outcome: what is said of the others is then held against nothing."""
    wanted = "both outcomes, 0 and 1" if kind == "event" else "more than one class"
    rows = "the only row" if n_rows == 1 else f"all {n_rows:,} rows"
    return InputError(
        f"{clean(column)} must hold {wanted}; {rows} of {source} {'has' if n_rows == 1 else 'have'} {shown(seen)}. Was the file "
        "filtered by its outcome, or a label misread? Add rows of the other"
        + (" outcome" if kind == "event" else " classes"),
        field="y_true",
        count=n_rows,
    )


def cautions_of(table: Table, values: Mapping[str, float]) -> tuple[str, ...]:
    """What is odd about the rows of a file, and which of them make values infinite."""
    from epimeter.report.measuring import said_zero
    from epimeter.report.oddities import oddities
    from epimeter.views import view

    rows = view(table.y_true, table.y_prob, kind=table.kind)
    names = [name for name, value in values.items() if math.isinf(value)]
    count, where = said_zero(rows, table.place) if names else (0, "")
    why = f"{', '.join(names)}: infinite, since {count:,} {'row' if count == 1 else 'rows'} said 0 for what came true{where}"
    return (*oddities(table, rows), *([why] if count else []))


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
