# SPDX-License-Identifier: Apache-2.0
"""A reliability diagram in letters, for terminals."""

from __future__ import annotations

import numpy as np

from epimeter.results import BinTable

WIDTH, HEIGHT = 51, 17
BLOCKS = " ▁▂▃▄▅▆▇█"


def diagram(table: BinTable, said: str) -> list[str]:
    """Mean confidence of each bin against the frequency seen, the diagonal, and where the rows are.

    A point lies at its bin's mean confidence, not at its middle: that is the number the frequency is compared with. `said` names
    what was stated.
    """
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    for column in range(WIDTH):
        grid[_row(column / (WIDTH - 1))][column] = "·"
    for confidence, frequency in zip(table.confidence, table.frequency, strict=True):
        if np.isnan(confidence):
            continue
        column, row, level = _column(confidence), _row(frequency), _row(confidence)
        for between in range(min(row, level) + 1, max(row, level)):
            grid[between][column] = "│"
        grid[row][column] = "●"
    lines = []
    for number, cells in enumerate(grid):
        label = {0: "1.0", HEIGHT // 2: "0.5", HEIGHT - 1: "0.0"}.get(number, "   ")
        lines.append(f"  {label} ┤{''.join(cells)}")
    lines.append("      └" + "─" * WIDTH)
    lines.append("       " + _shares(table))
    lines.append("       0.0" + said.center(WIDTH - 6) + "1.0")
    return lines


def _row(frequency: float) -> int:
    return round((1 - frequency) * (HEIGHT - 1))


def _column(confidence: float) -> int:
    return round(confidence * (WIDTH - 1))


def _shares(table: BinTable) -> str:
    """Where the rows are: one block a bin, as high as its share of the largest."""
    largest = max(int(table.count.max()), 1)
    bins = len(table.count)
    bars = []
    for column in range(WIDTH):
        count = int(table.count[min(column * bins // WIDTH, bins - 1)])
        bars.append(BLOCKS[0 if count == 0 else max(1, round(count / largest * 8))])
    return "".join(bars)
