# SPDX-License-Identifier: Apache-2.0
"""The reference of the API, made from the OpenAPI document of this very service."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from fastapi import APIRouter, Request

from epimeter.service.problems import Problem
from epimeter.web.page import HOUR, POLICY, Facts, page

area = APIRouter(include_in_schema=False)
METHODS = ("get", "post", "put", "patch", "delete")
TRYING = POLICY.replace("default-src 'none';", "default-src 'none'; script-src 'self'; connect-src 'self';")
"""The policy of the pages with requests to try: one file of ours runs, and asks nobody but this service."""


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


@page(area, "/docs", "docs.html", cache=HOUR)
def reference(request: Request) -> Facts:
    """All operations in a list, by area."""
    document = request.app.openapi()
    return {
        "title": document["info"]["title"],
        "api_version": document["info"]["version"],
        "description": document["info"]["description"],
        "areas": [
            {
                "name": name,
                "slug": _slug(name),
                "operations": [{key: one[key] for key in ("method", "path", "summary", "slug")} for one in found],
            }
            for name, found in _areas(document).items()
        ],
    }


@page(area, "/docs/schemas", "schemas.html", cache=HOUR)
def schemas(request: Request) -> Facts:
    """Every body and answer, in a list."""
    found = request.app.openapi()["components"]["schemas"]
    return {"schemas": [_schema(name, found[name]) for name in sorted(found)]}


@page(area, "/docs/schemas/{name}", "schema.html", cache=HOUR)
def schema(request: Request, name: str) -> Facts:
    """One body or answer, field by field."""
    found = request.app.openapi()["components"]["schemas"]
    if name not in found:
        raise Problem("not-found", "the reference has no such body or answer")
    return {"schema": _schema(name, found[name])}


@page(area, "/docs/{slug}", "area.html", cache=HOUR, policy=TRYING)
def operations(request: Request, slug: str) -> Facts:
    """The operations of one area, whole, each to be tried from the page."""
    issuer = request.app.state.ledger.registry.issuer.rstrip("/")
    for name, found in _areas(request.app.openapi()).items():
        if _slug(name) == slug:
            return {"name": name, "slug": slug, "operations": [one | {"curl": _curl(issuer, one)} for one in found]}
    raise Problem("not-found", "the reference has no such part")


def _areas(document: Facts) -> dict[str, list[Facts]]:
    made: dict[str, list[Facts]] = {}
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                operation = methods[method]
                made.setdefault(operation.get("tags", ["other"])[0], []).append(_operation(method, path, operation))
    return made


def _operation(method: str, path: str, operation: Facts) -> Facts:
    content = operation.get("requestBody", {}).get("content", {})
    return {
        "method": method.upper(),
        "path": path,
        "slug": _slug(f"{method} {path}"),
        "summary": operation.get("summary", ""),
        "description": operation.get("description", ""),
        "scope": operation.get("x-scope", "public"),
        "parameters": [
            {
                "name": one["name"],
                "in": one["in"],
                "required": one.get("required", False),
                "type": kind_of(one.get("schema", {})),
                "description": one.get("description", ""),
            }
            for one in operation.get("parameters", [])
        ],
        "bodies": [
            {
                "media": media,
                "type": kind_of(one.get("schema", {})),
                "example": one.get("example"),
                "text": _text(one.get("example")),
            }
            for media, one in content.items()
        ],
        "responses": [
            {
                "status": status,
                "description": one.get("description", "").rstrip("."),
                "media": [
                    {"media": media, "type": kind_of(inner.get("schema", {})), "example": inner.get("example")}
                    for media, inner in one.get("content", {}).items()
                ],
                "headers": sorted(one.get("headers", {})),
            }
            for status, one in sorted(operation.get("responses", {}).items())
        ],
    }


def _text(example: Any) -> str:
    """An example as it would be sent."""
    if example is None or isinstance(example, str):
        return example or ""
    return msgspec.json.format(msgspec.json.encode(example), indent=2).decode("utf-8")


def _curl(issuer: str, one: Facts) -> str:
    """The request for a command line."""
    words = ["curl"] if one["method"] == "GET" else ["curl", "-X", one["method"]]
    if one["scope"] != "public":
        words += ["-H", '"x-api-key: $EPIMETER_KEY"']
    if one["bodies"]:
        words += ["-H", f"'Content-Type: {one['bodies'][0]['media']}'", "--data-binary", "@body"]
    needed = [
        f"{field['name']}={{{field['name']}}}"
        for field in one["parameters"]
        if field["in"] == "query" and field["required"]
    ]
    return " ".join([*words, f"'{issuer}{one['path']}{'?' if needed else ''}{'&'.join(needed)}'"])


def _schema(name: str, schema: Facts) -> Facts:
    required = set(schema.get("required", ()))
    return {
        "name": name,
        "description": schema.get("description", ""),
        "type": kind_of(schema) if "properties" not in schema else [{"text": "object"}],
        "fields": [
            {
                "name": field,
                "type": kind_of(one),
                "required": field in required,
                "description": one.get("description", ""),
                "default": one.get("default"),
                "has_default": "default" in one,
            }
            for field, one in schema.get("properties", {}).items()
        ],
    }


def kind_of(schema: Facts) -> list[Facts]:
    """The type that a schema describes, as pieces of text, some of which name another schema."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return [{"text": name, "schema": name}]
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return _joined([kind_of(one) for one in schema[word]], " or " if word != "allOf" else " and ")
    if "enum" in schema:
        return [{"text": " or ".join(repr(one) for one in schema["enum"])}]
    if "const" in schema:
        return [{"text": repr(schema["const"])}]
    if schema.get("type") == "array":
        return [{"text": "list of "}, *kind_of(schema.get("items", {})), *_limits(schema)]
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return [{"text": "object of "}, *kind_of(schema["additionalProperties"])]
    named = schema.get("type", "anything")
    text = " or ".join(named) if isinstance(named, list) else named
    return [{"text": text if "format" not in schema else f"{text} ({schema['format']})"}, *_limits(schema)]


LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "minLength": "{} characters at least",
    "maxLength": "{} characters at most",
    "minItems": "{} items at least",
    "maxItems": "{} items at most",
    "pattern": "matching {}",
}


def _limits(schema: Facts) -> list[Facts]:
    said = [words.format(schema[name]) for name, words in LIMITS.items() if name in schema]
    return [{"text": f", {', '.join(said)}"}] if said else []


def _joined(parts: list[list[Facts]], between: str) -> list[Facts]:
    made: list[Any] = []
    for part in parts:
        made += [{"text": between}, *part] if made else part
    return made
