# SPDX-License-Identifier: Apache-2.0
"""Rows sorted by confidence, outcome and weight, as integers: `core/sorting.c` with its threads.

Threads share the rows while these are distributed to buckets, and then the buckets; they give the same integers for any
number of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.core import NULL, accepted, lib, read, write
from epimeter.core.threads import cores, in_parts

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

BUCKETS = 2048
CACHED = 1 << 14
"""Rows below which one bucket does: all of it stays in the cache."""
MOST_THREADS = 4
A_THREAD = 1 << 16
"""Rows from which a further thread pays."""


def sorted_keys(prob: NDArray[Any], true: NDArray[Any], weight: Floats | None = None) -> Integers:
    """Confidence and outcome packed into one integer each, in increasing order; with weights: two, the weight's bits last."""
    prob = np.ascontiguousarray(prob, np.float64)
    true = np.ascontiguousarray(true, np.uint8)
    weight = None if weight is None else np.ascontiguousarray(weight, np.float64)
    n_rows = len(prob)
    if n_rows < CACHED and weight is None:
        return _few_keys(prob, true)
    buckets = BUCKETS if n_rows >= CACHED else 1
    parts = _parts(n_rows)
    ends = np.empty((len(parts), 2))
    count = np.zeros((len(parts), buckets), np.int64)
    wide = () if weight is None else (2,)
    keys = np.empty((n_rows, *wide), np.int64)

    def extremes(part: int) -> int:
        some = prob[parts[part]]
        return int(lib.epi_extremes(read(some), len(some), write(ends[part]), 2))

    def counted(part: int) -> int:
        some = prob[parts[part]]
        return int(lib.epi_count_buckets(read(some), len(some), low, scale, write(count[part]), buckets))

    def distributed(part: int) -> int:
        rows, to = parts[part], write(place[part])
        columns = read(true[rows]), read(prob[rows]), NULL if weight is None else read(weight[rows])
        size = len(prob[rows])
        return int(lib.epi_distribute(*columns, size, low, scale, to, buckets, write(keys), n_rows))

    def ordered(part: int) -> int:
        first, last = int(share[part]), int(share[part + 1])
        largest = int(np.diff(begin[first : last + 1]).max(initial=0))
        room, cells = np.empty((largest, *wide), np.int64), np.empty(largest // 4 + 2, np.int64)
        return int(
            lib.epi_sort_buckets(
                write(keys),
                n_rows,
                weight is not None,
                read(begin),
                len(begin),
                first,
                last,
                write(room),
                largest,
                write(cells),
                len(cells),
            )
        )

    _run(extremes, len(parts))
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    scale = buckets / (high - low) if high > low else 0.0
    _run(counted, len(parts))
    begin = np.concatenate([[0], np.cumsum(count.sum(axis=0))])
    # A bucket holds the rows of the first thread, then those of the second, and so on.
    place = np.ascontiguousarray(begin[:-1] + np.cumsum(count, axis=0) - count)
    _run(distributed, len(parts))
    share = np.searchsorted(begin, [rows.start for rows in parts] + [n_rows])
    share[0], share[-1] = 0, buckets
    _run(ordered, len(parts))
    return keys


def _few_keys(prob: Floats, true: NDArray[np.uint8]) -> Integers:
    """The same of rows that need no buckets: numpy sorts so few integers several at a time."""
    accepted(lib.epi_extremes(read(prob), len(prob), write(np.empty(2)), 2))  # refuses what is no probability
    bits = prob.view(np.uint64) << 1  # drops the sign of -0.0
    keys = (bits | (true & 1)).view(np.int64)
    keys.sort()
    return keys


def unpacked(keys: Integers) -> tuple[Floats, NDArray[np.uint8], Floats | None]:
    """Confidence, outcome and weight, if there are weights, back from the integers.

    Without weights the confidences take the place of the keys, which are gone then: of many rows the first touch of fresh memory
    costs more than the sorting.
    """
    outcome, parts = np.empty(len(keys), np.uint8), _parts(len(keys))
    prob = keys.view(np.float64) if keys.ndim == 1 else np.empty(len(keys))
    weight = None if keys.ndim == 1 else np.empty(len(keys))

    def unpack(part: int) -> int:
        rows = parts[part]
        some, came, size = keys[rows], write(outcome[rows]), len(outcome[rows])
        if weight is None:
            return int(lib.epi_unpack_rows(write(some), came, size))
        return int(lib.epi_unpack_weighed(read(some), write(prob[rows]), came, write(weight[rows]), size))

    _run(unpack, len(parts))
    return prob, outcome, weight


def _parts(n_rows: int) -> list[slice]:
    """The rows of each thread."""
    threads = max(1, min(MOST_THREADS, cores(), n_rows // A_THREAD))
    cuts = [n_rows * part // threads for part in range(threads + 1)]
    return [slice(*pair) for pair in zip(cuts, cuts[1:], strict=False)]


def _run(work: Callable[[int], int], parts: int) -> None:
    """One call of a loop for each part, side by side."""
    for answer in in_parts(work, parts):
        accepted(answer)
