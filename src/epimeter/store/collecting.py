# SPDX-License-Identifier: Apache-2.0
"""Collected rows in the service's database: the same statements as without a server, in the service's transactions."""

from __future__ import annotations

from sqlalchemy import Connection, RowMapping, case, func, or_, select, update

from epimeter.monitor.collection import Collection, key_of
from epimeter.store.tables import collected_systems


def collection(db: Connection) -> Collection:
    """The collection in the transaction of a connection."""
    cursor = db.connection.cursor()
    return Collection(cursor, postgres=db.dialect.name == "postgresql")


def known(db: Connection, organization: str, system: str) -> int | None:
    """The number of a system that was collected for; None when there is none."""
    number = key_of(organization, system)
    found = db.execute(select(collected_systems.c.system).where(collected_systems.c.system == number)).first()
    return None if found is None else number


def count(db: Connection, organization: str) -> int:
    """How many systems of an organisation are collected for."""
    query = select(func.count()).select_from(collected_systems).where(collected_systems.c.organization == organization)
    return int(db.execute(query).scalar_one())


def due(db: Connection, since: int, limit: int) -> list[RowMapping]:
    """Systems to look at: changed since the last look (`changes` counts what came), or not looked at since a moment."""
    query = select(collected_systems).where(or_(collected_systems.c.changes > 0, collected_systems.c.looked_at < since))
    return list(db.execute(query.order_by(collected_systems.c.looked_at).limit(limit)).mappings())


def looked(db: Connection, system: int, at: int, changes: int) -> None:
    """Note a look that saw so many changes; those that came meanwhile are for the next one.

    Two servers may have looked at the same changes: what is taken off twice must not hide those that come next.
    """
    mine = collected_systems.c.system == system
    left = collected_systems.c.changes - changes
    db.execute(update(collected_systems).where(mine).values(looked_at=at, changes=case((left > 0, left), else_=0)))
