# SPDX-License-Identifier: Apache-2.0
"""Organisations, their tier, their API keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, func, insert, select, update

from epimeter.store.moments import SECOND
from epimeter.store.tables import api_keys, organizations


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFacts:
    """An API key as it is stored, and whose it is."""

    id: str
    digest: bytes
    scopes: frozenset[str]
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None
    organization: str
    organization_name: str
    tier: str


def add(db: Connection, *, id: str, name: str, tier: str, at: int) -> None:
    """A new organisation."""
    db.execute(insert(organizations).values(id=id, name=name, tier=tier, created_at=at))


def find(db: Connection, organization: str) -> RowMapping | None:
    """The organisation of that id."""
    return db.execute(select(organizations).where(organizations.c.id == organization)).mappings().first()


def named(db: Connection, name: str) -> RowMapping | None:
    """The organisation of that name."""
    return db.execute(select(organizations).where(organizations.c.name == name)).mappings().first()


def count(db: Connection) -> int:
    """How many there are."""
    return int(db.execute(select(func.count()).select_from(organizations)).scalar_one())


def oldest(db: Connection) -> RowMapping | None:
    """The first one made: the operator's."""
    query = select(organizations).order_by(organizations.c.created_at, organizations.c.id).limit(1)
    return db.execute(query).mappings().first()


def page(db: Connection, before: tuple[int, str] | None, limit: int) -> list[RowMapping]:
    """Organisations, the newest first."""
    query = select(organizations).order_by(organizations.c.created_at.desc(), organizations.c.id.desc()).limit(limit)
    if before is not None:
        at, id = before
        query = query.where(
            (organizations.c.created_at < at) | ((organizations.c.created_at == at) & (organizations.c.id < id))
        )
    return list(db.execute(query).mappings())


def change_tier(db: Connection, organization: str, tier: str) -> bool:
    """Put an organisation into another tier."""
    made = db.execute(update(organizations).where(organizations.c.id == organization).values(tier=tier))
    return made.rowcount == 1


def add_key(
    db: Connection,
    *,
    id: str,
    organization: str,
    name: str,
    digest: bytes,
    scopes: frozenset[str],
    at: int,
    expires_at: int | None,
) -> None:
    """Keep a new key: its id and the digest of its secret, never the secret."""
    values: dict[str, Any] = {"id": id, "organization": organization, "name": name, "digest": digest}
    values |= {"scopes": " ".join(sorted(scopes)), "created_at": at, "expires_at": expires_at}
    db.execute(insert(api_keys).values(**values))


def key_facts(db: Connection, key_id: str) -> KeyFacts | None:
    """The key of that id with its organisation."""
    query = (
        select(api_keys, organizations.c.name.label("organization_name"), organizations.c.tier)
        .join(organizations, organizations.c.id == api_keys.c.organization)
        .where(api_keys.c.id == key_id)
    )
    row = db.execute(query).mappings().first()
    if row is None:
        return None
    return KeyFacts(
        id=row["id"],
        digest=bytes(row["digest"]),
        scopes=frozenset(row["scopes"].split()),
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        last_used_at=row["last_used_at"],
        organization=row["organization"],
        organization_name=row["organization_name"],
        tier=row["tier"],
    )


def keys(db: Connection, organization: str, before: tuple[int, str] | None, limit: int) -> list[RowMapping]:
    """Keys of an organisation, the newest first; digests stay where they are."""
    shown = [column for column in api_keys.c if column.name != "digest"]
    query = (
        select(*shown)
        .where(api_keys.c.organization == organization)
        .order_by(api_keys.c.created_at.desc(), api_keys.c.id.desc())
        .limit(limit)
    )
    if before is not None:
        at, id = before
        query = query.where((api_keys.c.created_at < at) | ((api_keys.c.created_at == at) & (api_keys.c.id < id)))
    return list(db.execute(query).mappings())


def key_of(db: Connection, organization: str, key_id: str) -> RowMapping | None:
    """A key of an organisation, without its digest."""
    shown = [column for column in api_keys.c if column.name != "digest"]
    query = select(*shown).where(api_keys.c.organization == organization, api_keys.c.id == key_id)
    return db.execute(query).mappings().first()


def revoke_key(db: Connection, organization: str, key_id: str, at: int) -> bool:
    """End a key at a moment; an earlier end stands. True when there is such a key."""
    row = key_of(db, organization, key_id)
    if row is None:
        return False
    ends = [end for end in (row["revoked_at"], at) if end is not None]
    db.execute(update(api_keys).where(api_keys.c.id == key_id).values(revoked_at=min(ends)))
    return True


def touch_key(db: Connection, key_id: str, at: int) -> None:
    """Note that a key was used."""
    db.execute(update(api_keys).where(api_keys.c.id == key_id).values(last_used_at=at))


def worth_touching(facts: KeyFacts, at: int) -> bool:
    """Whether the last use noted is more than a minute old: one write a minute is enough."""
    return facts.last_used_at is None or at - facts.last_used_at > 60 * SECOND
