# SPDX-License-Identifier: Apache-2.0
"""Members of an organisation: invited, given a role, removed; nobody gives a role that may more than he himself."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from epimeter.errors import EpimeterError
from epimeter.service import sessions
from epimeter.service.access import Caller
from epimeter.service.problems import Problem
from epimeter.store import journal, members, organizations
from epimeter.store.moments import now, written
from epimeter.trust.names import name_of


def listed(state: Any, organization: str) -> list[dict[str, Any]]:
    """The members of an organisation as they may be shown."""
    at = now()
    with state.store.reading() as db:
        rows = members.of(db, organization)
    return [
        {
            "id": row["id"],
            "name": row["name"],
            "role": row["role"],
            "since": written(row["created_at"]),
            "password": row["password"] is not None,
            "invited": row["invited_until"] is not None and row["invited_until"] > at,
        }
        for row in rows
    ]


def _refuse_mightier(db: Any, caller: Caller, organization: str, role: str) -> None:
    if role not in sessions.ROLES:
        raise Problem("invalid", f"role must be one of {', '.join(sessions.ROLES)}; got {role[:20]!r}")
    first = organizations.oldest(db)
    scopes = sessions.scopes_of(role, operators=first is not None and first["id"] == organization) - {"audit:read"}
    beyond = sorted(scope for scope in scopes if not caller.may(scope))
    if beyond:
        raise Problem("forbidden", f"nobody gives or takes a role that may more than he: {', '.join(beyond)}")


def invite(request: Request, caller: Caller, organization: str, name: str, role: str) -> tuple[str, str]:
    """A new member, and the token of his invitation."""
    try:
        name_of(name, "name")
    except EpimeterError as fault:
        raise Problem("invalid", str(fault), errors=[("/name", str(fault))]) from None
    id, at = sessions.new_member_id(), now()
    state, token = request.app.state, sessions.new_token()
    with state.store.writing() as db:
        _refuse_mightier(db, caller, organization, role)
        if members.named(db, name) is not None:
            raise Problem(
                "conflict", "somebody has this name already; names are of the whole service, as e-mail addresses are"
            )
        members.add(
            db,
            id=id,
            organization=organization,
            name=name,
            role=role,
            invitation=sessions.digest(state.secrets.pepper, "invitation", token),
            invited_until=at + sessions.INVITED,
            created_at=at,
        )
        journal.note(
            db,
            organization=organization,
            actor=caller.key_id,
            action="member.invited",
            subject=id,
            name=name,
            role=role,
        )
    return name, token


def _mine(db: Any, caller: Caller, member: str) -> Any:
    """A member of the caller's organisation who may no more than he."""
    row = members.find(db, member)
    if row is None or row["organization"] != caller.organization:
        raise Problem("not-found", "no member of yours has this id")
    _refuse_mightier(db, caller, caller.organization, row["role"])
    return row


def invite_again(request: Request, caller: Caller, member: str) -> tuple[str, str]:
    """Another invitation for a member; its token."""
    state, token = request.app.state, sessions.new_token()
    with state.store.writing() as db:
        row = _mine(db, caller, member)
        digest = sessions.digest(state.secrets.pepper, "invitation", token)
        until = now() + sessions.INVITED
        members.change(db, caller.organization, member, invitation=digest, invited_until=until)
        _note(db, caller, "member.invited", member)
    return row["name"], token


def change_role(request: Request, caller: Caller, member: str, role: str) -> None:
    """Another role for a member; his sessions end, so that no page shows what he may no more."""
    with request.app.state.store.writing() as db:
        _mine(db, caller, member)
        _refuse_mightier(db, caller, caller.organization, role)
        members.change(db, caller.organization, member, role=role)
        members.end_sessions(db, member)
        _note(db, caller, "member.role", member, role=role)


def remove(request: Request, caller: Caller, member: str) -> None:
    """Remove a member."""
    with request.app.state.store.writing() as db:
        _mine(db, caller, member)
        members.remove(db, caller.organization, member)
        _note(db, caller, "member.removed", member)


def _note(db: Any, caller: Caller, action: str, member: str, **detail: Any) -> None:
    journal.note(db, organization=caller.organization, actor=caller.key_id, action=action, subject=member, **detail)
