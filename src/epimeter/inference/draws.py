# SPDX-License-Identifier: Apache-2.0
"""Random numbers with one answer on every machine.

U = Generator(PCG64(seed)).random((draws, width)), filled row by row; row r belongs to replicate r. Only the raw stream
is used: an index into n things is floor(u * n). Every double takes one step of the generator, so replicate r starts
at PCG64(seed).advance(r * width): replicates can be made in any order, in chunks, by any number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BLOCK = 1 << 14
"""Random numbers made at a time: they stay in the cache of one core."""


def row(seed: int, replicate: int, width: int) -> Iterator[tuple[slice, Floats]]:
    """The random numbers of one replicate, block by block, with their places in the row."""
    source = np.random.Generator(np.random.PCG64(seed).advance(replicate * width))
    for start in range(0, width, BLOCK):
        part = slice(start, min(start + BLOCK, width))
        yield part, source.random(part.stop - part.start)


def whole_row(seed: int, replicate: int, width: int) -> Floats:
    """The random numbers of one replicate."""
    return np.random.Generator(np.random.PCG64(seed).advance(replicate * width)).random(width)


def replicates(draws: int, one: Callable[[int], Any], threads: int | None = None) -> list[Any]:
    """`one(r)` for every replicate, on all cores; the answers do not depend on how many there are."""
    threads = threads or os.cpu_count() or 1
    if threads == 1 or draws < 8:
        return [one(replicate) for replicate in range(draws)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, range(draws), chunksize=max(1, draws // (8 * threads))))


def at_least(drawn: Floats, seen: float) -> NDArray[np.bool_]:
    """Replicates that reach the value seen; the tolerance keeps rounding from changing a count."""
    return drawn >= seen - 1e-10 * max(1.0, abs(seen)) if np.isfinite(seen) else drawn >= seen


def at_most(drawn: Floats, seen: float) -> NDArray[np.bool_]:
    """Replicates that stay at or below the value seen."""
    return drawn <= seen + 1e-10 * max(1.0, abs(seen)) if np.isfinite(seen) else drawn <= seen
