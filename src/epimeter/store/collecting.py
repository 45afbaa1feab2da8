# SPDX-License-Identifier: Apache-2.0
"""Collected rows in the service's database: the same statements as without a server, in the service's transactions."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, bindparam, case, func, or_, select, update

from epimeter.monitor.collection import Collection, key_of
from epimeter.store.tables import collected_looks, collected_systems


def collection(db: Connection) -> Collection:
    """The collection in the transaction of a connection."""
    cursor = db.connection.cursor()
    return Collection(cursor, postgres=db.dialect.name == "postgresql")


def known(db: Connection, organization: str, system: str) -> int | None:
    """The number of a system that was collected for; None when there is none."""
    number = key_of(organization, system)
    found = db.execute(select(collected_systems.c.system).where(collected_systems.c.system == number)).first()
    return None if found is None else number


def names(db: Connection, organization: str) -> list[str]:
    """The systems of an organisation that are collected for."""
    query = select(collected_systems.c.name).where(collected_systems.c.organization == organization)
    return list(db.execute(query.order_by(collected_systems.c.name)).scalars())


def count(db: Connection, organization: str) -> int:
    """How many systems of an organisation are collected for."""
    query = select(func.count()).select_from(collected_systems).where(collected_systems.c.organization == organization)
    return int(db.execute(query).scalar_one())


def due(db: Connection, since: int, limit: int) -> list[RowMapping]:
    """Systems to look at: changed since the last look (`changes` counts what came), or not looked at since a moment.

    With them what the last look left for a glance, empty where there is nothing.
    """
    mine = [collected_systems.c[name] for name in ("system", "organization", "name", "changes", "looked_at")]
    left = [collected_looks.c[name] for name in ("as_of", "aged_at", "state")]
    query = select(*mine, *left).outerjoin(collected_looks, collected_looks.c.system == collected_systems.c.system)
    query = query.where(or_(collected_systems.c.changes > 0, collected_systems.c.looked_at < since))
    return list(db.execute(query.order_by(collected_systems.c.looked_at).limit(limit)).mappings())


def looked(db: Connection, seen: Sequence[tuple[int, int]], at: int) -> None:
    """Note looks at systems, each with the changes that it saw; those that came meanwhile are for the next one.

    Two servers may have looked at the same changes: what is taken off twice must not hide those that come next.
    """
    table = collected_systems
    left = table.c.changes - bindparam("saw")
    query = update(table).where(table.c.system == bindparam("mine"))
    query = query.values(looked_at=at, changes=case((left > 0, left), else_=0))
    if seen:
        db.execute(query, [{"mine": system, "saw": changes} for system, changes in seen])


def glanced(db: Connection, seen: Sequence[tuple[int, str]]) -> None:
    """Note the window at which a glance was cast at each system: time goes forward only."""
    table = collected_looks
    query = update(table).where(table.c.system == bindparam("mine"), table.c.as_of < bindparam("at"))
    if seen:
        db.execute(query.values(as_of=bindparam("at")), [{"mine": system, "at": as_of} for system, as_of in seen])


def aged(db: Connection, system: int, at: int) -> None:
    """Note when the old rows of a system were let go."""
    db.execute(update(collected_looks).where(collected_looks.c.system == system).values(aged_at=at))
