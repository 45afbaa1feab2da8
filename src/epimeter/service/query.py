# SPDX-License-Identifier: Apache-2.0
"""The query of a request, held to the parameters that its route declares: nothing that was asked for is passed over in silence."""

from __future__ import annotations

from collections import Counter

from fastapi import Request
from fastapi.routing import APIRoute

from epimeter.service.problems import Problem


async def known_query(request: Request) -> None:
    """A dependency: every parameter of the query is one that the route has, and comes once."""
    if not request.scope["query_string"]:
        return
    route: APIRoute = request.scope["route"]
    known = [field.alias for field in route.dependant.query_params]
    for name, times in Counter(name for name, _ in request.query_params.multi_items()).items():
        pointer = f"/query/{name:.60}"
        if name not in known:
            has = (
                f"this endpoint takes {', '.join(known)}" if known else "this endpoint takes no parameter in the query"
            )
            raise _refusal(pointer, f"{has}; leave this one out")
        if times > 1:
            raise _refusal(pointer, f"a parameter must come once; this one came {times} times")


def _refusal(pointer: str, sentence: str) -> Problem:
    return Problem("invalid", f"{pointer}: {sentence}", errors=[(pointer, sentence)])
