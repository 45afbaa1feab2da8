# SPDX-License-Identifier: Apache-2.0
"""The registry's own verdict on a certificate, step by step: for browsers that run no script, and for reading beside one's own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from epimeter.service.access import anybody
from epimeter.service.api.registry import document_of
from epimeter.trust.verify import LIMIT
from epimeter.web.page import Facts, Fields, html, page, shown
from epimeter.web.session import one

area = APIRouter(include_in_schema=False)
TEMPLATE = "asking.html"
Id = Annotated[str, Query(max_length=80)]


@page(area, "/verify/registry", TEMPLATE)
def ask(request: Request, id: Id = "") -> Facts:
    """The verdict on a certificate of this registry; without an id, a field to paste one into."""
    return _facts(request, document_of(request, id) if id else None, id)


@area.post("/verify/registry", dependencies=[Depends(anybody)])
def asked(request: Request, fields: Fields) -> Response:
    """The verdict on a certificate that was pasted, whoever issued it. Nothing is kept, and nothing changes."""
    said = one(fields, "certificate", LIMIT)
    facts = _facts(request, said.encode("utf-8") if said else None, "") | {"said": said}
    if html(request):
        return shown(request, TEMPLATE, facts)
    return Response(msgspec.json.encode(facts), media_type="application/json")


def _facts(request: Request, document: bytes | None, id: str) -> Facts:
    found = None if document is None else request.app.state.ledger.verify(document, datetime.now(UTC)).to_json()
    return {"id": id, "said": "", "found": found}
