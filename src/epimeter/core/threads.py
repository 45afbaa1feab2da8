# SPDX-License-Identifier: Apache-2.0
"""Rows shared among the cores: the loops run outside the interpreter's lock, so threads are enough."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Made = TypeVar("Made")
Other = TypeVar("Other")

NAME = "epimeter-core"
SHARE = 1 << 17
"""Rows that are worth a thread of their own."""

_pool: ThreadPoolExecutor | None = None


def cores() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def shared(work: Callable[[slice], Made], n_rows: int, share: int = SHARE) -> list[Made]:
    """What `work` makes of each part of the rows, in their order; few rows are one part and no thread is asked."""
    if n_rows < 2 * share or _inside():
        return [work(slice(0, n_rows))]
    parts = min(cores(), n_rows // share)
    if parts < 2:
        return [work(slice(0, n_rows))]
    borders = [n_rows * part // parts for part in range(parts + 1)]
    return list(_threads().map(work, map(slice, borders, borders[1:])))


def in_parts(work: Callable[[int], Made], parts: int) -> list[Made]:
    """What `work` makes of each of so many parts, side by side; a single part needs no thread."""
    if parts == 1 or _inside():
        return [work(part) for part in range(parts)]
    return list(_threads().map(work, range(parts)))


def beside(one: Callable[[], Made], other: Callable[[], Other], n_rows: int) -> tuple[Made, Other]:
    """What two calls make, side by side where the rows are many."""
    if n_rows < 2 * SHARE or cores() < 2 or _inside():
        return one(), other()
    waiting = _threads().submit(one)
    made = other()
    return waiting.result(), made


def _inside() -> bool:
    """Whether this is one of the threads: one that waited for the others could wait for ever."""
    return threading.current_thread().name.startswith(NAME)


def _threads() -> ThreadPoolExecutor:
    """Threads that wait for work between calls: starting them anew would cost more than a small call."""
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(cores(), thread_name_prefix=NAME)
    return _pool


def _forget(*_: Any) -> None:
    global _pool
    _pool = None  # a forked process has none of its parent's threads


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
