# SPDX-License-Identifier: Apache-2.0
"""Whose a certificate is, and of which evaluation; the certificates themselves are in the registry of `trust`.

An evaluation is claimed before its certificate is issued: an evaluation has one certificate, however often it is asked
for. A claim without an id is one whose process died; whoever claims it next looks first whether it was issued.
"""

from __future__ import annotations

from typing import Literal

from sqlalchemy import Connection, RowMapping, delete, func, insert, not_, or_, select, update

from epimeter.store.evaluations import upsert
from epimeter.store.moments import SECOND
from epimeter.store.tables import certificates, preregistrations

PATIENCE = 120 * SECOND
Claim = Literal["ours", "left", "theirs"]
"""Ours: nobody had it. Left: its process died, and perhaps it was issued. Theirs: another has it, or it is issued."""


def claim(
    db: Connection,
    *,
    evaluation: str,
    organization: str,
    organization_name: str,
    system_id: str,
    domain: str,
    at: int,
    patience: int = PATIENCE,
) -> tuple[Claim, RowMapping]:
    """Take the right to issue, and the row as it stands."""
    values = {"organization": organization, "organization_name": organization_name, "system_id": system_id}
    sought = "\n".join((organization_name, system_id, "")).casefold()
    made = upsert(db, certificates).values(evaluation=evaluation, domain=domain, claimed_at=at, sought=sought, **values)
    fresh = db.execute(made.on_conflict_do_nothing().returning(certificates.c.evaluation)).first() is not None
    row = db.execute(select(certificates).where(certificates.c.evaluation == evaluation).with_for_update())
    found = row.mappings().one()
    if fresh:
        return "ours", found
    recent = abs(found["claimed_at"] - at) <= patience  # a claim of the future: the clock was set back
    if found["id"] is not None or recent:
        return "theirs", found
    db.execute(update(certificates).where(certificates.c.evaluation == evaluation).values(claimed_at=at))
    return "left", found


def claimed(db: Connection, evaluation: str) -> bool:
    """Whether a certificate of an evaluation was issued or is being issued."""
    query = select(certificates.c.evaluation).where(certificates.c.evaluation == evaluation)
    return db.execute(query).first() is not None


def issued(db: Connection, evaluation: str, *, id: str, level: str, issued_at: int, expires_at: int) -> bool:
    """Note what was issued; false where another process noted it first."""
    values = {"id": id, "level": level, "issued_at": issued_at, "expires_at": expires_at}
    claimed = (certificates.c.evaluation == evaluation, certificates.c.id.is_(None))
    sought = certificates.c.sought + id.casefold()
    return db.execute(update(certificates).where(*claimed).values(sought=sought, **values)).rowcount == 1


def give_up(db: Connection, evaluation: str, claimed_at: int) -> None:
    """Give the right to issue that was claimed at a moment back: nothing was issued. Another's claim stays."""
    mine = (certificates.c.evaluation == evaluation, certificates.c.claimed_at == claimed_at)
    db.execute(delete(certificates).where(*mine, certificates.c.id.is_(None)))


def left(db: Connection, at: int, patience: int = PATIENCE) -> list[RowMapping]:
    """Claims whose process died, and whose certificate nobody has asked for again."""
    recent = certificates.c.claimed_at.between(at - patience, at + patience)
    return list(db.execute(select(certificates).where(certificates.c.id.is_(None), not_(recent))).mappings())


def owned(db: Connection, organization: str, certificate: str) -> RowMapping | None:
    """A certificate of an organisation."""
    mine = (certificates.c.organization == organization, certificates.c.id == certificate)
    return db.execute(select(certificates).where(*mine)).mappings().first()


def find(db: Connection, certificate: str) -> RowMapping | None:
    """A certificate, whosever it is: certificates are public."""
    return db.execute(select(certificates).where(certificates.c.id == certificate)).mappings().first()


def behind(db: Connection, names: list[str]) -> list[RowMapping]:
    """The certificates that have one of these ids, or were issued from an evaluation that has, the newest first."""
    named = or_(certificates.c.id.in_(names), certificates.c.evaluation.in_(names))
    ordered = select(certificates).where(named, certificates.c.id.is_not(None))
    newest = ordered.order_by(certificates.c.issued_at.desc(), certificates.c.id.desc())
    return list(db.execute(newest).mappings())


def newest_of(db: Connection, organization: str, system_id: str) -> RowMapping | None:
    """The newest certificate of a system."""
    mine = (certificates.c.organization == organization, certificates.c.system_id == system_id)
    query = select(certificates).where(*mine, certificates.c.id.is_not(None))
    return db.execute(query.order_by(certificates.c.issued_at.desc()).limit(1)).mappings().first()


def search(
    db: Connection,
    *,
    before: tuple[int, str] | None,
    limit: int,
    organization: str | None = None,
    system_id: str | None = None,
    domain: str | None = None,
    level: str | None = None,
    text: str | None = None,
    ids: list[str] | None = None,
    ended_at: int | None = None,
    alive_at: int | None = None,
    due: tuple[list[str], int] | None = None,
) -> list[RowMapping]:
    """Certificates, the newest first; `text` is looked for in the names of organisation and system and in the id.

    The text is looked for in an index that holds nothing but moments, ids and names, in the order of the answer: a common
    one is found within a few rows, and a row of the table is read only where it was found. `ended_at` and `alive_at` want
    certificates that have ended at a moment or not yet, `due` those with one of the ids or an end by the moment.
    """
    query = select(certificates).where(certificates.c.id.is_not(None))
    wanted = {"organization_name": organization, "system_id": system_id, "domain": domain, "level": level}
    for name, value in wanted.items():
        if value is not None:
            query = query.where(certificates.c[name] == value)
    if ids is not None:
        query = query.where(certificates.c.id.in_(ids))
    if ended_at is not None:
        query = query.where(certificates.c.expires_at <= ended_at)
    if alive_at is not None:
        query = query.where(certificates.c.expires_at > alive_at)
    if due is not None:
        query = query.where(or_(certificates.c.id.in_(due[0]), certificates.c.expires_at <= due[1]))
    if text is not None:
        if "\0" in text:  # no name has one, and PostgreSQL takes none
            return []
        query = query.where(certificates.c.sought.contains(text.casefold(), autoescape=True))
    if before is not None:
        at, id = before
        query = query.where(
            (certificates.c.issued_at < at) | ((certificates.c.issued_at == at) & (certificates.c.id < id))
        )
    ordered = query.order_by(certificates.c.issued_at.desc(), certificates.c.id.desc()).limit(limit)
    return list(db.execute(ordered).mappings())


def counts(db: Connection) -> list[RowMapping]:
    """How many certificates there are of each level in each domain."""
    groups = (certificates.c.level, certificates.c.domain)
    query = select(*groups, func.count().label("count")).where(certificates.c.id.is_not(None)).group_by(*groups)
    return list(db.execute(query).mappings())


def add_preregistration(db: Connection, *, id: str, organization: str, system_id: str, at: int) -> None:
    """Note whose a pre-registration is."""
    values = {"id": id, "organization": organization, "system_id": system_id, "created_at": at}
    db.execute(insert(preregistrations).values(**values))


def spend(db: Connection, organization: str, id: str, evaluation: str) -> bool:
    """Have an evaluation use a pre-registration; False when another has, or nobody made it."""
    mine = (preregistrations.c.organization == organization, preregistrations.c.id == id)
    query = update(preregistrations).where(*mine, preregistrations.c.evaluation.is_(None))
    return db.execute(query.values(evaluation=evaluation)).rowcount == 1


def renew(db: Connection, evaluation: str, before: int, at: int) -> bool:
    """Say that the claim made at a moment is alive; False when it is no longer the caller's."""
    mine = (certificates.c.evaluation == evaluation, certificates.c.claimed_at == before, certificates.c.id.is_(None))
    return db.execute(update(certificates).where(*mine).values(claimed_at=at)).rowcount == 1


def preregistration(db: Connection, organization: str, id: str) -> RowMapping | None:
    """A pre-registration of an organisation."""
    mine = (preregistrations.c.organization == organization, preregistrations.c.id == id)
    return db.execute(select(preregistrations).where(*mine)).mappings().first()
