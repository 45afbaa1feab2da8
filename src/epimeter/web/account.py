# SPDX-License-Identifier: Apache-2.0
"""An organisation's account: what it used, keys, members, webhooks with what was sent to them, the audit trail.

Changes go through the functions of the API, so that page and API refuse the same with the same words.
"""

from __future__ import annotations

from typing import Annotated, Any, get_args

import msgspec
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from epimeter.service.access import Caller
from epimeter.service.api import account as account_api
from epimeter.service.api import keys as keys_api
from epimeter.service.api import webhooks as webhooks_api
from epimeter.service.bodies import encoded
from epimeter.service.problems import Problem
from epimeter.service.schemas.words import Event, Scope
from epimeter.service.sessions import ROLES
from epimeter.store import journal, webhooks
from epimeter.store.moments import now, written
from epimeter.web import people
from epimeter.web.page import Facts, Fields, change, page, shown
from epimeter.web.session import go, one, several

area = APIRouter(include_in_schema=False)
Id = Annotated[str, Path(max_length=40)]
LINES = 200
SENT = 5
"""Deliveries that are shown of each webhook."""


def told(answer: Response) -> Any:
    """What the API answered."""
    return msgspec.json.decode(bytes(answer.body))


@page(area, "/account", "account.html", scopes=())
def account(request: Request) -> Facts:
    """The account of whoever is signed in."""
    caller: Caller = request.state.caller
    sees_keys = caller.may("keys:write") or caller.may("audit:read")
    sees_hooks = caller.may("webhooks:write") or caller.may("audit:read")
    reads = caller.may("evaluations:read")
    hooks = told(webhooks_api.listing(request, caller, LINES, None))["items"] if sees_hooks else None
    for hook in hooks or ():
        hook["deliveries"] = told(webhooks_api.deliveries(request, caller, hook["id"], SENT))["items"]
    return {
        "organization": caller.organization_name,
        "tier": caller.tier,
        "as": caller.key_id,
        "scopes": sorted(caller.scopes),
        "usage": told(account_api.usage(request, caller)) if reads else None,
        "keys": told(keys_api.listing(request, caller, LINES, None))["items"] if sees_keys else None,
        "members": people.listed(request.app.state, caller.organization) if sees_keys else None,
        "webhooks": hooks,
        "audit": told(account_api.audit(request, caller, 10, None))["items"] if reads else None,
        "roles": ROLES,
        "events": get_args(Event),
        "givable": [scope for scope in get_args(Scope) if caller.may(scope)],
        "may": {name: caller.may(name) for name in ("keys:write", "webhooks:write", "admin")},
    }


@page(area, "/account/audit", "audit.html", scopes=("evaluations:read",))
def audit(request: Request, cursor: Annotated[int | None, Query(ge=1, lt=2**63)] = None) -> Facts:
    """The audit trail, page by page."""
    found: Facts = told(account_api.audit(request, request.state.caller, 50, cursor))
    return found | {"first": cursor is None}


@change(area, "/account/keys", "keys:write")
def make_key(request: Request, fields: Fields) -> Response:
    """Make a key and show it, this once; perhaps in the place of another."""
    wanted: dict[str, Any] = {"name": one(fields, "name"), "scopes": several(fields, "scopes")}
    if day := one(fields, "expires", 10):
        wanted["expires_at"] = f"{day}T23:59:59Z"
    if old := one(fields, "replaces", 8):
        wanted |= {"replaces": old, "overlap_hours": 24}
    made = told(keys_api.make(request, request.state.caller, encoded(wanted)))
    return shown(request, "once.html", {"title": f"The key {made['name']}", "secret": made["key"], "kind": "key"})


@change(area, "/account/keys/{key_id}/end", "keys:write")
def end_key(request: Request, fields: Fields, key_id: Id) -> Response:
    """End a key at once."""
    keys_api.end(request, request.state.caller, key_id)
    return go("/account#keys")


@change(area, "/account/webhooks", "webhooks:write")
def make_webhook(request: Request, fields: Fields) -> Response:
    """Be told of events at an address; the secret is shown this once."""
    wanted = {"url": one(fields, "url", 2000), "events": several(fields, "events")}
    made = told(webhooks_api.make(request, request.state.caller, encoded(wanted)))
    return shown(request, "once.html", {"title": "The new webhook", "secret": made["secret"], "kind": "webhook"})


@change(area, "/account/webhooks/{webhook_id}/test", "webhooks:write")
def test_webhook(request: Request, fields: Fields, webhook_id: Id) -> Response:
    """Send a message that says nothing."""
    caller, at = request.state.caller, now()
    with request.app.state.store.writing() as db:
        if not webhooks.owned(db, caller.organization, webhook_id):
            raise Problem("not-found", "no webhook of yours has this id")
        body = encoded({"type": "webhook.test", "timestamp": written(at), "data": {"webhook": webhook_id}})
        mine = {"organization": caller.organization, "webhook": webhook_id, "event": "webhook.test"}
        webhooks.post(db, **mine, body=body, at=at)
        note = {"organization": caller.organization, "actor": caller.key_id, "subject": webhook_id}
        journal.note(db, **note, action="webhook.tested")
    return go("/account#webhooks")


@change(area, "/account/webhooks/{webhook_id}/remove", "webhooks:write")
def remove_webhook(request: Request, fields: Fields, webhook_id: Id) -> Response:
    """Send nothing there any more."""
    webhooks_api.remove(request, request.state.caller, webhook_id)
    return go("/account#webhooks")


@change(area, "/account/members", "keys:write")
def invite(request: Request, fields: Fields) -> Response:
    """Invite a person; the invitation is shown this once."""
    caller = request.state.caller
    return invitation_shown(
        request, people.invite(request, caller, caller.organization, one(fields, "name"), one(fields, "role", 16))
    )


@change(area, "/account/members/{member}/invite", "keys:write")
def invite_again(request: Request, fields: Fields, member: Id) -> Response:
    """A new invitation, for whoever lost the password; the old one holds until it is taken up."""
    return invitation_shown(request, people.invite_again(request, request.state.caller, member))


def invitation_shown(request: Request, made: tuple[str, str]) -> Response:
    """The address of an invitation, this once."""
    name, token = made
    address = f"{request.app.state.ledger.registry.issuer.rstrip('/')}/invitation/{token}"
    facts = {"title": f"The invitation of {name}", "secret": address, "kind": "invitation"}
    return shown(request, "once.html", facts)


@change(area, "/account/members/{member}/role", "keys:write")
def change_role(request: Request, fields: Fields, member: Id) -> Response:
    """Give a member another role."""
    people.change_role(request, request.state.caller, member, one(fields, "role", 16))
    return go("/account#members")


@change(area, "/account/members/{member}/remove", "keys:write")
def remove_member(request: Request, fields: Fields, member: Id) -> Response:
    """Remove a member, who is signed out everywhere."""
    people.remove(request, request.state.caller, member)
    return go("/account#members")
