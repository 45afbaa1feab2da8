# SPDX-License-Identifier: Apache-2.0
"""The audit entries: written in the transaction of the change they tell of, then carried into the audit log.

A row without `log_index` is not in the Merkle tree yet. The carrier appends rows in the order of their numbers, so that
the tree has the order of the database.
"""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import Connection, RowMapping, func, insert, select, text, update

from epimeter.store.moments import now
from epimeter.store.tables import journal


def note(db: Connection, *, organization: str, actor: str, action: str, subject: str, **detail: Any) -> None:
    """Write down a change: who, what, to what, and what a reader should know."""
    made = msgspec.json.encode(detail, order="deterministic")
    values: dict[str, Any] = {"organization": organization, "at": now(), "actor": actor, "action": action}
    db.execute(insert(journal).values(**values, subject=subject, detail=made))


def go_on_after(db: Connection, number: int) -> None:
    """Give the newest entry a number above this one, so that those after it have higher ones still."""
    newest = last_number(db)
    after = max(newest, number + 1)
    db.execute(update(journal).where(journal.c.number == newest).values(number=after))
    if db.dialect.name == "postgresql":
        db.execute(text("SELECT setval(pg_get_serial_sequence('journal', 'number'), :number)"), {"number": after})


def told(db: Connection, *, organization: str, action: str, subject: str, **detail: Any) -> bool:
    """Whether a change was written down; with detail, whether just so."""
    mine = [journal.c.organization == organization, journal.c.action == action, journal.c.subject == subject]
    if detail:
        mine.append(journal.c.detail == msgspec.json.encode(detail, order="deterministic"))
    return db.execute(select(journal.c.number).where(*mine).limit(1)).first() is not None


def newest(db: Connection, *, organization: str, action: str, subject: str) -> RowMapping | None:
    """The last time that a change was written down."""
    mine = (journal.c.organization == organization, journal.c.action == action, journal.c.subject == subject)
    return db.execute(select(journal).where(*mine).order_by(journal.c.number.desc()).limit(1)).mappings().first()


def page(db: Connection, organization: str, before: int | None, limit: int) -> list[RowMapping]:
    """Entries of an organisation, the newest first."""
    query = select(journal).where(journal.c.organization == organization).order_by(journal.c.number.desc())
    if before is not None:
        query = query.where(journal.c.number < before)
    return list(db.execute(query.limit(limit)).mappings())


def last_number(db: Connection) -> int:
    """The number of the newest entry; 0 when there is none."""
    return int(db.execute(select(func.coalesce(func.max(journal.c.number), 0))).scalar_one())


def uncarried(db: Connection, limit: int) -> list[RowMapping]:
    """Entries that are not in the audit log yet, the oldest first."""
    query = select(journal).where(journal.c.log_index.is_(None)).order_by(journal.c.number).limit(limit)
    return list(db.execute(query).mappings())


def carried(db: Connection, places: dict[int, int]) -> None:
    """Note where entries went in the log, by number."""
    for number, index in places.items():
        db.execute(update(journal).where(journal.c.number == number).values(log_index=index))
