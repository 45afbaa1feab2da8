# SPDX-License-Identifier: Apache-2.0
"""What a bootstrap draws: rows, rows within strata, or whole groups of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.errors import InputError, UndefinedMetricError
from epimeter.inference import draws as random

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Scheme:
    """What is drawn: rows within strata, or whole groups of rows.

    `members` lists the things drawn, stratum after stratum (None: every row, in order); place j of a replicate draws
    one of the `size[j]` things from `offset[j]` on. A thing is a row, or with `groups` all rows from `start[thing]` to
    `start[thing + 1]`.
    """

    members: NDArray[np.int64] | None
    offset: NDArray[np.int64]
    size: NDArray[np.int64]
    start: NDArray[np.int64] | None

    @property
    def width(self) -> int:
        return len(self.offset)

    @property
    def simple(self) -> bool:
        """Whether every row is drawn from all rows."""
        return self.members is None

    def draw(
        self, seed: int, replicate: int, n_rows: int, in_order: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """How often a replicate draws each row; with `in_order` also the rows as they were drawn."""
        if self.simple and not in_order:
            return random.counts(random.words(seed), replicate * n_rows, n_rows), np.empty(0, np.int64)
        counts, chosen = np.zeros(n_rows, np.int32), []
        for part, uniform in random.row(seed, replicate, self.width):
            rows = self.rows(part, uniform)
            counts += np.bincount(rows, minlength=n_rows).astype(np.int32)
            chosen.append(rows)
        return counts, np.concatenate(chosen) if in_order else np.empty(0, np.int64)

    def rows(self, part: slice, uniform: Floats) -> NDArray[np.int64]:
        """The rows that these random numbers draw."""
        things = self.offset[part] + (uniform * self.size[part]).astype(np.int64)
        if self.members is None:
            return np.asarray(things)
        if self.start is None:
            return np.asarray(self.members[things])
        count = self.start[things + 1] - self.start[things]
        shift = np.repeat(self.start[things] - np.concatenate([[0], np.cumsum(count)[:-1]]), count)
        return np.asarray(self.members[np.arange(count.sum()) + shift])

    def strata(self) -> list[NDArray[np.int64]]:
        """The rows of each stratum; one a group where groups are drawn."""
        borders = np.flatnonzero(np.concatenate([[True], self.offset[1:] != self.offset[:-1], [True]]))
        return [np.arange(self.offset[a], self.offset[a] + self.size[a]) for a in borders[:-1]]

    def without(self, thing: int) -> NDArray[np.int64]:
        """All rows but those of one thing, in their order."""
        members = np.arange(self.width) if self.members is None else self.members
        keep = np.ones(len(members), bool)
        if self.start is None:
            keep[thing] = False
        else:
            keep[self.start[thing] : self.start[thing + 1]] = False
        return np.sort(members[keep])

    def row_of(self, thing: int) -> int:
        """The row that a thing is, where things are rows."""
        return thing if self.members is None else int(self.members[thing])


def scheme(n_rows: int, stratify: Any, groups: Any) -> Scheme:
    """How to draw: strata in ascending order of their label, rows of a stratum in input order."""
    if groups is not None:
        if stratify is not None:
            raise InputError("stratify and groups cannot be given together; groups are drawn whole", field="groups")
        label = _labels(groups, n_rows, "groups")
        order = np.argsort(label, kind="stable")
        start = np.concatenate([np.flatnonzero(np.diff(label[order], prepend=-1)), [n_rows]])
        number = len(start) - 1
        if number < 2:
            raise UndefinedMetricError(f"resampling groups needs at least 2 of them; got {number}")
        return Scheme(order, np.zeros(number, np.int64), np.full(number, number), start)
    if stratify is None:
        return Scheme(None, np.broadcast_to(np.int64(0), n_rows), np.broadcast_to(np.int64(n_rows), n_rows), None)
    label = _labels(stratify, n_rows, "stratify")
    order = np.argsort(label, kind="stable")
    size = np.bincount(label)
    return Scheme(order, np.repeat(np.concatenate([[0], np.cumsum(size)[:-1]]), size), np.repeat(size, size), None)


def _labels(values: Any, n_rows: int, name: str) -> NDArray[np.int64]:
    labels = np.asarray(values)
    if labels.shape != (n_rows,):
        raise InputError(f"{name} must have one label per row, {n_rows}; got shape {labels.shape}", field=name)
    return np.unique(labels, return_inverse=True)[1].ravel().astype(np.int64)
