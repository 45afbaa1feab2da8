# SPDX-License-Identifier: Apache-2.0
"""A page and its JSON twin: one function gives the facts, a template shows them.

Nothing on a page runs: no script, no style attribute, nothing from another host, and the policy in the header says so. Text that
people wrote is escaped wherever it stands, and characters that nobody would see are written out by their number.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import unicodedata
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from typing import Annotated, Any

import jinja2
import msgspec
from fastapi import APIRouter, Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from markupsafe import Markup

from epimeter import __version__
from epimeter.service.access import anybody
from epimeter.web.session import form, known, one, refuse_foreign, refuse_forged, visiting

POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
LIVE = "public, no-cache"
"""Kept by whoever likes, and asked for anew each time: a status is shown live, or not at all."""
HOUR = "public, max-age=3600"
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
_BLANK = "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Letters by their class that are drawn as nothing."""
Facts = dict[str, Any]
Fields = Annotated[dict[str, Any], Depends(form)]


def visible(value: Any) -> Any:
    """A text with what nobody would see written out; anything else as it is."""
    if not isinstance(value, str) or isinstance(value, Markup) or (value.isascii() and value.isprintable()):
        return value
    return "".join(
        f"\u27e8U+{ord(letter):04X}\u27e9"
        if letter not in "\n\t" and (letter in _BLANK or unicodedata.category(letter) in _HIDDEN)
        else letter
        for letter in value
    )


def _day(moment: str | None) -> str:
    return "" if moment is None else moment[:10]


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode("utf-8")


def _marked(text: str) -> Markup:
    """A description of the reference, with what stands between backticks as code."""
    parts = str(text).split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 and place < len(parts) - 1 else part
        for place, part in enumerate(parts)
    )


def _templates() -> jinja2.Environment:
    def load(name: str) -> str | None:
        file = files("epimeter") / "web" / "templates" / name
        return file.read_text(encoding="utf-8") if file.is_file() else None

    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(load),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
        auto_reload=False,
    )
    made.filters |= {"day": _day, "marked": _marked, "pretty": _json}
    made.globals |= {"version": __version__}
    return made


_environment = _templates()


def html(request: Request) -> bool:
    """Whether the caller would rather read HTML than JSON."""
    if request.url.path.endswith(".json"):
        return False
    weights = {"text/html": 0.0, "application/json": 0.0}
    for part in request.headers.get("accept", "").split(","):
        name, *more = (piece.strip().lower() for piece in part.split(";"))
        weight = next((piece[2:] for piece in more if piece.startswith("q=")), "1")
        try:
            value = float(weight)
        except ValueError:
            value = 0.0
        for media in weights:
            if name == media or (name == "application/xhtml+xml" and media == "text/html"):
                weights[media] = max(weights[media], value)
    return weights["text/html"] > weights["application/json"]


def render(request: Request, template: str, facts: Mapping[str, Any]) -> str:
    """The text of a page."""
    registry, seen = request.app.state.ledger.registry, getattr(request.state, "seen", None)
    site = {
        "issuer": registry.issuer,
        "path": request.url.path,
        # Printed below a page, so that the paper leads back to it; nothing of a way in belongs there.
        "query": "" if request.url.path.startswith("/sign-in") else request.url.query,
        "member": None,
        "token": "",
    }
    if seen is not None:
        site |= {"member": seen.caller, "token": seen.form_token}
    return _environment.get_template(template).render(**facts, site=site)


def shown(
    request: Request, template: str, facts: Mapping[str, Any], status: int = 200, policy: str = POLICY
) -> Response:
    """A page as an answer that nobody keeps."""
    headers = {"Cache-Control": "no-store", "Content-Security-Policy": policy}
    text = render(request, template, facts)
    return Response(text, status, headers=headers, media_type="text/html; charset=utf-8")


def same(request: Request, answer: Response) -> Response:
    """The answer, with an ETag by which it need not be sent twice."""
    tag = f'"{hashlib.sha256(bytes(answer.body)).hexdigest()[:32]}"'
    answer.headers["ETag"] = tag
    known = [one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(",")]
    if tag not in known and "*" not in known:
        return answer
    # The policy too: a browser puts the headers of this answer in the place of those it kept.
    kept = {name: value for name, value in answer.headers.items() if name not in ("content-length", "content-type")}
    return Response(status_code=304, headers=kept)


def page(
    area: APIRouter,
    path: str,
    template: str,
    *,
    twin: str | None = None,
    cache: str = LIVE,
    scopes: tuple[str, ...] | None = None,
    visitors: bool = False,
    policy: str = POLICY,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function gives the facts of a page, which is HTML, or JSON for who asks for it or adds `.json`.

    With `scopes` the page is for whoever is signed in and has one of them, and nobody keeps it. With `visitors` it is for
    everybody, and shows more to whoever is signed in.
    """
    entered = known(*scopes) if scopes is not None else visiting if visitors else anybody

    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def answer_of(request: Request, facts: Facts) -> Response:
            private = getattr(request.state, "seen", None) is not None or scopes is not None
            twin_asked = request.url.path.endswith(".json") or "json" in request.headers.get("accept", "")
            if html(request) or not twin_asked:
                answer = shown(request, template, facts, policy=policy)
            else:
                answer = Response(msgspec.json.encode(facts), media_type="application/json")
            vary = "Accept" if entered is anybody else "Accept, Cookie"
            answer.headers.update({"Cache-Control": "no-store" if private else cache, "Vary": vary})
            return answer if private else same(request, answer)

        @functools.wraps(function)
        def answered(request: Request, **words: Any) -> Response:
            return answer_of(request, function(request=request, **words))

        @functools.wraps(function)
        async def awaited(request: Request, **words: Any) -> Response:
            waited: Any = function(request=request, **words)
            return await run_in_threadpool(answer_of, request, await waited)

        for address in (twin or f"{path}.json", path):
            area.add_api_route(
                address,
                awaited if inspect.iscoroutinefunction(function) else answered,
                methods=["GET", "HEAD"],
                dependencies=[Depends(entered)],
                response_model=None,
                response_class=Response,
                include_in_schema=False,
            )
        return function

    return made


Change = Callable[..., Response | Awaitable[Response]]


def change(area: APIRouter, path: str, *scopes: str) -> Callable[[Change], Change]:
    """A decorator: the function does what a form of a member's page asks for, and says where to go then."""

    def made(function: Change) -> Change:
        @functools.wraps(function)
        async def answered(request: Request, fields: Fields, **words: Any) -> Response:
            refuse_forged(request, one(fields, "token"))
            if inspect.iscoroutinefunction(function):
                done: Response = await function(request=request, fields=fields, **words)
                return done
            plain: Any = function
            made: Response = await run_in_threadpool(plain, request=request, fields=fields, **words)
            return made

        area.add_api_route(
            path,
            answered,
            methods=["POST"],
            dependencies=[Depends(refuse_foreign), Depends(known(*scopes))],
            response_model=None,
            response_class=Response,
            include_in_schema=False,
        )
        return function

    return made
