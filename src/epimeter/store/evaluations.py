# SPDX-License-Identifier: Apache-2.0
"""Evaluations, attempts, the monthly quota, and the rows kept for a job or a certificate.

An evaluation is accepted in one transaction: its row, its attempt number, its place in the quota, its audit entry. After
a crash all of them are there or none.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, BinaryIO

from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from epimeter.store.tables import evaluations, rows, systems, usage
from epimeter.trust.names import name_key, near

MOST_SYSTEMS = 5_000
"""Systems of an organisation whose names are compared."""
PART = 1 << 20
"""Bytes of one stored part of an evaluation's rows."""
LISTED = (
    "id",
    "system_id",
    "system_version",
    "domain",
    "attempt",
    "status",
    "created_at",
    "completed_at",
    "sample_size",
    "ece",
    "u_recall",
    "ers",
    "level",
)


def upsert(db: Connection, table: Any) -> Any:
    """INSERT … ON CONFLICT, in the words of this database."""
    return (postgres_insert if db.dialect.name == "postgresql" else sqlite_insert)(table)


def count_use(db: Connection, organization: str, month: str, quota: int | None) -> int | None:
    """Count one evaluation; the number used then, or None where the quota is used up and nothing was counted."""
    made = upsert(db, usage).values(organization=organization, month=month, evaluations=0).on_conflict_do_nothing()
    db.execute(made)
    query = update(usage).where(usage.c.organization == organization, usage.c.month == month)
    if quota is not None:
        query = query.where(usage.c.evaluations < quota)
    counted = db.execute(query.values(evaluations=usage.c.evaluations + 1).returning(usage.c.evaluations)).first()
    return None if counted is None else int(counted[0])


def used(db: Connection, organization: str, month: str) -> int:
    """Evaluations counted in a month."""
    query = select(usage.c.evaluations).where(usage.c.organization == organization, usage.c.month == month)
    return int(db.execute(query).scalar() or 0)


def months(db: Connection, organization: str, limit: int = 24) -> list[RowMapping]:
    """Use by month, the newest first."""
    query = select(usage.c.month, usage.c.evaluations).where(usage.c.organization == organization)
    return list(db.execute(query.order_by(usage.c.month.desc()).limit(limit)).mappings())


def next_attempt(db: Connection, organization: str, system_id: str) -> int:
    """The number of this attempt to evaluate a system, from 1; no number is given twice or left out.

    Systems whose names differ in case, punctuation or look-alike letters are counted as one. Two evaluations of one
    organisation never count at once: both have counted their use of the month before, in a row that only one can hold.
    """
    made = (
        upsert(db, systems)
        .values(organization=organization, system_id=system_id, name_key=name_key(system_id), attempts=1)
        .on_conflict_do_update(index_elements=["organization", "system_id"], set_={"attempts": systems.c.attempts + 1})
    )
    db.execute(made)
    return attempts(db, organization, system_id)


def attempts(db: Connection, organization: str, system_id: str) -> int:
    """How many evaluations of a system were accepted, under all spellings of its name."""
    mine = (systems.c.organization == organization, systems.c.name_key == name_key(system_id))
    return int(db.execute(select(func.coalesce(func.sum(systems.c.attempts), 0)).where(*mine)).scalar_one())


def similar(db: Connection, organization: str, system_id: str) -> tuple[int, int]:
    """Further systems of the organisation with similar names, and their evaluations."""
    query = select(systems.c.system_id, systems.c.attempts, systems.c.name_key)
    found = db.execute(query.where(systems.c.organization == organization).limit(MOST_SYSTEMS)).all()
    key = name_key(system_id)
    others = [(name, count) for name, count, its in found if its != key and near(name, system_id)]
    return len({name_key(name) for name, _ in others}), sum(count for _, count in others)


def add(db: Connection, **values: Any) -> None:
    """A new evaluation."""
    db.execute(insert(evaluations).values(attempt_logged=0, **values))


def complete(db: Connection, evaluation: str, **values: Any) -> bool:
    """Give a queued evaluation its result; False when it has one already."""
    query = update(evaluations).where(evaluations.c.id == evaluation, evaluations.c.status == "queued")
    return db.execute(query.values(**values)).rowcount == 1


def rewrite(db: Connection, evaluation: str, **documents: bytes) -> None:
    """Put documents of a completed evaluation in the place of those it has."""
    db.execute(update(evaluations).where(evaluations.c.id == evaluation).values(**documents))


def find(db: Connection, organization: str, evaluation: str) -> RowMapping | None:
    """An evaluation of an organisation."""
    query = select(evaluations).where(evaluations.c.organization == organization, evaluations.c.id == evaluation)
    return db.execute(query).mappings().first()


def page(
    db: Connection, organization: str, before: tuple[int, str] | None, limit: int, system_id: str | None = None
) -> list[RowMapping]:
    """Evaluations of an organisation, the newest first."""
    query = (
        select(*(evaluations.c[name] for name in LISTED))
        .where(evaluations.c.organization == organization)
        .order_by(evaluations.c.created_at.desc(), evaluations.c.id.desc())
        .limit(limit)
    )
    if system_id is not None:
        query = query.where(evaluations.c.system_id == system_id)
    if before is not None:
        at, id = before
        query = query.where(
            (evaluations.c.created_at < at) | ((evaluations.c.created_at == at) & (evaluations.c.id < id))
        )
    return list(db.execute(query).mappings())


def reports(db: Connection, organization: str, system_id: str, limit: int = 5) -> Iterator[bytes]:
    """The reports of a system's newest evaluations, the newest first."""
    mine = (evaluations.c.organization == organization, evaluations.c.system_id == system_id)
    query = select(evaluations.c.report).where(*mine, evaluations.c.report.is_not(None))
    for (report,) in db.execute(query.order_by(evaluations.c.created_at.desc()).limit(limit)):
        yield bytes(report)


def history(db: Connection, organization: str, system_id: str, limit: int) -> list[RowMapping]:
    """The newest completed evaluations of a system after the standards with their reports, the oldest first."""
    names = (*LISTED, "report")
    mine = (evaluations.c.organization == organization, evaluations.c.system_id == system_id)
    query = select(*(evaluations.c[name] for name in names)).where(*mine, evaluations.c.level.is_not(None))
    ordered = query.order_by(evaluations.c.created_at.desc(), evaluations.c.id.desc()).limit(limit)
    return list(db.execute(ordered).mappings())[::-1]


def system_ids(db: Connection, organization: str) -> list[str]:
    """The systems of an organisation that were evaluated."""
    query = select(systems.c.system_id).where(systems.c.organization == organization).limit(MOST_SYSTEMS)
    return list(db.execute(query).scalars())


def keep_rows(db: Connection, evaluation: str, file: BinaryIO) -> None:
    """Keep an evaluation's rows, part by part."""
    for part in count():
        piece = file.read(PART)
        if not piece:
            return
        db.execute(insert(rows).values(evaluation=evaluation, part=part, data=piece))


def retained_rows(db: Connection, evaluation: str) -> Iterator[bytes]:
    """The rows that were kept, part by part; none when none were."""
    query = select(rows.c.data).where(rows.c.evaluation == evaluation).order_by(rows.c.part)
    for (data,) in db.execute(query, execution_options={"yield_per": 1}):
        yield bytes(data)


def drop_rows(db: Connection, evaluation: str) -> None:
    """Forget an evaluation's rows."""
    db.execute(delete(rows).where(rows.c.evaluation == evaluation))
    db.execute(update(evaluations).where(evaluations.c.id == evaluation).values(rows_kept=0))


def drop_old_rows(db: Connection, before: int) -> int:
    """Forget the rows of evaluations completed before a moment; how many evaluations lost theirs."""
    old = select(evaluations.c.id).where(evaluations.c.rows_kept == 1, evaluations.c.completed_at < before)
    db.execute(delete(rows).where(rows.c.evaluation.in_(old)))
    made = update(evaluations).where(evaluations.c.rows_kept == 1, evaluations.c.completed_at < before)
    return db.execute(made.values(rows_kept=0)).rowcount


def totals_of(db: Connection, begin: int, end: int) -> Iterator[RowMapping]:
    """The summaries of all evaluations completed in a time, one after the other, for the signal."""
    names = ("organization", "completed_at", "sample_size", "totals", "wrong", "wrong_unsure")
    columns = [evaluations.c[name] for name in names]
    query = select(*columns).where(
        evaluations.c.completed_at >= begin, evaluations.c.completed_at < end, evaluations.c.totals.is_not(None)
    )
    yield from db.execute(query, execution_options={"yield_per": 200}).mappings()


def active(db: Connection) -> int:
    """Evaluations that are accepted and not done yet."""
    query = select(func.count()).select_from(evaluations).where(evaluations.c.status == "queued")
    return int(db.execute(query).scalar_one())


def completed_after(db: Connection, organization: str, system_id: str, at: int) -> list[str]:
    """Evaluations of a system after the standards that were completed after a moment, the oldest first."""
    mine = (evaluations.c.organization == organization, evaluations.c.system_id == system_id)
    later = (evaluations.c.level.is_not(None), evaluations.c.completed_at > at)
    return list(
        db.execute(select(evaluations.c.id).where(*mine, *later).order_by(evaluations.c.completed_at)).scalars()
    )


def unlogged(db: Connection, organization: str, system_id: str, besides: str) -> list[RowMapping]:
    """Evaluations of a system after the standards that the public log does not know as attempts yet, the oldest first."""
    query = select(evaluations.c.id, evaluations.c.completed_at, evaluations.c.level, evaluations.c.dataset_digest)
    mine = (evaluations.c.organization == organization, evaluations.c.system_id == system_id)
    open_ = (evaluations.c.level.is_not(None), evaluations.c.attempt_logged == 0, evaluations.c.id != besides)
    return list(db.execute(query.where(*mine, *open_).order_by(evaluations.c.attempt)).mappings())


def logged(db: Connection, ids: list[str]) -> None:
    """Note that the public log knows these attempts."""
    db.execute(update(evaluations).where(evaluations.c.id.in_(ids)).values(attempt_logged=1))
