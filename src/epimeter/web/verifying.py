# SPDX-License-Identifier: Apache-2.0
"""The verifying page, served with this registry's trust root inside and under the policy that it carries itself."""

from __future__ import annotations

import hashlib
import re
from html import unescape
from typing import Any

import msgspec
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from epimeter.service.access import anybody
from epimeter.trust.envelope import Envelope
from epimeter.trust.page import page as verifying_page
from epimeter.web.page import LIVE, Facts, html, same

area = APIRouter(include_in_schema=False)
_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]+)"')

_WAYS = (
    '<header><nav aria-label="Pages"><a href="/">epimeter registry</a> <a href="/registry">Registry</a> <a href="/log">Log</a> '
    '<a href="/docs">API</a> <a href="/account">Account</a></nav></header>'
)
"""The page stands alone where it is saved as a file; here it leads back."""
_SCRIPTLESS = (
    '<noscript><p>This registry can <a href="/verify/registry">check a certificate for you</a>, and then speaks about itself.'
    "</p></noscript>"
)


def _root(state: Any) -> bytes:
    data: bytes = (state.ledger.folder / "trust-root.json").read_bytes()
    return data


def fingerprint(state: Any) -> str:
    """The fingerprint of the trust root in force."""
    return hashlib.sha256(Envelope.from_json(_root(state)).payload).hexdigest()


@area.get("/verify", dependencies=[Depends(anybody)])
@area.get("/verify.html", dependencies=[Depends(anybody)])
def verify(request: Request) -> Response:
    """The page of `epimeter verify-page`, with the trust root pinned; its facts for whoever wants JSON."""
    if not html(request) and "json" in request.headers.get("accept", ""):
        return twin(request)
    text = verifying_page(_root(request.app.state))
    text = text.replace("<body>", f"<body>\n{_WAYS}", 1).replace("</noscript>", f"</noscript>\n{_SCRIPTLESS}", 1)
    said = _POLICY.search(text)
    assert said is not None
    policy = f"{unescape(said[1])}; frame-ancestors 'none'"
    headers = {"Cache-Control": LIVE, "Content-Security-Policy": policy, "Vary": "Accept"}
    return same(request, Response(text, headers=headers, media_type="text/html; charset=utf-8"))


@area.get("/verify.json", dependencies=[Depends(anybody)])
def twin(request: Request) -> Response:
    """What the page believes."""
    registry = request.app.state.ledger.registry
    facts: Facts = {
        "issuer": registry.issuer,
        "trust_root": "/trust-root.json",
        "fingerprint": fingerprint(request.app.state),
        "status_lists": [registry.list_id],
    }
    answer = Response(msgspec.json.encode(facts), headers={"Cache-Control": LIVE}, media_type="application/json")
    return same(request, answer)
