# SPDX-License-Identifier: Apache-2.0
"""What a stranger needs to verify: discovery document, keys, trust root, status list, log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from epimeter.errors import LogError, VerificationError
from epimeter.service.answers import answer
from epimeter.service.documents import documented
from epimeter.service.problems import Problem
from epimeter.trust.envelope import payload_type

area = APIRouter(tags=["trust"])
FRESH = {"Cache-Control": "public, max-age=30"}
FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}


@area.get("/.well-known/epimeter.json", summary="Where everything is", **documented(gives=dict))
def discovery(request: Request) -> Response:
    ledger = request.app.state.ledger
    issuer = ledger.registry.issuer.rstrip("/")
    policy = ledger.registry.root().log_policy(ledger.registry.log.origin)
    return answer(
        {
            "issuer": ledger.registry.issuer,
            "jwks_uri": f"{issuer}/.well-known/jwks.json",
            "trust_root": f"{issuer}/trust-root.json",
            "trust_root_versions": f"{issuer}/trust-root-{{version}}.json",
            "key_schedule": ledger.schedule(),
            "log": {
                "origin": ledger.registry.log.origin,
                "prefix": f"{issuer}/log",
                "vkeys": [key.to_vkey() for key in policy.log_keys],
            },
            "status_lists": [ledger.registry.list_id],
            "registry": f"{issuer}/v1/registry",
            "verify": f"{issuer}/v1/certificates/{{id}}/verify",
            "mapping": f"{issuer}/mapping",
            "media_types": [
                payload_type(kind) for kind in ("certificate", "registration", "status-list", "trust-root")
            ],
        },
        headers=FRESH,
    )


@area.get("/.well-known/jwks.json", summary="Keys in force", **documented(gives=dict))
def keys(request: Request) -> Response:
    return answer(request.app.state.ledger.registry.store.ring.to_jwks(datetime.now(UTC)), headers=FRESH)


@area.get("/.well-known/jwks-historical.json", summary="Keys that were in force", **documented(gives=dict))
def old_keys(request: Request) -> Response:
    ring = request.app.state.ledger.registry.store.ring
    return answer(ring.to_jwks(datetime.now(UTC), historical=True), headers=FRESH)


@area.get(
    "/trust-root-{version}.json",
    summary="A version of the trust root, signed",
    description="Each version is signed by the root keys of the one before: from the one that you pinned to the newest.",
    **documented(gives=dict, problems=("not-found", "invalid")),
)
def root_version(request: Request, version: Annotated[int, Path(ge=1, le=10**6)]) -> Response:
    try:
        data = (request.app.state.ledger.folder / f"trust-root-{version}.json").read_bytes()
    except FileNotFoundError:
        raise Problem("not-found", "the trust root has no such version") from None
    return Response(data, headers=FOREVER, media_type="application/json")


@area.get("/trust-root.json", summary="The trust root, signed", **documented(gives=dict))
def root(request: Request) -> Response:
    data = (request.app.state.ledger.folder / "trust-root.json").read_bytes()
    return Response(data, headers=FRESH, media_type="application/json")


@area.get(
    "/status/{number}", summary="A status list, signed", **documented(gives=dict, problems=("not-found", "invalid"))
)
def statuses(request: Request, number: str) -> Response:
    if number != "1":
        raise Problem("not-found", "there is one status list, 1")
    return Response(request.app.state.ledger.registry.status_file(), headers=FRESH, media_type="application/json")


@area.get("/log/checkpoint", summary="The newest checkpoint", **documented(media=("text/plain",)))
def checkpoint(request: Request) -> Response:
    data = request.app.state.ledger.registry.log.checkpoint().to_bytes()
    return Response(data, headers={"Cache-Control": "no-store"}, media_type="text/plain; charset=utf-8")


@area.get(
    "/log/tile/{path:path}",
    summary="A tile of the log, or a bundle of its entries",
    **documented(media=("application/octet-stream",), problems=("not-found", "invalid")),
)
def tile(request: Request, path: str) -> Response:
    log: Any = request.app.state.ledger.registry.log
    try:
        data = log.tile(f"tile/{path}")
    except (LogError, VerificationError):
        raise Problem("not-found", "the log has no such tile") from None
    return Response(data, headers=FOREVER, media_type="application/octet-stream")
