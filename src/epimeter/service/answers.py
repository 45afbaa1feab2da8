# SPDX-License-Identifier: Apache-2.0
"""Answers as bytes, and requests that may be sent twice."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

import msgspec
from fastapi import Request
from fastapi.responses import Response
from sqlalchemy import Connection

from epimeter.service.access import Caller
from epimeter.service.problems import Problem
from epimeter.store import Store, idempotency
from epimeter.store.moments import SECOND, new_id, now

_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def answer(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """A value as a JSON response."""
    return Response(msgspec.json.encode(value), status, headers=headers, media_type="application/json")


Work = Callable[[Connection], tuple[int, bytes, str | None]]
"""Changes the store and gives status, body and Location of the answer."""


def once(request: Request, store: Store, caller: Caller, fingerprint: bytes, prepare: Callable[[], Work]) -> Response:
    """Do a request's work, once for each `Idempotency-Key`.

    `fingerprint` is the digest of the body. `prepare` does what needs no transaction; what it returns runs inside one,
    together with keeping the answer.
    """
    key = request.headers.get("idempotency-key")
    if key is None:
        return _done(store, prepare(), None)
    fingerprint = _of_request(request, fingerprint)
    if not _KEY.fullmatch(key):
        raise Problem("bad-request", "Idempotency-Key must have 1 to 255 visible ASCII characters")
    mine = {
        "organization": caller.organization,
        "path": request.url.path,
        "key": key,
        "holder": new_id("", 20),
    }
    with store.writing() as db:
        lease = int(request.app.state.settings.request_lease * SECOND)
        found = idempotency.claim(db, **mine, fingerprint=fingerprint, at=now(), lease=lease)
    if found is not None:
        return _replayed(found, fingerprint)
    try:
        return _done(store, prepare(), mine)
    except BaseException:
        with store.writing() as db:
            idempotency.release(db, **mine)
        raise


def _of_request(request: Request, body: bytes) -> bytes:
    """What makes a request the same one: method, path, query, how its body is to be read, and the body's own digest."""
    said = (request.method, request.url.path, request.url.query)
    read_as = (request.headers.get("content-type", ""), request.headers.get("content-encoding", ""))
    made = hashlib.sha256()
    for part in (*said, *read_as):
        text = part.encode("utf-8", "surrogateescape")
        made.update(len(text).to_bytes(8, "big") + text)
    made.update(body)
    return made.digest()


def _done(store: Store, work: Work, mine: dict[str, str] | None) -> Response:
    with store.writing() as db:
        status, body, location = work(db)
        if mine is not None and not idempotency.answer(db, **mine, status=status, body=body, location=location):
            raise Problem("in-flight", "this idempotency key was taken over by another request; nothing was done here")
    headers = {} if location is None else {"Location": location}
    return Response(body, status, headers=headers, media_type="application/json")


def _replayed(found: Any, fingerprint: bytes) -> Response:
    if bytes(found["fingerprint"]) != fingerprint:
        raise Problem("key-reused", "this Idempotency-Key came with another request before; use a new one")
    if found["status"] is None:
        raise Problem(
            "in-flight", "the first request with this Idempotency-Key is not done yet", headers={"Retry-After": "1"}
        )
    headers = {"Idempotency-Replayed": "true"}
    if found["location"]:
        headers["Location"] = found["location"]
    return Response(bytes(found["body"]), found["status"], headers=headers, media_type="application/json")
