# SPDX-License-Identifier: Apache-2.0
"""The table of pages, and how faults look in a browser."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from epimeter.service import problems
from epimeter.service.access import anybody
from epimeter.service.openid import Provider
from epimeter.web import (
    account,
    admin,
    asking,
    certificate,
    comparison,
    evaluation,
    home,
    log,
    log_check,
    mapping,
    oidc,
    reference,
    registry,
    sign_in,
    system,
    upload,
    verifying,
)
from epimeter.web.page import HOUR, html, same, shown
from epimeter.web.session import to_sign_in

AREAS = (
    home.area,
    registry.area,
    certificate.area,
    system.area,
    log.area,
    log_check.area,
    mapping.area,
    verifying.area,
    asking.area,
    reference.area,
    sign_in.area,
    oidc.area,
    account.area,
    evaluation.area,
    upload.area,
    comparison.area,
    admin.area,
)
assets = APIRouter(include_in_schema=False)
STATIC = {
    "style.css": ("web/static", "text/css; charset=utf-8"),
    "blocks.css": ("documents", "text/css; charset=utf-8"),
    "log-check.js": ("web/static", "text/javascript; charset=utf-8"),
    "try-it.js": ("web/static", "text/javascript; charset=utf-8"),
    "mark.svg": ("web/static", "image/svg+xml"),
}


@assets.get("/static/{name}", dependencies=[Depends(anybody)])
def static(request: Request, name: str) -> Response:
    """The stylesheets, of the pages and of the reports within them, and the mark in the browser's tab."""
    if name not in STATIC:
        raise problems.Problem("not-found", "there is no such file")
    folder, kind = STATIC[name]
    data = (files("epimeter") / folder / name).read_bytes()
    return same(request, Response(data, headers={"Cache-Control": HOUR}, media_type=kind))


def install(app: FastAPI) -> None:
    """Put the pages into the service."""
    settings = app.state.settings
    wanted = settings.oidc or settings.oidc_client or settings.oidc_secret
    app.state.provider = Provider(settings) if wanted else None
    for area in (*AREAS, assets):
        app.include_router(area)
    for kind, handler in list(app.exception_handlers.items()):
        if handler.__module__ == problems.__name__:
            app.add_exception_handler(kind, _shown(handler))


def _shown(handler: Callable[..., Any]) -> Callable[[Request, Exception], Response]:
    """A fault as a page, for whoever asked for a page; the API's own answer for everybody else."""

    def faulty(request: Request, fault: Exception) -> Response:
        path = request.url.path
        if path.startswith("/v1/") or not html(request):
            plain: Response = handler(request, fault)
            return plain
        problem = problems.as_problem(fault)
        if problem.kind == "unauthenticated" and request.method in ("GET", "HEAD"):
            return to_sign_in(request)
        facts = problems.body_of(problem, path, getattr(request.state, "trace", ""))
        if problem.kind == "not-found" and isinstance(fault, HTTPException):
            facts["detail"] = "There is no page at this address."
        advice = problems.KINDS[problem.kind].advice
        answer = shown(request, "problem.html", facts | {"advice": advice}, problem.status)
        answer.headers.update(problem.headers)
        return answer

    return faulty
