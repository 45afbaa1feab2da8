# SPDX-License-Identifier: Apache-2.0
"""Signing in through the OpenID provider of the settings: away to it, and back."""

from __future__ import annotations

import hmac
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from epimeter.service import sessions
from epimeter.service.openid import MINUTES, Provider, ProviderError, member_of, unsealed
from epimeter.service.problems import Problem
from epimeter.web.page import shown
from epimeter.web.session import cookie, cookie_name, give, go, inside, visiting

area = APIRouter(include_in_schema=False)
Text = Annotated[str, Query(max_length=4000)]


def provider(request: Request) -> Provider | None:
    """The provider, where one is set."""
    found: Provider | None = request.app.state.provider
    return found


def _needed(request: Request) -> Provider:
    found = provider(request)
    if found is None:
        raise Problem("not-found", "this service has no OpenID provider")
    return found


def _back(request: Request) -> str:
    return f"{request.app.state.ledger.registry.issuer.rstrip('/')}/sign-in/oidc/back"


def _trip(request: Request) -> str:
    return f"{cookie_name(request)}-oidc"


@area.get("/sign-in/oidc", dependencies=[Depends(visiting)])
def away(request: Request, next: Text = "") -> Response:
    """To the provider, with what must come back."""
    try:
        there, kept = _needed(request).begin(request.app.state.secrets.pepper, _back(request), inside(next))
    except ProviderError as fault:
        raise Problem("unavailable", str(fault), headers={"Retry-After": "30"}) from None
    answer = go(there)
    secure = _trip(request).startswith("__Host-")
    answer.set_cookie(
        _trip(request), kept, max_age=60 * MINUTES, path="/", secure=secure, httponly=True, samesite="lax"
    )
    return answer


@area.get("/sign-in/oidc/back", dependencies=[Depends(visiting)])
def back(request: Request, code: Text = "", state: Text = "", error: Text = "") -> Response:
    """From the provider; whoever it names is signed in if somebody invited him."""
    known, app = _needed(request), request.app.state
    trip = unsealed(app.secrets.pepper, request.cookies.get(_trip(request), ""))
    if not hmac.compare_digest(trip["state"].encode(), state.encode("utf-8", "replace")):
        raise Problem("forbidden", "this sign-in was not begun here; begin it anew")
    fault = "the provider refused to sign you in"
    caller = None
    if code and not error:
        try:
            caller = member_of(app.store, known.claims(trip, code, _back(request)))
            fault = "nobody is invited here under the verified e-mail address that the provider says"
        except ProviderError as said:
            fault = str(said)
    if caller is None:
        app.gate.failed(request)
        facts = {"next": inside(trip["next"]), "fault": fault, "provider": known.issuer}
        answer = shown(request, "sign_in.html", facts, 401)
    else:
        token = sessions.begin(app.store, app.secrets.pepper, caller, cookie(request), member=True)
        answer = give(request, go(inside(trip["next"])), token)
    answer.delete_cookie(_trip(request), path="/", secure=_trip(request).startswith("__Host-"), httponly=True)
    return answer
