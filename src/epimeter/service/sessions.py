# SPDX-License-Identifier: Apache-2.0
"""Browsers that are signed in, and people: roles, passwords, invitations.

A session is a cookie of 256 random bits; stored is its HMAC under the pepper, and the key or the member that it stands for. Whether
that key or member still holds, and what it may, is looked up each time: a key that is revoked ends its sessions with it. The
token against forged requests is another HMAC of the same cookie, so it is stored nowhere and changes with every sign-in.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets as randomness
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal, get_args

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

from epimeter.errors import InputError
from epimeter.service.access import Caller, caller_of, over
from epimeter.service.problems import Problem
from epimeter.service.secrets import LETTERS
from epimeter.store import Store, journal, members, organizations
from epimeter.store.moments import SECOND, now

LASTS = 12 * 3600 * SECOND
INVITED = 7 * 24 * 3600 * SECOND
SHORTEST, LONGEST = 12, 200
Role = Literal["reader", "operator", "auditor", "administrator"]
ROLES: tuple[Role, ...] = get_args(Role)
_READS = frozenset({"evaluations:read", "certificates:read"})
_WORKS = frozenset({"evaluate", "certificates:write", "webhooks:write"})
SCOPES: dict[str, frozenset[str]] = {
    "reader": _READS,
    "operator": _READS | _WORKS,
    "auditor": _READS | {"audit:read"},
    "administrator": _READS | _WORKS | {"audit:read", "keys:write"},
}
"""What a role may. `audit:read` is of pages alone: it shows keys, members and webhooks to whoever may not change them."""
_hasher = PasswordHasher()
_room = threading.Semaphore(2)  # each password takes 64 MiB for as long as it is looked at


@contextmanager
def _hashing() -> Iterator[None]:
    if not _room.acquire(timeout=5):
        raise Problem("unavailable", "many sign in at this moment", headers={"Retry-After": "5"})
    try:
        yield
    finally:
        _room.release()


@cache
def _nobody() -> str:
    return _hasher.hash(randomness.token_hex(16))


def scopes_of(role: str, *, operators: bool) -> frozenset[str]:
    """What a member may; administrators of the operator's own organisation administer the service too."""
    return SCOPES[role] | {"admin"} if operators and role == "administrator" else SCOPES[role]


def new_token() -> str:
    """A text that nobody has seen, of 256 random bits."""
    return randomness.token_urlsafe(32)


def digest(pepper: bytes, what: str, token: str) -> bytes:
    """What is stored of a session or an invitation, or sent along with a form."""
    return hmac.new(pepper, f"{what}\0{token}".encode(), hashlib.sha256).digest()


def form_token(pepper: bytes, token: str) -> str:
    """What every form of a session carries, so that no other site can send it."""
    return digest(pepper, "form", token).hex()


def begin(store: Store, pepper: bytes, caller: Caller, old: str | None, *, member: bool) -> str:
    """Sign a browser in: a new cookie each time, and whatever it held before ends."""
    token, at = new_token(), now()
    ends = at + LASTS if caller.ends_at is None else min(at + LASTS, caller.ends_at)
    with store.writing() as db:
        if old is not None:
            members.end(db, digest(pepper, "session", old))
        members.begin(
            db,
            digest=digest(pepper, "session", token),
            key_id=None if member else caller.key_id,
            member=caller.key_id if member else None,
            at=at,
            ends_at=ends,
        )
        journal.note(
            db, organization=caller.organization, actor=caller.key_id, action="session.begun", subject=caller.key_id
        )
    return token


def end(store: Store, pepper: bytes, token: str) -> None:
    """Sign a browser out."""
    with store.writing() as db:
        members.end(db, digest(pepper, "session", token))


def returning(store: Store, pepper: bytes, token: str) -> Caller | None:
    """Whom a cookie stands for; None where its session, its key or its member is no more."""
    at = now()
    with store.reading() as db:
        found = members.session(db, digest(pepper, "session", token), at)
        if found is None:
            return None
        if found["key_id"] is not None:
            facts = organizations.key_facts(db, found["key_id"])
            return None if facts is None or over(facts, at) else caller_of(facts)
        row = members.find(db, found["member"])
        return None if row is None else member_caller(db, row)


def member_caller(db: Any, row: Any) -> Caller:
    """A member as a caller, with what his role gives."""
    first = organizations.oldest(db)
    return Caller(
        key_id=row["id"],
        organization=row["organization"],
        organization_name=row["organization_name"],
        tier=row["tier"],
        scopes=scopes_of(row["role"], operators=first is not None and first["id"] == row["organization"]),
    )


def with_password(store: Store, name: str, password: str) -> Caller | None:
    """The member of that name and password; an unknown name takes as long as a wrong password."""
    with store.reading() as db:
        row = members.named(db, name)
        caller = None if row is None else member_caller(db, row)
    stored = None if row is None else row["password"]
    try:
        with _hashing():
            _hasher.verify(stored or _nobody(), password)
    except (Argon2Error, InvalidHashError):
        return None
    if caller is None or stored is None:
        return None
    if _hasher.check_needs_rehash(stored):
        with _hashing():
            anew = _hasher.hash(password)
        with store.writing() as db:
            members.change(db, caller.organization, caller.key_id, password=anew)
    return caller


def hashed(password: str, name: str) -> str:
    """A new password as it is stored (argon2id, RFC 9106); refused when it is short or easily guessed."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise InputError(
            f"a password must have {SHORTEST} to {LONGEST} characters; this one has {len(password):,}", field="password"
        )
    if len(set(password)) < 6 or name.casefold() in password.casefold() or password.casefold() in name.casefold():
        raise InputError(
            "a password must have at least 6 different characters and not hold the name; choose another",
            field="password",
        )
    with _hashing():
        return _hasher.hash(password)


def new_member_id() -> str:
    """An id as long as a key's, so that it can stand where a key's stands."""
    return "".join(randomness.choice(LETTERS) for _ in range(8))
