# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document, made from the routes and the schemas: nobody types it twice."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import msgspec
from fastapi import Depends, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import Response

from epimeter import __version__
from epimeter.service import schemas
from epimeter.service.access import anybody, needs
from epimeter.service.examples import EXAMPLES
from epimeter.service.problems import KINDS, MEDIA_TYPE
from epimeter.service.query import known_query
from epimeter.service.schemas.certificate import Certificate
from epimeter.service.schemas.fields import describe
from epimeter.service.schemas.signed import refer, signed_components

REF = "#/components/schemas/{name}"
ALWAYS = ("rate-limited", "internal", "unavailable", "bad-request", "headers-too-large", "too-slow")
OPEN = ("unauthenticated", "invalid")
KEYED = ("unauthenticated", "forbidden", "invalid")
CHANGING = ("out-of-space",)
BINARY = {"type": "string", "format": "binary"}
TAKEN: dict[str, dict[str, Any]] = {
    "Idempotency-Key": {
        "description": "Makes the request safe to send again: for a day the same key gives the same answer.",
        "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
    },
    "Content-Encoding": {
        "description": "How the body is packed.",
        "schema": {"type": "string", "enum": ["identity", "gzip", "zstd"]},
    },
    "Last-Event-ID": {
        "description": "The signal_id after which the stream goes on.",
        "schema": {"type": "string", "maxLength": 80},
        "example": "SIG-20261115-060000",
    },
}
"""Headers of requests that routes look at, besides the key."""
PLACES = {
    "certificate_id": "Id of the certificate, such as ONTO-CERT-2026-7Q4MK8ZD2N0R5TVX.",
    "evaluation_id": "Id of the evaluation, such as eval_AWEH6ETJ9CTS4QRWAEXE.",
    "job_id": "Id of the job, from the evaluation that it works on.",
    "key_id": "Id of the key, as the list of keys shows it; never the key itself.",
    "kind": "The kind of problem: the last part of its `type`.",
    "name": "Name of the metric.",
    "number": "Number of the status list, from the certificate.",
    "organization_id": "Id of the organisation.",
    "path": "Which tile: level and index, after c2sp.org/tlog-tiles.",
    "registration_id": "Id of the pre-registration.",
    "system_id": "Id of the system, chosen by its organisation.",
    "version": "Version of the trust root, counted from 1.",
    "webhook_id": "Id of the webhook.",
}
"""What stands in the paths of routes."""
_types: dict[str, type] = {"ProblemDocument": schemas.ProblemDocument}


def documented(
    *,
    gives: type | None = None,
    status: int = 200,
    reads: type | None = None,
    problems: Sequence[str] = (),
    scope: str | None = None,
    media: Sequence[str] = ("application/json",),
    also: dict[int, type] | None = None,
    bodies: dict[str, Any] | None = None,
    headers: Sequence[str] = (),
    takes: Sequence[str] = (),
    unguarded: bool = False,
) -> dict[str, Any]:
    """What a route says of itself, and whom it lets in.

    Parameters
    ----------
    gives, status, also
        The type of the answer; further answers by status.
    reads, bodies
        The type of a JSON body; or bodies by media type.
    problems
        Kinds of problems besides those that every route has.
    scope
        What a key must have; None lets everybody in.
    media
        Media types of the answer.
    headers, takes
        Headers of the answer; headers of the request that matter here.
    unguarded
        Neither a key nor the query is looked at, and no limit counted: for those who watch whether the service lives.
    """
    responses: dict[int | str, Any] = {}
    for code, kind in ({status: gives} | (also or {})).items():
        responses[code] = {"description": _first_line(kind), "headers": _headers(scope, headers)}
        if kind is not None:
            responses[code]["content"] = {"application/json": _content(kind)}
        elif code != 204:
            responses[code]["content"] = {one: {"schema": _of_media(one)} for one in media}
    # A wrong key and an unknown parameter are refused also where none is needed.
    guarded = KEYED if scope else () if unguarded else OPEN
    changing = CHANGING if reads or bodies or status == 204 else ()
    for name in dict.fromkeys([*problems, *guarded, *changing, *ALWAYS]):
        _add_problem(responses, name)
    extra: dict[str, Any] = {"x-scope": scope or "public"}
    extra["security"] = [{"apiKey": []}, {"bearer": []}] if scope else [{}, {"apiKey": []}]
    if takes:
        extra["parameters"] = [{"name": name, "in": "header", "required": False, **TAKEN[name]} for name in takes]
    if reads is not None:
        extra["requestBody"] = {"required": True, "content": {"application/json": _content(reads)}}
    elif bodies is not None:
        extra["requestBody"] = {"required": True, "content": bodies}
    return {
        "response_model": None,
        "response_class": Response,
        "status_code": status,
        "responses": responses,
        "openapi_extra": extra,
        # Whoever watches may add words of his own to the path; a service is not dead for that.
        "dependencies": [] if unguarded else [Depends(needs(scope) if scope else anybody), Depends(known_query)],
    }


def _of_media(name: str) -> dict[str, Any]:
    """The schema of an answer that has no type."""
    if name == "application/json":
        return {"type": "object"}
    return {"type": "string"} if name.startswith("text/") or name.endswith("xml") else dict(BINARY)


def _add_problem(responses: dict[int | str, Any], name: str) -> None:
    kind = KINDS[name]
    found = responses.setdefault(
        kind.status,
        {
            "description": kind.title,
            "content": {MEDIA_TYPE: {"schema": {"$ref": REF.format(name="ProblemDocument")}, "examples": {}}},
        },
    )
    example = {
        "type": f"/problems/{name}",
        "title": kind.title,
        "status": kind.status,
        "detail": kind.advice,
        "instance": "/v1/evaluate",
        "trace": "5f0c1e7a9b3d4c2e",
    }
    found["content"].setdefault(MEDIA_TYPE, {"schema": {"$ref": REF.format(name="ProblemDocument")}, "examples": {}})
    found["content"][MEDIA_TYPE]["examples"][name] = {"value": example}
    if kind.status in (429, 503):
        found["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "seconds to wait"}}


def content_of(kind: type) -> dict[str, Any]:
    """The schema of a type."""
    return _content(kind)


def _content(kind: type) -> dict[str, Any]:
    if kind is dict:
        return {"schema": {"type": "object"}}
    if kind is not Certificate:
        _types[kind.__name__] = kind
    return {"schema": {"$ref": REF.format(name=kind.__name__)}}


def _headers(scope: str | None, more: Sequence[str]) -> dict[str, Any]:
    names = ["X-Request-Id", *(["RateLimit", "RateLimit-Policy"] if scope else []), *more]
    return {name: {"schema": {"type": "string"}} for name in names}


def _first_line(kind: type | None) -> str:
    if kind is None or kind is dict:  # what Python says of its own types is nothing that a caller asks about
        return "Done" if kind is None else "A JSON object"
    return (kind.__doc__ or kind.__name__).split("\n")[0]


def install(app: FastAPI) -> None:
    """Let an app publish this document at /openapi.json."""
    making = threading.Lock()

    def openapi() -> dict[str, Any]:
        # By one thread, for the others to wait: it takes a while, and Python 3.11 parses source in one thread at a time.
        with making:
            if app.openapi_schema is None:
                app.openapi_schema = _document(app)
            return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _add_examples(made: dict[str, Any]) -> None:
    """Examples go in last: the framework would take the nulls out of them."""
    for path, methods in made["paths"].items():
        for method, operation in methods.items():
            found = EXAMPLES.get(f"{method.upper()} {path}", {})
            for content in operation.get("requestBody", {}).get("content", {}).values():
                if "example" not in content and "request" in found and content["schema"].get("format") != "binary":
                    content["example"] = found["request"]
            for code, example in found.get("responses", {}).items():
                media = next(iter(operation["responses"][code]["content"].values()))
                media["example"] = example


def _document(app: FastAPI) -> dict[str, Any]:
    made = get_openapi(
        title="epimeter",
        version=__version__,
        summary="Measures what AI systems claim to know, and certifies it.",
        description=(
            "The API of ONTO-ERS 1.0.0, section 6, and the registry. Errors are problem+json (RFC 9457). Send an API "
            "key as `x-api-key` or `Authorization: Bearer`. The RateLimit headers follow an IETF draft."
        ),
        routes=app.routes,
        openapi_version="3.1.0",
    )
    _add_examples(made)
    for methods in made["paths"].values():
        for operation in methods.values():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path":
                    parameter["description"] = PLACES[parameter["name"]]
    _, components = msgspec.json.schema_components(list(_types.values()), ref_template=REF)
    describe(components, _types.values())
    refer(components, REF)
    made.setdefault("components", {})["schemas"] = components | signed_components(REF)
    made["components"]["securitySchemes"] = {
        "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
        "bearer": {"type": "http", "scheme": "bearer"},
    }
    return made
