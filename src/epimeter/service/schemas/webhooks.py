# SPDX-License-Identifier: Apache-2.0
"""Webhook endpoints and the messages sent to them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from epimeter.service.schemas.words import Event


class WebhookRequest(Struct, forbid_unknown_fields=True, kw_only=True):
    """An endpoint to be told of events."""

    url: Annotated[str, Meta(min_length=1, max_length=2000)]
    events: Annotated[list[Event], Meta(min_length=1, max_length=10)]


class WebhookLine(Struct, frozen=True, kw_only=True):
    """A webhook endpoint, without its secret."""

    id: str
    url: str
    events: list[str]
    created_at: str
    disabled_at: str | None
    failures: int


class NewWebhook(WebhookLine, frozen=True, kw_only=True):
    """A webhook endpoint just made: the only time its secret is shown."""

    secret: str


class WebhookPage(Struct, frozen=True):
    """Webhook endpoints, the newest first."""

    items: list[WebhookLine]
    next: str | None


class DeliveryLine(Struct, frozen=True, kw_only=True):
    """A message to a webhook endpoint."""

    id: str
    event: str
    state: str
    attempts: int
    created_at: str
    last_answer: str | None


class DeliveryPage(Struct, frozen=True):
    """The newest messages to a webhook endpoint."""

    items: list[DeliveryLine]
