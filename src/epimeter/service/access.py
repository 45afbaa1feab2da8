# SPDX-License-Identifier: Apache-2.0
"""Who calls, what he may, how often.

1. A key is read from `x-api-key` or `Authorization: Bearer`, never from the address.
2. Its checksum, then its id, then its secret; an unknown key takes as long as a wrong one and sounds the same.
3. The request counts against the minute of the organisation, whatever comes of it (C-25).
4. The key has the scope of the endpoint, or is an administrator's.

Without a key, public endpoints count against the minute of the caller's address.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from epimeter.service.problems import Problem
from epimeter.service.rates import TIERS, MemoryStorage, RequestWindow
from epimeter.service.secrets import key_id, matches
from epimeter.store import Store, organizations
from epimeter.store.moments import now

GUESSES = 20
"""Passwords a minute that are looked at for one name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Whom a key stands for."""

    key_id: str
    organization: str
    organization_name: str
    tier: str
    scopes: frozenset[str]
    ends_at: int | None = None
    """When the key ends, by expiry or because another replaces it."""

    def may(self, scope: str) -> bool:
        """Whether the key has a scope; an administrator's has all."""
        return scope in self.scopes or "admin" in self.scopes

    @property
    def quota(self) -> int | None:
        """Evaluations a month."""
        return TIERS[self.tier][1]


class Uses:
    """When keys were last used: noted in memory and written now and then, so that who reads waits for no writer."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._noted: dict[str, int] = {}

    def note(self, key: str, at: int) -> None:
        """A key was used."""
        with self._lock:
            self._noted.setdefault(key, at)

    def write(self, store: Store) -> None:
        """Write what was noted; where that fails it is not noted any more, and nobody is worse off."""
        with self._lock:
            noted, self._noted = self._noted, {}
        if noted:
            with store.writing() as db:
                for key, at in noted.items():
                    organizations.touch_key(db, key, at)


class Door:
    """The door of the service."""

    def __init__(
        self,
        store: Store,
        pepper: bytes,
        window: RequestWindow,
        uses: Uses,
        *,
        public_per_minute: int,
        failures_per_minute: int,
    ) -> None:
        self._store, self._pepper, self._window, self._uses = store, pepper, window, uses
        self._addresses = RequestWindow(MemoryStorage())
        self._public, self._failures = public_per_minute, failures_per_minute

    def enter(self, request: Request) -> Caller:
        """Whoever sent this request; refused when nobody we know."""
        text = _presented(request)
        if text is None:
            raise Problem(
                "unauthenticated",
                "this endpoint needs an API key, in x-api-key or as Authorization: Bearer",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return self.recognise(request, text)

    def recognise(self, request: Request, text: str) -> Caller:
        """Whom a key stands for; a wrong one counts against the address that tried it."""
        id = key_id(text)
        facts = None
        if id is not None:
            with self._store.reading() as db:
                facts = organizations.key_facts(db, id)
        at = now()
        known = matches(self._pepper, text, None if facts is None else facts.digest)
        if facts is None or not known or over(facts, at):
            self.failed(request)
            raise Problem(
                "unauthenticated",
                "the API key is not valid: it is mistyped, expired, revoked or was never ours",
                headers={"WWW-Authenticate": "Bearer"},
            )
        self.count(request, facts.organization, facts.tier)
        if organizations.worth_touching(facts, at):
            self._uses.note(facts.id, at)
        return caller_of(facts)

    def stroll(self, request: Request) -> Caller | None:
        """Whoever sent this request, or nobody: for what everybody may see."""
        if _presented(request) is not None:
            return self.enter(request)
        self.watch(request)
        return None

    def count(self, request: Request, organization: str, tier: str) -> None:
        """Count a request against the minute of an organisation."""
        most = TIERS[tier][0]
        allowed, left, wait = self._window.hit(organization, most)
        request.state.headers = {
            "RateLimit-Policy": f'"minute";q={most};w=60',
            "RateLimit": f'"minute";r={left};t={wait}',
        }
        if not allowed:
            raise _too_many(f"{most:,} requests a minute", wait)

    def failed(self, request: Request) -> None:
        """Count a wrong key or password against the address that tried it."""
        allowed, _, wait = self._addresses.hit(f"failure {_address(request)}", self._failures)
        if not allowed:
            raise _too_many("wrong keys from this address", wait)

    def refuse_guessing(self, name: str) -> None:
        """Refuse to look at more passwords for a name than a person types, from whatever addresses they come."""
        allowed, _, wait = self._addresses.hit(f"name {name}", GUESSES)
        if not allowed:
            raise _too_many(f"{GUESSES} passwords a minute for this name", wait)

    def watch(self, request: Request) -> None:
        """Count a request for a page against the minute of the address."""
        allowed, _, wait = self._addresses.hit(f"public {_address(request)}", self._public)
        if not allowed:
            raise _too_many(f"{self._public} requests a minute without a key", wait)


def caller_of(facts: organizations.KeyFacts) -> Caller:
    """Whom a stored key stands for."""
    return Caller(
        key_id=facts.id,
        organization=facts.organization,
        organization_name=facts.organization_name,
        tier=facts.tier,
        scopes=facts.scopes,
        ends_at=min((end for end in (facts.expires_at, facts.revoked_at) if end is not None), default=None),
    )


def over(facts: organizations.KeyFacts, at: int) -> bool:
    """Whether a key has ended."""
    return _ended(facts.revoked_at, at) or _ended(facts.expires_at, at)


def _too_many(what: str, wait: int) -> Problem:
    return Problem("rate-limited", f"more than {what}; wait {wait} s", headers={"Retry-After": str(wait)})


def _ended(moment: int | None, at: int) -> bool:
    return moment is not None and moment <= at


def _presented(request: Request) -> str | None:
    key = request.headers.get("x-api-key")
    if key is not None:
        return key.strip()
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" and token else None


def _address(request: Request) -> str:
    return request.client.host if request.client else "unknown"


def needs(scope: str) -> Callable[[Request], None]:
    """A dependency: the caller is known and has the scope."""

    def entered(request: Request) -> None:
        caller = request.app.state.gate.enter(request)
        if not caller.may(scope):
            raise Problem("forbidden", f"the key lacks the scope {scope}")
        request.state.caller = caller
        # Given back by whoever surrounds the request, however it ends.
        most = request.app.state.settings.in_flight
        request.state.seat = request.app.state.crowd.take(caller.organization, most, "requests", wait=1)

    return entered


def anybody(request: Request) -> None:
    """A dependency: everybody may, within limits."""
    request.state.caller = request.app.state.gate.stroll(request)


async def _current(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


async def _visitor(request: Request) -> Caller | None:
    caller: Caller | None = request.state.caller
    return caller


Known = Annotated[Caller, Depends(_current)]
Visitor = Annotated[Caller | None, Depends(_visitor)]
