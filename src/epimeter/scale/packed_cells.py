# SPDX-License-Identifier: Apache-2.0
"""Cells of one slice while its rows come in long runs; see `cell_loops`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.scale import cell_loops
from epimeter.summaries.cells import CELLS, MIXED

Integers = NDArray[np.int64]


class Packed:
    """Words that wait to be added to the wide table, and the slice they belong to."""

    def __init__(self) -> None:
        self.slot = -1
        self.rows = 0
        """Rows that the fullest word may hold."""
        self.words = np.zeros(0, np.uint64)
        self.mixed = np.zeros(0, np.uint8)

    def add(self, true: NDArray[Any], prob: NDArray[Any], slot: int, table: Integers, only: NDArray[Any]) -> None:
        """Add rows of one slice, as many at a time as the words have room for."""
        begin = 0
        while begin < len(prob):
            if slot != self.slot:
                self.spill(table)
            elif self.rows >= cell_loops.MOST_PACKED:
                self.rows = int(cell_loops.fullest(self.words))  # mostly few: rows spread over many words
                if self.rows > cell_loops.MOST_PACKED // 2:
                    self.spill(table)
            if self.slot < 0:
                self.slot = slot
                self.words = self.words if len(self.words) else np.zeros(2 * CELLS, np.uint64)
                self.mixed = (only[slot] == MIXED).view(np.uint8)
            end = min(len(prob), begin + cell_loops.MOST_PACKED - self.rows)
            cell_loops.add_packed(true[begin:end], prob[begin:end], self.words, self.mixed, only[slot])
            self.rows += end - begin
            begin = end

    def spill(self, table: Integers) -> None:
        """Move what is packed to the wide table."""
        if self.slot >= 0:
            cell_loops.spill(self.words, table[self.slot])
        self.slot, self.rows = -1, 0
