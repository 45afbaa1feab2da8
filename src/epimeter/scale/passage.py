# SPDX-License-Identifier: Apache-2.0
"""The pass over a source on one machine: threads take jobs one after another and add their pieces to their own tally.

A job is a call that gives pieces. Whoever takes a job does its decoding too, so that one thread decodes while another
adds up; both run outside the interpreter's lock. At the end the tallies are merged, which gives the same bits for any
number of threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from epimeter.errors import ReadError
from epimeter.scale.ledger import Ledger
from epimeter.scale.piece import Piece
from epimeter.scale.plan import Plan
from epimeter.scale.tally import Tally

Job = Callable[[], Iterable[Piece]]


class Damaged(ReadError):
    """A part of a source that cannot be decoded; the pass may be told to leave it out."""


class Limit:
    """How many rows may still be kept, for all threads together."""

    def __init__(self, rows: int) -> None:
        self.left = rows
        self.lock = threading.Lock()

    def __call__(self, rows: int) -> bool:
        with self.lock:
            self.left -= rows
            return self.left >= 0


def gathered(
    plan: Plan,
    jobs: Iterable[Job],
    *,
    threads: int | None = None,
    tick: Callable[[int], None] | None = None,
    skip_damaged: bool = False,
) -> Ledger:
    """The ledger of all jobs.

    Parameters
    ----------
    threads
        Threads to use; None for one a core.
    tick
        Told the rows done.
    skip_damaged
        Leave out what cannot be decoded, and say so in the ledger, instead of stopping.
    """
    waiting = _Queue(jobs)
    limit = Limit(plan.row_limit)
    skipped: list[tuple[int, str]] = []

    def work() -> Tally:
        tally = Tally(plan, limit)
        try:
            for number, job in waiting:
                try:
                    # What may turn out to be damaged at its end is decoded as a whole before any of it is added.
                    pieces: Any = [piece.copied() for piece in job()] if skip_damaged else job()
                    for piece in pieces:
                        tally.add(piece)
                        if tick is not None:
                            tick(piece.n_rows + piece.unlabelled)
                except Damaged as fault:
                    if not skip_damaged:
                        raise
                    skipped.append((number, str(fault)))
        except BaseException:
            waiting.stop()
            raise
        return tally

    number = threads or _cores()
    if number == 1:
        tallies = [work()]
    else:
        with ThreadPoolExecutor(number) as pool:
            tallies = [future.result() for future in [pool.submit(work) for _ in range(number)]]
    for other in tallies[1:]:
        tallies[0].absorb(other)
    made = tallies[0].ledger()
    if not skipped:
        return made
    return replace(made, skipped=tuple(note for _, note in sorted(skipped)))


class _Queue:
    """Jobs handed out one by one; a generator behind them runs in one thread at a time."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self.jobs: Iterator[tuple[int, Job]] = enumerate(jobs)
        self.lock = threading.Lock()
        self.stopped = False

    def __iter__(self) -> _Queue:
        return self

    def __next__(self) -> tuple[int, Job]:
        with self.lock:
            if self.stopped:
                raise StopIteration
            return next(self.jobs)

    def stop(self) -> None:
        """Hand out nothing more: a job has failed."""
        self.stopped = True


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
