# SPDX-License-Identifier: Apache-2.0
"""API keys and organisations: made, listed, ended. A key's text is shown once, when it is made."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from epimeter.service.access import Caller, Known
from epimeter.service.answers import answer
from epimeter.service.bodies import read_as, small_body
from epimeter.service.documents import documented
from epimeter.service.paging import Cursor, Limit, cut, links, place
from epimeter.service.problems import Problem
from epimeter.service.schemas import (
    KeyLine,
    KeyPage,
    KeyRequest,
    NewKey,
    Organization,
    OrganizationPage,
    OrganizationRequest,
    TierRequest,
)
from epimeter.service.secrets import digest, new_key
from epimeter.store import journal, organizations
from epimeter.store.moments import SECOND, micros, new_id, now, written
from epimeter.trust.names import look_alike, name_of

area = APIRouter(tags=["keys and organisations"])
Raw = Annotated[bytes, Depends(small_body)]


@area.post(
    "/v1/auth/api-keys",
    summary="Make a key",
    description=(
        "A key has at most the scopes of the key that makes or ends it, and ends no later; for another organisation only "
        "`admin` makes one."
    ),
    **documented(
        gives=NewKey,
        status=201,
        reads=KeyRequest,
        scope="keys:write",
        problems=("not-found", "too-large", "unsupported-media-type"),
    ),
)
def make(request: Request, caller: Known, raw: Raw) -> Response:
    wanted = read_as(KeyRequest, raw)
    name_of(wanted.name, "name")
    scopes = frozenset(wanted.scopes)
    beyond = sorted(scope for scope in scopes if not caller.may(scope))
    if beyond:
        raise Problem("forbidden", f"a key cannot give what it has not: {', '.join(beyond)}")
    at = now()
    expires = caller.ends_at if wanted.expires_at is None else micros(wanted.expires_at)
    if expires is not None and caller.ends_at is not None and expires > caller.ends_at:
        sentence = f"a key must end no later than the one that makes it, at {written(caller.ends_at)}"
        raise Problem("forbidden", sentence, errors=[("/expires_at", sentence)])
    if expires is not None and expires <= at:
        raise Problem("invalid", "/expires_at: a key must expire in the future", errors=[("/expires_at", "past")])
    state = request.app.state
    made = new_key()
    with state.store.writing() as db:
        organization = _organization(db, caller, wanted.organization)
        organizations.add_key(
            db,
            id=made.id,
            organization=organization,
            name=wanted.name,
            digest=digest(state.secrets.pepper, made.text),
            scopes=scopes,
            at=at,
            expires_at=expires,
        )
        note: dict[str, Any] = {"organization": organization, "actor": caller.key_id}
        journal.note(db, **note, action="key.made", subject=made.id, scopes=sorted(scopes), replaces=wanted.replaces)
        if wanted.replaces is not None:
            # The old key goes on for the overlap, so that nothing stops while the new one is rolled out.
            end = at + wanted.overlap_hours * 3600 * SECOND
            _refuse_mightier(db, caller, organization, wanted.replaces)
            if not organizations.revoke_key(db, organization, wanted.replaces, end):
                raise Problem("not-found", "no key of yours has the id in replaces")
            journal.note(db, **note, action="key.ending", subject=wanted.replaces, ends=written(end))
        row = organizations.key_of(db, organization, made.id)
    assert row is not None
    shown = NewKey(**_line(row), key=made.text, organization=organization)
    return answer(shown, 201, {"Location": f"/v1/auth/api-keys/{made.id}", "Cache-Control": "no-store"})


def _organization(db: Any, caller: Caller, name: str | None) -> str:
    """The organisation a key is made for: the caller's, or for an administrator any, by id or name."""
    if name is None or name in (caller.organization, caller.organization_name):
        return caller.organization
    if not caller.may("admin"):
        raise Problem("forbidden", "only an administrator makes keys for other organisations")
    row = organizations.find(db, name) or organizations.named(db, name)
    if row is None:
        raise Problem("not-found", "no organisation has this id or name")
    found: str = row["id"]
    return found


def _refuse_mightier(db: Any, caller: Caller, organization: str, key_id: str) -> None:
    """Refuse to end a key that may more than the caller's."""
    row = organizations.key_of(db, organization, key_id)
    beyond = [] if row is None else sorted(scope for scope in row["scopes"].split() if not caller.may(scope))
    if beyond:
        raise Problem("forbidden", f"a key cannot end one that may more than itself: {', '.join(beyond)}")


def _line(row: Any) -> dict[str, Any]:
    return {
        "id": row["id"],
        "name": row["name"],
        "scopes": row["scopes"].split(),
        "created_at": written(row["created_at"]),
        "expires_at": written(row["expires_at"]),
        "revoked_at": written(row["revoked_at"]),
        "last_used_at": written(row["last_used_at"]),
    }


@area.get("/v1/auth/api-keys", summary="List keys", **documented(gives=KeyPage, scope="keys:write", headers=("Link",)))
def listing(request: Request, caller: Known, limit: Limit = 50, cursor: Cursor = None) -> Response:
    with request.app.state.store.reading() as db:
        rows = organizations.keys(db, caller.organization, place(cursor), limit + 1)
    rows, next_ = cut(rows, limit)
    page = KeyPage([KeyLine(**_line(row)) for row in rows], next_)
    return answer(page, headers=links("/v1/auth/api-keys", {"limit": limit}, next_))


@area.get(
    "/v1/auth/api-keys/{key_id}",
    summary="Look at one key",
    **documented(gives=KeyLine, scope="keys:write", problems=("not-found",)),
)
def one(request: Request, caller: Known, key_id: str) -> Response:
    with request.app.state.store.reading() as db:
        row = organizations.key_of(db, caller.organization, key_id)
    if row is None:
        raise Problem("not-found", "no key of yours has this id")
    return answer(KeyLine(**_line(row)))


@area.delete(
    "/v1/auth/api-keys/{key_id}",
    summary="End a key at once",
    **documented(status=204, scope="keys:write", problems=("not-found",)),
)
def end(request: Request, caller: Known, key_id: str) -> Response:
    with request.app.state.store.writing() as db:
        _refuse_mightier(db, caller, caller.organization, key_id)
        if not organizations.revoke_key(db, caller.organization, key_id, now()):
            raise Problem("not-found", "no key of yours has this id")
        journal.note(db, organization=caller.organization, actor=caller.key_id, action="key.revoked", subject=key_id)
    return Response(status_code=204)


@area.post(
    "/v1/organizations",
    summary="Make an organisation",
    **documented(
        gives=Organization,
        status=201,
        reads=OrganizationRequest,
        scope="admin",
        problems=("conflict", "too-large", "unsupported-media-type"),
    ),
)
def make_organization(request: Request, caller: Known, raw: Raw) -> Response:
    wanted = read_as(OrganizationRequest, raw)
    name_of(wanted.name, "name")
    id, at = new_id("org_"), now()
    with request.app.state.store.writing() as db:
        for row in organizations.page(db, None, 10_000):
            if row["name"] == wanted.name or look_alike(row["name"], wanted.name):
                raise Problem("conflict", "an organisation has this name, or one that looks like it")
        organizations.add(db, id=id, name=wanted.name, tier=wanted.tier, at=at)
        journal.note(db, organization=id, actor=caller.key_id, action="organization.made", subject=id, tier=wanted.tier)
        found = organizations.find(db, id)
    return answer(_shown(found), 201, {"Location": f"/v1/organizations/{id}"})


def _shown(row: Any) -> Organization:
    return Organization(id=row["id"], name=row["name"], tier=row["tier"], created_at=written(row["created_at"]) or "")


@area.get(
    "/v1/organizations",
    summary="List organisations",
    **documented(gives=OrganizationPage, scope="admin", headers=("Link",)),
)
def list_organizations(request: Request, caller: Known, limit: Limit = 50, cursor: Cursor = None) -> Response:
    with request.app.state.store.reading() as db:
        rows = organizations.page(db, place(cursor), limit + 1)
    rows, next_ = cut(rows, limit)
    page = OrganizationPage([_shown(row) for row in rows], next_)
    return answer(page, headers=links("/v1/organizations", {"limit": limit}, next_))


@area.put(
    "/v1/organizations/{organization_id}/tier",
    summary="Put an organisation into a tier",
    **documented(
        gives=Organization,
        reads=TierRequest,
        scope="admin",
        problems=("not-found", "too-large", "unsupported-media-type"),
    ),
)
def change_tier(request: Request, caller: Known, organization_id: str, raw: Raw) -> Response:
    wanted = read_as(TierRequest, raw)
    with request.app.state.store.writing() as db:
        if not organizations.change_tier(db, organization_id, wanted.tier):
            raise Problem("not-found", "no organisation has this id")
        journal.note(
            db,
            organization=organization_id,
            actor=caller.key_id,
            action="organization.tier",
            subject=organization_id,
            tier=wanted.tier,
        )
        found = organizations.find(db, organization_id)
    return answer(_shown(found))
