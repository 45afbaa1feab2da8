# SPDX-License-Identifier: Apache-2.0
"""Threads beside the requests: jobs, webhooks, and a keeper that makes signals, carries audit entries and tidies up.

Every round is one small step in its own transaction. A fault is written down and the round is tried again later: while the
database is away nothing is done, and nothing is lost.
"""

from __future__ import annotations

import logging
import os
import random
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from epimeter.errors import EpimeterError
from epimeter.service import acceptance, expiring, issuing, renewing, signal, webhooks
from epimeter.service.access import Uses
from epimeter.service.children import Children
from epimeter.service.gauges import Gauges
from epimeter.service.heart import Heart
from epimeter.service.issuer_folder import ROUND, IssuerFolder
from epimeter.service.otlp import Exporter
from epimeter.service.problems import Problem
from epimeter.service.published import Memory, now_shown
from epimeter.service.settings import Secrets, Settings
from epimeter.service.watching import look_round
from epimeter.store import Store, evaluations, idempotency, jobs, journal, uploads
from epimeter.store.bell import JOBS, MESSAGES, Bell
from epimeter.store.moments import SECOND, new_id, now

log = logging.getLogger("epimeter.service")
IDLE = 1.0
"""Seconds after which a thread that found nothing to do looks again: for what other processes left, and for what is put off.
What this process puts there itself rings a bell."""
TIDY = 600.0
POSTMEN = 4
"""Threads that send webhooks; an organisation never has more than one of them."""


class Crew:
    """All threads of one process."""

    def __init__(
        self,
        settings: Settings,
        secrets: Secrets,
        store: Store,
        ledger: IssuerFolder,
        children: Children,
        memory: Memory,
        gauges: Gauges,
        uses: Uses,
    ) -> None:
        self._settings, self._secrets, self._children, self._memory = settings, secrets, children, memory
        self._store, self._ledger, self._gauges, self._uses = store, ledger, gauges, uses
        self._stop = threading.Event()
        self._quiet = Bell()
        self._threads: list[threading.Thread] = []
        self._tidied = 0.0
        self._day = signal.Day()
        self._told = 0
        self._exporter = None if settings.otlp is None else Exporter(settings.otlp)
        self._guard = webhooks.Guard.of(settings)
        self.name = f"{socket.gethostname()[:40]}:{os.getpid()}"

    def start(self) -> None:
        """Begin."""
        bells = self._store.bells
        rounds: list[tuple[str, Callable[[], bool], Bell]] = [("keeper", self.keep, self._quiet)]
        rounds += [(f"postman-{number}", self.post, bells[MESSAGES]) for number in range(POSTMEN)]
        rounds.append(("watcher", self.watch, self._quiet))
        for number in range(self._settings.workers):
            worker = f"{self.name}:{number}:{new_id('', 6)}"
            rounds.append((f"worker-{number}", lambda worker=worker: self.work(worker), bells[JOBS]))  # type: ignore[misc]
        for name, step, bell in rounds:
            thread = threading.Thread(target=self._run, args=(step, bell), name=name, daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """End, after the step that is being done."""
        self._stop.set()
        for bell in (self._quiet, *self._store.bells.values()):
            bell.ring()
        for thread in self._threads:
            thread.join(timeout=20)
        # What was published since the keeper's last round: a folder put back before the next start must be known as older.
        try:
            self._memory.write(now_shown(self._ledger, self._store))
        except Exception:
            log.exception("what was published last could not be written down")

    def _run(self, step: Callable[[], bool], bell: Bell) -> None:
        faults = 0
        while True:
            heard = bell.rung
            if self._stop.is_set():  # asked after `heard` was taken: whoever stops rings afterwards
                return
            try:
                busy = step()
                faults = 0
            except Exception as fault:
                faults += 1
                self._gauges.count("worker_faults")
                # What the package refuses says itself what to do, such as keys that have ended; the rest needs its traceback.
                own = isinstance(fault, EpimeterError)
                said = f"{fault}; it is tried again" if own else "a step failed, it is tried again"
                log.error("%s: %s", threading.current_thread().name, said, exc_info=not own)
                self._stop.wait(min(10.0, 0.2 * 2**faults))
                continue
            if not busy:
                bell.wait(heard, IDLE)

    def work(self, worker: str) -> bool:
        """Do one job, if one waits."""
        lease = int(self._settings.job_lease * SECOND)
        with self._store.reading() as db:
            if not jobs.any_open(db):
                return False
        with self._store.writing() as db:
            share = max(1, self._settings.workers - 1)
            job = jobs.claim(db, worker, now(), lease=lease, crew=self.name, share=share)
        if job is None:
            return False
        if job["attempts"] > jobs.MOST_LIVES and job["kind"] != renewing.KIND:
            self._give_up(job, worker, "its workers died again and again")
            return True
        with Heart(lambda: self._renew(job["id"], worker, lease), lease / SECOND / 3, f"job {job['id']}"):
            try:
                if job["kind"] == renewing.KIND:
                    renewing.work(self._store, self._ledger, job, worker)
                else:
                    acceptance.work(self._store, self._ledger, job, worker, self._children, self._settings.job_time)
            except Exception as fault:
                if isinstance(fault, Problem) and fault.kind == "unavailable":  # the service stops: no fault of the job
                    self._put_back(job, worker, job["error"], 0.0)
                else:
                    log.exception("job %s failed", job["id"])
                    self._again(job, worker, f"{type(fault).__name__}: {fault}"[:300])
        self._gauges.count("jobs")
        return True

    def _renew(self, job: str, worker: str, lease: int) -> None:
        with self._store.writing() as db:
            jobs.renew(db, job, worker, now(), lease=lease)

    def _again(self, job: Any, worker: str, error: str) -> None:
        # Attempts count lives too: whose workers were killed has not failed yet. An evaluation that renews a certificate is never
        # forgotten: while keys or log are away it waits.
        failed_before = job["error"] is not None
        if job["attempts"] >= jobs.MOST_ATTEMPTS and failed_before and job["kind"] != renewing.KIND:
            self._give_up(job, worker, error)
            return
        self._put_back(job, worker, error, min(30.0, 2.0 ** min(job["attempts"], 8)) * random.uniform(0.5, 1.5))

    def _put_back(self, job: Any, worker: str, error: str | None, seconds: float) -> None:
        with self._store.writing() as db:
            jobs.fail(db, job["id"], worker, now(), error, again_at=now() + int(seconds * SECOND))

    def _give_up(self, job: Any, worker: str, error: str) -> None:
        with self._store.writing() as db:
            if jobs.fail(db, job["id"], worker, now(), error, again_at=None):
                acceptance.failed(db, job["organization"], job["subject"], error)

    def post(self) -> bool:
        """Send one webhook, if one is due."""
        return webhooks.deliver_one(self._store, self._secrets.pepper, self._guard, self._settings)

    def watch(self) -> bool:
        """Look at systems to which something came, or that have been quiet for long."""
        more = look_round(self._store, self._ledger, self._settings, self._gauges)
        if self._exporter is not None:
            self._exporter.send(self._gauges.systems())
        return more

    def keep(self) -> bool:
        """Tend keys and status list, make the signal of this minute, carry audit entries into their log, tidy up now and then."""
        self.tend()
        signal.make(self._store, self._ledger, self._day, self._settings)
        carried = self.carry()
        self._memory.write(now_shown(self._ledger, self._store))
        self._uses.write(self._store)
        if time.monotonic() - self._tidied > TIDY or not self._tidied:
            self._tidied = time.monotonic()
            self.tidy()
        return carried

    def carry(self) -> bool:
        """Carry audit entries into the Merkle log, in order; True when there may be more."""
        with self._store.reading() as db:
            rows = journal.uncarried(db, ROUND)
        if rows:
            # No lock meanwhile: the log writes each entry once, whoever brings it.
            places = self._ledger.carry(rows)
            with self._store.writing() as db:
                journal.carried(db, places)
        return len(rows) == ROUND

    def tend(self) -> None:
        """Rotate the keys and renew the status list when their time has come by the clock on the wall."""
        try:
            for sentence in self._ledger.rotate_due():
                log.warning("keys: %s", sentence)
                self._gauges.count("key_rotations")
        except EpimeterError as fault:  # readiness tells that keys run out; the rest of the round goes on
            log.error("keys are due and could not be rotated: %s", fault)
        renewing.tell_overdue(
            self._store, self._ledger
        )  # of the last round: this process may be the first after a crash
        self._ledger.renew_status()
        at = now()
        if abs(at - self._told) > 3600 * SECOND:  # by the calendar, whichever way it was set
            self._told = at
            with self._store.writing() as db:
                expiring.tell(db, self._ledger, at)

    def tidy(self) -> None:
        """Forget what has had its time."""
        signal.finish(self._store, self._ledger)
        issuing.finish_left(self._store, self._ledger, int(self._settings.request_lease * SECOND))
        at = now()
        with self._store.writing() as db:
            idempotency.forget(db, at)
            uploads.forget(db, at)
            evaluations.drop_old_rows(db, at - self._settings.keep_rows_days * 86_400 * SECOND)
