# SPDX-License-Identifier: Apache-2.0
"""Certificates and API keys that end soon: told once each, by webhook and journal."""

from __future__ import annotations

from sqlalchemy import Connection, select

from epimeter.service import renewing, webhooks
from epimeter.service.issuer_folder import IssuerFolder
from epimeter.store import journal
from epimeter.store.moments import SECOND, written
from epimeter.store.tables import api_keys, certificates

DAY = 86_400 * SECOND
BEFORE = {"certificate.expiring": 30, "key.expiring": 14}
"""Days before the end."""


LIVE = ("VALID", "SUSPENDED")
"""A certificate that was revoked or has a successor has ended already."""


def tell(db: Connection, ledger: IssuerFolder, at: int) -> None:
    """Tell of everything that ends soon and was not told of yet."""
    for event, table in (("certificate.expiring", certificates), ("key.expiring", api_keys)):
        ends = table.c.expires_at
        query = select(table).where(ends > at, ends <= at + BEFORE[event] * DAY)
        if event == "key.expiring":
            query = query.where(table.c.revoked_at.is_(None))
        for row in db.execute(query).mappings().all():
            if row["id"] is None or journal.told(db, organization=row["organization"], action=event, subject=row["id"]):
                continue
            if event == "certificate.expiring" and renewing.state_of(ledger, row["id"]).status not in LIVE:
                continue
            facts = {"id": row["id"], "expires_at": written(row["expires_at"])}
            if event == "certificate.expiring":
                facts["system_id"] = row["system_id"]
            webhooks.emit(db, row["organization"], event, facts)
            journal.note(
                db, organization=row["organization"], actor="schedule", action=event, subject=row["id"], **facts
            )
