# SPDX-License-Identifier: Apache-2.0
"""What every server on one database must share, said once and held to."""

from __future__ import annotations

from sqlalchemy import Connection, select

from epimeter.store.evaluations import upsert
from epimeter.store.tables import facts


def settle(db: Connection, name: str, value: str) -> str:
    """The value of a fact: what stands there, or this one where nothing stands yet."""
    db.execute(upsert(db, facts).values(name=name, value=value).on_conflict_do_nothing())
    return str(db.execute(select(facts.c.value).where(facts.c.name == name)).scalar_one())
