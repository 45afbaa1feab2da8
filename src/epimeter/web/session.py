# SPDX-License-Identifier: Apache-2.0
"""Who looks at a page: the session cookie, forms that no other site can send, and where to go after signing in.

1. A member's page wants a cookie of ours, or an API key in the header as the API does; nothing else.
2. Every change is a form with a token made from the cookie, and is refused when the browser says that another site sent it.
3. The cookie is HttpOnly, SameSite=Lax and, where the registry has an https address, Secure and of this host alone.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from fastapi import Request
from fastapi.responses import Response

from epimeter.service import sessions
from epimeter.service.access import Caller
from epimeter.service.bodies import media_type, receive
from epimeter.service.problems import Problem

FORM = 64 * 1024
FORM_TYPE = "application/x-www-form-urlencoded"
_PLACE = re.compile(r"/(?![/\\])[A-Za-z0-9._~/?=&%+,:@-]*")
_COOKIE = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, kw_only=True)
class SignedIn:
    """Who is signed in, and the token that his forms carry."""

    caller: Caller
    form_token: str


def cookie_name(request: Request) -> str:
    """The name of the cookie; browsers keep one named __Host- from being set by a neighbouring host."""
    return "__Host-epimeter" if _secure(request) else "epimeter"


def _secure(request: Request) -> bool:
    found: bool = request.app.state.ledger.registry.issuer.startswith("https://")
    return found


def cookie(request: Request) -> str | None:
    """The session cookie of a request, if it has the shape of one."""
    text = request.cookies.get(cookie_name(request), "")
    return text if _COOKIE.fullmatch(text) else None


def give(request: Request, answer: Response, token: str) -> Response:
    """An answer that signs the browser in."""
    answer.set_cookie(
        cookie_name(request),
        token,
        max_age=sessions.LASTS // 1_000_000,
        path="/",
        secure=_secure(request),
        httponly=True,
        samesite="lax",
    )
    return answer


def take(request: Request, answer: Response) -> Response:
    """An answer that signs the browser out."""
    answer.delete_cookie(cookie_name(request), path="/", secure=_secure(request), httponly=True, samesite="lax")
    return answer


def seen(request: Request) -> SignedIn | None:
    """Who is signed in, if anybody is."""
    state, token = request.app.state, cookie(request)
    if token is None:
        return None
    caller = sessions.returning(state.store, state.secrets.pepper, token)
    if caller is None:
        return None
    return SignedIn(caller=caller, form_token=sessions.form_token(state.secrets.pepper, token))


def known(*scopes: str) -> Callable[[Request], None]:
    """A dependency: somebody is signed in, or sent a key, and has one of these scopes."""

    def entered(request: Request) -> None:
        gate = request.app.state.gate
        gate.watch(request)
        found = seen(request)
        caller = gate.enter(request) if found is None else found.caller
        request.state.caller, request.state.seen = caller, found
        if scopes and not any(caller.may(scope) for scope in scopes):
            raise Problem("forbidden", f"your role or key lacks the scope {scopes[0]}")

    return entered


def visiting(request: Request) -> None:
    """A dependency: everybody may; who is signed in is known."""
    request.app.state.gate.watch(request)
    request.state.seen = seen(request)
    request.state.caller = None if request.state.seen is None else request.state.seen.caller


def refuse_foreign(request: Request) -> None:
    """Refuse a form that another site had the browser send."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        foreign = site not in ("same-origin", "none")
    else:
        origin = request.headers.get("origin")
        foreign = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if foreign:
        raise Problem("forbidden", "a change must be sent from a page of this service")


def refuse_forged(request: Request, sent: str) -> None:
    """Refuse a form without the token of this session."""
    found: SignedIn | None = request.state.seen
    if found is None or not hmac.compare_digest(found.form_token.encode(), sent.encode("utf-8", "replace")):
        raise Problem("forbidden", "the form is of an older session; open the page anew and send it again")


async def form(request: Request) -> dict[str, Any]:
    """The fields of a small form; a field that stands several times gives a list."""
    if media_type(request) != FORM_TYPE:
        raise Problem("unsupported-media-type", f"a form must come as {FORM_TYPE}")
    body = await receive(request, request.app.state.settings, FORM)
    try:
        text = body.whole().decode("utf-8")
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=200, errors="strict")
    except (UnicodeDecodeError, ValueError):
        raise Problem("bad-request", "the form cannot be read") from None
    finally:
        body.close()
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if "\0" in value:
            raise Problem("invalid", f"{name[:40]} must have no NUL character")
        value = value.replace("\r\n", "\n")
        if name not in fields:
            fields[name] = value
        else:
            before = fields[name]
            fields[name] = [*before, value] if isinstance(before, list) else [before, value]
    return fields


def one(fields: dict[str, Any], name: str, most: int = 200) -> str:
    """A field that stands once; empty where it does not stand at all."""
    value = fields.get(name, "")
    if not isinstance(value, str) or len(value) > most:
        raise Problem("invalid", f"{name} must stand once and have at most {most} characters")
    return value.strip()


def several(fields: dict[str, Any], name: str) -> list[str]:
    """A field that may stand several times."""
    value = fields.get(name, [])
    return [value] if isinstance(value, str) else list(value)


def inside(place: str) -> str:
    """An address of this site that somebody wants to go to; the account page where it is none of ours."""
    return place if _PLACE.fullmatch(place) else "/account"


def to_sign_in(request: Request) -> Response:
    """On to the page for signing in, and back from there."""
    here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return go(f"/sign-in?next={quote(here, safe='/')}")


def go(place: str) -> Response:
    """On to another page."""
    return Response(status_code=303, headers={"Location": place, "Cache-Control": "no-store"})
