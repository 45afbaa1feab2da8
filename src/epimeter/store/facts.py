# SPDX-License-Identifier: Apache-2.0
"""What every server on one database must share, said once and held to."""

from __future__ import annotations

from sqlalchemy import Connection, select, update

from epimeter.store.evaluations import upsert
from epimeter.store.tables import facts


def value(db: Connection, name: str) -> str | None:
    """What stands there; None where nothing does."""
    found = db.execute(select(facts.c.value).where(facts.c.name == name)).scalar_one_or_none()
    return None if found is None else str(found)


def move(db: Connection, name: str, before: str, after: str) -> bool:
    """Replace a value that is as it was read; False when another has been faster."""
    mine = (facts.c.name == name, facts.c.value == before)
    return db.execute(update(facts).where(*mine).values(value=after)).rowcount == 1


def settle(db: Connection, name: str, value: str) -> str:
    """The value of a fact: what stands there, or this one where nothing stands yet."""
    db.execute(upsert(db, facts).values(name=name, value=value).on_conflict_do_nothing())
    return str(db.execute(select(facts.c.value).where(facts.c.name == name)).scalar_one())
