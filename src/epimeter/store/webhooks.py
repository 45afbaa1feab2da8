# SPDX-License-Identifier: Apache-2.0
"""Webhook endpoints and deliveries: an outbox, written in the transaction of the event."""

from __future__ import annotations

from sqlalchemy import Connection, RowMapping, delete, func, insert, or_, select, text, update

from epimeter.store.bell import MESSAGES, announce
from epimeter.store.moments import SECOND, new_id
from epimeter.store.tables import deliveries, webhooks

LEASE = 60 * SECOND
LONGEST_WAIT = 36 * 3600 * SECOND
"""Longer than any wait between two tries: what waits longer was put off before the clock was set back."""


def add(db: Connection, *, id: str, organization: str, url: str, events: list[str], at: int) -> None:
    """A new endpoint."""
    words = " ".join(sorted(events))
    values = {"id": id, "organization": organization, "url": url, "events": words, "created_at": at, "failures": 0}
    db.execute(insert(webhooks).values(**values))


def of(db: Connection, organization: str, before: tuple[int, str] | None, limit: int) -> list[RowMapping]:
    """Endpoints of an organisation, the newest first."""
    query = select(webhooks).where(webhooks.c.organization == organization)
    if before is not None:
        at, id = before
        query = query.where((webhooks.c.created_at < at) | ((webhooks.c.created_at == at) & (webhooks.c.id < id)))
    return list(db.execute(query.order_by(webhooks.c.created_at.desc(), webhooks.c.id.desc()).limit(limit)).mappings())


def count(db: Connection, organization: str) -> int:
    """How many endpoints an organisation has."""
    query = select(func.count()).select_from(webhooks).where(webhooks.c.organization == organization)
    return int(db.execute(query).scalar_one())


def owned(db: Connection, organization: str, webhook: str) -> bool:
    """Whether an organisation has this endpoint."""
    mine = (webhooks.c.organization == organization, webhooks.c.id == webhook)
    return db.execute(select(webhooks.c.id).where(*mine)).first() is not None


def remove(db: Connection, organization: str, webhook: str) -> bool:
    """Forget an endpoint and what was still to be sent to it."""
    if not owned(db, organization, webhook):
        return False
    db.execute(delete(deliveries).where(deliveries.c.webhook == webhook))
    db.execute(delete(webhooks).where(webhooks.c.id == webhook))
    return True


def listening(db: Connection, organization: str, event: str) -> list[str]:
    """Endpoints that want an event."""
    query = select(webhooks.c.id, webhooks.c.events).where(
        webhooks.c.organization == organization, webhooks.c.disabled_at.is_(None)
    )
    return [id for id, events in db.execute(query) if event in events.split()]


def post(db: Connection, *, organization: str, webhook: str, event: str, body: bytes, at: int) -> None:
    """Put a message into the outbox."""
    db.execute(
        insert(deliveries).values(
            id=new_id("msg_"),
            organization=organization,
            webhook=webhook,
            event=event,
            body=body,
            state="waiting",
            attempts=0,
            created_at=at,
            not_before=at,
        )
    )
    announce(db, MESSAGES)


def any_waiting(db: Connection) -> bool:
    """Whether there is a message to send, now or later: asked without the lock of a claim."""
    return db.execute(select(deliveries.c.id).where(deliveries.c.state == "waiting").limit(1)).first() is not None


def claim(db: Connection, at: int) -> RowMapping | None:
    """The oldest message that is due, with its endpoint's address; it is the caller's for a minute.

    An organisation has one message under way at a time: whose endpoint is slow waits for himself.
    """
    if db.dialect.name == "postgresql":
        db.execute(text("SELECT pg_advisory_xact_lock(7308325)"))  # two postmen must see each other's claim
    late = or_(deliveries.c.not_before <= at, deliveries.c.not_before > at + LONGEST_WAIT)
    due = (deliveries.c.state == "waiting") & late
    # A lease far ahead is one from before the clock was set back. One a little ahead is not: who waited for the lock above took the
    # time before another's claim.
    under_way = deliveries.c.lease_until.between(at, at + 10 * LEASE)
    busy = select(deliveries.c.organization).where(deliveries.c.state == "waiting", under_way)
    free = deliveries.c.organization.not_in(busy)
    query = select(deliveries).where(due, free).order_by(deliveries.c.not_before).limit(1)
    row = db.execute(query.with_for_update(skip_locked=True)).mappings().first()
    if row is None:
        return None
    db.execute(
        update(deliveries)
        .where(deliveries.c.id == row["id"])
        .values(lease_until=at + LEASE, attempts=row["attempts"] + 1)
    )
    full = (
        select(deliveries, webhooks.c.url, webhooks.c.failures)
        .join(webhooks, webhooks.c.id == deliveries.c.webhook)
        .where(deliveries.c.id == row["id"])
    )
    return db.execute(full).mappings().one()


def delivered(db: Connection, message: str, webhook: str, answer: str) -> None:
    """A message arrived, whoever sent it."""
    db.execute(
        update(deliveries)
        .where(deliveries.c.id == message)
        .values(state="delivered", lease_until=None, last_answer=answer)
    )
    db.execute(update(webhooks).where(webhooks.c.id == webhook).values(failures=0))


def failed(
    db: Connection,
    message: str,
    webhook: str,
    answer: str,
    *,
    attempt: int,
    again_at: int | None,
    disable_at: int | None,
) -> None:
    """The attempt of that number did not arrive; it is tried again, or given up.

    Whoever was slower than his lease has nothing to say any more: another tries, or has delivered it. After many failures the
    endpoint is left alone, with everything that still waits for it.
    """
    values = {"lease_until": None, "last_answer": answer}
    values |= {"state": "failed"} if again_at is None else {"not_before": again_at}  # type: ignore[dict-item]
    mine = (deliveries.c.id == message, deliveries.c.state == "waiting", deliveries.c.attempts == attempt)
    if not db.execute(update(deliveries).where(*mine).values(**values)).rowcount:
        return
    change = {"failures": webhooks.c.failures + 1} | ({} if disable_at is None else {"disabled_at": disable_at})
    db.execute(update(webhooks).where(webhooks.c.id == webhook).values(**change))
    if disable_at is not None:
        rest = (deliveries.c.webhook == webhook, deliveries.c.state == "waiting")
        told = {"state": "failed", "lease_until": None, "last_answer": "the endpoint is disabled"}
        db.execute(update(deliveries).where(*rest).values(**told))


def sent_to(db: Connection, organization: str, webhook: str, limit: int) -> list[RowMapping]:
    """The newest messages to an endpoint."""
    query = select(deliveries).where(deliveries.c.organization == organization, deliveries.c.webhook == webhook)
    return list(db.execute(query.order_by(deliveries.c.created_at.desc(), deliveries.c.id).limit(limit)).mappings())
