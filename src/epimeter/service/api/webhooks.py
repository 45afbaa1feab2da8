# SPDX-License-Identifier: Apache-2.0
"""Webhook endpoints: made, listed, removed, and what was sent to them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from epimeter.service.access import Known
from epimeter.service.answers import answer
from epimeter.service.bodies import read_as, small_body
from epimeter.service.documents import documented
from epimeter.service.mail import recipient
from epimeter.service.paging import Cursor, Limit, cut, links, place
from epimeter.service.problems import Problem
from epimeter.service.schemas import (
    DeliveryLine,
    DeliveryPage,
    NewWebhook,
    WebhookLine,
    WebhookPage,
    WebhookRequest,
)
from epimeter.service.secrets import shown_secret, webhook_secret
from epimeter.store import journal, webhooks
from epimeter.store.moments import new_id, now, written

area = APIRouter(tags=["webhooks"])
Raw = Annotated[bytes, Depends(small_body)]
MOST = 20


@area.post(
    "/v1/webhooks",
    summary="Be told of events",
    description="Messages are signed after Standard Webhooks. The address must be on the public internet, or mailto: and an "
    "e-mail address where the operator has set an SMTP server.",
    **documented(
        gives=NewWebhook,
        status=201,
        reads=WebhookRequest,
        scope="webhooks:write",
        problems=("conflict", "too-large", "unsupported-media-type"),
    ),
)
def make(request: Request, caller: Known, raw: Raw) -> Response:
    wanted = read_as(WebhookRequest, raw)
    state = request.app.state
    if wanted.url.startswith("mailto:"):
        host = recipient(wanted.url, state.settings).partition("@")[2]
    else:
        _, host, port, _ = state.guard.check(wanted.url)
        state.guard.address(host, port)
    id, at = new_id("wh_"), now()
    with state.store.writing() as db:
        if webhooks.count(db, caller.organization) >= MOST:
            raise Problem("conflict", f"an organisation has at most {MOST} webhooks")
        events: list[str] = sorted(set(wanted.events))
        webhooks.add(db, id=id, organization=caller.organization, url=wanted.url, events=events, at=at)
        journal.note(
            db, organization=caller.organization, actor=caller.key_id, action="webhook.made", subject=id, host=host
        )
    shown = NewWebhook(
        id=id,
        url=wanted.url,
        events=events,
        created_at=written(at) or "",
        disabled_at=None,
        failures=0,
        secret=shown_secret(webhook_secret(state.secrets.pepper, id)),
    )
    return answer(shown, 201, {"Location": f"/v1/webhooks/{id}/deliveries", "Cache-Control": "no-store"})


@area.get(
    "/v1/webhooks",
    summary="List webhooks",
    **documented(gives=WebhookPage, scope="webhooks:write", headers=("Link",)),
)
def listing(request: Request, caller: Known, limit: Limit = 50, cursor: Cursor = None) -> Response:
    with request.app.state.store.reading() as db:
        rows = webhooks.of(db, caller.organization, place(cursor), limit + 1)
    rows, next_ = cut(rows, limit)
    page = WebhookPage([_line(row) for row in rows], next_)
    return answer(page, headers=links("/v1/webhooks", {"limit": limit}, next_))


def _line(row: Any) -> WebhookLine:
    return WebhookLine(
        id=row["id"],
        url=row["url"],
        events=row["events"].split(),
        created_at=written(row["created_at"]) or "",
        disabled_at=written(row["disabled_at"]),
        failures=row["failures"],
    )


@area.delete(
    "/v1/webhooks/{webhook_id}",
    summary="Remove a webhook",
    **documented(status=204, scope="webhooks:write", problems=("not-found",)),
)
def remove(request: Request, caller: Known, webhook_id: str) -> Response:
    with request.app.state.store.writing() as db:
        if not webhooks.remove(db, caller.organization, webhook_id):
            raise Problem("not-found", "no webhook of yours has this id")
        journal.note(
            db, organization=caller.organization, actor=caller.key_id, action="webhook.removed", subject=webhook_id
        )
    return Response(status_code=204)


@area.get(
    "/v1/webhooks/{webhook_id}/deliveries",
    summary="What was sent to a webhook",
    **documented(gives=DeliveryPage, scope="webhooks:write", problems=("not-found",)),
)
def deliveries(request: Request, caller: Known, webhook_id: str, limit: Limit = 50) -> Response:
    with request.app.state.store.reading() as db:
        if not webhooks.owned(db, caller.organization, webhook_id):
            raise Problem("not-found", "no webhook of yours has this id")
        rows = webhooks.sent_to(db, caller.organization, webhook_id, limit)
    lines = [
        DeliveryLine(
            id=row["id"],
            event=row["event"],
            state=row["state"],
            attempts=row["attempts"],
            created_at=written(row["created_at"]) or "",
            last_answer=row["last_answer"],
        )
        for row in rows
    ]
    return answer(DeliveryPage(lines))
