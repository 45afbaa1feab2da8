# SPDX-License-Identifier: Apache-2.0
"""Work to do, under a lease.

A worker claims a job for a while and says again and again that it is alive. When it falls silent the lease lapses and
another takes the job up; what a worker finished counts only while the lease was its own, so a job is done once. A lease that
ends much later than any given now was given before the clock was set back, and counts no more; nor does such a wait.
"""

from __future__ import annotations

from sqlalchemy import Connection, RowMapping, func, insert, not_, or_, select, text, update

from epimeter.store.bell import JOBS, announce
from epimeter.store.moments import SECOND, new_id
from epimeter.store.tables import jobs

LEASE = 30 * SECOND
MOST_ATTEMPTS = 5
"""A job that fails is given up at this attempt."""
MOST_LIVES = 50
"""A job whose workers fall silent is given up after so many: a server killed while it works has said nothing about the job."""
LONGEST_WAIT = 60 * SECOND
"""Longest time for which a job is put back."""


def add(db: Connection, *, organization: str, kind: str, subject: str, at: int) -> str:
    """A new job."""
    id = new_id("job_")
    db.execute(
        insert(jobs).values(
            id=id,
            organization=organization,
            kind=kind,
            subject=subject,
            state="waiting",
            attempts=0,
            created_at=at,
            not_before=at,
        )
    )
    announce(db, JOBS)
    return id


def any_open(db: Connection) -> bool:
    """Whether there is a job that is not done: asked without the lock of a claim."""
    return db.execute(select(jobs.c.id).where(jobs.c.state.in_(("waiting", "running"))).limit(1)).first() is not None


def claim(
    db: Connection, worker: str, at: int, *, lease: int = LEASE, crew: str = "", share: int | None = None
) -> RowMapping | None:
    """A job that waits, or whose worker fell silent; it is this worker's until the lease ends.

    The organisation with the fewest running jobs is served first, and of its jobs the oldest. Of one organisation at most
    `share` jobs run with the workers whose names begin with `crew`, so that it never has all of them.
    """
    if db.dialect.name == "postgresql":
        db.execute(text("SELECT pg_advisory_xact_lock(7308326)"))  # two workers must count each other's jobs
    open_ = (jobs.c.state == "waiting") & not_(jobs.c.not_before.between(at + 1, at + LONGEST_WAIT))
    silent = (jobs.c.state == "running") & not_(jobs.c.lease_until.between(at, at + 10 * max(lease, LEASE)))
    others = jobs.alias()
    theirs = (
        (others.c.organization == jobs.c.organization) & (others.c.state == "running") & (others.c.lease_until >= at)
    )
    running = select(func.count()).select_from(others).where(theirs).scalar_subquery()
    query = select(jobs).where(or_(open_, silent)).order_by(running, jobs.c.created_at, jobs.c.id).limit(1)
    if share is not None:
        here = select(func.count()).select_from(others).where(theirs, others.c.worker.startswith(crew, autoescape=True))
        query = query.where(here.scalar_subquery() < share)
    row = db.execute(query.with_for_update(skip_locked=True)).mappings().first()
    if row is None:
        return None
    mine = {"state": "running", "worker": worker, "lease_until": at + lease, "attempts": row["attempts"] + 1}
    made = update(jobs).where(jobs.c.id == row["id"]).values(**mine).returning(jobs)
    return db.execute(made).mappings().one()


def renew(db: Connection, job: str, worker: str, at: int, *, lease: int = LEASE) -> bool:
    """Say that the worker is alive; False when the job is no longer its own."""
    made = update(jobs).where(jobs.c.id == job, jobs.c.worker == worker, jobs.c.state == "running")
    return db.execute(made.values(lease_until=at + lease)).rowcount == 1


def finish(db: Connection, job: str, worker: str, at: int) -> bool:
    """Close a job in the transaction of its result; False when it is another's, and nothing must be kept then."""
    made = update(jobs).where(jobs.c.id == job, jobs.c.worker == worker, jobs.c.state == "running")
    return db.execute(made.values(state="done", finished_at=at, lease_until=None)).rowcount == 1


def fail(db: Connection, job: str, worker: str, at: int, error: str | None, *, again_at: int | None) -> bool:
    """Put a job back for later, or give it up when `again_at` is None."""
    values = (
        {"state": "failed", "finished_at": at, "lease_until": None, "error": error}
        if again_at is None
        else {"state": "waiting", "not_before": again_at, "lease_until": None, "worker": None, "error": error}
    )
    made = update(jobs).where(jobs.c.id == job, jobs.c.worker == worker, jobs.c.state == "running")
    return db.execute(made.values(**values)).rowcount == 1


def find(db: Connection, organization: str, job: str) -> RowMapping | None:
    """A job of an organisation."""
    return db.execute(select(jobs).where(jobs.c.organization == organization, jobs.c.id == job)).mappings().first()


def of_subject(db: Connection, organization: str, subject: str) -> RowMapping | None:
    """The newest job about something."""
    query = select(jobs).where(jobs.c.organization == organization, jobs.c.subject == subject)
    return db.execute(query.order_by(jobs.c.created_at.desc()).limit(1)).mappings().first()


def waiting(db: Connection) -> int:
    """How many jobs are not done."""
    query = select(func.count()).select_from(jobs).where(jobs.c.state.in_(("waiting", "running")))
    return int(db.execute(query).scalar_one())


def lately(db: Connection, limit: int) -> list[RowMapping]:
    """The newest jobs of all organisations."""
    return list(db.execute(select(jobs).order_by(jobs.c.created_at.desc(), jobs.c.id).limit(limit)).mappings())
