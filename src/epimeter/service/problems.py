# SPDX-License-Identifier: Apache-2.0
"""Every error of the service, in one shape: problem+json (RFC 9457).

`type` is a page of this service that explains the kind of problem; `detail` says what happened, in one sentence; `errors`
points at the places in the body; `trace` finds the request in the server's log.
"""

from __future__ import annotations

import errno
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from sqlalchemy.exc import DataError, DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException

from epimeter.errors import EpimeterError, InputError, TrustError, UndefinedMetricError, VerificationError

MEDIA_TYPE = "application/problem+json"
LONGEST = 2000
"""Characters of a sentence; one that quotes what came would otherwise be as long as the caller likes."""
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
log = logging.getLogger("epimeter.service")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem: its HTTP status, its title, what to do about it."""

    status: int
    title: str
    advice: str


KINDS = {
    "bad-request": Kind(400, "Request cannot be understood", "Check headers, encoding and framing of the request."),
    "unauthenticated": Kind(401, "A key is needed", "Send an API key as x-api-key or as Authorization: Bearer."),
    "forbidden": Kind(403, "The key may not do this", "Use a key with the scope that the endpoint names."),
    "not-found": Kind(404, "No such thing", "Check the path and the id; what belongs to others is not shown."),
    "method-not-allowed": Kind(405, "Method not allowed", "The Allow header lists the methods of this path."),
    "not-acceptable": Kind(406, "No such representation", "Ask for one of the media types that the endpoint lists."),
    "too-slow": Kind(408, "The body came too slowly", "Send the body without pauses, or compress it."),
    "conflict": Kind(409, "Not in this state", "The detail says what stands in the way."),
    "in-flight": Kind(409, "The same request is being worked on", "Wait a moment and send it again."),
    "too-large": Kind(413, "The body is too large", "Send NDJSON, Arrow or Parquet, or fewer rows at a time."),
    "unsupported-media-type": Kind(415, "This media type is not read", "See the media types in the documentation."),
    "invalid": Kind(422, "The content is not valid", "Mend what detail and errors name, and send it again."),
    "too-costly": Kind(422, "This would take too long", "Send fewer rows, or leave out the metrics that detail names."),
    "key-reused": Kind(422, "Idempotency key used for another request", "Use a new Idempotency-Key for a new request."),
    "rate-limited": Kind(429, "Too many requests", "Wait as long as Retry-After says."),
    "quota-used-up": Kind(429, "The month's evaluations are used up", "Wait for the next month, or change the tier."),
    "headers-too-large": Kind(431, "The headers are too large", "Send fewer or shorter headers."),
    "internal": Kind(500, "A fault of the service", "Report the trace id; nothing was changed by the request."),
    "unavailable": Kind(503, "Not available at the moment", "Wait as long as Retry-After says and send it again."),
    "out-of-space": Kind(507, "No space left", "The operator must make room; nothing was changed by the request."),
}


class Problem(Exception):
    """A refusal on its way to the caller.

    Parameters
    ----------
    kind
        A key of `KINDS`.
    detail
        One sentence.
    errors
        Places in the body: pairs of a JSON pointer and a sentence.
    """

    def __init__(
        self,
        kind: str,
        detail: str,
        *,
        errors: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.kind = kind
        self.detail = shortened(detail)
        self.errors = [(shortened(pointer), shortened(sentence)) for pointer, sentence in errors]
        super().__init__(self.detail)
        self.headers = dict(headers or {})

    @property
    def status(self) -> int:
        return KINDS[self.kind].status


SPOKEN = (
    (r"Say --logits \(logits=True\), or apply", "Apply"),
    (r"Name it with --column (\w+)=NAME", r"Call it \1"),
    (r"Name the columns of one of them, as --column \w+=NAME", "Leave the columns of the others out"),
    (r"; name others with --column \w+=NAME", ""),
    (r"Choose with --column (\w+)=NAME", r"Call one of them \1 and leave the others out"),
    (
        r"Give --taxonomy (.*), or \[unknowns\] in the file of --declare",
        r"Give it in declaration.unknowns.taxonomy: \1",
    ),
    (r": evaluate --task distribution", ", sent as forecasts"),
    (r"`epimeter metrics( --family \w+)?` lists", "GET /v1/metrics lists"),
    (r" --([a-z]+(?:-[a-z]+)*)", lambda found: " " + found[1].replace("-", "_")),
)
"""Options of the command, and how a request says the same; those that have no words of their own are fields of the same name."""


def in_a_request(sentence: str) -> str:
    """A refusal that names options of the command, in the words of a request."""
    for option, words in SPOKEN:
        sentence = re.sub(option, words, sentence)
    return sentence


def shortened(sentence: str) -> str:
    """A sentence of bounded length: both of its ends, and how much stood between."""
    left_out = len(sentence) - LONGEST
    if left_out <= 0:
        return sentence
    return f"{sentence[: LONGEST // 2]} … ({left_out:,} characters left out) … {sentence[-LONGEST // 2 :]}"


def as_problem(fault: Exception) -> Problem:
    """Whatever was raised, as the problem the caller sees."""
    if isinstance(fault, Problem):
        return fault
    if isinstance(fault, RequestValidationError):
        errors = [(_pointer(error["loc"]), str(error["msg"])) for error in fault.errors()]
        return Problem("invalid", f"{errors[0][0]}: {errors[0][1]}", errors=errors)
    if isinstance(fault, InputError):
        sentence = in_a_request(str(fault))
        places = [] if fault.field is None else [(f"/{fault.field}", sentence)]
        return Problem("invalid", sentence, errors=places)
    if isinstance(fault, UndefinedMetricError | VerificationError):
        return Problem("invalid", in_a_request(str(fault)))
    if isinstance(fault, HTTPException):
        return _of_framework(fault)
    if isinstance(fault, OSError) and fault.errno in NO_SPACE:
        return Problem("out-of-space", "the server has no space left for this request", headers={"Retry-After": "60"})
    if isinstance(fault, DBAPIError) and _is_full(fault):
        return Problem("out-of-space", "the database has no space left", headers={"Retry-After": "60"})
    if isinstance(fault, DataError):
        return Problem("invalid", "a text or number in the request cannot be stored, as one with a NUL character")
    if isinstance(fault, OperationalError | PoolTimeout) or (
        isinstance(fault, DBAPIError) and fault.connection_invalidated
    ):
        return Problem("unavailable", "the database does not answer", headers={"Retry-After": "2"})
    if isinstance(fault, TrustError) and "disk is full" in str(fault):
        return Problem("out-of-space", "the log has no space left", headers={"Retry-After": "60"})
    if isinstance(fault, TrustError):
        log.error("trust: %s", fault)
        return Problem("unavailable", "keys or logs cannot be used at the moment", headers={"Retry-After": "10"})
    log.exception("unforeseen", exc_info=fault)
    return Problem("internal", "something went wrong that should not have; it has been written down")


def _is_full(fault: DBAPIError) -> bool:
    """Whether the database has no space left, in the words of SQLite or by the code of PostgreSQL."""
    return "disk is full" in str(fault.orig) or getattr(fault.orig, "sqlstate", None) == "53100"


def _of_framework(fault: HTTPException) -> Problem:
    by_status = {kind.status: name for name, kind in reversed(KINDS.items())}
    kind = by_status.get(fault.status_code, "bad-request")
    detail = {
        404: "nothing is here; see /openapi.json for what is",
        405: "this path has other methods; see the Allow header",
    }.get(fault.status_code, str(fault.detail))
    return Problem(kind, detail, headers=fault.headers)


def _pointer(place: Sequence[Any]) -> str:
    return "/" + "/".join(str(part) for part in place)


def body_of(problem: Problem, path: str, trace: str) -> dict[str, Any]:
    """The members of the problem document."""
    kind = KINDS[problem.kind]
    body: dict[str, Any] = {
        "type": f"/problems/{problem.kind}",
        "title": kind.title,
        "status": kind.status,
        "detail": problem.detail,
        "instance": path,
        "trace": trace,
    }
    if problem.errors:
        body["errors"] = [{"pointer": pointer, "detail": detail} for pointer, detail in problem.errors]
    return body


def answer(problem: Problem, path: str, trace: str) -> Response:
    """The problem as a response."""
    body = msgspec.json.encode(body_of(problem, path, trace))
    return Response(body, problem.status, headers=problem.headers, media_type=MEDIA_TYPE)


def install(app: FastAPI) -> None:
    """Let every fault of an app leave it as a problem."""

    def handle(request: Request, fault: Exception) -> Response:
        trace = getattr(request.state, "trace", "")
        return answer(as_problem(fault), request.url.path, trace)

    # Not `Exception` itself: the framework would raise it again after answering, and the connection would break.
    for kind in (Problem, RequestValidationError, HTTPException, EpimeterError, SQLAlchemyError, OSError):
        app.add_exception_handler(kind, handle)
