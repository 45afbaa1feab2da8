# SPDX-License-Identifier: Apache-2.0
"""Rows that a pass stores: all of them, while there are few, or a uniform sample of stated size."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.summaries.rows import KeptRows
from epimeter.views import View


@dataclass
class StoredRows:
    """The rows of one slice: parts, each with its place in the source."""

    parts: list[tuple[int, View]] = field(default_factory=list)

    def merge(self, other: StoredRows) -> StoredRows:
        return StoredRows(self.parts + other.parts)

    def view(self) -> View:
        """All rows in the order of the source."""
        ordered = sorted(self.parts, key=lambda part: part[0])
        return KeptRows(tuple(view for _, view in ordered)).view


class RowStore:
    """The rows of all slices that one worker has seen."""

    def __init__(self) -> None:
        self.runs: dict[int, StoredRows] = defaultdict(StoredRows)

    def add(self, order: int, number: int, rows: View) -> None:
        """Store a copy of the rows: what they came in may be used again for the next batch."""
        copied = replace(
            rows,
            true=rows.true.copy(),
            prob=rows.prob.copy(),
            weight=None if rows.weight is None else rows.weight.copy(),
            columns={name: column.copy() for name, column in rows.columns.items()},
        )
        self.runs[number].parts.append((order, copied))


def priority(place: NDArray[Any], seed: int) -> NDArray[np.uint64]:
    """A random number for each row, from its place in the source and the seed alone (splitmix64, Steele et al. 2014)."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        z = place.astype(np.uint64) * golden + np.uint64(seed % (1 << 64)) * np.uint64(0xD1342543DE82EF95) + golden
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)))


class UniformSample:
    """A uniform sample without replacement: the `size` rows of least priority, whatever order they come in.

    The same rows are drawn for any number of threads or chunks, since a row's priority depends on its place alone.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seed = size, seed
        self.limit = np.uint64(0xFFFFFFFFFFFFFFFF)
        self.parts: list[tuple[NDArray[np.uint64], NDArray[np.int64], View]] = []
        self.held = 0

    def add(self, rows: View, place: NDArray[np.int64]) -> None:
        """Draw from further rows; `place` is where each stands in the source."""
        drawn = priority(place, self.seed)
        some = np.flatnonzero(drawn <= self.limit)
        if not len(some):
            return
        self.parts.append((drawn[some], place[some], rows.take(some)))
        self.held += len(some)
        if self.held > 2 * self.size:
            self._thin()

    def _thin(self) -> None:
        drawn = np.concatenate([part[0] for part in self.parts])
        if len(drawn) <= self.size:
            return
        least = np.argsort(drawn, kind="stable")[: self.size]
        place = np.concatenate([part[1] for part in self.parts])[least]
        rows = KeptRows(tuple(part[2] for part in self.parts)).view.take(least)
        self.limit = drawn[least[-1]]
        self.parts, self.held = [(drawn[least], place, rows)], len(least)

    def merge(self, other: UniformSample) -> UniformSample:
        both = UniformSample(self.size, self.seed)
        both.parts = self.parts + other.parts
        both.held = self.held + other.held
        both._thin()
        return both

    def view(self) -> View | None:
        """The rows drawn, in the order of the source; None when there were none."""
        if not self.parts:
            return None
        self._thin()
        place = np.concatenate([part[1] for part in self.parts])
        return KeptRows(tuple(part[2] for part in self.parts)).view.take(np.argsort(place, kind="stable"))
