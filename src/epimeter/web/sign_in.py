# SPDX-License-Identifier: Apache-2.0
"""Signing in with an API key or with name and password, signing out, and taking up an invitation."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import Response

from epimeter.errors import InputError
from epimeter.service import sessions
from epimeter.service.problems import Problem
from epimeter.store import journal, members
from epimeter.store.moments import now
from epimeter.web.oidc import provider
from epimeter.web.page import Facts, Fields, change, page, shown
from epimeter.web.session import cookie, give, go, inside, one, refuse_foreign, take, visiting

area = APIRouter(include_in_schema=False)
Token = Annotated[str, Path(max_length=80)]
Place = Annotated[str, Query(max_length=2000)]


def _facts(request: Request, next_: str, fault: str = "") -> Facts:
    known = provider(request)
    return {"next": inside(next_), "fault": fault, "provider": None if known is None else known.issuer}


@page(area, "/sign-in", "sign_in.html", visitors=True)
def sign_in(request: Request, next: Place = "") -> Facts:
    """Who are you?"""
    return _facts(request, next)


@area.post("/sign-in", dependencies=[Depends(refuse_foreign), Depends(visiting)])
def signed_in(request: Request, fields: Fields) -> Response:
    """Sign in; what is wrong is said in the same words and after the same time for a stranger and for a wrong password."""
    state = request.app.state
    place, key, name = one(fields, "next", 2000), one(fields, "key"), one(fields, "name")
    try:
        if key:
            caller, member = state.gate.recognise(request, key), False
        else:
            state.gate.refuse_guessing(name.casefold())
            password = str(fields.get("password", ""))[: sessions.LONGEST]
            found = sessions.with_password(state.store, name, password)
            if found is None:
                state.gate.failed(request)
                raise Problem("unauthenticated", "name and password do not belong together")
            caller, member = found, True
    except Problem as refusal:
        if refusal.kind != "unauthenticated":
            raise
        return shown(request, "sign_in.html", _facts(request, place, refusal.detail), 401)
    token = sessions.begin(state.store, state.secrets.pepper, caller, cookie(request), member=member)
    return give(request, go(inside(place)), token)


@change(area, "/sign-out")
def sign_out(request: Request, fields: Fields) -> Response:
    """End the session."""
    state, token = request.app.state, cookie(request)
    assert token is not None
    sessions.end(state.store, state.secrets.pepper, token)
    return take(request, go("/"))


def _invited(request: Request, token: str) -> tuple[bytes, str, str]:
    """The digest of an open invitation, and whose it is."""
    state = request.app.state
    digest = sessions.digest(state.secrets.pepper, "invitation", token)
    with state.store.reading() as db:
        row = members.invited(db, digest, now())
    if row is None:
        raise Problem("not-found", "this invitation was used, has ended, or never was")
    return digest, row["name"], row["organization_name"]


@page(area, "/invitation/{token}", "invitation.html", visitors=True, cache="no-store")
def invitation(request: Request, token: Token) -> Facts:
    """An invitation that waits for a password."""
    _, name, organization = _invited(request, token)
    return {"name": name, "organization": organization, "fault": ""}


@area.post("/invitation/{token}", dependencies=[Depends(refuse_foreign), Depends(visiting)])
def accept(request: Request, token: Token, fields: Fields) -> Response:
    """Set the password, once; whoever was signed in with an older one is so no more."""
    state = request.app.state
    digest, name, organization = _invited(request, token)
    password = fields.get("password", "")
    try:
        if not isinstance(password, str) or password != fields.get("again"):
            raise InputError("both passwords must be the same; they differ", field="again")
        stored = sessions.hashed(password, name)
    except InputError as refusal:
        facts = {"name": name, "organization": organization, "fault": str(refusal)}
        return shown(request, "invitation.html", facts, 422)
    with state.store.writing() as db:
        row = members.invited(db, digest, now())
        if row is None:
            raise Problem("conflict", "this invitation was used a moment ago")
        members.change(db, row["organization"], row["id"], password=stored, invitation=None, invited_until=None)
        members.end_sessions(db, row["id"])
        note = {"organization": row["organization"], "actor": row["id"], "subject": row["id"]}
        journal.note(db, **note, action="member.password")
        caller = sessions.member_caller(db, row)
    began = sessions.begin(state.store, state.secrets.pepper, caller, cookie(request), member=True)
    return give(request, go("/account"), began)
