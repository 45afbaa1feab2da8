# SPDX-License-Identifier: Apache-2.0
"""Random numbers with one answer on every machine.

U = Generator(PCG64(seed)).random((draws, width)), filled row by row; row r belongs to replicate r. Only the raw stream
is used: an index into n things is floor(u * n). Every double takes one step of the generator, so replicate r starts
at PCG64(seed).advance(r * width): replicates can be made in any order, in chunks, by any number of threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from epimeter.core import NULL, accepted, lib, read, write

Floats = NDArray[np.float64]
BLOCK = 1 << 14
"""Random numbers made at a time: they stay in the cache of one core."""
GROUP = 8
"""Replicates whose draws are added up together: the core reads the rows once for all of them."""
Progress = Callable[[int], None]


def row(seed: int, replicate: int, width: int) -> Iterator[tuple[slice, Floats]]:
    """The random numbers of one replicate, block by block, with their places in the row."""
    source = np.random.Generator(np.random.PCG64(seed).advance(replicate * width))
    for start in range(0, width, BLOCK):
        part = slice(start, min(start + BLOCK, width))
        yield part, source.random(part.stop - part.start)


def whole_row(seed: int, replicate: int, width: int) -> Floats:
    """The random numbers of one replicate."""
    return np.random.Generator(np.random.PCG64(seed).advance(replicate * width)).random(width)


def words(seed: int) -> NDArray[np.uint64]:
    """The generator as the core takes it: state and increment after seeding, the upper word of each first."""
    state = np.random.PCG64(seed).state["state"]
    low = (1 << 64) - 1
    parts = [part for number in (state["state"], state["inc"]) for part in (number >> 64, number & low)]
    return np.array(parts, np.uint64)


def bounds(prob: NDArray[Any]) -> NDArray[np.uint64]:
    """Probabilities in steps of 2^-53, rounded up: u < p exactly where the bits of u are below this."""
    return np.ceil(prob.astype(np.float64) * 2.0**53).astype(np.uint64)


def labels(generator: NDArray[np.uint64], skip: int, bound: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """1 where a number of the stream, from the number `skip` on, is below its bound."""
    label = np.empty(len(bound), np.uint8)
    accepted(lib.epi_draw_labels(read(generator), 4, skip, read(bound), write(label), len(bound)))
    return label


def counts(generator: NDArray[np.uint64], skip: int, n_rows: int) -> NDArray[np.int32]:
    """How often n numbers u draw each of n rows: row floor(u n) each."""
    count = np.zeros(n_rows, np.int32)
    accepted(lib.epi_count_rows(read(generator), 4, skip, write(count), n_rows))
    return count


class _Room(threading.local):
    """Memory that a thread uses for one group after another: fresh memory costs as much as what is drawn into it."""

    def __init__(self) -> None:
        self.held = np.empty(0, np.uint8)

    def of(self, size: int) -> NDArray[np.uint8]:
        if len(self.held) < size:
            self.held = np.empty(size, np.uint8)
        return self.held[:size]


_room = _Room()


def label_bits(generator: NDArray[np.uint64], group: range, bound: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """The labels that a group of replicates draws; those of its r-th replicate are bit r of each row's byte.

    What this and the next three give is overwritten when the same thread draws again.
    """
    bits, n = _room.of(len(bound)), len(bound)
    accepted(lib.epi_draw_bits(read(generator), 4, group.start, len(group), read(bound), n, write(bits), n))
    return bits


def side_bits(generator: NDArray[np.uint64], group: range, n_rows: int) -> NDArray[np.uint8]:
    """As `label_bits`, with probability 1/2 for every row."""
    bits = _room.of(n_rows)
    accepted(lib.epi_draw_bits(read(generator), 4, group.start, len(group), NULL, 0, write(bits), n_rows))
    return bits


def count_bytes(generator: NDArray[np.uint64], group: range, n_rows: int) -> NDArray[np.uint8] | None:
    """How often each replicate of a group draws each row; None if it is more than 127 times."""
    count = _room.of(len(group) * n_rows).reshape(len(group), n_rows)
    words = read(generator), 4, group.start, len(group)
    return None if accepted(lib.epi_count_bytes(*words, write(count), count.size, NULL, 0, n_rows)) else count


def counts_and_sides(
    generator: NDArray[np.uint64], group: range, n_rows: int
) -> tuple[NDArray[np.uint8] | None, NDArray[np.uint8]]:
    """What `count_bytes` and `side_bits` give, from the same numbers made once."""
    room = _room.of((len(group) + 1) * n_rows).reshape(len(group) + 1, n_rows)
    count, bits = room[:-1], room[-1]
    words = read(generator), 4, group.start, len(group)
    full = accepted(lib.epi_count_bytes(*words, write(count), count.size, write(bits), n_rows, n_rows))
    return None if full else count, bits


def replicates(
    draws: int,
    some: Callable[[range], Sequence[Any]],
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[Any]:
    """`some(group)` for every group of replicates, on all cores; the answers do not depend on how many there are.

    `progress` is told how many replicates a group had when it is done.
    """
    threads = threads or os.cpu_count() or 1
    groups = [range(first, min(first + GROUP, draws)) for first in range(0, draws, GROUP)]

    def watched(group: range) -> Sequence[Any]:
        answers = some(group)
        if progress is not None:
            progress(len(group))
        return answers

    if threads == 1 or len(groups) == 1:
        return [answer for group in groups for answer in watched(group)]
    with ThreadPoolExecutor(threads) as pool:
        return [answer for answers in pool.map(watched, groups) for answer in answers]


def at_least(drawn: Floats, seen: float) -> NDArray[np.bool_]:
    """Replicates that reach the value seen; the tolerance keeps rounding from changing a count."""
    return drawn >= seen - 1e-10 * max(1.0, abs(seen)) if np.isfinite(seen) else drawn >= seen


def at_most(drawn: Floats, seen: float) -> NDArray[np.bool_]:
    """Replicates that stay at or below the value seen."""
    return drawn <= seen + 1e-10 * max(1.0, abs(seen)) if np.isfinite(seen) else drawn <= seen
