# SPDX-License-Identifier: Apache-2.0
"""Entries from many threads into batches of one log.

A transaction costs one wait for the disk, whether it holds one entry or ten thousand. So whoever hands in an entry waits a
moment for others, and all get their index when the batch is on the disk: what was not confirmed was not logged.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from datetime import datetime

from epimeter.errors import LogError
from epimeter.trust.keys import Signer
from epimeter.trust.log import Log
from epimeter.trust.tiles import refuse_long_entry

_Waiting = tuple[bytes, "Future[int]"]


class Sequencer:
    """A thread that appends what others hand in.

    Parameters
    ----------
    log, signer
        Where to append, and with which key to sign the checkpoints.
    clock
        Gives the moment that is written beside each checkpoint.
    period
        How long, in seconds, the first entry of a batch waits for others.
    most
        How many entries a batch may have.
    """

    def __init__(
        self,
        log: Log,
        signer: Signer,
        clock: Callable[[], datetime],
        *,
        period: float = 0.2,
        most: int = 10_000,
    ) -> None:
        self._log, self._signer, self._clock = log, signer, clock
        self._period, self._most = period, most
        self._waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="sequencer", daemon=True)
        self._thread.start()

    def submit(self, entry: bytes) -> Future[int]:
        """Hand in an entry; the future holds its index once it is durably logged."""
        refuse_long_entry(entry)
        done: Future[int] = Future()
        with self._gate:
            if self._closed:
                raise LogError("the sequencer is closed; it takes no more entries")
            self._waiting.put((entry, done))
        return done

    def close(self) -> None:
        """Take no more entries, append what came, stop."""
        with self._gate:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    def __enter__(self) -> Sequencer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self) -> None:
        going = True
        while going:
            batch, going = self._collect()
            # Who cancelled in time is left out; from here on nobody can.
            taken = [(entry, done) for entry, done in batch if done.set_running_or_notify_cancel()]
            if not taken:
                continue
            try:
                appended = self._log.append([entry for entry, _ in taken], self._signer, self._clock())
            except Exception as fault:
                for _, done in taken:
                    done.set_exception(fault)
            else:
                for index, (_, done) in enumerate(taken, appended.first):
                    done.set_result(index)

    def _collect(self) -> tuple[list[_Waiting], bool]:
        first = self._waiting.get()
        if first is None:
            return [], False
        batch = [first]
        end = time.monotonic() + self._period
        while len(batch) < self._most:
            try:
                item = self._waiting.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                break
            if item is None:
                return batch, False
            batch.append(item)
        return batch, True
