# SPDX-License-Identifier: Apache-2.0
"""The pass over rows on one machine: over a view in memory, or over the batches of a source.

A job is a call that gives batches. Whoever takes a job does its decoding too, so that one thread decodes while another
adds up; both run outside the interpreter's lock. Every thread has its own tally; at the end the tallies are merged, which
gives the same bits for any number of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from epimeter.core.threads import SHARE, cores, shared
from epimeter.errors import ReadError
from epimeter.passes.batch import Batch
from epimeter.passes.ledger import Ledger
from epimeter.passes.plan import Plan
from epimeter.passes.stored_rows import StoredRows
from epimeter.passes.tally import CHUNK, Tally
from epimeter.views import View

Job = Callable[[], Iterable[Batch]]


class Damaged(ReadError):
    """A part of a source that cannot be decoded; the pass may be told to leave it out."""


class RowAllowance:
    """How many rows may still be stored, for all threads together."""

    def __init__(self, rows: int) -> None:
        self.left = rows
        self.lock = threading.Lock()

    def __call__(self, rows: int) -> bool:
        with self.lock:
            self.left -= rows
            return self.left >= 0


def over_view(plan: Plan, rows: View, tick: Callable[[int], None] | None = None) -> Ledger:
    """The ledger of a view; `tick` is told the rows done.

    The rows are cut at the same places whenever they are as many, so that sums with weights, which are no integers, have the
    same bits on every run.
    """
    event = rows.event

    def of_part(part: slice) -> Tally:
        tally = Tally(plan, lambda _: False)
        for start in range(part.start, part.stop, CHUNK):
            some = slice(start, min(start + CHUNK, part.stop))
            if some.stop - some.start == rows.n_rows:
                tally.add_view(rows, event)
            else:
                own = event.take(some)
                tally.add_view(own if rows is event else rows.take(some), own)
            if tick is not None:
                tick(some.stop - some.start)
        return tally

    first, *others = shared(of_part, rows.n_rows, SHARE if rows.weight is None else CHUNK)
    for other in others:
        first.absorb(other)
    ledger = first.ledger()
    return replace(ledger, slices={None: replace(ledger.slices[None], rows=StoredRows([(0, rows)]))})


def over_batches(
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
    limit = RowAllowance(plan.row_limit)
    skipped: list[tuple[int, str]] = []

    def work() -> Tally:
        tally = Tally(plan, limit)
        try:
            for number, job in waiting:
                try:
                    # What may turn out to be damaged at its end is decoded as a whole before any of it is added.
                    batches: Any = [batch.copied() for batch in job()] if skip_damaged else job()
                    for batch in batches:
                        tally.add(batch)
                        if tick is not None:
                            tick(batch.n_rows + batch.unlabelled)
                except Damaged as fault:
                    if not skip_damaged:
                        raise
                    skipped.append((number, str(fault)))
        except BaseException:
            waiting.stop()
            raise
        return tally

    number = threads or cores()
    if number == 1:
        tallies = [work()]
    else:
        with ThreadPoolExecutor(number) as pool:
            tallies = [future.result() for future in [pool.submit(work) for _ in range(number)]]
    for other in tallies[1:]:
        tallies[0].absorb(other)
    ledger = tallies[0].ledger()
    if not skipped:
        return ledger
    return replace(ledger, skipped=tuple(note for _, note in sorted(skipped)))


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
