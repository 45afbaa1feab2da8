# SPDX-License-Identifier: Apache-2.0
"""The service itself, for its operator: organisations, jobs, how old keys are and how fresh the status list is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from epimeter.service.api import keys as keys_api
from epimeter.service.bodies import encoded
from epimeter.service.paging import Cursor
from epimeter.service.problems import Problem
from epimeter.service.rates import TIERS
from epimeter.service.sessions import ROLES
from epimeter.store import evaluations, jobs, organizations
from epimeter.store.moments import month_of, now, written
from epimeter.web import people
from epimeter.web.account import invitation_shown, told
from epimeter.web.page import Facts, Fields, change, page
from epimeter.web.session import go, one

area = APIRouter(include_in_schema=False)
Id = Annotated[str, Path(max_length=40)]
LINES = 100


@page(area, "/admin", "admin.html", scopes=("admin",))
def admin(request: Request, cursor: Cursor = None) -> Facts:
    """How the service is."""
    state = request.app.state
    listing = told(keys_api.list_organizations(request, request.state.caller, LINES, cursor))
    month = month_of(now())
    with state.store.reading() as db:
        for one_ in listing["items"]:
            one_["evaluations"] = evaluations.used(db, one_["id"], month)
        lately = [_job(row) for row in jobs.lately(db, 20)]
        waiting = jobs.waiting(db)
    registry, at = state.ledger.registry, datetime.now(UTC)
    issued = state.ledger.statuses().issued_at
    return {
        "organizations": listing["items"],
        "next": listing["next"],
        "tiers": list(TIERS),
        "roles": ROLES,
        "keys": [
            {"role": one_.role, "key_id": one_.key_id, "ends": one_.at.isoformat(), "days": round((one_.at - at).days)}
            for one_ in state.ledger.endings()
        ],
        "keys_say": state.ledger.key_warning(),
        "status_list": {"issued_at": issued.isoformat(), "hours": round((at - issued).total_seconds() / 3600, 1)},
        "log": {"origin": registry.log.origin, "size": registry.log.size, "audit_size": state.ledger.audit.size},
        "jobs": {"waiting": waiting, "lately": lately},
    }


def _job(row: Any) -> Facts:
    return {
        "id": row["id"],
        "kind": row["kind"],
        "subject": row["subject"],
        "state": row["state"],
        "attempts": row["attempts"],
        "created_at": written(row["created_at"]),
        "finished_at": written(row["finished_at"]),
        "error": row["error"],
    }


@page(area, "/admin/organizations/{organization}", "organization.html", scopes=("admin",))
def organization(request: Request, organization: Id) -> Facts:
    """One organisation and its members."""
    state = request.app.state
    with state.store.reading() as db:
        row = organizations.find(db, organization)
        if row is None:
            raise Problem("not-found", "no organisation has this id")
        months = [dict(one_) for one_ in evaluations.months(db, organization)]
    return {
        "id": row["id"],
        "name": row["name"],
        "tier": row["tier"],
        "created_at": written(row["created_at"]),
        "months": months,
        "members": people.listed(state, organization),
        "tiers": list(TIERS),
        "roles": ROLES,
    }


@change(area, "/admin/organizations", "admin")
def make_organization(request: Request, fields: Fields) -> Response:
    """Make an organisation."""
    wanted = {"name": one(fields, "name"), "tier": one(fields, "tier", 16)}
    made = told(keys_api.make_organization(request, request.state.caller, encoded(wanted)))
    return go(f"/admin/organizations/{made['id']}")


@change(area, "/admin/organizations/{organization}/tier", "admin")
def change_tier(request: Request, fields: Fields, organization: Id) -> Response:
    """Put an organisation into another tier."""
    keys_api.change_tier(request, request.state.caller, organization, encoded({"tier": one(fields, "tier", 16)}))
    return go(f"/admin/organizations/{organization}")


@change(area, "/admin/organizations/{organization}/members", "admin")
def invite(request: Request, fields: Fields, organization: Id) -> Response:
    """Invite a member of any organisation: the first has nobody else to invite him."""
    with request.app.state.store.reading() as db:
        if organizations.find(db, organization) is None:
            raise Problem("not-found", "no organisation has this id")
    made = people.invite(request, request.state.caller, organization, one(fields, "name"), one(fields, "role", 16))
    return invitation_shown(request, made)
