# SPDX-License-Identifier: Apache-2.0
"""People who sign in, and the sessions of their browsers."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, RowMapping, delete, insert, select, update

from epimeter.store.tables import members, organizations, sessions

_WHOSE = (organizations.c.name.label("organization_name"), organizations.c.tier)


def add(db: Connection, **values: Any) -> None:
    """A new member of an organisation."""
    db.execute(insert(members).values(**values))


def of(db: Connection, organization: str) -> list[RowMapping]:
    """The members of an organisation, by name."""
    query = select(members).where(members.c.organization == organization).order_by(members.c.name)
    return list(db.execute(query).mappings())


def _one(db: Connection, *where: Any) -> RowMapping | None:
    query = select(members, *_WHOSE).join(organizations, organizations.c.id == members.c.organization).where(*where)
    return db.execute(query).mappings().first()


def find(db: Connection, member: str) -> RowMapping | None:
    """The member of that id, with organisation and tier."""
    return _one(db, members.c.id == member)


def named(db: Connection, name: str) -> RowMapping | None:
    """The member of that name."""
    return _one(db, members.c.name == name)


def invited(db: Connection, invitation: bytes, at: int) -> RowMapping | None:
    """Whom an invitation is for, while it is open."""
    return _one(db, members.c.invitation == invitation, members.c.invited_until > at)


def known_as(db: Connection, subject: str) -> RowMapping | None:
    """The member who is this subject of the OpenID provider."""
    return _one(db, members.c.subject == subject)


def change(db: Connection, organization: str, member: str, **values: Any) -> bool:
    """Change a member of an organisation; False where there is none such."""
    mine = (members.c.organization == organization, members.c.id == member)
    return db.execute(update(members).where(*mine).values(**values)).rowcount == 1


def remove(db: Connection, organization: str, member: str) -> bool:
    """Remove a member, and end his sessions."""
    end_sessions(db, member)
    mine = (members.c.organization == organization, members.c.id == member)
    return db.execute(delete(members).where(*mine)).rowcount == 1


def begin(db: Connection, *, digest: bytes, key_id: str | None, member: str | None, at: int, ends_at: int) -> None:
    """A browser is signed in; sessions that have ended are forgotten."""
    db.execute(delete(sessions).where(sessions.c.ends_at <= at))
    db.execute(insert(sessions).values(digest=digest, key_id=key_id, member=member, created_at=at, ends_at=ends_at))


def session(db: Connection, digest: bytes, at: int) -> RowMapping | None:
    """The session of a cookie, while it lasts."""
    query = select(sessions).where(sessions.c.digest == digest, sessions.c.ends_at > at)
    return db.execute(query).mappings().first()


def end(db: Connection, digest: bytes) -> None:
    """A browser is signed out."""
    db.execute(delete(sessions).where(sessions.c.digest == digest))


def end_sessions(db: Connection, member: str) -> None:
    """Sign a member out everywhere."""
    db.execute(delete(sessions).where(sessions.c.member == member))
